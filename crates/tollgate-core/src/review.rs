//! A finished review: findings, withheld findings and coverage.

use std::fmt;

use serde_json::{Map, Value};

use crate::coverage::Coverage;
use crate::finding::{Category, Finding};
use crate::path::FilePath;
use crate::sha::Sha;
use crate::verdict::{self, BlockingCount, Verdict};

/// Why a finding does not count for the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// Suppressed by a comment in the code or by configuration.
    Suppressed {
        /// The suppression, for people: `tollgate:ignore at line 3`, `suppress #2 in .tollgate.toml`.
        by: String,
        /// The reason of the suppression.
        reason: Option<String>,
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
            Self::Suppressed { by, reason: Some(reason) } => write!(f, "suppressed by {by}: {reason}"),
            Self::Suppressed { by, reason: None } => write!(f, "suppressed by {by}"),
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

/// A withheld finding and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldFinding {
    /// The finding.
    pub finding: Finding,
    /// The reason.
    pub why: Withheld,
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

    /// True when no hunk was left unreviewed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.coverage.as_ref().is_none_or(Coverage::is_complete)
    }
}
