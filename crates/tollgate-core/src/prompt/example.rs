//! One answer that follows a schema, to show its form.

use serde_json::{Map, Value, json};

/// A schema nested deeper than this is not followed.
const MAX_DEPTH: usize = 12;

/// An answer in the form of a schema: every property is there, and each list has one element.
pub(super) fn of(schema: &Value) -> Value {
    value("answer", schema, schema, MAX_DEPTH)
}

fn value(name: &str, schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    if let Some(target) = schema["$ref"].as_str().and_then(|target| root.pointer(target.trim_start_matches('#'))) {
        return value(name, target, root, depth);
    }
    let several = ["anyOf", "oneOf"].iter().find_map(|word| schema[word].as_array());
    if let Some(one) = several.and_then(|several| several.iter().find(|one| one["type"] != "null")) {
        return value(name, one, root, depth);
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(fixed) = schema.get("const") {
        return fixed.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    };
    match kind {
        Some("object") => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let pairs = properties.map(|(name, schema)| (name.clone(), value(name, schema, root, depth)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        Some("array") => json!([value(name, &schema["items"], root, depth)]),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(false),
        Some("string") => json!(format!("<{name}>")),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_every_property_of_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "decision": { "enum": ["APPROVED", "REJECTED"] },
                "findings": { "type": "array", "items": { "$ref": "#/$defs/Finding" } },
                "summary": { "type": ["null", "string"] },
            },
            "$defs": { "Finding": { "type": "object", "properties": {
                "line": { "anyOf": [{ "type": "null" }, { "type": "integer", "minimum": 2 }] },
                "title": { "type": "string" },
            } } },
        });
        insta::assert_snapshot!(
            of(&schema),
            @r#"{"decision":"APPROVED","findings":[{"line":2,"title":"<title>"}],"summary":"<summary>"}"#
        );
    }

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema = json!({ "type": "array", "items": { "$ref": "#" } });
        assert_eq!(of(&schema).to_string(), "[[[[[[null]]]]]]");
    }
}
