//! Parses a range of commits in git's notation.

use crate::failure::{self, Failure};

/// The two sides of a range, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Range {
    /// `A..B`: A and B.
    Between(String, String),
    /// `A...B`: the merge base and B.
    SinceFork(String, String),
    /// `A`: everything since A, uncommitted work included.
    Since(String),
}

impl Range {
    /// Parses `A..B`, `A...B`, `A^!` or `A`. An empty side is `HEAD`.
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
        // Git treats a leading dash as an option and a caret as an exclusion.
        let wrong = |side: &&str| side.is_empty() || side.starts_with(['-', '^']) || side.contains(['\n', '\0']);
        let alone = text.chars().all(|character| character == '.');
        if alone || range.sides().iter().any(wrong) { Err(failure::not_a_range(text)) } else { Ok(range) }
    }

    /// The names, in order.
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
    fn a_name_that_git_would_take_for_an_option_is_refused() {
        for text in ["", "..", "...", "--output=/x", "main..-x", "-x...main", "^main", "a\nb"] {
            check(text, "refused");
        }
    }
}
