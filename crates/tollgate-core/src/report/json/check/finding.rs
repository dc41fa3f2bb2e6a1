//! Validates JSON and converts it to a finding.

use serde_json::Value;

use crate::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use crate::fingerprint::Fingerprint;
use crate::path::{FilePath, RepoPath};
use crate::report::json::fields::{Fields, Reader, brief};
use crate::report::json::v1;

/// Reads a finding and its id; `None` when it names no file.
pub(super) fn finding(reader: &mut Reader, at: String, value: Value) -> Option<(Finding, Option<FindingId>)> {
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
    let names = Severity::ALL.map(Severity::as_str).join(", ");
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

/// Reads the location of a finding with flat `file` and `line` fields.
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
pub(super) fn line_range(text: &str) -> Option<LineRange> {
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

/// Reads the summary and, if it was truncated, the whole.
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

/// Reads a path; `None` when it names no file.
pub(super) fn path(reader: &mut Reader, at: &str, text: &str) -> Option<FilePath> {
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
