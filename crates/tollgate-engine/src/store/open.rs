//! Schema migrations of SQLite: opens the store, creates or migrates it, and refuses foreign files.
//!
//! A file of another program, of a newer version or with damage is left unchanged,
//! byte for byte.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection as File, ErrorCode, OpenFlags};
use tokio_postgres::error::SqlState;

use super::sql::{self, Connection, Error, WriteMode};
use super::{Location, figures};
use crate::failure::{self, Failure};

mod postgres;

/// The migrations of a file, one for each version.
const MIGRATIONS: [&str; 10] = [
    include_str!("0001.sql"),
    include_str!("0002.sql"),
    include_str!("0003.sql"),
    include_str!("0004.sql"),
    include_str!("0005.sql"),
    include_str!("0006.sql"),
    include_str!("0007.sql"),
    include_str!("0008.sql"),
    include_str!("0009.sql"),
    include_str!("0010.sql"),
];
/// Marks the file as ours: `toll`.
const APPLICATION: i32 = 0x746f_6c6c;
/// How long a file may be locked by another process before a review goes on without it.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it may be locked before writes are refused.
const WRITER_PATIENCE: Duration = Duration::from_secs(5);

/// Opens the store at a location.
pub(super) fn open(place: &Location) -> Result<Connection, Failure> {
    match place {
        Location::File(path) => {
            make(path)?;
            open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        Location::Postgres(address) => postgres::open(place, address),
    }
}

/// Whether a location has tables of ours.
pub(super) fn has_tables(place: &Location) -> Result<bool, Failure> {
    let Location::Postgres(address) = place else { return Ok(place.file().is_some_and(Path::exists)) };
    postgres::has_tables(place, address)
}

/// The version of the tables in a file, if there are any, and the number of pending migrations; nothing is changed.
pub(super) fn versions_of_file(path: &Path, connection: &Connection) -> Result<(Option<usize>, usize), Failure> {
    let Connection::Sqlite(file) = connection else { return Ok((None, 0)) };
    let found = fit(file).map_err(|error| explain(&Location::File(path.to_owned()), &error.into()))?;
    match found {
        (Fit::Ours, version) => Ok((Some(version).filter(|version| *version > 0), MIGRATIONS.len() - version)),
        (Fit::Newer(version), _) => Err(failure::newer_store(path, version, MIGRATIONS.len())),
        (Fit::Foreign, _) => Err(failure::foreign_store(path)),
    }
}

/// The same for a server.
pub(super) fn versions_of_server(place: &Location, connection: &Connection) -> Result<(Option<usize>, usize), Failure> {
    let schema = postgres::schema_of(connection).map_err(|error| explain(place, &error))?;
    postgres::check(place, schema)?;
    let version = match schema {
        postgres::Schema::Version(version, _) => Some(version),
        postgres::Schema::Missing | postgres::Schema::Foreign => None,
    };
    Ok((version, schema.n_pending()))
}

/// Connects to a server and begins a transaction in which missing tables are created.
pub(super) fn begin_empty(place: &Location) -> Result<Connection, Failure> {
    let Location::Postgres(address) = place else { return open(place) };
    postgres::begin_empty(place, address)
}

/// Opens a connection for writes: commits survive a power failure.
pub(super) fn open_writer(place: &Location) -> Result<Connection, Failure> {
    let connection = open(place)?;
    if let Connection::Sqlite(file) = &connection {
        let set = || {
            file.busy_timeout(WRITER_PATIENCE)?;
            // A file may have been left without it by another process.
            file.pragma_update(None, "journal_mode", "WAL")?;
            file.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;")
        };
        set().map_err(|error| explain(place, &error.into()))?;
    }
    if connection.is_shared() {
        // Writes find their rows by keys: planning each statement anew costs more than running it.
        let set = connection.execute_batch("SET plan_cache_mode = force_generic_plan");
        set.map_err(|error| explain(place, &error))?;
    }
    Ok(connection)
}

/// Opens a read-only connection.
pub(super) fn open_reader(place: &Location) -> Result<Connection, Failure> {
    match place {
        Location::File(path) => {
            let connection = open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            let set = connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8000;");
            set.map_err(|error| explain(place, &error))?;
            Ok(connection)
        }
        Location::Postgres(address) => postgres::open(place, address),
    }
}

/// Opens an existing file.
pub(super) fn open_with(path: &Path, access: OpenFlags) -> Result<Connection, Failure> {
    let failed = |error: Error| explain(&Location::File(path.to_owned()), &error);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = File::open_with_flags(path, flags).map_err(|error| failed(error.into()))?;
    let connection = Connection::Sqlite(file);
    match prepare(&connection).map_err(failed)? {
        Fit::Ours => Ok(connection),
        Fit::Newer(version) => Err(failure::newer_store(path, version, MIGRATIONS.len())),
        Fit::Foreign => Err(failure::foreign_store(path)),
    }
}

/// Whether a file is ours to use.
enum Fit {
    Ours,
    Newer(usize),
    Foreign,
}

/// Creates the file, readable by its owner alone: findings quote code.
///
/// It is created under another name and renamed, so that no other process sees half of one.
fn make(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error: io::Error| failure::no_store(path, &error.to_string());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Temporary files are readable by their owner alone.
    let new = tempfile::Builder::new().prefix(".tollgate-").suffix(".db").tempfile_in(folder).map_err(failed)?;
    drop(open_with(new.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?);
    match new.into_temp_path().persist_noclobber(path) {
        // Another process was faster.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error.error)),
        // The directory entry must be as durable as the contents.
        #[cfg(unix)]
        Ok(()) => std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed),
        #[cfg(not(unix))]
        Ok(()) => Ok(()),
    }
}

fn prepare(connection: &Connection) -> sql::Result<Fit> {
    let Connection::Sqlite(file) = connection else { return Ok(Fit::Foreign) };
    file.busy_timeout(PATIENCE)?;
    // A prepared file of an attacker cannot make us run code.
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    file.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")?;
    // In one transaction: another process may be creating the file right now.
    let transaction = file.unchecked_transaction()?;
    let found = fit(&transaction)?;
    drop(transaction);
    match found {
        (Fit::Ours, version) if version < MIGRATIONS.len() => migrate(connection, file),
        (fit, _) => Ok(fit),
    }
}

/// What the file is, and its version.
fn fit(file: &File) -> rusqlite::Result<(Fit, usize)> {
    let pragma = |name: &str| file.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    let is_empty = || file.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0));
    Ok(match (application, version) {
        (APPLICATION, version) if version > MIGRATIONS.len() => (Fit::Newer(version), version),
        (APPLICATION, version) => (Fit::Ours, version),
        (0, 0) if is_empty()? => (Fit::Ours, 0),
        _ => (Fit::Foreign, version),
    })
}

fn migrate(connection: &Connection, file: &File) -> sql::Result<Fit> {
    // WAL mode is set outside of a transaction and stays with the file.
    file.pragma_update(None, "journal_mode", "WAL")?;
    connection.begin(WriteMode::Exclusive)?;
    let migrated = (|| {
        // Another process may have migrated it meanwhile.
        let (fit, version) = fit(file)?;
        if matches!(fit, Fit::Ours) {
            for step in MIGRATIONS.iter().skip(version) {
                file.execute_batch(step)?;
            }
            // Not in SQL: the lower case of SQLite is that of ASCII.
            if version < figures::SINCE {
                figures::fill(connection)?;
            }
            if version < figures::INDEXED_SINCE {
                figures::index_all(connection)?;
            }
            file.pragma_update(None, "application_id", APPLICATION)?;
            file.pragma_update(None, "user_version", MIGRATIONS.len())?;
        }
        connection.execute_batch("COMMIT")?;
        Ok(fit)
    })();
    if migrated.is_err() {
        // This fails where SQLite has rolled back by itself.
        let _ = connection.execute_batch("ROLLBACK");
    }
    migrated
}

/// Translates an error of the engine into a failure for people.
pub(super) fn explain(place: &Location, error: &Error) -> Failure {
    let shown = place.to_string();
    match (place, error) {
        (Location::Postgres(_), error) => explain_server(&shown, error),
        (Location::File(path), Error::Sqlite(error)) => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => failure::locked_store(path),
            Some(ErrorCode::NotADatabase) => failure::foreign_store(path),
            Some(ErrorCode::DatabaseCorrupt) => failure::damaged_store(path, &error.to_string()),
            Some(ErrorCode::DiskFull) => failure::no_store(path, "the disk is full").hint("Make room, and try again."),
            Some(ErrorCode::ReadOnly) => failure::no_store(path, "it can only be read"),
            _ if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => {
                failure::damaged_store(path, &error.to_string())
            }
            _ => failure::no_store(path, &error.to_string()),
        },
        (Location::File(path), Error::Damaged(problem)) => failure::damaged_store(path, problem),
        (Location::File(path), error) => failure::no_store(path, &error.to_string()),
    }
}

fn explain_server(shown: &str, error: &Error) -> Failure {
    let is = |states: &[SqlState]| error.state().is_some_and(|state| states.contains(state));
    if let Error::Damaged(problem) = error {
        return failure::damaged_database(shown, problem);
    }
    if is(&[SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]) {
        return failure::database_login_failed(shown, &error.to_string());
    }
    if is(&[SqlState::INVALID_CATALOG_NAME]) {
        return failure::no_such_database(shown);
    }
    if is(&[SqlState::INSUFFICIENT_PRIVILEGE]) {
        return failure::database_permission_denied(shown, &error.to_string());
    }
    if is(&[SqlState::LOCK_NOT_AVAILABLE, SqlState::QUERY_CANCELED]) {
        return failure::busy_database(shown);
    }
    if error.is_disconnect() || is(&[SqlState::TOO_MANY_CONNECTIONS]) {
        return failure::no_database(shown, &error.to_string());
    }
    failure::failing_database(shown, &error.to_string())
}
