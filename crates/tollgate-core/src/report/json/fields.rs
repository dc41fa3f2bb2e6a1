//! Typed access to the fields of a JSON object, collecting problems.
//!
//! Strict and lenient reading share one path: each violation is reported and repaired as far as possible. Strict reading
//! fails on any report, lenient reading returns the reports as notes.

use serde_json::{Map, Value};

use crate::json::escape_pointer;
use crate::report::{InputPosition, Problem, shorten};

/// Further problems are only counted.
const MAX_PROBLEMS: usize = 500;

/// Collects problems while a document is read.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    problems: Vec<Problem>,
    n_more: usize,
}

impl Reader {
    /// Starts with known problems.
    pub(crate) fn new(problems: Vec<Problem>) -> Self {
        Self { problems, n_more: 0 }
    }

    /// Reports a violation of a rule.
    pub(crate) fn report(&mut self, at: &str, rule: &'static str, found: &str, message: impl Into<String>) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.n_more += 1;
            return;
        }
        let place = InputPosition::Pointer(at.to_owned());
        self.problems.push(Problem { place, rule, found: shorten(found), message: message.into() });
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, at: &str, expected: &str, found: &Value) {
        let message = format!("expected {expected}, found {}", type_name(found));
        self.report(at, "type", &brief(found), message);
    }

    /// All reports.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        if self.n_more > 0 {
            let message = format!("and {} more problems", self.n_more);
            let place = InputPosition::Pointer(String::new());
            self.problems.push(Problem { place, rule: "more", found: String::new(), message });
        }
        self.problems
    }
}

/// The fields of one object that have not been read yet.
#[derive(Debug)]
pub(crate) struct Fields {
    /// The object's pointer.
    pub(crate) at: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Opens an object; anything else is reported.
    pub(crate) fn open(reader: &mut Reader, at: String, value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self { at, map }),
            other => {
                reader.wrong_type(&at, "an object", &other);
                None
            }
        }
    }

    /// The pointer of a field.
    pub(crate) fn pointer(&self, key: &str) -> String {
        format!("{}/{}", self.at, escape_pointer(key))
    }

    /// Removes a field of any type.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key)
    }

    /// Returns a field without removing it.
    pub(crate) fn peek(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    /// True when the field is there.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Removes a string; numbers and booleans are reported and converted.
    pub(crate) fn text(&mut self, reader: &mut Reader, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text),
            other => {
                reader.wrong_type(&self.pointer(key), "a string", &other);
                matches!(other, Value::Number(_) | Value::Bool(_)).then(|| other.to_string())
            }
        }
    }

    /// Removes a required string.
    pub(crate) fn required_text(&mut self, reader: &mut Reader, key: &str) -> Option<String> {
        if !self.has(key) {
            self.missing(reader, key);
        }
        self.text(reader, key)
    }

    /// Removes a boolean.
    pub(crate) fn boolean(&mut self, reader: &mut Reader, key: &str) -> Option<bool> {
        match self.take(key)? {
            Value::Bool(truth) => Some(truth),
            other => {
                reader.wrong_type(&self.pointer(key), "true or false", &other);
                other.as_str().and_then(|text| text.trim().to_ascii_lowercase().parse().ok())
            }
        }
    }

    /// Removes a count; strings and whole floats are reported and converted.
    pub(crate) fn count(&mut self, reader: &mut Reader, key: &str) -> Option<u64> {
        let value = self.take(key)?;
        if let Some(count) = value.as_u64() {
            return Some(count);
        }
        reader.wrong_type(&self.pointer(key), "a whole number that is not negative", &value);
        match &value {
            Value::String(text) => text.trim().parse().ok(),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            #[expect(clippy::cast_sign_loss, reason = "checked not to be negative")]
            Value::Number(number) => number
                .as_f64()
                .filter(|float| float.fract() == 0.0 && (0.0..4_294_967_296.0).contains(float))
                .map(|float| float as u64),
            _ => None,
        }
    }

    /// Removes a list.
    pub(crate) fn list(&mut self, reader: &mut Reader, key: &str) -> Option<Vec<Value>> {
        match self.take(key)? {
            Value::Array(list) => Some(list),
            other => {
                reader.wrong_type(&self.pointer(key), "an array", &other);
                None
            }
        }
    }

    /// Reports a missing field.
    pub(crate) fn missing(&self, reader: &mut Reader, key: &str) {
        reader.report(&self.pointer(key), "required", "", format!("`{key}` is missing"));
    }

    /// The remaining fields.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// Puts the remaining fields of an inner object back under its name.
    pub(crate) fn keep(&mut self, key: &str, inner: Self) {
        if !inner.map.is_empty() {
            self.map.insert(key.to_owned(), Value::Object(inner.map));
        }
    }

    /// Reports remaining fields of an object without extensions.
    pub(crate) fn close(self, reader: &mut Reader) {
        for (key, value) in &self.map {
            reader.report(&self.pointer(key), "unknown-field", &brief(value), format!("`{key}` is not known here"));
        }
    }
}

/// Removes NUL from every string and key, reporting each.
pub(crate) fn strip_nul(reader: &mut Reader, at: &str, value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => {
            reader.report(at, "nul", &brief(&Value::String(text.clone())), "text must not contain NUL");
            *text = text.replace('\0', "");
        }
        Value::Array(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                strip_nul(reader, &format!("{at}/{index}"), value);
            }
        }
        Value::Object(map) => {
            if map.keys().any(|key| key.contains('\0')) {
                reader.report(at, "nul", "", "a key must not contain NUL");
                *map = std::mem::take(map).into_iter().map(|(key, value)| (key.replace('\0', ""), value)).collect();
            }
            for (key, value) in map.iter_mut() {
                strip_nul(reader, &format!("{at}/{}", escape_pointer(key)), value);
            }
        }
        _ => {}
    }
}

/// A value as it is shown in a message.
pub(crate) fn brief(value: &Value) -> String {
    match value {
        // Lists and objects may be large.
        Value::Array(list) => format!("[{} elements]", list.len()),
        Value::Object(map) => format!("{{{} fields}}", map.len()),
        Value::String(text) if text.len() > 400 => brief(&Value::String(text.chars().take(90).collect())),
        other => shorten(&other.to_string()),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
