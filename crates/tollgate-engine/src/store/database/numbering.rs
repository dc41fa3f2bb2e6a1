//! The numbers of events: without a gap, in the order in which they were committed.
//!
//! Whoever writes alone numbers what it announces at once. What is written beside others waits, in `event_waiting`, since a
//! number out of one counter would have all of them wait until the one before is on the disk. The thread that listens
//! ([`super::follow`]) numbers what waits, a moment after it was committed; when its process dies first, that of another does
//! so within a second.
//!
//! ```text
//! alone    take_numbers ─► event 17, 18
//! beside   event_waiting ─ commit ─► number_waiting ─► event 19
//! ```

use std::time::Duration;

use super::follow;
use crate::store::sql::{self, Connection, params};

/// Whoever gives out numbers has this lock alone, until what it numbered is committed.
pub(super) const NUMBERING: i64 = 0x746f_6c6c_0003;

/// Numbers what waits, and tells everybody. A lock is held, so nobody else changes the counter.
const NUMBER: &str = "WITH moved AS (DELETE FROM event_waiting RETURNING *), numbered AS (
    INSERT INTO event (seq, at_ms, project, feature, kind, payload)
    SELECT c.value + row_number() OVER (ORDER BY m.id), m.at_ms, m.project, m.feature, m.kind, m.payload
    FROM moved m CROSS JOIN counter c WHERE c.name = 'event' RETURNING seq
  ), counted AS (
    UPDATE counter SET value = l.seq FROM (SELECT max(seq) AS seq FROM numbered) l
    WHERE name = 'event' AND l.seq IS NOT NULL RETURNING value
  )
  SELECT pg_notify('tollgate_event', CAST(value AS TEXT)) FROM counted";

/// Numbers what waits, in a transaction of its own; false when somebody else gives out numbers right now.
///
/// Where this fails the connection is of no more use. A process that stops in the middle loses the transaction after some
/// seconds, and with it the lock, which one that belongs to the connection would keep.
pub(super) fn number_waiting(connection: &Connection) -> sql::Result<bool> {
    connection.execute_batch("BEGIN")?;
    let lock = "SELECT pg_try_advisory_xact_lock(?1)";
    let is_ours = connection.query_row(lock, [NUMBERING], |row| row.get(0))?;
    if is_ours {
        // It sees what was committed before it began, so the lock is taken before.
        connection.execute(NUMBER, ())?;
    }
    connection.execute_batch("COMMIT")?;
    Ok(is_ours)
}

/// Numbers what waits where somebody died before it could; changes nothing elsewhere.
pub(in crate::store) fn settle(connection: &Connection) -> sql::Result<()> {
    if connection.is_shared() && connection.prepare("SELECT 1 FROM event_waiting LIMIT 1")?.exists(())? {
        while !number_waiting(connection)? {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// Gives out so many numbers to whoever writes alone on a server, after all that waited; the first of them.
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
    connection.execute("SELECT pg_notify(?1, ?2)", params![follow::CHANNEL, (first + n - 1).to_string()])?;
    Ok(first)
}

/// Notes that what this transaction announces waits for its number.
pub(in crate::store) fn note_waiting(connection: &Connection) {
    if let Connection::Postgres(session) = connection {
        session.note(|state| state.has_waiting = true);
    }
}

/// Whether what the transaction announced waits for its number.
pub(super) fn has_waiting(connection: &Connection) -> bool {
    matches!(connection, Connection::Postgres(session) if session.state().has_waiting)
}
