//! Validates JSON and converts it to a review.
//!
//! Each violation is reported with its JSON pointer and rule, then repaired so that reading can continue:
//!
//! | rule | demands | repaired to |
//! |---|---|---|
//! | `required`, `type` | the field, with its type | a default, or the finding is refused |
//! | `id`, `unique-id`, `id-order` | F001, F002, … in order | renumbered |
//! | `severity`, `category`, `side` | the exact word | a synonym, else Medium, Logic, RIGHT |
//! | `file` | a path inside the repository | the nearest such path |
//! | `line-start`, `line-end` | `1 <= start <= end` | 1, or the ends exchanged |
//! | `summary` | one line, at most 80 characters | shortened, the whole in front of the reason |
//! | `reason`, `evidence` | not empty where required | the summary |
//! | `sha` | 40 or 64 hex digits | all zeros |
//! | `blocking-count`, `verdict`, `fingerprint`, `coverage` | the computed value | computed |

mod finding;

use std::collections::HashSet;

use serde_json::Value;

use crate::coverage::{Coverage, CoveredHunk, HunkStatus};
use crate::finding::{Category, Finding, FindingId};
use crate::gate::Gate;
use crate::path::{FilePath, RepoPath};
use crate::report::json::check::finding::{finding, line_range, path};
use crate::report::json::fields::{Fields, Reader, brief, strip_nul};
use crate::report::json::v1;
use crate::report::{Content, import};
use crate::review::{Doubt, DoubtKind, Review, Suppressor, Withheld, WithheldFinding};
use crate::sha::Sha;
use crate::verdict::Verdict;

/// Reads a review, a finding or a list of findings; `None` when it is neither.
pub(super) fn content(reader: &mut Reader, mut value: Value) -> Option<Content> {
    strip_nul(reader, "", &mut value);
    match value {
        Value::Array(list) => {
            let findings = list.into_iter().enumerate();
            let read = findings.filter_map(|(index, value)| finding(reader, format!("/{index}"), value));
            Some(Content::Findings(import::numbered(read.map(|(finding, _)| finding).collect()), Vec::new()))
        }
        Value::Object(map) if !map.contains_key("findings") && is_finding(&map) => {
            let (finding, _) = finding(reader, String::new(), Value::Object(map))?;
            Some(Content::Findings(vec![finding], Vec::new()))
        }
        other => review(reader, other).map(|review| Content::Review(Box::new(review))),
    }
}

fn is_finding(map: &serde_json::Map<String, Value>) -> bool {
    ["severity", "location", "summary", "evidence"].iter().filter(|key| map.contains_key(**key)).count() >= 2
}

fn review(reader: &mut Reader, value: Value) -> Option<Review> {
    let mut fields = Fields::open(reader, String::new(), value)?;
    let reviewed = sha(reader, &mut fields, "reviewed_sha");
    let base = sha(reader, &mut fields, "base_sha");
    let files_reviewed = files(reader, &mut fields);
    if !fields.has("findings") {
        fields.missing(reader, "findings");
        return None;
    }
    let list = fields.list(reader, "findings")?;
    let n_listed = list.len();
    let findings = findings(reader, list);
    let said_verdict = fields.required_text(reader, "verdict");
    let said_count = blocking_count(reader, &mut fields);
    if !fields.has("re_review_required") {
        fields.missing(reader, "re_review_required");
    }
    let re_review_required = fields.boolean(reader, "re_review_required").unwrap_or(false);
    let notes = fields.text(reader, "reviewer_notes");
    let title = fields.text(reader, "x_title");
    let compared = fields.text(reader, "x_compared");
    let coverage = fields.take("x_coverage").and_then(|value| coverage(reader, &mut fields, value));
    let withheld = withheld(reader, &mut fields);
    let mut doubts = doubts(reader, &mut fields);
    let said_blocking = said_verdict.as_deref() == Some(Verdict::ChangesRequested.as_str())
        || [said_count.critical, said_count.high].iter().flatten().any(|count| *count > 0);
    doubts.extend(lost(n_listed - findings.len(), said_blocking, &findings));
    gate(reader, &mut fields);

    let files_reviewed = files_reviewed.unwrap_or_else(|| {
        let mut files: Vec<_> = findings.iter().map(|finding| finding.location.file.clone()).collect();
        files.sort();
        files.dedup();
        files
    });
    let extra = fields.rest();
    let review = Review {
        title,
        reviewed,
        base,
        compared,
        files_reviewed,
        findings,
        withheld,
        coverage,
        doubts,
        re_review_required,
        notes,
        extra,
    };
    check_count(reader, &review, said_count);
    check_verdict(reader, &review, said_verdict.as_deref());
    Some(review)
}

/// The doubt about a review whose findings could not all be read, or do not explain its blocking verdict: lenient reading
/// must not turn a rejection into an approval.
fn lost(n_refused: usize, said_blocking: bool, findings: &[Finding]) -> Option<Doubt> {
    let has_blocker = findings.iter().any(|finding| finding.severity.blocks());
    let (kind, reason) = match n_refused {
        0 if said_blocking && !has_blocker => {
            (DoubtKind::Rejection, "asks for changes, and no blocking finding could be read".to_owned())
        }
        0 => return None,
        1 => (DoubtKind::Answer, "has a finding that could not be read".to_owned()),
        n_refused => (DoubtKind::Answer, format!("has {n_refused} findings that could not be read")),
    };
    Some(Doubt { kind, reviewer: "the document".to_owned(), reason })
}

fn sha(reader: &mut Reader, fields: &mut Fields, key: &str) -> Sha {
    let Some(text) = fields.required_text(reader, key) else { return Sha::null() };
    Sha::parse(&text).unwrap_or_else(|error| {
        let message = "expected 40 or 64 hex digits";
        reader.report(&fields.pointer(key), "sha", &brief(&Value::String(error.found)), message);
        Sha::null()
    })
}

fn files(reader: &mut Reader, fields: &mut Fields) -> Option<Vec<FilePath>> {
    if !fields.has("files_reviewed") {
        fields.missing(reader, "files_reviewed");
    }
    let list = fields.list(reader, "files_reviewed")?;
    let at = fields.pointer("files_reviewed");
    let mut files = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let at = format!("{at}/{index}");
        match value {
            Value::String(text) => files.extend(path(reader, &at, &text)),
            other => reader.wrong_type(&at, "a string", &other),
        }
    }
    Some(files)
}

fn findings(reader: &mut Reader, list: Vec<Value>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let mut findings = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let at = format!("/findings/{index}");
        let Some((mut finding, id)) = finding(reader, at.clone(), value) else { continue };
        let (expected, kept) = (FindingId::at(index), FindingId::at(findings.len()));
        let pointer = format!("{at}/id");
        match id {
            Some(id) if !seen.insert(id) => {
                reader.report(&pointer, "unique-id", &id.to_string(), format!("duplicate id `{id}`"));
            }
            Some(id) if id != expected => {
                let message = format!("expected `{expected}`, ids count up from F001");
                reader.report(&pointer, "id-order", &id.to_string(), message);
            }
            Some(id) if id != kept => {
                let message = format!("now `{kept}`, because a finding before it was left out");
                reader.report(&pointer, "renumbered", &id.to_string(), message);
            }
            _ => {}
        }
        finding.id = kept;
        findings.push(finding);
    }
    findings
}

/// The blocking count of a document.
struct SaidCount {
    critical: Option<u64>,
    high: Option<u64>,
}

fn blocking_count(reader: &mut Reader, fields: &mut Fields) -> SaidCount {
    let nothing = SaidCount { critical: None, high: None };
    let Some(value) = fields.take("blocking_count") else {
        fields.missing(reader, "blocking_count");
        return nothing;
    };
    let Some(mut inner) = Fields::open(reader, fields.pointer("blocking_count"), value) else { return nothing };
    let mut count = |key| {
        if !inner.has(key) {
            inner.missing(reader, key);
        }
        inner.count(reader, key)
    };
    let said = SaidCount { critical: count("critical"), high: count("high") };
    fields.keep("blocking_count", inner);
    said
}

fn check_count(reader: &mut Reader, review: &Review, said: SaidCount) {
    let count = review.blocking_count();
    for (key, said, real) in [("critical", said.critical, count.critical), ("high", said.high, count.high)] {
        let Some(said) = said.filter(|said| *said != real as u64) else { continue };
        let message = format!("the findings count {real}");
        reader.report(&format!("/blocking_count/{key}"), "blocking-count", &said.to_string(), message);
    }
}

fn check_verdict(reader: &mut Reader, review: &Review, said: Option<&str>) {
    let Some(said) = said else { return };
    let verdict = review.verdict();
    if Verdict::parse(said) != Some(verdict) {
        let message = format!("the findings, the coverage and the doubts say {}", verdict.as_str());
        reader.report("/verdict", "verdict", &brief(&Value::String(said.to_owned())), message);
    }
}

fn coverage(reader: &mut Reader, fields: &mut Fields, value: Value) -> Option<Coverage> {
    let mut inner = Fields::open(reader, fields.pointer("x_coverage"), value)?;
    let complete = inner.boolean(reader, "complete");
    let said = ["reviewed", "skipped", "not_reviewed"].map(|key| inner.count(reader, key));
    if !inner.has("hunks") {
        inner.missing(reader, "hunks");
    }
    let list = inner.list(reader, "hunks").unwrap_or_default();
    let at = inner.pointer("hunks");
    let hunks = list.into_iter().enumerate();
    let hunks = hunks.filter_map(|(index, value)| covered(reader, format!("{at}/{index}"), value)).collect();
    let mut coverage = Coverage { hunks };
    let count = coverage.count();
    let real = [count.reviewed, count.skipped, count.not_reviewed];
    let equal = said.iter().zip(real).all(|(said, real)| *said == Some(real as u64));
    if !equal || complete != Some(coverage.is_complete()) {
        let message = format!("the hunks count {} reviewed, {} skipped, {} not reviewed", real[0], real[1], real[2]);
        reader.report(&inner.at, "coverage", "", message);
    }
    // A document that declares itself partial is believed even if its list is complete.
    if coverage.is_complete() && (complete == Some(false) || said[2].is_some_and(|count| count > 0)) {
        let status = HunkStatus::NotReviewed("said to be not reviewed, without saying which lines".to_owned());
        let file = FilePath::of_repo_path(&RepoPath::from_bytes(b"(unknown)"));
        coverage.hunks.push(CoveredHunk { file, lines: None, status });
    }
    fields.keep("x_coverage", inner);
    Some(coverage)
}

fn covered(reader: &mut Reader, at: String, value: Value) -> Option<CoveredHunk> {
    let mut fields = Fields::open(reader, at, value)?;
    let file = fields.required_text(reader, "file");
    let file = file.and_then(|text| path(reader, &fields.pointer("file"), &text));
    let file = file.unwrap_or_else(|| FilePath::of_repo_path(&RepoPath::from_bytes(b"(unknown)")));
    let lines = fields.text(reader, "lines").and_then(|text| {
        let range = line_range(&text);
        if range.is_none() {
            reader.report(&fields.pointer("lines"), "lines", &brief(&Value::String(text)), "expected `12` or `12-15`");
        }
        range
    });
    let state = fields.required_text(reader, "state").unwrap_or_default();
    let reason = fields.text(reader, "reason");
    let status = match (v1::STATE.iter().position(|word| *word == state), reason) {
        (Some(0), None) => HunkStatus::Reviewed,
        (Some(1), Some(reason)) => HunkStatus::Skipped(reason),
        (Some(2), Some(reason)) => HunkStatus::NotReviewed(reason),
        (known, reason) => {
            let message = "expected `reviewed` without a reason, or `skipped` or `not_reviewed` with one";
            reader.report(&fields.pointer("state"), "coverage", &brief(&Value::String(state)), message);
            match known {
                Some(0) => HunkStatus::Reviewed,
                Some(1) => HunkStatus::Skipped(reason.unwrap_or_default()),
                // An unknown state counts as not reviewed: the gate fails closed.
                _ => HunkStatus::NotReviewed(reason.unwrap_or_default()),
            }
        }
    };
    fields.close(reader);
    Some(CoveredHunk { file, lines, status })
}

fn withheld(reader: &mut Reader, fields: &mut Fields) -> Vec<WithheldFinding> {
    let list = fields.list(reader, "x_withheld").unwrap_or_default();
    let entries = list.into_iter().enumerate();
    entries.filter_map(|(index, value)| withheld_finding(reader, index, value)).collect()
}

fn withheld_finding(reader: &mut Reader, index: usize, value: Value) -> Option<WithheldFinding> {
    let mut fields = Fields::open(reader, format!("/x_withheld/{index}"), value)?;
    let why = fields.required_text(reader, "why").unwrap_or_default();
    let (by, reason) = (fields.text(reader, "by"), fields.text(reader, "reason"));
    let known = v1::WHY.iter().position(|word| *word == why);
    let kind = if known == Some(0) { suppressor(reader, &mut fields, by.as_deref()) } else { Suppressor::Tool };
    // With other reasons these are unknown fields.
    let voices = if known == Some(6) { voices(reader, &mut fields) } else { None };
    let why = match (known, by, reason) {
        (Some(0), Some(by), reason) => Withheld::Suppressed { by, reason, kind },
        (Some(1), None, None) => Withheld::OutsideChange,
        (Some(2), None, Some(reason)) => Withheld::Unverified(reason),
        (Some(3), None, None) => Withheld::BelowFloor,
        (Some(4), None, Some(area)) if Category::parse_exact(&area).is_some() => ignored_area(&area),
        (Some(5), None, Some(reason)) => Withheld::HeldBack(reason),
        (Some(6), None, None) if voices.is_some() => no_consensus(voices),
        (known, by, reason) => {
            let message = format!("expected one of {} with the fields that belong to it", v1::WHY.join(", "));
            reader.report(&fields.pointer("why"), "withheld", &brief(&Value::String(why)), message);
            match known {
                Some(0) => Withheld::Suppressed { by: by.unwrap_or_default(), reason, kind },
                Some(1) => Withheld::OutsideChange,
                Some(3) => Withheld::BelowFloor,
                Some(4) => ignored_area(reason.as_deref().unwrap_or_default()),
                Some(5) => Withheld::HeldBack(reason.unwrap_or_default()),
                Some(6) => no_consensus(voices),
                _ => Withheld::Unverified(reason.unwrap_or_default()),
            }
        }
    };
    let Some(value) = fields.take("finding") else {
        fields.missing(reader, "finding");
        return None;
    };
    let (mut finding, id) = finding(reader, fields.pointer("finding"), value)?;
    finding.id = id.unwrap_or_else(|| FindingId::at(index));
    fields.close(reader);
    Some(WithheldFinding { finding, why })
}

/// The kind of a suppression; without one, as in reviews of earlier versions, its words tell it.
fn suppressor(reader: &mut Reader, fields: &mut Fields, by: Option<&str>) -> Suppressor {
    let Some(kind) = fields.text(reader, "kind") else { return Suppressor::of_words(by.unwrap_or_default()) };
    match v1::KIND.iter().position(|word| *word == kind) {
        Some(0) => Suppressor::Comment,
        Some(1) => Suppressor::Configuration,
        Some(2) => {
            let (who, at) = (fields.text(reader, "who"), fields.text(reader, "at"));
            let scope = fields.text(reader, "scope").unwrap_or_default();
            if !v1::SCOPE.contains(&scope.as_str()) {
                let message = format!("expected one of {}", v1::SCOPE.join(", "));
                reader.report(&fields.pointer("scope"), "scope", &brief(&Value::String(scope.clone())), message);
            }
            Suppressor::Dismissal { who, at, everywhere: scope == v1::SCOPE[1] }
        }
        Some(_) => Suppressor::Tool,
        None => {
            let message = format!("expected one of {}", v1::KIND.join(", "));
            reader.report(&fields.pointer("kind"), "kind", &brief(&Value::String(kind)), message);
            Suppressor::of_words(by.unwrap_or_default())
        }
    }
}

fn doubts(reader: &mut Reader, fields: &mut Fields) -> Vec<Doubt> {
    let list = fields.list(reader, "x_doubts").unwrap_or_default();
    let entries = list.into_iter().enumerate();
    entries.filter_map(|(index, value)| doubt(reader, index, value)).collect()
}

fn doubt(reader: &mut Reader, index: usize, value: Value) -> Option<Doubt> {
    let mut fields = Fields::open(reader, format!("/x_doubts/{index}"), value)?;
    let kind = fields.required_text(reader, "kind").unwrap_or_default();
    let reviewer = fields.required_text(reader, "reviewer").unwrap_or_default();
    let reason = fields.required_text(reader, "reason").unwrap_or_default();
    let kind = DoubtKind::parse(&kind).unwrap_or_else(|| {
        let message = format!("expected one of {}", DoubtKind::ALL.map(DoubtKind::as_str).join(", "));
        reader.report(&fields.pointer("kind"), "doubt", &brief(&Value::String(kind)), message);
        DoubtKind::Answer
    });
    fields.close(reader);
    Some(Doubt { kind, reviewer, reason })
}

fn voices(reader: &mut Reader, fields: &mut Fields) -> Option<(usize, usize)> {
    let mut count = |key| fields.count(reader, key).and_then(|count| usize::try_from(count).ok());
    count("voices").zip(count("needed"))
}

fn no_consensus(voices: Option<(usize, usize)>) -> Withheld {
    let (voices, needed) = voices.unwrap_or((1, 2));
    Withheld::NoConsensus { voices, needed }
}

fn ignored_area(word: &str) -> Withheld {
    Withheld::IgnoredArea(Category::parse_lenient(word).unwrap_or(Category::Style))
}

/// Keeps a valid `x_gate` among the unknown fields and removes an invalid one.
fn gate(reader: &mut Reader, fields: &mut Fields) {
    let known = |value: &Value| value.as_str().and_then(Gate::parse).is_some();
    if fields.peek("x_gate").is_none_or(known) {
        return;
    }
    if let Some(value) = fields.take("x_gate") {
        let message = format!("expected one of {}", Gate::ALL.map(Gate::as_str).join(", "));
        reader.report(&fields.pointer("x_gate"), "gate", &brief(&value), message);
    }
}
