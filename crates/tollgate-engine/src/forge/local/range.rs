//! A range of commits as people write it.

use crate::failure::{self, Failure};

/// What to compare with what, by the names that were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Range {
    /// `A..B`: the two as they are.
    Between(String, String),
    /// `A...B`: B and where it left A.
    SinceFork(String, String),
    /// `A`: everything since A, uncommitted work included.
    Since(String),
}

impl Range {
    /// Reads `A..B`, `A...B`, `A^!` or `A`. A side left empty is `HEAD`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let side = |side: &str| if side.is_empty() { "HEAD".to_owned() } else { side.to_owned() };
        let range = if let Some((a, b)) = text.split_once("...") {
            Self::SinceFork(side(a), side(b))
        } else if let Some((a, b)) = text.split_once("..") {
            Self::Between(side(a), side(b))
        } else if let Some(commit) = text.strip_suffix("^!") {
            Self::Between(format!("{commit}^"), commit.to_owned())
        } else {
            Self::Since(text.to_owned())
        };
        // Git takes what begins with a dash for an option, and a caret for an exclusion.
        let wrong = |side: &&str| side.is_empty() || side.starts_with(['-', '^']) || side.contains(['\n', '\0']);
        let alone = text.chars().all(|character| character == '.');
        if alone || range.sides().iter().any(wrong) { Err(failure::not_a_range(text)) } else { Ok(range) }
    }

    /// The names, in the order in which they were written.
    pub(super) fn sides(&self) -> Vec<&str> {
        match self {
            Self::Between(a, b) | Self::SinceFork(a, b) => vec![a, b],
            Self::Since(a) => vec![a],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = match Range::parse(text) {
            Ok(Range::Between(a, b)) => format!("{a} to {b}"),
            Ok(Range::SinceFork(a, b)) => format!("fork from {a} to {b}"),
            Ok(Range::Since(a)) => format!("since {a}"),
            Err(_) => "refused".to_owned(),
        };
        assert_eq!(said, expected, "{text:?}");
    }

    #[test]
    fn ranges_are_read_as_git_reads_them() {
        check("main..topic", "main to topic");
        check("main...", "fork from main to HEAD");
        check("..topic", "HEAD to topic");
        check("v1.2", "since v1.2");
        check("HEAD^!", "HEAD^ to HEAD");
    }

    #[test]
    fn what_git_would_take_for_an_option_is_refused() {
        for text in ["", "..", "...", "--output=/x", "main..-x", "-x...main", "^main", "a\nb"] {
            check(text, "refused");
        }
    }
}
