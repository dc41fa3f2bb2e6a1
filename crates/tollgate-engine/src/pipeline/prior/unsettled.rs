//! What the prior review claimed and nothing settled: blocking claims that could not be verified, and rejections.
//!
//! They do not count, and they are not forgotten: reviewers are asked about each by its id, and it stays, and keeps the
//! review incomplete, until a reviewer that is asked calls it fixed, its file is deleted, or it is reported again.

use tollgate_core::answer::{Decision, PriorState};
use tollgate_core::change::Change;
use tollgate_core::delta::identity::{ComparedFinding, match_findings};
use tollgate_core::finding::{self, Finding, Location, Severity};
use tollgate_core::review::{Doubt, DoubtKind, Withheld, WithheldFinding};
use tollgate_core::verify;

use super::settle::{FreshCode, PriorItem, weigh};
use super::{Inspected, MappedPrior};
use crate::pipeline::models::{ModelResults, PriorStatement};

impl MappedPrior {
    /// The blocking claims that could not be verified, and all claims about the whole change, by their indices.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = (usize, &WithheldFinding)> {
        let is_one = |held: &WithheldFinding| {
            matches!(held.why, Withheld::Unverified(_))
                && (held.finding.severity.blocks() || verify::is_about_whole_change(&held.finding))
        };
        self.review.withheld.iter().enumerate().filter(move |(_, held)| is_one(held))
    }

    /// The claims that are still open and not reported again. A claim about the whole change that does not block is only
    /// kept at a gate, where it counts.
    pub(in crate::pipeline) fn carried_claims(
        &self,
        change: &Change,
        statements: &[PriorStatement],
        (found, withheld): (&[Finding], &[WithheldFinding]),
        is_gate: bool,
    ) -> Vec<WithheldFinding> {
        let prior: Vec<(usize, &WithheldFinding)> =
            self.unsettled().filter(|(_, held)| is_gate || held.is_unverified_blocker()).collect();
        if prior.is_empty() {
            return Vec::new();
        }
        let then: Vec<ComparedFinding<'_>> = prior.iter().map(|(_, held)| (&held.finding).into()).collect();
        let now = found.iter().chain(withheld.iter().map(|held| &held.finding));
        let now: Vec<ComparedFinding<'_>> = now.map(ComparedFinding::from).collect();
        let again = match_findings(&then, &now, &self.map).pairs;
        let fresh = FreshCode::of(self, change);
        let is_open = |(place, (index, held)): &(usize, &(usize, &WithheldFinding))| {
            let state = weigh(&self.said(statements, PriorItem::Withheld(*index)), |said| {
                // What counts as a finding at a gate is resolved like one; of an unverified claim no code is known.
                !(is_gate && held.counts_at_gate()) || fresh.shows(&said.evidence)
            });
            let location = &held.finding.location;
            let is_reported = || again.iter().any(|(prior, _)| prior == place);
            state != Some(PriorState::Fixed) && !self.is_gone(location) && !is_reported()
        };
        prior.iter().enumerate().filter(is_open).map(|(_, (_, held))| (*held).clone()).collect()
    }

    /// True when the file of a claim was in the change and is not any more. A file that was never in it is not gone.
    pub(super) fn is_gone(&self, location: &Location) -> bool {
        let mut hunks = self.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        hunks.any(|hunk| hunk.file == location.file) && self.map.path(&location.file, location.side).is_none()
    }

    /// The doubts that are still open: a rejection until a reviewer calls its reason fixed or its reviewer rejects the
    /// change again, and another doubt until its reviewer is asked again.
    pub(in crate::pipeline) fn carried_doubts(
        &self,
        models: &ModelResults,
        inspected: &Inspected,
        open_claims: &[WithheldFinding],
    ) -> Vec<Doubt> {
        let is_open = |(index, doubt): &(usize, &Doubt)| match doubt.kind {
            DoubtKind::Answer => inspected.models.get(&doubt.reviewer).is_none_or(Vec::is_empty),
            DoubtKind::Rejection if self.claims_of(doubt).next().is_some() => {
                let is_of = |held: &WithheldFinding| held.finding.reviewers().contains(&doubt.reviewer.as_str());
                open_claims.iter().any(is_of)
            }
            DoubtKind::Rejection => {
                let mut stated = models.stated.iter().filter(|stated| stated.reviewer == doubt.reviewer);
                let state = weigh(&self.said(&models.prior, PriorItem::Rejection(*index)), |_| true);
                state != Some(PriorState::Fixed) && !stated.any(|stated| stated.decision == Decision::Rejected)
            }
        };
        self.review.doubts.iter().enumerate().filter(is_open).map(|(_, doubt)| doubt.clone()).collect()
    }

    /// The unverified blocking claims of the reviewer of a doubt. They stand for its rejection.
    fn claims_of(&self, doubt: &Doubt) -> impl Iterator<Item = &WithheldFinding> {
        let is_of = |held: &&WithheldFinding| held.finding.reviewers().contains(&doubt.reviewer.as_str());
        self.review.unverified_blockers().filter(is_of)
    }

    /// The rejections that neither a verified finding nor a claim explains, each as a claim about the whole change.
    pub(super) fn rejections(&self) -> impl Iterator<Item = (usize, Finding)> {
        let doubts = self.review.doubts.iter().enumerate();
        let rejections = doubts.filter(|(_, doubt)| doubt.kind == DoubtKind::Rejection);
        let rejections = rejections.filter(|(_, doubt)| self.claims_of(doubt).next().is_none());
        rejections.map(|(index, doubt)| (index, finding::about_whole_change(Severity::High, &doubt.to_string())))
    }
}
