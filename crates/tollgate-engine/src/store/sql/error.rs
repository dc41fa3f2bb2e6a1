//! Errors of either engine.

use std::fmt;

use tokio_postgres::error::SqlState;

/// The result of a statement.
pub(in crate::store) type Result<T> = std::result::Result<T, Error>;

/// An error of either engine.
#[derive(Debug)]
pub(in crate::store) enum Error {
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// An error of PostgreSQL, or of the connection to it.
    Postgres(tokio_postgres::Error),
    /// The server did not answer in time.
    Silent,
    /// The server cannot be reached, and why.
    Unreachable(String),
    /// There is no such row.
    NoRows,
    /// A stored value is not one that this program writes.
    Damaged(String),
}

impl Error {
    /// The code of an error of PostgreSQL.
    pub(in crate::store) fn state(&self) -> Option<&SqlState> {
        match self {
            Self::Postgres(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the connection is lost, and all uncommitted changes with it.
    pub(in crate::store) fn is_disconnect(&self) -> bool {
        match self {
            Self::Silent | Self::Unreachable(_) => true,
            Self::Postgres(error) => {
                error.is_closed()
                    || error.code().is_none_or(|code| {
                        [
                            SqlState::ADMIN_SHUTDOWN,
                            SqlState::CRASH_SHUTDOWN,
                            SqlState::CANNOT_CONNECT_NOW,
                            SqlState::CONNECTION_FAILURE,
                            SqlState::CONNECTION_EXCEPTION,
                        ]
                        .contains(code)
                    })
            }
            Self::Sqlite(_) | Self::NoRows | Self::Damaged(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => error.fmt(f),
            // The message of the server says more than the kind of the error.
            Self::Postgres(error) => match error.as_db_error() {
                Some(said) => f.write_str(said.message()),
                None => f.write_str(&with_causes(error)),
            },
            Self::Silent => f.write_str("the server did not answer in time"),
            Self::Unreachable(problem) | Self::Damaged(problem) => f.write_str(problem),
            Self::NoRows => f.write_str("there is no such row"),
        }
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRows,
            error => Self::Sqlite(error),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

/// The message of an error with those of its causes.
pub(in crate::store) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A row that may not be there.
pub(in crate::store) trait OptionalExtension<T> {
    /// `None` instead of [`Error::NoRows`].
    fn optional(self) -> Result<Option<T>>;
}

impl<T> OptionalExtension<T> for Result<T> {
    fn optional(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoRows) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
