//! The verdict rule: computes the verdict of a review from its findings and coverage.

use std::fmt;

use crate::finding::{Finding, Severity};
use crate::names::names;

/// The verdict of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// No findings except praise.
    Approved,
    /// Findings, none of them blocking, or an incomplete review.
    Commented,
    /// At least one blocker.
    ChangesRequested,
}

names!(Verdict {
    Approved => "APPROVED",
    Commented => "COMMENTED",
    ChangesRequested => "CHANGES_REQUESTED",
});

/// Decides what the findings mean for the merge.
///
/// An incomplete review never approves: with `complete` false the best verdict is [`Verdict::Commented`].
#[must_use]
pub fn decide(findings: &[Finding], complete: bool) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(worst) if worst.blocks() => Verdict::ChangesRequested,
        None | Some(Severity::Praise) if complete => Verdict::Approved,
        _ => Verdict::Commented,
    }
}

/// The number of blockers by severity.
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

/// The label of a review that did not cover the whole change and has no blocker.
pub const PARTLY_REVIEWED: &str = "Partly reviewed";

/// The label of a re-review without blockers whose other findings close the gate by configuration.
pub const GATE_CLOSED: &str = "Gate closed";

/// The label of a re-review whose blockers were all dismissed or resolved, at least one of them dismissed and none resolved.
pub const BLOCKERS_DISMISSED: &str = "Blockers dismissed";

/// The label of a re-review without blockers before or now whose earlier Medium findings are gone.
pub const NOW_READY: &str = "Now ready";

/// The label of a re-review without blockers before or now that had Medium findings and has some.
pub const STILL_NEEDS_CHANGES: &str = "Still needs changes";

/// The name of [`BLOCKERS_DISMISSED`] in JSON.
pub const BLOCKERS_DISMISSED_NAME: &str = "blockers_dismissed";

/// The colour of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// The change may be merged.
    Green,
    /// As before: no blockers before or now.
    Blue,
    /// Not yet: changes are needed, or the review is partial.
    Yellow,
    /// A critical finding.
    Red,
}

impl Colour {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }

    /// The emoji short code in comments.
    #[must_use]
    pub fn emoji(self) -> &'static str {
        match self {
            Self::Green => "green_circle",
            Self::Blue => "large_blue_circle",
            Self::Yellow => "yellow_circle",
            Self::Red => "red_circle",
        }
    }
}

/// The verdict of a summary comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommentVerdict {
    /// At least one Critical.
    Block,
    /// A High or a Medium, nothing worse.
    NeedsChanges,
    /// Low findings and nits only.
    ApproveWithNotes,
    /// No findings except praise. Never posted: a clean review is silent.
    Approve,
}

impl CommentVerdict {
    /// Decides by the worst finding.
    #[must_use]
    pub fn of(severities: impl IntoIterator<Item = Severity>) -> Self {
        match severities.into_iter().max() {
            Some(Severity::Critical) => Self::Block,
            Some(Severity::High | Severity::Medium) => Self::NeedsChanges,
            Some(Severity::Low | Severity::Nit) => Self::ApproveWithNotes,
            Some(Severity::Praise) | None => Self::Approve,
        }
    }
}

impl CommentVerdict {
    /// The colour.
    #[must_use]
    pub fn colour(self) -> Colour {
        match self {
            Self::Block => Colour::Red,
            Self::NeedsChanges => Colour::Yellow,
            Self::ApproveWithNotes | Self::Approve => Colour::Green,
        }
    }

    /// The label for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Block => "Block",
            Self::NeedsChanges => "Needs changes",
            Self::ApproveWithNotes => "Approve with notes",
            Self::Approve => "Approve",
        }
    }
}

/// The emoji's short code and the label: `:red_circle: **Block**`.
impl fmt::Display for CommentVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}: **{}**", self.colour().emoji(), self.label())
    }
}

/// The verdict of a re-review: the blockers since the last review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VerdictUpdate {
    /// The number of new blockers, also when others were resolved.
    NewBlockers(usize),
    /// No new blocker, some resolved, none left.
    BlockersResolved,
    /// No new blocker, and the number of those still open.
    BlockersRemain(usize),
    /// No blocker before or now.
    StillReady,
}

impl VerdictUpdate {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NewBlockers(_) => "new_blockers",
            Self::BlockersResolved => "blockers_resolved",
            Self::BlockersRemain(_) => "blockers_remain",
            Self::StillReady => "still_ready",
        }
    }

    /// The colour.
    #[must_use]
    pub fn colour(self) -> Colour {
        match self {
            Self::NewBlockers(_) | Self::BlockersRemain(_) => Colour::Yellow,
            Self::BlockersResolved => Colour::Green,
            Self::StillReady => Colour::Blue,
        }
    }

    /// The emoji short code.
    #[must_use]
    pub fn emoji(self) -> &'static str {
        self.colour().emoji()
    }

    /// The label for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::NewBlockers(_) => "New blockers found",
            Self::BlockersResolved => "Blockers resolved",
            Self::BlockersRemain(_) => "Blockers remain",
            Self::StillReady => "Still ready",
        }
    }

    /// The explanation behind the label.
    #[must_use]
    pub fn explanation(self) -> String {
        match self {
            Self::NewBlockers(n_new) => format!("Address {n_new} new issue(s)"),
            Self::BlockersResolved => "Ready to merge".to_owned(),
            Self::BlockersRemain(n_open) => format!("{n_open} blocking issue(s) still open"),
            Self::StillReady => "No new issues".to_owned(),
        }
    }
}

/// The findings of a re-review that do not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MildFindings {
    /// How many there are, new and still open.
    pub n_mild: usize,
    /// True when one of them is of severity Medium.
    pub has_medium: bool,
    /// True when there are new findings of any severity.
    pub has_new: bool,
    /// True when the last review had findings of severity Medium, so that its head was not ready.
    pub had_medium: bool,
}

impl VerdictUpdate {
    /// Colour, label and explanation, with the findings that do not block.
    ///
    /// Without blockers before or now, a head is *still* ready only if the last review called it ready.
    #[must_use]
    pub fn said(self, mild: MildFindings) -> (Colour, &'static str, String) {
        match self {
            Self::StillReady if mild.had_medium && mild.has_medium => {
                let remain = Self::BlockersResolved.explained(mild);
                let said = if mild.has_new { format!("No new blocking issues; {remain}") } else { remain };
                (Colour::Yellow, STILL_NEEDS_CHANGES, said)
            }
            Self::StillReady if mild.had_medium => (Colour::Green, NOW_READY, Self::BlockersResolved.explained(mild)),
            _ => (self.colour(), self.label(), self.explained(mild)),
        }
    }

    /// The explanation behind the label, with the findings that do not block.
    #[must_use]
    pub fn explained(self, mild: MildFindings) -> String {
        let remain = || format!("{} non-blocking finding(s) remain", mild.n_mild);
        match self {
            Self::NewBlockers(_) | Self::BlockersRemain(_) => self.explanation(),
            Self::BlockersResolved if mild.has_medium => remain(),
            Self::BlockersResolved => self.explanation(),
            Self::StillReady => {
                let said = if mild.has_new { "No new blocking issues".to_owned() } else { self.explanation() };
                if mild.has_medium { format!("{said}; {}", remain()) } else { said }
            }
        }
    }
}

/// The line of a comment: `:green_circle: **Blockers resolved** -- Ready to merge`.
impl fmt::Display for VerdictUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}: **{}** -- {}", self.emoji(), self.label(), self.explanation())
    }
}

/// Decides the verdict of a re-review from the severities of new, resolved and still open findings.
#[must_use]
pub fn update(
    new: impl IntoIterator<Item = Severity>,
    resolved: impl IntoIterator<Item = Severity>,
    still_open: impl IntoIterator<Item = Severity>,
) -> VerdictUpdate {
    update_of_counts(n_blocking(new), n_blocking(resolved), n_blocking(still_open))
}

/// Decides the verdict of a re-review from the numbers of new, resolved and still open blockers.
pub(crate) fn update_of_counts(n_new: usize, n_resolved: usize, n_open: usize) -> VerdictUpdate {
    if n_new > 0 {
        VerdictUpdate::NewBlockers(n_new)
    } else if n_open > 0 {
        VerdictUpdate::BlockersRemain(n_open)
    } else if n_resolved > 0 {
        VerdictUpdate::BlockersResolved
    } else {
        VerdictUpdate::StillReady
    }
}

fn n_blocking(severities: impl IntoIterator<Item = Severity>) -> usize {
    severities.into_iter().filter(|severity| severity.blocks()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The possible contents of a part of the delta: nothing, mild findings, blockers, both.
    const NONE: &[Severity] = &[];
    const MILD: &[Severity] = &[Severity::Medium, Severity::Low, Severity::Nit, Severity::Praise];
    const BLOCKING: &[Severity] = &[Severity::High, Severity::Critical];
    const BOTH: &[Severity] = &[Severity::Low, Severity::High];

    fn line(new: &[Severity], resolved: &[Severity], still_open: &[Severity]) -> String {
        let copied = |severities: &[Severity]| severities.to_vec();
        update(copied(new), copied(resolved), copied(still_open)).to_string()
    }

    #[test]
    fn the_update_follows_from_what_is_new_resolved_and_still_open() {
        const FOUND_2: &str = ":yellow_circle: **New blockers found** -- Address 2 new issue(s)";
        const FOUND_1: &str = ":yellow_circle: **New blockers found** -- Address 1 new issue(s)";
        const RESOLVED: &str = ":green_circle: **Blockers resolved** -- Ready to merge";
        const REMAIN_2: &str = ":yellow_circle: **Blockers remain** -- 2 blocking issue(s) still open";
        const REMAIN_1: &str = ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open";
        const READY: &str = ":large_blue_circle: **Still ready** -- No new issues";
        // The columns: nothing, mild findings, blockers, both still open.
        let table = [
            (NONE, NONE, [READY, READY, REMAIN_2, REMAIN_1]),
            (NONE, MILD, [READY, READY, REMAIN_2, REMAIN_1]),
            (NONE, BLOCKING, [RESOLVED, RESOLVED, REMAIN_2, REMAIN_1]),
            (NONE, BOTH, [RESOLVED, RESOLVED, REMAIN_2, REMAIN_1]),
            (MILD, NONE, [READY, READY, REMAIN_2, REMAIN_1]),
            (MILD, MILD, [READY, READY, REMAIN_2, REMAIN_1]),
            (MILD, BLOCKING, [RESOLVED, RESOLVED, REMAIN_2, REMAIN_1]),
            (MILD, BOTH, [RESOLVED, RESOLVED, REMAIN_2, REMAIN_1]),
            (BLOCKING, NONE, [FOUND_2; 4]),
            (BLOCKING, MILD, [FOUND_2; 4]),
            (BLOCKING, BLOCKING, [FOUND_2; 4]),
            (BLOCKING, BOTH, [FOUND_2; 4]),
            (BOTH, NONE, [FOUND_1; 4]),
            (BOTH, MILD, [FOUND_1; 4]),
            (BOTH, BLOCKING, [FOUND_1; 4]),
            (BOTH, BOTH, [FOUND_1; 4]),
        ];
        for (new, resolved, expected) in table {
            for (still_open, expected) in [NONE, MILD, BLOCKING, BOTH].into_iter().zip(expected) {
                assert_eq!(line(new, resolved, still_open), expected, "{new:?}, {resolved:?}, {still_open:?}");
            }
        }
    }

    #[test]
    fn updates_have_stable_names() {
        let all = [
            (VerdictUpdate::NewBlockers(1), "new_blockers"),
            (VerdictUpdate::BlockersResolved, "blockers_resolved"),
            (VerdictUpdate::BlockersRemain(1), "blockers_remain"),
            (VerdictUpdate::StillReady, "still_ready"),
        ];
        for (update, word) in all {
            assert_eq!(update.as_str(), word);
        }
    }

    #[test]
    fn the_worst_finding_decides_the_verdict_of_a_comment() {
        let table: [(&[Severity], &str); 7] = [
            (&[Severity::Low, Severity::Critical, Severity::High], ":red_circle: **Block**"),
            (&[Severity::High, Severity::Nit], ":yellow_circle: **Needs changes**"),
            (&[Severity::Praise, Severity::Medium], ":yellow_circle: **Needs changes**"),
            (&[Severity::Low], ":green_circle: **Approve with notes**"),
            (&[Severity::Nit, Severity::Praise], ":green_circle: **Approve with notes**"),
            (&[Severity::Praise], ":green_circle: **Approve**"),
            (&[], ":green_circle: **Approve**"),
        ];
        for (severities, expected) in table {
            assert_eq!(CommentVerdict::of(severities.iter().copied()).to_string(), expected, "{severities:?}");
        }
    }
}
