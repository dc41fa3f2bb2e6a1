//! Terminal report.
//!
//! ```text
//! src/auth.js
//!
//!   F001 High/Security  user input is passed to `eval`
//!        js-eval at src/auth.js:12
//!
//!      11 │ function run(input) {
//!    > 12 │   return eval(input);
//!      13 │ }
//!
//!      Why  Attackers can run arbitrary code.
//!
//! ✖ Needs changes -- 1 major finding must be fixed before merging
//!   Coverage: complete (3 hunks in 1 file)
//! ```
//!
//! Code frames are drawn here rather than by a diagnostics crate: findings have lines but no columns, can be on removed
//! lines, and those crates panic on spans that do not fit.
//!
//! All text of the change is passed through [`visible`], so that it cannot emit terminal escapes.

mod frame;
mod paint;
mod wrap;

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::coverage::{Coverage, CoveredHunk, HunkStatus};
use crate::diff::FileDiff;
use crate::finding::{Finding, FindingId, Severity};
use crate::gate::Gate;
use crate::report::head_state::{GATE_RESULT, HeadState};
use crate::report::summary::Since;
use crate::report::summary::phrases::plural;
use crate::review::{Review, Withheld, WithheldFinding};
use crate::verdict::Colour;
use crate::visible::visible;

pub use paint::Paint;
use wrap::wrap;

/// Options of the terminal report.
#[derive(Debug, Clone)]
pub struct Look {
    /// Colours and links.
    pub paint: Paint,
    /// Columns of the terminal.
    pub width: usize,
    /// True to list withheld findings and skipped hunks.
    pub verbose: bool,
    /// True to show only new findings in full.
    pub only_new: bool,
}

impl Look {
    /// Wraps a text to the width of the terminal.
    #[must_use]
    pub fn wrap(&self, text: &str) -> Vec<String> {
        wrap(text, self.width)
    }
}

/// The most entries of secondary lists.
const MAX_LISTED: usize = 10;

/// Renders a review, and the delta to the last one if there is one.
#[must_use]
pub fn render(review: &Review, files: &[FileDiff], gate: Gate, since: Option<&Since<'_>>, look: &Look) -> String {
    let mut out = String::new();
    head(&mut out, review, files, look);
    if gate == Gate::Skipped {
        let _ = writeln!(out, "{}", visible(review.notes.as_deref().unwrap_or("Review skipped.")));
        return out;
    }
    let known: HashSet<FindingId> = match since.filter(|_| look.only_new) {
        Some(since) => since.still_open.iter().filter_map(|&index| Some(review.findings.get(index)?.id)).collect(),
        None => HashSet::new(),
    };
    let (known, shown): (Vec<&Finding>, Vec<&Finding>) =
        review.findings.iter().partition(|finding| known.contains(&finding.id));
    for (file, findings) in by_file(&shown) {
        let _ = writeln!(out, "{}\n", look.paint.file(file, look.width));
        for finding in findings {
            write_finding(&mut out, finding, files, look);
        }
    }
    list(&mut out, "Still open", &known, look);
    if let Some(since) = since {
        let resolved: Vec<&Finding> = since.resolved.iter().collect();
        list(&mut out, "Resolved since the last review", &resolved, look);
    }
    unverified_blockers(&mut out, review, look);
    if look.verbose {
        withheld(&mut out, review, look);
    } else {
        let those = |is_one: fn(&WithheldFinding) -> bool| -> Vec<&Finding> {
            review.withheld.iter().filter(|held| is_one(held)).map(|held| &held.finding).collect()
        };
        let mild = those(|held| matches!(held.why, Withheld::BelowFloor | Withheld::IgnoredArea(_)));
        list(&mut out, "Below the floor; `--profile strict` reports more", &mild, look);
        let doubtful = those(|held| match held.why {
            // The blockers among them are listed apart.
            Withheld::Unverified(_) | Withheld::NoConsensus { .. } => !held.finding.severity.blocks(),
            _ => false,
        });
        list(&mut out, "Not counted: unverified or without consensus; `--verbose` gives the reasons", &doubtful, look);
    }
    let state = match since {
        Some(since) => {
            HeadState::of(review, gate, Some(since).filter(|since| since.had_findings).map(|it| it.blockers(review)))
        }
        None => HeadState::stored(review, Some(gate)),
    };
    verdict_line(&mut out, &state, look);
    not_agreed_lines(&mut out, review, look);
    if let Some(since) = since {
        since_line(&mut out, since, look);
    }
    coverage_lines(&mut out, review, look);
    out
}

/// The delta to the last review, in one line.
fn since_line(out: &mut String, since: &Since<'_>, look: &Look) {
    let (n_resolved, n_dismissed) = (since.resolved.len(), since.dismissed.len());
    let counts = [(since.new.len(), "new"), (n_resolved, "resolved"), (since.still_open.len(), "still open")];
    let dismissed = (n_dismissed > 0).then_some((n_dismissed, "dismissed"));
    let counts: Vec<String> = counts.into_iter().chain(dismissed).map(|(n, words)| format!("{n} {words}")).collect();
    let held = if since.held_back > 0 { format!(", {} held back", since.held_back) } else { String::new() };
    let head = since.head.short();
    let line = format!("Since the review of {head}: {}{held}", counts.join(", "));
    for line in wrap(&line, look.width.saturating_sub(2)) {
        let _ = writeln!(out, "  {line}");
    }
}

/// Findings one line each, the first few of them.
fn list(out: &mut String, title: &str, findings: &[&Finding], look: &Look) {
    if findings.is_empty() {
        return;
    }
    let most = if look.verbose { usize::MAX } else { MAX_LISTED };
    let _ = writeln!(out, "{}\n", look.paint.dim(title));
    for finding in findings.iter().take(most) {
        let place = format!("{}:{}", finding.location.file, finding.location.lines.start());
        let text = format!("{}  {place}  {}", finding.severity, finding.summary);
        for (index, line) in wrap(&visible(&text), look.width.saturating_sub(4)).iter().enumerate() {
            let _ = writeln!(out, "  {}{}", if index == 0 { "" } else { "  " }, look.paint.dim(line));
        }
    }
    if findings.len() > most {
        let more = format!("and {} more; `--verbose` lists them", findings.len() - most);
        let _ = writeln!(out, "  {}", look.paint.dim(&more));
    }
    out.push('\n');
}

fn head(out: &mut String, review: &Review, files: &[FileDiff], look: &Look) {
    if let Some(compared) = &review.compared {
        let text = format!("Compared {}", visible(compared));
        for line in wrap(&text, look.width) {
            let _ = writeln!(out, "{}", look.paint.dim(&line));
        }
    }
    if !files.is_empty() {
        let added: u64 = files.iter().map(|file| u64::from(file.n_added)).sum();
        let removed: u64 = files.iter().map(|file| u64::from(file.n_removed)).sum();
        let text = format!(
            "{} changed, {} added, {} removed",
            plural(files.len() as u64, "file"),
            plural(added, "line"),
            removed
        );
        for line in wrap(&text, look.width) {
            let _ = writeln!(out, "{}", look.paint.dim(&line));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
}

/// Findings grouped by file: the file with the worst finding first, and the worst finding first in it.
fn by_file<'a>(findings: &[&'a Finding]) -> Vec<(&'a str, Vec<&'a Finding>)> {
    let mut groups: Vec<(&'a str, Vec<&'a Finding>)> = Vec::new();
    let mut index_of = std::collections::HashMap::new();
    for &finding in findings {
        let file = finding.location.file.as_str();
        let index = *index_of.entry(file).or_insert_with(|| {
            groups.push((file, Vec::new()));
            groups.len() - 1
        });
        groups[index].1.push(finding);
    }
    for (_, group) in &mut groups {
        group.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.location.lines));
    }
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.iter().map(|finding| finding.severity).max()));
    groups
}

fn write_finding(out: &mut String, finding: &Finding, files: &[FileDiff], look: &Look) {
    let label = format!("{}/{}", finding.severity, finding.category);
    let id = finding.id.to_string();
    let lead = 2 + id.len() + 1 + label.len() + 2;
    let summary = visible(finding.summary.as_str());
    let narrow = look.width < lead + 24;
    let rest = wrap(&summary, look.width.saturating_sub(if narrow { 5 } else { lead }));
    let label = look.paint.severity(finding.severity, &label);
    let mut lines = rest.iter();
    if narrow {
        let _ = writeln!(out, "  {} {label}", look.paint.dim(&id));
    } else {
        let first = lines.next().map_or("", String::as_str);
        let _ = writeln!(out, "  {} {label}  {}", look.paint.dim(&id), look.paint.bold(first));
    }
    let indent = if narrow { 5 } else { lead };
    for line in lines {
        let _ = writeln!(out, "{:indent$}{}", "", look.paint.bold(line));
    }
    let _ = writeln!(out, "       {}\n", origin(finding, look));
    out.push_str(&frame::render(finding, files, look));
    if let Some(reason) = &finding.reason {
        paragraph(out, "Why", reason, look);
    }
    frame::write_fix(out, finding, files, look);
}

fn origin(finding: &Finding, look: &Look) -> String {
    let place = format!("{}:{}", visible(finding.location.file.as_str()), finding.location.lines);
    let place = look.paint.link(finding.location.file.as_str(), finding.location.lines.start(), &place);
    let side = if finding.location.side == crate::finding::Side::Left { " (before the change)" } else { "" };
    let by = match (&finding.origin.reviewer, &finding.origin.rule) {
        (Some(reviewer), Some(rule)) if reviewer != "rules" => format!("{} {rule} at ", visible(reviewer)),
        (_, Some(rule)) => format!("{} at ", visible(rule)),
        (Some(reviewer), None) => format!("{} at ", visible(reviewer)),
        (None, None) => String::new(),
    };
    let by = match also_by(finding) {
        also if also.is_empty() => by,
        also => format!("{} and {} at ", by.trim_end_matches(" at "), visible(&also)),
    };
    format!("{}{place}{}", look.paint.dim(&by), look.paint.dim(side))
}

/// The reviewers that report the finding too.
fn also_by(finding: &Finding) -> String {
    let first = finding.origin.reviewer.as_deref();
    let others = finding.reviewers().into_iter().filter(|name| Some(*name) != first && *name != "rules");
    others.collect::<Vec<_>>().join(", ")
}

fn paragraph(out: &mut String, name: &str, text: &str, look: &Look) {
    let indent = 5 + name.len() + 2;
    let mut first = true;
    for part in text.split('\n').filter(|part| !part.trim().is_empty()) {
        for line in wrap(&visible(part.trim()), look.width.saturating_sub(indent)) {
            if first {
                let _ = writeln!(out, "     {}  {line}", look.paint.bold(name));
                first = false;
            } else {
                let _ = writeln!(out, "{:indent$}{line}", "");
            }
        }
    }
    out.push('\n');
}

/// The blocking claims that could not be verified, with the reasons: they do not count, and they keep the gate partial.
fn unverified_blockers(out: &mut String, review: &Review, look: &Look) {
    let most = if look.verbose { usize::MAX } else { MAX_LISTED };
    // The gate of the board counts findings about the whole change.
    let is_at_gate = review.extra.contains_key(GATE_RESULT);
    let (whole, claims): (Vec<&WithheldFinding>, Vec<&WithheldFinding>) =
        review.unverified_blockers().partition(|held| is_at_gate && held.counts_at_gate());
    if !whole.is_empty() {
        let _ = writeln!(out, "{}\n", look.paint.bold("About the whole change"));
        for WithheldFinding { finding, .. } in whole {
            let text = format!("{}/{} {}", finding.severity, finding.category, finding.summary);
            for (index, line) in wrap(&visible(&text), look.width.saturating_sub(4)).iter().enumerate() {
                let _ = writeln!(out, "  {}{line}", if index == 0 { "" } else { "  " });
            }
        }
        out.push('\n');
    }
    write_withheld(out, "Unverified blocking claims", &claims[..claims.len().min(most)], look);
    if claims.len() > most {
        let more = format!("and {} more; `--verbose` lists them", claims.len() - most);
        let _ = writeln!(out, "  {}\n", look.paint.dim(&more));
    }
}

fn withheld(out: &mut String, review: &Review, look: &Look) {
    let is_other = |held: &&WithheldFinding| !held.is_unverified_blocker();
    let others: Vec<&WithheldFinding> = review.withheld.iter().filter(is_other).collect();
    write_withheld(out, "Withheld findings", &others, look);
}

fn write_withheld(out: &mut String, title: &str, withheld: &[&WithheldFinding], look: &Look) {
    if withheld.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}\n", look.paint.bold(title));
    for withheld in withheld {
        let finding = &withheld.finding;
        let (severity, category, why) = (finding.severity, finding.category, &withheld.why);
        let (file, lines, summary) = (&finding.location.file, finding.location.lines, &finding.summary);
        let text = format!("{severity}/{category} {file}:{lines} {summary} ({why})");
        for (index, line) in wrap(&visible(&text), look.width.saturating_sub(4)).iter().enumerate() {
            let _ = writeln!(out, "  {}{}", if index == 0 { "" } else { "  " }, look.paint.dim(line));
        }
    }
    out.push('\n');
}

fn verdict_line(out: &mut String, state: &HeadState, look: &Look) {
    let severity = match state.colour() {
        Colour::Red => Severity::Critical,
        Colour::Yellow => Severity::Medium,
        Colour::Blue => Severity::Low,
        Colour::Green => Severity::Praise,
    };
    let label = format!("{} {}", look.paint.mark(state), state.label());
    let explanation = visible(state.explanation()).into_owned();
    let first = wrap(&format!("{label} -- {explanation}"), look.width);
    for (index, line) in first.iter().enumerate() {
        let painted = line.strip_prefix(&label).map(|rest| format!("{}{rest}", look.paint.severity(severity, &label)));
        let _ = match painted.filter(|_| index == 0) {
            Some(painted) => writeln!(out, "{painted}"),
            None => writeln!(out, "  {line}"),
        };
    }
}

/// The blockers that too few reviewers agree on: the verdict does not count them and must not hide them.
fn not_agreed_lines(out: &mut String, review: &Review, look: &Look) {
    let not_agreed: Vec<&WithheldFinding> = review.not_agreed_blockers().collect();
    if not_agreed.is_empty() {
        return;
    }
    let n_blockers = plural(not_agreed.len() as u64, "blocker");
    let title = format!("Not agreed: {n_blockers} reported by fewer reviewers than `review.consensus` asks for");
    let mut lines = wrap(&title, look.width.saturating_sub(2));
    for WithheldFinding { finding, why } in &not_agreed {
        let place = format!("{}:{}", finding.location.file, finding.location.lines.start());
        let text = format!("{}  {place}  {} ({why})", finding.severity, finding.summary);
        lines.extend(wrap(&visible(&text), look.width.saturating_sub(4)).iter().map(|line| format!("  {line}")));
    }
    for line in lines {
        let _ = writeln!(out, "  {}", look.paint.severity(Severity::Medium, &line));
    }
}

fn coverage_lines(out: &mut String, review: &Review, look: &Look) {
    let suppressed = review.withheld.iter().filter(|held| matches!(held.why, Withheld::Suppressed { .. })).count();
    let others = review.withheld.len() - suppressed;
    if let Some(coverage) = &review.coverage {
        let figures = coverage.count();
        let total = figures.reviewed + figures.skipped + figures.not_reviewed;
        let n_files = plural(review.files_reviewed.len() as u64, "file");
        let mut line = if figures.reviewed == total {
            format!("Coverage: complete ({} in {n_files})", plural(total as u64, "hunk"))
        } else {
            format!("Coverage: {} of {} in {n_files}", figures.reviewed, plural(total as u64, "hunk"))
        };
        for (why, n) in coverage.skipped() {
            let _ = write!(line, ", {n} {}", visible(why));
        }
        if figures.not_reviewed > 0 {
            let _ = write!(line, ", {} not reviewed", figures.not_reviewed);
        }
        for (n, words) in [(suppressed, "suppressed"), (others, "withheld")] {
            if n > 0 {
                let _ = write!(line, ", {} {words}", plural(n as u64, "finding"));
            }
        }
        for line in wrap(&line, look.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {}", look.paint.dim(&line));
        }
        not_reviewed_lines(out, coverage, look);
        if look.verbose {
            let skipped = coverage.hunks.iter().filter_map(|hunk| match &hunk.status {
                HunkStatus::Skipped(reason) => Some((hunk, reason)),
                HunkStatus::Reviewed | HunkStatus::NotReviewed(_) => None,
            });
            list_skipped(out, skipped, look);
        }
    }
}

/// One line per reason, with the files.
fn not_reviewed_lines(out: &mut String, coverage: &Coverage, look: &Look) {
    let most = if look.verbose { usize::MAX } else { MAX_LISTED };
    for group in coverage.not_reviewed() {
        let files: Vec<_> = group.files.iter().take(most).map(|file| visible(file.as_str())).collect();
        let n_more = group.files.len().saturating_sub(most);
        let more = if n_more == 0 { String::new() } else { format!(" and {n_more} more; `--verbose` lists them") };
        let hunks = if group.n_hunks == 1 { String::new() } else { format!(", {} hunks", group.n_hunks) };
        let row = format!("not reviewed{hunks}: {}{more} ({})", files.join(", "), visible(group.why));
        for line in wrap(&row, look.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// One line per file and reason.
fn list_skipped<'a>(out: &mut String, hunks: impl Iterator<Item = (&'a CoveredHunk, &'a String)>, look: &Look) {
    let mut rows: Vec<(String, usize)> = Vec::new();
    for (hunk, reason) in hunks {
        let row = format!("skipped: {} ({})", visible(hunk.file.as_str()), visible(reason));
        match rows.last_mut() {
            Some((last, n_hunks)) if *last == row => *n_hunks += 1,
            _ => rows.push((row, 1)),
        }
    }
    for (row, n_hunks) in &rows {
        let row = if *n_hunks > 1 { format!("{row}, {n_hunks} hunks") } else { row.clone() };
        for line in wrap(&row, look.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
}

#[cfg(test)]
mod tests;
