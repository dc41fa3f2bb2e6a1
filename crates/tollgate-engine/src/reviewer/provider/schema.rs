//! The answer's schema, as the services take it.
//!
//! Services that enforce a schema take a part of JSON Schema: every object closed, no limits on numbers, texts and
//! lists. What is taken out here is checked when the answer is read.

use serde_json::{Map, Value};

/// Keywords that one service or another refuses.
const REFUSED: &[&str] = &[
    "$schema",
    "$id",
    "title",
    "default",
    "examples",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
];

/// The schema with every object closed and without what services refuse.
pub(super) fn plain(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(object) => Value::Object(plain_object(object)),
        other => other.clone(),
    }
}

fn plain_object(object: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in object.iter().filter(|(name, _)| !REFUSED.contains(&name.as_str())) {
        let value = match (name.as_str(), value) {
            // Here the names are those of properties, whatever they are.
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
            }
            ("enum" | "const" | "required", value) => value.clone(),
            (_, value) => plain(value),
        };
        kept.insert(name.clone(), value);
    }
    if kept.contains_key("properties") {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    kept
}

/// True when every property of every object is required, without which a schema cannot be strict.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().all(is_strict),
        Value::Object(object) => {
            let required = object.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
            let properties = object.get("properties").and_then(Value::as_object);
            properties.is_none_or(|properties| properties.keys().all(|name| is_required(name)))
                && object.values().all(is_strict)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, expected: &Value, strict: bool) {
        let plain = plain(schema);
        assert_eq!((&plain, is_strict(&plain)), (expected, strict));
    }

    #[test]
    fn objects_are_closed_and_limits_left_out() {
        check(
            &json!({"$schema": "x", "type": "object", "properties": {"line": {"type": "integer", "minimum": 1, "format": "uint32"}},
                "required": ["line"]}),
            &json!({"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"],
                "additionalProperties": false}),
            true,
        );
    }

    #[test]
    fn a_property_may_be_named_like_a_keyword() {
        check(
            &json!({"properties": {"title": {"type": "string", "title": "x"}, "format": {"enum": ["title"]}}}),
            &json!({"properties": {"title": {"type": "string"}, "format": {"enum": ["title"]}}, "additionalProperties": false}),
            false,
        );
    }

    #[test]
    fn a_schema_is_strict_only_if_it_is_throughout() {
        let inner = json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false});
        check(&json!({"anyOf": [inner]}), &json!({"anyOf": [inner]}), false);
        check(&json!({"type": "string"}), &json!({"type": "string"}), true);
    }
}
