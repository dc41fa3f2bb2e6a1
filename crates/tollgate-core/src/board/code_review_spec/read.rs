//! Reads `codeReviewSpec` from a feature's file, which people and other programs may have edited.

use serde_json::Value;

use crate::board::code_review_spec::BETWEEN;
use crate::board::iteration::{Compliance, Criterion, Identity, Iteration, Met, Outcome, Override, Remark};
use crate::board::machine::{Pause, Review, State, Status, Work};
use crate::board::{StepId, criteria};
use crate::finding::{Category, Severity};

/// The most reviews that are read from a file; the last ones count.
const MAX_ITERATIONS: usize = 1_000;

/// Reads the reviews, oldest first. Invalid entries are left out.
#[must_use]
pub fn read(spec: &Value) -> Vec<Iteration> {
    let Some(list) = spec["iterations"].as_array() else { return Vec::new() };
    let first = list.len().saturating_sub(MAX_ITERATIONS);
    let objects = list.iter().enumerate().skip(first).filter(|(_, value)| value.is_object());
    let mut iterations: Vec<Iteration> = objects.map(|(index, value)| iteration(value, index)).collect();
    iterations.sort_by_key(|iteration| iteration.number);
    iterations.dedup_by_key(|iteration| iteration.number);
    iterations
}

/// Rebuilds the state of a feature from its file.
///
/// No job is pending afterwards. A feature that was in progress is paused: the file does not tell how far its job had
/// come, and write access to a file must not start an agent.
#[must_use]
pub fn read_state(spec: &Value, status: &Status) -> State {
    let mut state = State { status: status.clone(), ..State::new() };
    if !spec.is_object() {
        return state;
    }
    let iterations = read(spec);
    let last = iterations.last();
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let last_number = last.map_or(0, |last| last.number);
    state.iteration = number(&spec["currentIteration"]).unwrap_or(0).max(last_number);
    state.round = number(&spec["round"]).unwrap_or(state.iteration);
    let pending = &spec["pending"]["gitCommitHash"];
    let commits = iterations.iter().rev().find_map(|iteration| iteration.commit.clone());
    state.commit = text(pending).filter(|commit| !commit.is_empty()).or(commits);
    let is_last = last.is_some_and(|last| last.number == state.iteration && last.commit.is_some());
    state.committed = is_last || pending.is_string();
    state.review = match spec["status"].as_str().and_then(Review::parse) {
        // The review was running and is lost.
        Some(Review::Reviewing) | None => Review::Pending,
        // The status belongs to an earlier iteration.
        Some(_) if last_number < state.iteration => Review::Pending,
        Some(review) => review,
    };
    state.stale = spec["stale"] == Value::Bool(true);
    state.stepped = spec["stepped"] == Value::Bool(true);
    let is_under_way = matches!(status, Status::InProgress | Status::CodeReview | Status::Step(_));
    let said = spec["paused"]["reason"].as_str().and_then(Pause::parse);
    state.pause = said.or(Some(Pause::Interrupted)).filter(|_| is_under_way);
    state.work = Work::Nothing;
    state
}

fn iteration(value: &Value, index: usize) -> Iteration {
    let number = value["iterationNumber"].as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| *number > 0).unwrap_or_else(|| u32::try_from(index + 1).unwrap_or(u32::MAX));
    // An unknown outcome must not approve.
    let outcome = value["status"].as_str().and_then(Outcome::parse).unwrap_or(Outcome::Failed);
    let reason = match outcome {
        Outcome::Rejected => "rejectionReason",
        Outcome::Failed => "error",
        Outcome::Approved => "reason",
    };
    Iteration {
        number,
        outcome,
        reviewed_at: text(&value["reviewedAt"]).unwrap_or_default(),
        model: text(&value["reviewedByModel"]).unwrap_or_default(),
        provider: text(&value["reviewedByProvider"]).unwrap_or_default(),
        commit: text(&value["gitCommitHash"]).filter(|commit| !commit.is_empty()),
        base: text(&value["baseCommit"]),
        findings: remarks(&value["findings"]),
        late: remarks(&value["late"]),
        summary: text(&value["overallSummary"]).unwrap_or_default(),
        reason: text(&value[reason]),
        compliance: compliance(value),
        notes: texts(&value["notes"]),
        outdated: value["outdated"] == Value::Bool(true),
        after_step: value["afterStep"].as_str().and_then(|step| StepId::parse(step).ok()),
        overridden: value["override"].is_object().then(|| Override {
            who: text(&value["override"]["who"]).unwrap_or_default(),
            reason: text(&value["override"]["reason"]).unwrap_or_default(),
            at: text(&value["override"]["at"]).unwrap_or_default(),
        }),
        note: text(&value["note"]),
    }
}

fn remarks(value: &Value) -> Vec<Remark> {
    let objects = value.as_array().into_iter().flatten().filter(|value| value.is_object());
    objects.map(remark).collect()
}

fn remark(value: &Value) -> Remark {
    let canonical = &value["canonical"];
    let (severity_word, category_word) = (value["severity"].as_str(), value["category"].as_str());
    let said = severity_word.and_then(Severity::parse_lenient).unwrap_or(Severity::Medium);
    let about = category_word.and_then(Category::parse_lenient).unwrap_or(Category::Logic);
    let identity = canonical["id"].as_str().zip(canonical["fingerprint"].as_str());
    let mut remark = Remark {
        category: canonical["category"].as_str().and_then(Category::parse_exact).unwrap_or(about),
        severity: canonical["severity"].as_str().and_then(Severity::parse_exact).unwrap_or(said),
        title: text(&value["title"]).unwrap_or_default(),
        description: text(&value["description"]).unwrap_or_default(),
        suggestion: text(&value["suggestion"]),
        file: text(&value["file"]),
        line: value["line"].as_u64().and_then(|line| u32::try_from(line).ok()),
        evidence: text(&value["evidence"]),
        identity: identity.map(|(id, fingerprint)| Identity {
            id: id.to_owned(),
            fingerprint: fingerprint.to_owned(),
            key: text(&canonical["key"]),
        }),
    };
    // People edit the common keys, so those win over the canonical ones.
    if severity_word.is_some_and(|word| word != remark.severity_word()) {
        remark.severity = said;
    }
    if category_word.is_some_and(|word| word != remark.category_word()) {
        remark.category = about;
    }
    remark
}

fn compliance(value: &Value) -> Compliance {
    let mut criteria = Vec::new();
    for (key, word) in [("met", "yes"), ("unmet", "no"), ("unclear", "unclear")] {
        let lines = texts(&value["compliance"][key]);
        criteria.extend(lines.iter().map(|line| {
            let (id, rest) = line.split_once(": ").unwrap_or(("", line));
            let (text, evidence) = rest.split_once(BETWEEN).map_or((rest, None), |(text, said)| (text, Some(said)));
            (Criterion { id: id.to_owned(), text: text.to_owned() }, met(word, evidence.map(str::to_owned)))
        }));
    }
    criteria.sort_by_key(|(criterion, _)| criteria::number(&criterion.id).unwrap_or(u32::MAX));
    Compliance { criteria }
}

fn met(word: &str, evidence: Option<String>) -> Met {
    match word {
        "yes" => Met::Yes { evidence: evidence.unwrap_or_default() },
        "no" => Met::No { evidence: evidence.unwrap_or_default() },
        _ => Met::Unclear { evidence },
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).collect()
}
