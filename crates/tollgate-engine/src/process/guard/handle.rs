//! The parent's handle to a guard: starts it, reads its reports, stops it.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{AgentExit, FOLDER, GO, GUARD_ARGUMENT, GuardArgs, namespace};
use crate::process::sandbox::{Keys, bubblewrap};
use crate::process::signals;

/// The time for cleaning up, beside the grace periods.
const PATIENCE: Duration = Duration::from_secs(8);

/// The lifelines of all guards that are alive, by their process ids.
static LINES: Mutex<Vec<(u32, UnixStream)>> = Mutex::new(Vec::new());

/// An agent behind its guard.
#[derive(Debug)]
pub(crate) struct GuardedProcess {
    child: Child,
    line: UnixStream,
    said: Vec<u8>,
    grace: Duration,
    in_namespace: bool,
}

impl GuardedProcess {
    /// Starts a guard with exactly this environment, which the agent inherits.
    pub(crate) fn start(executable: &Path, args: &GuardArgs, environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let (line, its_end) = UnixStream::pair()?;
        let sandbox = bubblewrap::find().filter(|_| args.layers.bubblewrap);
        let entrance = if args.layers.namespace { namespace::entrance() } else { None };
        let mut command = match (sandbox, entrance) {
            (Some(program), _) => {
                send_folder(&line, &args.remove)?;
                let mut command = Command::new(program);
                // The guard inside makes a session of its own; this keeps Ctrl-C from `bwrap`, which waits for it.
                command.args(bubblewrap::arguments(&args.policy, executable)).arg(executable).process_group(0);
                command
            }
            (None, Some(entrance)) => {
                let mut command = Command::new(&entrance.program);
                command.args(&entrance.args).arg(executable).process_group(0);
                command
            }
            // Not the leader of a group, because a leader cannot make a session.
            (None, None) => Command::new(executable),
        };
        command.arg(GUARD_ARGUMENT).args(args.to_arguments()?);
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value))).current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(its_end))).stdout(Stdio::piped()).stderr(Stdio::piped());
        signals::reset_in_children();
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        lines.push((child.id(), line.try_clone()?));
        drop(lines);
        let guarded = Self {
            child,
            line,
            said: Vec::new(),
            grace: args.grace,
            in_namespace: sandbox.is_some() || entrance.is_some(),
        };
        if sandbox.is_some() {
            send_keys(&guarded.line, &args.keys)?;
        }
        Ok(guarded)
    }

    /// The id of the first process: the guard, or the `bwrap` or `unshare` around it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Releases a guard with `hold`, so that it starts the agent.
    pub(crate) fn go(&self) -> io::Result<()> {
        (&self.line).write_all(GO)
    }

    /// Both outputs of the agent.
    pub(crate) fn outputs(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// The lifeline, for polling; [`Self::hear`] reads it.
    pub(crate) fn line(&self) -> &UnixStream {
        &self.line
    }

    /// Reads a report: the exit status of the agent, once it has ended.
    pub(crate) fn hear(&mut self) -> io::Result<Option<AgentExit>> {
        let mut buffer = [0; 256];
        match self.line.read(&mut buffer) {
            Ok(0) => return Ok(Some(self.lost())),
            Ok(n_bytes) => self.said.extend(&buffer[..n_bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(Some(self.lost())),
            Err(error) => return Err(error),
        }
        Ok(ended(&String::from_utf8_lossy(&self.said)))
    }

    /// Makes the guard stop the agent, and waits for that; the scratch folder stays.
    pub(crate) fn halt(&mut self) {
        // Closing the lifeline would remove the folder, so a message is sent instead.
        let _ = (&self.line).write_all(b"stop\n");
        let deadline = Instant::now() + self.grace * 3 + PATIENCE;
        while ended(&String::from_utf8_lossy(&self.said)).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.line.set_read_timeout(Some(left)).is_err() {
                break;
            }
            if matches!(self.hear(), Ok(Some(_))) {
                break;
            }
        }
        let _ = self.line.set_read_timeout(None);
    }

    /// Lets the guard clean up and waits for it.
    pub(crate) fn finish(mut self) {
        self.let_go();
    }

    fn let_go(&mut self) {
        // A message first: on a closed lifeline alone the guard shortens the grace period.
        let _ = (&self.line).write_all(b"stop\n");
        let _ = self.line.shutdown(Shutdown::Write);
        if !wait_for_the_end(&self.line, self.grace * 3 + PATIENCE) {
            // In a namespace this kills all processes; elsewhere it is the last resort.
            let _ = self.child.kill();
            self.lost();
        }
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|(id, _)| *id != self.child.id());
        drop(lines);
        let _ = self.child.wait();
    }

    /// The guard was killed: kills the process group of the agent, if it was reported.
    fn lost(&mut self) -> AgentExit {
        let said = String::from_utf8_lossy(&self.said);
        let agent = said.lines().find_map(|line| line.strip_prefix("started ")?.parse().ok());
        if let Some(agent) = agent.and_then(Pid::from_raw).filter(|_| !self.in_namespace) {
            let _ = kill_process_group(agent, Signal::KILL);
        }
        AgentExit::Unknown
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.let_go();
        }
    }
}

/// Sends a handle to the folder around the scratch folder, through which a guard inside of a sandbox removes it.
fn send_folder(line: &UnixStream, scratch: &Path) -> io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

    let around = std::fs::File::open(scratch.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let handles = [around.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&handles)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    rustix::net::sendmsg(line, &[io::IoSlice::new(FOLDER)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Sends the log-in of the agent: the number of files, and the length and content of each.
fn send_keys(mut line: &UnixStream, keys: &Keys) -> io::Result<()> {
    let length = |n: usize| u32::try_from(n).map(u32::to_le_bytes).map_err(|_| io::ErrorKind::InvalidInput);
    line.set_write_timeout(Some(PATIENCE))?;
    line.write_all(&length(keys.0.len())?)?;
    for key in &keys.0 {
        line.write_all(&length(key.len())?)?;
        line.write_all(key)?;
    }
    line.set_write_timeout(None)
}

/// Stops all guards and waits until they have cleaned up, for a program that is about to exit.
pub(crate) fn stop_all() {
    let lines = std::mem::take(&mut *LINES.lock().unwrap_or_else(PoisonError::into_inner));
    for (_, line) in &lines {
        let _ = line.shutdown(Shutdown::Write);
    }
    for (_, line) in &lines {
        wait_for_the_end(line, PATIENCE);
    }
}

/// Reads until the guard closes the lifeline; false after the timeout.
fn wait_for_the_end(mut line: &UnixStream, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    let mut buffer = [0; 256];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || line.set_read_timeout(Some(left)).is_err() {
            return false;
        }
        match line.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return true,
        }
    }
}

/// Parses the exit status in the reports of the guard.
fn ended(said: &str) -> Option<AgentExit> {
    let (lines, _) = said.rsplit_once('\n')?;
    let end = lines.lines().find_map(|line| line.strip_prefix("ended "))?;
    let (kind, number) = end.split_once(' ')?;
    let number = number.parse().ok()?;
    Some(if kind == "signal" { AgentExit::Signal(number) } else { AgentExit::Code(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, expected: Option<AgentExit>) {
        assert_eq!(ended(said), expected, "{said:?}");
    }

    #[test]
    fn the_end_is_known_once_its_line_is_whole() {
        check("", None);
        check("started 12\n", None);
        check("started 12\nended code 1", None);
        check("started 12\nended code 1\n", Some(AgentExit::Code(1)));
        check("ended signal 9\n", Some(AgentExit::Signal(9)));
        check("ended code 126\n", Some(AgentExit::Code(126)));
    }
}
