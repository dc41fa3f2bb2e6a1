//! Git object ids.

use std::fmt;

use crate::visible::visible;

/// The id of a git object: 40 hex digits, or 64 in a SHA-256 repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha(String);

/// Why a text is not a git object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 40 or 64 hex digits, found `{}`", visible(.found))]
pub struct ShaError {
    /// The given text, shortened.
    pub found: String,
}

impl Sha {
    /// The all-zero id, git's "no object", in the 40 digit form.
    #[must_use]
    pub fn null() -> Self {
        Self("0".repeat(40))
    }

    /// Parses a full object id; upper case digits are folded.
    pub fn parse(text: &str) -> Result<Self, ShaError> {
        let whole = text.len() == 40 || text.len() == 64;
        if whole && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(ShaError { found: text.chars().take(80).collect() })
    }

    /// True for the all-zero id.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }

    /// The full id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The abbreviated id: the first seven digits.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_of_both_hash_kinds_are_read() {
        assert_eq!(Sha::parse(&"aB".repeat(20)).unwrap().as_str(), "ab".repeat(20));
        assert_eq!(Sha::parse(&"0".repeat(64)).unwrap().short(), "0000000");
    }

    #[test]
    fn anything_else_is_refused_with_what_was_found() {
        for text in ["", "abc1234", "HEAD", &"g".repeat(40), &"a".repeat(41)] {
            assert_eq!(Sha::parse(text).unwrap_err().found, text);
        }
    }
}
