//! Names of branches that are safe to hand to git and to put into paths.
//!
//! The rules of `git check-ref-format --branch`, kept in our own code so that no hostile name ever becomes an argument,
//! and some more: no name that git could take for a commit, and no character that people cannot see.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::visible::is_hidden;

use super::failure;
use crate::failure::Failure;

/// The longest name, in bytes: with `refs/heads/` before and `.lock` behind, every file system has room for it.
const MAX_BYTES: usize = 200;

/// The name of a branch, without `refs/heads/`: `feature/user-auth`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch(String);

/// A name cannot be that of a branch, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// There is too much.
    #[error("it has {0} bytes, and {MAX_BYTES} are the most")]
    TooLong(usize),
    /// A program could take it for an option.
    #[error("it begins with `-`")]
    Option,
    /// A character that means something to git, or that cannot be seen.
    #[error("it has a character that names of branches cannot have")]
    Character,
    /// A step between slashes that git or the file system would misunderstand.
    #[error("a part of it between slashes is empty, begins or ends with `.`, begins with `-`, or ends with `.lock`")]
    Step,
    /// Something that git reads as more than a name.
    #[error("it has `..` or `@{{`")]
    Syntax,
    /// It stands for something else.
    #[error("git takes it for something other than a branch")]
    Reserved,
}

impl BranchError {
    /// The failure for the person who chose the name.
    #[must_use]
    pub fn failure(&self, name: &str) -> Failure {
        failure::bad_branch(name, self)
    }
}

impl Branch {
    /// Takes a name that is safe.
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
        // The second half git allows; a script of the project that forgets its quotes would run them.
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

    /// The branch of a feature that names none: `feature/<id>`.
    #[must_use]
    pub fn for_feature(id: &FeatureId) -> Self {
        // The alphabet of ids is smaller than that of branches, and they are shorter.
        Self(format!("feature/{id}"))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full name of the reference: `refs/heads/feature/user-auth`.
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
    fn names_as_people_make_them_are_taken() {
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
