//! One run of an agent: its inputs, its start behind a guard, and the loop that reads its output.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use super::confine::{self, Confined, Confinement};
use super::environment::{HomeOf, Role};
use super::output::{NoAnswer, OutputEvent, Reader};
use super::preset::Invocation;
use super::preset::codex_provider::CodexProvider;
use super::scratch_folder::{self, ScratchFolder};
use super::{Agent, Preset, Program, environment, explain};
use crate::call::{CallFailure, Reply};
use crate::config::SandboxMode;
use crate::process::guard::{AgentExit, GuardArgs, GuardedProcess, ProcessMark, RUN_VARIABLE, end_survivors};
use crate::process::sandbox::proxy::Proxy;
use crate::process::sandbox::{Bind, Layers};
use crate::redaction::Redactor;
use crate::tree::{self, Entry};

/// How often cancellation is polled.
const TICK: Duration = Duration::from_millis(50);
/// How often disk usage is measured, at most.
const DISK_TICK: Duration = Duration::from_millis(500);
/// A deadline that never passes.
const FOR_EVER: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// How much of standard error is kept, from its end.
pub(crate) const MAX_STDERR: usize = 16 * 1024;

/// The specification of a run.
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) invocation: Invocation,
    pub(crate) prompt: String,
    /// True when the prompt is standard input.
    pub(crate) reads_stdin: bool,
    /// Its working directory.
    pub(crate) folder: PathBuf,
    /// Further files that it may read.
    pub(crate) readable: Vec<PathBuf>,
    /// Files and folders that it sees in the place of others.
    pub(crate) binds: Vec<Bind>,
    /// The folder in which its sessions and caches are kept.
    pub(crate) state: Option<PathBuf>,
    /// The largest file it may write.
    pub(crate) file_bytes: Option<u64>,
    /// The grace period after each signal.
    pub(crate) grace: Duration,
    /// Its role. All but reviewers have a process mark, by which they are found after a crash.
    pub(crate) role: Role,
}

/// The file with the prompt, for commands that take a path.
pub(crate) fn prompt_path(area: &ScratchFolder) -> PathBuf {
    area.root().join("prompt")
}

/// Everything a run needs.
pub(crate) struct Prepared {
    args: GuardArgs,
    environment: Vec<(OsString, OsString)>,
    last: Option<&'static str>,
    area: PathBuf,
    run: String,
    /// The way out of its sandbox, as long as it runs.
    proxy: Option<Proxy>,
}

/// Writes the input files of the agent.
pub(crate) fn prepare(agent: &Agent, area: &ScratchFolder, mut setup: Setup) -> io::Result<Prepared> {
    area.write("prompt", &setup.prompt)?;
    for (name, text) in &setup.invocation.files {
        area.write(name, text)?;
    }
    let look_up = |name: &str| std::env::var_os(name);
    if agent.program == Program::Preset(Preset::Codex) && setup.role != Role::Hook {
        let provider = CodexProvider::read(&look_up);
        provider.apply(setup.role, agent.model.as_deref(), &mut setup.invocation, &look_up);
    }
    let layers = confine::layers(agent);
    let confinement = Confinement {
        agent,
        role: setup.role,
        area,
        program: &setup.program,
        folder: &setup.folder,
        readable: &setup.readable,
        binds: &setup.binds,
        state: setup.state.as_deref(),
        look_up: &look_up,
    };
    let is_confined = layers.protect_files();
    let Confined { policy, keys, proxy, tools } = if is_confined { confinement.apply()? } else { Confined::default() };
    let home = if is_confined { HomeOf::Run(&tools) } else { HomeOf::Operator };
    let mut environment = environment::build(setup.role, agent, (area, home), setup.invocation.environment, &look_up);
    if proxy.is_some() {
        // The guard sets them to the proxy of the sandbox.
        environment.retain(|(name, _)| !name.to_string_lossy().to_ascii_lowercase().ends_with("_proxy"));
    }
    let is_marked = setup.role != Role::Reviewer;
    if is_marked {
        environment.push((RUN_VARIABLE.into(), area.word().into()));
    }
    Ok(Prepared {
        args: GuardArgs {
            remove: area.root().to_owned(),
            grace: setup.grace,
            restrictions: policy.restrictions(layers),
            policy,
            keys,
            layers,
            file_bytes: setup.file_bytes,
            hold: is_marked,
            folder: setup.folder,
            input: setup.reads_stdin.then(|| prompt_path(area)),
            program: setup.program,
            args: setup.invocation.args,
        },
        environment,
        last: setup.invocation.last,
        area: area.root().to_owned(),
        run: area.word(),
        proxy,
    })
}

impl Prepared {
    /// The layers of its sandbox.
    pub(crate) fn layers(&self) -> Layers {
        self.args.layers
    }

    /// The hosts that it asked for, in one line.
    pub(crate) fn network_note(&self) -> Option<String> {
        confine::network_note(self.proxy.as_ref())
    }

    /// The message that the agent left in a file, if any.
    pub(crate) fn read_last(&self, max_bytes: usize) -> Option<String> {
        // A link or a pipe that the agent put in its place is not opened.
        match tree::read(&self.area, self.last?.as_bytes(), max_bytes as u64).ok()? {
            Entry::File { content, .. } => String::from_utf8(content).ok(),
            Entry::TooLarge(_) | Entry::Link(_) | Entry::Other => None,
        }
    }

    /// Redacts the keys in the agent's environment.
    pub(crate) fn redactor(&self, agent: &Agent) -> Redactor {
        let key = agent.key.as_ref().map(|key| &*key.secret);
        Redactor::new(environment::secrets(&self.environment, key))
    }

    /// The result with the agent's keys redacted.
    pub(crate) fn without_keys(&self, agent: &Agent, asked: Result<Reply, CallFailure>) -> Result<Reply, CallFailure> {
        let redactor = self.redactor(agent);
        match asked {
            Ok(reply) => Ok(Reply {
                text: redactor.redact(&reply.text).into_owned(),
                structured: reply.structured.map(|value| redactor.redact_json(value)),
                model: reply.model.map(|model| redactor.redact(&model).into_owned()),
                ..reply
            }),
            Err(failure) => Err(without_keys(&redactor, failure)),
        }
    }
}

/// A failure with the agent's keys redacted.
pub(crate) fn without_keys(redactor: &Redactor, failure: CallFailure) -> CallFailure {
    CallFailure { message: redactor.redact(&failure.message).into_owned(), ..failure }
}

/// The output and exit status of an agent.
pub(crate) struct Ran {
    pub(crate) ended: AgentExit,
    pub(crate) reader: Reader,
    pub(crate) stderr: Vec<u8>,
}

/// Starts the agent behind its guard.
pub(crate) fn start(
    agent: &Agent,
    executable: &Path,
    prepared: &Prepared,
    cancel: &CancellationToken,
) -> Result<GuardedProcess, CallFailure> {
    if cancel.is_cancelled() {
        return Err(explain::cancelled(agent));
    }
    if agent.sandbox.mode == SandboxMode::Require && !prepared.layers().are_complete() {
        return Err(explain::no_sandbox(agent, prepared.layers()));
    }
    let guarded = GuardedProcess::start(executable, &prepared.args, &prepared.environment);
    guarded.map_err(|error| explain::no_guard(agent, &error))
}

/// A run with a process mark, by which it is found after a crash.
pub(crate) struct Marked {
    pub(crate) guarded: GuardedProcess,
    mark: ProcessMark,
}

/// Starts a run and hands out its process mark before the agent starts.
pub(crate) fn start_marked(
    agent: &Agent,
    executable: &Path,
    prepared: &Prepared,
    cancel: &CancellationToken,
    started: &dyn Fn(&ProcessMark),
) -> Result<Marked, CallFailure> {
    let no_guard = |error: io::Error| explain::no_guard(agent, &error);
    let guarded = start(agent, executable, prepared, cancel)?;
    let mark = ProcessMark::of(guarded.id(), &prepared.run).map_err(no_guard)?;
    started(&mark);
    // The callback cancels the run when it could not store the mark.
    if cancel.is_cancelled() {
        return Err(explain::cancelled(agent));
    }
    guarded.go().map_err(no_guard)?;
    Ok(Marked { guarded, mark })
}

impl Marked {
    /// Kills the processes that are left of the run, even if its guard was killed.
    pub(crate) fn finish(self) {
        self.guarded.finish();
        // A process that cannot be killed hangs in the kernel; the stored mark still names it.
        let _ = end_survivors(&self.mark);
    }
}

/// The end of a period that begins now.
pub(crate) fn deadline(time: Duration) -> Instant {
    Instant::now() + time.min(FOR_EVER)
}

/// The limits of the loop that reads an agent's output.
pub(crate) struct Listening<'a> {
    pub(crate) agent: &'a Agent,
    /// The deadline.
    pub(crate) deadline: Instant,
    /// The idle timeout, for agents that print progress.
    pub(crate) idle: Option<Duration>,
    /// The most it may print.
    pub(crate) most_bytes: usize,
    /// How much of standard error is kept, from its end.
    pub(crate) most_stderr: usize,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) said: &'a dyn Fn(OutputEvent<'_>),
}

/// Reads the output of the agent until it exits; fails when it has to be stopped.
pub(crate) fn listen(
    listening: &Listening<'_>,
    guarded: &mut GuardedProcess,
    reader: Reader,
    mut disk: Option<Disk<'_>>,
) -> Result<Ran, CallFailure> {
    let mut listener = Listener::new(listening, guarded, reader)?;
    let ended = loop {
        listener.check_time()?;
        if let Some(disk) = &mut disk
            && disk.is_full()
        {
            return Err(explain::too_much_disk(listening.agent, disk.may_grow));
        }
        if let Some(ended) = listener.listen(guarded, TICK)? {
            break ended;
        }
    };
    // The last output is still in the pipes. Outside Linux a surviving child could keep them open.
    while listener.drain()? {}
    Ok(Ran { ended, reader: listener.reader, stderr: listener.stderr })
}

/// Reads the pipes of an agent and enforces the limits on them.
struct Listener<'a> {
    listening: &'a Listening<'a>,
    stdout: Option<ChildStdout>,
    stderr_pipe: Option<ChildStderr>,
    reader: Reader,
    stderr: Vec<u8>,
    n_bytes: usize,
    last_sign: Instant,
    buffer: Vec<u8>,
}

impl<'a> Listener<'a> {
    fn new(listening: &'a Listening<'a>, guarded: &mut GuardedProcess, reader: Reader) -> Result<Self, CallFailure> {
        let broken = || explain::no_guard(listening.agent, &io::ErrorKind::BrokenPipe.into());
        let (stdout, stderr) = guarded.outputs().ok_or_else(broken)?;
        Ok(Self {
            listening,
            stdout: Some(stdout),
            stderr_pipe: Some(stderr),
            reader,
            stderr: Vec::new(),
            n_bytes: 0,
            last_sign: Instant::now(),
            buffer: vec![0; 64 * 1024],
        })
    }

    fn check_time(&self) -> Result<(), CallFailure> {
        let Listening { agent, deadline, idle, cancel, .. } = *self.listening;
        if cancel.is_cancelled() {
            return Err(explain::cancelled(agent));
        }
        if Instant::now() >= deadline {
            return Err(explain::too_late(agent, self.n_bytes > 0, self.reader.trouble()));
        }
        match idle.filter(|idle| self.last_sign.elapsed() >= *idle) {
            Some(idle) => Err(explain::too_quiet(agent, idle.as_secs(), self.reader.trouble())),
            None => Ok(()),
        }
    }

    /// Polls for output and for the exit status from the guard.
    fn listen(&mut self, guarded: &mut GuardedProcess, time: Duration) -> Result<Option<AgentExit>, CallFailure> {
        let ready = self.wait(Some(guarded), time)?;
        self.take(ready)?;
        if !ready.line {
            return Ok(None);
        }
        guarded.hear().map_err(|error| explain::no_guard(self.listening.agent, &error))
    }

    /// Reads available output without blocking; false at the end of both pipes.
    fn drain(&mut self) -> Result<bool, CallFailure> {
        let ready = self.wait(None, Duration::ZERO)?;
        self.take(ready)?;
        Ok(ready.stdout || ready.stderr)
    }

    fn wait(&self, guarded: Option<&GuardedProcess>, time: Duration) -> Result<Ready, CallFailure> {
        let mut handles: Vec<PollFd<'_>> = Vec::with_capacity(3);
        handles.extend(self.stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        handles.extend(self.stderr_pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        handles.extend(guarded.map(|guarded| PollFd::new(guarded.line(), PollFlags::IN)));
        let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        match poll(&mut handles, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(explain::no_guard(self.listening.agent, &error.into())),
        }
        let mut seen = handles.iter().map(|handle| !handle.revents().is_empty());
        Ok(Ready {
            stdout: self.stdout.is_some() && seen.next().unwrap_or(false),
            stderr: self.stderr_pipe.is_some() && seen.next().unwrap_or(false),
            line: seen.next().unwrap_or(false),
        })
    }

    fn take(&mut self, ready: Ready) -> Result<(), CallFailure> {
        let mut fits = true;
        if ready.stdout {
            let n_bytes = read_some(&mut self.stdout, &mut self.buffer);
            self.n_bytes += n_bytes;
            fits = self.reader.take(&self.buffer[..n_bytes], self.listening.said);
        }
        if ready.stderr {
            let n_bytes = read_some(&mut self.stderr_pipe, &mut self.buffer);
            self.n_bytes += n_bytes;
            self.stderr.extend(&self.buffer[..n_bytes]);
            self.stderr.drain(..self.stderr.len().saturating_sub(self.listening.most_stderr));
        }
        if ready.stdout || ready.stderr {
            self.last_sign = Instant::now();
        }
        let is_enough = !fits || self.n_bytes > self.listening.most_bytes;
        if is_enough { Err(explain::too_much_output(self.listening.agent)) } else { Ok(()) }
    }
}

#[derive(Clone, Copy)]
struct Ready {
    stdout: bool,
    stderr: bool,
    line: bool,
}

/// Reads once; a pipe that has come to its end is closed.
fn read_some(pipe: &mut Option<impl Read>, buffer: &mut [u8]) -> usize {
    let n_bytes = match pipe.as_mut().map(|pipe| pipe.read(buffer)) {
        Some(Ok(n_bytes)) => n_bytes,
        Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => return 0,
        Some(Err(_)) | None => 0,
    };
    if n_bytes == 0 {
        *pipe = None;
    }
    n_bytes
}

/// Measures the disk usage of an agent.
pub(crate) struct Disk<'a> {
    folders: Vec<&'a Path>,
    may_grow: u64,
    most: u64,
    next: Instant,
}

impl<'a> Disk<'a> {
    /// Starts from the current usage of these folders.
    pub(crate) fn new(folders: Vec<&'a Path>, may_grow: u64) -> Self {
        let most = n_bytes(&folders).saturating_add(may_grow);
        Self { folders, may_grow, most, next: Instant::now() + DISK_TICK }
    }

    fn is_full(&mut self) -> bool {
        let started = Instant::now();
        if started < self.next {
            return false;
        }
        let is_full = n_bytes(&self.folders) > self.most;
        // Walking a large tree takes time, so the pause grows with it.
        self.next = Instant::now() + (started.elapsed() * 20).max(DISK_TICK);
        is_full
    }
}

fn n_bytes(folders: &[&Path]) -> u64 {
    folders.iter().map(|folder| scratch_folder::n_bytes(folder)).fold(0, u64::saturating_add)
}

/// The parsed output counts when the agent exited successfully and reports no error.
pub(crate) fn judge<T>(
    agent: &Agent,
    ended: AgentExit,
    stderr: &[u8],
    read: Result<T, NoAnswer>,
) -> Result<T, CallFailure> {
    if ended == AgentExit::Code(0) {
        return read.map_err(|why| explain::no_answer(agent, &why));
    }
    let said = match &read {
        Err(NoAnswer::Error(said)) => Some(said.as_str()),
        Err(NoAnswer::Nothing(_)) | Ok(_) => None,
    };
    Err(explain::ended_badly(agent, ended, said, &String::from_utf8_lossy(stderr)))
}
