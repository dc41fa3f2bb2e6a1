//! What a review looks like on a pull request: a summary, comments at lines, and a check.
//!
//! ```text
//! findings ─► new and not yet commented ─► at lines │ at files │ in the text of the review
//!          └► all ─► annotations of the check, its conclusion
//! ```
//!
//! Every finding that is to be commented on stands in exactly one of the three places. Nothing is posted here, and what
//! reviewers said means nothing but itself: no mention, no link, no markup.

mod check;
mod inline;
mod listed;

use std::collections::{BTreeSet, HashSet};

use crate::diff::FileDiff;
use crate::finding::{Finding, LineRange, Severity, Side};
use crate::gate::Gate;
use crate::path::FilePath;
use crate::pull::key::Key;
use crate::pull::mark::Mark;
use crate::pull::place::{Placed, Places};
use crate::pull::post::{CheckText, Conclusion, Inline};
use crate::review::{Review, Withheld};
use crate::sha::Sha;
use crate::verdict::CommentVerdict;

pub use check::conclusion;

/// The most comments at lines in one review, and at files.
pub const MAX_INLINE: usize = 30;
/// The most comments at files.
pub const MAX_AT_FILES: usize = 10;

/// Everything that is shown of a review is made of this.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The reviewer's name, for people.
    pub bot: &'a str,
    /// The name that people put behind `@`.
    pub mention: &'a str,
    /// The commit that was reviewed.
    pub head: &'a Sha,
    /// The review.
    pub review: &'a Review,
    /// The diff that the host shows: from the merge base to the head.
    pub files: &'a [FileDiff],
    /// What the gate says.
    pub gate: Gate,
    /// The text of the summary, by [`report::summary`](crate::report::summary); `None` when there is nothing to report.
    pub summary: Option<&'a str>,
    /// The findings that are new, by their index; `None` when all are.
    pub new: Option<&'a [usize]>,
    /// The keys of findings that have a comment of ours.
    pub known: &'a BTreeSet<String>,
    /// How many findings get a comment of their own, the worst first. Criticals always do.
    pub cap: Option<usize>,
    /// Where the host shows lines of a file.
    pub url_of: &'a dyn Fn(&FilePath, Option<LineRange>, Side) -> String,
    /// Where people read all of the review.
    pub details_url: Option<&'a str>,
    /// Which surfaces are wanted.
    pub mode: Mode,
    /// Whether a change that has nothing against it is approved.
    pub auto_approve: bool,
}

/// Which surfaces are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A summary, and comments at lines.
    #[default]
    Standard,
    /// Comments at lines alone.
    Enhanced,
}

impl Mode {
    /// The word of the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Enhanced => "enhanced",
        }
    }

    /// Reads the word of the configuration.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Standard, Self::Enhanced].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// What a review does to a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Says something.
    Comment,
    /// Approves.
    Approve,
    /// Asks for changes.
    RequestChanges,
}

/// What shall be seen on a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// The summary, with its mark.
    pub summary: Option<String>,
    /// What a summary that is there already shall say where there is none to write: it must not go on about findings
    /// that are gone.
    pub settled: Option<String>,
    /// The review with its comments at lines.
    pub review: Option<ReviewText>,
    /// Comments at files, which cannot be part of a review.
    pub at_files: Vec<Inline>,
    /// How the check ends, and what it says.
    pub check: (Conclusion, CheckText),
}

/// A review to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewText {
    /// Its text, with its mark. Never empty.
    pub body: String,
    /// What it does.
    pub act: Act,
    /// Its comments at lines.
    pub inline: Vec<Inline>,
}

/// Makes what is seen of a review.
#[must_use]
pub fn surface(input: &Input<'_>) -> Surface {
    let places = Places::new(input.files);
    let parts = Parts::of(input, &places);
    let act = act(input);
    let mark = Mark::Review { head: input.head.clone() };
    let has_words = !parts.inline.is_empty() || !parts.nowhere.is_empty() || !parts.more.is_empty();
    let body = if has_words { listed::body(input, &parts, &places) } else { String::new() };
    let review =
        (has_words || act == Act::Approve).then(|| ReviewText { body: mark.below(&body), act, inline: parts.inline });
    let mark = Mark::Summary { head: input.head.clone() };
    let is_wanted = input.mode == Mode::Standard;
    let summary = input.summary.filter(|_| is_wanted).map(|text| mark.below(text));
    let settled = (is_wanted && summary.is_none()).then(|| mark.below(&settled(input)));
    let check = (conclusion(input.gate, input.review), check::text(input, &places));
    Surface { summary, settled, review, at_files: parts.at_files, check }
}

/// What a review does. Approving takes an open gate, every hunk looked at, nothing worth more than a note, and nothing
/// left out. Where approving is wanted, a closed gate asks for changes: an earlier approval must not outlive it.
fn act(input: &Input<'_>) -> Act {
    let review = input.review;
    let verdict = CommentVerdict::of(review.findings.iter().map(|finding| finding.severity));
    let is_fine = matches!(verdict, CommentVerdict::Approve | CommentVerdict::ApproveWithNotes)
        && review.withheld.iter().all(|withheld| withheld.why == Withheld::OutsideChange);
    match conclusion(input.gate, review) {
        _ if !input.auto_approve => Act::Comment,
        Conclusion::Success if is_fine => Act::Approve,
        Conclusion::Failure => Act::RequestChanges,
        Conclusion::Success | Conclusion::ActionRequired | Conclusion::Neutral => Act::Comment,
    }
}

fn settled(input: &Input<'_>) -> String {
    let head = input.head.short();
    match conclusion(input.gate, input.review) {
        Conclusion::Success => format!(":green_circle: Nothing is left to say against {head}."),
        Conclusion::Failure | Conclusion::ActionRequired | Conclusion::Neutral => {
            format!(":yellow_circle: No findings at {head} so far, but not all of it was reviewed.")
        }
    }
}

/// A finding and the key of its comment.
#[derive(Clone, Copy)]
struct Keyed<'a> {
    finding: &'a Finding,
    key: Key,
}

/// Where the findings go that are to be commented on.
#[derive(Default)]
struct Parts<'a> {
    inline: Vec<Inline>,
    at_files: Vec<Inline>,
    /// Those that have no place in the diff.
    nowhere: Vec<Keyed<'a>>,
    /// Those that there is no room for.
    more: Vec<Keyed<'a>>,
    /// All of them.
    severities: Vec<Severity>,
}

impl<'a> Parts<'a> {
    fn of(input: &Input<'a>, places: &Places<'_>) -> Self {
        let reported = reported(input);
        let n_critical = reported.iter().filter(|keyed| keyed.finding.severity == Severity::Critical).count();
        let cap = input.cap.map_or(usize::MAX, |cap| cap.max(n_critical).max(1));
        let severities = reported.iter().map(|keyed| keyed.finding.severity).collect();
        let mut parts = Self { severities, ..Self::default() };
        let mut writer = inline::Writer::new(input, places);
        for (index, keyed) in reported.into_iter().enumerate() {
            let placed = places.of(&keyed.finding.location);
            match placed {
                Placed::Nowhere => parts.nowhere.push(keyed),
                _ if index >= cap => parts.more.push(keyed),
                Placed::File if parts.at_files.len() < MAX_AT_FILES => {
                    parts.at_files.extend(writer.write(keyed, placed));
                }
                Placed::At(_) | Placed::Near(_) if parts.inline.len() < MAX_INLINE => {
                    parts.inline.extend(writer.write(keyed, placed));
                }
                Placed::File | Placed::At(_) | Placed::Near(_) => parts.more.push(keyed),
            }
        }
        parts
    }
}

/// The findings to be commented on, the worst first. Praise stands in the summary.
fn reported<'a>(input: &Input<'a>) -> Vec<Keyed<'a>> {
    let findings = &input.review.findings;
    let new: Option<HashSet<usize>> = input.new.map(|new| new.iter().copied().collect());
    let is_new = |index: usize| new.as_ref().is_none_or(|new| new.contains(&index));
    let keys = Key::numbered(findings, |index| new.is_some() && is_new(index));
    let keyed = findings.iter().zip(keys).map(|(finding, key)| Keyed { finding, key });
    let mut reported: Vec<Keyed<'_>> = keyed
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
