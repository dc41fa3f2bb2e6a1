//! The shape of an answer, derived from its JSON Schema.
//!
//! ```text
//! {"decision": …, "findings": [{"file": …, "line": …}]}
//! ```
//!
//! Small models tend to return an example verbatim. This shape is not valid JSON, so it cannot be read as an answer, let
//! alone as an approval.

use serde_json::Value;

/// A schema nested deeper than this is not followed.
const MAX_DEPTH: usize = 12;

/// The shape of a schema: every property once, and each list with one element.
pub(super) fn of(schema: &Value) -> String {
    form(schema, schema, MAX_DEPTH)
}

fn form(schema: &Value, root: &Value, depth: usize) -> String {
    const ANYTHING: &str = "…";
    let Some(depth) = depth.checked_sub(1) else { return ANYTHING.to_owned() };
    if let Some(target) = schema["$ref"].as_str().and_then(|target| root.pointer(target.trim_start_matches('#'))) {
        return form(target, root, depth);
    }
    let properties = schema["properties"].as_object();
    if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
        let pairs = properties.iter().map(|(name, schema)| format!("\"{name}\": {}", form(schema, root, depth)));
        return format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "));
    }
    match schema.get("items") {
        Some(items) => format!("[{}]", form(items, root, depth)),
        None => ANYTHING.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_shape_has_every_property_of_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {
                "decision": { "enum": ["approved", "rejected"] },
                "findings": { "type": "array", "items": { "$ref": "#/$defs/Finding" } },
                "summary": { "type": ["null", "string"] },
            },
            "$defs": { "Finding": { "type": "object", "properties": { "line": {}, "title": { "type": "string" } } } },
        });
        insta::assert_snapshot!(of(&schema), @r#"{"decision": …, "findings": [{"line": …, "title": …}], "summary": …}"#);
    }

    #[test]
    fn a_recursive_schema_ends() {
        let schema = json!({ "type": "array", "items": { "$ref": "#" } });
        assert_eq!(of(&schema), "[[[[[[…]]]]]]");
    }

    #[test]
    fn the_shape_itself_is_not_an_answer() {
        use crate::answer::{Asks, schema};
        let plain = of(&schema(Asks::default()));
        let asked = of(&schema(Asks { criteria: true, prior: true }));
        assert!(plain.starts_with("{\"decision\": …, "), "{plain}");
        let first = "{\"criteria\": [{\"id\": …, \"met\": …, \"evidence\": …}], \"prior\": [{\"id\": …, \"state\": …, ";
        assert!(asked.starts_with(first), "{asked}");
        for form in [plain, asked] {
            let read = crate::answer::read(&form);
            assert!(read.is_err(), "{read:?}");
        }
    }
}
