//! Stores the projects of the board.

use std::path::{Path, PathBuf};

use super::failure;
use crate::failure::Failure;
use crate::store::Database;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, from_row, params};

/// A project on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    /// Its number.
    pub id: i64,
    /// Its folder.
    pub path: PathBuf,
    /// Its display name.
    pub name: String,
    /// When it was added, in milliseconds since 1970.
    pub added_ms: u64,
    /// Its machine in a shared database; `None` in a file.
    pub machine: Option<String>,
}

/// The machine of a new project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectOf {
    /// The machine that adds it.
    pub machine: String,
    /// True to adopt a project of another machine.
    pub adopt: bool,
}

const SELECT: &str = "SELECT id, path, name, added_ms, machine FROM project WHERE removed_ms IS NULL";

impl Database {
    /// Adds a project. An existing one is unchanged; a removed one reappears with its features.
    pub fn add_project(&self, path: &Path, name: &str, at_ms: u64) -> Result<ProjectRow, Failure> {
        self.add_project_of(path, name, None, at_ms)
    }

    /// Adds a project of a machine. A project of another machine is unchanged, unless it is adopted.
    pub(crate) fn add_project_of(
        &self,
        path: &Path,
        name: &str,
        of: Option<ProjectOf>,
        at_ms: u64,
    ) -> Result<ProjectRow, Failure> {
        let text = path.to_str().ok_or_else(|| failure::unwritable_path(path))?.to_owned();
        let name = name.to_owned();
        let added = self.write(move |connection| {
            connection.execute(
                "INSERT INTO project (path, name, added_ms) VALUES (?1, ?2, ?3) ON CONFLICT (path) DO UPDATE \
                 SET removed_ms = NULL, name = excluded.name, machine = NULL WHERE project.removed_ms IS NOT NULL",
                params![text, name, at_ms],
            )?;
            if let Some(of) = &of {
                let sql = "UPDATE project SET machine = ?2 WHERE path = ?1 AND (machine IS NULL OR ?3 <> 0)";
                connection.execute(sql, params![text, of.machine, i64::from(of.adopt)])?;
            }
            connection.query_row(&format!("{SELECT} AND path = ?1"), [&text], of_row)
        })?;
        self.notify_board();
        Ok(added)
    }

    /// All projects, by name.
    pub fn projects(&self) -> Result<Vec<ProjectRow>, Failure> {
        self.read(|connection| {
            let mut statement = connection.prepare(&format!("{SELECT} ORDER BY name, id"))?;
            statement.query_map((), of_row)?.collect()
        })
    }

    /// A project by its number.
    pub fn project(&self, id: i64) -> Result<Option<ProjectRow>, Failure> {
        self.read(|connection| connection.query_row(&format!("{SELECT} AND id = ?1"), [id], of_row).optional())
    }

    /// A project by its path.
    pub fn project_at(&self, path: &Path) -> Result<Option<ProjectRow>, Failure> {
        let Some(path) = path.to_str() else { return Ok(None) };
        self.read(|connection| connection.query_row(&format!("{SELECT} AND path = ?1"), [path], of_row).optional())
    }

    /// Removes a project. Its rows remain. False when there is none.
    pub fn remove_project(&self, id: i64, at_ms: u64) -> Result<bool, Failure> {
        let removed = self.write(move |connection| {
            let sql = "UPDATE project SET removed_ms = ?2 WHERE id = ?1 AND removed_ms IS NULL";
            Ok(connection.execute(sql, params![id, at_ms])? > 0)
        })?;
        self.notify_board();
        Ok(removed)
    }
}

/// True when there is such a project.
pub(super) fn exists(connection: &Connection, id: i64) -> sql::Result<bool> {
    connection.query_row(&format!("SELECT EXISTS ({SELECT} AND id = ?1)"), [id], |row| row.get(0))
}

fn of_row(row: &Row<'_>) -> sql::Result<ProjectRow> {
    let path: String = row.get("path")?;
    Ok(from_row!(row => ProjectRow {
        id, name, added_ms, machine;
        path: path.into(),
    }))
}
