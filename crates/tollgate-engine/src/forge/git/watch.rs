//! A command that is watched while it runs, because it depends on somebody else: a server can be slow, endless, or
//! say more than anybody wants to hear.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::time::{Duration, Instant};

use super::{Git, MAX_STDERR, input_file, name_of};
use crate::failure::{self, Failure};

/// How often somebody looks.
const PAUSE: Duration = Duration::from_millis(10);
/// A command that complains more than this is stopped.
const MAX_COMPLAINTS: u64 = 1024 * 1024;

/// What is watched for.
pub(in crate::forge) struct Watching<'a> {
    /// How long it may take.
    pub(in crate::forge) wall: Duration,
    /// Asked again and again whether it is to be stopped.
    pub(in crate::forge) stop: &'a mut dyn FnMut() -> bool,
}

/// How a watched command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::forge) enum Watched {
    /// As it should.
    Done,
    /// It failed, and the beginning of what it said about that.
    Failed(String),
    /// Somebody wanted it stopped; it and all that it started are gone.
    Stopped,
    /// It took too long, and was stopped.
    TooLate,
}

impl Git {
    /// Runs a command that reads `input` and whose answer is what it does, until it ends or is stopped.
    pub(in crate::forge) fn watch<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
        watching: Watching<'_>,
    ) -> Result<Watched, Failure> {
        let failed = |error: io::Error| failure::git(&name_of(args), &error.to_string());
        // Files instead of pipes: nobody has to read along while it is watched.
        let said = tempfile::tempfile().map_err(failed)?;
        let to = said.try_clone().map_err(failed)?;
        let mut group = self.spawn(args, input_file(input).map_err(failed)?.into(), to.into())?;
        // A command that says something here is none of those that are watched; it may say it to nobody.
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
