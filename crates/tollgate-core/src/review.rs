//! A finished review: findings, withheld findings and coverage.

use std::fmt;

use serde_json::{Map, Value};

use crate::coverage::Coverage;
use crate::finding::{Category, Finding, is_about_whole_change};
use crate::names::names;
use crate::path::FilePath;
use crate::sha::Sha;
use crate::verdict::{self, BlockingCount, Verdict};

/// Why a finding does not count for the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// Suppressed by a comment in the code, by configuration or by a dismissal.
    Suppressed {
        /// The suppression, for people: `tollgate:ignore at line 3`, `suppress #2 in .tollgate.toml`.
        by: String,
        /// The reason of the suppression.
        reason: Option<String>,
        /// The kind of the suppression, as data.
        kind: Suppressor,
    },
    /// It is on lines that the change does not touch.
    OutsideChange,
    /// Its location or evidence is not in the change; the reason, for people.
    Unverified(String),
    /// Its severity is below the floor of the profile or the configuration.
    BelowFloor,
    /// The profile or the author's tags leave its category out.
    IgnoredArea(Category),
    /// An earlier review of the same change passed these lines; the reason, for people.
    HeldBack(String),
    /// Fewer reviewers agree than the configured consensus.
    NoConsensus {
        /// The reviewers that agree.
        voices: usize,
        /// The required number.
        needed: usize,
    },
}

impl Withheld {
    /// The name in all formats.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Suppressed { .. } => "suppressed",
            Self::OutsideChange => "outside-change",
            Self::Unverified(_) => "unverified",
            Self::BelowFloor => "below-floor",
            Self::IgnoredArea(_) => "ignored-area",
            Self::HeldBack(_) => "held-back",
            Self::NoConsensus { .. } => "no-consensus",
        }
    }
}

impl fmt::Display for Withheld {
    /// The reason for people, as a clause. It is not escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suppressed { by, reason: Some(reason), .. } => write!(f, "suppressed by {by}: {reason}"),
            Self::Suppressed { by, reason: None, .. } => write!(f, "suppressed by {by}"),
            Self::OutsideChange => f.write_str("on lines that the change does not touch"),
            Self::Unverified(reason) => write!(f, "not verified: {reason}"),
            Self::BelowFloor => f.write_str("milder than the floor"),
            Self::IgnoredArea(area) => write!(f, "{} is left out here", area.as_str().to_lowercase()),
            Self::HeldBack(reason) => write!(f, "held back: {reason}"),
            Self::NoConsensus { voices, needed } => {
                let say = if *voices == 1 { "says" } else { "say" };
                write!(f, "{voices} of {needed} needed reviewers {say} so")
            }
        }
    }
}

/// The kind of a suppression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suppressor {
    /// A `tollgate:ignore` comment in the code.
    Comment,
    /// An entry of the configuration.
    Configuration,
    /// A dismissal of this finding.
    Dismissal {
        /// The person who dismissed it; `None` in files and in data of earlier versions.
        who: Option<String>,
        /// The time, as `2026-01-09T14:22:00.000Z`, if it is known.
        at: Option<String>,
        /// True when it holds for the whole repository, not only for the change it was made on.
        everywhere: bool,
    },
    /// Another tool, whose findings were imported.
    Tool,
}

impl Suppressor {
    /// The name in all formats.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Configuration => "configuration",
            Self::Dismissal { .. } => "dismissal",
            Self::Tool => "tool",
        }
    }

    /// The kind of a suppression in a review of an earlier version, which has nothing but the words for people.
    #[must_use]
    pub fn of_words(by: &str) -> Self {
        let by_person = by.strip_prefix("a dismissal by ");
        if by.contains("tollgate:ignore") {
            Self::Comment
        } else if by.starts_with("suppress #") {
            Self::Configuration
        } else if by_person.is_some() || by == "your own dismissal" || by.ends_with("dismissals.toml") {
            Self::Dismissal { who: by_person.map(str::to_owned), at: None, everywhere: true }
        } else {
            Self::Tool
        }
    }
}

/// A withheld finding and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldFinding {
    /// The finding.
    pub finding: Finding,
    /// The reason.
    pub why: Withheld,
}

impl WithheldFinding {
    /// True for a blocking claim of a model that could not be verified. It does not count, and it is never silent.
    #[must_use]
    pub fn is_unverified_blocker(&self) -> bool {
        matches!(self.why, Withheld::Unverified(_)) && self.finding.severity.blocks()
    }

    /// True for a finding that the gate of the board counts all the same: one about the whole change, which has no code
    /// to quote, and one below the severity floor.
    #[must_use]
    pub fn counts_at_gate(&self) -> bool {
        match self.why {
            Withheld::BelowFloor => true,
            Withheld::Unverified(_) => is_about_whole_change(&self.finding),
            _ => false,
        }
    }

    /// True for a blocker that is suppressed or not agreed. It does not count, and it is never silent.
    #[must_use]
    pub fn is_uncounted_blocker(&self) -> bool {
        matches!(self.why, Withheld::Suppressed { .. } | Withheld::NoConsensus { .. }) && self.finding.severity.blocks()
    }
}

/// Why an answer of a reviewer is not settled by the findings that count. A review with a doubt is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The kind of doubt.
    pub kind: DoubtKind,
    /// The model or agent that answered.
    pub reviewer: String,
    /// The reason for people, as a clause about the reviewer. It is not escaped.
    pub reason: String,
}

/// The kind of a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoubtKind {
    /// The reviewer rejected the change, and no finding of it could be verified.
    Rejection,
    /// Part of the answer was lost, or it can be read in several ways.
    Answer,
}

names!(DoubtKind {
    Rejection => "rejection",
    Answer => "answer",
});

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.reviewer, self.reason)
    }
}

/// A finished review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The title of the change or the name of its branch.
    pub title: Option<String>,
    /// The commit that was reviewed.
    pub reviewed: Sha,
    /// The commit it was compared with.
    pub base: Sha,
    /// The compared range, in words: `main…HEAD with uncommitted work`.
    pub compared: Option<String>,
    /// The reviewed files.
    pub files_reviewed: Vec<FilePath>,
    /// The findings that count, numbered in order.
    pub findings: Vec<Finding>,
    /// The findings that do not count.
    pub withheld: Vec<WithheldFinding>,
    /// The coverage; `None` for reviews of tools that do not report it.
    pub coverage: Option<Coverage>,
    /// The answers that the findings do not settle.
    pub doubts: Vec<Doubt>,
    /// True when the change has outgrown this review.
    pub re_review_required: bool,
    /// Notes of the reviewer.
    pub notes: Option<String>,
    /// Unknown fields of other tools, kept for a round trip.
    pub extra: Map<String, Value>,
}

impl Review {
    /// The verdict, always computed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        verdict::decide(&self.findings, self.is_complete())
    }

    /// How many blockers there are, always computed.
    #[must_use]
    pub fn blocking_count(&self) -> BlockingCount {
        BlockingCount::of(&self.findings)
    }

    /// The blockers that too few reviewers agree on, in order: they do not count, but no verdict hides them.
    pub fn not_agreed_blockers(&self) -> impl Iterator<Item = &WithheldFinding> {
        let is_outvoted = |held: &&WithheldFinding| matches!(held.why, Withheld::NoConsensus { .. });
        self.withheld.iter().filter(is_outvoted).filter(|held| held.finding.severity.blocks())
    }

    /// The blockers that a comment, the configuration or a dismissal suppresses: where one of these stands, the verdict
    /// is milder than the findings.
    pub fn suppressed_blockers(&self) -> impl Iterator<Item = &WithheldFinding> {
        let is_suppressed = |held: &&WithheldFinding| matches!(held.why, Withheld::Suppressed { .. });
        self.withheld.iter().filter(is_suppressed).filter(|held| held.finding.severity.blocks())
    }

    /// The blockers that are suppressed or not agreed, in order. Every format names them, so that no verdict is green
    /// in silence because of them.
    pub fn uncounted_blockers(&self) -> impl Iterator<Item = &WithheldFinding> {
        self.withheld.iter().filter(|held| held.is_uncounted_blocker())
    }

    /// True when the review settles the change: every hunk is covered, no blocking claim is unverified, and there is no
    /// doubt about an answer.
    ///
    /// The verdict, the gate, checks, the board and exit codes all follow this one rule.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.coverage.as_ref().is_none_or(Coverage::is_complete)
            && self.unverified_blockers().next().is_none()
            && self.doubts.is_empty()
    }

    /// The blocking claims of models that could not be verified.
    pub fn unverified_blockers(&self) -> impl Iterator<Item = &WithheldFinding> {
        self.withheld.iter().filter(|held| held.is_unverified_blocker())
    }

    /// Why the review is not complete, as clauses for people; empty for a complete one. They are not escaped.
    #[must_use]
    pub fn incomplete_because(&self) -> Vec<String> {
        let coverage = self.coverage.iter().filter_map(Coverage::incomplete_because);
        coverage.chain(self.unsettled_because()).collect()
    }

    /// The reasons of [`Self::incomplete_because`] beside the coverage: unverified blocking claims, and doubts.
    #[must_use]
    pub fn unsettled_because(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        match self.unverified_blockers().count() {
            0 => {}
            1 => reasons.push("1 blocking claim could not be verified".to_owned()),
            n_claims => reasons.push(format!("{n_claims} blocking claims could not be verified")),
        }
        reasons.extend(self.doubts.iter().map(Doubt::to_string));
        reasons
    }
}
