//! Examines a database without changing anything: it is neither created nor migrated.

use std::time::{Duration, Instant};

use rusqlite::OpenFlags;

use super::sql::{self, Connection, Error};
use super::{Location, open};
use crate::failure::{self, Failure, Kind};

/// The oldest supported PostgreSQL, as it numbers its versions.
const OLDEST: i64 = 130_000;
/// How many answers are timed.
const N_ASKED: usize = 5;

/// The condition of a usable database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The engine with its version: `PostgreSQL 15.18`.
    pub engine: String,
    /// The schema version; `None` without tables.
    pub version: Option<usize>,
    /// The number of pending migrations, which run at the next start.
    pub n_pending: usize,
    /// The median latency.
    pub latency: Duration,
}

/// Examines a database; `None` for a missing file. An unusable database is a failure.
pub fn examine(place: &Location) -> Result<Option<Condition>, Failure> {
    match place {
        Location::File(path) if !path.exists() => Ok(None),
        Location::File(path) => {
            let file = rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
            let failed = |error: Error| open::explain(place, &error);
            let connection = Connection::Sqlite(file.map_err(|error| failed(error.into()))?);
            let (version, n_pending) = open::versions_of_file(path, &connection)?;
            if std::fs::metadata(path).is_ok_and(|file| file.permissions().readonly()) {
                return Err(failure::no_store(path, "it can only be read"));
            }
            let latency = latency(&connection).map_err(failed)?;
            Ok(Some(Condition { engine: format!("SQLite {}", rusqlite::version()), version, n_pending, latency }))
        }
        Location::Postgres(address) => {
            let failed = |error: Error| open::explain(place, &error);
            let connection = Connection::Postgres(sql::connect(address).map_err(failed)?);
            let sql = "SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS BIGINT), \
                       CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END";
            let read = |row: &sql::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (said, number, is_copy): (String, i64, bool) = connection.query_row(sql, (), read).map_err(failed)?;
            if number < OLDEST {
                return Err(too_old(place, &said));
            }
            if is_copy {
                return Err(only_read(place));
            }
            let (version, n_pending) = open::versions_of_server(place, &connection)?;
            check_rights(place, &connection, n_pending)?;
            let latency = latency(&connection).map_err(failed)?;
            let engine = format!("PostgreSQL {}", said.split(' ').next().unwrap_or(&said));
            Ok(Some(Condition { engine, version, n_pending, latency }))
        }
    }
}

/// Fails when the role lacks a required privilege.
fn check_rights(place: &Location, connection: &Connection, n_pending: usize) -> Result<(), Failure> {
    let failed = |error: Error| open::explain(place, &error);
    let sql = "SELECT CASE WHEN coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) THEN 1 ELSE 0 END";
    let may_make: bool = connection.query_row(sql, (), |row| row.get(0)).map_err(failed)?;
    if n_pending > 0 && !may_make {
        let problem = "no table can be made in the schema that is found first";
        return Err(failure::database_permission_denied(&place.to_string(), problem));
    }
    let sql = "SELECT CAST(min(tablename) AS TEXT) FROM pg_tables \
               WHERE schemaname = current_schema() AND tablename IN ('run', 'finding', 'feature', 'event', 'pull', 'post') \
               AND NOT (has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'SELECT') \
                 AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'INSERT') \
                 AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'UPDATE') \
                 AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'DELETE'))";
    let closed: Option<String> = connection.query_row(sql, (), |row| row.get(0)).map_err(failed)?;
    match closed {
        Some(table) => {
            let problem = format!("the table `{table}` cannot be both read and written");
            Err(failure::database_permission_denied(&place.to_string(), &problem))
        }
        None => Ok(()),
    }
}

fn latency(connection: &Connection) -> sql::Result<Duration> {
    let mut statement = connection.prepare("SELECT 1")?;
    let mut took = Vec::with_capacity(N_ASKED);
    for _ in 0..N_ASKED {
        let begun = Instant::now();
        statement.exists(())?;
        took.push(begun.elapsed());
    }
    took.sort();
    Ok(took.get(N_ASKED / 2).copied().unwrap_or_default())
}

fn too_old(place: &Location, said: &str) -> Failure {
    Failure::new(Kind::External, format!("`{place}` is PostgreSQL {said}, and 13 is the oldest that can be used"))
        .hint("Update the server, or use another one.")
}

fn only_read(place: &Location) -> Failure {
    Failure::new(Kind::External, format!("`{place}` is a read-only replica")).hint("Use the primary server.")
}
