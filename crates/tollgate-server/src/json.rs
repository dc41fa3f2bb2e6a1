//! JSON from outside, read strictly: not deep, and no key twice.
//!
//! Readers differ in which of two equal keys they take, so a text with two says different things to different programs.
//! Depth is bounded because everything that walks a value later walks it by recursion.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// How many arrays and objects may be inside one another.
pub const MAX_DEPTH: usize = 32;

/// Why a text was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not JSON, or not JSON we read.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// It is JSON of another shape.
    #[error("the body does not fit: {0}")]
    DoesNotFit(String),
}

/// Reads a text into a type.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    Strict { depth: 0 }
        .deserialize(&mut reader)
        .and_then(|()| reader.end())
        .map_err(|problem| JsonError::NotJson(problem.to_string()))?;
    serde_json::from_slice(text).map_err(|problem| JsonError::DoesNotFit(problem.to_string()))
}

/// Walks a value and keeps nothing of it.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("more than {MAX_DEPTH} levels")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        let mut seen = HashSet::new();
        while let Some(key) = pairs.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(serde::de::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            seen.insert(key);
            pairs.next_value_seed(inner)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[track_caller]
    fn check(text: &str) -> String {
        match read::<serde_json::Value>(text.as_bytes()) {
            Ok(value) => value.to_string(),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn what_is_fine_is_read() {
        assert_snapshot!(check(r#" {"a": [1, -2, 3.5, null, true, "x"], "b": {"a": 1}} "#), @r#"{"a":[1,-2,3.5,null,true,"x"],"b":{"a":1}}"#);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_also_when_it_is_written_differently() {
        assert_snapshot!(check(r#"{"a": 1, "b": {"c": 1, "\u0063": 2}}"#), @r#"the body is not JSON: the key "c" is there twice at line 1 column 31"#);
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
        assert_snapshot!(check(&nested(MAX_DEPTH + 1)), @"the body is not JSON: more than 32 levels at line 1 column 34");
        assert!(check(&"[".repeat(100_000)).starts_with("the body is not JSON"));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "{} {}", "nul", "{\"a\":}", "\u{feff}{}", "'a'", "NaN"] {
            assert!(check(text).starts_with("the body is not JSON"), "{text}");
        }
    }

    #[test]
    fn a_shape_that_does_not_fit_is_another_matter() {
        let problem = read::<u32>(b"\"x\"").unwrap_err();
        assert_snapshot!(problem, @r#"the body does not fit: invalid type: string "x", expected u32 at line 1 column 3"#);
    }
}
