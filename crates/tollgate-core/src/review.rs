//! A finished review: findings that count, findings that do not and why, and what was looked at.

use std::fmt;

use serde_json::{Map, Value};

use crate::coverage::Coverage;
use crate::finding::{Category, Finding};
use crate::path::FilePath;
use crate::sha::Sha;
use crate::verdict::{self, BlockingCount, Verdict};

/// Why a finding is kept out of the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withheld {
    /// Somebody decided so: a comment in the code or a line of the configuration.
    Suppressed {
        /// What suppressed it, for people: `tollgate:ignore at line 3`, `suppress #2 in .tollgate.toml`.
        by: String,
        /// The reason that was given.
        reason: Option<String>,
    },
    /// It is on lines that the change does not touch.
    OutsideChange,
    /// Its place or evidence is not in the change; the reason, for people.
    Unverified(String),
    /// It is milder than the floor of the profile or the configuration.
    BelowFloor,
    /// It is about something that the profile or the author's tags leave out.
    IgnoredArea(Category),
    /// An earlier review of the same change passed this; the reason, for people.
    HeldBack(String),
    /// Fewer models or passes of a model say so than the configuration asks for.
    NoConsensus {
        /// How many say so.
        voices: usize,
        /// How many must.
        needed: usize,
    },
}

impl Withheld {
    /// The word that the formats use.
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
    /// Says it to people, as the end of a sentence. What others wrote in it is not made harmless here.
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

/// A finding that does not count, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldFinding {
    /// The finding.
    pub finding: Finding,
    /// Why it does not count.
    pub why: Withheld,
}

/// A finished review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// The title of the change or the name of its branch.
    pub title: Option<String>,
    /// The commit that was reviewed.
    pub reviewed: Sha,
    /// What it was compared with.
    pub base: Sha,
    /// What was compared, in words: `main…HEAD with uncommitted work`.
    pub compared: Option<String>,
    /// The files a reviewer looked at.
    pub files_reviewed: Vec<FilePath>,
    /// The findings that count, numbered in order.
    pub findings: Vec<Finding>,
    /// The findings that do not count.
    pub withheld: Vec<WithheldFinding>,
    /// What was looked at; `None` when the review came from a tool that does not say.
    pub coverage: Option<Coverage>,
    /// True when the change moved on so far that this review no longer speaks for it.
    pub re_review_required: bool,
    /// What the reviewer has to say beside the findings.
    pub notes: Option<String>,
    /// Fields another tool wrote that we do not know: kept and written out again.
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

    /// True unless something that should have been looked at was not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.coverage.as_ref().is_none_or(Coverage::is_complete)
    }
}
