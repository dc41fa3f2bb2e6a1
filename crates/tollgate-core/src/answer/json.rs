//! An answer as JSON. The names are promised; see `tollgate schema parse-answer`.
//!
//! ```json
//! { "decision": "rejected", "form": "text", "truncated": false,
//!   "findings": [{ "id": "F001", "severity": "High", "category": "Logic", "summary": "…", "evidence": "…" }],
//!   "summary": "…", "problems": [] }
//! ```
//!
//! A finding is written as in a review. It was not compared with any change, so its place is what was said: one that
//! names no file has no `location`, and one that names no line has line 1 and a problem that says so.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, Claim, Decision, Form};
use crate::finding::{Finding, FindingId, Fix, LineRange, Location, Origin, Side, Summary};
use crate::path::{FilePath, RepoPath};
use crate::report::json;

/// An answer that was read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct AnswerJson {
    /// Whether the reviewer would let the change pass; null when it did not say.
    pub decision: Option<DecisionJson>,
    /// The form that was recognised.
    pub form: FormJson,
    /// True when the answer was cut off.
    pub truncated: bool,
    /// The findings, as in a review; `location` is left out when no file is named.
    pub findings: Vec<Value>,
    /// What it says in general; null when it says nothing.
    pub summary: Option<String>,
    /// What was odd about the answer and how it was taken.
    pub problems: Vec<String>,
}

/// Whether a reviewer would let a change pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AnswerDecision")]
pub enum DecisionJson {
    /// It would.
    Approved,
    /// It would not.
    Rejected,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AnswerForm")]
pub enum FormJson {
    /// The answer schema.
    Structured,
    /// JSON somewhere in a text.
    Json,
    /// A decision in brackets and a list of issues.
    Text,
    /// The Markdown of a review.
    Markdown,
    /// A comment on a pull request.
    Comment,
}

/// Writes it, indented, with a line break at the end.
#[must_use]
pub fn write(answer: &Answer) -> String {
    let mut text = serde_json::to_string_pretty(&AnswerJson::from(answer)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of what [`write()`] writes.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(AnswerJson).into()
}

impl From<&Answer> for AnswerJson {
    fn from(answer: &Answer) -> Self {
        let mut problems = answer.problems.clone();
        let findings = answer.claims.iter().enumerate().map(|(index, claim)| finding(index, claim, &mut problems));
        let findings = findings.collect();
        Self {
            decision: answer.decision.map(DecisionJson::from),
            form: answer.form.into(),
            truncated: answer.truncated,
            findings,
            summary: answer.summary.clone(),
            problems,
        }
    }
}

impl From<Decision> for DecisionJson {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approved => Self::Approved,
            Decision::Rejected => Self::Rejected,
        }
    }
}

impl From<Form> for FormJson {
    fn from(form: Form) -> Self {
        match form {
            Form::Structured => Self::Structured,
            Form::Json => Self::Json,
            Form::Text => Self::Text,
            Form::Markdown => Self::Markdown,
            Form::Comment => Self::Comment,
        }
    }
}

/// A path as findings have it: relative, with forward slashes, without steps up.
fn in_form(said: &str) -> Option<FilePath> {
    let slashed = said.trim().replace('\\', "/");
    // `C:/repo/a.rs` and `/repo/a.rs`: from which folder on it is a path of the repository, nobody here knows.
    let on_disk = slashed.split_once(":/").map_or(slashed.as_str(), |(_, rest)| rest);
    let steps: Vec<&str> = on_disk.split('/').filter(|step| !matches!(*step, "" | "." | "..")).collect();
    FilePath::parse(&steps.join("/")).ok()
}

fn finding(index: usize, claim: &Claim, problems: &mut Vec<String>) -> Value {
    let said = claim.file.as_deref();
    let path = said.and_then(|file| FilePath::parse(file).ok().or_else(|| in_form(file)));
    if said.is_some() && claim.lines.is_none() {
        problems.push(format!("finding {}: it names no line, so line 1 stands there", index + 1));
    }
    // The writer of reviews wants a place; what was really said is put there afterwards.
    let stand_in = || FilePath::of_repo_path(&RepoPath::from_bytes(b"unknown"));
    let (summary, whole) = Summary::shorten(&claim.title);
    let reason = match (whole, claim.reason.clone()) {
        (Some(whole), Some(reason)) => Some(format!("{whole}\n\n{reason}")),
        (whole, reason) => whole.or(reason),
    };
    let evidence = claim.evidence.as_ref().or(claim.reason.as_ref()).unwrap_or(&claim.title).clone();
    let has_path = path.is_some();
    let lines = claim.lines.unwrap_or(LineRange::line(1));
    let replacement = claim.replacement.clone();
    let finding = Finding {
        id: FindingId::at(index),
        severity: claim.severity,
        category: claim.category,
        location: Location { file: path.unwrap_or_else(stand_in), lines, side: claim.side.unwrap_or(Side::Right) },
        summary,
        reason,
        evidence,
        suggestion: claim.suggestion.clone().or(replacement.clone().filter(|_| claim.lines.is_none())),
        fix: claim.lines.and_then(|lines| Some(Fix { lines, replacement: replacement? })),
        origin: Origin::default(),
        extra: Map::new(),
    };
    let mut value = json::finding_value(&finding, json::Form::Short);
    if let Value::Object(map) = &mut value
        && !has_path
    {
        map.shift_remove("x_fingerprint");
        match said {
            Some(file) => map["location"]["file"] = Value::from(file),
            None => {
                map.shift_remove("location");
            }
        }
    }
    value
}
