//! Where events are read from.

use std::time::Duration;

use tollgate_engine::failure::Failure;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number, one more than that of the event before.
    pub seq: u64,
    /// The project it belongs to; `None` for one that concerns all.
    pub project: Option<u64>,
    /// Its name, e.g. `feature:code-review-started`.
    pub kind: String,
    /// Its payload, as JSON.
    pub payload: String,
    /// When, as `2026-01-09T14:22:00.000Z`.
    pub at: String,
}

/// The log of everything that happened, oldest first. Numbers only grow; old events may be gone.
pub trait EventLog: Send + Sync + 'static {
    /// The number of the last event; 0 when there is none yet.
    fn last_seq(&self) -> Result<u64, Failure>;

    /// The number after which nothing is missing: every event with a larger number is still there.
    fn pruned_to(&self) -> Result<u64, Failure>;

    /// At most so many events after this one, in order.
    fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, Failure>;

    /// Waits until there may be an event after this one, or for so long; false when there is none.
    fn wait_for_events(&self, seq: u64, timeout: Duration) -> bool;
}
