//! The check run of a commit: its external id, conclusion, output and annotations.

use crate::sha::Sha;

/// The most annotations that the forge accepts in one request.
pub const MAX_ANNOTATIONS: usize = 50;

/// The external id of a check run, which the forge returns in its events.
///
/// Two pull requests can share a commit, and each has its own check.
#[must_use]
pub fn check_external_id(number: u64, head: &Sha) -> String {
    format!("pr {number} {head}")
}

/// The number of the pull request in an external id.
#[must_use]
pub fn pull_of_external_id(id: &str) -> Option<u64> {
    let (number, head) = id.strip_prefix("pr ")?.split_once(' ')?;
    Sha::parse(head).ok()?;
    number.parse().ok()
}

/// The conclusion of a check run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// Reviewed, and the gate is open.
    Success,
    /// The gate is closed, or the review failed.
    Failure,
    /// The commit was not reviewed, or only in part.
    ActionRequired,
    /// Skipped by an author with write access. Forges count this as passed.
    Neutral,
}

impl Conclusion {
    /// The name in the API of the forge.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Neutral => "neutral",
        }
    }

    /// True when the forge allows merging with it.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Self::Success | Self::Neutral)
    }
}

/// The output of a check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutput {
    /// One line.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// All annotations; they are sent in batches.
    pub annotations: Vec<Annotation>,
}

/// An annotation at lines of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file.
    pub path: String,
    /// The first line.
    pub start_line: u32,
    /// The last line.
    pub end_line: u32,
    /// The level.
    pub level: AnnotationLevel,
    /// One line, at most 255 characters.
    pub title: String,
    /// The text, at most 64 KB.
    pub message: String,
}

/// The level of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    /// Informational.
    Notice,
    /// Should be fixed.
    Warning,
    /// Blocks the merge.
    Failure,
}

impl AnnotationLevel {
    /// The name in the API of the forge.
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
    fn external_ids_name_their_pull_request() {
        assert_eq!(pull_of_external_id(&check_external_id(12, &Sha::null())), Some(12));
        for other in ["", "pr", "pr 12", "pr 12 HEAD", "pr -1 0000000000000000000000000000000000000000", "job 12"] {
            assert_eq!(pull_of_external_id(other), None, "{other:?}");
        }
    }
}
