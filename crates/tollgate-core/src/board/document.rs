//! `feature.json` and related files: JSON objects that other programs own, edited in place.
//!
//! A document keeps the text it was read from. All else survives byte for byte: unknown keys, their order, numbers like
//! `1e+21`, lone surrogates like `"\ud83d"`, line ends, indentation, a missing final line end. A value is replaced where
//! it stands; a new key goes to the end, in the layout of the file.
//!
//! ```json
//! {
//!   "id": "feature-1767960000000-x7k2m9qpa",
//!   "title": "Add login",
//!   "status": "code_review",
//!   "unknownKey": 1e+21
//! }
//! ```
//!
//! Values are parsed on demand. Reading and writing files is outside this crate.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::board::id::IdError;

mod feature;
mod layout;
mod scan;
mod step;

use layout::Layout;
use scan::{Member, Problem, Reader};
pub use step::{Step, steps};

/// The largest document.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The deepest nesting.
pub const MAX_DEPTH: usize = 128;
/// The most keys of one object.
pub const MAX_KEYS: usize = 4096;
/// The most items of a list that are read.
pub const MAX_ITEMS: usize = 10_000;
/// The most characters of a key in an error message.
const MAX_SHOWN: usize = 64;
/// The most keys that [`Document::adopt`] merges.
const MAX_CARRIED: usize = 64;

/// Why a text is not a document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The JSON is malformed.
    #[error("line {line}, column {column}: expected {expected}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The token that was expected.
        expected: &'static str,
    },
    /// The nesting exceeds [`MAX_DEPTH`].
    #[error("line {line}: it is nested more than {MAX_DEPTH} deep")]
    TooDeep {
        /// The line, from 1.
        line: usize,
    },
    /// The text exceeds [`MAX_BYTES`].
    #[error("it has {0} bytes, and {MAX_BYTES} are the most")]
    TooLarge(usize),
    /// The object has more than [`MAX_KEYS`] keys.
    #[error("it has more than {MAX_KEYS} keys")]
    TooManyKeys,
    /// The bytes are not UTF-8.
    #[error("line {line}: it is not UTF-8")]
    NotUtf8 {
        /// The line, from 1.
        line: usize,
    },
    /// The text is empty, as while another program rewrites the file.
    #[error("it is empty")]
    Empty,
    /// The text is a list, a string or a number.
    #[error("it is not an object")]
    NotAnObject,
    /// A key occurs twice; programs disagree about which one counts.
    #[error("it has the key `{0}` twice")]
    Twice(String),
    /// The `id` is missing.
    #[error("it has no `id`")]
    NoId,
    /// The `id` is invalid.
    #[error("its `id` cannot be used: {0}")]
    BadId(IdError),
}

/// A JSON object, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: String,
    object: Object,
}

/// The position of an object in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    /// From its opening bracket to behind its closing one.
    body: Range<usize>,
    members: Vec<Member>,
}

impl Document {
    /// Parses a document.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        if bytes.len() > MAX_BYTES {
            return Err(DocumentError::TooLarge(bytes.len()));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::of_text(text.to_owned()),
            Err(error) => {
                let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count();
                Err(DocumentError::NotUtf8 { line })
            }
        }
    }

    /// Builds a document from keys and their JSON, in the layout of `JSON.stringify(x, null, 2)`.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, DocumentError> {
        let mut text = String::from("{");
        for (index, (key, json)) in pairs.into_iter().enumerate() {
            Reader::whole_value(json).map_err(|problem| problem.in_text(json))?;
            text.push_str(if index == 0 { "" } else { "," });
            text.push_str(&quote(key));
            text.push(':');
            text.push_str(json);
        }
        text.push('}');
        Self::of_text(Layout::automaker().value(&text, Some("")))
    }

    fn of_text(text: String) -> Result<Self, DocumentError> {
        if text.len() > MAX_BYTES {
            return Err(DocumentError::TooLarge(text.len()));
        }
        // A byte order mark is not JSON, but some editors write one.
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut reader = Reader::new(&text, start);
        reader.skip_space();
        match reader.peek() {
            None => return Err(DocumentError::Empty),
            Some(b'{') => {}
            Some(_) => {
                let problem = reader.value(0).err().map(|problem| problem.in_text(&text));
                return Err(problem.unwrap_or(DocumentError::NotAnObject));
            }
        }
        let object = Object::read(&mut reader, 0).and_then(|object| {
            reader.end()?;
            Ok(object)
        });
        let object = object.map_err(|problem| problem.in_text(&text))?;
        object.check_keys()?;
        Ok(Self { text, object })
    }

    /// The document as bytes: the original ones, except for edited values.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.text.as_bytes().to_vec()
    }

    /// The document as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.object.members.iter().map(|member| member.key.as_str())
    }

    /// The raw JSON of a value.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.object.find(key).map(|index| &self.text[self.object.members[index].value.clone()])
    }

    /// The object that a key holds, as a document of its own.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<Self> {
        self.raw(key).and_then(|json| Self::parse(json.as_bytes()).ok())
    }

    /// The raw JSON of list items, [`MAX_ITEMS`] at most; empty for another type.
    #[must_use]
    pub fn items(&self, key: &str) -> Vec<&str> {
        self.raw(key).map(items).unwrap_or_default()
    }

    /// A string value. A lone surrogate, which `JSON.stringify` can write, becomes U+FFFD.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        self.raw(key).and_then(unquote)
    }

    /// A boolean value.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.raw(key)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// An integer value.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        self.raw(key).and_then(number)
    }

    /// The strings of a list; other items are skipped.
    #[must_use]
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.items(key).into_iter().filter_map(unquote).collect()
    }

    /// Sets a key to a JSON value in the layout of the file. An equal value keeps its formatting.
    pub fn set_raw(&mut self, key: &str, json: &str) -> Result<(), DocumentError> {
        self.set_at(&[key], json)
    }

    /// Sets a key to a string.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<(), DocumentError> {
        if self.text(key).is_some_and(|found| found == text) {
            return Ok(());
        }
        self.set_raw(key, &quote(text))
    }

    /// Sets a nested key by its path; missing objects are created.
    pub fn set_at(&mut self, path: &[&str], json: &str) -> Result<(), DocumentError> {
        Reader::whole_value(json).map_err(|problem| problem.in_text(json))?;
        if let Some((span, replacement)) = self.change(path, json)? {
            self.replace(span, &replacement)?;
        }
        Ok(())
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, key: &str) {
        let Object { body, members } = &self.object;
        let Some(index) = self.object.find(key) else {
            return;
        };
        let (span, replacement) = match (members.get(index + 1), index.checked_sub(1).map(|last| &members[last])) {
            (Some(next), _) => (members[index].name.start..next.name.start, ""),
            (None, Some(last)) => (last.value.end..members[index].value.end, ""),
            (None, None) => (body.clone(), "{}"),
        };
        // Removing a key cannot make a valid document invalid.
        let _ = self.replace(span, replacement);
    }

    /// Three-way merge: applies the changes from `base` to `mine` to keys that this version did not change.
    ///
    /// Two programs that write concurrently thus both keep their changes.
    pub fn adopt(&mut self, base: &Self, mine: &Self) {
        let (before, here) = (base.by_key(), self.by_key());
        let is_carried = |key: &str, value: Option<&str>| {
            let old = before.get(key).copied();
            value != old && here.get(key).copied() == old
        };
        let set: Vec<(&str, &str)> = mine.entries().filter(|(key, json)| is_carried(key, Some(json))).collect();
        let now = mine.by_key();
        let gone: Vec<&str> = base.keys().filter(|key| !now.contains_key(key) && is_carried(key, None)).collect();
        for (key, json) in set.into_iter().take(MAX_CARRIED) {
            // A value that would make the document too large is dropped.
            let _ = self.set_raw(key, json);
        }
        for key in gone.into_iter().take(MAX_CARRIED) {
            self.remove(key);
        }
    }

    fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.object.members.iter().map(|member| (member.key.as_str(), &self.text[member.value.clone()]))
    }

    fn by_key(&self) -> HashMap<&str, &str> {
        self.entries().collect()
    }

    /// The edit that sets a value: the span to replace and its replacement.
    fn change(&self, path: &[&str], json: &str) -> Result<Option<(Range<usize>, String)>, DocumentError> {
        let layout = Layout::of(&self.text, &self.object);
        let (mut object, mut path) = (self.object.clone(), path);
        let mut indent = layout.line_break.map(|_| String::new());
        while let Some((key, inner)) = path.split_first() {
            let Some(index) = object.find(key) else {
                let json = wrap(inner, json);
                return Ok(Some(layout.append(&self.text, &object, indent.as_deref(), key, &json)));
            };
            indent = layout::indent(&self.text, &object, index).map(str::to_owned);
            let value = object.members[index].value.clone();
            if !inner.is_empty() && self.text[value.clone()].starts_with('{') {
                let mut reader = Reader::new(&self.text, value.start);
                object = Object::read(&mut reader, 0).map_err(|problem| problem.in_text(&self.text))?;
                object.check_keys()?;
                path = inner;
                continue;
            }
            let json = wrap(inner, json);
            let is_same = layout::compact(&self.text[value.clone()]) == layout::compact(&json);
            return Ok((!is_same).then(|| (value, layout.value(&json, indent.as_deref()))));
        }
        Ok(None)
    }

    fn replace(&mut self, span: Range<usize>, replacement: &str) -> Result<(), DocumentError> {
        let mut text = self.text.clone();
        text.replace_range(span, replacement);
        // Parsing the result again applies the same limits to edits as to input.
        *self = Self::of_text(text)?;
        Ok(())
    }
}

impl Object {
    fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Self, Problem> {
        let start = reader.at();
        let mut members = Vec::new();
        reader.object(depth, &mut |member| {
            if members.len() <= MAX_KEYS {
                members.push(member);
            }
        })?;
        Ok(Self { body: start..reader.at(), members })
    }

    fn check_keys(&self) -> Result<(), DocumentError> {
        if self.members.len() > MAX_KEYS {
            return Err(DocumentError::TooManyKeys);
        }
        let mut seen = HashSet::new();
        match self.members.iter().find(|member| !seen.insert(&member.key)) {
            Some(member) => Err(DocumentError::Twice(member.key.chars().take(MAX_SHOWN).collect())),
            None => Ok(()),
        }
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|member| member.key == key)
    }
}

/// Encodes a string as JSON.
#[must_use]
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn unquote(json: &str) -> Option<String> {
    json.starts_with('"').then(|| scan::decode(json))
}

fn number(json: &str) -> Option<i64> {
    if let Ok(number) = json.parse() {
        return Some(number);
    }
    // `2.0` and `1e3` are whole numbers too, as far as a double can tell.
    let number: f64 = json.parse().ok()?;
    let is_exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
    is_exact.then_some(number as i64)
}

fn items(json: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if json.starts_with('[') {
        // The value was parsed as part of the document, so it is a valid list.
        let _ = Reader::new(json, 0).list(0, &mut |span| {
            if found.len() < MAX_ITEMS {
                found.push(&json[span]);
            }
        });
    }
    found
}

/// Wraps a value in the objects of its path.
fn wrap(path: &[&str], json: &str) -> String {
    path.iter().rev().fold(json.to_owned(), |json, key| format!("{{{}:{json}}}", quote(key)))
}

#[cfg(test)]
mod tests;
