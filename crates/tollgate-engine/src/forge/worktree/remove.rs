//! Removes a worktree without uncommitted work.

use std::path::Path;

use super::{Worktree, lock};
use crate::failure::Failure;
use crate::forge::project::{Project, failure};

/// The result of removing a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Removed; its branch and all commits remain.
    Done,
    /// Kept, because of uncommitted files.
    Kept {
        /// The number of these files.
        uncommitted: usize,
    },
    /// Kept, because it was not created by tollgate.
    NotOurs,
}

impl Project {
    /// Removes a worktree, unless it has uncommitted work. Ignored files are deleted.
    pub fn remove_worktree(&self, worktree: &Worktree) -> Result<Removed, Failure> {
        let _lock = lock::take(self.paths())?;
        worktree.verify()?;
        if worktree.path().parent() != Some(&self.paths().worktrees()) {
            return Ok(Removed::NotOurs);
        }
        let uncommitted = worktree.uncommitted()?;
        if uncommitted > 0 {
            return Ok(Removed::Kept { uncommitted });
        }
        // Renamed first: after a crash during the deletion, the rest is not mistaken for a worktree.
        let failed = |error: std::io::Error| failure::no_worktree(worktree.path(), &error);
        finish(worktree.path())?;
        std::fs::rename(worktree.path(), gone(worktree.path())).map_err(failed)?;
        clear(worktree.git_dir()).map_err(failed)?;
        finish(worktree.path())?;
        Ok(Removed::Done)
    }
}

/// Deletes the rest of a removed worktree, also after a crash.
pub(super) fn finish(path: &Path) -> Result<(), Failure> {
    clear(&gone(path)).map_err(|error| failure::no_worktree(path, &error))
}

/// The name of a worktree during its deletion. No feature id looks like it.
fn gone(path: &Path) -> std::path::PathBuf {
    let mut name = std::ffi::OsString::from(".gone-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Deletes a directory that may be missing, without following links.
pub(super) fn clear(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
