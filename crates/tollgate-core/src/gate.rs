//! Whether a reviewed change may pass.

use crate::finding::Severity;
use crate::review::Review;

/// From which severity on a finding closes the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// A finding of this severity or worse closes it, and so does a partial review.
    Severity(Severity),
    /// Nothing closes it.
    Never,
}

impl Default for FailOn {
    fn default() -> Self {
        Self::Severity(Severity::High)
    }
}

/// What the gate says of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// The change may pass.
    Open,
    /// A finding closes it.
    Closed,
    /// No finding closes it, but part of the change was not looked at.
    Partial,
    /// Nobody looked, because the title of the change says so.
    Skipped,
}

impl Gate {
    /// The word that the formats use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Partial => "partial",
            Self::Skipped => "skipped",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Closed, Self::Partial, Self::Skipped].into_iter().find(|gate| gate.as_str() == word)
    }
}

/// Decides whether a reviewed change may pass.
#[must_use]
pub fn check(review: &Review, fail_on: FailOn) -> Gate {
    let FailOn::Severity(floor) = fail_on else {
        return if review.is_complete() { Gate::Open } else { Gate::Partial };
    };
    if review.findings.iter().any(|finding| finding.severity >= floor) {
        Gate::Closed
    } else if review.is_complete() {
        Gate::Open
    } else {
        Gate::Partial
    }
}
