//! Which folders tools may look at.
//!
//! An agent may have been fooled by a text it read, so it names folders, and they are held against those that
//! a person allowed: by their real paths, with every link followed. The repository around a folder must lie inside, too,
//! or be the very one around a folder that was allowed: a pointer in a file named `.git` leads nowhere else.

use std::path::{Path, PathBuf};

use tollgate_engine::failure::{self as engine_failure, Failure};
use tollgate_engine::forge::git::Environment;
use tollgate_engine::forge::local::{Local, Trigger};
use tollgate_engine::store::board::ProjectRow;

use super::arguments::maybe_name;
use super::failure;

/// The folder a program was started in, and others that a person allowed.
#[derive(Debug, Clone)]
pub struct AllowedRoots {
    start: PathBuf,
    more: Vec<PathBuf>,
}

impl AllowedRoots {
    /// Folders that are there.
    pub fn new(start: &Path, more: &[PathBuf]) -> Result<Self, Failure> {
        let real = |folder: &Path| folder.canonicalize().map_err(|error| engine_failure::unreadable(folder, &error));
        let more = more.iter().map(|folder| real(&start.join(folder)));
        Ok(Self { start: real(start)?, more: more.collect::<Result<_, _>>()? })
    }

    pub(super) fn bounds(&self) -> Bounds {
        let folders = std::iter::once(&self.start).chain(&self.more).cloned().collect();
        Bounds { start: Some(self.start.clone()), folders, projects: None }
    }
}

/// The bounds of one call.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The base of relative paths, and the default folder.
    start: Option<PathBuf>,
    folders: Vec<PathBuf>,
    /// Their numbers and names, where they are projects.
    projects: Option<Vec<ProjectRow>>,
}

impl Bounds {
    pub(super) fn of_projects(projects: Vec<ProjectRow>) -> Self {
        let folders = projects.iter().map(|project| project.path.clone()).collect();
        let start = if let [only] = &projects[..] { Some(only.path.clone()) } else { None };
        Self { start, folders, projects: Some(projects) }
    }

    /// The folder that is meant, by its real path.
    pub(super) fn folder(&self, named: Option<&str>) -> Result<PathBuf, Failure> {
        let named = maybe_name("folder", named)?;
        let found = match (named, &self.projects) {
            (None, Some(projects)) => {
                let names = projects.iter().map(|project| format!("{} ({})", project.id, project.name));
                self.start.clone().ok_or_else(|| failure::which_project(&names.collect::<Vec<_>>()))?
            }
            (None, None) => self.start.clone().unwrap_or_default(),
            (Some(named), Some(projects)) => {
                let number = projects.iter().find(|project| project.id.to_string() == named);
                number.map_or_else(|| PathBuf::from(named), |project| project.path.clone())
            }
            (Some(named), None) => self.start.clone().unwrap_or_default().join(named),
        };
        // A missing folder and a forbidden one get the same answer, so that a caller cannot probe the disk.
        let real = found.is_absolute().then(|| found.canonicalize().ok()).flatten();
        let real = real.filter(|real| self.holds(real) && real.is_dir());
        let named = || named.map_or_else(|| found.display().to_string(), str::to_owned);
        real.ok_or_else(|| match self.projects {
            Some(_) => failure::not_a_project(&named()),
            None => failure::out_of_reach(&named()),
        })
    }

    /// Refuses a repository that lies elsewhere.
    pub(super) fn check(&self, forge: &Local, folder: &Path, git: &Environment) -> Result<(), Failure> {
        let (root, common) = parts(forge);
        let is_inside = |path: &Option<PathBuf>| path.as_deref().is_none_or(|path| self.holds(path));
        if is_inside(&root) && is_inside(&common) {
            return Ok(());
        }
        let is_own = |allowed: &PathBuf| {
            let Ok(own) = Local::open(allowed, Trigger::Default, git.clone()) else { return false };
            let (own_root, own_common) = parts(&own);
            (is_inside(&root) || root == own_root) && (is_inside(&common) || common == own_common)
        };
        if self.folders.iter().any(is_own) { Ok(()) } else { Err(failure::reaches_out(folder)) }
    }

    fn holds(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }
}

/// The working tree and the folder with the objects, by their real paths.
fn parts(forge: &Local) -> (Option<PathBuf>, Option<PathBuf>) {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    (forge.root().map(real), forge.common_dir().map(real))
}
