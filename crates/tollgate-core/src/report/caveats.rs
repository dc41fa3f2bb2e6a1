//! What keeps a verdict from being plain, in plain text: why a review is incomplete, and blockers that do not count.
//!
//! Formats that are lists of findings share these sentences. They quote untrusted text and are not escaped.

use crate::coverage::{Coverage, NotReviewedGroup};
use crate::finding::Finding;
use crate::report::summary::phrases::plural;
use crate::review::{Review, Withheld, WithheldFinding};

/// The most files that are named for one reason.
const MAX_FILES: usize = 100;

/// Why the review is incomplete, each reason once: unreviewed hunks, and [`unsettled`].
pub(super) fn incomplete(review: &Review) -> Vec<String> {
    let groups = review.coverage.iter().flat_map(Coverage::not_reviewed);
    groups.map(|group| format!("{}: {}", places(&group), group.why)).chain(unsettled(review)).collect()
}

/// The hunks of a group: `src/a.rs:4`, or `40 hunks in src/a.rs, src/b.rs`.
pub(super) fn places(group: &NotReviewedGroup<'_>) -> String {
    let named: Vec<&str> = group.files.iter().take(MAX_FILES).map(|file| file.as_str()).collect();
    let n_more = group.files.len().saturating_sub(MAX_FILES) as u64;
    let more = if n_more == 0 { String::new() } else { format!(" and {}", plural(n_more, "more file")) };
    match (group.n_hunks, group.only_lines) {
        (1, Some(lines)) => format!("{}:{lines}", named.join(", ")),
        (1, None) => named.join(", "),
        (n_hunks, _) => format!("{} in {}{more}", plural(n_hunks as u64, "hunk"), named.join(", ")),
    }
}

/// Why the review is incomplete beside unreviewed hunks: no hunks or all skipped, unverified blocking claims, doubts.
pub(super) fn unsettled(review: &Review) -> Vec<String> {
    let nothing_read = review.coverage.iter().filter(|coverage| coverage.hunks.is_empty() || coverage.is_all_skipped());
    let nothing_read = nothing_read.filter_map(Coverage::incomplete_because);
    let unverified = review.unverified_blockers().map(|held| {
        let Finding { severity, location, summary, .. } = &held.finding;
        format!("unverified: {severity} {}:{} {summary} ({})", location.file, location.lines, held.why)
    });
    nothing_read.chain(unverified).chain(review.doubts.iter().map(ToString::to_string)).collect()
}

/// Why a blocker does not count, as a clause.
pub(super) fn why_not_counted(held: &WithheldFinding) -> String {
    match held.why {
        Withheld::NoConsensus { .. } => format!("not agreed: {}", held.why),
        _ => held.why.to_string(),
    }
}

/// A blocker that does not count: `High src/a.rs:3 SQL injection (suppressed by a dismissal by alice: a fixture)`.
pub(super) fn not_counted(held: &WithheldFinding) -> String {
    let Finding { id, severity, location, summary, .. } = &held.finding;
    format!("{id} {severity} {}:{} {summary} ({})", location.file, location.lines, why_not_counted(held))
}
