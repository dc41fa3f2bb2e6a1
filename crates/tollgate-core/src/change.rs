//! What is under review, from any source.

use std::collections::HashMap;

use crate::analysis::{self, Analysis};
use crate::coverage::CoveredHunk;
use crate::diff::FileDiff;
use crate::sha::Sha;

/// A change: what is under review.
#[derive(Debug, Clone)]
pub struct Change {
    /// Its title or the name of its branch.
    pub title: Option<String>,
    /// What it is compared with; all zeros when that has no name.
    pub base: Sha,
    /// The commit under review, or the one that uncommitted work builds on; all zeros when there is none.
    pub head: Sha,
    /// True when more than `head` is under review: staged, unstaged or untracked files.
    pub uncommitted: bool,
    /// What is compared with what, in words: `topic against the merge base with origin/main (0123456)`.
    pub compared: String,
    /// The files, in order of their paths.
    pub files: Vec<FileDiff>,
    /// Files of the change whose content was not read, because an earlier review knows it; without lines.
    pub known: Vec<FileDiff>,
    /// What belongs to the change but could not be read, and why.
    pub left_out: Vec<CoveredHunk>,
    /// What the repository said of its files before the change.
    pub generated: Generated,
    /// What people should know about how the change was read.
    pub notes: Vec<String>,
}

/// Which files a repository calls generated, or not, by the attribute `linguist-generated`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Generated(HashMap<Vec<u8>, bool>);

impl Generated {
    /// What is said of a path; `None` for nothing.
    #[must_use]
    pub fn says(&self, path: &[u8]) -> Option<bool> {
        self.0.get(path).copied()
    }
}

impl FromIterator<(Vec<u8>, bool)> for Generated {
    fn from_iter<T: IntoIterator<Item = (Vec<u8>, bool)>>(said: T) -> Self {
        Self(said.into_iter().collect())
    }
}

impl Change {
    /// True when there is nothing that could be reviewed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.known.is_empty() && self.left_out.is_empty()
    }

    /// True when a program wrote a file: the repository says so or, where it says nothing, the name does.
    #[must_use]
    pub fn is_generated(&self, file: &FileDiff) -> bool {
        let path = file.path().as_bytes();
        self.generated.says(path).unwrap_or_else(|| analysis::is_generated(path))
    }

    /// What it is made of.
    #[must_use]
    pub fn analyze(&self) -> Analysis {
        analysis::analyze_with(&self.files, &|path| self.generated.says(path))
    }
}

/// The text of a file after the change, as far as it can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All of it.
    Whole(Vec<u8>),
    /// It is larger than was asked for; its size in bytes.
    TooLarge(u64),
    /// Only the lines of the diff are known.
    Unknown,
}
