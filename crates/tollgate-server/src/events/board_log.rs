//! The event log of a board, read from its database.

use std::time::Duration;

use tollgate_engine::board::iso;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;

use crate::events::log::{Event, EventLog};

/// The event log of a database.
pub struct BoardLog {
    database: Database,
}

impl BoardLog {
    /// The events of this database.
    pub fn new(database: Database) -> Self {
        Self { database }
    }
}

impl EventLog for BoardLog {
    fn last_seq(&self) -> Result<u64, Failure> {
        self.database.last_seq()
    }

    fn pruned_to(&self) -> Result<u64, Failure> {
        match self.database.oldest_seq()? {
            Some(oldest) => Ok(oldest.saturating_sub(1)),
            None => self.database.last_seq(),
        }
    }

    fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, Failure> {
        let rows = self.database.events_after(seq, limit, None)?;
        let event = |row: tollgate_engine::store::board::EventRow| Event {
            seq: row.seq,
            project: row.event.project.and_then(|project| u64::try_from(project).ok()),
            kind: row.event.kind,
            payload: row.event.payload,
            at: iso(row.at_ms),
        };
        Ok(rows.into_iter().map(event).collect())
    }

    fn wait_for_events(&self, seq: u64, timeout: Duration) {
        if self.database.wait_for_events(seq, timeout).is_err() {
            // The next read reports the error; the pause keeps the follower from spinning.
            std::thread::sleep(timeout.min(Duration::from_secs(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_engine::config::Retention;
    use tollgate_engine::store::board::NewEvent;

    use super::*;
    use crate::events::Frame;

    fn announce(database: &Database, at_ms: u64) {
        let kind = "feature:code-review-started".to_owned();
        let event = NewEvent { project: None, feature: None, kind, payload: r#"{"featureId":"login"}"#.to_owned() };
        database.announce(event, at_ms).unwrap();
    }

    #[test]
    fn an_announced_event_becomes_a_frame() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("board.db")).unwrap();
        announce(&database, 1_767_968_520_000);
        let events = BoardLog::new(database).events_after(0, 10).unwrap();
        assert_snapshot!(Frame::new(&events[0]).text.to_string(), @r#"{"type":"feature:code-review-started","payload":{"featureId":"login"},"seq":1,"timestamp":"2026-01-09T14:22:00.000Z"}"#);
    }

    /// Prunes events from before a time.
    fn forget(database: &Database, before_ms: u64) {
        let kept = Retention { events: 1, deliveries: 0, ..Retention::default() };
        database.forget(&kept, 24 * 60 * 60 * 1_000 + before_ms, || true).unwrap();
    }

    #[test]
    fn pruned_events_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("board.db")).unwrap();
        let log = BoardLog::new(database.clone());
        assert_eq!((log.pruned_to().unwrap(), log.last_seq().unwrap()), (0, 0));
        for at_ms in 1..=5 {
            announce(&database, at_ms);
        }
        assert_eq!(log.pruned_to().unwrap(), 0);
        forget(&database, 4);
        assert_eq!(log.pruned_to().unwrap(), 3);
        forget(&database, 100);
        assert_eq!((log.pruned_to().unwrap(), log.last_seq().unwrap()), (5, 5));
    }
}
