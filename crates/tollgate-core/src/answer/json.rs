//! An answer as JSON. The field names are stable; see `tollgate schema parse-answer`.
//!
//! ```json
//! { "decision": "rejected", "form": "text", "truncated": false,
//!   "findings": [{ "id": "F001", "severity": "High", "category": "Logic", "summary": "…", "evidence": "…" }],
//!   "summary": "…", "problems": [] }
//! ```
//!
//! A finding is written as in a review. It was not verified against a change, so its location is as claimed: without a file
//! it has no `location`, and without a line it has line 1 and a problem.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, Claim, Decision, Form, PriorAnswer, PriorState};
use crate::finding::NOTHING_QUOTED;
use crate::finding::{Finding, FindingId, Fix, LineRange, Location, Origin, Side, Summary};
use crate::json::mirror_enum;
use crate::path::{FilePath, RepoPath};
use crate::report::json;

/// A parsed answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
struct AnswerJson {
    /// The settled decision: never an approval beside a blocking finding, after a contradiction, or of an answer of which
    /// a part is missing; null when there is none.
    decision: Option<DecisionJson>,
    /// The form that was recognized.
    form: FormJson,
    /// True when the answer was truncated.
    truncated: bool,
    /// The findings, as in a review; `location` is left out when no file is named.
    findings: Vec<Value>,
    /// The overall summary; null when there is none.
    summary: Option<String>,
    /// The answers about findings of the last review; left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    prior: Vec<PriorJson>,
    /// Notes on irregularities of the answer and how they were handled.
    problems: Vec<String>,
}

/// What the reviewer says about a finding of the last review.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PriorAnswer")]
struct PriorJson {
    /// The name of the finding in the prompt.
    id: String,
    /// What became of it.
    state: PriorStateJson,
    /// The code or the words that show it.
    evidence: String,
}

mirror_enum! {
    /// What became of a finding of the last review.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "PriorState")]
    enum PriorStateJson mirrors PriorState {
        /// The change deals with it now.
        Fixed,
        /// The reviewer cannot tell.
        Unknown,
        /// It is still there.
        Open,
    }
}

mirror_enum! {
    /// The reviewer's own decision on the change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "AnswerDecision")]
    enum DecisionJson mirrors Decision {
        /// The reviewer approves the change.
        Approved,
        /// The reviewer rejects the change.
        Rejected,
    }
}

mirror_enum! {
    /// The form of an answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "AnswerForm")]
    enum FormJson mirrors Form {
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
}

/// Writes an answer, indented, with a line break at the end.
#[must_use]
pub fn write(answer: &Answer) -> String {
    let mut text = serde_json::to_string_pretty(&AnswerJson::from(answer)).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the output of [`write()`].
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(AnswerJson).into()
}

impl From<&Answer> for AnswerJson {
    fn from(answer: &Answer) -> Self {
        let mut problems: Vec<String> = answer.problems.iter().cloned().chain(answer.contradiction()).collect();
        let findings = answer.claims.iter().enumerate().map(|(index, claim)| finding(index, claim, &mut problems));
        let findings = findings.collect();
        Self {
            decision: answer.settled_decision().map(DecisionJson::from),
            form: answer.form.into(),
            truncated: answer.truncated,
            findings,
            summary: answer.summary.clone(),
            prior: answer.prior.iter().map(PriorJson::from).collect(),
            problems,
        }
    }
}

impl From<&PriorAnswer> for PriorJson {
    fn from(answer: &PriorAnswer) -> Self {
        Self { id: answer.id.clone(), state: answer.state.into(), evidence: answer.evidence.clone() }
    }
}

/// Normalizes a path: relative, with forward slashes, without `..`.
fn in_form(said: &str) -> Option<FilePath> {
    let slashed = said.trim().replace('\\', "/");
    // `C:/repo/a.rs` and `/repo/a.rs`: the repository root is unknown here, so the whole path is kept.
    let on_disk = slashed.split_once(":/").map_or(slashed.as_str(), |(_, rest)| rest);
    let steps: Vec<&str> = on_disk.split('/').filter(|step| !matches!(*step, "" | "." | "..")).collect();
    FilePath::parse(&steps.join("/")).ok()
}

fn finding(index: usize, claim: &Claim, problems: &mut Vec<String>) -> Value {
    let said = claim.file.as_deref();
    let path = said.and_then(|file| FilePath::parse(file).ok().or_else(|| in_form(file)));
    if said.is_some() && claim.lines.is_none() {
        problems.push(format!("finding {}: it names no line; line 1 is assumed", index + 1));
    }
    // The review writer needs a location; the claimed one replaces this placeholder below.
    let stand_in = || FilePath::of_repo_path(&RepoPath::from_bytes(b"unknown"));
    let (summary, whole) = Summary::shorten(&claim.title);
    let reason = match (whole, claim.reason.clone()) {
        (Some(whole), Some(reason)) => Some(format!("{whole}\n\n{reason}")),
        (whole, reason) => whole.or(reason),
    };
    let quoted = claim.evidence.as_ref().or(claim.quotes.first());
    let evidence = quoted.map_or_else(|| NOTHING_QUOTED.to_owned(), String::clone);
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
