//! JSON text to values, without what `serde_json` lets pass silently.
//!
//! A key that stands twice in one object is reported with its pointer and the
//! first one is kept; nesting is bounded (128 levels) by the parser underneath.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::report::{Place, Problem, ReadError};

/// Reads one JSON document and the keys that stand twice.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<Problem>), ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let doubles = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let node = Node { path: &Path::Root, doubles: &doubles };
    let parsed = node.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    match parsed {
        Ok(value) => Ok((value, doubles.into_inner())),
        Err(error) => {
            let message = error.to_string();
            let rule = if message.starts_with("recursion limit") { "depth" } else { "json" };
            Err(ReadError::one(Place::Line(error.line()), rule, "", format!("not valid JSON: {message}")))
        }
    }
}

/// A step from the root of the document, kept on the stack while reading.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => write!(f, "{parent}/{}", escape(key)),
            Self::Index(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// Writes a key as one step of a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

struct Node<'a> {
    path: &'a Path<'a>,
    doubles: &'a RefCell<Vec<Problem>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let path = Path::Index(self.path, values.len());
            match access.next_element_seed(Node { path: &path, doubles: self.doubles })? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let path = Path::Key(self.path, &key);
            let value = access.next_value_seed(Node { path: &path, doubles: self.doubles })?;
            if map.contains_key(&key) {
                self.double(&path).map_err(A::Error::custom)?;
            } else {
                map.insert(key, value);
            }
        }
        Ok(Value::Object(map))
    }
}

impl Node<'_> {
    fn double(&self, path: &Path<'_>) -> Result<(), &'static str> {
        let mut doubles = self.doubles.borrow_mut();
        if doubles.len() >= 100 {
            return Err("too many keys stand twice");
        }
        let message = "this key stands twice in one object".to_owned();
        let place = Place::Pointer(path.to_string());
        doubles.push(Problem { place, rule: "duplicate-key", found: String::new(), message });
        Ok(())
    }
}
