//! Files of a change whose content is not here, because it was too much to fetch.
//!
//! Git cannot compare them, and would refuse the whole change. So they are left out of what it is asked, and said to be
//! *not reviewed*, by name.

use std::ffi::OsString;
use std::sync::Arc;

use tollgate_core::change::Change;
use tollgate_core::coverage::{Covered, Looked};
use tollgate_core::path::{FilePath, RepoPath};

use super::Local;
use super::hidden::with_magic;
use crate::lock::Lock;

/// What of a change is not here, and why.
#[derive(Debug, Clone, Default)]
pub(in crate::forge) struct Absent {
    /// Each file and the reason.
    files: Vec<(RepoPath, String)>,
    /// Held as long as anybody reads, so that nobody tidies away what is read.
    _held: Option<Arc<Lock>>,
}

impl Absent {
    /// These files are not here; what is, stays as long as the file is held.
    pub(in crate::forge) fn new(files: Vec<(RepoPath, String)>, held: Arc<Lock>) -> Self {
        Self { files, _held: Some(held) }
    }

    /// What git is told to leave out.
    pub(super) fn as_arguments(&self) -> Vec<OsString> {
        self.files.iter().map(|(path, _)| with_magic(":(top,exclude,literal)", path.as_bytes())).collect()
    }

    /// Says of the change what is not here.
    pub(super) fn tell(&self, change: &mut Change) {
        for (path, reason) in &self.files {
            let file = FilePath::of_repo_path(path);
            change.left_out.push(Covered { file, lines: None, looked: Looked::NotReviewed(reason.clone()) });
        }
        match &self.files[..] {
            [] => {}
            [(path, reason)] => change.notes.push(format!("`{path}` was not looked at: {reason}")),
            [(path, reason), more @ ..] => {
                let n_more = more.len();
                change.notes.push(format!("`{path}` and {n_more} more were not looked at: {reason}"));
            }
        }
    }
}

impl Local {
    /// The same, but for files whose content is not here.
    #[must_use]
    pub(in crate::forge) fn without(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self
    }
}
