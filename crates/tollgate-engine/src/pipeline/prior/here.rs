//! The last review of this very state, when the review is compared with one of an earlier state.
//!
//! Nothing changed since, so a finding of it stays open, whoever is asked this time, until a rule that ran again or a
//! reviewer's answer about earlier code settles it. Findings that the earlier review has too are settled there.

use std::collections::HashSet;

use serde_json::Value;
use tollgate_core::change::Change;
use tollgate_core::delta::identity::match_findings;
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::finding::Finding;
use tollgate_core::suppress::Dismissal;

use super::settle::{CARRIED, IsModel};
use super::{Inspected, MappedPrior, PriorReview, compared, is_weighed_again};
use crate::pipeline::ReviewRequest;
use crate::pipeline::models::PriorStatement;

impl PriorReview {
    /// The review as the last one of this very state.
    pub(in crate::pipeline) fn mapped_here(self, now: &Snapshot) -> MappedPrior {
        MappedPrior { is_here: true, ..self.mapped_onto(now) }
    }
}

impl MappedPrior {
    /// Leaves out the findings and claims that the review of an earlier state has as well.
    pub(in crate::pipeline) fn without_those_of(mut self, earlier: &MappedPrior) -> Self {
        let claims = earlier.unsettled().map(|(_, held)| held.finding.clone());
        let then: Vec<Finding> = earlier.carryable().into_iter().chain(claims).collect();
        let is_open = |held: &super::WithheldFinding| is_weighed_again(held) || held.is_unverified_blocker();
        let withheld = self.review.withheld.iter().filter(|held| is_open(held)).map(|held| &held.finding);
        let now: Vec<&Finding> = self.review.findings.iter().chain(withheld).collect();
        let pairs = match_findings(&compared(&then), &compared(now), &earlier.map).pairs;
        let known: HashSet<usize> = pairs.into_iter().map(|(_, current)| current).collect();
        let mut index = 0;
        let mut is_other = || {
            index += 1;
            !known.contains(&(index - 1))
        };
        self.review.findings.retain(|_| is_other());
        self.review.withheld.retain(|held| !is_open(held) || is_other());
        let is_known = |doubt: &super::Doubt| earlier.review.doubts.contains(doubt);
        self.review.doubts.retain(|doubt| !is_known(doubt));
        self
    }

    /// The findings of this very state that are still open and not reported again.
    pub(in crate::pipeline) fn carried_here(
        &self,
        request: &ReviewRequest<'_>,
        change: &Change,
        found: &mut [Finding],
        (inspected, dismissals): (&Inspected, &[Dismissal]),
        (statements, is_model): (&[PriorStatement], IsModel<'_>),
    ) -> Vec<Finding> {
        let mut answered = self.answered(statements);
        answered.extend(self.dismissed(dismissals));
        let settled = self.settle(request, change, inspected, (statements, is_model));
        let inspected = Inspected { settled, answered, ..inspected.clone() };
        let mut carried = self.carried(found, &inspected);
        for finding in &mut carried {
            // It is no finding of the earlier review, and no late remark on lines that this one passed.
            finding.extra.insert(CARRIED.to_owned(), Value::Null);
        }
        carried
    }
}
