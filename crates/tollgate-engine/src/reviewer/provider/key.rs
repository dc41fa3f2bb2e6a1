//! A provider's key, which nobody ever sees.
//!
//! A [`Key`] leaves the process in one header and in nothing else. Whatever text comes back passes a [`Mask`] that takes
//! the key out of it: plain, with invisible characters in between, percent-encoded, as JSON writes it, and in base64.

use std::fmt;

use reqwest::header::HeaderValue;
use tollgate_core::visible::is_hidden;

/// What stands where a key was.
const HIDDEN: &str = "(key)";

/// What opens a provider's service: text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is nothing in it.
    #[error("the key is empty")]
    Empty,
    /// It has several lines, blanks, or characters that no header can carry.
    #[error("the key has characters that no key has, such as line breaks or blanks")]
    Strange,
}

impl Key {
    /// Takes the text of a key, without the white space around it.
    pub fn new(text: impl AsRef<str>) -> Result<Self, KeyError> {
        let text = text.as_ref().trim();
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Strange);
        }
        Ok(Self(text.to_owned()))
    }

    /// The key as the value of a header, after what the header wants before it.
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

/// Takes a key out of text, in every form in which it may come back.
#[derive(Clone, Default)]
pub(super) struct Mask {
    forms: Vec<String>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask(…)")
    }
}

impl Mask {
    pub(super) fn new(key: Option<&Key>) -> Self {
        let Some(Key(key)) = key else { return Self::default() };
        let mut forms = vec![key.clone(), percent(key), key.replace('\\', "\\\\").replace('"', "\\\"")];
        for before in 0..3 {
            let inner = base64_inside(key.as_bytes(), before);
            // Shorter ones are in any text.
            if inner.len() >= 8 {
                forms.push(inner.replace('+', "-").replace('/', "_"));
                forms.push(inner);
            }
        }
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self { forms }
    }

    /// The text without the key.
    pub(super) fn hide(&self, text: &str) -> String {
        if self.forms.is_empty() {
            return text.to_owned();
        }
        let seen: String = text.chars().filter(|character| !is_hidden(*character)).collect();
        if !self.forms.iter().any(|form| find(&seen, form).is_some()) {
            return text.to_owned();
        }
        self.forms.iter().fold(seen, |text, form| without(&text, form))
    }
}

/// Where a form of the key is, in whatever case: percent-encoding is written in both, and a key that was changed to
/// lower case says nearly as much as the key.
fn find(text: &str, form: &str) -> Option<usize> {
    let (text, form) = (text.as_bytes(), form.as_bytes());
    text.windows(form.len()).position(|window| window.eq_ignore_ascii_case(form))
}

/// The text with a mark wherever a form of the key was.
fn without(text: &str, form: &str) -> String {
    let (mut masked, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(start) = find(rest, form) {
        masked.push_str(&rest[..start]);
        masked.push_str(HIDDEN);
        rest = &rest[start + form.len()..];
    }
    masked + rest
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The characters of a base64 text that depend on these bytes alone, when so many bytes stand before them.
fn base64_inside(bytes: &[u8], n_before: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let n_bits = bytes.len() * 8;
    // The first bit that begins a character, and then six by six.
    let first = (6 - (n_before * 8) % 6) % 6;
    let bit = |index: usize| bytes[index / 8] >> (7 - index % 8) & 1;
    (first..n_bits.saturating_sub(5))
        .step_by(6)
        .map(|start| (start..start + 6).fold(0, |value, index| value << 1 | bit(index)))
        .map(|value| char::from(ALPHABET[usize::from(value)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str = "sk-ant/api+03\"Zq7=x\\9";

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Mask::new(Some(&Key::new(KEY).unwrap())).hide(text), expected);
    }

    #[test]
    fn a_key_is_one_word_of_plain_characters() {
        assert_eq!(Key::new(" sk-1\n").unwrap(), Key::new("sk-1").unwrap());
        assert_eq!(Key::new(" \n").unwrap_err(), KeyError::Empty);
        for strange in ["sk 1", "sk\n1", "sk\u{7f}", "sk-é", "sk\r\nHost: x"] {
            assert_eq!(Key::new(strange).unwrap_err(), KeyError::Strange, "{strange:?}");
        }
        assert_eq!(
            format!("{:?} {:?}", Key::new(KEY).unwrap(), Key::new(KEY).unwrap().header("Bearer ")),
            "Key(…) Some(Sensitive)"
        );
    }

    #[test]
    fn the_key_is_taken_out_in_every_form() {
        check(&format!("wrong key {KEY}!"), "wrong key (key)!");
        check(&format!("{KEY}{KEY}"), "(key)(key)");
        check("sk-ant%2Fapi%2B03%22Zq7%3Dx%5C9", "(key)");
        check("sk-ant%2fapi%2b03%22zq7%3dx%5c9", "(key)");
        check(&serde_json::json!({ "key": KEY }).to_string(), "{\"key\":\"(key)\"}");
        let split: String = KEY.chars().flat_map(|character| [character, '\u{200b}']).collect();
        check(&split, "(key)");
        check("nothing of it \u{200b} here", "nothing of it \u{200b} here");
    }

    #[test]
    fn without_a_key_nothing_is_taken_out() {
        assert_eq!(Mask::new(None).hide("a\u{200b}b"), "a\u{200b}b");
    }

    /// An ordinary encoder to compare with.
    fn base64(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let value = (0..3).fold(0u32, |value, index| value << 8 | u32::from(*group.get(index).unwrap_or(&0)));
            for index in 0..=group.len() {
                text.push(char::from(ALPHABET[(value >> (18 - 6 * index) & 63) as usize]));
            }
        }
        text
    }

    proptest! {
        #[test]
        fn base64_of_anything_around_the_key_does_not_give_it_away(before in "[ -~]{0,7}", after in "[ -~]{0,7}") {
            let encoded = base64(format!("{before}{KEY}{after}").as_bytes());
            let masked = Mask::new(Some(&Key::new(KEY).unwrap())).hide(&encoded);
            // At most the characters that also depend on a neighbour are left.
            prop_assert!(masked.contains(HIDDEN) && masked.len() <= encoded.len() - 26 + HIDDEN.len(), "{} of {}", masked, encoded);
        }
    }
}
