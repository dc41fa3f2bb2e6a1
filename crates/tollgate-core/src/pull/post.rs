//! What is written on a pull request: comments on lines, a check, and their limits at the host.

use crate::finding::Side;
use crate::sha::Sha;

/// The most characters of a body.
pub const MAX_BODY: usize = 65_536;
/// The most annotations of one request.
pub const MAX_ANNOTATIONS: usize = 50;

/// A comment at lines of the diff, or at a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inline {
    /// The file, as the diff names it now.
    pub path: String,
    /// Where in it; `None` for the file as a whole.
    pub at: Option<Span>,
    /// The text, with its mark.
    pub body: String,
    /// The key of the finding that it is about, as the mark has it.
    pub key: String,
}

/// Lines of one hunk, on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first line; the same as `line` for one alone.
    pub start: u32,
    /// The last line.
    pub line: u32,
    /// Old or new.
    pub side: Side,
}

/// Our own name for the check of a commit, which the host gives back with everything it tells about the check.
///
/// Two pull requests can have the same commit, and each has its own check.
#[must_use]
pub fn check_id(number: u64, head: &Sha) -> String {
    format!("pr {number} {head}")
}

/// The pull request that a check is of, by our own name for it.
#[must_use]
pub fn number_of_check(id: &str) -> Option<u64> {
    let (number, head) = id.strip_prefix("pr ")?.split_once(' ')?;
    Sha::parse(head).ok()?;
    number.parse().ok()
}

/// How a check ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Reviewed, and it may pass.
    Success,
    /// The gate is closed, or something failed.
    Failure,
    /// Somebody has to do something: it was not reviewed, or not all of it.
    ActionRequired,
    /// Skipped by an author who may write to the repository. A host counts this as passed.
    Neutral,
}

impl Conclusion {
    /// The host's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Neutral => "neutral",
        }
    }

    /// True when a host lets a change pass with it.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Self::Success | Self::Neutral)
    }
}

/// What a check says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckText {
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// All annotations; they are sent in parts.
    pub annotations: Vec<Annotation>,
}

/// A remark at lines, shown beside the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file.
    pub path: String,
    /// The first line.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// How bad.
    pub level: Level,
    /// One line, at most 255 characters.
    pub title: String,
    /// The text, at most 64 KB.
    pub message: String,
}

/// How bad an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For information.
    Notice,
    /// To be looked at.
    Warning,
    /// Blocks.
    Failure,
}

impl Level {
    /// The host's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_known_by_the_pull_request_it_is_of() {
        assert_eq!(number_of_check(&check_id(12, &Sha::null())), Some(12));
        for other in ["", "pr", "pr 12", "pr 12 HEAD", "pr -1 0000000000000000000000000000000000000000", "job 12"] {
            assert_eq!(number_of_check(other), None, "{other:?}");
        }
    }
}
