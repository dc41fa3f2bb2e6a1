//! The summary of a first review: five sections.

use std::collections::HashSet;

use crate::comment::Label;
use crate::finding::{Finding, Severity};
use crate::markdown::escape::{code_span, literal, literal_at_start, shown};
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::entry::{self, Entry, merge};
use crate::report::summary::phrases::sentences;
use crate::report::summary::{Comment, write_what_changed};

/// The most suggestions.
const MAX_EXTRAS: usize = 10;
/// The most strengths, and the most of them that are praise.
const MAX_STRENGTHS: usize = 3;
const MAX_PRAISE: usize = 2;

/// Writes the sections; `None` without findings.
pub(super) fn write(draft: &mut Draft, comment: &Comment<'_>) -> Option<()> {
    let review = comment.review;
    let reported: Vec<&Finding> = review.findings.iter().collect();
    let (commented, cut) = split(&reported, comment.commented);
    if commented.is_empty() {
        return None;
    }
    write_what_changed(draft, comment);
    strengths(draft, comment);
    observations(draft, &commented);
    say_cut(draft, cut.len());
    suggestions(draft, &commented);
    draft.push(format!("\n## Verdict\n{}\n", comment.state().markdown()));
    Some(())
}

/// Splits findings at the cap, the worst first.
///
/// Criticals are never cut, and at least one finding stays.
pub(super) fn split<'a>(findings: &[&'a Finding], cap: Option<usize>) -> (Vec<&'a Finding>, Vec<&'a Finding>) {
    let mut findings: Vec<&Finding> =
        findings.iter().copied().filter(|finding| finding.severity != Severity::Praise).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let n_critical = findings.iter().take_while(|finding| finding.severity == Severity::Critical).count();
    let cap = cap.map_or(findings.len(), |cap| cap.max(n_critical).max(1).min(findings.len()));
    let cut = findings.split_off(cap);
    (findings, cut)
}

/// Refers to Review Details for findings over the cap.
pub(super) fn say_cut(draft: &mut Draft, n_cut: usize) {
    match n_cut {
        0 => {}
        1 => draft.push("\n1 more finding is listed in Review Details.\n"),
        _ => draft.push(format!("\n{n_cut} more findings are listed in Review Details.\n")),
    }
}

/// Praise with evidence, and facts that the program checked.
fn strengths(draft: &mut Draft, comment: &Comment<'_>) {
    let praise = comment.review.findings.iter().filter(|finding| finding.severity == Severity::Praise);
    let praise = praise.map(|finding| literal(&entry::title(finding))).take(MAX_PRAISE);
    let checked = comment.checked.iter().map(|fact| literal(&shown(fact, 200)));
    let lines = praise.chain(checked).take(MAX_STRENGTHS).map(|line| format!("- :white_check_mark: {line}"));
    extras(draft, "Strengths", lines.collect());
}

/// A section of low-ranked lines.
fn extras(draft: &mut Draft, name: &str, mut lines: Vec<String>) {
    let mut seen = HashSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    if lines.is_empty() {
        return;
    }
    draft.push(format!("\n## {name}\n"));
    draft.skip(lines.len().saturating_sub(MAX_EXTRAS));
    for line in lines.into_iter().take(MAX_EXTRAS) {
        draft.item(Item { rank: Rank::Extra, n_findings: 1, line, words: None, end: "\n" });
    }
    draft.more(|n_folded, n_shown| match n_shown {
        0 => format!("- {n_folded}, too many to list here\n"),
        _ => format!("- and {n_folded} more\n"),
    });
}

fn observations(draft: &mut Draft, commented: &[&Finding]) {
    draft.push("\n## Observations\n");
    let entries = merge(commented.iter().copied());
    for label in Label::ALL {
        let mut entries = entries.iter().filter(|entry| entry.label == label).peekable();
        if entries.peek().is_none() {
            continue;
        }
        draft.push(format!("\n### {}\n", label.heading()));
        for (index, entry) in entries.enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            draft.item(item(entry, format!("{gap}{}", entry.line())));
        }
        draft.more(|n_folded, n_shown| match n_shown {
            0 => format!("{n_folded} findings, too many to list here\n"),
            _ => format!("\nand {n_folded} more\n"),
        });
    }
}

/// An entry with its explanation; a blocker also has its suggestion.
pub(super) fn item(entry: &Entry<'_>, line: String) -> Item {
    let rank = if entry.label.blocks() { Rank::Blocker } else { Rank::Finding };
    let fix = entry.findings.iter().find_map(|finding| advice(finding)).filter(|_| entry.label.blocks());
    let words = match (entry.words(), fix) {
        (Some((long, short)), Some(fix)) => Some((format!("{long}\nSuggestion: {fix}"), short)),
        (None, Some(fix)) => Some((format!("Suggestion: {fix}"), format!("Suggestion: {fix}"))),
        (words, None) => words,
    };
    Item { rank, n_findings: entry.findings.len(), line, words, end: "\n" }
}

/// One-line suggestions of findings that are not blocking.
fn suggestions(draft: &mut Draft, commented: &[&Finding]) {
    let mild = commented.iter().filter(|finding| !finding.severity.blocks());
    extras(draft, "Suggestions", mild.filter_map(|finding| suggestion(finding)).collect());
}

fn suggestion(finding: &Finding) -> Option<String> {
    let place = format!("{} ({})", literal_at_start(&entry::path(finding)), finding.location.lines);
    Some(format!("- {place}: {}", advice(finding)?))
}

/// The suggestion of a finding, if it fits on a line.
fn advice(finding: &Finding) -> Option<String> {
    let suggestion = finding.suggestion.as_deref()?.trim();
    if suggestion.is_empty() || suggestion.contains('\n') {
        return None;
    }
    let is_code = finding.fix.as_ref().is_some_and(|fix| fix.replacement.trim() == suggestion);
    let text = shown(&sentences(suggestion, 2), 300);
    Some(if is_code { format!("write {} instead", code_span(&shown(suggestion, 300))) } else { literal(&text) })
}
