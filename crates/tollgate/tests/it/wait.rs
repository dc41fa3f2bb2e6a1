//! Waiting for a condition of another process or thread.

use std::time::{Duration, Instant};

/// Ends a hang. Far longer than any condition takes on a busy machine, so that no result depends on it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// Polls until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(what, || is_so().then_some(()));
}

/// Polls until there is a value.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        pause();
    }
}

/// The interval between two polls. It only spares the processor.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}
