//! JSON Schema (2020-12) of a finding and a review.
//!
//! Generated from the types of the writer, then refined with enums, patterns, and the rule that blockers need a reason.
//! Our output always validates; fields beginning `x_` are optional.

use schemars::schema_for;
use serde_json::{Value, json};

use crate::finding::{Category, Severity, Summary};
use crate::gate::Gate;
use crate::report::json::v1;
use crate::review::DoubtKind;
use crate::verdict::Verdict;

/// Characters that count as white space, and NUL, for a class in a pattern.
///
/// Written out because `\s` means something else in each dialect.
const BLANK: &str = r"\u0000\t\n\u000b\u000c\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";

/// Characters that end a line, and NUL.
const BREAK: &str = r"\u0000\n\u000b\u000c\r\u0085\u2028\u2029";

/// The schema of a single finding.
#[must_use]
pub fn finding() -> Value {
    let mut schema = schema_for!(v1::Finding<'static>).to_value();
    refine_finding(&mut schema);
    refine_definitions(&mut schema);
    schema
}

/// The schema of a review.
#[must_use]
pub fn review() -> Value {
    let mut schema = schema_for!(v1::Review<'static>).to_value();
    refine_review(&mut schema);
    refine_definitions(&mut schema);
    schema
}

fn refine_definitions(schema: &mut Value) {
    let Some(Value::Object(definitions)) = schema.get_mut("$defs") else { return };
    for (name, definition) in definitions {
        match name.as_str() {
            "Finding" => refine_finding(definition),
            "Location" => {
                property(definition, "file", file_pattern());
                property(definition, "side", json!({ "type": "string", "enum": ["LEFT", "RIGHT"] }));
                refine_lines(definition);
            }
            "Fix" => {
                property(definition, "replacement", text());
                refine_lines(definition);
            }
            "Covered" => refine_covered(definition),
            "WithheldFinding" => {
                property(definition, "why", json!({ "enum": v1::WHY }));
                property(definition, "by", text());
                for key in ["reason", "who", "at"] {
                    property(definition, key, text());
                }
                property(definition, "kind", json!({ "type": "string", "enum": v1::KIND }));
                property(definition, "scope", json!({ "type": "string", "enum": v1::SCOPE }));
                definition["additionalProperties"] = json!(false);
            }
            "Doubt" => {
                property(definition, "kind", json!({ "enum": DoubtKind::ALL.map(DoubtKind::as_str) }));
                property(definition, "reviewer", text());
                property(definition, "reason", text());
                definition["additionalProperties"] = json!(false);
            }
            _ => {}
        }
    }
}

fn refine_review(schema: &mut Value) {
    let sha = json!({ "pattern": "^(?:[0-9a-f]{40}|[0-9a-f]{64})$" });
    property(schema, "reviewed_sha", sha.clone());
    property(schema, "base_sha", sha);
    property(schema, "files_reviewed", json!({ "items": { "type": "string", "pattern": file_pattern()["pattern"] } }));
    property(schema, "verdict", json!({ "enum": Verdict::ALL.map(Verdict::as_str) }));
    property(schema, "x_gate", json!({ "type": "string", "enum": Gate::ALL.map(Gate::as_str) }));
    for key in ["reviewer_notes", "x_title", "x_compared"] {
        property(schema, key, text());
    }
    property(schema, "x_coverage", json!({}));
    optional(schema, "x_withheld");
    optional(schema, "x_doubts");
    let blocked =
        |key: &str| json!({ "properties": { "blocking_count": { "properties": { key: { "minimum": 1 } } } } });
    schema["allOf"] = json!([
        {
            "if": { "anyOf": [blocked("critical"), blocked("high")] },
            "then": { "properties": { "verdict": { "const": "CHANGES_REQUESTED" } } },
            "else": { "properties": { "verdict": { "enum": ["APPROVED", "COMMENTED"] } } }
        },
        {
            "if": {
                "properties": { "x_coverage": { "properties": { "complete": { "const": false } } } },
                "required": ["x_coverage"]
            },
            "then": { "properties": { "verdict": { "enum": ["COMMENTED", "CHANGES_REQUESTED"] } } }
        },
        {
            "if": { "properties": { "x_doubts": { "minItems": 1 } }, "required": ["x_doubts"] },
            "then": { "properties": { "verdict": { "enum": ["COMMENTED", "CHANGES_REQUESTED"] } } }
        }
    ]);
}

fn refine_finding(schema: &mut Value) {
    property(schema, "id", json!({ "pattern": "^F(?:00[1-9]|0[1-9][0-9]|[1-9][0-9]{2,9})$" }));
    property(schema, "severity", json!({ "enum": Severity::ALL.map(Severity::as_str) }));
    let categories: Vec<_> = v1::categories().map(Category::as_str).collect();
    property(schema, "category", json!({ "enum": categories }));
    let canonical: Vec<_> = Category::ALL.into_iter().filter(|category| category.in_schema() != *category).collect();
    let names: Vec<_> = canonical.iter().map(|category| category.as_str()).collect();
    property(schema, "x_category", json!({ "type": "string", "enum": names }));
    let summary = format!("^[^{BLANK}](?:[^{BREAK}]*[^{BLANK}])?$");
    property(schema, "summary", json!({ "minLength": 1, "maxLength": Summary::MAX_CHARS, "pattern": summary }));
    property(schema, "evidence", json!({ "minLength": 1, "pattern": not_blank() }));
    for key in ["reason", "suggestion", "x_rule", "x_rule_url", "x_reviewer"] {
        property(schema, key, text());
    }
    property(schema, "x_fix", json!({}));
    property(schema, "x_fingerprint", json!({ "pattern": "^fp-[0-9a-f]{16}$" }));
    optional(schema, "x_fingerprint");
    let blockers: Vec<_> =
        Severity::ALL.into_iter().filter(|severity| severity.blocks()).map(Severity::as_str).collect();
    let mut rules = vec![json!({
        "if": { "properties": { "severity": { "enum": blockers } }, "required": ["severity"] },
        "then": { "required": ["reason"], "properties": { "reason": { "pattern": not_blank() } } }
    })];
    rules.extend(canonical.iter().map(|category| {
        json!({
            "if": { "properties": { "x_category": { "const": category.as_str() } }, "required": ["x_category"] },
            "then": { "properties": { "category": { "const": category.in_schema().as_str() } } }
        })
    }));
    schema["allOf"] = Value::Array(rules);
}

fn refine_lines(schema: &mut Value) {
    property(schema, "line_start", json!({ "maximum": u32::MAX }));
    property(schema, "line_end", json!({ "type": "integer", "maximum": u32::MAX }));
}

fn refine_covered(schema: &mut Value) {
    property(schema, "file", file_pattern());
    property(schema, "lines", json!({ "type": "string", "pattern": "^[1-9][0-9]*(?:-[1-9][0-9]*)?$" }));
    property(schema, "state", json!({ "enum": v1::STATE }));
    property(schema, "reason", text());
    schema["additionalProperties"] = json!(false);
    schema["if"] = json!({ "properties": { "state": { "const": v1::STATE[0] } } });
    schema["then"] = json!({ "properties": { "reason": false } });
    schema["else"] = json!({ "required": ["reason"] });
}

/// A path inside the repository: relative, forward slashes, no `..`.
fn file_pattern() -> Value {
    let pattern = r"^(?!/)(?![A-Za-z]:(?:/|$))(?!\./)(?!\.$)(?!(?:[^\n]*/)?\.\.(?:/|$))[^\\\u0000\n\r]+$";
    json!({ "minLength": 1, "pattern": pattern })
}

fn text() -> Value {
    json!({ "type": "string", "pattern": r"^[^\u0000]*$" })
}

fn not_blank() -> String {
    format!(r"^[^\u0000]*[^{BLANK}][^\u0000]*$")
}

/// Adds keywords to a property and drops its null alternative, which is never written.
fn property(schema: &mut Value, name: &str, keywords: Value) {
    let Some(Value::Object(property)) = schema.pointer_mut(&format!("/properties/{name}")) else { return };
    if let Some(Value::Array(alternatives)) = property.shift_remove("anyOf") {
        let real = alternatives.into_iter().find(|alternative| alternative["type"] != "null");
        property.extend(real.into_iter().filter_map(|real| real.as_object().cloned()).flatten());
    }
    if let Value::Object(keywords) = keywords {
        property.extend(keywords);
    }
}

fn optional(schema: &mut Value, name: &str) {
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|key| key != name);
    }
}
