//! Summary comments on pull requests: validation rules and repair.
//!
//! [`report::summary`](crate::report::summary) writes such comments; [`check`] validates a comment of another author, and
//! [`fix()`] repairs it where that does not change its meaning. The text of the `<summary>` selects the rules; a comment
//! without one of the two texts is not validated.
//!
//! ```markdown
//! <details>
//! <summary>Kodiai Review Summary</summary>
//!
//! ## What Changed
//! Retries when the server is busy.
//!
//! Reviewed: core logic, tests
//!
//! ## Observations
//!
//! ### Major
//! src/retry.ts (12, 15-18): The delay is never reset
//! After an hour every request waits a minute.
//!
//! ## Verdict
//! :yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging
//!
//! </details>
//! ```

mod fix;
mod html;
pub(crate) mod item;
pub mod json;
mod rules;
pub(crate) mod section;
mod tree;

#[cfg(test)]
mod tests;

use std::fmt;

pub use fix::{FixedComment, fix};

use crate::comment::section::Page;
use crate::comment::tree::Tree;
use crate::finding::Severity;
use crate::markdown;

/// The longest comment that GitHub accepts, in characters.
pub const MAX_CHARS: usize = 65_536;

/// The byte order mark that some editors prepend; not part of the comment.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The kind of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The summary of a first review.
    Review,
    /// The summary of a re-review.
    ReReview,
    /// Anything else.
    Other,
}

impl Kind {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::ReReview => "re-review",
            Self::Other => "other",
        }
    }
}

/// One rule that a comment breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The stable id of the rule: `section-order`.
    pub rule: &'static str,
    /// The heading of the section.
    pub section: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// A human-readable message.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} ({})", self.line, self.message, self.rule)
    }
}

/// The result of validating a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedComment {
    /// The kind of a comment.
    pub kind: Kind,
    /// The violations, in line order.
    pub errors: Vec<Problem>,
}

impl CheckedComment {
    /// True when the comment keeps every rule.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Checks a comment. `bot` is the name in front of `Review Summary`.
///
/// Only the beginning of an overlong comment is read, to determine its kind.
#[must_use]
pub fn check(text: &str, bot: &str) -> CheckedComment {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let (head, rest) = text.split_at(fitting(text));
    let flat = markdown::flatten(head);
    let text = flat.as_ref();
    let tree = Tree::parse(text);
    let Some(page) = Page::find(&tree, bot) else { return CheckedComment { kind: Kind::Other, errors: Vec::new() } };
    let kind = page.kind;
    if !rest.is_empty() {
        let message = format!("the comment has more than {MAX_CHARS} characters, so no code host takes it");
        return CheckedComment { kind, errors: vec![Problem { rule: "too-long", section: None, line: 1, message }] };
    }
    let mut errors = rules::blank_lines(&tree);
    // Text parsed as HTML would also be reported as missing. So the other rules are checked on a copy with the blank lines
    // inserted, and lines are counted without them.
    let spaced = fix::with_blank_lines(text);
    if spaced == text {
        errors.extend(rules::check(&tree, &page));
    } else {
        let spaced_tree = Tree::parse(&spaced);
        let found = Page::find(&spaced_tree, bot).map(|page| rules::check(&spaced_tree, &page)).unwrap_or_default();
        let lines = fix::line_mapper(text, &spaced);
        errors.extend(found.into_iter().map(|problem| Problem { line: lines(problem.line), ..problem }));
    }
    errors.sort_by_key(|problem| problem.line);
    CheckedComment { kind, errors }
}

/// The length of the prefix that GitHub accepts, in bytes.
fn fitting(text: &str) -> usize {
    text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(end, _)| end)
}

/// The `<summary>` text of a comment: `Kodiai Review Summary`.
#[must_use]
pub fn summary_text(kind: Kind, bot: &str) -> Option<String> {
    let bot = name(bot);
    match kind {
        Kind::Review => Some(format!("{bot} Review Summary")),
        Kind::ReReview => Some(format!("{bot} Re-Review Summary")),
        Kind::Other => None,
    }
}

/// The `<summary>` text of the block with statistics.
pub(crate) const DETAILS_SUMMARY: &str = "Review Details";

/// The default name of the reviewer.
pub const DEFAULT_BOT: &str = "Kodiai";

/// Sanitizes a reviewer's name to one visible line.
fn name(bot: &str) -> String {
    let shown = crate::visible::visible(bot);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(100).collect();
    if name.is_empty() { DEFAULT_BOT.to_owned() } else { name.trim_end().to_owned() }
}

/// A severity as labelled in comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Label {
    /// Critical.
    Critical,
    /// High.
    Major,
    /// Medium.
    Medium,
    /// Low or Nit.
    Minor,
}

impl Label {
    /// All labels, worst first.
    pub(crate) const ALL: [Self; 4] = [Self::Critical, Self::Major, Self::Medium, Self::Minor];

    /// The label of a severity; praise has none.
    #[must_use]
    pub(crate) fn of(severity: Severity) -> Option<Self> {
        match severity {
            Severity::Critical => Some(Self::Critical),
            Severity::High => Some(Self::Major),
            Severity::Medium => Some(Self::Medium),
            Severity::Low | Severity::Nit => Some(Self::Minor),
            Severity::Praise => None,
        }
    }

    /// The heading: `Critical`.
    #[must_use]
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Critical => "Critical",
            Self::Major => "Major",
            Self::Medium => "Medium",
            Self::Minor => "Minor",
        }
    }

    /// The tag, without its brackets: `CRITICAL`.
    #[must_use]
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Critical => "CRITICAL",
            Self::Major => "MAJOR",
            Self::Medium => "MEDIUM",
            Self::Minor => "MINOR",
        }
    }

    /// True for blockers.
    #[must_use]
    pub(crate) fn blocks(self) -> bool {
        self <= Self::Major
    }
}
