//! The event log: numbered events, stored with the change they announce and streamed to clients.
//!
//! ```text
//! 17  1767960000000  project 1  feature-1  feature:code-review-started  {"featureId":"feature-1","iterationNumber":1}
//! ```

use tollgate_core::board::FeatureId;

use super::damaged;
use crate::failure::Failure;
use crate::store::database::numbering;
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, RunRecord, Subject, database, number};

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The project.
    pub project: Option<i64>,
    /// The feature.
    pub feature: Option<FeatureId>,
    /// Its name, such as `feature:code-review-started`.
    pub kind: String,
    /// Its payload, as JSON.
    pub payload: String,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its sequence number.
    pub seq: u64,
    /// Its time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event.
    pub event: NewEvent,
}

impl Database {
    /// Appends an event without a transition, and returns its number.
    pub fn announce(&self, event: NewEvent, at_ms: u64) -> Result<u64, Failure> {
        self.write(move |connection| {
            insert(connection, &[event], at_ms)?;
            database::last_seq(connection)
        })
    }

    /// The events after a number, in order, of one project or of all.
    pub fn events_after(&self, seq: u64, limit: usize, project: Option<i64>) -> Result<Vec<EventRow>, Failure> {
        let which = if project.is_some() { "project = ?3" } else { "CAST(?3 AS BIGINT) IS NULL" };
        let sql = format!(
            "SELECT seq, at_ms, project, feature, kind, payload FROM event WHERE seq > ?1 AND {which} \
             ORDER BY seq LIMIT ?2"
        );
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            statement.query_map(params![seq, number(limit), project], of_row)?.collect()
        })
    }

    /// The number of the last event ever.
    pub fn last_seq(&self) -> Result<u64, Failure> {
        self.read(database::last_seq)
    }

    /// The number of the oldest retained event; a client that is behind it must reload everything.
    pub fn oldest_seq(&self) -> Result<Option<u64>, Failure> {
        self.read(|connection| connection.query_row("SELECT min(seq) FROM event", (), |row| row.get(0)))
    }
}

/// Appends the event of a run that was stored without a board.
pub(in crate::store) fn announce_run(connection: &Connection, run: i64, record: &RunRecord) -> sql::Result<()> {
    let Subject { repository, name, .. } = &record.subject;
    let payload = serde_json::json!({ "run": run, "repository": repository, "subject": name }).to_string();
    let event = NewEvent { project: None, feature: None, kind: "review:stored".to_owned(), payload };
    insert(connection, &[event], record.time.1)
}

pub(in crate::store) fn insert(connection: &Connection, events: &[NewEvent], at_ms: u64) -> sql::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    if !connection.writes_alone() {
        let sql = "INSERT INTO event_waiting (at_ms, project, feature, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut statement = connection.prepare(sql)?;
        for event in events {
            let feature = event.feature.as_ref().map(FeatureId::as_str);
            statement.execute(params![at_ms, event.project, feature, event.kind, event.payload])?;
        }
        numbering::note_waiting(connection);
        return Ok(());
    }
    // SQLite assigns the numbers itself.
    let first =
        connection.is_shared().then(|| numbering::take_numbers(connection, number(events.len()))).transpose()?;
    let sql = "INSERT INTO event (seq, at_ms, project, feature, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let mut statement = connection.prepare(sql)?;
    for (place, event) in (0..).zip(events) {
        let feature = event.feature.as_ref().map(FeatureId::as_str);
        let seq = first.map(|first| first + place);
        statement.execute(params![seq, at_ms, event.project, feature, event.kind, event.payload])?;
    }
    Ok(())
}

fn of_row(row: &Row<'_>) -> sql::Result<EventRow> {
    let feature: Option<String> = row.get("feature")?;
    let feature = feature.map(|id| FeatureId::parse(&id).map_err(|error| damaged(error.to_string()))).transpose()?;
    let event =
        NewEvent { project: row.get("project")?, feature, kind: row.get("kind")?, payload: row.get("payload")? };
    Ok(EventRow { seq: row.get("seq")?, at_ms: row.get("at_ms")?, event })
}
