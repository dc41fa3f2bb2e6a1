//! Failures of writes.

use crate::failure::{Failure, Kind};
use crate::store::Location;
use crate::store::sql::{Connection, Error};

/// A write panicked.
pub(super) fn panicked() -> Failure {
    Failure::new(Kind::Internal, "internal error while writing to the database; the write was rolled back")
        .hint("This is a bug in tollgate; please report it.")
}

/// The queue of writes is full.
pub(super) fn too_busy() -> Failure {
    Failure::new(Kind::External, "too many writes are queued for the database").hint("Try again in a moment.")
}

/// The file of the database is no longer there, or another one.
pub(super) fn gone(place: &Location) -> Failure {
    Failure::new(Kind::External, format!("the database file `{place}` was deleted or replaced; nothing is written"))
        .hint("Put the file back from a backup (`tollgate restore`), and restart.")
}

/// The writing threads have ended.
pub(super) fn closed() -> Failure {
    Failure::new(Kind::Internal, "the database is closed")
}

/// A writing thread would wait for itself.
pub(super) fn inside_itself() -> Failure {
    Failure::new(Kind::Internal, "internal error: a write from within a write")
        .hint("This is a bug in tollgate; please report it.")
}

/// A write went on after one of its statements had failed; PostgreSQL has rolled back all of it.
pub(super) fn spoilt() -> Error {
    Error::Damaged("a statement failed in the middle, and nothing was kept".to_owned())
}

/// The engine ended a transaction by itself, as SQLite does when the disk fails, and PostgreSQL when it shuts down.
pub(super) fn ended_by_itself(connection: &Connection) -> Error {
    if connection.is_shared() {
        return Error::Unreachable("the connection is gone".to_owned());
    }
    Error::Sqlite(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL),
        Some("the disk is full or failing".to_owned()),
    ))
}
