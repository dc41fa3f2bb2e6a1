//! JSON values to a review, every rule of the format checked.
//!
//! Each violation is reported with its JSON pointer and the name of the rule,
//! then repaired so that reading can go on:
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
//! | `blocking-count`, `verdict`, `fingerprint`, `coverage` | what the findings say | computed |

use std::collections::HashSet;

use serde_json::Value;

use crate::coverage::{Coverage, Covered, Looked};
use crate::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use crate::fingerprint::Fingerprint;
use crate::path::{FilePath, RepoPath};
use crate::report::Content;
use crate::report::json::fields::{Fields, Reader, brief, strip_nul};
use crate::report::json::v1;
use crate::review::{Review, Withheld, WithheldFinding};
use crate::sha::Sha;
use crate::verdict::Verdict;

/// Reads a review, a finding or a list of findings; `None` when there is nothing to make of it.
pub(super) fn content(reader: &mut Reader, mut value: Value) -> Option<Content> {
    strip_nul(reader, "", &mut value);
    match value {
        Value::Array(list) => {
            let findings = list.into_iter().enumerate();
            let read = findings.filter_map(|(index, value)| finding(reader, format!("/{index}"), value));
            Some(Content::Findings(renumber(read.map(|(finding, _)| finding).collect()), Vec::new()))
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

fn renumber(mut findings: Vec<Finding>) -> Vec<Finding> {
    for (index, finding) in findings.iter_mut().enumerate() {
        finding.id = FindingId::at(index);
    }
    findings
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
    let findings = findings(reader, list);
    let said_verdict = fields.required_text(reader, "verdict");
    let said_count = blocking_count(reader, &mut fields);
    if !fields.has("re_review_required") {
        fields.missing(reader, "re_review_required");
    }
    let re_review_required = fields.truth(reader, "re_review_required").unwrap_or(false);
    let notes = fields.text(reader, "reviewer_notes");
    let title = fields.text(reader, "x_title");
    let compared = fields.text(reader, "x_compared");
    let coverage = fields.take("x_coverage").and_then(|value| coverage(reader, &mut fields, value));
    let withheld = withheld(reader, &mut fields);
    gate(reader, &fields);

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
        re_review_required,
        notes,
        extra,
    };
    check_count(reader, &review, said_count);
    check_verdict(reader, &review, said_verdict.as_deref());
    Some(review)
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

/// Reads a path; `None` when nothing is left of it.
fn path(reader: &mut Reader, at: &str, text: &str) -> Option<FilePath> {
    match FilePath::parse(text) {
        Ok(path) => Some(path),
        Err(error) => {
            reader.report(at, "file", &brief(&Value::String(text.to_owned())), error.to_string());
            let slashes = text.trim().replace('\\', "/");
            let some = slashes.chars().any(|character| !matches!(character, '/' | '.'));
            some.then(|| FilePath::of_repo_path(&RepoPath::from_bytes(slashes.as_bytes())))
        }
    }
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
                reader.report(&pointer, "unique-id", &id.to_string(), format!("`{id}` stands twice"));
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

/// Reads one finding and the id it says it has; `None` when it has no place.
fn finding(reader: &mut Reader, at: String, value: Value) -> Option<(Finding, Option<FindingId>)> {
    let mut fields = Fields::open(reader, at, value)?;
    let id = id(reader, &mut fields);
    let severity = severity(reader, &mut fields);
    let category = category(reader, &mut fields);
    let Some(location) = location(reader, &mut fields) else {
        reader.report(&fields.at, "refused", "", "this finding names no file and was left out");
        return None;
    };
    let (summary, whole) = summary(reader, &mut fields);
    let reason = reason(reader, &mut fields, severity, &summary, whole);
    let evidence = evidence(reader, &mut fields, &summary);
    let suggestion = fields.text(reader, "suggestion");
    let fix = fields.take("x_fix").and_then(|value| fix(reader, &mut fields, value));
    let origin = Origin {
        reviewer: fields.text(reader, "x_reviewer"),
        rule: fields.text(reader, "x_rule"),
        rule_url: fields.text(reader, "x_rule_url"),
    };
    let fingerprint = fields.text(reader, "x_fingerprint");
    if let Some(said) = fingerprint.filter(|said| *said != Fingerprint::new(&location.file, &summary).to_string()) {
        let message = "not the fingerprint of this file and summary";
        reader.report(&fields.pointer("x_fingerprint"), "fingerprint", &brief(&Value::String(said)), message);
    }
    let finding = Finding {
        id: id.unwrap_or(FindingId::at(0)),
        severity,
        category,
        location,
        summary,
        reason,
        evidence,
        suggestion,
        fix,
        origin,
        extra: fields.rest(),
    };
    Some((finding, id))
}

fn id(reader: &mut Reader, fields: &mut Fields) -> Option<FindingId> {
    let text = fields.required_text(reader, "id")?;
    let id = FindingId::parse(&text);
    if id.is_none() {
        let message = "expected `F` and at least three digits, counted from F001";
        reader.report(&fields.pointer("id"), "id", &brief(&Value::String(text)), message);
    }
    id
}

fn severity(reader: &mut Reader, fields: &mut Fields) -> Severity {
    let Some(text) = fields.required_text(reader, "severity") else { return Severity::Medium };
    if let Some(severity) = Severity::parse_exact(&text) {
        return severity;
    }
    let understood = Severity::parse_lenient(&text);
    let severity = understood.unwrap_or(Severity::Medium);
    let names = v1::SEVERITY.map(Severity::as_str).join(", ");
    let message = format!("expected one of {names}; read as {severity}");
    reader.report(&fields.pointer("severity"), "severity", &brief(&Value::String(text)), message);
    severity
}

fn category(reader: &mut Reader, fields: &mut Fields) -> Category {
    let text = fields.required_text(reader, "category");
    let canonical = fields.text(reader, "x_category");
    let mut category = Category::Logic;
    if let Some(text) = text {
        let exact = v1::categories().find(|category| category.as_str() == text);
        category = exact.or_else(|| Category::parse_lenient(&text)).unwrap_or(Category::Logic);
        if exact.is_none() {
            let names = v1::categories().map(Category::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("expected one of {names}; read as {category}");
            reader.report(&fields.pointer("category"), "category", &brief(&Value::String(text)), message);
        }
    }
    let Some(canonical) = canonical else { return category };
    match Category::parse_exact(&canonical) {
        Some(canonical) if canonical.in_schema() == category => canonical,
        other => {
            let message = format!("not a category that stands for {category}");
            reader.report(&fields.pointer("x_category"), "category", &brief(&Value::String(canonical)), message);
            other.unwrap_or(category)
        }
    }
}

fn location(reader: &mut Reader, fields: &mut Fields) -> Option<Location> {
    let Some(value) = fields.take("location") else {
        fields.missing(reader, "location");
        return flat_location(reader, fields);
    };
    if let Value::String(text) = &value {
        reader.wrong_type(&fields.pointer("location"), "an object", &value);
        return written_location(reader, &fields.pointer("location"), text);
    }
    let mut inner = Fields::open(reader, fields.pointer("location"), value)?;
    let file = inner.required_text(reader, "file")?;
    let file = path(reader, &inner.pointer("file"), &file)?;
    let lines = lines(reader, &mut inner);
    let side = side(reader, &mut inner);
    fields.keep("location", inner);
    Some(Location { file, lines, side })
}

/// Finds the place of a finding that has `file` and `line` beside the other fields.
fn flat_location(reader: &mut Reader, fields: &mut Fields) -> Option<Location> {
    let key = ["file", "path", "filename"].into_iter().find(|key| fields.has(key))?;
    let text = fields.text(reader, key)?;
    let file = path(reader, &fields.pointer(key), &text)?;
    let mut number = |keys: [&str; 3]| {
        let key = keys.into_iter().find(|key| fields.has(key))?;
        u32::try_from(fields.count(reader, key)?).ok()
    };
    let start = number(["line_start", "line", "start_line"]).unwrap_or(1);
    let end = number(["line_end", "end_line", "endLine"]).unwrap_or(start);
    let lines = LineRange::new(start, end).unwrap_or_else(|| LineRange::line(start));
    Some(Location { file, lines, side: side(reader, fields) })
}

/// Reads `src/a.rs:12-14`.
fn written_location(reader: &mut Reader, at: &str, text: &str) -> Option<Location> {
    let (file, lines) = match text.rsplit_once(':') {
        Some((file, lines)) => (file, line_range(lines).unwrap_or_else(|| LineRange::line(1))),
        None => (text, LineRange::line(1)),
    };
    Some(Location { file: path(reader, at, file)?, lines, side: Side::Right })
}

/// Reads `12` or `12-14`.
fn line_range(text: &str) -> Option<LineRange> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    LineRange::new(start.trim().parse().ok()?, end.trim().parse().ok()?)
}

fn lines(reader: &mut Reader, fields: &mut Fields) -> LineRange {
    if !fields.has("line_start") {
        fields.missing(reader, "line_start");
    }
    let start = line_number(reader, fields, "line_start", "line-start").unwrap_or(1);
    let end = line_number(reader, fields, "line_end", "line-end").unwrap_or(start);
    LineRange::new(start, end).unwrap_or_else(|| {
        let message = format!("`line_end` must not be less than `line_start`, which is {start}");
        reader.report(&fields.pointer("line_end"), "line-end", &end.to_string(), message);
        LineRange::new(end, start).unwrap_or_else(|| LineRange::line(start))
    })
}

fn line_number(reader: &mut Reader, fields: &mut Fields, key: &str, rule: &'static str) -> Option<u32> {
    let count = fields.count(reader, key)?;
    match u32::try_from(count) {
        Ok(number) if number >= 1 => Some(number),
        _ => {
            reader.report(&fields.pointer(key), rule, &count.to_string(), "lines are counted from 1");
            None
        }
    }
}

fn side(reader: &mut Reader, fields: &mut Fields) -> Side {
    let Some(text) = fields.text(reader, "side") else { return Side::Right };
    match text.as_str() {
        "LEFT" => return Side::Left,
        "RIGHT" => return Side::Right,
        _ => {}
    }
    let message = "expected LEFT or RIGHT";
    reader.report(&fields.pointer("side"), "side", &brief(&Value::String(text.clone())), message);
    match text.trim().to_ascii_lowercase().as_str() {
        "left" | "old" | "base" | "before" => Side::Left,
        _ => Side::Right,
    }
}

/// Reads the summary and, if it had to be shortened, the whole.
fn summary(reader: &mut Reader, fields: &mut Fields) -> (Summary, Option<String>) {
    let mut text = fields.required_text(reader, "summary");
    if text.is_none() {
        text = ["title", "message"].into_iter().find_map(|key| fields.text(reader, key));
    }
    let Some(text) = text else { return Summary::shorten("") };
    Summary::parse(&text).map(|summary| (summary, None)).unwrap_or_else(|error| {
        reader.report(&fields.pointer("summary"), "summary", &brief(&Value::String(text.clone())), error.to_string());
        Summary::shorten(&text)
    })
}

fn reason(
    reader: &mut Reader,
    fields: &mut Fields,
    severity: Severity,
    summary: &Summary,
    whole: Option<String>,
) -> Option<String> {
    let said = fields.text(reader, "reason");
    let mut reason = match (whole, said) {
        (Some(whole), Some(said)) if !said.trim().is_empty() => Some(format!("{whole}\n\n{said}")),
        (Some(whole), _) => Some(whole),
        (None, said) => said,
    };
    if severity.blocks() && reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        let message = format!("a {severity} finding needs a reason");
        reader.report(&fields.pointer("reason"), "reason", "", message);
        let described = fields.text(reader, "description").filter(|text| !text.trim().is_empty());
        reason = described.or_else(|| Some(summary.as_str().to_owned()));
    }
    reason
}

fn evidence(reader: &mut Reader, fields: &mut Fields, summary: &Summary) -> String {
    let present = fields.has("evidence");
    let evidence = fields.required_text(reader, "evidence").filter(|text| !text.trim().is_empty());
    evidence.unwrap_or_else(|| {
        if present {
            reader.report(&fields.pointer("evidence"), "evidence", "\"\"", "evidence must not be empty");
        }
        summary.as_str().to_owned()
    })
}

fn fix(reader: &mut Reader, fields: &mut Fields, value: Value) -> Option<Fix> {
    let mut inner = Fields::open(reader, fields.pointer("x_fix"), value)?;
    let lines = lines(reader, &mut inner);
    let replacement = inner.required_text(reader, "replacement")?;
    fields.keep("x_fix", inner);
    Some(Fix { lines, replacement })
}

/// What a document says about its blockers.
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
        let message = format!("the findings and the coverage say {}", verdict.as_str());
        reader.report("/verdict", "verdict", &brief(&Value::String(said.to_owned())), message);
    }
}

fn coverage(reader: &mut Reader, fields: &mut Fields, value: Value) -> Option<Coverage> {
    let mut inner = Fields::open(reader, fields.pointer("x_coverage"), value)?;
    let complete = inner.truth(reader, "complete");
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
    // A document that says it is partial is believed even if its list does not show it.
    if coverage.is_complete() && (complete == Some(false) || said[2].is_some_and(|count| count > 0)) {
        let looked = Looked::NotReviewed("said to be not reviewed, without saying which lines".to_owned());
        let file = FilePath::of_repo_path(&RepoPath::from_bytes(b"(unknown)"));
        coverage.hunks.push(Covered { file, lines: None, looked });
    }
    fields.keep("x_coverage", inner);
    Some(coverage)
}

fn covered(reader: &mut Reader, at: String, value: Value) -> Option<Covered> {
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
    let looked = match (v1::STATE.iter().position(|word| *word == state), reason) {
        (Some(0), None) => Looked::Reviewed,
        (Some(1), Some(reason)) => Looked::Skipped(reason),
        (Some(2), Some(reason)) => Looked::NotReviewed(reason),
        (known, reason) => {
            let message = "expected `reviewed` without a reason, or `skipped` or `not_reviewed` with one";
            reader.report(&fields.pointer("state"), "coverage", &brief(&Value::String(state)), message);
            match known {
                Some(0) => Looked::Reviewed,
                Some(1) => Looked::Skipped(reason.unwrap_or_default()),
                // What is not understood was not reviewed: the gate fails closed.
                _ => Looked::NotReviewed(reason.unwrap_or_default()),
            }
        }
    };
    fields.close(reader);
    Some(Covered { file, lines, looked })
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
    let why = match (known, by, reason) {
        (Some(0), Some(by), reason) => Withheld::Suppressed { by, reason },
        (Some(1), None, None) => Withheld::OutsideChange,
        (Some(2), None, Some(reason)) => Withheld::Unverified(reason),
        (Some(3), None, None) => Withheld::BelowFloor,
        (known, by, reason) => {
            let message = format!("expected one of {} with the fields that belong to it", v1::WHY.join(", "));
            reader.report(&fields.pointer("why"), "withheld", &brief(&Value::String(why)), message);
            match known {
                Some(0) => Withheld::Suppressed { by: by.unwrap_or_default(), reason },
                Some(1) => Withheld::OutsideChange,
                Some(3) => Withheld::BelowFloor,
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

/// The gate's word stays where it is, among the fields that are written again.
fn gate(reader: &mut Reader, fields: &Fields) {
    let Some(value) = fields.peek("x_gate") else { return };
    if !value.as_str().is_some_and(|word| v1::GATE.contains(&word)) {
        let message = format!("expected one of {}", v1::GATE.join(", "));
        reader.report(&fields.pointer("x_gate"), "gate", &brief(value), message);
    }
}
