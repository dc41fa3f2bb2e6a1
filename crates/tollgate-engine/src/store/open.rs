//! Opening the file: making it, bringing it up to date, refusing what is not ours.
//!
//! A file of another program, of a newer version or with damage is left as it
//! is, byte for byte.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::figures;
use crate::failure::{self, Failure};

/// The versions of the schema, each brought about by one text.
const MIGRATIONS: [&str; 6] = [
    include_str!("0001.sql"),
    include_str!("0002.sql"),
    include_str!("0003.sql"),
    include_str!("0004.sql"),
    include_str!("0005.sql"),
    include_str!("0006.sql"),
];
/// Marks the file as ours: `toll`.
const APPLICATION: i32 = 0x746f_6c6c;
/// How long another process may hold the file before we go on without it.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it may hold the file before what many want to write is refused.
const WRITER_PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn open(path: &Path) -> Result<Connection, Failure> {
    make(path)?;
    open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens the file for the one who writes for many: what is committed stays, even when the power goes.
pub(super) fn open_writer(path: &Path) -> Result<Connection, Failure> {
    let connection = open(path)?;
    let set = || {
        connection.busy_timeout(WRITER_PATIENCE)?;
        // A file of another process may have been left behind without it.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;")
    };
    set().map_err(|error| explain(path, &error))?;
    Ok(connection)
}

/// Opens a file that is there, only to read it.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Failure> {
    let connection = open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection
        .execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -8000;")
        .map_err(|error| explain(path, &error))?;
    Ok(connection)
}

/// Opens a file that is there.
pub(super) fn open_with(path: &Path, access: OpenFlags) -> Result<Connection, Failure> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| explain(path, &error))?;
    match prepare(&mut connection).map_err(|error| explain(path, &error))? {
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

/// Makes the file, for its owner's eyes only: findings quote code.
///
/// It is made under another name and appears whole, so that no other process ever finds half of one.
fn make(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error: io::Error| failure::no_store(path, &error.to_string());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    // Temporary files are made for their owner's eyes only.
    let new = tempfile::Builder::new().prefix(".tollgate-").suffix(".db").tempfile_in(folder).map_err(failed)?;
    drop(open_with(new.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?);
    match new.into_temp_path().persist_noclobber(path) {
        // Another process was faster.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(error.error)),
        // Its name is to last as long as what is written into it.
        #[cfg(unix)]
        Ok(()) => std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed),
        #[cfg(not(unix))]
        Ok(()) => Ok(()),
    }
}

fn prepare(connection: &mut Connection) -> rusqlite::Result<Fit> {
    connection.busy_timeout(PATIENCE)?;
    // A file that somebody else put there cannot make us run anything.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")?;
    // In one transaction: another process may be making the file right now.
    let transaction = connection.transaction()?;
    let found = fit(&transaction)?;
    drop(transaction);
    match found {
        (Fit::Ours, version) if version < MIGRATIONS.len() => migrate(connection),
        (fit, _) => Ok(fit),
    }
}

/// Tells what the file is, and which version.
fn fit(connection: &Connection) -> rusqlite::Result<(Fit, usize)> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    let is_empty = || connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0));
    Ok(match (application, version) {
        (APPLICATION, version) if version > MIGRATIONS.len() => (Fit::Newer(version), version),
        (APPLICATION, version) => (Fit::Ours, version),
        (0, 0) if is_empty()? => (Fit::Ours, 0),
        _ => (Fit::Foreign, version),
    })
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<Fit> {
    // Outside of the transaction, where alone it is possible; it holds for the file from then on.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while we waited.
    let (fit, version) = fit(&transaction)?;
    if matches!(fit, Fit::Ours) {
        for step in MIGRATIONS.iter().skip(version) {
            transaction.execute_batch(step)?;
        }
        // Not in the text of its version: SQLite's own lower case is that of ASCII.
        if version < figures::SINCE {
            figures::fill(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
        transaction.commit()?;
    }
    Ok(fit)
}

/// Says in our words what SQLite says in its own.
pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => failure::locked_store(path),
        Some(ErrorCode::NotADatabase) => failure::foreign_store(path),
        Some(ErrorCode::DatabaseCorrupt) => failure::damaged_store(path, &error.to_string()),
        Some(ErrorCode::DiskFull) => failure::no_store(path, "the disk is full").hint("Make room, and try again."),
        Some(ErrorCode::ReadOnly) => failure::no_store(path, "it can only be read"),
        _ if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => {
            failure::damaged_store(path, &error.to_string())
        }
        _ => failure::no_store(path, &error.to_string()),
    }
}
