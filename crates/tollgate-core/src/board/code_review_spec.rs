//! `codeReviewSpec` in `feature.json`: the reviews of a feature, as other programs read them.
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
//! The keys of the original format come first and in this order; ours follow. Empty values are left out. [`read`] accepts
//! edited files and never fails: the database is authoritative, and the board is rebuilt from this when it is lost.

use serde_json::{Map, Value, json};

use crate::board::iteration::{Compliance, Iteration, Met, Outcome, Override, Remark};
use crate::board::machine::{Review, State, Work};
use crate::finding::Severity;

mod read;

pub use read::{read, read_state};

/// The most bytes of a diff that stand in a feature's file.
pub const MAX_INLINE_DIFF: usize = 64 * 1024;

/// Separates a criterion from its evidence.
const BETWEEN: &str = " — ";

/// The inputs of `codeReviewSpec`.
#[derive(Debug, Clone, Copy)]
pub struct CodeReviewSpec<'a> {
    /// The state of the feature.
    pub state: &'a State,
    /// The iterations without a person.
    pub max: u32,
    /// Its reviews, oldest first, each with the diff that was reviewed.
    pub iterations: &'a [(Iteration, DiffRef)],
    /// The time of the pause, if it is paused.
    pub paused_at: Option<&'a str>,
    /// The start of the running review, if there is one.
    pub review_started_at: Option<&'a str>,
    /// The number of state changes; orders versions of the file.
    pub rev: u64,
}

/// A diff in a feature's file: in full, or its beginning and the file with the whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffRef {
    /// The diff, or its beginning up to the end of a line.
    pub inline: String,
    /// The bytes of the whole.
    pub bytes: u64,
    /// The file with the whole, when this is only its beginning.
    pub file: Option<String>,
}

impl DiffRef {
    /// Truncates a diff to [`MAX_INLINE_DIFF`] between lines.
    #[must_use]
    pub fn of(diff: &[u8], iteration: u32) -> Self {
        let text = String::from_utf8_lossy(&diff[..diff.len().min(MAX_INLINE_DIFF)]);
        let bytes = diff.len().try_into().unwrap_or(u64::MAX);
        // Invalid UTF-8 takes more bytes once it is replaced.
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

/// Writes the reviews of a feature; `None` before the first review.
#[must_use]
pub fn write(spec: &CodeReviewSpec<'_>) -> Option<Value> {
    let CodeReviewSpec { state, max, iterations, rev, .. } = *spec;
    if iterations.is_empty() && state.review == Review::Pending && state.pause.is_none() {
        return None;
    }
    // Until the next review starts, the last outcome is shown.
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
        ("iterations", iterations.iter().map(|(iteration, diff)| write_iteration(iteration, diff)).collect()),
        ("paused", json!(paused)),
        ("pending", json!(pending)),
        ("round", json!((state.round > 0).then_some(state.round))),
        ("stale", flag(state.stale)),
        ("stepped", flag(state.stepped)),
        ("rev", json!(rev)),
    ]))
}

/// Findings in the shape of files and events, without praise.
#[must_use]
pub fn findings(remarks: &[Remark]) -> Value {
    remarks.iter().filter(|remark| remark.severity != Severity::Praise).map(finding).collect()
}

fn write_iteration(iteration: &Iteration, diff: &DiffRef) -> Value {
    let Iteration { number, outcome, reason, .. } = iteration;
    let late = findings(&iteration.late);
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
        ("findings", findings(&iteration.findings)),
        ("overallSummary", json!(iteration.summary)),
        ("rejectionReason", json!(is(Outcome::Rejected))),
        ("reviewFile", json!(review_file(*number))),
        ("gitDiffTruncated", flag(is_cut)),
        ("gitDiffFile", json!(diff.file)),
        ("gitDiffBytes", json!(is_cut.then_some(diff.bytes))),
        ("error", json!(is(Outcome::Failed))),
        ("reason", json!(is(Outcome::Approved))),
        ("late", if late.as_array().is_some_and(Vec::is_empty) { Value::Null } else { late }),
        ("baseCommit", json!(iteration.base)),
        ("unchecked", flag(iteration.is_unchecked())),
        ("outdated", flag(iteration.outdated)),
        ("afterStep", json!(iteration.after_step.as_ref().map(ToString::to_string))),
        ("override", iteration.overridden.as_ref().map_or(Value::Null, overridden)),
        ("notes", json!(Some(&iteration.notes).filter(|notes| !notes.is_empty()))),
        ("note", json!(iteration.note)),
        ("compliance", compliance(&iteration.compliance)),
    ])
}

fn finding(remark: &Remark) -> Value {
    let canonical = object([
        ("severity", json!(remark.severity.as_str())),
        ("category", json!(remark.category.as_str())),
        ("id", json!(remark.identity.as_ref().map(|identity| &identity.id))),
        ("fingerprint", json!(remark.identity.as_ref().map(|identity| &identity.fingerprint))),
        ("key", json!(remark.identity.as_ref().and_then(|identity| identity.key.as_ref()))),
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

/// The criteria by their answer, for people: `C1: The form has a button — src/form.ts:12`.
fn compliance(compliance: &Compliance) -> Value {
    if compliance.criteria.is_empty() {
        return Value::Null;
    }
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

fn flag(is_so: bool) -> Value {
    if is_so { Value::Bool(true) } else { Value::Null }
}

/// An object without null values.
fn object<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let given = pairs.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests;
