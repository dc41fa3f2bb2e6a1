//! What time it is, and waiting: passed in, so that tests need neither.

use std::time::{Duration, Instant, SystemTime};

/// A clock, and somebody who waits by it.
pub trait Clock: Send + Sync {
    /// The time of day, in milliseconds since 1970. It may jump.
    fn now_ms(&self) -> u64;
    /// A time that only moves on, in milliseconds since some moment.
    fn steady_ms(&self) -> u64;
    /// Waits.
    fn wait(&self, time: Duration);
}

/// The clock of this machine.
#[derive(Debug)]
pub(super) struct MachineClock(Instant);

impl MachineClock {
    /// A clock that begins now.
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MachineClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn steady_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
