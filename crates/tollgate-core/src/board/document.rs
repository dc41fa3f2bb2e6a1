//! `feature.json` and its neighbours: JSON objects that other programs own, of which a few keys are ours.
//!
//! A document keeps the text it was read from. What is not touched comes back byte for byte: keys nobody here knows,
//! their order, numbers like `1e+21`, escapes like `"\ud83d"` that are no character, line ends, indentation, a missing
//! line end at the end. A value is replaced where it stands; a new key goes to the end, written the way the file is.
//!
//! ```json
//! {
//!   "id": "feature-1767960000000-x7k2m9qpa",
//!   "title": "Add login",
//!   "status": "code_review",
//!   "somebodyElsesKey": 1e+21
//! }
//! ```
//!
//! What an outer key holds is read only when it is asked for. Files, and who else writes them, are elsewhere.

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
/// The most characters of a key that are shown.
const MAX_SHOWN: usize = 64;
/// The most keys that are carried over into somebody else's version.
const MAX_CARRIED: usize = 64;

/// A text is no document, and where that shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Something else was expected.
    #[error("line {line}, column {column}: expected {expected}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// It is nested too deeply.
    #[error("line {line}: it is nested more than {MAX_DEPTH} deep")]
    TooDeep {
        /// The line, from 1.
        line: usize,
    },
    /// It is too large.
    #[error("it has {0} bytes, and {MAX_BYTES} are the most")]
    TooLarge(usize),
    /// It has too many keys.
    #[error("it has more than {MAX_KEYS} keys")]
    TooManyKeys,
    /// It is text in another encoding.
    #[error("line {line}: it is not UTF-8")]
    NotUtf8 {
        /// The line, from 1.
        line: usize,
    },
    /// There is nothing, as while somebody writes it anew.
    #[error("it is empty")]
    Empty,
    /// It is a list, a text, a number.
    #[error("it is not an object")]
    NotAnObject,
    /// Programs disagree about which of the two counts.
    #[error("it has the key `{0}` twice")]
    Twice(String),
    /// There is no id.
    #[error("it has no `id`")]
    NoId,
    /// The id cannot be one.
    #[error("its `id` cannot be used: {0}")]
    BadId(IdError),
}

/// A JSON object, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    text: String,
    object: Object,
}

/// An object in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    /// From its first bracket to behind its last.
    body: Range<usize>,
    members: Vec<Member>,
}

impl Document {
    /// Reads a document.
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

    /// A new document of keys and their JSON, laid out as `JSON.stringify(x, null, 2)` does it.
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
        // A mark of the byte order is not JSON, but editors put it there.
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

    /// The document as bytes: those it was read from, but for what was set since.
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

    /// The JSON of a value.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.object.find(key).map(|index| &self.text[self.object.members[index].value.clone()])
    }

    /// The object that a key holds, as a document of its own.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<Self> {
        self.raw(key).and_then(|json| Self::parse(json.as_bytes()).ok())
    }

    /// The JSON of the items of a list, [`MAX_ITEMS`] at most; empty when it is none.
    #[must_use]
    pub fn items(&self, key: &str) -> Vec<&str> {
        self.raw(key).map(items).unwrap_or_default()
    }

    /// A text, if it is one. Half a character, which `JSON.stringify` can write, is U+FFFD.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        self.raw(key).and_then(unquote)
    }

    /// True or false, if it is one of them.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.raw(key)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// A whole number, if it is one.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        self.raw(key).and_then(number)
    }

    /// The texts of a list; what is no text is passed by.
    #[must_use]
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.items(key).into_iter().filter_map(unquote).collect()
    }

    /// Sets a key to a JSON value, laid out as the file is. Equal values are left as they are written.
    pub fn set_raw(&mut self, key: &str, json: &str) -> Result<(), DocumentError> {
        self.set_at(&[key], json)
    }

    /// Sets a key to a text.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<(), DocumentError> {
        if self.text(key).is_some_and(|found| found == text) {
            return Ok(());
        }
        self.set_raw(key, &quote(text))
    }

    /// Sets a key of an object in an object, by the keys that lead to it; objects that are missing are made.
    pub fn set_at(&mut self, path: &[&str], json: &str) -> Result<(), DocumentError> {
        Reader::whole_value(json).map_err(|problem| problem.in_text(json))?;
        if let Some((span, replacement)) = self.change(path, json)? {
            self.replace(span, &replacement)?;
        }
        Ok(())
    }

    /// Removes a key. What is not there is not missed.
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
        // Without a key it is as much a document as before.
        let _ = self.replace(span, replacement);
    }

    /// Takes over what `mine` changed in `base`, in keys that this version left as they are in `base`.
    ///
    /// So two programs that wrote at the same time both find what they wrote.
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
            // What would make the document too large stays away.
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

    /// The place that changes when a value is set, and what comes there.
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
        // Read again as a whole: what was set is then held to the same limits as what is read.
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

/// The JSON of a text.
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
        // It was read before as part of the document, so it is a list.
        let _ = Reader::new(json, 0).list(0, &mut |span| {
            if found.len() < MAX_ITEMS {
                found.push(&json[span]);
            }
        });
    }
    found
}

/// A value in the objects that lead to it.
fn wrap(path: &[&str], json: &str) -> String {
    path.iter().rev().fold(json.to_owned(), |json, key| format!("{{{}:{json}}}", quote(key)))
}

#[cfg(test)]
mod tests;
