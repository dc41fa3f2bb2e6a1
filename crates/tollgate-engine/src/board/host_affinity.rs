//! Host affinity: the machine of a project, when several machines share a database.
//!
//! A project is a folder, and machines may have different folders at the same path. So a project belongs to the
//! machine that added it: only there jobs run and files are read and written. Other machines show its rows in the
//! database. A project that moved is adopted by its new machine on request.

use std::path::Path;

use super::{Board, Refused, failure};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::project::Project as Repository;
use crate::process::machine;
use crate::store::Location;
use crate::store::board::{ProjectOf, ProjectRow};

/// The name of this machine in a shared database.
pub fn machine_name(settings: &Settings) -> String {
    settings.machine.clone().unwrap_or_else(machine::name)
}

impl Board {
    /// Adds a repository to this machine's projects, also when it belonged to another machine.
    pub fn adopt_project(&self, path: &Path, name: Option<&str>) -> Result<ProjectRow, Refused> {
        self.register_project(path, name, true)
    }

    pub(super) fn register_project(&self, path: &Path, name: Option<&str>, adopt: bool) -> Result<ProjectRow, Refused> {
        let repository = Repository::open(path, self.home().git.clone())?;
        let root = repository.root();
        let own = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.map(str::to_owned).or(own).unwrap_or_else(|| "project".to_owned());
        let of = self.machine().map(|name| ProjectOf { machine: name, adopt });
        let project = self.database().add_project_of(root, &name, of, self.now())?;
        self.check_here(&project).map_err(|failure| {
            failure.hint(
                "If it moved to this machine, `tollgate project add PATH --adopt` says so; two machines cannot have \
                 different projects at the same path.",
            )
        })?;
        self.import_all(&project)?;
        Ok(project)
    }

    /// The name of this machine in a shared database; `None` with a database of its own.
    pub fn machine(&self) -> Option<String> {
        match self.database().place() {
            Location::File(_) => None,
            Location::Postgres(_) => Some(machine_name(self.settings())),
        }
    }

    /// True for a project on this machine.
    pub fn is_here(&self, project: &ProjectRow) -> bool {
        self.machine().is_none_or(|here| project.machine.as_ref() == Some(&here))
    }

    /// Fails for a project on another machine.
    pub(super) fn check_here(&self, project: &ProjectRow) -> Result<(), Failure> {
        if self.is_here(project) { Ok(()) } else { Err(failure::elsewhere(project)) }
    }
}
