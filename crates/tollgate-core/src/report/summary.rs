//! The summary comment: five sections for a first review, the delta for a re-review.
//!
//! ```markdown
//! <details>
//! <summary>Kodiai Review Summary</summary>
//!
//! ## What Changed
//! Retries when the server is busy.
//!
//! 2 files changed, 31 lines added and 4 removed.
//! Reviewed: core logic, tests
//!
//! ## Observations
//!
//! ### Major
//! src/retry.ts (12, 15-18): The delay is never reset (2 findings: F001, F002)
//! After an hour every request waits a minute.
//!
//! ## Verdict
//! :yellow_circle: **Needs changes** -- 2 major findings must be fixed before merging
//!
//! </details>
//!
//! <details>
//! <summary>Review Details</summary>
//! …
//! ```
//!
//! The output passes [`comment::check`](crate::comment::check) for any findings: their text is escaped. It also stays
//! within the size limit of forges: explanations are shortened first, then lists are folded into counts, blocking
//! findings last.
//!
//! A review without findings has no comment, except Review Details where blockers do not count. Publishing and approving are decided elsewhere.

pub(crate) mod details;
pub(crate) mod draft;
mod entry;
pub(crate) mod first_review;
pub(crate) mod phrases;
pub mod purpose;
mod re_review;

use std::collections::HashSet;

use crate::analysis::{Analysis, Category};
use crate::comment::section::is_placeholder;
use crate::comment::{Kind, summary_text};
use crate::coverage::HunkStatus;
use crate::finding::{Finding, Severity};
use crate::gate::Gate;
use crate::html::escape_markup;
use crate::markdown::escape::{literal_at_start, shown, with_tags};
use crate::path::FilePath;
use crate::report::head_state::{BlockerDelta, HeadState};
use crate::report::summary::draft::Draft;
use crate::report::summary::phrases::{plural, sentences};
use crate::review::{Review, WithheldFinding};
use crate::sha::Sha;

/// The most bytes. Forges accept 65,536 characters; the rest is for the marker.
pub const MAX_LEN: usize = 65_000;

/// The inputs of a summary comment.
#[derive(Debug, Clone, Copy)]
pub struct Comment<'a> {
    /// The reviewer's name, in front of `Review Summary`.
    pub bot: &'a str,
    /// The review.
    pub review: &'a Review,
    /// The decision of the gate.
    pub gate: Gate,
    /// The diff analysis.
    pub analysis: Option<&'a Analysis>,
    /// One to three sentences on the purpose of the change, or of its new commits in a re-review.
    pub what: Option<&'a str>,
    /// Facts that the program checked, for Strengths.
    pub checked: &'a [String],
    /// The line on keywords that the author declared.
    pub keywords: Option<&'a str>,
    /// True for work in progress, which gets early feedback.
    pub early_feedback: bool,
    /// The most findings in the sections, the worst first; others are listed in Review Details. Criticals always count.
    pub commented: Option<usize>,
    /// Further lines for Review Details.
    pub details: &'a [String],
    /// The delta to the last review, if that had findings.
    pub since: Option<Since<'a>>,
}

/// The delta to the last review.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// The commit of the last review.
    pub head: &'a Sha,
    /// The indices of new findings.
    pub new: &'a [usize],
    /// The resolved findings of the last review.
    pub resolved: &'a [Finding],
    /// The findings of the last review that are suppressed now.
    pub dismissed: &'a [WithheldFinding],
    /// The indices of findings that are still open.
    pub still_open: &'a [usize],
    /// The lines that were added since the last review.
    pub n_added: usize,
    /// The lines that were removed since the last review.
    pub n_removed: usize,
    /// The findings held back because earlier reviews passed their lines.
    pub held_back: usize,
    /// True when the last review had findings, so that there is something to compare with.
    pub had_findings: bool,
}

impl Comment<'_> {
    /// The state of the head.
    #[must_use]
    pub fn state(&self) -> HeadState {
        HeadState::of(self.review, self.gate, self.since.as_ref().map(|since| since.blockers(self.review)))
    }
}

impl Since<'_> {
    /// The blockers of the delta.
    #[must_use]
    pub fn blockers(&self, review: &Review) -> BlockerDelta {
        let of = |indices: &[usize]| -> Vec<Severity> {
            indices.iter().filter_map(|&index| Some(review.findings.get(index)?.severity)).collect()
        };
        let dismissed = self.dismissed.iter().map(|held| held.finding.severity);
        let resolved = self.resolved.iter().map(|finding| finding.severity);
        BlockerDelta::of(of(self.new), resolved, of(self.still_open)).dismissing(dismissed)
    }
}

/// Writes the comment; Review Details alone where the only findings are blockers that do not count; `None` without any.
#[must_use]
pub fn write(comment: &Comment<'_>) -> Option<String> {
    let is_mild = || comment.review.uncounted_blockers().next().is_some();
    write_sections(comment).or_else(|| is_mild().then(|| write_details(comment)))
}

fn write_sections(comment: &Comment<'_>) -> Option<String> {
    let mut draft = Draft::default();
    let kind = if comment.since.is_some() { Kind::ReReview } else { Kind::Review };
    let summary = summary_text(kind, comment.bot).unwrap_or_default();
    draft.push(format!("<details>\n<summary>{}</summary>\n\n", escape_markup(&summary)));
    match &comment.since {
        Some(since) => re_review::write(&mut draft, comment, since)?,
        None => first_review::write(&mut draft, comment)?,
    }
    draft.push("\n</details>\n\n");
    details::write(&mut draft, comment);
    Some(draft.finish(MAX_LEN))
}

/// Writes Review Details alone.
#[must_use]
pub fn write_details(comment: &Comment<'_>) -> String {
    let mut draft = Draft::default();
    details::write_alone(&mut draft, comment);
    draft.finish(MAX_LEN)
}

/// Writes `## What Changed`.
fn write_what_changed(draft: &mut Draft, comment: &Comment<'_>) {
    let told = comment.what.map(|what| shown(&sentences(what, 3), 600)).filter(|what| !is_placeholder(what, true));
    let what = told.map_or_else(String::new, |what| format!("{}\n\n", literal_at_start(&what)));
    let mut lines = Vec::new();
    if comment.early_feedback {
        lines.push("Early feedback: this is work in progress, so style and minor remarks are left out.".to_owned());
    }
    lines.extend(reviewed_line(comment));
    lines.extend(
        comment
            .keywords
            .map(|line| shown(line, 500))
            .filter(|line| !line.is_empty())
            .map(|line| with_tags(&literal_at_start(&line))),
    );
    let lines = if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) };
    draft.push(format!("## What Changed\n{what}{}\n{lines}", figures(comment)));
}

/// The size of the change, or of what is new in it since the last review, in one line.
fn figures(comment: &Comment<'_>) -> String {
    if comment.analysis.is_some_and(|analysis| analysis.files.is_empty()) && n_left_out(comment) == 0 {
        return "The change is empty: nothing differs from its base.".to_owned();
    }
    let Some(since) = &comment.since else { return size(comment) };
    let lines = |n_lines: usize| plural(n_lines as u64, "line");
    let fresh = match (since.n_added, since.n_removed) {
        (0, 0) => "No line of the change is new".to_owned(),
        (n_added, 0) => format!("{} added", lines(n_added)),
        (0, n_removed) => format!("{} removed", lines(n_removed)),
        (n_added, n_removed) => format!("{} added and {n_removed} removed", lines(n_added)),
    };
    format!("{fresh} since {}.", since.head.short())
}

fn size(comment: &Comment<'_>) -> String {
    match comment.analysis.map(Analysis::totals) {
        Some(totals) => {
            let n_left_out = n_left_out(comment);
            let n_files = plural(totals.n_files + n_left_out, "file");
            let read = if n_left_out == 0 { String::new() } else { format!(", {} of them read", totals.n_files) };
            format!(
                "{n_files} changed{read}, {} added and {} removed.",
                plural(totals.n_added, "line"),
                totals.n_removed
            )
        }
        None => format!("{} reviewed.", plural(comment.review.files_reviewed.len() as u64, "file")),
    }
}

/// The files that exceeded the diff limit: they are neither reviewed nor in the analysis.
fn n_left_out(comment: &Comment<'_>) -> u64 {
    let files = comment.analysis.map(|analysis| analysis.files.as_slice()).unwrap_or_default();
    let read: HashSet<FilePath> = files.iter().map(|file| FilePath::of_repo_path(&file.path)).collect();
    let hunks = comment.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    let missing =
        hunks.filter(|covered| matches!(covered.status, HunkStatus::NotReviewed(_))).map(|covered| &covered.file);
    missing.filter(|file| !read.contains(*file)).collect::<HashSet<_>>().len() as u64
}

/// `Reviewed: core logic, tests`, from the categories that have files; in a re-review, from those that were read again.
fn reviewed_line(comment: &Comment<'_>) -> Option<String> {
    let read: HashSet<&FilePath> = comment.review.files_reviewed.iter().collect();
    let is_read = |path: &FilePath| comment.since.is_none() || read.contains(path);
    let files = &comment.analysis?.files;
    let has_files = |category: &Category| {
        files.iter().any(|file| file.category == *category && is_read(&FilePath::of_repo_path(&file.path)))
    };
    let labels: Vec<&str> = Category::ALL.into_iter().filter(has_files).map(label).collect();
    (!labels.is_empty()).then(|| format!("Reviewed: {}", labels.join(", ")))
}

fn label(category: Category) -> &'static str {
    match category {
        Category::Source => "core logic",
        Category::Test => "tests",
        Category::Config => "config",
        Category::Docs => "docs",
        Category::Infra => "infrastructure",
    }
}
