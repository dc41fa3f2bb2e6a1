//! The events of a real board.

use std::time::Duration;

use tollgate_engine::board::iso;
use tollgate_engine::failure::Failure;
use tollgate_engine::store::Database;

use crate::events::{Event, EventLog};

/// The events that a database holds.
pub struct BoardLog {
    database: Database,
}

impl BoardLog {
    /// The events of this database.
    #[must_use]
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
            // Whoever asks next is told what is wrong; until then nobody is kept busy.
            std::thread::sleep(timeout.min(Duration::from_secs(1)));
        }
    }
}
