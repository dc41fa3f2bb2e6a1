//! Schema migrations of PostgreSQL: the first process creates or migrates the tables, and others wait.
//!
//! ```text
//! tollgate_schema   version 10, works_with 7: made by version 10; programs of version 7 may run beside it
//! ```
//!
//! A migration that only adds is compatible with the version before, so that servers of both can run side by side during an
//! upgrade.

use crate::failure::{self, Failure};
use crate::store::location::{Address, Location};
use crate::store::sql::{self, Connection, Error, OptionalExtension as _, WriteMode, params};

use super::explain;

/// The migrations, from the first version that supports PostgreSQL on.
const MIGRATIONS: [(usize, &str); 4] = [
    (7, include_str!("../postgres/0007.sql")),
    (8, include_str!("../postgres/0008.sql")),
    (9, include_str!("../postgres/0009.sql")),
    (10, include_str!("../postgres/0010.sql")),
];
/// The version of this program.
const VERSION: usize = 10;
/// The oldest compatible version.
const WORKS_WITH: usize = 7;

/// The advisory lock of migrations.
const MAKING: i64 = 0x746f_6c6c_0002;

/// The tables in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Schema {
    /// None of ours.
    Missing,
    /// Tables with our names that this program did not create.
    Foreign,
    /// Our tables: their version, and the oldest compatible one.
    Version(usize, usize),
}

impl Schema {
    /// The number of pending migrations.
    pub(in crate::store) fn n_pending(self) -> usize {
        match self {
            Self::Missing => MIGRATIONS.len(),
            Self::Foreign => 0,
            Self::Version(version, _) => MIGRATIONS.iter().filter(|(number, _)| *number > version).count(),
        }
    }

    /// Whether it is too new for this program.
    pub(in crate::store) fn newer_than_known(self) -> Option<(usize, usize)> {
        match self {
            Self::Version(version, works_with) if works_with > VERSION => Some((version, VERSION)),
            Self::Version(..) | Self::Missing | Self::Foreign => None,
        }
    }
}

/// Fails when the tables cannot be used.
pub(super) fn check(place: &Location, schema: Schema) -> Result<(), Failure> {
    if let Some((found, known)) = schema.newer_than_known() {
        return Err(failure::newer_database(&place.to_string(), found, known));
    }
    if schema == Schema::Foreign {
        return Err(failure::foreign_database(&place.to_string()));
    }
    Ok(())
}

/// Opens a database, and migrates it.
pub(super) fn open(place: &Location, address: &Address) -> Result<Connection, Failure> {
    let failed = |error: Error| explain(place, &error);
    let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
    let schema = schema_of(&connection).map_err(failed)?;
    check(place, schema)?;
    if schema.n_pending() == 0 {
        return Ok(connection);
    }
    // On a connection without time limits.
    let making = sql::connect(address).map_err(failed)?;
    making.take_time().map_err(failed)?;
    migrate(&Connection::Postgres(making)).map_err(failed)?;
    Ok(connection)
}

/// Whether there are tables of ours.
pub(super) fn has_tables(place: &Location, address: &Address) -> Result<bool, Failure> {
    let failed = |error: Error| explain(place, &error);
    let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
    Ok(schema_of(&connection).map_err(failed)? != Schema::Missing)
}

/// Begins an exclusive transaction, and creates missing tables in it: a rollback removes them.
pub(super) fn begin_empty(place: &Location, address: &Address) -> Result<Connection, Failure> {
    let failed = |error: Error| explain(place, &error);
    let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
    let schema = schema_of(&connection).map_err(failed)?;
    check(place, schema)?;
    connection.begin(WriteMode::Exclusive).map_err(failed)?;
    make(&connection).map_err(failed)?;
    Ok(connection)
}

/// Reads the version of the tables.
pub(in crate::store) fn schema_of(connection: &Connection) -> sql::Result<Schema> {
    // First: where another process is creating the tables, their version appears together with them.
    let ours = "SELECT to_regclass('run') IS NOT NULL OR to_regclass('finding') IS NOT NULL \
                OR to_regclass('event') IS NOT NULL OR to_regclass('project') IS NOT NULL";
    let is_taken: bool = connection.query_row(ours, (), |row| row.get(0))?;
    let is_there = "SELECT to_regclass('tollgate_schema') IS NOT NULL";
    if connection.query_row(is_there, (), |row| row.get(0))? {
        let read = |row: &sql::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let found = connection.query_row("SELECT version, works_with FROM tollgate_schema", (), read).optional()?;
        return Ok(found.map_or(Schema::Foreign, |(version, works_with)| Schema::Version(version, works_with)));
    }
    Ok(if is_taken { Schema::Foreign } else { Schema::Missing })
}

fn migrate(connection: &Connection) -> sql::Result<()> {
    connection.execute_batch("BEGIN")?;
    make(connection)?;
    connection.execute_batch("COMMIT")
}

/// Migrates the tables, within a transaction.
fn make(connection: &Connection) -> sql::Result<()> {
    connection.execute_batch(&format!("SELECT pg_advisory_xact_lock({MAKING})"))?;
    // Another process may have migrated them meanwhile.
    let schema = schema_of(connection)?;
    let version = match schema {
        Schema::Version(version, _) => version,
        Schema::Missing => {
            connection.execute_batch(
                "CREATE TABLE tollgate_schema (version BIGINT NOT NULL, works_with BIGINT NOT NULL); \
                 INSERT INTO tollgate_schema VALUES (0, 0)",
            )?;
            0
        }
        Schema::Foreign => return Ok(()),
    };
    for (_, text) in MIGRATIONS.iter().filter(|(number, _)| *number > version) {
        connection.execute_batch(text)?;
    }
    if version < VERSION {
        let sql = "UPDATE tollgate_schema SET version = ?1, works_with = ?2";
        connection.execute(sql, params![super::super::number(VERSION), super::super::number(WORKS_WITH)])?;
    }
    Ok(())
}
