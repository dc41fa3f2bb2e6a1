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
        let name = worktree.path().file_name().filter(|_| worktree.path().parent() == Some(&self.place().worktrees()));
        let Some(name) = name else {
            return Ok(Removed::NotOurs);
        };
        let uncommitted = worktree.uncommitted()?;
        if uncommitted > 0 {
            return Ok(Removed::Kept { uncommitted });
        }
        // Away in one step: whatever ends us while thousands of files are deleted, half a worktree is never taken for one.
        let mut gone = std::ffi::OsString::from(GONE);
        gone.push(name);
        let gone = self.place().worktrees().join(gone);
        let failed = |error: std::io::Error| failure::no_worktree(worktree.path(), &error);
        clear(&gone).map_err(failed)?;
        std::fs::rename(worktree.path(), &gone).map_err(failed)?;
        clear(worktree.git_dir()).map_err(failed)?;
        clear(&gone).map_err(failed)?;
        Ok(Removed::Done)
    }
}

/// What the folder of a worktree is called while it is deleted.
const GONE: &str = ".gone-";

/// Deletes a folder that may not be there, without following links.
pub(super) fn clear(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
