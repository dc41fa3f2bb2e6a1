//! What people are told when something cannot be written.

use crate::failure::{Failure, Kind};
use crate::store::sql::{Connection, Error};

/// A piece of work ended in a panic, which is our mistake.
pub(super) fn panicked() -> Failure {
    Failure::new(Kind::Internal, "something went wrong inside while it was stored, and nothing of it was kept")
        .hint("This is a mistake in tollgate; please report it.")
}

/// Too much waits to be written.
pub(super) fn too_busy() -> Failure {
    Failure::new(Kind::External, "more waits to be stored than the disk can take").hint("Try again in a moment.")
}

/// Nobody writes any more.
pub(super) fn closed() -> Failure {
    Failure::new(Kind::Internal, "the database is closed")
}

/// The thread that writes would wait for itself.
pub(super) fn inside_itself() -> Failure {
    Failure::new(Kind::Internal, "something is to be stored from where storing is done")
        .hint("This is a mistake in tollgate; please report it.")
}

/// A piece of work went on after a statement of it had failed; a server keeps nothing of that.
pub(super) fn spoilt() -> Error {
    Error::Damaged("a statement failed in the middle, and nothing was kept".to_owned())
}

/// A database ended a transaction by itself, as SQLite does when the disk fails and a server when it goes.
pub(super) fn ended_by_itself(connection: &Connection) -> Error {
    if connection.is_shared() {
        return Error::Unreachable("the connection is gone".to_owned());
    }
    Error::Sqlite(rusqlite::Error::SqliteFailure(
        rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL),
        Some("the disk is full or failing".to_owned()),
    ))
}
