//! Classifies findings as new, resolved or still open.
//!
//! A prior finding that is reported again is still open. One that is not reported again is resolved only if its reviewer
//! saw the changed lines, its rule ran there again, its quoted code is no longer in the file, or the file is deleted.
//! Everything else stays open: a finding outside the reviewed scope is not resolved.

use std::collections::HashSet;

use crate::delta::identity::{ComparedFinding, FindingPairs, is_distinctive};
use crate::delta::line_map::{LineMap, Mapped};
use crate::finding::{LineRange, Location, Severity};
use crate::path::FilePath;
use crate::verdict::{self, MildFindings, VerdictUpdate};

/// The classes of the findings of two reviews.
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
    /// The index of the prior finding.
    pub prior: usize,
    /// The matching current finding; `None` when its lines were not reviewed again.
    pub current: Option<usize>,
    /// The current location; `None` when its lines changed, when it has none, or when `current` is set.
    pub at: Option<Location>,
}

/// The scope of the current review.
#[derive(Clone, Copy)]
pub struct ReviewedScope<'a> {
    /// True when the reviewer of a prior finding reviewed its location again.
    pub at: &'a dyn Fn(&ComparedFinding<'_>, &Mapped) -> bool,
    /// True when the quoted code of a prior finding is still in the file with this path; `None` when unknown.
    pub quoted: &'a dyn Fn(&ComparedFinding<'_>, &FilePath) -> Option<bool>,
}

impl<'a> ReviewedScope<'a> {
    /// A scope without access to file contents.
    #[must_use]
    pub fn at(at: &'a dyn Fn(&ComparedFinding<'_>, &Mapped) -> bool) -> Self {
        Self { at, quoted: &|_, _| None }
    }
}

/// Puts every finding of both reviews into one class.
#[must_use]
pub fn classify(
    prior: &[ComparedFinding<'_>],
    n_current: usize,
    joined: &FindingPairs,
    map: &LineMap,
    scope: ReviewedScope<'_>,
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
        let mapped = current_location(claim, map);
        if is_resolved(claim, &mapped, map, scope) {
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

/// The current location of a finding. One without lines is located at its file while that is untouched.
fn current_location(claim: &ComparedFinding<'_>, map: &LineMap) -> Mapped {
    let of_file = || match map.path(claim.file, claim.side) {
        None => Mapped::Gone,
        Some(_) if !map.is_untouched(claim.file, claim.side) => Mapped::Changed,
        Some(file) => Mapped::At(Location { file: file.clone(), lines: LineRange::line(1), side: claim.side }),
    };
    claim.mapped(map).unwrap_or_else(of_file)
}

fn is_resolved(claim: &ComparedFinding<'_>, mapped: &Mapped, map: &LineMap, scope: ReviewedScope<'_>) -> bool {
    let Some(file) = map.path(claim.file, claim.side) else { return true };
    let is_quoted = || !is_distinctive(claim.evidence) || (scope.quoted)(claim, file) != Some(false);
    (scope.at)(claim, mapped) || !is_quoted()
}

impl Delta {
    /// Summarizes the delta of the blockers.
    ///
    /// A finding that is still open counts with the higher severity of the two reviews, so that it cannot be downgraded by
    /// rewording.
    #[must_use]
    pub fn verdict_update(&self, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> VerdictUpdate {
        let new = self.new.iter().map(|&index| current[index].severity);
        let resolved = self.resolved.iter().map(|&index| prior[index].severity);
        verdict::update(new, resolved, self.open_severities(prior, current))
    }

    /// Label and explanation of the verdict update, in the words of a re-review.
    #[must_use]
    pub fn said(&self, prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>]) -> (&'static str, String) {
        let new = self.new.iter().map(|&index| current[index].severity);
        let all: Vec<Severity> = new.chain(self.open_severities(prior, current)).collect();
        let counted = |severity: &&Severity| !severity.blocks() && **severity != Severity::Praise;
        let is_new = |&index: &usize| current[index].severity != Severity::Praise;
        let (_, label, explanation) = self.verdict_update(prior, current).said(MildFindings {
            n_mild: all.iter().filter(counted).count(),
            has_medium: all.contains(&Severity::Medium),
            has_new: self.new.iter().any(is_new),
            had_medium: prior.iter().any(|claim| claim.severity == Severity::Medium),
        });
        (label, explanation)
    }

    fn open_severities<'a>(
        &'a self,
        prior: &'a [ComparedFinding<'_>],
        current: &'a [ComparedFinding<'_>],
    ) -> impl Iterator<Item = Severity> + 'a {
        self.still_open.iter().map(|open| {
            let (then, now) = (prior[open.prior].severity, open.current.map(|index| current[index].severity));
            now.map_or(then, |now| now.max(then))
        })
    }
}

/// More added lines than this require a new review.
const MAX_ADDED_LINES: u64 = 100;
/// This many fixed findings of severity High require a new review.
const MANY_HIGH: usize = 3;

/// The changes since a stored review.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// The severities of its findings that were fixed.
    pub fixed: &'a [Severity],
    /// The number of lines that were added.
    pub n_added: u64,
    /// The changed files, by their old and new paths.
    pub changed: &'a [FilePath],
    /// The files that the stored review covered.
    pub scope: &'a [FilePath],
}

/// Decides whether a stored review is outdated.
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
