//! Who waits for events is woken by them.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of the last event, and who waits for the next.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    last_seq: Mutex<u64>,
    changed: Condvar,
}

impl Pulse {
    /// Says that events up to this number are there.
    pub(super) fn beat(&self, last_seq: u64) {
        let mut known = self.last_seq.lock().unwrap_or_else(PoisonError::into_inner);
        if last_seq > *known {
            *known = last_seq;
            self.changed.notify_all();
        }
    }

    /// Waits until there is an event after this one, as far as anybody said so.
    pub(super) fn wait(&self, after_seq: u64, until: Instant) -> bool {
        let mut known = self.last_seq.lock().unwrap_or_else(PoisonError::into_inner);
        while *known <= after_seq {
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            (known, _) = self.changed.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}
