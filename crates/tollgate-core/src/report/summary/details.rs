//! Review Details: the collapsed block with counts, coverage and withheld findings.

use crate::comment::{DETAILS_SUMMARY, Label};
use crate::coverage::{Coverage, NotReviewedGroup};
use crate::finding::Finding;
use crate::markdown::escape::{literal, literal_at_start, shown, shown_path, with_tags};
use crate::path::FilePath;
use crate::report::caveats;
use crate::report::summary::draft::{Draft, Item, Rank};
use crate::report::summary::entry;
use crate::report::summary::first_review::split;
use crate::report::summary::phrases::plural;
use crate::report::summary::re_review::Parts;
use crate::report::summary::{Comment, n_left_out};
use crate::review::{Review, Withheld, WithheldFinding};

/// The most characters of an untrusted line.
const MAX_LINE: usize = 400;

/// The most additional lines, and the most reasons for unreviewed hunks.
const MAX_LINES: usize = 100;

/// The most files that are named for one reason.
const MAX_FILES: usize = 10;

/// Writes the block below a summary.
pub(super) fn write(draft: &mut Draft, comment: &Comment<'_>) {
    open(draft);
    rest(draft, comment);
}

/// Writes the block without a summary: it also has the verdict.
pub(super) fn write_alone(draft: &mut Draft, comment: &Comment<'_>) {
    open(draft);
    draft.push(format!("- Verdict: {}\n", comment.state().markdown()));
    rest(draft, comment);
}

fn open(draft: &mut Draft) {
    draft.push(format!("<details>\n<summary>{DETAILS_SUMMARY}</summary>\n\n"));
}

fn rest(draft: &mut Draft, comment: &Comment<'_>) {
    size(draft, comment);
    findings(draft, comment);
    if let Some(coverage) = &comment.review.coverage {
        covered(draft, coverage);
    }
    doubts(draft, comment.review);
    withheld(draft, comment.review);
    since(draft, comment);
    draft.skip(comment.details.len().saturating_sub(MAX_LINES));
    for line in comment.details.iter().take(MAX_LINES) {
        let line = shown(line, MAX_LINE);
        if !line.is_empty() {
            push_item(draft, Rank::Figure, format!("- {}", with_tags(&literal_at_start(&line))));
        }
    }
    draft.more(|n_folded, _| format!("- and {n_folded} more lines\n"));
    draft.push("\n</details>\n");
}

fn size(draft: &mut Draft, comment: &Comment<'_>) {
    let review = comment.review;
    if !review.reviewed.is_null() {
        let commits = format!("{} against {}", review.reviewed.short(), review.base.short());
        let compared = review.compared.as_deref().map(|compared| shown(compared, 200));
        // A range of two commits repeats this line.
        let compared = compared.filter(|compared| !compared.is_empty() && *compared != commits);
        let compared = compared.map_or_else(String::new, |compared| format!(", {}", literal(&compared)));
        draft.push(format!("- Commit: {commits}{compared}\n"));
    }
    let n_reviewed = review.files_reviewed.len();
    match comment.analysis.map(crate::analysis::Analysis::totals) {
        Some(totals) => draft.push(format!(
            "- Files: {} changed, {n_reviewed} reviewed\n- Lines: {} added, {} removed\n",
            totals.n_files + n_left_out(comment),
            totals.n_added,
            totals.n_removed
        )),
        None => draft.push(format!("- Files: {n_reviewed} reviewed\n")),
    }
}

fn findings(draft: &mut Draft, comment: &Comment<'_>) {
    let review = comment.review;
    draft.push(format!("- Findings: {}\n", comment.state().counts().in_words()));
    let reported = match &comment.since {
        Some(since) => Parts::of(comment, since).new,
        None => review.findings.iter().collect(),
    };
    let (_, cut) = split(&reported, comment.commented);
    if !cut.is_empty() {
        draft.push(format!("- Cut by the comment cap: {}\n", cut.len()));
        for finding in &cut {
            push_item(
                draft,
                if finding.severity.blocks() { Rank::Blocker } else { Rank::Withheld },
                listed(finding, ""),
            );
        }
        draft.more(more);
    }
}

/// Writes the coverage and the unreviewed hunks.
pub(crate) fn covered(draft: &mut Draft, coverage: &Coverage) {
    let count = coverage.count();
    let skipped = coverage.skipped().into_iter().map(|(why, n)| format!(", {n} {}", literal(&shown(why, 100))));
    draft.push(format!(
        "- Coverage: {} of {} reviewed{}, {} not reviewed\n",
        count.reviewed,
        plural(coverage.hunks.len() as u64, "hunk"),
        skipped.collect::<String>(),
        count.not_reviewed
    ));
    let groups = coverage.not_reviewed();
    draft.skip(groups.len().saturating_sub(MAX_LINES));
    for group in groups.iter().take(MAX_LINES) {
        push_item(draft, Rank::NotReviewed, format!("  - not reviewed: {}", unreviewed(group)));
    }
    draft.more(more);
}

/// The answers that the findings do not settle.
fn doubts(draft: &mut Draft, review: &Review) {
    for doubt in &review.doubts {
        push_item(
            draft,
            Rank::NotReviewed,
            format!("- Not settled: {}", literal(&shown(&doubt.to_string(), MAX_LINE))),
        );
    }
    draft.more(more);
}

/// Everything but the coverage that makes a review incomplete: doubts, and the blocking claims that are unverified.
pub(crate) fn unsettled(draft: &mut Draft, review: &Review) {
    doubts(draft, review);
    let n_claims = review.unverified_blockers().count() as u64;
    if n_claims == 0 {
        return;
    }
    draft.push(format!("- Unverified: {}\n", plural(n_claims, "blocking claim")));
    for held in review.unverified_blockers() {
        push_item(draft, Rank::NotReviewed, listed(&held.finding, &held.why.to_string()));
    }
    draft.more(more);
}

/// `37 hunks in src/a.ts (12), src/b.ts and 4 more files: the call failed`.
fn unreviewed(group: &NotReviewedGroup<'_>) -> String {
    let why = literal(&shown(group.why, 200));
    let name = |file: &FilePath| literal(&shown_path(file.as_str(), 200));
    if let ([file], Some(lines)) = (group.files.as_slice(), group.only_lines) {
        return format!("{} ({lines}): {why}", name(file));
    }
    let named: Vec<String> = group.files.iter().take(MAX_FILES).map(|file| name(file)).collect();
    let n_more = group.files.len().saturating_sub(MAX_FILES) as u64;
    let more = if n_more == 0 { String::new() } else { format!(" and {}", plural(n_more, "more file")) };
    match group.n_hunks {
        1 => format!("{}{more}: {why}", named.join(", ")),
        n => format!("{} in {}{more}: {why}", plural(n as u64, "hunk"), named.join(", ")),
    }
}

/// The withheld findings: counts by reason, and a list.
fn withheld(draft: &mut Draft, review: &Review) {
    if review.withheld.is_empty() {
        return;
    }
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for withheld in &review.withheld {
        let name = kind(&withheld.why);
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n_findings)) => *n_findings += 1,
            None => kinds.push((name, 1)),
        }
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, n_findings)| format!("{n_findings} {kind}")).collect();
    draft.push(format!("- Not counted: {}\n", kinds.join(", ")));
    for withheld in &review.withheld {
        if let Some(why) = why(withheld) {
            let rank = if withheld.is_uncounted_blocker() { Rank::OldBlocker } else { Rank::Withheld };
            push_item(draft, rank, listed(&withheld.finding, &why));
        }
    }
    draft.more(more);
}

fn kind(why: &Withheld) -> &'static str {
    match why {
        Withheld::Suppressed { .. } => "suppressed",
        Withheld::OutsideChange => "outside the change",
        Withheld::Unverified(_) => "unverified",
        Withheld::BelowFloor => "below the floor",
        Withheld::IgnoredArea(_) => "in an ignored area",
        Withheld::HeldBack(_) => "held back",
        Withheld::NoConsensus { .. } => "without consensus",
    }
}

/// Why a finding is withheld; `None` for one that is only counted.
fn why(withheld: &WithheldFinding) -> Option<String> {
    (withheld.why != Withheld::OutsideChange).then(|| caveats::why_not_counted(withheld))
}

fn since(draft: &mut Draft, comment: &Comment<'_>) {
    let Some(since) = &comment.since else { return };
    let parts = Parts::of(comment, since);
    let held_back = if since.held_back == 0 { String::new() } else { format!(", {} held back", since.held_back) };
    let n_dismissed = parts.dismissed.len();
    let dismissed = if n_dismissed == 0 { String::new() } else { format!(", {n_dismissed} dismissed") };
    draft.push(format!(
        "- Since {}: {} new, {} resolved, {} still open{dismissed}{held_back}\n",
        since.head.short(),
        parts.new.len(),
        parts.resolved.len(),
        parts.still_open.len()
    ));
}

/// A finding in a list.
fn listed(finding: &Finding, why: &str) -> String {
    let tag = Label::of(finding.severity).map_or("PRAISE", Label::tag);
    let place = format!("{} ({})", literal(&entry::path(finding)), finding.location.lines);
    let why = if why.is_empty() { String::new() } else { format!(" -- {}", literal(&shown(why, 200))) };
    format!("  - [{tag}] {place}: {} ({}){why}", literal(&entry::title(finding)), finding.id)
}

fn push_item(draft: &mut Draft, rank: Rank, line: String) {
    draft.item(Item { rank, n_findings: 1, line, words: None, end: "\n" });
}

fn more(n_folded: usize, n_shown: usize) -> String {
    match n_shown {
        0 => format!("  - {n_folded}, too many to list here\n"),
        _ => format!("  - and {n_folded} more\n"),
    }
}
