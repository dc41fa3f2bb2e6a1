//! SQL on both engines: one text, one interface, one kind of row.
//!
//! The calls are those of rusqlite, so a query reads the same for a file and for a server. Statements are written in the
//! dialect of SQLite (`?1`); [`dialect`] translates them for PostgreSQL and lists their vocabulary, so that they mean the
//! same on both.
//!
//! ```text
//! Connection ─ prepare ─► Statement ─ query ─► Rows ─ next ─► Row ─ get ─► value
//! ```

use rusqlite::types::FromSql;

pub(super) use rusqlite::params;
pub(super) use rusqlite::types::{ToSql, Value};

mod dialect;
mod error;
mod postgres;
mod value;

/// Builds a struct from a row: the fields before the semicolon from the columns of their names, the others as given.
macro_rules! from_row {
    ($row:ident => $type:ident { $($column:ident),+; $($rest:tt)* }) => {
        $type { $($column: $row.get(stringify!($column))?,)+ $($rest)* }
    };
}
pub(super) use from_row;

pub(super) use error::{Error, OptionalExtension, Result, with_causes};
pub(super) use postgres::{Follower, Session, connect};

/// A connection to either engine.
#[derive(Debug)]
pub(super) enum Connection {
    /// A file.
    Sqlite(rusqlite::Connection),
    /// A server.
    Postgres(Box<Session>),
}

/// The parameters of a statement.
pub(super) trait Params {
    /// The values, in order.
    fn values(&self) -> Vec<&dyn ToSql>;
}

impl Params for () {
    fn values(&self) -> Vec<&dyn ToSql> {
        Vec::new()
    }
}

impl Params for &[&dyn ToSql] {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.to_vec()
    }
}

impl<T: ToSql, const N: usize> Params for [T; N] {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.iter().map(|value| value as &dyn ToSql).collect()
    }
}

impl Params for &Vec<Value> {
    fn values(&self) -> Vec<&dyn ToSql> {
        self.iter().map(|value| value as &dyn ToSql).collect()
    }
}

impl Connection {
    /// Whether it is a connection to a server, which other processes use too.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Prepares a statement.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        match self {
            Self::Sqlite(connection) => Ok(Statement::Sqlite(connection.prepare(sql)?)),
            Self::Postgres(session) => Ok(Statement::Postgres(session, session.prepare(sql)?)),
        }
    }

    /// Runs a statement, and returns the number of changed rows.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// Runs statements without parameters and results.
    pub(super) fn execute_batch(&self, sql: &str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Self::Postgres(session) => session.batch(sql),
        }
    }

    /// The first row; [`Error::NoRows`] when there is none.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.prepare(sql)?.query_row(params, read)
    }

    /// Begins a transaction that is going to write.
    ///
    /// On a server an exclusive one waits for all others ([`Session::begin`]).
    pub(super) fn begin(&self, with: WriteMode) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch("BEGIN IMMEDIATE")?),
            Self::Postgres(session) => session.begin(with),
        }
    }

    /// Whether this transaction is exclusive.
    pub(super) fn writes_alone(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(session) => session.state().with == WriteMode::Exclusive,
        }
    }

    /// Begins a savepoint.
    pub(super) fn begin_piece(&self) -> Result<()> {
        self.execute_batch("SAVEPOINT piece")
    }

    /// Ends a savepoint; without `stays` it is rolled back.
    pub(super) fn end_piece(&self, stays: bool) -> Result<()> {
        if stays {
            return self.execute_batch("RELEASE SAVEPOINT piece");
        }
        self.execute_batch("ROLLBACK TO SAVEPOINT piece; RELEASE SAVEPOINT piece")?;
        if let Self::Postgres(session) = self {
            session.forget_piece();
        }
        Ok(())
    }

    /// Whether a statement failed since the transaction began: PostgreSQL then commits nothing, and reports no error at the
    /// commit.
    pub(super) fn is_spoilt(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(session) => session.state().is_spoilt,
        }
    }

    /// Draws the next number of a counter; each number is drawn once, and later ones are higher.
    pub(super) fn next_number(&self, name: &str) -> Result<i64> {
        let number = self.draw_number(name)?;
        self.query_row(&format!("SELECT {number}"), (), |row| row.get(0))
    }

    /// The same as an expression, for a statement that runs once.
    pub(super) fn draw_number(&self, name: &str) -> Result<String> {
        let sql = "UPDATE counter SET value = value + 1 WHERE name = ?1 RETURNING value";
        match self {
            Self::Sqlite(_) => self.query_row(sql, [name], |row| row.get(0)).map(|number: i64| number.to_string()),
            // A sequence locks nothing. Numbers that are not used leave gaps, which is fine.
            Self::Postgres(_) => Ok(format!("nextval('number_{name}')")),
        }
    }

    /// Whether no transaction is in progress.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Sqlite(connection) => connection.is_autocommit(),
            Self::Postgres(session) => session.is_lost(),
        }
    }

    /// Whether the connection is lost.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(session) => session.is_lost(),
        }
    }
}

/// How a transaction relates to those of other connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// No other transaction writes meanwhile: it decides upon rows it has read.
    Exclusive,
    /// Others write meanwhile: it locks the rows it touches, as claims, heartbeats and deliveries do.
    Concurrent,
}

/// A statement of either engine.
pub(super) enum Statement<'a> {
    Sqlite(rusqlite::Statement<'a>),
    Postgres(&'a Session, tokio_postgres::Statement),
}

impl Statement<'_> {
    /// Runs it, and returns the number of changed rows.
    pub(super) fn execute(&mut self, params: impl Params) -> Result<usize> {
        let values = params.values();
        match self {
            Self::Sqlite(statement) => Ok(statement.execute(values.as_slice())?),
            Self::Postgres(session, statement) => session.execute(statement, &values),
        }
    }

    /// The rows, one at a time.
    pub(super) fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        let values = params.values();
        match self {
            Self::Sqlite(statement) => Ok(Rows::Sqlite(statement.query(values.as_slice())?)),
            Self::Postgres(session, statement) => {
                Ok(Rows::Postgres { left: session.query(statement, &values)?.into_iter(), now: None })
            }
        }
    }

    /// A value from each row.
    pub(super) fn query_map<T>(
        &mut self,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<std::vec::IntoIter<Result<T>>> {
        let mut rows = self.query(params)?;
        let mut values = Vec::new();
        while let Some(row) = rows.next()? {
            values.push(read(&row));
        }
        Ok(values.into_iter())
    }

    /// The first row; [`Error::NoRows`] when there is none.
    pub(super) fn query_row<T>(&mut self, params: impl Params, read: impl FnOnce(&Row<'_>) -> Result<T>) -> Result<T> {
        let mut rows = self.query(params)?;
        let row = rows.next()?.ok_or(Error::NoRows)?;
        read(&row)
    }

    /// Whether there is a row.
    pub(super) fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.query(params)?.next()?.is_some())
    }
}

/// Rows of either engine.
pub(super) enum Rows<'a> {
    Sqlite(rusqlite::Rows<'a>),
    Postgres { left: std::vec::IntoIter<tokio_postgres::Row>, now: Option<tokio_postgres::Row> },
}

impl Rows<'_> {
    /// The next one.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>> {
        match self {
            Self::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Self::Postgres { left, now } => {
                *now = left.next();
                Ok(now.as_ref().map(Row::Postgres))
            }
        }
    }
}

/// A row of either engine.
pub(super) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// The value of a column, by its name or index.
    pub(super) fn get<I: Column, T: FromSql>(&self, column: I) -> Result<T> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => value::read(row, column.place_in(row)?),
        }
    }
}

/// A column, by its name or its index from 0.
pub(super) trait Column: rusqlite::RowIndex {
    /// Its index in a row.
    fn place_in(&self, row: &tokio_postgres::Row) -> Result<usize>;
}

impl Column for usize {
    fn place_in(&self, row: &tokio_postgres::Row) -> Result<usize> {
        if *self < row.len() { Ok(*self) } else { Err(Error::Damaged(format!("there is no column {self}"))) }
    }
}

impl Column for &str {
    fn place_in(&self, row: &tokio_postgres::Row) -> Result<usize> {
        let place = row.columns().iter().position(|column| column.name() == *self);
        place.ok_or_else(|| Error::Damaged(format!("there is no column `{self}`")))
    }
}
