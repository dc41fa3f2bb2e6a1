//! Sections of a prose answer: issues, summary, verdict, and explanations.

use crate::answer::markdown_lines::{Line, marker};
use crate::answer::{decision, field_label, vocabulary};
use crate::finding::Severity;

/// The section of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Section {
    #[default]
    Start,
    Issues,
    Summary,
    Verdict,
    Quiet,
}

/// A line that acts as a heading: `**Issues Found:**`, `Critical`.
pub(super) fn pseudo_heading<'a>(line: &Line<'a>) -> Option<&'a str> {
    let text = line.text;
    if line.indent > 3 || marker(text).is_some() {
        return None;
    }
    let bold = text.strip_prefix("**").and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    if let Some(inner) = bold.filter(|inner| !inner.contains("**")) {
        let inner = inner.trim_end_matches(':').trim();
        // A label on its own line introduces the next lines, and a severity grades the previous ones.
        return (field_label::read(text).is_none()
            && severity_line(text)
                .is_none_or(|_| begins(inner).is_some() && !inner.to_lowercase().ends_with("severity")))
        .then_some(inner);
    }
    let name = text.trim_end_matches(':');
    let is_word = name.len() <= 24 && !name.contains(['*', '`', '[', '.', ',']);
    (is_word && name.starts_with(|first: char| !first.is_lowercase()) && begins(name).is_some()).then_some(name)
}

/// Headings of praise and explanations.
const QUIET: &[&str] = &[
    "strengths",
    "positives",
    "what changed",
    "files reviewed",
    "good",
    "praise",
    "highlights",
    "next steps",
    "suggestions",
    "recommendations",
    "walkthrough",
    "review details",
    "positive aspects",
    "what works well",
    "resolved findings",
    "resolved",
    "what went well",
    "positive observations",
    "positive findings",
    "compliance",
    "feature compliance",
    "test plan",
    "action items",
    "checklist",
    "compliance review",
];
/// Headings of summaries.
const SUMMARY: &[&str] = &[
    "summary",
    "overall summary",
    "conclusion",
    "overall",
    "overall assessment",
    "reviewer notes",
    "overview",
    "explanation",
    "rationale",
    "review summary",
    "final summary",
    "reason",
];
/// Headings of lists of issues.
const ISSUES: &[&str] =
    &["issues found", "problems found", "issues identified", "findings by severity", "still open", "required changes"];
/// The last words of headings of issue lists.
const NOUNS: &[&str] =
    &["issues", "findings", "problems", "observations", "concerns", "comments", "bugs", "violations", "fixes"];
/// Severity words that mean something else in a heading.
const VAGUE: &[&str] = &["note", "notice", "info", "information", "style", "hint", "none", "important", "normal"];

/// The section that a heading begins, and the severity it names.
pub(super) fn begins(text: &str) -> Option<(Section, Option<String>)> {
    let bare = text.split_once(" (").map_or(text, |(name, _)| name).trim_end_matches(':');
    let words = vocabulary::plain(bare);
    if words.is_empty() || words.split(' ').count() > 6 {
        return None;
    }
    if decision::is_label(&words) && !matches!(words.as_str(), "code review" | "review" | "result") {
        return Some((Section::Verdict, None));
    }
    let last = words.split(' ').next_back().unwrap_or_default();
    if QUIET.contains(&words.as_str()) || last == "strengths" {
        return Some((Section::Quiet, None));
    }
    if SUMMARY.contains(&words.as_str()) {
        return Some((Section::Summary, None));
    }
    let graded = |severity: Severity| (Section::Issues, Some(severity.as_str().to_owned()));
    let plain = vocabulary::severity(&words).filter(|_| !VAGUE.contains(&words.as_str()));
    if let Some(severity) = plain.filter(|severity| *severity != Severity::Praise) {
        return Some(graded(severity));
    }
    let first = words.split(' ').next().unwrap_or_default();
    let is_list = NOUNS.contains(&last) || ISSUES.contains(&words.as_str());
    match vocabulary::severity(first).filter(|_| is_list || last == "changes") {
        Some(severity) => Some(graded(severity)),
        None if is_list && matches!(first, "no" | "zero" | "0") => Some((Section::Quiet, None)),
        None => is_list.then_some((Section::Issues, None)),
    }
}

/// `**High Severity**`, `**Severity:** High`, `Severity: P1`.
pub(super) fn severity_line(text: &str) -> Option<String> {
    let words = vocabulary::plain(text);
    let rest = words.strip_suffix(" severity").or_else(|| words.strip_prefix("severity "))?;
    vocabulary::severity(rest).map(|severity| severity.as_str().to_owned())
}

/// `Found 3 issues:`
pub(super) fn found_issues(text: &str) -> bool {
    let words = vocabulary::plain(text);
    let mut words = words.split(' ');
    let (first, number, noun) = (words.next(), words.next(), words.next());
    let counted = number.is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number > 0));
    first == Some("found") && counted && matches!(noun, Some("issue" | "issues" | "problem" | "problems"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(heading: &str, expected: Option<(Section, Option<&str>)>) {
        let found = begins(heading);
        let found = found.as_ref().map(|(section, severity)| (*section, severity.as_deref()));
        assert_eq!(found, expected, "{heading}");
    }

    #[test]
    fn headings_begin_the_parts_of_an_answer() {
        check("Issues Found", Some((Section::Issues, None)));
        check("🔴 Critical Issues (2)", Some((Section::Issues, Some("Critical"))));
        check("❌ Errors", Some((Section::Issues, Some("High"))));
        check("Major", Some((Section::Issues, Some("High"))));
        check("Summary:", Some((Section::Summary, None)));
        check("Final Verdict", Some((Section::Verdict, None)));
        check("Strengths", Some((Section::Quiet, None)));
        check("No issues", Some((Section::Quiet, None)));
        check("Resolved Findings", Some((Section::Quiet, None)));
    }

    #[test]
    fn headings_of_other_things_begin_no_list_of_issues() {
        for heading in ["Note", "Style", "Critical path of the scheduler", "Token never expires", "Code Review", ""] {
            check(heading, None);
        }
    }
}
