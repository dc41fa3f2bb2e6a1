//! What a review looked at.
//!
//! Every hunk of a change is reviewed, skipped by a rule that has a name, or
//! not reviewed for a reason that is said. Files without hunks (binary files,
//! pure renames, mode changes) have one entry of their own.

use crate::finding::LineRange;
use crate::path::FilePath;

/// What became of one hunk, or of a file that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkStatus {
    /// A reviewer looked at it.
    Reviewed,
    /// A rule says it need not be looked at; the rule, for people.
    Skipped(String),
    /// It should have been looked at and was not; the reason, for people.
    NotReviewed(String),
}

/// One hunk, or a file that has none, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredHunk {
    /// The file, by its new path or, if deleted, its old one.
    pub file: FilePath,
    /// The lines of the hunk after the change; before it for a pure deletion; `None` for a file without hunks.
    pub lines: Option<LineRange>,
    /// What became of it.
    pub status: HunkStatus,
}

/// What a review looked at, in the order of the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// One entry per hunk.
    pub hunks: Vec<CoveredHunk>,
}

/// The coverage as figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoverageCount {
    /// Hunks a reviewer looked at.
    pub reviewed: usize,
    /// Hunks skipped by a rule.
    pub skipped: usize,
    /// Hunks that should have been looked at and were not.
    pub not_reviewed: usize,
}

impl Coverage {
    /// True when nothing that should have been looked at was left out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.count().not_reviewed == 0
    }

    /// The coverage as figures.
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
