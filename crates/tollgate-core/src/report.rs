//! A review made presentable, and reviews read back.
//!
//! One file per format. What is written comes from a [`Review`] alone (the HTML
//! page also takes the diff); what is read becomes a review or loose findings,
//! with every repair named. Nothing here touches files or terminals.

pub(crate) mod escape;
mod foreign;
pub mod github;
pub mod html;
pub mod iteration;
pub mod json;
pub mod junit;
pub mod markdown;
pub(crate) mod prose;
pub mod rdjson;
pub mod sarif;
pub mod summary;
pub mod terminal;

use std::fmt;

use serde::de::IgnoredAny;

use crate::finding::Finding;
use crate::review::{Review, WithheldFinding};
use crate::sha::Sha;

/// The formats a review is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people at a terminal.
    Pretty,
    /// [`json`].
    Json,
    /// [`markdown`].
    Markdown,
    /// [`sarif`].
    Sarif,
    /// [`rdjson`].
    Rdjson,
    /// [`rdjson`], one finding a line.
    Rdjsonl,
    /// [`github`] workflow annotations.
    Github,
    /// [`junit`].
    Junit,
    /// [`html`].
    Html,
    /// The comment on a pull request.
    Summary,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 10] = [
        Self::Pretty,
        Self::Json,
        Self::Markdown,
        Self::Sarif,
        Self::Rdjson,
        Self::Rdjsonl,
        Self::Github,
        Self::Junit,
        Self::Html,
        Self::Summary,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Sarif => "sarif",
            Self::Rdjson => "rdjson",
            Self::Rdjsonl => "rdjsonl",
            Self::Github => "github",
            Self::Junit => "junit",
            Self::Html => "html",
            Self::Summary => "summary",
        }
    }

    /// Reads the name on the command line.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }
}

/// The formats findings are read from.
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
    /// The name for people.
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

/// The largest input that is read, in bytes.
pub const MAX_INPUT: usize = 64 << 20;

/// Tells the format of an input by its content; `None` when it is none of ours.
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
        return Err(ReadError::one(Place::Pointer(String::new()), "size", "", message));
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
                Err(ReadError::one(Place::Line(line_number), "utf-8", "", "not valid UTF-8"))
            }
        },
    }
}

/// How closely what is read must keep to its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Any violation refuses the whole.
    Strict,
    /// What can be made sense of is read, and every repair is reported.
    Lenient,
}

/// Where in the input a problem is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A JSON pointer; empty for the whole document.
    Pointer(String),
    /// A line, counted from 1.
    Line(usize),
    /// A line of JSON lines, counted from 1, and a JSON pointer in it.
    LinePointer(usize, String),
}

impl fmt::Display for Place {
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
    /// Where it is.
    pub place: Place,
    /// The rule that is broken, a stable name: `line-start`, `unique-id`.
    pub rule: &'static str,
    /// The value found there, shortened.
    pub found: String,
    /// What is wrong, for people.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.rule)?;
        if self.found.is_empty() { Ok(()) } else { write!(f, ", found {}", self.found) }
    }
}

/// Says why nothing could be read: every problem, never none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ReadError {
    /// The problems, in the order of the input.
    pub problems: Vec<Problem>,
}

impl ReadError {
    /// An error with a single cause.
    #[must_use]
    pub fn one(place: Place, rule: &'static str, found: &str, message: impl Into<String>) -> Self {
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

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A whole review.
    Review(Box<Review>),
    /// Findings of a tool that does not know what a review is.
    Findings(Vec<Finding>, Vec<WithheldFinding>),
}

/// What was read, and what had to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The review or the findings.
    pub content: Content,
    /// What lenient reading repaired or had to leave out.
    pub notes: Vec<Problem>,
}

impl Read {
    /// The findings that count and those that do not.
    #[must_use]
    pub fn into_findings(self) -> (Vec<Finding>, Vec<WithheldFinding>) {
        match self.content {
            Content::Review(review) => (review.findings, review.withheld),
            Content::Findings(findings, withheld) => (findings, withheld),
        }
    }

    /// A review of what was read; loose findings get one that names no commit.
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
                    re_review_required: false,
                    notes: None,
                    extra: serde_json::Map::new(),
                }
            }
        }
    }
}

/// The most characters of a found value that a message repeats.
const MAX_FOUND_CHARS: usize = 80;

/// Cuts a value for a message.
fn shorten(text: &str) -> String {
    if text.chars().count() <= MAX_FOUND_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_FOUND_CHARS - 1).collect();
    head + "…"
}
