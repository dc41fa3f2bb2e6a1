//! What the findings mean for the merge.

use crate::finding::{Finding, Severity};

/// The three answers of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing to say against the change.
    Approved,
    /// Remarks, none of them blocking.
    Commented,
    /// At least one blocker.
    ChangesRequested,
}

impl Verdict {
    /// The exact word of the formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::Commented => "COMMENTED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
        }
    }

    /// Reads the exact word of the formats.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Approved, Self::Commented, Self::ChangesRequested].into_iter().find(|verdict| verdict.as_str() == text)
    }
}

/// Decides what the findings mean for the merge.
///
/// A change that was not looked at in full is never plainly approved: with
/// `complete` false the best verdict is [`Verdict::Commented`].
#[must_use]
pub fn decide(findings: &[Finding], complete: bool) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(worst) if worst.blocks() => Verdict::ChangesRequested,
        None | Some(Severity::Praise) if complete => Verdict::Approved,
        _ => Verdict::Commented,
    }
}

/// How many blockers there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockingCount {
    /// Findings of severity Critical.
    pub critical: usize,
    /// Findings of severity High.
    pub high: usize,
}

impl BlockingCount {
    /// Counts the blockers.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self { critical: count(Severity::Critical), high: count(Severity::High) }
    }
}
