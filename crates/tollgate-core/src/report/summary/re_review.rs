//! The summary of a re-review: new, resolved and still open findings.

use std::collections::HashSet;

use crate::comment::{Label, item::key};
use crate::finding::Finding;
use crate::markdown::escape::{literal, shown};
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::entry::{self, merge};
use crate::report::summary::first_review;
use crate::report::summary::{Comment, Since, write_what_changed};
use crate::review::WithheldFinding;

/// Writes the sections; `None` without findings.
pub(super) fn write(draft: &mut Draft, comment: &Comment<'_>, since: &Since<'_>) -> Option<()> {
    let Parts { new, resolved, dismissed, still_open } = Parts::of(comment, since);
    if new.is_empty() && resolved.is_empty() && dismissed.is_empty() && still_open.is_empty() {
        return None;
    }
    draft.push(format!("## Re-review -- Changes since {}\n\n", since.head.short()));
    write_what_changed(draft, comment);
    let open_keys: HashSet<String> = still_open.iter().map(|finding| key(&plain(finding))).collect();
    let (commented, cut) = first_review::split(&new, comment.commented);
    write_new(draft, &commented, &open_keys);
    first_review::say_cut(draft, cut.len());
    write_resolved(draft, &resolved, &open_keys);
    write_dismissed(draft, &dismissed, &open_keys);
    write_still_open(draft, &still_open);
    draft.push(format!("\n## Verdict Update\n{}\n", comment.state().markdown()));
    Some(())
}

/// The findings of each section, without praise, the worst first.
pub(super) struct Parts<'a> {
    pub(super) new: Vec<&'a Finding>,
    pub(super) resolved: Vec<&'a Finding>,
    pub(super) dismissed: Vec<&'a WithheldFinding>,
    pub(super) still_open: Vec<&'a Finding>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(comment: &Comment<'a>, since: &Since<'a>) -> Self {
        let findings = &comment.review.findings;
        let indexed = |indices: &[usize]| worst_first(indices.iter().filter_map(|&index| findings.get(index)));
        let mut dismissed: Vec<&WithheldFinding> =
            since.dismissed.iter().filter(|held| Label::of(held.finding.severity).is_some()).collect();
        dismissed.sort_by_key(|held| std::cmp::Reverse(held.finding.severity));
        let (new, still_open) = (indexed(since.new), indexed(since.still_open));
        Self { new, resolved: worst_first(since.resolved), dismissed, still_open }
    }
}

fn worst_first<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<&'a Finding> {
    let mut findings: Vec<&Finding> =
        findings.into_iter().filter(|finding| Label::of(finding.severity).is_some()).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn write_new(draft: &mut Draft, new: &[&Finding], open_keys: &HashSet<String>) {
    if new.is_empty() {
        return;
    }
    draft.push("\n## New Findings\n");
    for (index, entry) in merge(new.iter().copied()).iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        let (path, title) = (entry.path(), entry.title());
        let title = distinct(&path, title, "another place", open_keys);
        let tag = entry.label.tag();
        let (path, title, ids) = (literal(&path), literal(&title), entry.ids());
        let line = format!("{gap}:new: [{tag}] {path}{}: {title} ({ids})", entry.lines());
        draft.item(first_review::item(entry, line));
    }
    draft.more(more_below);
}

fn write_resolved(draft: &mut Draft, resolved: &[&Finding], open_keys: &HashSet<String>) {
    if resolved.is_empty() {
        return;
    }
    draft.push("\n## Resolved Findings\n");
    for finding in resolved {
        let path = entry::path(finding);
        let title = distinct(&path, entry::title(finding), "in one place of several", open_keys);
        let line = format!(":white_check_mark: [{}] {}: {} -- resolved", tag(finding), literal(&path), literal(&title));
        draft.item(old(finding, line));
    }
    draft.more(more_below);
}

fn write_dismissed(draft: &mut Draft, dismissed: &[&WithheldFinding], open_keys: &HashSet<String>) {
    if dismissed.is_empty() {
        return;
    }
    draft.push("\n## Dismissed Findings\n");
    for held in dismissed {
        let finding = &held.finding;
        let path = entry::path(finding);
        let title = distinct(&path, entry::title(finding), "in one place of several", open_keys);
        let (path, title, why) = (literal(&path), literal(&title), literal(&shown(&held.why.to_string(), 200)));
        draft.item(old(finding, format!(":mute: [{}] {path}: {title} -- {why}", tag(finding))));
    }
    draft.more(more_below);
}

fn write_still_open(draft: &mut Draft, still_open: &[&Finding]) {
    if still_open.is_empty() {
        return;
    }
    draft.push(format!(
        "\n## Still Open\n{} finding(s) from the previous review remain open.\n\n\
         <details>\n<summary>View still-open findings</summary>\n\n",
        still_open.len()
    ));
    for finding in still_open {
        let line = format!("- [{}] {} ({})", tag(finding), literal(&plain(finding)), finding.id);
        draft.item(old(finding, line));
    }
    draft.more(|n_folded, _| format!("- and {n_folded} more\n"));
    draft.push("\n</details>\n");
}

fn more_below(n_folded: usize, n_shown: usize) -> String {
    match n_shown {
        0 => format!("and {n_folded} more, too many to list here\n"),
        _ => format!("\nand {n_folded} more\n"),
    }
}

fn old(finding: &Finding, line: String) -> Item {
    let rank = if finding.severity.blocks() { Rank::OldBlocker } else { Rank::Old };
    Item { rank, n_findings: 1, line, words: None, end: "\n" }
}

fn tag(finding: &Finding) -> &'static str {
    Label::of(finding.severity).map_or("", Label::tag)
}

/// The displayed `path: title`.
fn plain(finding: &Finding) -> String {
    format!("{}: {}", entry::path(finding), entry::title(finding))
}

/// A title that differs from those still open: equal findings of a file may be resolved and open.
fn distinct(path: &str, mut title: String, words: &str, open_keys: &HashSet<String>) -> String {
    while open_keys.contains(&key(&format!("{path}: {title}"))) {
        title = format!("{title} ({words})");
    }
    title
}
