//! The parent's side of a scanning child: sends requests, enforces the timeout, explains failures.

use std::io::{self, BufReader, Read as _};
use std::path::Path;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use tollgate_rules::worker::{Request, Response, read_message, write_message};

use super::child::ChildLimits;
use crate::config::Limits;
use crate::process::Group;

/// The hidden argument with which the program runs as a scanning child.
pub const SCAN_ARGUMENT: &str = "__scan";
/// The reason for a child that exited or broke the protocol without a known cause.
pub(super) const UNREADABLE: &str = "the scanner gave no answer that can be read";
const MAX_STDERR: u64 = 4096;

/// A scanning child and the thread that talks to it.
#[derive(Debug)]
pub(super) struct Child {
    group: Group,
    requests: Sender<(Request, Vec<u8>)>,
    answers: Receiver<io::Result<Option<Response>>>,
    /// Read when the child is dead: its messages fit into the pipe, and a child that writes more runs into the timeout.
    stderr: Option<ChildStderr>,
}

impl Child {
    pub(super) fn start(executable: &Path, limits: Limits) -> io::Result<Self> {
        let own = ChildLimits { memory_mib: limits.memory_mib, cpu_seconds: limits.cpu_seconds };
        let mut command = Command::new(executable);
        command.args([SCAN_ARGUMENT, &own.to_argument()]).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::spawn(&mut command)?;
        let pipes = (group.child().stdin.take(), group.child().stdout.take(), group.child().stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (requests, asked) = mpsc::channel::<(Request, Vec<u8>)>();
        let (answered, answers) = mpsc::channel();
        // Both directions are in a thread of their own, because a stopped child blocks either.
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            for (request, body) in asked {
                let answer = write_message(&mut stdin, &request, &body).and_then(|()| read_message(&mut stdout));
                if answered.send(answer.map(|message| message.map(|(answer, _)| answer))).is_err() {
                    return;
                }
            }
        });
        Ok(Self { group, requests, answers, stderr: Some(stderr) })
    }

    /// Sends one request and waits for the response. After an error the child cannot be used any more.
    pub(super) fn ask(&mut self, request: Request, body: Vec<u8>, limits: Limits) -> Result<Response, String> {
        if self.requests.send((request, body)).is_err() {
            return Err(self.post_mortem(limits));
        }
        match self.answers.recv_timeout(Duration::from_secs(limits.file_seconds)) {
            Ok(Ok(Some(answer))) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => Err(format!("stalled the matcher for {} s", limits.file_seconds)),
            Ok(Ok(None) | Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(self.post_mortem(limits)),
        }
    }

    /// Why the child ended.
    fn post_mortem(&mut self, limits: Limits) -> String {
        let status = self.group.kill();
        let mut text = Vec::new();
        if let Some(stderr) = self.stderr.take() {
            let _ = stderr.take(MAX_STDERR).read_to_end(&mut text);
        }
        let stderr = String::from_utf8_lossy(&text);
        status.map_or_else(|_| UNREADABLE.to_owned(), |status| cause_of_death(status, &stderr, limits))
    }
}

#[cfg(unix)]
fn cause_of_death(status: ExitStatus, stderr: &str, limits: Limits) -> String {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt as _;

    let signal = status.signal().unwrap_or(0);
    if signal == Signal::XCPU.as_raw() {
        format!("stalled the matcher for {} s of processor time", limits.cpu_seconds)
    } else if stderr.contains("alloc") {
        format!("needs more than {} MiB to scan", limits.memory_mib)
    } else if [Signal::SEGV, Signal::ABORT, Signal::BUS, Signal::ILL].iter().any(|kind| kind.as_raw() == signal) {
        "the parser crashed".to_owned()
    } else {
        UNREADABLE.to_owned()
    }
}

#[cfg(not(unix))]
fn cause_of_death(_status: ExitStatus, stderr: &str, limits: Limits) -> String {
    if stderr.contains("alloc") {
        format!("needs more than {} MiB to scan", limits.memory_mib)
    } else {
        "the parser crashed".to_owned()
    }
}
