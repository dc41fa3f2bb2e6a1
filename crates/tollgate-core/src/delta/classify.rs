//! New, resolved or still open.
//!
//! A prior finding that is reported again is still open. One that is not reported again is resolved only if somebody
//! looked: its lines changed and its reviewer saw them, or its rule ran there again, or what it quotes is no longer in
//! the file, or the file is gone. Everything else is still open, because not looking is not finding nothing.

use std::collections::HashSet;

use crate::delta::identity::{ComparedFinding, FindingPairs, is_telling};
use crate::delta::line_map::{LineMap, Mapped};
use crate::finding::{LineRange, Location, Severity};
use crate::path::FilePath;
use crate::verdict::{self, VerdictUpdate};

/// What became of the findings of two reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delta {
    /// Current findings that the last review did not have, in order.
    pub new: Vec<usize>,
    /// Prior findings that are not resolved: first those reported again, in order of the current ones, then the others.
    pub still_open: Vec<StillOpen>,
    /// Prior findings that are resolved, in order.
    pub resolved: Vec<usize>,
}

/// A prior finding that is not resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillOpen {
    /// Which one of the prior findings.
    pub prior: usize,
    /// The current finding that says the same; `None` when nobody looked there again.
    pub current: Option<usize>,
    /// Where its lines are now; `None` when they changed, when it has none, or when the current finding says it.
    pub at: Option<Location>,
}

/// What was looked at this time.
#[derive(Clone, Copy)]
pub struct ReviewedScope<'a> {
    /// Tells whether a prior finding's reviewer looked, this time, at the place it is about.
    pub at: &'a dyn Fn(&ComparedFinding<'_>, &Mapped) -> bool,
    /// Tells whether what a prior finding quotes is still in the file, which has this path now; `None` when unknown.
    pub quoted: &'a dyn Fn(&ComparedFinding<'_>, &FilePath) -> Option<bool>,
}

impl<'a> ReviewedScope<'a> {
    /// What was looked at, when nobody knows the files.
    #[must_use]
    pub fn at(at: &'a dyn Fn(&ComparedFinding<'_>, &Mapped) -> bool) -> Self {
        Self { at, quoted: &|_, _| None }
    }
}

/// Puts every finding of both reviews in one class.
#[must_use]
pub fn classify(
    prior: &[ComparedFinding<'_>],
    n_current: usize,
    joined: &FindingPairs,
    map: &LineMap,
    looked: ReviewedScope<'_>,
) -> Delta {
    let mut found_as: Vec<Option<usize>> = vec![None; prior.len()];
    let mut is_new = vec![true; n_current];
    for &(i, j) in &joined.pairs {
        if let (Some(found_as), Some(is_new)) = (found_as.get_mut(i), is_new.get_mut(j)) {
            (*found_as, *is_new) = (Some(j), false);
        }
    }
    let mut delta = Delta { new: (0..n_current).filter(|&j| is_new[j]).collect(), ..Delta::default() };
    for (index, claim) in prior.iter().enumerate() {
        if found_as[index].is_some() {
            delta.still_open.push(StillOpen { prior: index, current: found_as[index], at: None });
            continue;
        }
        let mapped = whereabouts(claim, map);
        if is_resolved(claim, &mapped, map, looked) {
            delta.resolved.push(index);
            continue;
        }
        let at = match mapped {
            Mapped::At(location) if claim.lines.is_some() => Some(location),
            _ => None,
        };
        delta.still_open.push(StillOpen { prior: index, current: None, at });
    }
    delta.still_open.sort_by_key(|open| (open.current.is_none(), open.current, open.prior));
    delta
}

/// Where a finding is now. One without lines is about its file, and where that is untouched, so is the finding.
fn whereabouts(claim: &ComparedFinding<'_>, map: &LineMap) -> Mapped {
    let of_file = || match map.path(claim.file, claim.side) {
        None => Mapped::Gone,
        Some(_) if !map.is_untouched(claim.file, claim.side) => Mapped::Changed,
        Some(file) => Mapped::At(Location { file: file.clone(), lines: LineRange::line(1), side: claim.side }),
    };
    claim.mapped(map).unwrap_or_else(of_file)
}

fn is_resolved(claim: &ComparedFinding<'_>, mapped: &Mapped, map: &LineMap, looked: ReviewedScope<'_>) -> bool {
    let Some(file) = map.path(claim.file, claim.side) else { return true };
    let is_quoted = || !is_telling(claim.evidence) || (looked.quoted)(claim, file) != Some(false);
    (looked.at)(claim, mapped) || !is_quoted()
}

impl Delta {
    /// What became of the blockers.
    ///
    /// A finding that is still open counts with the worse of what the two reviews say: it must not hide behind its
    /// milder self.
    #[must_use]
    pub fn verdict_update(&self, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> VerdictUpdate {
        let new = self.new.iter().map(|&index| current[index].severity);
        let resolved = self.resolved.iter().map(|&index| prior[index].severity);
        let still_open = self.still_open.iter().map(|open| {
            let now = open.current.map(|index| current[index].severity);
            now.max(Some(prior[open.prior].severity)).unwrap_or(prior[open.prior].severity)
        });
        verdict::update(new, resolved, still_open)
    }
}

/// More added lines than these, and a review no longer speaks for the change.
const MAX_ADDED_LINES: u64 = 100;
/// So many fixed findings of severity High, and a review no longer speaks for the change.
const MANY_HIGH: usize = 3;

/// What happened since a stored review.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// The severities of its findings that were fixed.
    pub fixed: &'a [Severity],
    /// The number of lines that were added.
    pub n_added: u64,
    /// The files that changed, by their paths then and now.
    pub changed: &'a [FilePath],
    /// The files it looked at.
    pub scope: &'a [FilePath],
}

/// Decides whether a stored review still speaks for the change.
#[must_use]
pub fn re_review_required(since: Since<'_>) -> bool {
    let n_fixed = |severity| since.fixed.iter().filter(|fixed| **fixed == severity).count();
    let scope: HashSet<&FilePath> = since.scope.iter().collect();
    n_fixed(Severity::Critical) > 0
        || n_fixed(Severity::High) >= MANY_HIGH
        || since.n_added > MAX_ADDED_LINES
        || since.changed.iter().any(|file| !scope.contains(file))
}

#[cfg(test)]
mod tests;
