//! A table to copy: its columns by name, and the order of its rows.

use crate::store::sql::{self, Connection, Error, Value};

/// Tables that are not copied as rows: sequences differ between the engines.
const LEFT_OUT: [&str; 1] = ["counter"];
/// Columns that are set for the target.
const OF_PLACE: [(&str, &str); 1] = [("project", "machine")];
/// The maximum number of parameters in SQLite; PostgreSQL has twice as many.
const MAX_VALUES: usize = 30_000;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// By name.
    pub(super) columns: Vec<String>,
    /// The primary key; empty without one.
    pub(super) key: Vec<String>,
    /// True when rows are numbered and numbers are never reused.
    pub(super) is_numbered: bool,
}

/// The tables of a file, in dependency order.
pub(super) fn of_file(connection: &Connection) -> sql::Result<Vec<Table>> {
    // Search indexes are rebuilt in the target.
    let sql = "SELECT s.name, instr(s.sql, 'AUTOINCREMENT') > 0 FROM sqlite_schema s JOIN pragma_table_list l \
               ON l.name = s.name AND l.schema = 'main' AND l.type = 'table' \
               WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite%' ORDER BY s.name";
    let names = connection.prepare(sql)?.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let names: Vec<(String, bool)> = names.collect::<sql::Result<_>>()?;
    let mut left = Vec::new();
    for (name, is_numbered) in names.into_iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
        let key = texts(connection, sql, &name)?;
        let sql = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)";
        let mut refers_to = texts(connection, sql, &name)?;
        // Rows that refer to others of the same table come after them by key order.
        refers_to.retain(|other| *other != name);
        let columns = columns(connection, &name)?;
        left.push((Table { name, columns, key, is_numbered }, refers_to));
    }
    let mut tables: Vec<Table> = Vec::new();
    while !left.is_empty() {
        let is_known = |name: &String| tables.iter().any(|table| table.name == *name);
        let Some(next) = left.iter().position(|(_, refers_to)| refers_to.iter().all(is_known)) else {
            return Err(Error::Damaged("tables refer to each other in a circle".to_owned()));
        };
        tables.push(left.remove(next).0);
    }
    Ok(tables)
}

/// The copied columns of a table by name; empty without such a table.
pub(super) fn columns(connection: &Connection, table: &str) -> sql::Result<Vec<String>> {
    let sql = match connection {
        Connection::Sqlite(_) => "SELECT name FROM pragma_table_info(?1)",
        Connection::Postgres(_) => {
            "SELECT CAST(column_name AS TEXT) FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = ?1"
        }
    };
    let mut columns = texts(connection, sql, table)?;
    columns.retain(|column| !OF_PLACE.contains(&(table, column.as_str())));
    columns.sort();
    Ok(columns)
}

fn texts(connection: &Connection, sql: &str, name: &str) -> sql::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([name], |row| row.get(0))?.collect()
}

impl Table {
    /// Passes all rows in key order to `take`, in batches, until it returns false.
    pub(super) fn read(
        &self,
        connection: &Connection,
        at_once: usize,
        take: &mut dyn FnMut(&[Vec<Value>]) -> bool,
    ) -> sql::Result<()> {
        let columns = quoted(&self.columns);
        let order = if self.key.is_empty() { columns.clone() } else { quoted(&self.key) };
        let places: Vec<usize> =
            self.key.iter().filter_map(|key| self.columns.iter().position(|column| column == key)).collect();
        let select = format!("SELECT {columns} FROM \"{}\"", self.name);
        // A table without a key is small and read at once.
        let limit = if self.key.is_empty() { String::new() } else { format!(" LIMIT {at_once}") };
        let mut last: Option<Vec<Value>> = None;
        loop {
            let after = last.as_ref().map_or(String::new(), |last| {
                let values: Vec<String> = (1..=last.len()).map(|number| format!("?{number}")).collect();
                format!(" WHERE ({order}) > ({})", values.join(", "))
            });
            let values = last.unwrap_or_default();
            let mut statement = connection.prepare(&format!("{select}{after} ORDER BY {order}{limit}"))?;
            let rows = statement.query_map(&values, |row| {
                (0..self.columns.len()).map(|place| row.get(place)).collect::<sql::Result<Vec<Value>>>()
            })?;
            let rows: Vec<Vec<Value>> = rows.collect::<sql::Result<_>>()?;
            let Some(end) = rows.last() else { return Ok(()) };
            last = Some(places.iter().filter_map(|place| end.get(*place).cloned()).collect());
            if !take(&rows) || self.key.is_empty() || rows.len() < at_once {
                return Ok(());
            }
        }
    }

    /// Writes rows as they were read.
    pub(super) fn write(&self, connection: &Connection, rows: &[Vec<Value>]) -> sql::Result<()> {
        let n_columns = self.columns.len().max(1);
        for part in rows.chunks((MAX_VALUES / n_columns).max(1)) {
            let row = |index: usize| {
                let values: Vec<String> =
                    (1..=n_columns).map(|place| format!("?{}", index * n_columns + place)).collect();
                format!("({})", values.join(", "))
            };
            let rows: Vec<String> = (0..part.len()).map(row).collect();
            let (name, columns) = (&self.name, quoted(&self.columns));
            let sql = format!("INSERT INTO \"{name}\" ({columns}) VALUES {}", rows.join(", "));
            let values: Vec<Value> = part.iter().flatten().cloned().collect();
            connection.execute(&sql, &values)?;
        }
        Ok(())
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
