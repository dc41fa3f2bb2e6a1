//! Removing a worktree of which nothing would be lost.

use std::path::Path;

use super::{Worktree, lock};
use crate::failure::Failure;
use crate::forge::project::{Project, failure};

/// What came of removing a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It is gone; its branch and all commits are still there.
    Done,
    /// It was left as it is, because so many files are not committed.
    Kept {
        /// How many.
        uncommitted: usize,
    },
    /// It was left as it is, because somebody else made it in a place of their own.
    NotOurs,
}

impl Project {
    /// Removes a worktree, unless there is work in it that is not committed. Ignored files go with it.
    pub fn remove_worktree(&self, worktree: &Worktree) -> Result<Removed, Failure> {
        let _lock = lock::take(self.place())?;
        worktree.verify()?;
        if worktree.path().parent() != Some(&self.place().worktrees()) {
            return Ok(Removed::NotOurs);
        }
        let uncommitted = worktree.uncommitted()?;
        if uncommitted > 0 {
            return Ok(Removed::Kept { uncommitted });
        }
        // Away in one step: whatever ends us while thousands of files are deleted, half a worktree is not taken for one.
        let failed = |error: std::io::Error| failure::no_worktree(worktree.path(), &error);
        finish(worktree.path())?;
        std::fs::rename(worktree.path(), gone(worktree.path())).map_err(failed)?;
        clear(worktree.git_dir()).map_err(failed)?;
        finish(worktree.path())?;
        Ok(Removed::Done)
    }
}

/// Deletes what is left of a worktree that was removed, also by a process that did not come to the end of it.
pub(super) fn finish(path: &Path) -> Result<(), Failure> {
    clear(&gone(path)).map_err(|error| failure::no_worktree(path, &error))
}

/// What the folder of a worktree is called while it is deleted. Ids have no such names.
fn gone(path: &Path) -> std::path::PathBuf {
    let mut name = std::ffi::OsString::from(".gone-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Deletes a folder that may not be there, without following links.
pub(super) fn clear(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
