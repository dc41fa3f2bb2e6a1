//! The JSON format of reviews and findings.
//!
//! ```json
//! {
//!   "id": "F003",
//!   "severity": "High",
//!   "category": "Error",
//!   "location": { "file": "src/api/client.ts", "line_start": 42, "line_end": 45 },
//!   "summary": "Unhandled promise rejection in fetch call",
//!   "reason": "Network failures will crash the application",
//!   "evidence": "const data = await fetch(url).then(r => r.json());",
//!   "x_rule": "unhandled-rejection"
//! }
//! ```
//!
//! Extension fields begin with `x_`. Unknown fields are kept in `extra` and written again behind the known ones; inside a
//! known object (say `location`) they are kept under its name.

mod check;
pub(crate) mod fields;
pub(crate) mod parse;
pub mod schema;
pub mod v1;

use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::gate::Gate;
use crate::report::{Content, Read, ReadError, Strictness};
use crate::review::Review;

/// The verbosity of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Without default values.
    #[default]
    Short,
    /// With `side` also when it is RIGHT.
    Full,
}

/// Options of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The verbosity.
    pub form: Form,
    /// The decision of the gate.
    pub gate: Option<Gate>,
}

/// Writes a review, indented, with a line break at the end.
#[must_use]
pub fn write(review: &Review, options: Options) -> String {
    pretty(&review_value(review, options))
}

/// Writes a single finding, indented, with a line break at the end.
#[must_use]
pub fn write_finding(finding: &Finding, form: Form) -> String {
    pretty(&finding_value(finding, form))
}

/// A review as a JSON value.
#[must_use]
pub fn review_value(review: &Review, options: Options) -> Value {
    let mut value = value_of(&v1::Review::new(review, options));
    let findings = review.findings.iter();
    add_each(value.get_mut("findings"), findings.map(|finding| &finding.extra), |value| Some(value));
    let withheld = review.withheld.iter();
    add_each(value.get_mut("x_withheld"), withheld.map(|withheld| &withheld.finding.extra), |value| {
        value.get_mut("finding")
    });
    add(&mut value, &review.extra);
    value
}

/// A finding as a JSON value.
#[must_use]
pub fn finding_value(finding: &Finding, form: Form) -> Value {
    let mut value = value_of(&v1::Finding::new(finding, form));
    add(&mut value, &finding.extra);
    value
}

/// Reads a review, a finding or a list of findings.
pub fn read(bytes: &[u8], strictness: Strictness) -> Result<Read, ReadError> {
    let (value, doubles) = parse::parse(bytes)?;
    read_value(value, doubles, strictness)
}

/// Reads a review from a JSON value; `problems` are those of its text.
pub(crate) fn read_value(
    value: Value,
    problems: Vec<crate::report::Problem>,
    strictness: Strictness,
) -> Result<Read, ReadError> {
    let mut reader = fields::Reader::new(problems);
    let content = check::content(&mut reader, value);
    let problems = reader.into_problems();
    match content {
        Some(content) if problems.is_empty() || strictness == Strictness::Lenient => {
            Ok(Read { content, notes: problems })
        }
        _ => Err(ReadError { problems }),
    }
}

/// Reads a review that an older version may have stored: what is computed may follow the rules of that version.
pub fn read_stored(bytes: &[u8]) -> Result<Review, ReadError> {
    const COMPUTED: [&str; 2] = ["verdict", "coverage"];
    let read = read(bytes, Strictness::Lenient)?;
    match read.content {
        Content::Review(review) if read.notes.iter().all(|note| COMPUTED.contains(&note.rule)) => Ok(*review),
        _ => read_strict(bytes),
    }
}

/// Reads a review in strict mode.
pub fn read_strict(bytes: &[u8]) -> Result<Review, ReadError> {
    let read = read(bytes, Strictness::Strict)?;
    match read.content {
        Content::Review(review) => Ok(*review),
        Content::Findings(..) => {
            let place = crate::report::InputPosition::Pointer(String::new());
            Err(ReadError::one(place, "review", "", "expected a review, found loose findings"))
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn value_of(mirror: &impl serde::Serialize) -> Value {
    // The mirrors have text keys only and no floating point, so this cannot fail.
    serde_json::to_value(mirror).unwrap_or_default()
}

fn add_each<'a>(
    list: Option<&mut Value>,
    extras: impl Iterator<Item = &'a Map<String, Value>>,
    select: impl Fn(&mut Value) -> Option<&mut Value>,
) {
    let Some(Value::Array(list)) = list else { return };
    for (value, extra) in list.iter_mut().zip(extras) {
        if let Some(value) = select(value) {
            add(value, extra);
        }
    }
}

/// Appends unknown fields; they never replace ours.
fn add(value: &mut Value, extra: &Map<String, Value>) {
    let Value::Object(map) = value else { return };
    for (key, more) in extra {
        match (map.get_mut(key), more) {
            // Known fields that are absent stay absent.
            (None, _) if v1::KNOWN.contains(&key.as_str()) => {}
            (None, _) => {
                map.insert(key.clone(), more.clone());
            }
            (Some(ours @ Value::Object(_)), Value::Object(more)) => add(ours, more),
            (Some(_), _) => {}
        }
    }
}
