//! Request bodies as JSON: objects only, without duplicate keys, by the strict reader of [`tollgate_core::json`].

use serde::Deserialize as _;
use serde::de::{DeserializeOwned, Deserializer};
use tollgate_core::json;

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

/// Reads a text into a type, which is an object. (A derived implementation would also take an array of the fields.)
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    let document = json::parse(text).map_err(|problem| JsonError::NotJson(problem.to_string()))?;
    if let Some(pointer) = document.duplicate_keys.first() {
        return Err(JsonError::NotJson(format!("duplicate key `{pointer}`")));
    }
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Err(JsonError::DoesNotFit("expected an object, found an array".to_owned()));
    }
    serde_json::from_slice(text).map_err(|problem| JsonError::DoesNotFit(problem.to_string()))
}

/// Reads a number without a fraction, also when it is written with one: to JSON, `1.0` is `1`.
pub(crate) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    from_number(&number).ok_or_else(|| serde::de::Error::custom(format_args!("{number} is no number that fits here")))
}

/// As [`whole`], for a number that may be missing.
pub(crate) fn maybe_whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let found = from_number(&number);
    found.map(Some).ok_or_else(|| serde::de::Error::custom(format_args!("{number} is no number that fits here")))
}

fn from_number<T: TryFrom<u64>>(number: &serde_json::Number) -> Option<T> {
    let whole = number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float))?;
        // Exact below 2^53.
        Some(float as u64)
    })?;
    T::try_from(whole).ok()
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
    fn valid_json_is_read() {
        assert_snapshot!(check(r#" {"a": [1, -2, 3.5, null, true, "x"], "b": {"a": 1}} "#), @r#"{"a":[1,-2,3.5,null,true,"x"],"b":{"a":1}}"#);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_also_when_it_is_written_differently() {
        assert_snapshot!(check(r#"{"a": 1, "b": {"c": 1, "\u0063": 2}}"#), @"the body is not JSON: duplicate key `/b/c`");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth - 1), "]".repeat(depth - 1));
        assert_eq!(check(&nested(127)), nested(127));
        assert_snapshot!(check(&nested(128)), @"the body is not JSON: recursion limit exceeded at line 1 column 132");
        assert!(check(&"[".repeat(100_000)).starts_with("the body is not JSON"));
    }

    #[test]
    fn invalid_json_is_refused() {
        for text in ["", "{", "{} {}", "nul", "{\"a\":}", "\u{feff}{}", "'a'", "NaN"] {
            assert!(check(text).starts_with("the body is not JSON"), "{text}");
        }
    }

    #[test]
    fn a_body_is_an_object_and_no_list_of_its_fields() {
        assert_snapshot!(check(" [1]"), @"the body does not fit: expected an object, found an array");
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction() {
        #[derive(serde::Deserialize)]
        struct Body {
            #[serde(deserialize_with = "whole")]
            n: u8,
        }
        let check = |text: &str| read::<Body>(format!(r#"{{"n":{text}}}"#).as_bytes()).ok().map(|body| body.n);
        let found = ["7", "7.0", "70e-1", "7.5", "256", "-1", "1e300", "\"7\"", "null"].map(check);
        assert_eq!(found, [Some(7), Some(7), Some(7), None, None, None, None, None, None]);
    }

    #[test]
    fn a_shape_that_does_not_fit_is_another_matter() {
        let problem = read::<u32>(b"\"x\"").unwrap_err();
        assert_snapshot!(problem, @r#"the body does not fit: invalid type: string "x", expected u32 at line 1 column 3"#);
    }
}
