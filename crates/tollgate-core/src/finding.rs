//! Findings: the data model that all formats share.

use std::fmt;
use std::num::NonZeroU32;

use serde_json::{Map, Value};

use crate::path::{FilePath, RepoPath};

/// The severity of a finding, mildest first.
///
/// The order is part of the meaning: the worst finding is `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something done well; never counts against the change.
    Praise,
    /// A matter of taste.
    Nit,
    /// Worth doing, not urgent.
    Low,
    /// Should be dealt with soon.
    Medium,
    /// Must be dealt with before merging.
    High,
    /// Must not be merged under any circumstances.
    Critical,
}

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Self; 6] = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Nit, Self::Praise];

    /// True when a finding of this severity keeps a change from passing.
    #[must_use]
    pub fn blocks(self) -> bool {
        self >= Self::High
    }

    /// The exact word of the formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "Critical",
            Self::High => "High",
            Self::Medium => "Medium",
            Self::Low => "Low",
            Self::Nit => "Nit",
            Self::Praise => "Praise",
        }
    }

    /// Parses the exact word of the formats.
    #[must_use]
    pub fn parse_exact(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == text)
    }

    /// Parses a synonym used by a person, a model or another tool, in any case.
    #[must_use]
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let word = text.trim().to_lowercase();
        Some(match word.as_str() {
            "critical" | "blocker" | "fatal" | "p0" | "severe" => Self::Critical,
            "high" | "major" | "error" | "important" | "p1" | "failure" => Self::High,
            "medium" | "moderate" | "warning" | "warn" | "p2" => Self::Medium,
            "low" | "minor" | "info" | "information" | "informational" | "note" | "notice" | "p3" => Self::Low,
            "nit" | "nitpick" | "trivial" | "style" | "none" | "hint" | "p4" => Self::Nit,
            "praise" | "strength" | "positive" | "kudos" => Self::Praise,
            _ => return None,
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The category of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The change does not satisfy its requirements.
    Compliance,
    /// The change can be abused.
    Security,
    /// The change computes something wrong.
    Logic,
    /// A failure is lost or handled badly.
    Error,
    /// A type is wrong or too wide.
    Type,
    /// Tests are missing, wrong or weakened.
    Test,
    /// The change is slower than it needs to be.
    Perf,
    /// The change is in the wrong place.
    Architecture,
    /// The change is hard to read.
    Style,
    /// The documentation is missing or wrong.
    Doc,
}

impl Category {
    /// All categories.
    pub const ALL: [Self; 10] = [
        Self::Compliance,
        Self::Security,
        Self::Logic,
        Self::Error,
        Self::Type,
        Self::Test,
        Self::Perf,
        Self::Architecture,
        Self::Style,
        Self::Doc,
    ];

    /// The canonical word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compliance => "Compliance",
            Self::Security => "Security",
            Self::Logic => "Logic",
            Self::Error => "Error",
            Self::Type => "Type",
            Self::Test => "Test",
            Self::Perf => "Perf",
            Self::Architecture => "Architecture",
            Self::Style => "Style",
            Self::Doc => "Doc",
        }
    }

    /// The category in the strict review schema, which knows eight.
    #[must_use]
    pub(crate) fn in_schema(self) -> Self {
        match self {
            Self::Compliance => Self::Logic,
            Self::Architecture => Self::Style,
            other => other,
        }
    }

    /// Parses the exact canonical word.
    #[must_use]
    pub fn parse_exact(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.as_str() == text)
    }

    /// Parses a synonym used by a person, a model or another tool, in any case.
    #[must_use]
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let word = text.trim().to_lowercase().replace(['-', '_'], " ");
        Some(match word.as_str() {
            "compliance" | "requirement" | "requirements" => Self::Compliance,
            "security" | "vulnerability" | "secret" | "secrets" => Self::Security,
            "logic" | "bug" | "correctness" | "suspicious" | "code" | "concurrency" => Self::Logic,
            "error" | "error handling" | "errors" | "reliability" | "robustness" => Self::Error,
            "type" | "types" | "typing" | "type safety" => Self::Type,
            "test" | "tests" | "testing" | "coverage" => Self::Test,
            "perf" | "performance" | "efficiency" => Self::Perf,
            "architecture" | "design" | "complexity" => Self::Architecture,
            "style" | "maintainability" | "readability" | "naming" | "formatting" => Self::Style,
            "doc" | "docs" | "documentation" | "comment" | "comments" => Self::Doc,
            _ => return None,
        })
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The id of a finding in its review: `F001`, `F002`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingId(NonZeroU32);

impl FindingId {
    /// The id of the finding at an index counted from 0.
    #[must_use]
    pub fn at(index: usize) -> Self {
        let number = u32::try_from(index).unwrap_or(u32::MAX - 1).saturating_add(1);
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN))
    }

    /// Parses `F` and at least three digits; the number is 1 or more.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('F')?;
        let plain = digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain.then(|| digits.parse().ok()).flatten().and_then(NonZeroU32::new)?;
        (Self(number).to_string() == text).then_some(Self(number))
    }

    /// The number, counted from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F{:03}", self.0)
    }
}

/// The version of the file that a line number refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Side {
    /// The file before the change.
    Left,
    /// The file after the change.
    #[default]
    Right,
}

impl Side {
    /// The exact word of the formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }
}

/// Lines of a file, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    start: u32,
    end: u32,
}

impl LineRange {
    /// A range of one or more lines; `None` unless `1 <= start <= end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Option<Self> {
        (start >= 1 && end >= start).then_some(Self { start, end })
    }

    /// A single line; 0 is taken as 1.
    #[must_use]
    pub fn line(number: u32) -> Self {
        let number = number.max(1);
        Self { start: number, end: number }
    }

    /// The first line.
    #[must_use]
    pub fn start(self) -> u32 {
        self.start
    }

    /// The last line.
    #[must_use]
    pub fn end(self) -> u32 {
        self.end
    }

    /// True when the range contains the line.
    #[must_use]
    pub fn contains(self, line_number: u32) -> bool {
        (self.start..=self.end).contains(&line_number)
    }

    /// The number of lines from one range to the other; 0 when they overlap.
    pub(crate) fn distance(self, other: Self) -> u32 {
        self.start.saturating_sub(other.end).max(other.start.saturating_sub(self.end))
    }

    /// True when the two ranges share a line.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start == self.end { write!(f, "{}", self.start) } else { write!(f, "{}-{}", self.start, self.end) }
    }
}

/// The location of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The file, by its path on the finding's side.
    pub file: FilePath,
    /// The lines, in the numbering of the finding's side.
    pub lines: LineRange,
    /// Before or after the change.
    pub side: Side,
}

/// The one-line description of a finding: not empty, one line, at most 80 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Summary(String);

/// Why a text is not a valid summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// Empty or blank.
    #[error("a summary must not be empty")]
    Empty,
    /// Contains a line break or a NUL.
    #[error("a summary must be one line")]
    SeveralLines,
    /// Has too many characters.
    #[error("a summary has at most 80 characters, found {0}")]
    TooLong(usize),
    /// Begins or ends with whitespace.
    #[error("a summary must not begin or end with whitespace")]
    Untrimmed,
}

impl Summary {
    /// The most characters (Unicode scalar values) a summary may have.
    pub const MAX_CHARS: usize = 80;

    /// Parses a summary strictly.
    pub fn parse(text: &str) -> Result<Self, SummaryError> {
        if text.trim().is_empty() {
            return Err(SummaryError::Empty);
        }
        if text.trim() != text {
            return Err(SummaryError::Untrimmed);
        }
        if text.contains(is_line_break) {
            return Err(SummaryError::SeveralLines);
        }
        let n_chars = text.chars().count();
        if n_chars > Self::MAX_CHARS { Err(SummaryError::TooLong(n_chars)) } else { Ok(Self(text.to_owned())) }
    }

    /// Shortens any title to a summary, cut at a word with `…`. The full title is returned as well when it was cut, to be put
    /// before the reason.
    #[must_use]
    pub fn shorten(title: &str) -> (Self, Option<String>) {
        let line = title.split(is_line_break).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            return (Self("(no title)".to_owned()), None);
        }
        if let Ok(summary) = Self::parse(&line) {
            return (summary, None);
        }
        let head: String = line.chars().take(Self::MAX_CHARS - 1).collect();
        let cut = match head.rfind(' ') {
            Some(space) if space > head.len() / 2 => &head[..space],
            _ => head.as_str(),
        };
        (Self(format!("{}…", cut.trim_end())), Some(line))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\0' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A replacement of whole lines that can be applied without edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The lines to replace, on the finding's side.
    pub lines: LineRange,
    /// The new text, without the last line break; empty to delete the lines.
    pub replacement: String,
}

/// The source of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The name of the reviewer: `rules`, a model, an agent, or an imported tool.
    pub reviewer: Option<String>,
    /// The rule that matched.
    pub rule: Option<String>,
    /// The URL of the rule's documentation.
    pub rule_url: Option<String>,
}

/// A finding about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The id in the review.
    pub id: FindingId,
    /// The severity.
    pub severity: Severity,
    /// The category.
    pub category: Category,
    /// The location.
    pub location: Location,
    /// The defect in one line.
    pub summary: Summary,
    /// Why it matters. Required for blockers.
    pub reason: Option<String>,
    /// The code or observation that shows it.
    pub evidence: String,
    /// The suggested change in prose.
    pub suggestion: Option<String>,
    /// A fix that can be applied automatically.
    pub fix: Option<Fix>,
    /// The source of the finding.
    pub origin: Origin,
    /// Unknown fields of other tools, preserved on output.
    pub extra: Map<String, Value>,
}

impl Finding {
    /// The reviewers that report it: those of a merged finding, or the one that it is from.
    #[must_use]
    pub fn reviewers(&self) -> Vec<&str> {
        match self.extra.get(REVIEWERS).and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => self.origin.reviewer.as_deref().into_iter().collect(),
        }
    }
}

/// The extension field with all reviewers of a merged finding.
pub const REVIEWERS: &str = "x_reviewers";

/// The evidence of a finding without a quote, since the formats of a finding require one. It is never a quote itself.
pub const NOTHING_QUOTED: &str = "(nothing was quoted)";

/// The extension field with the result of the verification.
pub const VERIFICATION: &str = "x_verification";

/// True for a claim of a reviewer that names no file: a remark on the change as a whole, such as missing tests.
#[must_use]
pub fn is_about_whole_change(finding: &Finding) -> bool {
    let names_no_file = |verification: &Value| verification.pointer("/claimed/file").is_none();
    finding.location.file == unknown_file() && finding.extra.get(VERIFICATION).is_some_and(names_no_file)
}

/// A claim about the change as a whole.
#[must_use]
pub fn about_whole_change(severity: Severity, words: &str) -> Finding {
    let (summary, rest) = Summary::shorten(words);
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Logic,
        location: Location { file: unknown_file(), lines: LineRange::line(1), side: Side::Right },
        summary,
        reason: rest,
        evidence: NOTHING_QUOTED.to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin::default(),
        extra: Map::new(),
    }
}

/// The placeholder path of a claim without a file.
pub(crate) fn unknown_file() -> FilePath {
    FilePath::of_repo_path(&RepoPath::from_bytes(b"unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_title_is_cut_at_a_word_and_kept_whole_beside_it() {
        let title = "word ".repeat(30);
        let (summary, full) = Summary::shorten(&title);
        assert_eq!(summary.as_str(), format!("{}…", ["word"; 15].join(" ")));
        assert_eq!(full.as_deref(), Some(title.trim()));
    }

    #[test]
    fn a_title_without_spaces_is_cut_at_eighty_characters() {
        let (summary, _) = Summary::shorten(&"ü".repeat(100));
        assert_eq!(summary.as_str().chars().count(), Summary::MAX_CHARS);
    }

    #[test]
    fn summaries_are_one_trimmed_line_of_at_most_eighty_characters() {
        assert_eq!(Summary::parse(" "), Err(SummaryError::Empty));
        assert_eq!(Summary::parse("a\u{2028}b"), Err(SummaryError::SeveralLines));
        assert_eq!(Summary::parse(&"ü".repeat(81)), Err(SummaryError::TooLong(81)));
        assert_eq!(Summary::parse(" a"), Err(SummaryError::Untrimmed));
        assert!(Summary::parse(&"ü".repeat(80)).is_ok());
    }

    #[test]
    fn ids_have_at_least_three_digits() {
        assert_eq!(FindingId::at(0).to_string(), "F001");
        assert_eq!(FindingId::at(1233).to_string(), "F1234");
        for text in ["F000", "F1", "f001", "F0001", "F01a", "F", ""] {
            assert_eq!(FindingId::parse(text), None, "{text}");
        }
        assert_eq!(FindingId::parse("F1234"), Some(FindingId::at(1233)));
    }

    #[test]
    fn usual_synonyms_are_understood() {
        assert_eq!(Severity::parse_lenient(" MAJOR "), Some(Severity::High));
        assert_eq!(Severity::parse_lenient("blocker"), Some(Severity::Critical));
        assert_eq!(Category::parse_lenient("error-handling"), Some(Category::Error));
        assert_eq!(Category::parse_lenient("bug"), Some(Category::Logic));
        assert_eq!(Category::parse_lenient("banana"), None);
    }
}
