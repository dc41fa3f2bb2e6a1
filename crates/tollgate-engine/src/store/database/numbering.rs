//! The numbers of events: without a gap, in the order of commits.
//!
//! An exclusive write numbers its events at once. A concurrent write leaves them in `event_waiting`, since a number from one
//! counter would make every write wait for the commit of the one before. The listening thread ([`super::listen`]) numbers the
//! waiting events a moment after their commit; if its process dies first, another process does so within two seconds.
//!
//! ```text
//! exclusive    take_numbers ─► event 17, 18
//! concurrent   event_waiting ─ commit ─► number_waiting ─► event 19
//! ```

use std::time::Duration;

use super::listen;
use crate::store::sql::{self, Connection, params};

/// The lock of the process that is numbering, until its numbers are committed.
pub(super) const NUMBERING: i64 = 0x746f_6c6c_0003;

/// Numbers the waiting events and notifies all processes. The lock is held, so the counter does not change meanwhile.
const NUMBER: &str = "WITH moved AS (DELETE FROM event_waiting RETURNING *), numbered AS (
    INSERT INTO event (seq, at_ms, project, feature, kind, payload)
    SELECT c.value + row_number() OVER (ORDER BY m.id), m.at_ms, m.project, m.feature, m.kind, m.payload
    FROM moved m CROSS JOIN counter c WHERE c.name = 'event' RETURNING seq
  ), counted AS (
    UPDATE counter SET value = l.seq FROM (SELECT max(seq) AS seq FROM numbered) l
    WHERE name = 'event' AND l.seq IS NOT NULL RETURNING value
  )
  SELECT pg_notify('tollgate_event', CAST(value AS TEXT)) FROM counted";

/// Numbers the waiting events in a transaction of its own; false when another process is numbering right now.
///
/// After a failure the connection is unusable. A process that stops in the middle loses the transaction after some
/// seconds, and the lock with it; a session lock would be kept.
pub(super) fn number_waiting(connection: &Connection) -> sql::Result<bool> {
    connection.execute_batch_later("BEGIN")?;
    let lock = "SELECT pg_try_advisory_xact_lock(?1)";
    let is_ours = connection.query_row(lock, [NUMBERING], |row| row.get(0))?;
    if is_ours {
        // The statement sees all that was committed before it began, so the lock is taken first.
        connection.prepare(NUMBER)?.execute_later(())?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(is_ours)
}

/// Numbers the waiting events of a process that died; a no-op for a file.
pub(in crate::store) fn settle(connection: &Connection) -> sql::Result<()> {
    if connection.is_shared() && connection.prepare("SELECT 1 FROM event_waiting LIMIT 1")?.exists(())? {
        while !number_waiting(connection)? {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// Numbers the waiting events, then draws numbers for an exclusive write; returns the first of them.
pub(in crate::store) fn take_numbers(connection: &Connection, n: i64) -> sql::Result<i64> {
    if let Connection::Postgres(session) = connection
        && !session.state().is_numbering
    {
        session.batch(&format!("SELECT pg_advisory_xact_lock({NUMBERING})"))?;
        connection.execute(NUMBER, ())?;
        session.note(|state| state.is_numbering = true);
    }
    let sql = "UPDATE counter SET value = value + ?1 WHERE name = 'event' RETURNING value - ?1 + 1";
    let first: i64 = connection.query_row(sql, [n], |row| row.get(0))?;
    connection.execute("SELECT pg_notify(?1, ?2)", params![listen::EVENTS, (first + n - 1).to_string()])?;
    Ok(first)
}

/// Marks the transaction: its events wait for their numbers.
pub(in crate::store) fn note_waiting(connection: &Connection) {
    if let Connection::Postgres(session) = connection {
        session.note(|state| state.has_waiting = true);
    }
}

/// Whether events of the transaction wait for their numbers.
pub(super) fn has_waiting(connection: &Connection) -> bool {
    matches!(connection, Connection::Postgres(session) if session.state().has_waiting)
}
