//! Reads findings for comparison.
//!
//! Accepts a review in any input format, or a list of minimal findings:
//!
//! ```json
//! [{ "file": "src/a.rs", "title": "Unhandled error", "severity": "major", "category": "bug", "line": 12 }]
//! ```
//!
//! Findings are identified by their index in the input, so none may be dropped: a finding without a file refuses the whole
//! input, any other defect is tolerated and noted.

use serde_json::Value;

use crate::delta::identity::ComparedFinding;
use crate::finding::{Category, Finding, LineRange, Severity, Side};
use crate::path::{FilePath, RepoPath};
use crate::report::json::fields::{Fields, Reader, brief};
use crate::report::json::parse;
use crate::report::{self, InputFormat, InputPosition, Problem, ReadError, Strictness};

/// A finding read for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFinding {
    /// The file.
    pub file: FilePath,
    /// The defect in one line.
    pub title: String,
    /// The severity.
    pub severity: Severity,
    /// The category.
    pub category: Category,
    /// The rule that found it.
    pub rule: Option<String>,
    /// The lines, if given.
    pub lines: Option<LineRange>,
    /// Before or after the change.
    pub side: Side,
    /// The code that shows it; empty when there is none.
    pub evidence: String,
    /// The consequence; empty when there is none.
    pub reason: String,
}

impl ListedFinding {
    /// The finding as a borrowed view for comparison.
    #[must_use]
    pub fn claim(&self) -> ComparedFinding<'_> {
        ComparedFinding {
            file: &self.file,
            title: &self.title,
            severity: self.severity,
            category: self.category,
            rule: self.rule.as_deref(),
            reviewer: None,
            lines: self.lines,
            side: self.side,
            evidence: &self.evidence,
            reason: &self.reason,
            scope: None,
            is_answered: false,
        }
    }
}

impl From<Finding> for ListedFinding {
    fn from(finding: Finding) -> Self {
        Self {
            file: finding.location.file,
            title: finding.summary.as_str().to_owned(),
            severity: finding.severity,
            category: finding.category,
            rule: finding.origin.rule,
            lines: Some(finding.location.lines),
            side: finding.location.side,
            evidence: finding.evidence,
            reason: finding.reason.unwrap_or_default(),
        }
    }
}

/// Reads findings, with the problems found in them.
pub fn read(bytes: &[u8]) -> Result<(Vec<ListedFinding>, Vec<Problem>), ReadError> {
    if bytes.len() > report::MAX_INPUT {
        let message = format!("the input has {} bytes, at most {} are read", bytes.len(), report::MAX_INPUT);
        return Err(ReadError::one(whole(), "size", "", message));
    }
    match report::detect(bytes) {
        Some(format @ (InputFormat::Markdown | InputFormat::Sarif | InputFormat::Rdjson | InputFormat::Rdjsonl)) => {
            let read = report::read(bytes, format, Strictness::Lenient, None)?;
            let notes = read.notes.clone();
            Ok((read.into_findings().0.into_iter().map(ListedFinding::from).collect(), notes))
        }
        Some(InputFormat::Json) | None => read_json(bytes),
    }
}

fn read_json(bytes: &[u8]) -> Result<(Vec<ListedFinding>, Vec<Problem>), ReadError> {
    let (value, doubles) = parse::parse(bytes)?;
    let (list, at) = match value {
        Value::Array(list) => (list, ""),
        Value::Object(mut map) => match map.remove("findings") {
            Some(Value::Array(list)) => (list, "/findings"),
            Some(other) => {
                return Err(ReadError::one(at_pointer("/findings"), "type", &brief(&other), "expected an array"));
            }
            None => (vec![Value::Object(map)], ""),
        },
        other => return Err(ReadError::one(whole(), "type", &brief(&other), "expected findings")),
    };
    let mut reader = Reader::new(doubles);
    let mut stated = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let at = format!("{at}/{index}");
        match Fields::open(&mut reader, at.clone(), value).and_then(|fields| finding(&mut reader, fields)) {
            Some(finding) => stated.push(finding),
            None => return Err(ReadError::one(at_pointer(&at), "file", "", "a finding needs a `file`")),
        }
    }
    Ok((stated, reader.into_problems()))
}

fn whole() -> InputPosition {
    InputPosition::Pointer(String::new())
}

fn at_pointer(pointer: &str) -> InputPosition {
    InputPosition::Pointer(pointer.to_owned())
}

fn finding(reader: &mut Reader, mut fields: Fields) -> Option<ListedFinding> {
    // Null counts as missing.
    for key in
        ["line", "line_start", "start_line", "line_end", "end_line", "evidence", "rule", "x_rule", "side", "reason"]
    {
        if fields.peek(key).is_some_and(Value::is_null) {
            fields.take(key);
        }
    }
    let mut place = match fields.take("location") {
        Some(value @ Value::Object(_)) => Fields::open(reader, fields.pointer("location"), value),
        _ => None,
    };
    let place = place.as_mut().unwrap_or(&mut fields);
    let key = ["file", "path", "filename"].into_iter().find(|key| place.has(key))?;
    let file = file(&place.text(reader, key)?)?;
    let start = number(reader, place, &["line", "line_start", "start_line"]);
    let end = number(reader, place, &["line_end", "end_line"]);
    let lines =
        start.map(|start| LineRange::new(start, end.unwrap_or(start)).unwrap_or_else(|| LineRange::line(start)));
    let side = match place.text(reader, "side") {
        Some(side) if side.eq_ignore_ascii_case("left") => Side::Left,
        _ => Side::Right,
    };
    let title = text(reader, &mut fields, &["title", "summary", "message"]).unwrap_or_else(|| {
        reader.report(&fields.at, "title", "", "a finding should have a `title` or `summary`");
        String::new()
    });
    let severity = word(reader, &mut fields, "severity", Severity::parse_lenient, Severity::Medium);
    let category = word(reader, &mut fields, "category", Category::parse_lenient, Category::Logic);
    let category = fields.text(reader, "x_category").and_then(|text| Category::parse_exact(&text)).unwrap_or(category);
    let rule = text(reader, &mut fields, &["x_rule", "rule"]);
    let evidence = fields.text(reader, "evidence").unwrap_or_default();
    let reason = text(reader, &mut fields, &["reason", "description"]).unwrap_or_default();
    Some(ListedFinding { file, title, severity, category, rule, lines, side, evidence, reason })
}

/// Normalizes an irregular path instead of refusing it.
fn file(text: &str) -> Option<FilePath> {
    let plain = text.trim().replace('\\', "/");
    let odd = || FilePath::of_repo_path(&RepoPath::from_bytes(plain.as_bytes()));
    (!plain.is_empty()).then(|| FilePath::parse(&plain).unwrap_or_else(|_| odd()))
}

fn text(reader: &mut Reader, fields: &mut Fields, keys: &[&str]) -> Option<String> {
    let key = keys.iter().find(|key| fields.has(key))?;
    fields.text(reader, key).filter(|text| !text.trim().is_empty())
}

/// A line number; 0 counts as missing.
fn number(reader: &mut Reader, fields: &mut Fields, keys: &[&str]) -> Option<u32> {
    let key = keys.iter().find(|key| fields.has(key))?;
    u32::try_from(fields.count(reader, key)?).ok().filter(|number| *number > 0)
}

fn word<T: std::fmt::Display>(
    reader: &mut Reader,
    fields: &mut Fields,
    key: &str,
    parse: impl Fn(&str) -> Option<T>,
    otherwise: T,
) -> T {
    let Some(text) = fields.text(reader, key) else {
        reader.report(&fields.pointer(key), "required", "", format!("`{key}` is missing; read as {otherwise}"));
        return otherwise;
    };
    parse(&text).unwrap_or_else(|| {
        let message = format!("not a {key} that is known here; read as {otherwise}");
        reader.report(&fields.pointer(key), "unknown-word", &text, message);
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str], n_notes: usize) {
        let (stated, notes) = read(text.as_bytes()).unwrap();
        let shown: Vec<String> = stated
            .iter()
            .map(|stated| {
                let lines = stated.lines.map_or(String::new(), |lines| format!(":{lines}"));
                format!("{}{lines} {}/{} {}", stated.file, stated.severity, stated.category, stated.title)
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
        assert_eq!(notes.len(), n_notes, "{notes:?}");
    }

    #[test]
    fn a_list_of_minimal_findings_is_read() {
        check(
            r#"[{"file":"./a.rs","title":"T","severity":"major","category":"bug","line":3},
                {"file":"b.rs","summary":"S","severity":"Nit","category":"Style","line":null,"evidence":null}]"#,
            &["a.rs:3 High/Logic T", "b.rs Nit/Style S"],
            0,
        );
    }

    #[test]
    fn a_review_is_read_whole_or_in_part() {
        let finding = r#"{"severity":"High","category":"Style","x_category":"Architecture","summary":"S","evidence":"e",
            "location":{"file":"a.rs","line_start":3,"line_end":5}}"#;
        check(&format!(r#"{{"findings":[{finding}]}}"#), &["a.rs:3-5 High/Architecture S"], 0);
        check(finding, &["a.rs:3-5 High/Architecture S"], 0);
    }

    #[test]
    fn unknown_words_are_noted_and_no_finding_is_lost() {
        check(
            r#"[{"file":"a","title":"T","severity":"dreadful","category":"karma"},{"file":"C:\\b","line":0}]"#,
            &["a Medium/Logic T", "C\u{fffd}/b Medium/Logic "],
            5,
        );
    }

    #[test]
    fn input_that_cannot_be_compared_is_refused_with_its_position() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error(r#"[{"file":"a"},{"title":"T"}]"#), "/1: a finding needs a `file` (file)");
        assert_eq!(error("[1]"), "/0: a finding needs a `file` (file)");
        assert_eq!(error(r#"{"findings":3}"#), "/findings: expected an array (type), found 3");
        assert_eq!(error("3"), "the document: expected findings (type), found 3");
        assert!(error("hello").starts_with("line 1: not valid JSON"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in r#"[\[\]{}":,a-f0-9 ]{0,60}"#, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read(text.as_bytes());
            let _ = read(&bytes);
        }
    }
}
