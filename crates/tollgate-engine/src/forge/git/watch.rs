//! Runs a git command under a watchdog, because a remote server can be slow, endless, or flood the error output.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::time::{Duration, Instant};

use super::{Git, MAX_STDERR, input_file, name_of};
use crate::failure::{self, Failure};

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(10);
/// The maximum size of the error output.
const MAX_COMPLAINTS: u64 = 1024 * 1024;

/// The limits of a watched command.
pub(in crate::forge) struct Watching<'a> {
    /// The time limit.
    pub(in crate::forge) wall: Duration,
    /// Polled; true stops the command.
    pub(in crate::forge) stop: &'a mut dyn FnMut() -> bool,
}

/// The result of a watched command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::forge) enum Watched {
    /// The command succeeded.
    Done,
    /// The command failed, with the beginning of its error output.
    Failed(String),
    /// `stop` returned true; the process group was killed.
    Stopped,
    /// The time limit passed; the process group was killed.
    TooLate,
}

impl Git {
    /// Runs a command with `input` as standard input until it ends or is stopped.
    pub(in crate::forge) fn watch<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
        watching: Watching<'_>,
    ) -> Result<Watched, Failure> {
        let failed = |error: io::Error| failure::git(&name_of(args), &error.to_string());
        // Files instead of pipes, which would have to be drained meanwhile.
        let said = tempfile::tempfile().map_err(failed)?;
        let to = said.try_clone().map_err(failed)?;
        let mut group = self.spawn(args, input_file(input).map_err(failed)?.into(), to.into())?;
        // Watched commands write nothing to standard output.
        drop(group.child().stdout.take());
        let deadline = Instant::now() + watching.wall;
        loop {
            if let Some(status) = group.ended().map_err(failed)? {
                let ended = if status.success() { Watched::Done } else { Watched::Failed(beginning(said)) };
                return Ok(ended);
            }
            let is_loud = said.metadata().is_ok_and(|file| file.len() > MAX_COMPLAINTS);
            let is_late = Instant::now() >= deadline;
            if is_late || is_loud || (watching.stop)() {
                group.kill().map_err(failed)?;
                return Ok(match (is_late, is_loud) {
                    (true, _) => Watched::TooLate,
                    (_, true) => Watched::Failed(beginning(said)),
                    _ => Watched::Stopped,
                });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn beginning(mut file: File) -> String {
    let mut text = Vec::new();
    let _ = file.rewind().and_then(|()| file.take(MAX_STDERR as u64).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}
