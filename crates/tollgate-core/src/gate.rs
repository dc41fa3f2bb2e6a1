//! The gate: decides whether a reviewed change may pass.

use crate::finding::Severity;
use crate::names::names;
use crate::review::Review;

/// The lowest severity that closes the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// A finding of this severity or worse closes it, and so does a partial review.
    Severity(Severity),
    /// The gate never closes.
    Never,
}

impl FailOn {
    /// True when a finding of this severity closes the gate.
    #[must_use]
    pub fn closes(self, severity: Severity) -> bool {
        matches!(self, Self::Severity(floor) if severity >= floor)
    }

    /// A setting by which this review has this gate, for a stored review whose setting is not known.
    #[must_use]
    pub fn implied_by(gate: Gate, review: &Review) -> Self {
        let worst = review.findings.iter().map(|finding| finding.severity).max();
        match (gate, worst) {
            (Gate::Closed, Some(worst)) if !Self::default().closes(worst) => Self::Severity(worst),
            (Gate::Closed, _) => Self::default(),
            (Gate::Partial, Some(Severity::Critical)) | (Gate::Open | Gate::Skipped, _) => Self::Never,
            (Gate::Partial, _) => Self::Severity(Severity::Critical),
        }
    }
}

impl Default for FailOn {
    fn default() -> Self {
        Self::Severity(Severity::High)
    }
}

/// The decision of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// The change may pass.
    Open,
    /// A finding closes it.
    Closed,
    /// No finding closes it, but the review is not complete ([`Review::is_complete`]).
    Partial,
    /// The author skipped the review by the title of the change.
    Skipped,
}

names!(Gate {
    Open => "open",
    Closed => "closed",
    Partial => "partial",
    Skipped => "skipped",
});

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
