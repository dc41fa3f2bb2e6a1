//! SQL on both engines: one text, one way to ask, one kind of row.
//!
//! The calls are those of rusqlite, so a query reads the same whether its rows come from a file or from a server. Texts
//! are written as SQLite has them (`?1`); [`dialect`] says how PostgreSQL has them, and what a text may use so that both
//! mean the same by it.
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

pub(super) use error::{Error, OptionalExtension, Result, with_causes};
pub(super) use postgres::{Follower, Session, connect};

/// A connection to either engine.
#[derive(Debug)]
pub(super) enum Connection {
    /// To a file.
    Sqlite(rusqlite::Connection),
    /// To a server.
    Postgres(Box<Session>),
}

/// What a statement is given.
pub(super) trait Params {
    /// The values, in the order of their numbers.
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
    /// Whether it leads to a server that others use, too.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// A statement, to be carried out once or often.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'_>> {
        match self {
            Self::Sqlite(connection) => Ok(Statement::Sqlite(connection.prepare(sql)?)),
            Self::Postgres(session) => Ok(Statement::Postgres(session, session.prepare(sql)?)),
        }
    }

    /// Carries out one statement, and says how many rows it changed.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// Carries out statements that need nothing and give nothing.
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
    /// On a server this waits for the exclusive lock of deciding writers ([`Session::begin`]).
    pub(super) fn begin(&self, with: WriteMode) -> Result<()> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch("BEGIN IMMEDIATE")?),
            Self::Postgres(session) => session.begin(with),
        }
    }

    /// Whether this transaction excludes all other writers.
    pub(super) fn writes_alone(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(session) => session.state().with == WriteMode::Exclusive,
        }
    }

    /// Begins a piece of a transaction, which may be undone alone.
    pub(super) fn begin_piece(&self) -> Result<()> {
        self.execute_batch("SAVEPOINT piece")
    }

    /// Ends a piece; without `stays`, as if it had never been.
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

    /// Whether a statement failed since the transaction began: a server then keeps nothing of it, and says so to nobody who
    /// commits.
    pub(super) fn is_spoilt(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(session) => session.state().is_spoilt,
        }
    }

    /// Draws the next number of a sequence; a later one is higher.
    pub(super) fn next_number(&self, name: &str) -> Result<i64> {
        let number = self.draw_number(name)?;
        self.query_row(&format!("SELECT {number}"), (), |row| row.get(0))
    }

    /// The same as an expression, for a statement that is carried out once.
    pub(super) fn draw_number(&self, name: &str) -> Result<String> {
        let sql = "UPDATE counter SET value = value + 1 WHERE name = ?1 RETURNING value";
        match self {
            Self::Sqlite(_) => self.query_row(sql, [name], |row| row.get(0)).map(|number: i64| number.to_string()),
            // A sequence takes no lock. Gaps do no harm.
            Self::Postgres(_) => Ok(format!("nextval('number_{name}')")),
        }
    }

    /// Whether no transaction is going on.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Sqlite(connection) => connection.is_autocommit(),
            Self::Postgres(session) => session.is_lost(),
        }
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(session) => session.is_lost(),
        }
    }
}

/// The writers that may run beside a transaction on other connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// None: the decision depends on rows that were only read.
    Exclusive,
    /// Writers that touch other rows, or lock theirs: claims, heartbeats, deliveries.
    Concurrent,
}

/// A statement of either engine.
pub(super) enum Statement<'a> {
    Sqlite(rusqlite::Statement<'a>),
    Postgres(&'a Session, tokio_postgres::Statement),
}

impl Statement<'_> {
    /// Carries it out, and says how many rows it changed.
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

    /// The mapping of each row.
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

/// How a column is named: by its name, or by its place from 0.
pub(super) trait Column: rusqlite::RowIndex {
    /// Its place in a row.
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
