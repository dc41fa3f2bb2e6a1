//! The summary of a first review: five sections.

use std::collections::HashSet;

use crate::comment::Label;
use crate::finding::{Finding, Severity};
use crate::markdown::escape::{code_span, literal, literal_at_start, shown};
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::entry::{self, Entry, merge};
use crate::report::summary::phrases::{counts, in_words, missing, sentences};
use crate::report::summary::{Comment, write_what_changed};
use crate::review::Review;
use crate::verdict::CommentVerdict;

/// The most strengths and suggestions.
const MAX_EXTRAS: usize = 10;

/// Writes the sections; `None` without findings.
pub(super) fn write(draft: &mut Draft, comment: &Comment<'_>) -> Option<()> {
    let review = comment.review;
    let reported: Vec<&Finding> = review.findings.iter().collect();
    let (commented, cut) = split(&reported, comment.commented);
    if commented.is_empty() {
        return None;
    }
    write_what_changed(draft, comment);
    strengths(draft, review);
    observations(draft, &commented);
    say_cut(draft, cut.len());
    suggestions(draft, &commented);
    draft.push(format!("\n## Verdict\n{}\n", verdict(review)));
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

fn strengths(draft: &mut Draft, review: &Review) {
    let praise = review.findings.iter().filter(|finding| finding.severity == Severity::Praise);
    let lines = praise.map(|finding| format!("- :white_check_mark: {}", literal(&entry::title(finding)))).collect();
    extras(draft, "Strengths", lines);
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

/// An entry with its explanation.
pub(super) fn item(entry: &Entry<'_>, line: String) -> Item {
    let rank = if entry.label.blocks() { Rank::Blocker } else { Rank::Finding };
    Item { rank, n_findings: entry.findings.len(), line, words: entry.words(), end: "\n" }
}

/// One-line suggestions of findings that are not blocking.
fn suggestions(draft: &mut Draft, commented: &[&Finding]) {
    let mild = commented.iter().filter(|finding| !finding.severity.blocks());
    extras(draft, "Suggestions", mild.filter_map(|finding| suggestion(finding)).collect());
}

fn suggestion(finding: &Finding) -> Option<String> {
    let suggestion = finding.suggestion.as_deref()?.trim();
    if suggestion.is_empty() || suggestion.contains('\n') {
        return None;
    }
    let is_code = finding.fix.as_ref().is_some_and(|fix| fix.replacement.trim() == suggestion);
    let text = shown(&sentences(suggestion, 2), 300);
    let text = if is_code { format!("write {} instead", code_span(&shown(suggestion, 300))) } else { literal(&text) };
    let place = format!("{} ({})", literal_at_start(&entry::path(finding)), finding.location.lines);
    Some(format!("- {place}: {text}"))
}

/// `:yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging`.
pub(crate) fn verdict(review: &Review) -> String {
    let severities = || review.findings.iter().map(|finding| finding.severity);
    let verdict = CommentVerdict::of(severities());
    let counts = counts(severities());
    let (blocking, mild) = counts.split_at(2);
    let missing = missing(review);
    let said = match (in_words(blocking), in_words(mild)) {
        (Some(blocking), None) => format!("{blocking} must be fixed before merging"),
        (Some(blocking), Some(mild)) => format!("{blocking} must be fixed before merging; also {mild}"),
        (None, Some(mild)) if verdict == CommentVerdict::NeedsChanges => {
            format!("{mild} should be fixed before merging")
        }
        (None, Some(mild)) if missing.is_some() => format!("{mild} so far, none blocking"),
        (None, Some(mild)) => format!("{mild}, none blocking"),
        (None, None) => "no findings".to_owned(),
    };
    match missing {
        None => format!("{verdict} -- {said}"),
        Some(missing) if matches!(verdict, CommentVerdict::ApproveWithNotes | CommentVerdict::Approve) => {
            format!(":yellow_circle: **Partly reviewed** -- {said}; {missing}, so this is not an approval")
        }
        Some(missing) => format!("{verdict} -- {said}; {missing}"),
    }
}
