//! The summary comment of a review: its text for `--format summary` and for pull requests.

use tollgate_core::report::summary::{self, Comment};
use tollgate_core::review::Review;
use tollgate_rules::hit::REVIEWER;

use super::{Reviewed, ReviewerRun, SinceLast};

/// The text of the summary; `None` when there is nothing to report. An incomplete review has its coverage at least.
#[must_use]
pub fn summary_text(reviewed: &Reviewed, bot: &str, since: Option<&SinceLast>) -> Option<String> {
    let analysis = reviewed.change.analyze();
    let (keywords, details) = (reviewed.intent.brief(), details(reviewed));
    let comment = Comment {
        analysis: Some(&analysis),
        keywords: keywords.as_deref(),
        early_feedback: reviewed.policy.early_feedback,
        commented: Some(reviewed.policy.cap),
        details: &details,
        since: since.filter(|since| since.had_findings()).map(SinceLast::for_report),
        ..bare_comment(&reviewed.review, bot)
    };
    write(&comment)
}

/// The text of the summary of a stored review, of which nothing but the review is known.
#[must_use]
pub fn stored_summary_text(review: &Review, bot: &str) -> Option<String> {
    write(&bare_comment(review, bot))
}

/// A comment with the content of a review alone.
pub(crate) fn bare_comment<'a>(review: &'a Review, bot: &'a str) -> Comment<'a> {
    Comment {
        bot,
        review,
        analysis: None,
        what: None,
        keywords: None,
        early_feedback: false,
        commented: None,
        details: &[],
        since: None,
    }
}

fn write(comment: &Comment<'_>) -> Option<String> {
    // A review without findings may be an incomplete one, which must not pass in silence.
    let coverage = || (!comment.review.is_complete()).then(|| summary::write_details(comment));
    summary::write(comment).or_else(coverage)
}

/// The lines of Review Details beside the figures.
fn details(reviewed: &Reviewed) -> Vec<String> {
    let mut lines = reviewed.intent.details();
    lines.extend(reviewed.policy.changes.iter().cloned());
    // Remarks on the intent are among the notes as well.
    for note in reviewed.review.notes.iter().flat_map(|notes| notes.lines()) {
        if !lines.iter().any(|line| line == note) {
            lines.push(note.to_owned());
        }
    }
    let review = &reviewed.review;
    let all = review.findings.iter().chain(review.withheld.iter().map(|withheld| &withheld.finding));
    let asked = reviewed.runs.iter().map(|run| run.name.as_str());
    let mut reviewers: Vec<&str> =
        all.filter_map(|finding| finding.origin.reviewer.as_deref()).chain(asked).chain([REVIEWER]).collect();
    reviewers.sort_unstable();
    reviewers.dedup();
    lines.push(format!("Reviewers: {}", reviewers.join(", ")));
    lines.extend(reviewed.runs.iter().map(ReviewerRun::in_words));
    lines
}
