//! Copies one database into another, and verifies the copy.
//!
//! A snapshot of the source is read and written in one transaction: the target gets all of it or nothing. Then both
//! sides are read again independently, and their checksums compared before the commit. A checksum covers all rows of a
//! table in key order, each value with its type and length, so that different contents differ.
//!
//! ```text
//! I 8 bytes    R 8 bytes    T length text    B length bytes    N
//! ```
//!
//! The tables are listed from the side that is a file, so that tables of later versions are copied without changes
//! here. The machine of a project is not copied but set for the target.

use sha2::{Digest as _, Sha256};

use super::database::numbering;
use super::sql::{self, Connection, Error, Value, WriteMode};
use super::{Location, open};
use crate::failure::{Failure, Kind};

mod numbers;
mod table;

use table::Table;

/// The batch size, in rows.
const AT_ONCE: usize = 256;

/// The checksum of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChecksum {
    /// The number of rows.
    pub rows: u64,
    /// The SHA-256 of all rows, in hexadecimal.
    pub sha256: String,
}

/// The checksums of a table on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableComparison {
    /// Its name; `numbers` stands for the sequences.
    pub table: String,
    /// In the source.
    pub source: TableChecksum,
    /// In the target.
    pub target: TableChecksum,
}

impl TableComparison {
    /// True when both sides are equal.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.source == self.target
    }
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyResult {
    /// The tables, in the order of copying.
    pub tables: Vec<TableComparison>,
    /// True when the source was written meanwhile, so that the copy is behind.
    pub is_behind: bool,
}

/// Copies a database into another one, which must be empty. In a shared target, projects are assigned to `machine`.
pub fn copy(from: &Location, to: &Location, machine: &str) -> Result<CopyResult, Failure> {
    let source = Side::open(from)?;
    let before = source.generation()?;
    let made = NewFile::of(to);
    let target = Side::to_fill(to)?;
    let done = source.begin_reading().and_then(|()| fill(&source, &target, machine));
    let done = done.and_then(|tables| {
        target.carry_out("COMMIT")?;
        Ok(tables)
    });
    match done {
        Ok(tables) => {
            source.carry_out("COMMIT")?;
            let is_behind = source.generation()? != before;
            made.keep();
            Ok(CopyResult { tables, is_behind })
        }
        Err(failure) => {
            // A lost connection has already rolled back.
            let _ = target.connection.execute_batch("ROLLBACK");
            Err(failure)
        }
    }
}

/// Compares two databases without changing them.
pub fn compare(from: &Location, to: &Location) -> Result<Vec<TableComparison>, Failure> {
    let (source, target) = (Side::open(from)?, Side::open(to)?);
    source.begin_reading()?;
    target.begin_reading()?;
    let compared = sums(&source, &target, &tables(&source, &target)?, None)?;
    source.carry_out("COMMIT")?;
    target.carry_out("COMMIT")?;
    Ok(compared)
}

/// One of the two databases.
struct Side<'a> {
    place: &'a Location,
    connection: Connection,
}

impl<'a> Side<'a> {
    /// Opens an existing database.
    fn open(place: &'a Location) -> Result<Self, Failure> {
        match place {
            Location::File(path) if !path.exists() => Err(nothing_there(place)),
            Location::Postgres(_) if !open::has_tables(place)? => Err(nothing_there(place)),
            Location::File(_) | Location::Postgres(_) => {
                let side = Self::patient(place, open::open(place)?)?;
                numbering::settle(&side.connection).map_err(|error| side.failed(&error))?;
                Ok(side)
            }
        }
    }

    /// Opens the target in a transaction, and creates missing tables.
    fn to_fill(place: &'a Location) -> Result<Self, Failure> {
        match place {
            Location::File(_) => {
                let side = Self::patient(place, open::open(place)?)?;
                side.connection.begin(WriteMode::Exclusive).map_err(|error| side.failed(&error))?;
                Ok(side)
            }
            Location::Postgres(_) => Self::patient(place, open::begin_empty(place)?),
        }
    }

    fn patient(place: &'a Location, connection: Connection) -> Result<Self, Failure> {
        let side = Self { place, connection };
        if let Connection::Postgres(session) = &side.connection {
            session.take_time().map_err(|error| side.failed(&error))?;
        }
        Ok(side)
    }

    /// Begins reading a snapshot.
    fn begin_reading(&self) -> Result<(), Failure> {
        let begin =
            if self.connection.is_shared() { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" } else { "BEGIN" };
        self.carry_out(begin)
    }

    /// A number that changes when the file was written by another process; constant for a server.
    fn generation(&self) -> Result<i64, Failure> {
        if self.connection.is_shared() {
            return Ok(0);
        }
        let asked = self.connection.query_row("PRAGMA data_version", (), |row| row.get(0));
        asked.map_err(|error| self.failed(&error))
    }

    fn carry_out(&self, sql: &str) -> Result<(), Failure> {
        self.connection.execute_batch(sql).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &Error) -> Failure {
        open::explain(self.place, error)
    }
}

/// A file created for the copy, deleted on failure.
struct NewFile<'a>(Option<&'a std::path::Path>);

impl<'a> NewFile<'a> {
    fn of(place: &'a Location) -> Self {
        Self(place.file().filter(|path| !path.exists()))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        let Some(path) = self.0 else { return };
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            // The file never held any data.
            let _ = std::fs::remove_file(name);
        }
    }
}

/// Fills the target and verifies it.
fn fill(source: &Side<'_>, target: &Side<'_>, machine: &str) -> Result<Vec<TableComparison>, Failure> {
    let tables = tables(source, target)?;
    for table in &tables {
        let is_there = target.connection.prepare(&format!("SELECT 1 FROM {} LIMIT 1", table.name));
        let is_there = is_there.and_then(|mut statement| statement.exists(()));
        if is_there.map_err(|error| target.failed(&error))? {
            return Err(not_empty(target.place, &table.name));
        }
    }
    for table in &tables {
        copy_table(source, target, table)?;
    }
    if !target.connection.is_shared() {
        target.carry_out("INSERT INTO run_search_grams (rowid, text) SELECT run, text FROM run_search")?;
    }
    let given = numbers::read(&source.connection, &tables).map_err(|error| source.failed(&error))?;
    numbers::write(&target.connection, &given).map_err(|error| target.failed(&error))?;
    // The numbers of PostgreSQL are in no transaction: others may take some while the copy is compared.
    let compared = sums(source, target, &tables, Some(numbers::sum(&given)))?;
    if let Some(other) = compared.iter().find(|compared| !compared.is_same()) {
        return Err(came_out_different(target.place, other));
    }
    if target.connection.is_shared() {
        let adopted = target.connection.execute("UPDATE project SET machine = ?1", [machine]);
        adopted.map_err(|error| target.failed(&error))?;
    }
    Ok(compared)
}

/// The tables of both sides, in dependency order.
fn tables(source: &Side<'_>, target: &Side<'_>) -> Result<Vec<Table>, Failure> {
    let (file, other) = match (source.place, target.place) {
        (Location::File(_), _) => (source, target),
        (Location::Postgres(_), Location::File(_)) => (target, source),
        (Location::Postgres(_), Location::Postgres(_)) => return Err(between_servers()),
    };
    let tables = table::of_file(&file.connection).map_err(|error| file.failed(&error))?;
    for table in &tables {
        let columns = table::columns(&other.connection, &table.name).map_err(|error| other.failed(&error))?;
        if columns != table.columns {
            return Err(other_columns(other.place, &table.name));
        }
    }
    Ok(tables)
}

fn copy_table(source: &Side<'_>, target: &Side<'_>, table: &Table) -> Result<(), Failure> {
    let mut put = Ok(());
    let read = table.read(&source.connection, AT_ONCE, &mut |rows| {
        put = table.write(&target.connection, rows);
        put.is_ok()
    });
    read.map_err(|error| source.failed(&error))?;
    put.map_err(|error| target.failed(&error))
}

/// The checksums of both sides; `numbers` are those of the source, if they were read before.
fn sums(
    source: &Side<'_>,
    target: &Side<'_>,
    tables: &[Table],
    numbers: Option<TableChecksum>,
) -> Result<Vec<TableComparison>, Failure> {
    let of = |side: &Side<'_>, table: &Table| sum(&side.connection, table).map_err(|error| side.failed(&error));
    let mut compared = Vec::new();
    for table in tables {
        compared.push(TableComparison {
            table: table.name.clone(),
            source: of(source, table)?,
            target: of(target, table)?,
        });
    }
    let given = |side: &Side<'_>| -> Result<TableChecksum, Failure> {
        let numbers = numbers::read(&side.connection, tables).map_err(|error| side.failed(&error))?;
        Ok(numbers::sum(&numbers))
    };
    let of_source = numbers.map_or_else(|| given(source), Ok)?;
    compared.push(TableComparison { table: "numbers".to_owned(), source: of_source, target: given(target)? });
    Ok(compared)
}

fn sum(connection: &Connection, table: &Table) -> sql::Result<TableChecksum> {
    let (mut hash, mut n_rows) = (Sha256::new(), 0_u64);
    table.read(connection, AT_ONCE, &mut |rows| {
        for value in rows.iter().flatten() {
            take(&mut hash, value);
        }
        n_rows += rows.len() as u64;
        true
    })?;
    Ok(TableChecksum { rows: n_rows, sha256: hex(hash) })
}

/// Hashes a value with its type and length.
fn take(hash: &mut Sha256, value: &Value) {
    let mut sized = |kind: &[u8; 1], bytes: &[u8]| {
        hash.update(kind);
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    match value {
        Value::Null => hash.update(b"N"),
        Value::Text(text) => sized(b"T", text.as_bytes()),
        Value::Blob(bytes) => sized(b"B", bytes),
        Value::Integer(number) => hash.update([b"I".as_slice(), &number.to_be_bytes()].concat()),
        Value::Real(number) => hash.update([b"R".as_slice(), &number.to_bits().to_be_bytes()].concat()),
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn nothing_there(place: &Location) -> Failure {
    Failure::new(Kind::User, format!("`{place}` has no tollgate database"))
        .hint("Check the file or the address; `tollgate doctor` shows the database in use.")
}

fn not_empty(place: &Location, table: &str) -> Failure {
    Failure::new(Kind::User, format!("`{place}` is not empty: there are rows in `{table}`"))
        .hint("It was not changed. Copy into a new database; `--check` compares both.")
}

fn between_servers() -> Failure {
    Failure::new(Kind::User, "one of the two databases has to be a file")
        .hint("Use `pg_dump` and `pg_restore` between PostgreSQL servers.")
}

fn other_columns(place: &Location, table: &str) -> Failure {
    let problem = format!("the table `{table}` is another in `{place}` than this version of tollgate makes it");
    Failure::new(Kind::External, problem).hint("Use the same version of tollgate for both.")
}

fn came_out_different(place: &Location, compared: &TableComparison) -> Failure {
    let TableComparison { table, source, target } = compared;
    let problem = format!(
        "`{table}` came out different in `{place}`: {} rows with the checksum {} became {} with {}",
        source.rows, source.sha256, target.rows, target.sha256
    );
    Failure::new(Kind::Internal, problem).hint("The copy was rolled back.")
}
