//! Names of features and of steps, which become names of folders, branches and arguments.

use std::fmt;

/// The longest name.
const MAX_CHARS: usize = 64;

/// A name cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// There is too much.
    #[error("it has {0} characters, and {MAX_CHARS} are the most")]
    TooLong(usize),
    /// A program could take it for an option.
    #[error("it begins with `-`")]
    Option,
    /// A character that would mean something to a file system, a shell or git.
    #[error("it has a character other than `A-Z`, `a-z`, `0-9`, `_` and `-`")]
    Character,
}

/// The name of a feature: `feature-1767960000000-x7k2m9qpa`, `user-auth`.
///
/// It is also the name of its folder, so it holds nothing that could lead elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureId(String);

impl FeatureId {
    /// Takes a name that is safe.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FeatureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a step that a team put behind the review: `step_lx3k_a1b2c3`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(String);

impl StepId {
    /// Takes a name that is safe.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        check(text)?;
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check(text: &str) -> Result<(), IdError> {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if !text.bytes().all(is_safe) {
        return Err(IdError::Character);
    }
    if text.starts_with('-') {
        return Err(IdError::Option);
    }
    if text.len() > MAX_CHARS {
        return Err(IdError::TooLong(text.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let bad =
            ["", ".", "..", "a/b", "a\\b", "-rf", "--output=x", "a b", "a\n", "a\0", "é", "a%2fb", "a.b", "~", "$(x)"];
        for text in bad {
            assert!(FeatureId::parse(text).is_err(), "{text:?}");
            assert!(StepId::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(FeatureId::parse(&"x".repeat(300)), Err(IdError::TooLong(300)));
    }

    #[test]
    fn names_as_boards_make_them_are_taken() {
        for text in ["feature-1767960000000-x7k2m9qpa", "user-auth", "A_1", "_x", &"x".repeat(64)] {
            assert_eq!(FeatureId::parse(text).unwrap().as_str(), text);
        }
    }
}
