//! Events as the database of the board keeps them.

use std::thread;
use std::time::Duration;

use tollgate_engine::board::iso;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;
use tollgate_engine::store::board::EventRow;

use crate::events::{Event, EventLog};

impl EventLog for Database {
    fn last_seq(&self) -> Result<u64, Failure> {
        self.last_seq()
    }

    fn pruned_to(&self) -> Result<u64, Failure> {
        // Asked for in this order: what is announced in between only makes the second smaller than it could be.
        let last = self.last_seq()?;
        Ok(self.oldest_seq()?.map_or(last, |oldest| oldest.saturating_sub(1)))
    }

    fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, Failure> {
        Ok(self.events_after(seq, limit, None)?.into_iter().map(Event::from).collect())
    }

    fn wait_for_events(&self, seq: u64, timeout: Duration) {
        if self.wait_for_events(seq, timeout).is_err() {
            // The database cannot be read now; whoever waits would otherwise ask again at once, and for ever.
            thread::sleep(timeout);
        }
    }
}

impl From<EventRow> for Event {
    fn from(row: EventRow) -> Self {
        Self {
            seq: row.seq,
            project: row.event.project.and_then(|project| u64::try_from(project).ok()),
            kind: row.event.kind,
            payload: row.event.payload,
            at: iso(row.at_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_engine::store::board::NewEvent;

    use super::*;
    use crate::events::Frame;

    fn announce(database: &Database, at_ms: u64) -> u64 {
        let kind = "feature:code-review-started".to_owned();
        let event = NewEvent { project: None, feature: None, kind, payload: r#"{"featureId":"login"}"#.to_owned() };
        database.announce(event, at_ms).unwrap()
    }

    /// The log as it is, whoever keeps it.
    fn log(database: &Database) -> &dyn EventLog {
        database
    }

    #[test]
    fn what_the_board_announces_becomes_a_frame() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("board.db")).unwrap();
        announce(&database, 1_767_968_520_000);
        let events = log(&database).events_after(0, 10).unwrap();
        assert_snapshot!(Frame::new(&events[0]).text.to_string(), @r#"{"type":"feature:code-review-started","payload":{"featureId":"login"},"seq":1,"timestamp":"2026-01-09T14:22:00.000Z"}"#);
    }

    #[test]
    fn what_is_gone_is_known_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("board.db")).unwrap();
        assert_eq!((log(&database).pruned_to().unwrap(), log(&database).last_seq().unwrap()), (0, 0));
        for at_ms in 1..=5 {
            announce(&database, at_ms);
        }
        assert_eq!(log(&database).pruned_to().unwrap(), 0);
        database.prune_events(4).unwrap();
        assert_eq!(log(&database).pruned_to().unwrap(), 3);
        database.prune_events(100).unwrap();
        assert_eq!((log(&database).pruned_to().unwrap(), log(&database).last_seq().unwrap()), (5, 5));
    }
}
