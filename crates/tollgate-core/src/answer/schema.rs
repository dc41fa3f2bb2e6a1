//! The JSON Schema of an answer, sent to models for structured output.
//!
//! Providers support different parts of JSON Schema. This schema uses only the common subset: every property is required,
//! optional ones may be null, additional properties are forbidden, and there are no references and no alternatives.

use serde_json::{Value, json};

use crate::answer::{Asks, PriorState};
use crate::finding::{Category, Severity};

/// The fields of an answer.
pub(super) const ANSWER: &[&str] = &["decision", "summary", "findings"];
/// The field with the answers to acceptance criteria.
pub(super) const CRITERIA: &str = "criteria";
/// The field with the answers about findings of the last review.
pub(super) const PRIOR: &str = "prior";
/// The fields of a finding.
pub(super) const FINDING: &[&str] = &[
    "severity",
    "category",
    "file",
    "line_start",
    "line_end",
    "side",
    "title",
    "reason",
    "evidence",
    "suggestion",
    "replacement",
];

/// The schema of an answer. What the decision follows from comes first: acceptance criteria, then findings of the last
/// review.
pub(super) fn schema(asks: Asks) -> Value {
    let mut properties = serde_json::Map::new();
    if asks.criteria {
        properties.insert(CRITERIA.to_owned(), criteria());
    }
    if asks.prior {
        properties.insert(PRIOR.to_owned(), prior());
    }
    if let Value::Object(rest) = answer() {
        properties.extend(rest);
    }
    strict(Value::Object(properties))
}

fn criteria() -> Value {
    let criterion = strict(json!({
        "id": { "type": "string", "description": "Name of the criterion, e.g. C1." },
        "met": {
            "type": "string",
            "enum": ["yes", "no", "unclear"],
            "description": "Whether the change meets it; unclear when what you see does not tell.",
        },
        "evidence": {
            "type": "string",
            "description": "File and line or a quote that shows it; for no, what is missing.",
        },
    }));
    json!({ "type": "array", "items": criterion, "description": "Each acceptance criterion, once." })
}

fn prior() -> Value {
    let states = [PriorState::Fixed, PriorState::Open, PriorState::Unknown].map(PriorState::as_str);
    let answer = strict(json!({
        "id": { "type": "string", "description": "Name of the finding in the request, e.g. P1." },
        "state": {
            "type": "string",
            "enum": states,
            "description": "What became of it; unknown when what you see does not tell.",
        },
        "evidence": {
            "type": "string",
            "description": "For fixed: file, line and the exact line of code that deals with it. Otherwise why.",
        },
    }));
    let description = "Each finding of the last review that the request lists, once; empty when it lists none.";
    json!({ "type": "array", "items": answer, "description": description })
}

fn answer() -> Value {
    let severities: Vec<&str> = Severity::ALL.iter().map(|severity| severity.as_str()).collect();
    let categories: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
    let text = |description: &str| json!({ "type": "string", "description": description });
    let optional = |description: &str| json!({ "type": ["string", "null"], "description": description });
    let line = |description: &str| json!({ "type": "integer", "description": description });
    let finding = strict(json!({
        "severity": { "type": "string", "enum": severities, "description": "How much it matters, worst first." },
        "category": { "type": "string", "enum": categories, "description": "What it is about." },
        "file": text("Path of the file, as the change names it."),
        "line_start": line("First line, counted from 1."),
        "line_end": line("Last line; the same as line_start for one line."),
        "side": {
            "type": "string",
            "enum": ["RIGHT", "LEFT"],
            "description": "RIGHT counts lines after the change, LEFT before it (for removed code).",
        },
        "title": text("What is wrong, in one line of at most 80 characters."),
        "reason": text("Why it matters."),
        "evidence": text("The code it is about, quoted exactly from the change, without line numbers and signs."),
        "suggestion": optional("What to do instead, for people."),
        "replacement": optional("What to write in place of lines line_start to line_end, exactly, or null."),
    }));
    json!({
        "decision": {
            "type": "string",
            "enum": ["approved", "rejected"],
            "description": "Whether the change may pass.",
        },
        "summary": text("One sentence on what the change does and how, then one on the decision."),
        "findings": {
            "type": "array",
            "items": finding,
            "description": "All that is wrong, and at most two of severity Praise; empty when there is nothing to say.",
        },
    })
}

/// An object schema with all properties required and no others allowed.
fn strict(properties: Value) -> Value {
    let names: Vec<String> = properties.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(object: &Value) -> Vec<&str> {
        object["properties"].as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn plain() -> Value {
        schema(Asks::default())
    }

    #[test]
    fn every_property_is_required_and_nothing_else_is_allowed() {
        let plain = plain();
        let finding = &plain["properties"]["findings"]["items"];
        assert_eq!(names(&plain), ANSWER);
        assert_eq!(names(finding), FINDING);
        let asked = schema(Asks { criteria: true, prior: true });
        assert_eq!(names(&asked), [&[CRITERIA, PRIOR], ANSWER].concat());
        assert_eq!(names(&schema(Asks { criteria: true, prior: false })), [&[CRITERIA], ANSWER].concat());
        assert_eq!(names(&schema(Asks { criteria: false, prior: true })), [&[PRIOR], ANSWER].concat());
        assert_eq!(asked["properties"]["findings"], plain["properties"]["findings"]);
        let [criteria, prior] = [CRITERIA, PRIOR].map(|name| &asked["properties"][name]["items"]);
        assert_eq!(names(prior), ["id", "state", "evidence"]);
        for object in [&plain, finding, &asked, criteria, prior] {
            assert_eq!(json!(names(object)), object["required"]);
            assert_eq!(object["additionalProperties"], json!(false));
        }
        let text = asked.to_string();
        for word in ["$ref", "oneOf", "anyOf", "allOf", "$defs"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn enum_values_are_those_of_findings() {
        let schema = plain();
        let finding = &schema["properties"]["findings"]["items"]["properties"];
        assert_eq!(finding["severity"]["enum"], json!(["Critical", "High", "Medium", "Low", "Nit", "Praise"]));
        assert_eq!(finding["category"]["enum"].as_array().unwrap().len(), Category::ALL.len());
        assert_eq!(finding["suggestion"]["type"], json!(["string", "null"]));
    }
}
