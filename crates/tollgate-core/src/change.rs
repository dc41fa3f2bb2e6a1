//! The change under review, from any source.

use std::collections::HashMap;

use crate::analysis::{self, Analysis};
use crate::coverage::CoveredHunk;
use crate::diff::FileDiff;
use crate::sha::Sha;

/// The change under review.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its title or the name of its branch.
    pub title: Option<String>,
    /// The base commit; all zeros when there is none.
    pub base: Sha,
    /// The commit under review, or the one that uncommitted work builds on; all zeros when there is none.
    pub head: Sha,
    /// True when more than `head` is under review: staged, unstaged or untracked files.
    pub uncommitted: bool,
    /// A description of the comparison: `topic against the merge base with origin/main (0123456)`.
    pub compared: String,
    /// The files, in order of their paths.
    pub files: Vec<FileDiff>,
    /// Files whose content was not read because an earlier review covers it; without lines.
    pub known: Vec<FileDiff>,
    /// Files of the change that could not be read, with the reason.
    pub left_out: Vec<CoveredHunk>,
    /// The files that the repository calls generated or not, at the base.
    pub generated: Generated,
    /// Human-readable notes on how the change was read.
    pub notes: Vec<String>,
}

/// The files that a repository calls generated or not: by the attribute `linguist-generated`, or by the manifest of a tool
/// beside its output folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Generated(HashMap<Vec<u8>, bool>);

impl Generated {
    /// Whether a path is generated; `None` when the repository does not say.
    #[must_use]
    pub fn attribute(&self, path: &[u8]) -> Option<bool> {
        self.0.get(path).copied()
    }
}

impl FromIterator<(Vec<u8>, bool)> for Generated {
    fn from_iter<T: IntoIterator<Item = (Vec<u8>, bool)>>(said: T) -> Self {
        Self(said.into_iter().collect())
    }
}

impl Change {
    /// True when there is nothing to review.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.known.is_empty() && self.left_out.is_empty()
    }

    /// True for a file that was generated before the change: by the repository's word or, without it, by what the file is.
    #[must_use]
    pub fn is_generated(&self, file: &FileDiff) -> bool {
        let path = file.path().as_bytes();
        self.generated.attribute(path).unwrap_or_else(|| analysis::was_generated(file))
    }

    /// Analyzes the files of the change.
    #[must_use]
    pub fn analyze(&self) -> Analysis {
        analysis::analyze_with(&self.files, &|path| self.generated.attribute(path))
    }
}

/// The content of a file after the change, as far as available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The whole file.
    Whole(Vec<u8>),
    /// The file exceeds the size limit; its size in bytes.
    TooLarge(u64),
    /// Only the lines of the diff are known.
    Unknown,
}
