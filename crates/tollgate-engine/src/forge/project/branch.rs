//! Branch names that are safe as git arguments and in paths.
//!
//! The rules of `git check-ref-format --branch`, in our own code so that no hostile name becomes an argument, and
//! stricter: no name that git could resolve as a commit, and no invisible characters.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::visible::is_hidden;

use super::failure;
use crate::failure::Failure;

/// The maximum length in bytes: with `refs/heads/` and `.lock` it fits every file system.
const MAX_BYTES: usize = 200;

/// A branch name without `refs/heads/`: `feature/user-auth`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch(String);

/// The reason why a branch name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchError {
    /// The name is empty.
    #[error("it is empty")]
    Empty,
    /// The name is too long.
    #[error("it has {0} bytes, and {MAX_BYTES} are the most")]
    TooLong(usize),
    /// The name looks like an option.
    #[error("it begins with `-`")]
    Option,
    /// A character that is special to git, or invisible.
    #[error("it has a character that names of branches cannot have")]
    Character,
    /// An invalid path component.
    #[error("a part of it between slashes is empty, begins or ends with `.`, begins with `-`, or ends with `.lock`")]
    Step,
    /// Revision syntax.
    #[error("it has `..` or `@{{`")]
    Syntax,
    /// A reserved name.
    #[error("git takes it for something other than a branch")]
    Reserved,
}

impl BranchError {
    /// The failure for the user who chose the name.
    #[must_use]
    pub fn failure(&self, name: &str) -> Failure {
        failure::bad_branch(name, self)
    }
}

impl Branch {
    /// Parses a branch name.
    pub fn parse(text: &str) -> Result<Self, BranchError> {
        if text.is_empty() {
            return Err(BranchError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(BranchError::TooLong(text.len()));
        }
        if text.starts_with('-') {
            return Err(BranchError::Option);
        }
        // Git allows the second half of these, but an unquoted use in a project's shell script would run them.
        let is_bad =
            |found: char| found.is_whitespace() || is_hidden(found) || "~^:?*[\\\"'`$;&|<>(){}".contains(found);
        if text.contains("..") || text.contains("@{") {
            return Err(BranchError::Syntax);
        }
        if text.chars().any(is_bad) {
            return Err(BranchError::Character);
        }
        let is_bad_step = |step: &str| {
            let lower = step.to_ascii_lowercase();
            step.is_empty() || step.starts_with(['.', '-']) || step.ends_with('.') || lower.ends_with(".lock")
        };
        if text.split('/').any(is_bad_step) {
            return Err(BranchError::Step);
        }
        let is_sha = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let pseudo = text.to_ascii_uppercase();
        if is_sha || text == "@" || pseudo == "HEAD" || pseudo.ends_with("_HEAD") || text.starts_with("refs/") {
            return Err(BranchError::Reserved);
        }
        Ok(Self(text.to_owned()))
    }

    /// The default branch of a feature: `feature/<id>`.
    #[must_use]
    pub fn for_feature(id: &FeatureId) -> Self {
        // Feature ids are shorter and use fewer characters than branches.
        Self(format!("feature/{id}"))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full reference: `refs/heads/feature/user-auth`.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_names_are_refused() {
        let bad = [
            "",
            "-",
            "-b",
            "--output=/tmp/x",
            "--upload-pack=touch x",
            "-rf",
            "..",
            "a..b",
            "../a",
            "a/../b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a/b.",
            "a.lock",
            "a.lock/b",
            "a/b.LOCK",
            "HEAD",
            "head",
            "@",
            "a@{1}",
            "@{u}",
            "@{-1}",
            "FETCH_HEAD",
            "ORIG_HEAD",
            "refs/heads/main",
            "refs/x",
            "a b",
            "a\tb",
            "a\nb",
            "a\r",
            "a\0b",
            "\u{7f}",
            "a\u{1b}[31m",
            "a~1",
            "a^",
            "a^{}",
            "a:b",
            ":a",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "$(touch x)",
            "`touch x`",
            "a;b",
            "a|b",
            "a&b",
            "a>b",
            "a'b",
            "a\"b",
            "\u{202e}a",
            "a\u{200b}b",
            "a\u{a0}b",
            "a\u{85}b",
            "a/-b",
            "0123456789012345678901234567890123456789",
            "{a}",
        ];
        assert!(bad.len() >= 60, "{}", bad.len());
        for text in bad {
            assert!(Branch::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Branch::parse(&"x".repeat(300)), Err(BranchError::TooLong(300)));
    }

    #[test]
    fn usual_names_are_accepted() {
        for text in
            ["feature/user-auth", "main", "a", "fix/#12", "jürgen/lösung", "v1.2.3", "a_b-c.d", "a@b", "x+y", "a=b,c"]
        {
            assert_eq!(Branch::parse(text).unwrap().as_str(), text);
        }
        let longest = "x".repeat(MAX_BYTES);
        assert_eq!(Branch::parse(&longest).unwrap().reference(), format!("refs/heads/{longest}"));
    }

    proptest! {
        #[test]
        fn every_id_makes_a_branch(id in "[A-Za-z0-9_][A-Za-z0-9_-]{0,63}") {
            let branch = Branch::for_feature(&FeatureId::parse(&id).unwrap());
            prop_assert_eq!(Branch::parse(branch.as_str()), Ok(branch));
        }
    }
}
