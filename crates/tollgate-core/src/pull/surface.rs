//! Renders a review for a pull request: summary comment, inline comments and check run.
//!
//! ```text
//! findings ─► new and not yet commented ─► at lines │ at files │ in the review body
//!          └► without an inline comment ─► annotations of the check
//! state ─► verdict line of the check, its conclusion
//! ```
//!
//! Every reported finding stands in exactly one of the three places, and has an annotation only without an inline
//! comment. Text of reviewers is escaped: no mention, no link, no markup. Publishing is up to the caller.

mod check;
mod inline;
mod review_body;

use std::collections::{BTreeSet, HashSet};

use crate::diff::FileDiff;
use crate::finding::{Finding, LineRange, Severity, Side};
use crate::finding_key::FindingKey;
use crate::names::names;
use crate::path::FilePath;
use crate::pull::anchor::{Anchor, AnchorIndex};
use crate::pull::check_run::{CheckOutput, Conclusion};
use crate::pull::inline_comment::InlineComment;
use crate::pull::marker::Marker;
use crate::report::head_state::HeadState;
use crate::review::{Review, Withheld};
use crate::sha::Sha;
use crate::verdict::CommentVerdict;

pub use check::conclusion;

/// The most inline comments in one review.
pub const MAX_INLINE: usize = 30;
/// The most comments at whole files.
pub const MAX_AT_FILES: usize = 10;

/// The inputs of a surface.
#[derive(Clone, Copy)]
pub struct SurfaceInput<'a> {
    /// The reviewer's name, for people.
    pub bot: &'a str,
    /// The name behind `@`; `None` where no server answers bot commands, which are then not offered.
    pub mention: Option<&'a str>,
    /// The commit that was reviewed.
    pub head: &'a Sha,
    /// The review.
    pub review: &'a Review,
    /// The diff on the forge: from the merge base to the head.
    pub files: &'a [FileDiff],
    /// The state of the head.
    pub state: &'a HeadState,
    /// The text of the summary, by [`report::summary`](crate::report::summary); `None` when there is nothing to report.
    pub summary: Option<&'a str>,
    /// The indices of new findings; `None` when all are new.
    pub new: Option<&'a [usize]>,
    /// The keys of findings that have an inline comment already.
    pub known: &'a BTreeSet<String>,
    /// The most findings with an inline comment, the worst first. Criticals always have one.
    pub cap: Option<usize>,
    /// The URL of lines of a file.
    pub url_of: &'a dyn Fn(&FilePath, Option<LineRange>, Side) -> String,
    /// The URL of the full review.
    pub details_url: Option<&'a str>,
    /// The configured surfaces.
    pub mode: Mode,
    /// Whether a clean change is approved.
    pub auto_approve: bool,
}

/// The configured surfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Summary comment and inline comments.
    #[default]
    Standard,
    /// Inline comments only.
    Enhanced,
}

names!(Mode {
    Standard => "standard",
    Enhanced => "enhanced",
});

/// The action of a review on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAction {
    /// Comments.
    Comment,
    /// Approves.
    Approve,
    /// Requests changes.
    RequestChanges,
}

/// The comments and the check of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// The summary comment with its marker.
    pub summary: Option<String>,
    /// The replacement of an existing summary when there is no new one: an old summary must not keep resolved findings.
    pub settled: Option<String>,
    /// The review with its inline comments.
    pub review: Option<ReviewPost>,
    /// Comments at whole files, which cannot be part of a review.
    pub at_files: Vec<InlineComment>,
    /// The conclusion and output of the check.
    pub check: (Conclusion, CheckOutput),
}

/// A review to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPost {
    /// Its body with its marker. Never empty.
    pub body: String,
    /// Its action.
    pub act: ReviewAction,
    /// Its inline comments.
    pub inline: Vec<InlineComment>,
}

/// Renders a review.
#[must_use]
pub fn surface(input: &SurfaceInput<'_>) -> Surface {
    let places = AnchorIndex::new(input.files);
    let parts = Parts::of(input, &places);
    let commented: HashSet<&str> =
        parts.inline.iter().chain(&parts.at_files).map(|inline| inline.key.as_str()).collect();
    let check = (conclusion(input.state, input.review), check::text(input, &places, &commented));
    let act = act(input);
    let mark = Marker::Review { head: input.head.clone() };
    let has_words = !parts.inline.is_empty() || !parts.nowhere.is_empty() || !parts.more.is_empty();
    let body = if has_words { review_body::body(input, &parts, &places) } else { String::new() };
    let review = (has_words || act == ReviewAction::Approve).then(|| ReviewPost {
        body: mark.below(&body),
        act,
        inline: parts.inline,
    });
    let mark = Marker::Summary { head: input.head.clone() };
    let is_wanted = input.mode == Mode::Standard;
    let summary = input.summary.filter(|_| is_wanted).map(|text| mark.below(text));
    let settled = (is_wanted && summary.is_none()).then(|| mark.below(&settled(input)));
    Surface { summary, settled, review, at_files: parts.at_files, check }
}

/// The action of a review. An approval needs an open gate, full coverage, only minor findings and none withheld. With
/// auto-approval, a closed gate requests changes, so that an earlier approval does not outlive it.
fn act(input: &SurfaceInput<'_>) -> ReviewAction {
    let review = input.review;
    let verdict = CommentVerdict::of(review.findings.iter().map(|finding| finding.severity));
    let is_fine = matches!(verdict, CommentVerdict::Approve | CommentVerdict::ApproveWithNotes)
        && review.withheld.iter().all(|withheld| withheld.why == Withheld::OutsideChange);
    match conclusion(input.state, review) {
        _ if !input.auto_approve => ReviewAction::Comment,
        Conclusion::Success if is_fine => ReviewAction::Approve,
        Conclusion::Failure => ReviewAction::RequestChanges,
        Conclusion::Success | Conclusion::ActionRequired | Conclusion::Neutral => ReviewAction::Comment,
    }
}

fn settled(input: &SurfaceInput<'_>) -> String {
    format!("{}\n\nReviewed at {}: no open findings.", input.state.markdown(), input.head.short())
}

/// A finding and the key of its comment.
#[derive(Clone, Copy)]
struct Keyed<'a> {
    finding: &'a Finding,
    key: FindingKey,
}

/// The reported findings by their place.
#[derive(Default)]
struct Parts<'a> {
    inline: Vec<InlineComment>,
    at_files: Vec<InlineComment>,
    /// Findings without an anchor in the diff.
    nowhere: Vec<Keyed<'a>>,
    /// Findings over the limits.
    more: Vec<Keyed<'a>>,
    /// The severities of all of them.
    severities: Vec<Severity>,
}

impl<'a> Parts<'a> {
    fn of(input: &SurfaceInput<'a>, places: &AnchorIndex<'_>) -> Self {
        let reported = reported(input);
        let n_critical = reported.iter().filter(|keyed| keyed.finding.severity == Severity::Critical).count();
        let cap = input.cap.map_or(usize::MAX, |cap| cap.max(n_critical).max(1));
        let severities = reported.iter().map(|keyed| keyed.finding.severity).collect();
        let mut parts = Self { severities, ..Self::default() };
        let mut writer = inline::Writer::new(input, places);
        for (index, keyed) in reported.into_iter().enumerate() {
            let placed = places.of(&keyed.finding.location);
            match placed {
                Anchor::Outside => parts.nowhere.push(keyed),
                _ if index >= cap => parts.more.push(keyed),
                Anchor::File if parts.at_files.len() < MAX_AT_FILES => {
                    parts.at_files.extend(writer.write(keyed, placed));
                }
                Anchor::Exact(_) | Anchor::Nearest(_) if parts.inline.len() < MAX_INLINE => {
                    parts.inline.extend(writer.write(keyed, placed));
                }
                Anchor::File | Anchor::Exact(_) | Anchor::Nearest(_) => parts.more.push(keyed),
            }
        }
        parts
    }
}

/// All findings with the keys of their comments.
fn keyed<'a>(input: &SurfaceInput<'a>) -> impl Iterator<Item = Keyed<'a>> {
    let findings = &input.review.findings;
    let new: HashSet<usize> = input.new.iter().copied().flatten().copied().collect();
    let keys = FindingKey::numbered(findings, |index| new.contains(&index));
    findings.iter().zip(keys).map(|(finding, key)| Keyed { finding, key })
}

/// The findings to comment on, the worst first. Praise stands in the summary.
fn reported<'a>(input: &SurfaceInput<'a>) -> Vec<Keyed<'a>> {
    let new: Option<HashSet<usize>> = input.new.map(|new| new.iter().copied().collect());
    let is_new = |index: usize| new.as_ref().is_none_or(|new| new.contains(&index));
    let mut reported: Vec<Keyed<'_>> = keyed(input)
        .enumerate()
        .filter(|(index, keyed)| is_new(*index) && keyed.finding.severity != Severity::Praise)
        .filter(|(_, keyed)| !input.known.contains(&keyed.key.to_string()))
        .map(|(_, keyed)| keyed)
        .collect();
    reported.sort_by_key(|keyed| std::cmp::Reverse(keyed.finding.severity));
    reported
}

#[cfg(test)]
mod tests;
