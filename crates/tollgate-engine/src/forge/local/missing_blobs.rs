//! Files of a change whose blobs are missing because they were too large to fetch.
//!
//! Git would fail on them and refuse the whole diff. So they are excluded from it and reported as *not reviewed*, by
//! name.

use std::ffi::OsString;
use std::sync::Arc;

use tollgate_core::change::Change;
use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_core::path::{FilePath, RepoPath};

use super::Local;
use super::hidden::with_magic;
use crate::lock::Lock;

/// The files with missing blobs.
#[derive(Debug, Clone, Default)]
pub(in crate::forge) struct MissingBlobs {
    /// Each file with the reason.
    files: Vec<(RepoPath, String)>,
    /// A shared lock that keeps the cache from being evicted while it is read.
    _held: Option<Arc<Lock>>,
}

impl MissingBlobs {
    /// Files with missing blobs, and the lock on the cache.
    pub(in crate::forge) fn new(files: Vec<(RepoPath, String)>, held: Arc<Lock>) -> Self {
        Self { files, _held: Some(held) }
    }

    /// Pathspecs that exclude the files.
    pub(super) fn as_arguments(&self) -> Vec<OsString> {
        self.files.iter().map(|(path, _)| with_magic(":(top,exclude,literal)", path.as_bytes())).collect()
    }

    /// Reports the files as not reviewed.
    pub(super) fn report(&self, change: &mut Change) {
        for (path, reason) in &self.files {
            let file = FilePath::of_repo_path(path);
            change.left_out.push(CoveredHunk { file, lines: None, status: HunkStatus::NotReviewed(reason.clone()) });
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
    /// Excludes files with missing blobs.
    #[must_use]
    pub(in crate::forge) fn without(mut self, missing_blobs: MissingBlobs) -> Self {
        self.missing_blobs = missing_blobs;
        self
    }
}
