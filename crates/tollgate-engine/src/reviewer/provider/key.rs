//! The API key of a provider.
//!
//! A [`Key`] leaves the process in one header only. All text of a response passes a [`Redactor`], which removes the key.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::redaction::Redactor;

/// An API key; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is empty.
    #[error("the key is empty")]
    Empty,
    /// It has several lines, blanks, quotes, or characters that no header can carry.
    #[error("the key has characters that no key has, such as line breaks, blanks or quotes")]
    Strange,
}

impl Key {
    /// Parses a key, without the white space around it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, KeyError> {
        let text = text.as_ref().trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte)) {
            return Err(KeyError::Strange);
        }
        Ok(Self(text.to_owned()))
    }

    /// A redactor for these keys.
    pub(crate) fn redactor<'a>(keys: impl IntoIterator<Item = &'a Self>) -> Redactor {
        Redactor::new(keys.into_iter().map(|key| key.0.clone()).collect())
    }

    /// The key as the value of a header, after a prefix.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word_of_plain_characters() {
        assert_eq!(Key::new(" sk-1\n").unwrap(), Key::new("sk-1").unwrap());
        assert_eq!(Key::new(" \n").unwrap_err(), KeyError::Empty);
        for strange in ["sk 1", "sk\n1", "sk\u{7f}", "sk-é", "sk\r\nHost: x", "\"sk-1\"", "sk\\1"] {
            assert_eq!(Key::new(strange).unwrap_err(), KeyError::Strange, "{strange:?}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new("sk-secret-1234").unwrap();
        assert_eq!(format!("{key:?} {:?}", key.header("Bearer ")), "Key(…) Some(Sensitive)");
        assert_eq!(Key::redactor([&key]).redact("not sk-secret-1234!"), "not [hidden key]!");
    }
}
