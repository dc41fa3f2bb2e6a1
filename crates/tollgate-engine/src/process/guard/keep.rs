//! Our side of a guard: starting it, hearing from it, letting go.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Duty, Ended, GO, GUARD_ARGUMENT, namespace};
use crate::process::signals;

/// How long a guard may take to tidy up, the time between signals apart.
const PATIENCE: Duration = Duration::from_secs(8);

/// The lifelines of all guards that are alive, by their process ids.
static LINES: Mutex<Vec<(u32, UnixStream)>> = Mutex::new(Vec::new());

/// An agent behind its guard.
#[derive(Debug)]
pub(crate) struct Guarded {
    child: Child,
    line: UnixStream,
    said: Vec<u8>,
    grace: Duration,
    in_namespace: bool,
}

impl Guarded {
    /// Starts a guard with exactly this environment, which it hands on to the agent.
    pub(crate) fn start(executable: &Path, duty: &Duty, environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let (line, its_end) = UnixStream::pair()?;
        let entrance = if duty.namespace { namespace::entrance() } else { None };
        let mut command = match entrance {
            Some(entrance) => {
                let mut command = Command::new(&entrance.program);
                // The guard inside makes a session; this keeps Ctrl-C from whoever waits for it.
                command.args(&entrance.args).arg(executable).process_group(0);
                command
            }
            // Not the leader of a group, because a leader cannot make a session.
            None => Command::new(executable),
        };
        command.arg(GUARD_ARGUMENT).args(duty.to_arguments());
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value))).current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(its_end))).stdout(Stdio::piped()).stderr(Stdio::piped());
        signals::reset_in_children();
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        lines.push((child.id(), line.try_clone()?));
        Ok(Self { child, line, said: Vec::new(), grace: duty.grace, in_namespace: entrance.is_some() })
    }

    /// The id of the first process: the guard's, or that of who brings it into a namespace.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets a guard that holds start the agent.
    pub(crate) fn go(&self) -> io::Result<()> {
        (&self.line).write_all(GO)
    }

    /// Both outputs of the agent.
    pub(crate) fn outputs(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// The lifeline, to wait for; when something can be read there, [`Self::hear`] takes it.
    pub(crate) fn line(&self) -> &UnixStream {
        &self.line
    }

    /// Hears what the guard says: how the agent ended, when it has.
    pub(crate) fn hear(&mut self) -> io::Result<Option<Ended>> {
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

    /// Tells the guard to end the agent, and waits until it has; the folder is still there then.
    pub(crate) fn halt(&mut self) {
        // A guard that hears the lifeline close removes the folder, so it is told in words.
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

    /// Lets the guard tidy up and waits for it.
    pub(crate) fn finish(mut self) {
        self.let_go();
    }

    fn let_go(&mut self) {
        // In words first: a guard that only hears the line close gives the agent less time.
        let _ = (&self.line).write_all(b"stop\n");
        let _ = self.line.shutdown(Shutdown::Write);
        if !wait_for_the_end(&self.line, self.grace * 3 + PATIENCE) {
            // In a namespace this takes everything along; elsewhere there is nothing better left to do.
            let _ = self.child.kill();
            self.lost();
        }
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|(id, _)| *id != self.child.id());
        drop(lines);
        let _ = self.child.wait();
    }

    /// The guard is gone without a word: what it started is ended as far as we know it.
    fn lost(&mut self) -> Ended {
        let said = String::from_utf8_lossy(&self.said);
        let agent = said.lines().find_map(|line| line.strip_prefix("started ")?.parse().ok());
        if let Some(agent) = agent.and_then(Pid::from_raw).filter(|_| !self.in_namespace) {
            let _ = kill_process_group(agent, Signal::KILL);
        }
        Ended::Unknown
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.let_go();
        }
    }
}

/// Lets go of every guard and waits until they have tidied up, for a program that is about to exit.
pub(crate) fn stop_all() {
    let lines = std::mem::take(&mut *LINES.lock().unwrap_or_else(PoisonError::into_inner));
    for (_, line) in &lines {
        let _ = line.shutdown(Shutdown::Write);
    }
    for (_, line) in &lines {
        wait_for_the_end(line, PATIENCE);
    }
}

/// Reads until the other side is gone; false when it takes too long.
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

/// How the agent ended, from what the guard said.
fn ended(said: &str) -> Option<Ended> {
    let (lines, _) = said.rsplit_once('\n')?;
    let end = lines.lines().find_map(|line| line.strip_prefix("ended "))?;
    let (kind, number) = end.split_once(' ')?;
    let number = number.parse().ok()?;
    Some(if kind == "signal" { Ended::Signal(number) } else { Ended::Code(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, expected: Option<Ended>) {
        assert_eq!(ended(said), expected, "{said:?}");
    }

    #[test]
    fn the_end_is_known_once_its_line_is_whole() {
        check("", None);
        check("started 12\n", None);
        check("started 12\nended code 1", None);
        check("started 12\nended code 1\n", Some(Ended::Code(1)));
        check("ended signal 9\n", Some(Ended::Signal(9)));
        check("ended code 126\n", Some(Ended::Code(126)));
    }
}
