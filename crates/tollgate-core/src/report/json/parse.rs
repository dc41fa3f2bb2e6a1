//! JSON text to values; problems of the text are reported like any other.

use serde_json::Value;

use crate::json;
use crate::report::{InputPosition, Problem, ReadError};

/// Parses one JSON document and reports its duplicate keys.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<Problem>), ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let duplicate = |pointer| {
        let message = "duplicate key".to_owned();
        Problem { place: InputPosition::Pointer(pointer), rule: "duplicate-key", found: String::new(), message }
    };
    match json::parse(bytes) {
        Ok(document) => Ok((document.value, document.duplicate_keys.into_iter().map(duplicate).collect())),
        Err(error) => {
            let message = error.to_string();
            let rule = if message.starts_with("recursion limit") { "depth" } else { "json" };
            Err(ReadError::one(InputPosition::Line(error.line()), rule, "", format!("not valid JSON: {message}")))
        }
    }
}
