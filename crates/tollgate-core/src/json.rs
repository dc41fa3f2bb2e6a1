//! The strict JSON reader: duplicate keys are found and nesting is bounded.
//!
//! Parsers differ in which of two equal keys they keep, so a document with a duplicate key means different things to
//! different programs. `serde_json` keeps the last one silently; this reader keeps the first and reports the others.
//! `serde_json` itself stops at 128 levels of nesting, which bounds the recursion of everything that walks a value later.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A document with more duplicate keys than this is refused as a whole.
const MAX_DUPLICATES: usize = 100;

/// A JSON document and its duplicate keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The value; of duplicate keys it has the first.
    pub value: Value,
    /// The JSON Pointers of the keys that were left out because the same object had them already.
    pub duplicate_keys: Vec<String>,
}

/// Parses one JSON document.
pub fn parse(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    let duplicates = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Node { pointer: &Pointer::Root, duplicates: &duplicates }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Document { value, duplicate_keys: duplicates.into_inner() })
}

/// Defines an enum of a JSON format that has the variants of a domain enum, with the conversion from it.
macro_rules! mirror_enum {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident mirrors $domain:ident {
        $($(#[$doc:meta])* $variant:ident,)*
    }) => {
        $(#[$attribute])*
        $visibility enum $name { $($(#[$doc])* $variant,)* }

        impl From<$domain> for $name {
            fn from(value: $domain) -> Self {
                match value { $($domain::$variant => Self::$variant,)* }
            }
        }
    };
}
pub(crate) use mirror_enum;

/// Escapes a key for use as one step of a JSON Pointer.
pub(crate) fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The path from the root of the document, kept on the stack while reading.
enum Pointer<'a> {
    Root,
    Key(&'a Pointer<'a>, &'a str),
    Index(&'a Pointer<'a>, usize),
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => write!(f, "{parent}/{}", escape_pointer(key)),
            Self::Index(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

struct Node<'a> {
    pointer: &'a Pointer<'a>,
    duplicates: &'a RefCell<Vec<String>>,
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
            let pointer = Pointer::Index(self.pointer, values.len());
            match access.next_element_seed(Node { pointer: &pointer, duplicates: self.duplicates })? {
                Some(value) => values.push(value),
                None => return Ok(Value::Array(values)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let pointer = Pointer::Key(self.pointer, &key);
            let value = access.next_value_seed(Node { pointer: &pointer, duplicates: self.duplicates })?;
            if !map.contains_key(&key) {
                map.insert(key, value);
                continue;
            }
            let mut duplicates = self.duplicates.borrow_mut();
            if duplicates.len() >= MAX_DUPLICATES {
                return Err(A::Error::custom("too many duplicate keys"));
            }
            duplicates.push(pointer.to_string());
        }
        Ok(Value::Object(map))
    }
}
