//! A review comment at lines of the diff, or at a whole file.

use crate::finding::Side;

/// A comment at lines of the diff, or at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineComment {
    /// The path in the diff.
    pub path: String,
    /// The lines; `None` for the whole file.
    pub at: Option<LineSpan>,
    /// The text with its marker.
    pub body: String,
    /// The key of the finding, as in the marker.
    pub key: String,
}

/// Lines of one hunk, on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    /// The first line; the same as `line` for one alone.
    pub start: u32,
    /// The last line.
    pub line: u32,
    /// The side of the diff.
    pub side: Side,
}
