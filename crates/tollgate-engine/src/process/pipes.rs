//! Reading both outputs of a child at once, up to a deadline.
//!
//! A child that fills one pipe while its parent reads the other would deadlock. On Unix both are polled in one thread,
//! because two threads for each of the many short git commands cost more than the commands.

use std::io::{self, Read};
use std::process::{ChildStderr, ChildStdout};
use std::time::Instant;

/// The end of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    /// Both outputs ended; the beginning of standard error.
    Whole(String),
    /// The consumer stopped it.
    Enough,
    /// The deadline passed.
    TooLate,
}

const CHUNK: usize = 64 * 1024;

/// Reads both outputs to their end. `take` consumes standard output in chunks and returns whether to go on; of standard
/// error `max_stderr` bytes are kept.
#[cfg(unix)]
pub(crate) fn read_both(
    stdout: ChildStdout,
    stderr: ChildStderr,
    deadline: Instant,
    max_stderr: usize,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<ReadEnd> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let (mut stdout, mut stderr) = (Some(stdout), Some(stderr));
    let (mut buffer, mut errors) = (vec![0; CHUNK], Vec::new());
    while stdout.is_some() || stderr.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(ReadEnd::TooLate);
        }
        let wait =
            Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        let mut ready = [false; 2];
        {
            let mut waiting: Vec<PollFd<'_>> = Vec::with_capacity(2);
            waiting.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            waiting.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut waiting, Some(&wait)) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut seen = waiting.iter().map(|pipe| !pipe.revents().is_empty());
            ready[0] = stdout.is_some() && seen.next().unwrap_or(false);
            ready[1] = stderr.is_some() && seen.next().unwrap_or(false);
        }
        if let Some(pipe) = stdout.as_mut().filter(|_| ready[0]) {
            match pipe.read(&mut buffer)? {
                0 => stdout = None,
                length if take(&buffer[..length]) => {}
                _ => return Ok(ReadEnd::Enough),
            }
        }
        if let Some(pipe) = stderr.as_mut().filter(|_| ready[1]) {
            match pipe.read(&mut buffer)? {
                0 => stderr = None,
                length => errors.extend(&buffer[..length.min(max_stderr.saturating_sub(errors.len()))]),
            }
        }
    }
    Ok(ReadEnd::Whole(String::from_utf8_lossy(&errors).into_owned()))
}

/// Reads both outputs to their end, each in a thread of its own.
#[cfg(not(unix))]
pub(crate) fn read_both(
    mut stdout: ChildStdout,
    mut stderr: ChildStderr,
    deadline: Instant,
    max_stderr: usize,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<ReadEnd> {
    use std::sync::mpsc::{self, RecvTimeoutError};

    let (sender, chunks) = mpsc::sync_channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(length @ 1..) = stdout.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.by_ref().take(max_stderr as u64).read_to_end(&mut text);
        let _ = io::copy(&mut stderr, &mut io::sink());
        String::from_utf8_lossy(&text).into_owned()
    });
    loop {
        match chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(chunk) if take(&chunk) => {}
            Ok(_) => return Ok(ReadEnd::Enough),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Ok(ReadEnd::TooLate),
        }
    }
    Ok(ReadEnd::Whole(errors.join().unwrap_or_default()))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    fn run(script: &str, deadline: Duration, take: &mut dyn FnMut(&[u8]) -> bool) -> ReadEnd {
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let ended = read_both(stdout, stderr, Instant::now() + deadline, 8, take).unwrap();
        let _ = child.kill();
        child.wait().unwrap();
        ended
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_child_that_fills_one_pipe_after_the_other_is_read_to_its_end() {
        let script = "yes error | head -c 300000 >&2; yes out | head -c 300000; echo end >&2";
        let mut n_bytes = 0;
        let ended = run(script, LONG, &mut |chunk| {
            n_bytes += chunk.len();
            true
        });
        assert_eq!((ended, n_bytes), (ReadEnd::Whole("error\ner".to_owned()), 300_000));
    }

    #[test]
    fn the_consumer_of_the_output_can_stop() {
        assert_eq!(run("yes", LONG, &mut |_| false), ReadEnd::Enough);
    }

    #[test]
    fn a_child_that_says_nothing_is_waited_for_only_so_long() {
        assert_eq!(run("sleep 600", Duration::from_millis(1), &mut |_| true), ReadEnd::TooLate);
    }
}
