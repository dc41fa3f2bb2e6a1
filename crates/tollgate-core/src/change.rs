//! What is under review, from any source.

use crate::coverage::Covered;
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
    pub left_out: Vec<Covered>,
    /// What people should know about how the change was read.
    pub notes: Vec<String>,
}

impl Change {
    /// True when there is nothing that could be reviewed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.known.is_empty() && self.left_out.is_empty()
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
