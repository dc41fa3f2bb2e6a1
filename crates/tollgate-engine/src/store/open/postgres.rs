//! Opens a PostgreSQL database: the first process creates the tables, the others wait on an advisory lock.
//!
//! ```text
//! tollgate_schema   version 8, works_with 7: made by version 8; programs that know version 7 may go on beside it
//! ```
//!
//! A version that only adds works with the ones before, so that a new program and an old one can run side by side while
//! one takes the other's place.

use crate::failure::{self, Failure};
use crate::store::location::{Address, Location};
use crate::store::sql::{self, Connection, Error, OptionalExtension as _, WriteMode, params};

use super::explain;

/// The versions of the tables, from the first that PostgreSQL knows on, each brought about by one text.
const MIGRATIONS: [(usize, &str); 1] = [(7, include_str!("../postgres/0007.sql"))];
/// The version that this program makes.
const VERSION: usize = 7;
/// The oldest version of which the programs still work with ours.
const WORKS_WITH: usize = 7;

/// The advisory lock of migrations.
const MAKING: i64 = 0x746f_6c6c_0002;

/// The state of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Schema {
    /// No table of ours.
    Missing,
    /// Tables with our names that we did not make.
    Foreign,
    /// Our tables, of a version, and the oldest version whose programs work with it.
    Version(usize, usize),
}

impl Schema {
    /// How many versions are missing until it is ours.
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

/// Fails when the tables are not ours to use.
pub(super) fn check(place: &Location, schema: Schema) -> Result<(), Failure> {
    if let Some((found, known)) = schema.newer_than_known() {
        return Err(failure::newer_database(&place.to_string(), found, known));
    }
    if schema == Schema::Foreign {
        return Err(failure::foreign_database(&place.to_string()));
    }
    Ok(())
}

/// Opens a database, and brings its tables up to date.
pub(super) fn open(place: &Location, address: &Address) -> Result<Connection, Failure> {
    let failed = |error: Error| explain(place, &error);
    let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
    let schema = schema_of(&connection).map_err(failed)?;
    check(place, schema)?;
    if schema.n_pending() == 0 {
        return Ok(connection);
    }
    // On a connection of its own, which may take its time.
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

/// Begins an exclusive transaction, and creates the tables if there are none: they are rolled back when it fails.
pub(super) fn begin_empty(place: &Location, address: &Address) -> Result<Connection, Failure> {
    let failed = |error: Error| explain(place, &error);
    let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
    let schema = schema_of(&connection).map_err(failed)?;
    check(place, schema)?;
    connection.begin(WriteMode::Exclusive).map_err(failed)?;
    make(&connection).map_err(failed)?;
    Ok(connection)
}

/// Detects the state of the database.
pub(in crate::store) fn schema_of(connection: &Connection) -> sql::Result<Schema> {
    // First of all: where another process is making them right now, its mark is there as soon as its tables are.
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

/// Brings the tables up to date, within a transaction.
fn make(connection: &Connection) -> sql::Result<()> {
    connection.execute_batch(&format!("SELECT pg_advisory_xact_lock({MAKING})"))?;
    // Another process may have done it while we waited.
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
