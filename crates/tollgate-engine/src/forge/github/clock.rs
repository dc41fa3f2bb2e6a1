//! The clock and sleeping, passed in so that tests need neither.

use std::time::{Duration, Instant, SystemTime};

/// A clock.
pub trait Clock: Send + Sync {
    /// The wall clock time in milliseconds since 1970. It may jump.
    fn now_ms(&self) -> u64;
    /// The monotonic time in milliseconds.
    fn steady_ms(&self) -> u64;
    /// Sleeps.
    fn wait(&self, time: Duration);
}

/// The system clock.
#[derive(Debug)]
pub(super) struct MachineClock(Instant);

impl MachineClock {
    /// Starts the monotonic clock.
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
