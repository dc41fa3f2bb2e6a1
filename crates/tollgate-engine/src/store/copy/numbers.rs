//! Copies sequences, so that no number is assigned again after a copy.
//!
//! ```text
//! file                            server
//! rows of a table    sqlite_sequence                 the table's own sequence
//! events             sqlite_sequence                 the counter `event`
//! tokens etc.        the counter of that name        the sequence `number_<name>`
//! ```

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::table::Table;
use super::{TableChecksum, hex, take};
use crate::store::sql::{self, Connection, OptionalExtension as _, Value, params};

/// The last assigned numbers, by purpose: `rows of run`, `token`.
pub(super) type Numbers = BTreeMap<String, i64>;

/// The prefix of row numbers of a table.
const ROWS_OF: &str = "rows of ";
/// The only table whose rows are numbered by a counter on a server: without gaps.
const EVENT: &str = "event";
/// The prefix of sequences that number no rows.
const NUMBER: &str = "number_";

/// Reads the last assigned numbers.
pub(super) fn read(connection: &Connection, tables: &[Table]) -> sql::Result<Numbers> {
    let mut numbers = Numbers::new();
    for table in tables.iter().filter(|table| table.is_numbered) {
        numbers.insert(format!("{ROWS_OF}{}", table.name), rows(connection, table)?);
    }
    let mut statement = connection.prepare("SELECT name, value FROM counter")?;
    let counters = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    numbers
        .extend(counters.collect::<sql::Result<Vec<(String, i64)>>>()?.into_iter().filter(|(name, _)| name != EVENT));
    for name in sequences(connection)? {
        numbers.insert(name.trim_start_matches(NUMBER).to_owned(), last_of(connection, &name)?);
    }
    Ok(numbers)
}

/// Continues from these numbers.
pub(super) fn write(connection: &Connection, numbers: &Numbers) -> sql::Result<()> {
    let sequences = sequences(connection)?;
    for (name, &last) in numbers {
        match (name.strip_prefix(ROWS_OF), connection) {
            (Some(table), Connection::Sqlite(_)) => {
                let sql = "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1";
                if last > 0 && connection.execute(sql, params![table, last])? == 0 {
                    connection
                        .execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", params![table, last])?;
                }
            }
            (Some(EVENT), Connection::Postgres(_)) => set_counter(connection, EVENT, last)?,
            (Some(table), Connection::Postgres(_)) => {
                if let Some(sequence) = sequence_of(connection, table)? {
                    set_sequence(connection, &sequence, last)?;
                }
            }
            (None, _) => {
                let sequence = format!("{NUMBER}{name}");
                if sequences.contains(&sequence) {
                    set_sequence(connection, &sequence, last)?;
                } else {
                    set_counter(connection, name, last)?;
                }
            }
        }
    }
    Ok(())
}

/// The checksum of the numbers.
pub(super) fn sum(numbers: &Numbers) -> TableChecksum {
    let mut hash = Sha256::new();
    for (name, last) in numbers {
        take(&mut hash, &Value::Text(name.clone()));
        take(&mut hash, &Value::Integer(*last));
    }
    TableChecksum { rows: numbers.len() as u64, sha256: hex(hash) }
}

fn rows(connection: &Connection, table: &Table) -> sql::Result<i64> {
    let name = table.name.as_str();
    let found = match connection {
        Connection::Sqlite(_) => {
            let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
            connection.query_row(sql, [name], |row| row.get(0)).optional()?
        }
        Connection::Postgres(_) if name == EVENT => {
            let sql = "SELECT value FROM counter WHERE name = ?1";
            connection.query_row(sql, [name], |row| row.get(0)).optional()?
        }
        Connection::Postgres(_) => match sequence_of(connection, name)? {
            Some(sequence) => Some(last_of(connection, &sequence)?),
            None => None,
        },
    };
    Ok(found.unwrap_or(0))
}

/// The sequence of a table's rows on a server.
fn sequence_of(connection: &Connection, table: &str) -> sql::Result<Option<String>> {
    let sql = "SELECT CAST(pg_get_serial_sequence(table_name, column_name) AS TEXT) FROM information_schema.columns \
               WHERE table_schema = current_schema() AND table_name = ?1 AND is_identity = 'YES'";
    connection.query_row(sql, [table], |row| row.get(0)).optional()
}

/// The sequences that number no rows; a file has none.
fn sequences(connection: &Connection) -> sql::Result<Vec<String>> {
    if !connection.is_shared() {
        return Ok(Vec::new());
    }
    let sql = "SELECT CAST(sequencename AS TEXT) FROM pg_sequences WHERE schemaname = current_schema() \
               AND sequencename LIKE 'number\\_%'";
    connection.prepare(sql)?.query_map((), |row| row.get(0))?.collect()
}

fn last_of(connection: &Connection, sequence: &str) -> sql::Result<i64> {
    let sql = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}");
    connection.query_row(&sql, (), |row| row.get(0))
}

fn set_sequence(connection: &Connection, sequence: &str, last: i64) -> sql::Result<()> {
    let sql = "SELECT setval(CAST(CAST(?1 AS TEXT) AS regclass), CASE WHEN ?2 > 0 THEN ?2 ELSE 1 END, ?2 > 0)";
    connection.query_row(sql, params![sequence, last], |_| Ok(()))
}

fn set_counter(connection: &Connection, name: &str, last: i64) -> sql::Result<()> {
    let sql =
        "INSERT INTO counter (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, params![name, last]).map(drop)
}
