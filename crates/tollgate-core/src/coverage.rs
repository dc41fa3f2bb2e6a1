//! Coverage of a review: the status of every hunk.
//!
//! Every hunk of a change is reviewed, skipped by a named rule, or not reviewed for a stated reason. Files without hunks
//! (binary files, pure renames, mode changes) have one entry each.

use crate::finding::LineRange;
use crate::path::FilePath;

/// The status of a hunk, or of a file without hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkStatus {
    /// A reviewer covered it.
    Reviewed,
    /// Skipped by this rule.
    Skipped(String),
    /// Not reviewed although it should have been, for this reason.
    NotReviewed(String),
}

/// A hunk, or a file without hunks, with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredHunk {
    /// The file, by its new path or, if deleted, its old one.
    pub file: FilePath,
    /// The lines of the hunk after the change; before it for a pure deletion; `None` for a file without hunks.
    pub lines: Option<LineRange>,
    /// The status.
    pub status: HunkStatus,
}

/// The coverage of a review, in the order of the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// One entry per hunk.
    pub hunks: Vec<CoveredHunk>,
}

/// The number of hunks per status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoverageCount {
    /// Reviewed hunks.
    pub reviewed: usize,
    /// Hunks skipped by a rule.
    pub skipped: usize,
    /// Hunks that should have been reviewed and were not.
    pub not_reviewed: usize,
}

impl Coverage {
    /// True when no hunk is left unreviewed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.count().not_reviewed == 0
    }

    /// The number of hunks per status.
    #[must_use]
    pub fn count(&self) -> CoverageCount {
        let mut count = CoverageCount::default();
        for covered in &self.hunks {
            match covered.status {
                HunkStatus::Reviewed => count.reviewed += 1,
                HunkStatus::Skipped(_) => count.skipped += 1,
                HunkStatus::NotReviewed(_) => count.not_reviewed += 1,
            }
        }
        count
    }
}
