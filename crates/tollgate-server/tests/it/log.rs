//! A log of events in memory.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use tollgate_engine::failure::Failure;
use tollgate_server::events::{Event, EventLog};

#[derive(Default)]
pub(crate) struct MemoryLog {
    kept: Mutex<Kept>,
    more: Condvar,
}

#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    last: u64,
}

impl MemoryLog {
    pub(crate) fn push(&self, project: Option<u64>, kind: &str, payload: String) -> u64 {
        let mut kept = self.kept.lock().unwrap();
        kept.last += 1;
        let seq = kept.last;
        let at = "2026-01-09T14:22:00.000Z".to_owned();
        kept.events.push(Event { seq, project, kind: kind.to_owned(), payload, at });
        self.more.notify_all();
        seq
    }

    /// Forgets all but the last few.
    pub(crate) fn prune(&self, n_left: usize) {
        let mut kept = self.kept.lock().unwrap();
        let n_gone = kept.events.len().saturating_sub(n_left);
        kept.events.drain(..n_gone);
    }
}

impl EventLog for MemoryLog {
    fn last_seq(&self) -> Result<u64, Failure> {
        Ok(self.kept.lock().unwrap().last)
    }

    fn pruned_to(&self) -> Result<u64, Failure> {
        let kept = self.kept.lock().unwrap();
        Ok(kept.events.first().map_or(kept.last, |first| first.seq - 1))
    }

    fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, Failure> {
        let kept = self.kept.lock().unwrap();
        let start = kept.events.partition_point(|event| event.seq <= seq);
        Ok(kept.events[start..].iter().take(limit).cloned().collect())
    }

    fn wait_for_events(&self, seq: u64, timeout: Duration) -> bool {
        let kept = self.kept.lock().unwrap();
        !self.more.wait_timeout_while(kept, timeout, |kept| kept.last <= seq).unwrap().1.timed_out()
    }
}
