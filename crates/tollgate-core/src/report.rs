//! Report formats: renders a review and reads reviews and findings of other tools, one module per format.
//!
//! Writers take a [`Review`] alone (the HTML page also takes the diff); readers return a review or findings, with a note
//! for every repair.

pub(crate) mod caveats;
pub mod finding_list;
pub mod github;
pub mod head_state;
pub mod html;
pub(crate) mod import;
pub mod iteration;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod rdjson;
pub mod sarif;
pub mod summary;
pub mod terminal;

use std::fmt;

use serde::de::IgnoredAny;

use crate::finding::Finding;
use crate::review::{Review, WithheldFinding};
use crate::sha::Sha;

/// The formats that findings are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputFormat {
    /// [`json`]: a review, a finding or a list of findings.
    Json,
    /// [`markdown`].
    Markdown,
    /// [`sarif`].
    Sarif,
    /// [`rdjson`].
    Rdjson,
    /// [`rdjson`], one finding a line.
    Rdjsonl,
}

impl InputFormat {
    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Sarif => "sarif",
            Self::Rdjson => "rdjson",
            Self::Rdjsonl => "rdjsonl",
        }
    }
}

/// The largest accepted input, in bytes.
pub const MAX_INPUT: usize = 64 << 20;

/// Detects the format of an input by its content.
#[must_use]
pub fn detect(bytes: &[u8]) -> Option<InputFormat> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    match text.first()? {
        b'[' => Some(InputFormat::Json),
        b'{' => detect_object(text),
        _ => {
            let mut lines = text.split(|byte| *byte == b'\n').take(10_000);
            let marks: [&[u8]; 3] = [b"# Code Review", b"### F", b"**Reviewed SHA:**"];
            let marked = lines.any(|line| marks.iter().any(|mark| line.starts_with(mark)));
            marked.then_some(InputFormat::Markdown)
        }
    }
}

fn detect_object(text: &[u8]) -> Option<InputFormat> {
    /// The keys that tell the formats apart.
    #[derive(serde::Deserialize)]
    struct Probe {
        runs: Option<IgnoredAny>,
        diagnostics: Option<IgnoredAny>,
        findings: Option<IgnoredAny>,
        severity: Option<IgnoredAny>,
        summary: Option<IgnoredAny>,
        message: Option<IgnoredAny>,
        location: Option<IgnoredAny>,
    }
    let probe = serde_json::Deserializer::from_slice(text).into_iter::<Probe>().next()?.ok()?;
    if probe.runs.is_some() {
        Some(InputFormat::Sarif)
    } else if probe.diagnostics.is_some() {
        Some(InputFormat::Rdjson)
    } else if probe.findings.is_some() || (probe.severity.is_some() && probe.summary.is_some()) {
        Some(InputFormat::Json)
    } else {
        (probe.message.is_some() && probe.location.is_some()).then_some(InputFormat::Rdjsonl)
    }
}

/// Reads a review or findings. Absolute paths of other tools are made relative to `root`.
pub fn read(bytes: &[u8], format: InputFormat, strictness: Strictness, root: Option<&str>) -> Result<Read, ReadError> {
    if bytes.len() > MAX_INPUT {
        let message = format!("the input has {} bytes, at most {MAX_INPUT} are read", bytes.len());
        return Err(ReadError::one(InputPosition::Pointer(String::new()), "size", "", message));
    }
    match format {
        InputFormat::Json => json::read(bytes, strictness),
        InputFormat::Sarif => sarif::read(bytes, strictness, root),
        InputFormat::Rdjson => rdjson::read(bytes, strictness, root),
        InputFormat::Rdjsonl => rdjson::read_lines(bytes, strictness, root),
        InputFormat::Markdown => match std::str::from_utf8(bytes) {
            Ok(text) => markdown::read(text, strictness),
            Err(error) => {
                let line_number = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(ReadError::one(InputPosition::Line(line_number), "utf-8", "", "not valid UTF-8"))
            }
        },
    }
}

/// How strictly an input must follow its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Any violation is an error.
    Strict,
    /// Violations are repaired where possible, and every repair is reported.
    Lenient,
}

/// The position of a problem in the input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputPosition {
    /// A JSON pointer; empty for the whole document.
    Pointer(String),
    /// A line, counted from 1.
    Line(usize),
    /// A line of JSON lines, counted from 1, and a JSON pointer in it.
    LinePointer(usize, String),
}

impl fmt::Display for InputPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) if pointer.is_empty() => f.write_str("the document"),
            Self::Pointer(pointer) => f.write_str(pointer),
            Self::Line(number) => write!(f, "line {number}"),
            Self::LinePointer(number, pointer) => write!(f, "line {number}, {pointer}"),
        }
    }
}

/// One violation of a format, or one repair that lenient reading made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its position.
    pub place: InputPosition,
    /// The violated rule, a stable name: `line-start`, `unique-id`.
    pub rule: &'static str,
    /// The value, truncated.
    pub found: String,
    /// The message for people.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.rule)?;
        if self.found.is_empty() { Ok(()) } else { write!(f, ", found {}", self.found) }
    }
}

/// Why an input could not be read: all problems, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// The problems, in the order of the input.
    pub problems: Vec<Problem>,
}

impl ReadError {
    /// An error with a single cause.
    #[must_use]
    pub fn one(place: InputPosition, rule: &'static str, found: &str, message: impl Into<String>) -> Self {
        Self { problems: vec![Problem { place, rule, found: shorten(found), message: message.into() }] }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [] => f.write_str("nothing could be read"),
            [first] => first.fmt(f),
            [first, rest @ ..] => write!(f, "{first}, and {} more", rest.len()),
        }
    }
}

/// The content of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A whole review.
    Review(Box<Review>),
    /// Findings of another tool, without a review.
    Findings(Vec<Finding>, Vec<WithheldFinding>),
}

/// A parsed input with notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The review or the findings.
    pub content: Content,
    /// The repairs and omissions of lenient reading.
    pub notes: Vec<Problem>,
}

impl Read {
    /// The findings and the withheld findings.
    #[must_use]
    pub fn into_findings(self) -> (Vec<Finding>, Vec<WithheldFinding>) {
        match self.content {
            Content::Review(review) => (review.findings, review.withheld),
            Content::Findings(findings, withheld) => (findings, withheld),
        }
    }

    /// A review; loose findings get one without commits.
    #[must_use]
    pub fn into_review(self) -> Review {
        match self.content {
            Content::Review(review) => *review,
            Content::Findings(findings, withheld) => {
                let mut files_reviewed: Vec<_> = findings.iter().map(|finding| finding.location.file.clone()).collect();
                files_reviewed.sort();
                files_reviewed.dedup();
                Review {
                    title: None,
                    reviewed: Sha::null(),
                    base: Sha::null(),
                    compared: None,
                    files_reviewed,
                    findings,
                    withheld,
                    coverage: None,
                    doubts: Vec::new(),
                    re_review_required: false,
                    notes: None,
                    extra: serde_json::Map::new(),
                }
            }
        }
    }
}

/// The most characters of a value in a message.
const MAX_FOUND_CHARS: usize = 80;

/// Truncates a value for a message.
fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_FOUND_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_FOUND_CHARS - 1).collect();
    head + "…"
}
