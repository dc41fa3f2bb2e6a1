//! Reads and writes rdjson and rdjsonl, the formats of reviewdog.
//!
//! ```json
//! {
//!   "source": { "name": "tollgate" },
//!   "diagnostics": [{
//!     "message": "Unhandled promise rejection",
//!     "location": { "path": "src/a.ts", "range": { "start": { "line": 42 }, "end": { "line": 45 } } },
//!     "severity": "ERROR",
//!     "code": { "value": "unhandled-rejection" },
//!     "suggestions": [{ "range": { "start": { "line": 42 }, "end": { "line": 42 } }, "text": "…" }]
//!   }]
//! }
//! ```
//!
//! rdjsonl has one diagnostic a line. Lines and columns count from 1, columns in bytes with the end exclusive; without
//! columns whole lines are meant. There is no side: a finding on removed lines names its file only, so that reviewdog
//! does not show it at an unrelated line. Praise and withheld findings are left out, except that blockers which do not
//! count are `INFO` with the reason. A review that is not complete has one `WARNING` that says why.

use serde_json::{Map, Value, json};

use crate::coverage::HunkStatus;
use crate::finding::{Category, Finding, Fix, LineRange, Origin, Severity, Side};
use crate::report::caveats;
use crate::report::import::{self, ToolFinding};
use crate::report::json::fields::Reader;
use crate::report::json::parse;
use crate::report::{Content, InputPosition, Problem, Read, ReadError, Strictness};
use crate::review::{Review, WithheldFinding};

/// Writes a review as rdjson, indented, with a line break at the end.
#[must_use]
pub fn write(review: &Review) -> String {
    let diagnostics = diagnostics(review);
    format!("{:#}\n", json!({ "source": { "name": "tollgate" }, "diagnostics": diagnostics }))
}

/// Writes a review as rdjsonl: one diagnostic a line.
#[must_use]
pub fn write_lines(review: &Review) -> String {
    diagnostics(review).iter().map(|diagnostic| format!("{diagnostic}\n")).collect()
}

/// Reads rdjson. Absolute paths are made relative to `root`.
pub fn read(bytes: &[u8], strictness: Strictness, root: Option<&str>) -> Result<Read, ReadError> {
    let (document, problems) = parse::parse(bytes)?;
    let mut reader = Reader::new(problems);
    let Some(diagnostics) = document["diagnostics"].as_array() else {
        let place = InputPosition::Pointer("/diagnostics".to_owned());
        return Err(ReadError::one(place, "required", "", "rdjson has a list of `diagnostics`"));
    };
    let roots: Vec<String> = root.map(str::to_owned).into_iter().collect();
    let findings = diagnostics
        .iter()
        .enumerate()
        .filter_map(|(index, value)| finding(&mut reader, &format!("/diagnostics/{index}"), value, &document, &roots));
    let findings = import::numbered(findings.collect());
    finish(findings, reader.into_problems(), strictness)
}

/// Reads rdjsonl. Absolute paths are made relative to `root`.
pub fn read_lines(bytes: &[u8], strictness: Strictness, root: Option<&str>) -> Result<Read, ReadError> {
    let roots: Vec<String> = root.map(str::to_owned).into_iter().collect();
    let (mut findings, mut problems) = (Vec::new(), Vec::new());
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let found = match parse::parse(line) {
            Ok((value, doubles)) => {
                let mut reader = Reader::new(doubles);
                findings.extend(finding(&mut reader, "", &value, &Value::Null, &roots));
                reader.into_problems()
            }
            Err(error) => error.problems,
        };
        problems.extend(found.into_iter().take(500).map(|problem| on_line(index + 1, problem)));
        if problems.len() > 1000 {
            let message = "too many broken lines".to_owned();
            problems.push(Problem {
                place: InputPosition::Line(index + 1),
                rule: "more",
                found: String::new(),
                message,
            });
            break;
        }
    }
    finish(import::numbered(findings), problems, strictness)
}

fn on_line(number: usize, problem: Problem) -> Problem {
    let place = match problem.place {
        InputPosition::Pointer(pointer) if !pointer.is_empty() => InputPosition::LinePointer(number, pointer),
        _ => InputPosition::Line(number),
    };
    Problem { place, ..problem }
}

fn finish(findings: Vec<Finding>, notes: Vec<Problem>, strictness: Strictness) -> Result<Read, ReadError> {
    let broken = findings.is_empty() || strictness == Strictness::Strict;
    if broken && !notes.is_empty() {
        return Err(ReadError { problems: notes });
    }
    Ok(Read { content: Content::Findings(findings, Vec::new()), notes })
}

fn diagnostics(review: &Review) -> Vec<Value> {
    let shown = review.findings.iter().filter(|finding| finding.severity != Severity::Praise);
    shown.map(diagnostic).chain(review.uncounted_blockers().map(not_counted)).chain(incomplete(review)).collect()
}

/// A blocker that does not count, with the reason.
fn not_counted(held: &WithheldFinding) -> Value {
    let mut diagnostic = diagnostic(&Finding { fix: None, ..held.finding.clone() });
    let message = diagnostic["message"].as_str().unwrap_or_default();
    let severity = held.finding.severity;
    diagnostic["message"] = json!(format!("Not counted, {}: {severity}: {message}", caveats::why_not_counted(held)));
    diagnostic["severity"] = json!("INFO");
    diagnostic
}

/// One diagnostic with all that makes the review incomplete. The format wants a file: the first that is concerned.
fn incomplete(review: &Review) -> Option<Value> {
    let reasons = caveats::incomplete(review);
    let hunks = || review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    let missing = hunks().find(|covered| matches!(covered.status, HunkStatus::NotReviewed(_)));
    let claimed = || review.unverified_blockers().next().map(|held| &held.finding.location.file);
    let any = || hunks().next().map(|covered| &covered.file).or_else(|| review.files_reviewed.first());
    let file = missing.map(|covered| &covered.file).or_else(claimed).or_else(any)?;
    (!reasons.is_empty()).then(|| {
        json!({
            "message": format!("The review is not complete\n\n{}", reasons.join("\n")),
            "location": { "path": file.as_str() },
            "severity": "WARNING",
            "source": { "name": "tollgate" },
        })
    })
}

fn diagnostic(finding: &Finding) -> Value {
    let mut message = finding.summary.to_string();
    if let Some(reason) = finding.reason.as_deref().filter(|reason| !reason.trim().is_empty()) {
        message.push_str(&format!("\n\n{reason}"));
    }
    let location = &finding.location;
    let mut place = json!({ "path": location.file.as_str() });
    match location.side {
        Side::Right => place["range"] = range(location.lines),
        Side::Left => message.push_str(&format!("\n\n(removed, was line {})", location.lines)),
    }
    let mut diagnostic = json!({ "message": message, "location": place, "severity": severity(finding.severity) });
    let origin = &finding.origin;
    let reviewer = origin.reviewer.as_deref().filter(|reviewer| !reviewer.is_empty());
    diagnostic["source"] = json!({ "name": reviewer.unwrap_or("tollgate") });
    if let Some(rule) = origin.rule.as_deref().filter(|rule| !rule.is_empty()) {
        let mut code = Map::new();
        code.insert("value".to_owned(), json!(rule));
        code.extend(origin.rule_url.as_deref().map(|url| ("url".to_owned(), json!(url))));
        diagnostic["code"] = Value::Object(code);
    }
    if let Some(fix) = finding.fix.as_ref().filter(|_| location.side == Side::Right) {
        diagnostic["suggestions"] = json!([{ "range": range(fix.lines), "text": fix.replacement }]);
    }
    diagnostic
}

fn range(lines: LineRange) -> Value {
    json!({ "start": { "line": lines.start() }, "end": { "line": lines.end() } })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "ERROR",
        Severity::Medium => "WARNING",
        Severity::Low | Severity::Nit | Severity::Praise => "INFO",
    }
}

fn finding(reader: &mut Reader, at: &str, value: &Value, result: &Value, roots: &[String]) -> Option<Finding> {
    let location = &value["location"];
    let message = value["message"].as_str().unwrap_or_default();
    let Some(path) = location["path"].as_str().filter(|path| !path.is_empty()) else {
        reader.report(at, "no-location", message, "this diagnostic names no file and was left out");
        return None;
    };
    if message.trim().is_empty() {
        reader.report(at, "message", "", "this diagnostic says nothing");
    }
    let file = import::relative(reader, &format!("{at}/location/path"), path, roots)?;
    let (start, end) = lines(&location["range"]).unwrap_or((1, 1));
    let severity = read_severity(&value["severity"]).or_else(|| read_severity(&result["severity"]));
    let original = value["original_output"].as_str().or_else(|| value["originalOutput"].as_str());
    let source = value["source"]["name"].as_str().or_else(|| result["source"]["name"].as_str());
    let (fix, suggestion) = fix(&value["suggestions"]);
    let remark = ToolFinding {
        severity: severity.unwrap_or(Severity::Medium),
        category: Category::Logic,
        location: import::place(file, start, end),
        message: message.to_owned(),
        explanation: None,
        evidence: original.map(str::to_owned),
        suggestion,
        fix,
        origin: Origin {
            reviewer: source.map(str::to_owned),
            rule: value["code"]["value"].as_str().map(str::to_owned),
            rule_url: value["code"]["url"].as_str().map(str::to_owned),
        },
    };
    Some(remark.into_finding())
}

/// Reads a severity, by name or by its number in the protocol.
fn read_severity(value: &Value) -> Option<Severity> {
    match (value.as_str(), value.as_u64()) {
        (Some("ERROR"), _) | (_, Some(1)) => Some(Severity::High),
        (Some("WARNING"), _) | (_, Some(2)) => Some(Severity::Medium),
        (Some("INFO"), _) | (_, Some(3)) => Some(Severity::Low),
        (Some("UNKNOWN_SEVERITY"), _) => None,
        (Some(word), _) => Severity::parse_lenient(word),
        _ => None,
    }
}

fn lines(range: &Value) -> Option<(u64, u64)> {
    let start = range["start"]["line"].as_u64().filter(|line| *line > 0)?;
    let end = range["end"]["line"].as_u64().filter(|line| *line >= start).unwrap_or(start);
    // The end column is exclusive: before the first character means the line above.
    let empty_tail = end > start && range["end"]["column"].as_u64() == Some(1);
    Some((start, if empty_tail { end - 1 } else { end }))
}

/// The first suggestion: a fix when it replaces whole lines, and its text.
fn fix(suggestions: &Value) -> (Option<Fix>, Option<String>) {
    let range = &suggestions[0]["range"];
    let Some(text) = suggestions[0]["text"].as_str() else { return (None, None) };
    let column = |end: &str| range[end]["column"].as_u64().filter(|column| *column > 0);
    let replacement =
        match (column("start"), column("end")) {
            (None, None) => Some(text),
            (Some(1), Some(1)) if range["end"]["line"].as_u64() > range["start"]["line"].as_u64() => {
                if text.is_empty() { Some("") } else { text.strip_suffix('\n') }
            }
            _ => None,
        };
    let number = |line: u64| u32::try_from(line).ok();
    let range = lines(range).and_then(|(start, end)| LineRange::new(number(start)?, number(end)?));
    let fix = replacement.zip(range).map(|(text, lines)| Fix { lines, replacement: text.to_owned() });
    (fix, Some(text.to_owned()))
}
