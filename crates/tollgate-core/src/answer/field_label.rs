//! Parses labelled lines of a finding: `File: src/a.rs`, `**Suggested Fix:**`, `- Line: 12-15`.

use crate::answer::draft::{Draft, one_line};
use crate::answer::location::{self, ClaimedLocation};
use crate::answer::markdown_lines::marker;
use crate::answer::vocabulary;
use crate::finding::Side;

/// The field that a label names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Title,
    Reason,
    ClaimedLocation,
    Lines,
    Side,
    Severity,
    Category,
    Evidence,
    Suggestion,
    Replacement,
    /// A known label whose value is ignored.
    Other,
}

impl Label {
    /// True when a heading above this label is the title of a finding.
    pub(super) fn begins_finding(self) -> bool {
        matches!(self, Self::ClaimedLocation | Self::Lines | Self::Severity | Self::Category)
    }
}

/// Parses `Name: value`, with the name in any emphasis. The value may be empty.
pub(super) fn read(line: &str) -> Option<(Label, &str)> {
    let text = marker(line).unwrap_or(line);
    let is_bold = text.starts_with("**");
    let head = text.char_indices().nth(48).map_or(text, |(end, _)| &text[..end]);
    let Some(at) = head.find(':') else {
        // `**Suggested Fix**`
        let name = text.strip_prefix("**")?.strip_suffix("**")?;
        return Some((label(name)?, "")).filter(|(label, _)| !label.begins_finding());
    };
    let (name, rest) = (&text[..at], &text[at + 1..]);
    let label = label(name)?;
    let rest = rest.trim_start();
    let rest = if is_bold && !name.ends_with("**") { rest.strip_prefix("**").unwrap_or(rest) } else { rest };
    Some((label, rest.trim()))
}

fn label(name: &str) -> Option<Label> {
    let words = vocabulary::plain(name.trim_matches(['*', '_', '`', ' ']));
    Some(match words.as_str() {
        "title" => Label::Title,
        "description" | "details" | "detail" | "reason" | "why" | "why it matters" | "impact" | "explanation"
        | "problem" | "issue" | "rationale" | "concern" | "why this matters" | "context" => Label::Reason,
        "file" | "path" | "location" | "where" | "file path" | "affected file" | "files" | "file s" | "locations" => {
            Label::ClaimedLocation
        }
        "line" | "lines" | "line number" | "line numbers" | "line range" | "line s" => Label::Lines,
        "side" => Label::Side,
        "severity" | "priority" | "level" => Label::Severity,
        "category" | "type" | "area" => Label::Category,
        "evidence" | "code" | "snippet" | "current code" | "existing code" | "problematic code" | "code snippet"
        | "current" => Label::Evidence,
        "suggestion" | "fix" | "suggested fix" | "recommendation" | "how to fix" | "solution" | "suggested change"
        | "proposed fix" | "recommended fix" | "suggestions" | "remediation" | "action" => Label::Suggestion,
        "replacement" | "suggested code" | "replace with" => Label::Replacement,
        "confidence" | "effort" | "id" | "references" | "reference" | "cwe" | "rule" | "status" => Label::Other,
        _ => return None,
    })
}

/// Sets the field that a label names.
pub(super) fn set(draft: &mut Draft, label: Label, value: &str) {
    match label {
        Label::Title => draft.title = Some(one_line(value)),
        Label::Reason => Draft::join(&mut draft.reason, value, "\n"),
        Label::ClaimedLocation => draft.set_place(value.strip_suffix(" (optional)").unwrap_or(value)),
        Label::Lines => draft.lines = location::parse_lines(value.trim_matches(['`', '*'])).or(draft.lines),
        Label::Side => {
            draft.side = match vocabulary::plain(value).as_str() {
                "left" | "old" | "before" => Some(Side::Left),
                "right" | "new" | "after" => Some(Side::Right),
                _ => draft.side,
            };
        }
        Label::Severity => draft.severity = Some(one_line(value.trim_matches(['*', '`', '[', ']']))),
        Label::Category => draft.category = Some(one_line(value.trim_matches(['*', '`', '[', ']']))),
        Label::Evidence => Draft::join(&mut draft.evidence, unquoted(value), "\n"),
        Label::Suggestion => Draft::join(&mut draft.suggestion, value, "\n"),
        Label::Replacement => Draft::join(&mut draft.replacement, unquoted(value), "\n"),
        Label::Other => {}
    }
}

/// Strips the backticks of inline code.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`') && !inner.is_empty()).unwrap_or(value)
}

/// The location named by a code block that is a prompt for another agent.
pub(super) fn prompt_place(code: &str) -> Option<ClaimedLocation> {
    let first = code.lines().find(|line| !line.trim().is_empty())?.trim();
    if first.starts_with("This is a comment left during a code review") {
        let value = |name: &str| code.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
        let lines = value("Line:").map(|lines| lines.replace(':', "-")).and_then(|lines| location::parse_lines(&lines));
        return Some(ClaimedLocation { file: value("Path:").map(str::to_owned), lines });
    }
    let is_prompt = first.starts_with("In @") || first.starts_with("Verify each finding");
    if !is_prompt {
        return None;
    }
    let line = code.lines().find_map(|line| line.trim().strip_prefix("In @"))?;
    let (file, rest) = line.split_once(' ').unwrap_or((line, ""));
    let numbers = rest.find(|part: char| part.is_ascii_digit()).map(|at| &rest[at..]);
    let numbers = numbers.map(|rest| rest.split([',', ':']).next().unwrap_or_default());
    Some(ClaimedLocation {
        file: Some(file.trim_matches('`').to_owned()),
        lines: numbers.and_then(location::parse_lines),
    })
}
