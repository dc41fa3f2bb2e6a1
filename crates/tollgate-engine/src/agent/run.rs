//! One run of an agent: what it is given, how it is started, and how it is listened to.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio_util::sync::CancellationToken;

use super::area::{self, Area};
use super::environment::Role;
use super::preset::Invocation;
use super::read::{NoAnswer, Reader, Said};
use super::{Agent, environment, explain};
use crate::call::{CallFailure, Reply};
use crate::held::Held;
use crate::process::guard::{Duty, Ended, Guarded, ProcessMark, RUN_VARIABLE, end_survivors};
use crate::tree::{self, Entry};

/// How often to look whether somebody wants to stop.
const TICK: Duration = Duration::from_millis(50);
/// How often to look how much was written, at most.
const DISK_TICK: Duration = Duration::from_millis(500);
/// A time that is longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// How much of what is said on standard error is kept, from its end.
pub(crate) const MAX_STDERR: usize = 16 * 1024;

/// What is to be run.
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) invocation: Invocation,
    pub(crate) prompt: String,
    /// Whether the prompt is standard input.
    pub(crate) reads_stdin: bool,
    /// Where it works.
    pub(crate) folder: PathBuf,
    /// How large a file may become.
    pub(crate) file_bytes: Option<u64>,
    /// How long it is given after each signal.
    pub(crate) grace: Duration,
    /// What it is there for. All but reviewers are found again after a crash.
    pub(crate) role: Role,
}

/// Where the prompt is, for commands that are told.
pub(crate) fn prompt_path(area: &Area) -> PathBuf {
    area.root().join("prompt")
}

/// Everything a run needs.
pub(crate) struct Prepared {
    duty: Duty,
    environment: Vec<(OsString, OsString)>,
    last: Option<&'static str>,
    area: PathBuf,
    run: String,
}

/// Writes everything the agent is given.
pub(crate) fn prepare(agent: &Agent, area: &Area, setup: Setup) -> io::Result<Prepared> {
    area.write("prompt", &setup.prompt)?;
    for (name, text) in &setup.invocation.files {
        area.write(name, text)?;
    }
    let look_up = |name: &str| std::env::var_os(name);
    let mut environment = environment::build(setup.role, agent, area, setup.invocation.environment, &look_up);
    let is_marked = setup.role != Role::Reviewer;
    if is_marked {
        environment.push((RUN_VARIABLE.into(), area.word().into()));
    }
    Ok(Prepared {
        duty: Duty {
            remove: area.root().to_owned(),
            grace: setup.grace,
            namespace: agent.namespace,
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
    })
}

impl Prepared {
    /// What the agent left as its last message, if it did.
    pub(crate) fn read_last(&self, max_bytes: usize) -> Option<String> {
        // Whatever the agent put in its place, a link or a pipe, is not opened.
        match tree::read(&self.area, self.last?.as_bytes(), max_bytes as u64).ok()? {
            Entry::File { content, .. } => String::from_utf8(content).ok(),
            Entry::TooLarge(_) | Entry::Link(_) | Entry::Other => None,
        }
    }

    /// The keys that the agent was given.
    pub(crate) fn held(&self, agent: &Agent) -> Held {
        let key = agent.key.as_ref().map(|key| &*key.secret);
        Held::new(environment::secrets(&self.environment, key))
    }

    /// What came of it without the keys that the agent was given.
    pub(crate) fn without_keys(&self, agent: &Agent, asked: Result<Reply, CallFailure>) -> Result<Reply, CallFailure> {
        let held = self.held(agent);
        match asked {
            Ok(reply) => Ok(Reply {
                text: held.hide(&reply.text).into_owned(),
                structured: reply.structured.map(|value| held.hide_in(value)),
                model: reply.model.map(|model| held.hide(&model).into_owned()),
                ..reply
            }),
            Err(failure) => Err(without_keys(&held, failure)),
        }
    }
}

/// A failure without the keys that the agent was given.
pub(crate) fn without_keys(held: &Held, failure: CallFailure) -> CallFailure {
    CallFailure { message: held.hide(&failure.message).into_owned(), ..failure }
}

/// What an agent did until it ended.
pub(crate) struct Ran {
    pub(crate) ended: Ended,
    pub(crate) reader: Reader,
    pub(crate) stderr: Vec<u8>,
}

/// Starts the agent behind its guard.
pub(crate) fn start(
    agent: &Agent,
    executable: &Path,
    prepared: &Prepared,
    cancel: &CancellationToken,
) -> Result<Guarded, CallFailure> {
    if cancel.is_cancelled() {
        return Err(explain::cancelled(agent));
    }
    let guarded = Guarded::start(executable, &prepared.duty, &prepared.environment);
    guarded.map_err(|error| explain::no_guard(agent, &error))
}

/// A run that is found again after a crash.
pub(crate) struct Marked {
    pub(crate) guarded: Guarded,
    mark: ProcessMark,
}

/// Starts a run whose mark is handed out before the agent does anything.
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
    // Whoever could not store the mark stops the run.
    if cancel.is_cancelled() {
        return Err(explain::cancelled(agent));
    }
    guarded.go().map_err(no_guard)?;
    Ok(Marked { guarded, mark })
}

impl Marked {
    /// Ends whatever is left of the run, also when its guard was lost.
    pub(crate) fn finish(self) {
        self.guarded.finish();
        // What cannot be killed hangs in the kernel; the mark is still known to who stored it.
        let _ = end_survivors(&self.mark);
    }
}

/// When a time is over that begins now.
pub(crate) fn deadline(time: Duration) -> Instant {
    Instant::now() + time.min(FOR_EVER)
}

/// How an agent is listened to.
pub(crate) struct Listening<'a> {
    pub(crate) agent: &'a Agent,
    /// When it is over.
    pub(crate) deadline: Instant,
    /// How long it may be silent, when it cannot be silent and alive for longer.
    pub(crate) idle: Option<Duration>,
    /// How much it may print.
    pub(crate) most_bytes: usize,
    /// How much of what is said on standard error is kept, from its end.
    pub(crate) most_stderr: usize,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) said: &'a dyn Fn(Said<'_>),
}

/// Listens to the agent until it ends, or fails when it has to be stopped.
pub(crate) fn listen(
    listening: &Listening<'_>,
    guarded: &mut Guarded,
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
    // What it printed last is still in the pipes; a survivor elsewhere than on Linux could keep them open.
    while listener.drain()? {}
    Ok(Ran { ended, reader: listener.reader, stderr: listener.stderr })
}

/// Takes what an agent prints and keeps the limits on it.
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
    fn new(listening: &'a Listening<'a>, guarded: &mut Guarded, reader: Reader) -> Result<Self, CallFailure> {
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

    /// Waits a moment for output or for news from the guard: how the agent ended.
    fn listen(&mut self, guarded: &mut Guarded, time: Duration) -> Result<Option<Ended>, CallFailure> {
        let ready = self.wait(Some(guarded), time)?;
        self.take(ready)?;
        if !ready.line {
            return Ok(None);
        }
        guarded.hear().map_err(|error| explain::no_guard(self.listening.agent, &error))
    }

    /// Takes what can be taken without waiting; false when there is nothing more.
    fn drain(&mut self) -> Result<bool, CallFailure> {
        let ready = self.wait(None, Duration::ZERO)?;
        self.take(ready)?;
        Ok(ready.stdout || ready.stderr)
    }

    fn wait(&self, guarded: Option<&Guarded>, time: Duration) -> Result<Ready, CallFailure> {
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

/// Keeps an eye on how much an agent writes.
pub(crate) struct Disk<'a> {
    folders: Vec<&'a Path>,
    may_grow: u64,
    most: u64,
    next: Instant,
}

impl<'a> Disk<'a> {
    /// Counts what is in these folders now.
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
        // A large tree takes time to look through; that must not become our main work.
        self.next = Instant::now() + (started.elapsed() * 20).max(DISK_TICK);
        is_full
    }
}

fn n_bytes(folders: &[&Path]) -> u64 {
    folders.iter().map(|folder| area::n_bytes(folder)).fold(0, u64::saturating_add)
}

/// What was read counts when the agent ended well and says nothing of an error.
pub(crate) fn judge<T>(
    agent: &Agent,
    ended: Ended,
    stderr: &[u8],
    read: Result<T, NoAnswer>,
) -> Result<T, CallFailure> {
    if ended == Ended::Code(0) {
        return read.map_err(|why| explain::no_answer(agent, &why));
    }
    let said = match &read {
        Err(NoAnswer::Error(said)) => Some(said.as_str()),
        Err(NoAnswer::Nothing(_)) | Ok(_) => None,
    };
    Err(explain::ended_badly(agent, ended, said, &String::from_utf8_lossy(stderr)))
}
