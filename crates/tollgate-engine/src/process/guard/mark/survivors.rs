//! Finds and kills the remaining processes of a run, on Linux.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use super::super::table::{self, Process};
use super::{ProcessMark, RUN_VARIABLE};

/// How long killing is repeated; a process that does not end hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(2);

/// Kills the remaining processes of a run, waits for their end, and returns their number.
pub(super) fn end(mark: &ProcessMark) -> io::Result<usize> {
    if super::boot().unwrap_or_default() != mark.boot {
        return Ok(0);
    }
    let deadline = Instant::now() + PATIENCE;
    let mut killed = BTreeSet::new();
    loop {
        let survivors = survivors(mark, &table::all());
        if survivors.is_empty() {
            return Ok(killed.len());
        }
        let mut refused = None;
        for process in &survivors {
            refused = process.kill().err().or(refused);
            killed.insert((process.id, process.started));
        }
        if Instant::now() > deadline {
            return Err(refused.map_or_else(|| io::ErrorKind::TimedOut.into(), io::Error::from));
        }
        std::thread::sleep(TICK);
    }
}

/// The live processes of a run: its first process with its descendants and session, and all processes with the run's
/// id in their environment.
fn survivors(mark: &ProcessMark, processes: &[Process]) -> Vec<Process> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let variable = format!("{RUN_VARIABLE}={}", mark.run).into_bytes();
    let first = i32::try_from(mark.pid).ok().filter(|pid| *pid > 1 && !mark.boot.is_empty());
    let first = first.and_then(|pid| processes.iter().find(|it| it.id == pid && it.started == mark.started));
    let of_first = first.map(|first| table::descendants(processes, first.id)).unwrap_or_default();
    let is_of_first = |process: &Process| {
        first.is_some_and(|first| process.id == first.id || process.session == first.id)
            || of_first.iter().any(|known| known.id == process.id)
    };
    let is_survivor = |process: &Process| {
        process.id > 1
            && process.id != own
            && !process.has_ended
            && (is_of_first(process) || (!mark.run.is_empty() && process.has_variable(&variable)))
    };
    processes.iter().filter(|process| is_survivor(process)).copied().collect()
}
