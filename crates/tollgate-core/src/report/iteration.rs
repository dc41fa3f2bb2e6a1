//! `code-review-iteration-N.md`: one review of a feature as Markdown for people.
//!
//! ```text
//! # Code Review - Feature: Add user authentication
//! **Iteration 1 of 3**
//!
//! **Status**: ❌ REJECTED
//!
//! **Reviewed At**: 2026-01-09 14:22:00 UTC
//! **Reviewed By Model**: claude-opus-4-5
//!
//! ## Overall Summary
//! Empty passwords are accepted.
//!
//! ## Compliance Review
//! ### ✓ Compliant
//! - User registration endpoint (src/auth/register.ts:12)
//!
//! ### ❌ Non-Compliant / Incomplete
//! - Password validation (nothing checks the length)
//!
//! ## Findings
//!
//! ### [ERROR] Compliance: Missing password validation (src/auth/validator.ts:45)
//! **File**: src/auth/validator.ts
//! **Line**: 45
//! …
//! ```
//!
//! The file is never parsed back. Text of reviewers is sanitized: no HTML, links, mentions or headings; code and plain
//! lists are kept.

use std::fmt::Write as _;

use crate::board::{Criterion, Iteration, Met, Outcome, Remark};
use crate::finding::Category;
use crate::language::Language;
use crate::markdown::escape::{literal, literal_at_start, shown, shown_path, visible_lines};
use crate::markdown::fence;
use crate::markdown::prose;

/// The most characters of a title, of a path, and of one line.
const MAX_TITLE: usize = 200;
const MAX_PATH: usize = 200;
const MAX_LINE: usize = 2_000;

/// Writes one review of a feature.
#[must_use]
pub fn render(feature_title: &str, iteration: &Iteration, max: u32) -> String {
    let mut text = head(feature_title, iteration, max);
    write_section(&mut text, "Overall Summary", &prose::render(&iteration.summary));
    text.push_str(&compliance(iteration));
    text.push_str("## Findings\n");
    if iteration.findings.is_empty() {
        text.push_str("None.\n");
    }
    text.push('\n');
    for remark in &iteration.findings {
        text.push_str(&finding(remark));
    }
    text.push_str(&late(&iteration.late));
    if !iteration.notes.is_empty() {
        let lines: Vec<String> = iteration.notes.iter().map(|note| format!("- {}", at_start(note))).collect();
        write_section(&mut text, "Notes", &lines.join("\n"));
    }
    // The file ends without the blank line behind the last section.
    write_section(&mut text, "Action Required", &action(iteration));
    text.pop();
    text
}

fn head(title: &str, iteration: &Iteration, max: u32) -> String {
    let title = Some(in_line(title, MAX_TITLE)).filter(|title| !title.is_empty());
    let title = title.as_deref().unwrap_or("(no title)");
    let number = iteration.number;
    // A person may allow more iterations than the limit.
    let of = if number <= max { format!(" of {max}") } else { String::new() };
    let status = match iteration.outcome {
        Outcome::Approved if iteration.is_unchecked() => "⚠️ APPROVED, REQUIREMENTS NOT CHECKED",
        Outcome::Approved => "✅ APPROVED",
        Outcome::Rejected => "❌ REJECTED",
        Outcome::Failed => "⚠️ FAILED",
    };
    let mut text = format!("# Code Review - Feature: {title}\n**Iteration {number}{of}**\n\n**Status**: {status}\n\n");
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "**Reviewed At**: {}", time(&iteration.reviewed_at));
    let _ = writeln!(text, "**Reviewed By Model**: {}", in_line(&iteration.model, MAX_TITLE));
    if let Some(given) = &iteration.overridden {
        let (who, reason) = (in_line(&given.who, MAX_TITLE), in_line(&given.reason, MAX_LINE));
        let _ = writeln!(text, "**Approved By Hand**: {who} at {}: {reason}", time(&given.at));
    }
    if iteration.outdated {
        text.push_str("**Outdated**: the branch had another commit when the review was over\n");
    }
    text.push('\n');
    text
}

fn compliance(iteration: &Iteration) -> String {
    let criteria = &iteration.compliance.criteria;
    if criteria.is_empty() {
        return String::new();
    }
    let list = |wanted: fn(&Met) -> bool| {
        let chosen: Vec<String> = criteria.iter().filter(|(_, met)| wanted(met)).map(criterion).collect();
        if chosen.is_empty() { "None.".to_owned() } else { chosen.join("\n") }
    };
    let met = list(|met| matches!(met, Met::Yes { .. }));
    let unmet = list(|met| matches!(met, Met::No { .. }));
    let mut text =
        format!("## Compliance Review\n### ✓ Compliant\n{met}\n\n### ❌ Non-Compliant / Incomplete\n{unmet}\n\n");
    let is_unclear = |met: &Met| matches!(met, Met::Unclear { .. });
    if criteria.iter().any(|(_, met)| is_unclear(met)) {
        let unclear = list(|met| matches!(met, Met::Unclear { .. }));
        let _ = write!(text, "### ? Unclear\n{unclear}\n\n");
    }
    text
}

fn criterion((criterion, met): &(Criterion, Met)) -> String {
    let evidence = match met {
        Met::Yes { evidence } | Met::No { evidence } => Some(evidence.as_str()),
        Met::Unclear { evidence } => evidence.as_deref(),
    };
    let evidence = evidence.map(|evidence| in_line(evidence, MAX_LINE)).filter(|evidence| !evidence.is_empty());
    let evidence = evidence.map(|evidence| format!(" ({evidence})")).unwrap_or_default();
    format!("- {}{evidence}", at_start(&criterion.text))
}

fn finding(remark: &Remark) -> String {
    let severity = remark.severity_word().to_uppercase();
    let mut text = format!("### [{severity}] {}: {}{}\n", category(remark.category), title(remark), place(remark));
    if let Some(file) = file(remark) {
        let _ = writeln!(text, "**File**: {file}");
        if let Some(line) = remark.line {
            let _ = writeln!(text, "**Line**: {line}");
        }
        text.push('\n');
    }
    let description = prose::render(&remark.description);
    if !description.is_empty() {
        let _ = writeln!(text, "{description}\n");
    } else if file(remark).is_none() {
        text.push('\n');
    }
    if let Some(evidence) = remark.evidence.as_deref().filter(|evidence| !evidence.trim().is_empty()) {
        let _ = writeln!(text, "**Current Code**:\n{}\n", fenced(evidence, remark));
    }
    if let Some(suggestion) = remark.suggestion.as_deref().filter(|suggestion| !suggestion.trim().is_empty()) {
        let _ = writeln!(text, "{}\n", suggested(suggestion, remark));
    }
    text.push_str("---\n\n");
    text
}

fn suggested(suggestion: &str, remark: &Remark) -> String {
    if prose::is_code(suggestion) {
        return format!("**Suggestion**:\n{}", fenced(suggestion.trim_end(), remark));
    }
    match prose::render(suggestion) {
        lines if lines.contains('\n') => format!("**Suggestion**:\n\n{lines}"),
        _ => format!("**Suggestion**: {}", in_line(suggestion, usize::MAX)),
    }
}

/// Late findings, one line each.
fn late(remarks: &[Remark]) -> String {
    if remarks.is_empty() {
        return String::new();
    }
    let line = |remark: &Remark| {
        let place = place(remark);
        let severity = remark.severity_word().to_uppercase();
        format!("- [{severity}] {}: {}{place}", category(remark.category), title(remark))
    };
    let lines: Vec<String> = remarks.iter().map(line).collect();
    format!(
        "## Late Findings\nOn lines that the last review let pass; they do not count against the feature.\n\n{}\n\n",
        lines.join("\n")
    )
}

fn action(iteration: &Iteration) -> String {
    let reason = iteration.reason.as_deref().map(prose::render).filter(|reason| !reason.is_empty());
    match iteration.outcome {
        Outcome::Approved if iteration.is_unchecked() => {
            "Check the unclear acceptance criteria, then approve the feature or send it back.".to_owned()
        }
        Outcome::Approved => "None.".to_owned(),
        Outcome::Rejected => reason.unwrap_or_else(|| "Fix the findings above before the next review.".to_owned()),
        Outcome::Failed => {
            let retry = "There is no review of this iteration yet. Retry it.";
            reason.map_or_else(|| retry.to_owned(), |reason| format!("{retry}\n\n{reason}"))
        }
    }
}

/// The escaped file name.
fn file(remark: &Remark) -> Option<String> {
    let file = remark.file.as_deref().map(|file| literal(&shown_path(file, MAX_PATH)));
    file.filter(|file| !file.is_empty())
}

/// ` (src/a.ts:45)`, as far as known.
fn place(remark: &Remark) -> String {
    match (file(remark), remark.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        // An unmet criterion has no place either; it stands in the compliance review.
        (None, _) if remark.identity.is_some() => " (whole change)".to_owned(),
        (None, _) => String::new(),
    }
}

/// The category in headings.
fn category(category: Category) -> &'static str {
    match category {
        Category::Compliance => "Compliance",
        Category::Test => "Test Coverage",
        Category::Architecture => "Architecture",
        Category::Perf => "Performance",
        Category::Security | Category::Logic | Category::Error | Category::Type | Category::Style | Category::Doc => {
            "Code Quality"
        }
    }
}

fn title(remark: &Remark) -> String {
    Some(in_line(&remark.title, MAX_TITLE)).filter(|title| !title.is_empty()).unwrap_or_else(|| "(no title)".to_owned())
}

/// Fenced code.
fn fenced(code: &str, remark: &Remark) -> String {
    let code = visible_lines(code);
    let fence = fence::around(&code);
    let language = remark.file.as_deref().and_then(|file| Language::of_path(file.as_bytes()));
    format!("{fence}{}\n{code}\n{fence}", language.map_or("", Language::fence))
}

/// `2026-01-09 14:22:00 UTC`, if the text is a timestamp of ours.
fn time(text: &str) -> String {
    let parts = text.strip_suffix('Z').and_then(|text| text.split_once('T'));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b":-.".contains(&byte));
    match parts.filter(|(date, time)| plain(date) && plain(time)) {
        Some((date, time)) => format!("{date} {} UTC", time.split('.').next().unwrap_or(time)),
        None => in_line(text, MAX_TITLE),
    }
}

fn in_line(text: &str, max_chars: usize) -> String {
    literal(&shown(text, max_chars))
}

fn at_start(text: &str) -> String {
    literal_at_start(&shown(text, MAX_LINE))
}

fn write_section(text: &mut String, title: &str, content: &str) {
    let content = if content.is_empty() { "None." } else { content };
    let _ = write!(text, "## {title}\n{content}\n\n");
}

#[cfg(test)]
mod tests;
