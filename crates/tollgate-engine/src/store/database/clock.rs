//! The clock: on PostgreSQL that of the server, which all processes share.

use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that was set once and runs on, or that of this machine.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// When it was set, and to which time in milliseconds since 1970.
    set: Mutex<Option<(Instant, u64)>>,
}

impl Clock {
    /// Sets it to the time that the server reported between two moments.
    pub(super) fn set(&self, asked: Instant, answered: Instant, server_ms: u64) {
        let middle = asked + answered.saturating_duration_since(asked) / 2;
        *self.set.lock().unwrap_or_else(PoisonError::into_inner) = Some((middle, server_ms));
    }

    /// The time, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        let set = *self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        match set {
            Some((at, server_ms)) => server_ms.saturating_add(millis(at.elapsed())),
            None => millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_clock_of_the_server_overrides_that_of_this_machine() {
        let clock = Clock::default();
        let here = clock.now_ms();
        assert!(here > 1_700_000_000_000, "{here}");
        let now = Instant::now();
        clock.set(now, now + Duration::from_millis(10), 5_000_000);
        let there = clock.now_ms();
        assert!((4_999_000..6_000_000).contains(&there), "{there}");
    }
}
