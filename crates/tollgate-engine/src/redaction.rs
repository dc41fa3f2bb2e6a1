//! Redaction of our own API keys in all text that is stored, shown or sent. The secrets of a change: `diff::redact` and the rules' `text::mask`.
//!
//! [`publishable`] is the gate for text of models and agents: it redacts every secret that this process holds ([`hold`])
//! and everything that the rules call a secret, also encoded.
//!
//! A prompt injection can make an agent print its key, also encoded. So a key is searched verbatim, with invisible
//! characters in it, percent-encoded in any mixture, in both alphabets of base64 at any offset of the encoded text, and in
//! hexadecimal. Matches are replaced:
//!
//! ```text
//! the key is sk-ant-api03-…  →  the key is [hidden key]
//! ```
//!
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use aho_corasick::AhoCorasick;
use serde_json::Value;
use tollgate_core::visible::is_hidden;
use tollgate_rules::text::mask::mask;

mod encoded;

/// The replacement of a key.
const HIDDEN: &str = "[hidden key]";
/// Shorter values are not keys, and redacting them would garble the text.
const MIN_BYTES: usize = 8;

/// The secrets that this process holds: its token, the webhook secret, the keys of its GitHub App, passwords of databases.
static HELD: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Has a secret of this process redacted in every text that leaves it. A secret of several lines is redacted line by line.
pub fn hold(secret: &str) {
    let mut held = HELD.write().unwrap_or_else(PoisonError::into_inner);
    for line in secret.lines().map(str::trim).filter(|line| line.len() >= MIN_BYTES && !line.starts_with("-----")) {
        if !held.iter().any(|known| known == line) && held.len() < MAX_HELD {
            held.push(line.to_owned());
        }
    }
}

/// The maximum number of held lines.
const MAX_HELD: usize = 1_000;
/// The number of temporary secrets that are held, the latest ones.
const MAX_TEMPORARY: usize = 64;

/// The latest temporary secrets: access tokens of an app are made anew every hour.
static TEMPORARY: RwLock<VecDeque<String>> = RwLock::new(VecDeque::new());

/// Has a secret that soon expires redacted, until many others were made after it.
pub(crate) fn hold_temporary(secret: &str) {
    let mut held = TEMPORARY.write().unwrap_or_else(PoisonError::into_inner);
    held.push_back(secret.to_owned());
    if held.len() > MAX_TEMPORARY {
        held.pop_front();
    }
}

/// A text that may be published: without the secrets that this process holds and further keys, and without whatever the
/// rules call a secret.
#[must_use]
pub fn publishable<'a>(redactor: &Redactor, text: &'a str) -> Cow<'a, str> {
    let redacted = redactor.redact(text);
    let masked = encoded::mask(mask(&redacted).as_ref());
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

/// Searches for keys in all their encodings at once, and redacts them. `None` without keys.
pub struct Redactor(Option<AhoCorasick>);

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} disguises)", self.0.as_ref().map_or(0, AhoCorasick::patterns_len))
    }
}

impl Redactor {
    /// A redactor for these keys and the secrets that this process holds; those shorter than eight bytes are ignored.
    #[must_use]
    pub fn new(keys: Vec<String>) -> Self {
        let held = HELD.read().unwrap_or_else(PoisonError::into_inner);
        let temporary = TEMPORARY.read().unwrap_or_else(PoisonError::into_inner);
        let mut disguises: Vec<Vec<u8>> = keys
            .iter()
            .chain(held.iter())
            .chain(temporary.iter())
            .map(|key| key.trim())
            .filter(|key| key.len() >= MIN_BYTES)
            .flat_map(|key| disguises(key.as_bytes()))
            .collect();
        disguises.sort();
        disguises.dedup();
        let is_empty = disguises.is_empty();
        Self((!is_empty).then(|| AhoCorasick::new(&disguises).expect("keys are few and short")))
    }

    /// Redacts the keys in a text.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(keys) = &self.0 else { return Cow::Borrowed(text) };
        let find = |bytes: &[u8]| -> Vec<Range<usize>> {
            keys.find_overlapping_iter(bytes).map(|found| found.range()).collect()
        };
        let mut found = find(text.as_bytes());
        let plain = View::without_hidden(text);
        let decoded = plain.decoded();
        for view in [&plain, &decoded] {
            found.extend(find(&view.bytes).iter().filter_map(|range| view.origin(range)));
        }
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replace(text, found)) }
    }

    /// Redacts the keys in all strings of a JSON value, including field names.
    pub(crate) fn redact_json(&self, value: Value) -> Value {
        map_strings(value, &|text| self.redact(text).into_owned())
    }
}

/// Maps all strings of a JSON value, including field names.
pub(super) fn map_strings(value: Value, anew: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(anew(&text)),
        Value::Array(values) => values.into_iter().map(|value| map_strings(value, anew)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (anew(&name), map_strings(value, anew))).collect()
        }
        other => other,
    }
}

/// Decoded text, with the origin of each byte.
struct View {
    bytes: Vec<u8>,
    /// Empty when each byte is at its original offset.
    origins: Vec<Range<usize>>,
}

impl View {
    fn without_hidden(text: &str) -> Self {
        let mut view = Self { bytes: Vec::new(), origins: Vec::new() };
        if !text.chars().any(is_hidden) {
            view.bytes = text.as_bytes().to_vec();
            return view;
        }
        for (start, character) in text.char_indices().filter(|(_, character)| !is_hidden(*character)) {
            let mut buffer = [0; 4];
            for (offset, byte) in character.encode_utf8(&mut buffer).bytes().enumerate() {
                view.bytes.push(byte);
                view.origins.push(start + offset..start + offset + 1);
            }
        }
        view
    }

    /// Decodes percent-encoding: `%41` is `A`.
    fn decoded(&self) -> Self {
        let mut view = Self { bytes: Vec::new(), origins: Vec::new() };
        if !self.bytes.contains(&b'%') {
            return view;
        }
        let mut index = 0;
        while let Some(&byte) = self.bytes.get(index) {
            let escaped = (byte == b'%').then(|| self.bytes.get(index + 1..index + 3)).flatten().and_then(of_hex);
            let length = if escaped.is_some() { 3 } else { 1 };
            view.bytes.push(escaped.unwrap_or(byte));
            view.origins.push(self.origin(&(index..index + length)).unwrap_or(0..0));
            index += length;
        }
        view
    }

    fn origin(&self, range: &Range<usize>) -> Option<Range<usize>> {
        if self.origins.is_empty() {
            return Some(range.clone());
        }
        Some(self.origins.get(range.start)?.start..self.origins.get(range.end.checked_sub(1)?)?.end)
    }
}

fn of_hex(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(text, 16).ok()
}

/// All encodings of a key that are searched for, itself first.
fn disguises(key: &[u8]) -> Vec<Vec<u8>> {
    let hex = |digits: fn(u8) -> String| key.iter().flat_map(|byte| digits(*byte).into_bytes()).collect();
    let mut disguises = vec![key.to_vec(), hex(|byte| format!("{byte:02x}")), hex(|byte| format!("{byte:02X}"))];
    for alphabet in [STANDARD, URL_SAFE] {
        disguises.extend((0..3).map(|n_before| base64(key, n_before, alphabet)));
    }
    disguises
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The base64 digits that depend on the key alone, when `n_before` bytes of a group precede it.
fn base64(key: &[u8], n_before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bit = |index: usize| key.get(index / 8).is_some_and(|byte| byte >> (7 - index % 8) & 1 == 1);
    // The first digit that begins inside the key, and then every whole one.
    let first = (6 - n_before * 8 % 6) % 6;
    (first..)
        .step_by(6)
        .take_while(|start| start + 6 <= key.len() * 8)
        .map(|start| {
            let digit = (start..start + 6).fold(0, |digit: usize, index| digit << 1 | usize::from(bit(index)));
            alphabet[digit]
        })
        .collect()
}

fn replace(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_by_key(|range| range.start);
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for range in found {
        let start = text.floor_char_boundary(range.start);
        if range.end <= end {
            continue;
        }
        if start >= end {
            shown.push_str(&text[end..start]);
            shown.push_str(HIDDEN);
        }
        end = text.ceil_char_boundary(range.end);
    }
    shown.push_str(&text[end..]);
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const KEYS: [&str; 6] = [
        "sk-ant-api03-Zk3QvTn8wLx2_rB9mYc5-hJ7pDfA",
        "sk-proj-9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        "AIzaSyD-3kXq8Vb2nMw5tLz7RjPc0HuYgE4fTs1o",
        "ghp_1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ",
        "pass wörd/with+odd=characters?&",
        "xai-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ];

    fn redactor() -> Redactor {
        Redactor::new(KEYS.map(str::to_owned).to_vec())
    }

    fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> String {
        let digits = bytes.chunks(3).flat_map(|group| {
            let number = (0..3).fold(0, |sum, index| sum << 8 | u32::from(*group.get(index).unwrap_or(&0)));
            (0..=group.len()).map(move |index| alphabet[(number >> (18 - 6 * index) & 63) as usize])
        });
        String::from_utf8(digits.collect()).unwrap()
    }

    fn percent(key: &str) -> String {
        key.bytes().map(|byte| format!("%{byte:02X}")).collect()
    }

    fn split_by(key: &str, separator: char) -> String {
        key.chars().flat_map(|character| [character, separator]).collect()
    }

    /// Ten encodings of a key.
    fn canaries(key: &str) -> Vec<String> {
        let half: String =
            key.bytes().map(|b| if b % 2 == 0 { format!("%{b:02x}") } else { char::from(b).into() }).collect();
        vec![
            key.to_owned(),
            encode(key.as_bytes(), STANDARD),
            encode(format!("key={key}!").as_bytes(), STANDARD),
            encode(format!("Bearer {key}\n").as_bytes(), URL_SAFE),
            percent(key),
            if key.is_ascii() { half } else { percent(key).to_lowercase() },
            split_by(key, '\u{2060}'),
            split_by(key, '\u{200b}'),
            split_by(&encode(key.as_bytes(), STANDARD), '\u{feff}'),
            key.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ]
    }

    /// True when a decoder could still find the key.
    fn is_readable(text: &str, key: &str) -> bool {
        let bare: String = text.chars().filter(|character| !is_hidden(*character)).collect();
        let inner = &key[3..key.len() - 3];
        bare.contains(inner)
            || bare.contains(&encode(key.as_bytes(), STANDARD)[4..20])
            || bare.contains(&percent(inner))
    }

    #[test]
    fn sixty_canaries_stay_here() {
        let redactor = redactor();
        let mut n_canaries = 0;
        for key in KEYS {
            for canary in canaries(key) {
                n_canaries += 1;
                let text = format!("before {canary} after");
                let shown = redactor.redact(&text);
                assert!(shown.contains(HIDDEN), "{canary}");
                assert!(!is_readable(&shown, key), "{shown}");
                assert!(shown.starts_with("before ") && shown.ends_with(" after"), "{shown}");
            }
        }
        assert_eq!(n_canaries, 60);
    }

    #[test]
    fn text_without_keys_is_unchanged() {
        let redactor = redactor();
        for text in ["", "plain", "100 % of sk-ant-api03 is fine", "%41%42", "a\u{200b}b", "größe", "%e4%zz%"] {
            assert!(matches!(redactor.redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn five_hundred_clean_answers_pass_as_they_are() {
        let redactor = redactor();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tollgate-core/tests/it/answers");
        let mut n_clean = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned();
            for clean in [encode(text.as_bytes(), STANDARD), text.replace(' ', "%20"), text] {
                n_clean += 1;
                assert!(matches!(redactor.redact(&clean), Cow::Borrowed(_)), "{clean}");
            }
        }
        assert!(n_clean >= 500, "{n_clean}");
    }

    #[test]
    fn short_values_are_not_looked_for() {
        assert_eq!(
            Redactor::new(vec!["a".to_owned(), String::new(), "1234567".to_owned()]).redact("a 1234567"),
            "a 1234567"
        );
    }

    #[test]
    fn keys_in_structured_answers_are_hidden_too() {
        let value = json!({"a": [KEYS[0], 1, null], KEYS[1]: true});
        assert_eq!(redactor().redact_json(value), json!({"a": [HIDDEN, 1, null], HIDDEN: true}));
    }

    #[test]
    fn keys_do_not_show_in_debug_output() {
        let shown = format!("{:?}", Redactor::new(vec![KEYS[0].to_owned()]));
        assert!(shown.starts_with("Redactor(") && !shown.contains(KEYS[0]), "{shown}");
    }

    proptest! {
        #[test]
        fn a_key_is_found_wherever_it_stands_in_base64(before in ".{0,20}", after in ".{0,20}") {
            let text = encode(format!("{before}{}{after}", KEYS[0]).as_bytes(), STANDARD);
            prop_assert!(redactor().redact(&text).contains(HIDDEN));
        }

        #[test]
        fn any_text_is_taken(text in "[\u{200b}%a-f0-9é🙂]{0,40}") {
            let redactor = Redactor::new(vec!["abcabcabc".to_owned()]);
            let _ = redactor.redact(&text);
            prop_assert_eq!(redactor.redact(&format!("{text}abcabcabc")).contains(HIDDEN), true);
        }
    }

    #[test]
    fn held_secrets_and_everything_that_looks_like_one_are_not_publishable() {
        // In pieces, so that this file holds none.
        let webhook = ["whsec", "q8Zt3Lp0Vn6Yb2Kd"].join("-");
        hold(&format!("-----BEGIN KEY-----\n{webhook}\nshort\n-----END KEY-----\n"));
        let token = ["gh", "s_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
        let said = format!("it is {webhook}, {}, {token} and ftp://bob:kX9mQ2vLp@files.acme.io/", percent(&webhook));
        let shown = publishable(&Redactor::new(Vec::new()), &said);
        for secret in [&webhook, &token, "kX9mQ2vLp"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(shown.starts_with("it is [hidden key], [hidden key], ghs_"), "{shown}");
        assert!(matches!(publishable(&Redactor::new(Vec::new()), "nothing but words"), Cow::Borrowed(_)));
    }
}
