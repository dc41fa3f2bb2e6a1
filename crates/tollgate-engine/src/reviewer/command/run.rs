//! One question to an agent, from the copy of the code to the answer.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use super::area::Area;
use super::preset::{Given, Invocation};
use super::read::{NoAnswer, Reader};
use super::seal::{self, Bounds, Seal};
use super::{Agent, Program, PromptBy, Tree, environment, explain, prompt, strip};
use crate::process::guard::{Duty, Ended, Guarded};
use crate::reviewer::call::{CallFailure, Heard, Question, Reply, Watch};
use crate::reviewer::held::Held;

/// How often to look whether somebody wants to stop.
const TICK: Duration = Duration::from_millis(50);
/// How often to look how much was written, at most.
const DISK_TICK: Duration = Duration::from_millis(500);
/// How much of what is said on standard error is kept, from its end.
const MAX_STDERR: usize = 16 * 1024;
/// How much an agent that prints lines may print in all, in units of what is kept.
const LINES_FACTOR: usize = 8;

/// Asks an agent and waits for its answer.
pub(super) fn ask(
    agent: &Agent,
    tree: &dyn Tree,
    executable: &Path,
    question: &Question,
    watch: &Watch<'_>,
) -> Result<Reply, CallFailure> {
    let no_area = |error: io::Error| explain::no_area(agent, &error);
    let program = agent.find(std::env::var_os("PATH").as_deref())?;
    let area = Area::new().map_err(no_area)?;
    tree.write(&area.tree()).map_err(|failure| explain::no_tree(agent, &failure))?;
    strip::strip(&area.tree()).map_err(no_area)?;
    let before = Seal::of(&area.tree(), Bounds::MAX).map_err(no_area)?.ok_or_else(|| explain::too_large(agent))?;
    let write_prompt = |schema: Option<&Value>| prompt::write(question, schema);
    let prepared = prepare(agent, &area, program, &question.schema, &write_prompt).map_err(no_area)?;
    let mut guarded = start(agent, executable, &prepared, watch)?;
    let asked = listen(agent, &area, &mut guarded, watch).and_then(|ran| {
        unchanged(agent, &area, &before)?;
        judge(agent, ran, prepared.read_last(agent.limits.output_bytes).as_deref())
    });
    guarded.finish();
    prepared.without_keys(agent, asked)
}

/// Everything a run needs.
pub(super) struct Prepared {
    duty: Duty,
    environment: Vec<(OsString, OsString)>,
    last: Option<PathBuf>,
}

impl Prepared {
    /// What the agent left as its last message, if it did.
    pub(super) fn read_last(&self, max_bytes: usize) -> Option<String> {
        let file = std::fs::File::open(self.last.as_ref()?).ok()?;
        let mut text = String::new();
        file.take(max_bytes as u64).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// What came of it without the keys that the agent was given.
    pub(super) fn without_keys(&self, agent: &Agent, asked: Result<Reply, CallFailure>) -> Result<Reply, CallFailure> {
        let key = agent.key.as_ref().map(|key| &*key.secret);
        let held = Held::new(environment::secrets(&self.environment, key));
        match asked {
            Ok(reply) => Ok(Reply {
                text: held.hide(&reply.text).into_owned(),
                structured: reply.structured.map(|value| held.hide_in(value)),
                model: reply.model.map(|model| held.hide(&model).into_owned()),
                ..reply
            }),
            Err(failure) => Err(CallFailure { message: held.hide(&failure.message).into_owned(), ..failure }),
        }
    }
}

/// Writes everything the agent is given.
pub(super) fn prepare(
    agent: &Agent,
    area: &Area,
    program: PathBuf,
    schema: &Value,
    write_prompt: &dyn Fn(Option<&Value>) -> String,
) -> io::Result<Prepared> {
    let prompt_path = area.root().join("prompt");
    let key = agent.key.as_ref().map(|key| &*key.variable);
    let given = Given { model: agent.model.as_deref(), key, schema, beside: area.root(), prompt: &prompt_path };
    let (invocation, reads_stdin) = match &agent.program {
        Program::Preset(preset) => (preset.invoke(&given), preset.reads_stdin()),
        Program::Command(command) => (of_command(command, &given), agent.prompt == PromptBy::Stdin),
    };
    area.write("prompt", &write_prompt((!invocation.knows_schema).then_some(schema)))?;
    for (name, text) in &invocation.files {
        area.write(name, text)?;
    }
    let look_up = |name: &str| std::env::var_os(name);
    Ok(Prepared {
        duty: Duty {
            remove: area.root().to_owned(),
            grace: agent.limits.grace,
            namespace: agent.namespace,
            // In the user's home there may be larger files that the agent keeps for itself.
            file_bytes: agent.key.as_ref().map(|_| agent.limits.disk_bytes),
            folder: area.tree(),
            input: reads_stdin.then_some(prompt_path),
            program,
            args: invocation.args,
        },
        environment: environment::build(agent, area, invocation.environment, &look_up),
        last: invocation.last.map(|name| area.root().join(name)),
    })
}

/// The user's own command with its blanks filled in.
fn of_command(command: &[String], given: &Given<'_>) -> Invocation {
    let schema = given.beside.join("schema.json");
    let fill = |arg: &String| {
        let arg = arg.replace("{prompt}", &given.prompt.to_string_lossy());
        arg.replace("{schema}", &schema.to_string_lossy()).replace("{model}", given.model.unwrap_or_default()).into()
    };
    Invocation {
        args: command.iter().skip(1).map(fill).collect(),
        files: vec![("schema.json", given.schema.to_string())],
        ..Invocation::default()
    }
}

/// What an agent did until it ended.
pub(super) struct Ran {
    ended: Ended,
    reader: Reader,
    stderr: Vec<u8>,
}

/// Starts the agent behind its guard.
pub(super) fn start(
    agent: &Agent,
    executable: &Path,
    prepared: &Prepared,
    watch: &Watch<'_>,
) -> Result<Guarded, CallFailure> {
    if watch.cancel.is_cancelled() {
        return Err(explain::cancelled(agent));
    }
    let guarded = Guarded::start(executable, &prepared.duty, &prepared.environment);
    let guarded = guarded.map_err(|error| explain::no_guard(agent, &error))?;
    (watch.heard)(Heard::Sent);
    Ok(guarded)
}

/// Listens to the agent until it ends, or fails when it has to be stopped.
pub(super) fn listen(agent: &Agent, area: &Area, guarded: &mut Guarded, watch: &Watch<'_>) -> Result<Ran, CallFailure> {
    let mut listener = Listener::new(agent, watch, guarded)?;
    let mut disk = Disk::new(area, agent.limits.disk_bytes);
    let ended = loop {
        listener.check_time()?;
        if disk.is_full(area) {
            return Err(explain::too_much_disk(agent));
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
    agent: &'a Agent,
    watch: &'a Watch<'a>,
    stdout: Option<ChildStdout>,
    stderr_pipe: Option<ChildStderr>,
    reader: Reader,
    stderr: Vec<u8>,
    n_bytes: usize,
    last_sign: Instant,
    buffer: Vec<u8>,
}

impl<'a> Listener<'a> {
    fn new(agent: &'a Agent, watch: &'a Watch<'a>, guarded: &mut Guarded) -> Result<Self, CallFailure> {
        let broken = || explain::no_guard(agent, &io::ErrorKind::BrokenPipe.into());
        let (stdout, stderr) = guarded.outputs().ok_or_else(broken)?;
        Ok(Self {
            agent,
            watch,
            stdout: Some(stdout),
            stderr_pipe: Some(stderr),
            reader: Reader::new(agent.form(), agent.limits.output_bytes),
            stderr: Vec::new(),
            n_bytes: 0,
            last_sign: Instant::now(),
            buffer: vec![0; 64 * 1024],
        })
    }

    fn check_time(&self) -> Result<(), CallFailure> {
        if self.watch.cancel.is_cancelled() {
            return Err(explain::cancelled(self.agent));
        }
        if Instant::now() >= self.watch.deadline {
            return Err(explain::too_late(self.agent, self.n_bytes > 0, self.reader.trouble()));
        }
        // An agent that is silent while its model thinks cannot give signs of life.
        if self.agent.form().is_live() && self.last_sign.elapsed() >= self.watch.idle {
            return Err(explain::too_quiet(self.agent, self.watch.idle.as_secs(), self.reader.trouble()));
        }
        Ok(())
    }

    /// Waits a moment for output or for news from the guard: how the agent ended.
    fn listen(&mut self, guarded: &mut Guarded, time: Duration) -> Result<Option<Ended>, CallFailure> {
        let ready = self.wait(Some(guarded), time)?;
        self.take(ready)?;
        if !ready.line {
            return Ok(None);
        }
        guarded.hear().map_err(|error| explain::no_guard(self.agent, &error))
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
            Err(error) => return Err(explain::no_guard(self.agent, &error.into())),
        }
        let mut seen = handles.iter().map(|handle| !handle.revents().is_empty());
        Ok(Ready {
            stdout: self.stdout.is_some() && seen.next().unwrap_or(false),
            stderr: self.stderr_pipe.is_some() && seen.next().unwrap_or(false),
            line: seen.next().unwrap_or(false),
        })
    }

    fn take(&mut self, ready: Ready) -> Result<(), CallFailure> {
        let limit = self.agent.limits.output_bytes;
        let most = if self.agent.form().streams() { limit.saturating_mul(LINES_FACTOR) } else { limit };
        let mut fits = true;
        if ready.stdout {
            let n_bytes = read_some(&mut self.stdout, &mut self.buffer);
            self.n_bytes += n_bytes;
            fits = self.reader.take(&self.buffer[..n_bytes], self.watch.heard);
        }
        if ready.stderr {
            let n_bytes = read_some(&mut self.stderr_pipe, &mut self.buffer);
            self.n_bytes += n_bytes;
            self.stderr.extend(&self.buffer[..n_bytes]);
            self.stderr.drain(..self.stderr.len().saturating_sub(MAX_STDERR));
        }
        if ready.stdout || ready.stderr {
            self.last_sign = Instant::now();
        }
        if fits && self.n_bytes <= most { Ok(()) } else { Err(explain::too_much_output(self.agent)) }
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
struct Disk {
    most: u64,
    next: Instant,
}

impl Disk {
    fn new(area: &Area, may_grow: u64) -> Self {
        Self { most: area.n_bytes().saturating_add(may_grow), next: Instant::now() + DISK_TICK }
    }

    fn is_full(&mut self, area: &Area) -> bool {
        let started = Instant::now();
        if started < self.next {
            return false;
        }
        let is_full = area.n_bytes() > self.most;
        // A large tree takes time to look through; that must not become our main work.
        self.next = Instant::now() + (started.elapsed() * 20).max(DISK_TICK);
        is_full
    }
}

/// Fails when the agent changed the tree.
fn unchanged(agent: &Agent, area: &Area, before: &Seal) -> Result<(), CallFailure> {
    match Seal::of(&area.tree(), Bounds::MAX) {
        Ok(Some(after)) => {
            let changes = before.changes(&after);
            if changes.is_empty() { Ok(()) } else { Err(explain::misbehaved(agent, &seal::describe(&changes))) }
        }
        Ok(None) => Err(explain::misbehaved(agent, "filled its folder")),
        Err(error) => Err(explain::misbehaved(agent, &format!("left its folder unreadable ({error})"))),
    }
}

/// An answer counts when the agent ended well and says nothing of an error.
pub(super) fn judge(agent: &Agent, ran: Ran, last: Option<&str>) -> Result<Reply, CallFailure> {
    let read = ran.reader.finish(last);
    if ran.ended == Ended::Code(0) {
        return read.map_err(|why| explain::no_answer(agent, &why));
    }
    let said = match &read {
        Err(NoAnswer::Error(said)) => Some(said.as_str()),
        Err(NoAnswer::Nothing(_)) | Ok(_) => None,
    };
    Err(explain::ended_badly(agent, ran.ended, said, &String::from_utf8_lossy(&ran.stderr)))
}
