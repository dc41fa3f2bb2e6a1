//! The reviews of a feature as its file has them, and as the database has them.
//!
//! ```json
//! { "status": "rejected", "currentIteration": 1, "maxIterations": 3,
//!   "iterations": [{
//!     "iterationNumber": 1, "reviewedAt": "2026-01-09T14:22:00.000Z", "reviewedByModel": "claude-opus-4-5",
//!     "reviewedByProvider": "anthropic", "status": "rejected", "gitCommitHash": "a1b2c3d4", "gitDiff": "…",
//!     "findings": [{ "category": "compliance", "severity": "error", "title": "…", "description": "…" }],
//!     "overallSummary": "…", "rejectionReason": "…", "reviewFile": "code-review-iteration-1.md" }],
//!   "rev": 7 }
//! ```
//!
//! The keys that other programs know come first and in this order; ours follow. A key that says nothing is left out.
//! [`read`] takes what people and other programs made of it, and never fails: the database is the truth, and this is
//! what a board is rebuilt from when that is gone.

use serde_json::{Map, Value, json};

use crate::board::iteration::{Compliance, Iteration, Met, Outcome, Override, Remark};
use crate::board::machine::{Review, State, Work};
use crate::finding::Severity;

mod read;

pub use read::{iteration_of_json, read, read_state};

/// The most bytes of a diff that stand in a feature's file.
pub const MAX_INLINE_DIFF: usize = 64 * 1024;

/// Keeps a criterion and its evidence apart.
const BETWEEN: &str = " — ";

/// What is written into a feature's file.
#[derive(Debug, Clone, Copy)]
pub struct Spec<'a> {
    /// Where the feature is.
    pub state: &'a State,
    /// How many automatic rounds there are.
    pub max: u32,
    /// Its reviews, oldest first, each with the diff that was reviewed.
    pub iterations: &'a [(Iteration, DiffRef)],
    /// Since when it waits for a person, if it does.
    pub paused_at: Option<&'a str>,
    /// Since when it is being reviewed, if it is.
    pub review_started_at: Option<&'a str>,
    /// How often the feature's state changed; tells older writings from newer ones.
    pub rev: u64,
}

/// A diff as it stands in a feature's file: all of it, or its beginning and where the rest is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffRef {
    /// The diff, or its beginning up to the end of a line.
    pub inline: String,
    /// How many bytes the whole has.
    pub bytes: u64,
    /// The file with the whole, when this is only its beginning.
    pub file: Option<String>,
}

impl DiffRef {
    /// Keeps as much of a diff as stands in a feature's file.
    #[must_use]
    pub fn of(diff: &[u8], iteration: u32) -> Self {
        let text = String::from_utf8_lossy(&diff[..diff.len().min(MAX_INLINE_DIFF)]);
        let bytes = diff.len().try_into().unwrap_or(u64::MAX);
        // Bytes that are no text take more room as one.
        if diff.len() <= MAX_INLINE_DIFF && text.len() <= MAX_INLINE_DIFF {
            return Self { inline: text.into_owned(), bytes, file: None };
        }
        let whole = &text[..text.floor_char_boundary(MAX_INLINE_DIFF)];
        // The last character may be one that was cut in two.
        let whole = whole.trim_end_matches('\u{fffd}');
        let inline = whole.rfind('\n').map_or(whole, |end| &whole[..=end]);
        Self { inline: inline.to_owned(), bytes, file: Some(diff_file(iteration)) }
    }
}

/// The name of the file with the whole diff of a review.
#[must_use]
pub fn diff_file(iteration: u32) -> String {
    format!("code-review-iteration-{iteration}.diff")
}

/// The name of the file with a review.
#[must_use]
pub fn review_file(iteration: u32) -> String {
    format!("code-review-iteration-{iteration}.md")
}

/// Writes the reviews of a feature; `None` as long as there is nothing to say.
#[must_use]
pub fn write(spec: &Spec<'_>) -> Option<Value> {
    let Spec { state, max, iterations, rev, .. } = *spec;
    if iterations.is_empty() && state.review == Review::Pending && state.pause.is_none() {
        return None;
    }
    // Until the next review starts, the last one stands.
    let last = iterations.last().map(|(last, _)| last.outcome.as_str());
    let status = last.filter(|_| state.review == Review::Pending).unwrap_or(state.review.as_str());
    let paused = state.pause.map(|why| object([("reason", json!(why.as_str())), ("at", json!(spec.paused_at))]));
    let pending = (state.work == Work::Reviewing).then(|| {
        object([
            ("iterationNumber", json!(state.iteration)),
            ("gitCommitHash", json!(state.commit)),
            ("startedAt", json!(spec.review_started_at)),
        ])
    });
    Some(object([
        ("status", json!(status)),
        ("currentIteration", json!(state.iteration)),
        ("maxIterations", json!(max)),
        ("iterations", iterations.iter().map(|(iteration, diff)| in_file(iteration, diff)).collect()),
        ("paused", json!(paused)),
        ("pending", json!(pending)),
        ("round", json!((state.round > 0).then_some(state.round))),
        ("stale", said(state.stale)),
        ("stepped", said(state.stepped)),
        ("rev", json!(rev)),
    ]))
}

/// Writes one review as the database keeps it: all of it, without the diff.
#[must_use]
pub fn iteration_to_json(iteration: &Iteration) -> Value {
    let criteria = iteration.compliance.criteria.iter().map(|(criterion, met)| {
        let evidence = evidence(met);
        object([
            ("id", json!(criterion.id)),
            ("text", json!(criterion.text)),
            ("met", json!(met_word(met))),
            ("evidence", json!(evidence)),
        ])
    });
    let all = iteration.findings.iter().map(finding).collect();
    let mut value = common(iteration, DiffRef::default(), all, iteration.late.iter().map(finding).collect());
    if let Value::Object(map) = &mut value {
        for key in ["gitDiff", "reviewFile"] {
            map.shift_remove(key);
        }
        if !iteration.compliance.criteria.is_empty() {
            map.insert("criteria".to_owned(), criteria.collect());
        }
        if let Some(commit) = &iteration.commit {
            map.insert("gitCommitHash".to_owned(), json!(commit));
        } else {
            map.shift_remove("gitCommitHash");
        }
    }
    value
}

/// Findings as files and events have them. Praise is none.
#[must_use]
pub fn findings(remarks: &[Remark]) -> Value {
    remarks.iter().filter(|remark| remark.severity != Severity::Praise).map(finding).collect()
}

fn in_file(iteration: &Iteration, diff: &DiffRef) -> Value {
    let mut value = common(iteration, diff.clone(), findings(&iteration.findings), findings(&iteration.late));
    if let Value::Object(map) = &mut value
        && !iteration.compliance.criteria.is_empty()
    {
        map.insert("compliance".to_owned(), compliance(&iteration.compliance));
    }
    value
}

/// What the file and the database have in common.
fn common(iteration: &Iteration, diff: DiffRef, findings: Value, late: Value) -> Value {
    let Iteration { number, outcome, reason, .. } = iteration;
    let is = |wanted: Outcome| reason.as_ref().filter(|_| *outcome == wanted);
    let is_cut = diff.file.is_some();
    object([
        ("iterationNumber", json!(number)),
        ("reviewedAt", json!(iteration.reviewed_at)),
        ("reviewedByModel", json!(iteration.model)),
        ("reviewedByProvider", json!(iteration.provider)),
        ("status", json!(outcome.as_str())),
        ("gitCommitHash", json!(iteration.commit.as_deref().unwrap_or_default())),
        ("gitDiff", json!(diff.inline)),
        ("findings", findings),
        ("overallSummary", json!(iteration.summary)),
        ("rejectionReason", json!(is(Outcome::Rejected))),
        ("reviewFile", json!(review_file(*number))),
        ("gitDiffTruncated", said(is_cut)),
        ("gitDiffFile", json!(diff.file)),
        ("gitDiffBytes", json!(is_cut.then_some(diff.bytes))),
        ("error", json!(is(Outcome::Failed))),
        ("reason", json!(is(Outcome::Approved))),
        ("late", if late.as_array().is_some_and(Vec::is_empty) { Value::Null } else { late }),
        ("baseCommit", json!(iteration.base)),
        ("outdated", said(iteration.outdated)),
        ("afterStep", json!(iteration.after_step.as_ref().map(ToString::to_string))),
        ("override", iteration.overridden.as_ref().map_or(Value::Null, overridden)),
        ("notes", json!(Some(&iteration.notes).filter(|notes| !notes.is_empty()))),
        ("note", json!(iteration.note)),
    ])
}

fn finding(remark: &Remark) -> Value {
    let canonical = object([
        ("severity", json!(remark.severity.as_str())),
        ("category", json!(remark.category.as_str())),
        ("id", json!(remark.identity.as_ref().map(|identity| &identity.id))),
        ("fingerprint", json!(remark.identity.as_ref().map(|identity| &identity.fingerprint))),
    ]);
    object([
        ("category", json!(remark.category_word())),
        ("severity", json!(remark.severity_word())),
        ("title", json!(remark.title)),
        ("description", json!(remark.description)),
        ("suggestion", json!(remark.suggestion)),
        ("file", json!(remark.file)),
        ("line", json!(remark.line)),
        ("evidence", json!(remark.evidence)),
        ("canonical", canonical),
    ])
}

fn overridden(given: &Override) -> Value {
    object([("who", json!(given.who)), ("reason", json!(given.reason)), ("at", json!(given.at))])
}

/// What is met, is not and is unclear, for people: `C1: The form has a button — src/form.ts:12`.
fn compliance(compliance: &Compliance) -> Value {
    let list = |wanted: &str| -> Value {
        let chosen = compliance.criteria.iter().filter(|(_, met)| met_word(met) == wanted);
        let lines = chosen.map(|(criterion, met)| {
            let text = criterion.text.replace(BETWEEN, " – ");
            let evidence = evidence(met).map(|evidence| format!("{BETWEEN}{evidence}")).unwrap_or_default();
            Value::String(format!("{}: {text}{evidence}", criterion.id))
        });
        lines.collect()
    };
    object([("met", list("yes")), ("unmet", list("no")), ("unclear", list("unclear"))])
}

fn met_word(met: &Met) -> &'static str {
    match met {
        Met::Yes { .. } => "yes",
        Met::No { .. } => "no",
        Met::Unclear { .. } => "unclear",
    }
}

fn evidence(met: &Met) -> Option<&str> {
    match met {
        Met::Yes { evidence } | Met::No { evidence } => Some(evidence),
        Met::Unclear { evidence } => evidence.as_deref(),
    }
}

fn said(is_so: bool) -> Value {
    if is_so { Value::Bool(true) } else { Value::Null }
}

/// An object without the keys that say nothing.
fn object<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let given = pairs.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests;
