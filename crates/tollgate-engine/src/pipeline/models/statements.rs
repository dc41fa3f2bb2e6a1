//! Statements of reviewers beside their findings: whether the change may pass, which acceptance criteria it meets, and what
//! became of findings of the last review.

use std::collections::BTreeMap;

use tollgate_core::answer::{Answer, Decision, PriorState, prior_index};
use tollgate_core::board::Met;
use tollgate_core::finding::Severity;
use tollgate_core::review::{Doubt, DoubtKind};
use tollgate_core::verify::CriteriaAnswers;

use crate::pipeline::prior::PriorKey;

/// The decision that a model or agent stated. It is not the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerStatement {
    /// The name of the model or agent.
    pub reviewer: String,
    /// Whether it would let the change pass, or its part of it.
    pub decision: Decision,
    /// Its summary of the change.
    pub summary: Option<String>,
}

/// What a model or agent that was asked says about a finding of the last review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pipeline) struct PriorStatement {
    /// The name of the model or agent.
    pub(in crate::pipeline) reviewer: String,
    /// The finding.
    pub(in crate::pipeline) about: PriorKey,
    /// What became of it.
    pub(in crate::pipeline) state: PriorState,
    /// The code or the words that show it.
    pub(in crate::pipeline) evidence: String,
}

/// The statements of an answer about the findings that its call asked about; silence is *unknown*.
///
/// In a truncated answer the reason against *fixed* may be missing, so it does not count.
pub(super) fn about_prior(reviewer: &str, answer: &Answer, asked: &[usize], keys: &[PriorKey]) -> Vec<PriorStatement> {
    let statement = |index: &usize| {
        let said = answer.prior.iter().find(|said| prior_index(&said.id) == Some(*index));
        let said = said.filter(|said| said.state == PriorState::Open || !answer.truncated);
        let (state, evidence) =
            said.map_or((PriorState::Unknown, String::new()), |said| (said.state, said.evidence.clone()));
        Some(PriorStatement { reviewer: reviewer.to_owned(), about: *keys.get(*index)?, state, evidence })
    };
    asked.iter().filter_map(statement).collect()
}

/// Statements as they come in.
#[derive(Debug, Default)]
pub(super) struct Statements {
    stated: Vec<ReviewerStatement>,
    /// By reviewer and pass.
    testimony: BTreeMap<(usize, u32), CriteriaAnswers>,
}

impl Statements {
    /// Adds the statements of an answer. A truncated approval does not count.
    pub(super) fn add(&mut self, reviewer: &str, voice: (usize, u32), answer: &Answer) {
        let counts = |decision: &Decision| *decision == Decision::Rejected || !answer.truncated;
        if let Some(decision) = answer.decision.filter(counts) {
            let summary = answer.summary.clone();
            self.stated.push(ReviewerStatement { reviewer: reviewer.to_owned(), decision, summary });
        }
        let testimony = self.testimony.entry(voice).or_default();
        testimony.reviewer = reviewer.to_owned();
        testimony.calls.push(answer.criteria.clone());
    }

    /// The statements in the order of the calls, and the answers about criteria.
    pub(super) fn finish(self) -> (Vec<ReviewerStatement>, Vec<CriteriaAnswers>) {
        (self.stated, self.testimony.into_values().collect())
    }
}

/// The most characters of a quoted summary.
const MAX_SUMMARY: usize = 200;
/// An answer without a decision and with this many findings is a runaway, not a review.
const MAX_WITHOUT_DECISION: usize = 100;

/// The parts of an answer that decide whether its findings settle it, once they are verified.
#[derive(Debug)]
pub(super) struct AnswerInDoubt {
    decision: Option<Decision>,
    summary: Option<String>,
    n_claims: usize,
    /// True when it names an unmet criterion, which explains a rejection.
    is_unmet: bool,
    /// The severity of the worst prior finding that it was asked about and calls open.
    open: Option<Severity>,
    losses: Vec<String>,
}

/// A finding of this severity or worse explains why a change is rejected: without it the change would be approved.
const EXPLAINS: Severity = Severity::Medium;

impl AnswerInDoubt {
    /// The parts of an answer, with the severity of the worst prior finding that it calls open.
    pub(super) fn of(answer: &Answer, open: Option<Severity>) -> Self {
        let is_unmet = answer.criteria.iter().any(|(_, met)| matches!(met, Met::No { .. }));
        Self {
            decision: answer.decision,
            summary: answer.summary.as_deref().map(|summary| one_line(summary, MAX_SUMMARY)),
            n_claims: answer.claims.len(),
            is_unmet,
            open,
            losses: answer.losses.clone(),
        }
    }

    pub(super) fn n_claims(&self) -> usize {
        self.n_claims
    }

    /// The doubts that its claims leave, given by their severity and whether each was verified. Findings below the floor
    /// explain nothing, since they do not count.
    pub(super) fn doubts(self, reviewer: &str, claims: &[(Severity, bool)], floor: Severity) -> Vec<Doubt> {
        let doubt = |kind, reason: String| Doubt { kind, reviewer: reviewer.to_owned(), reason };
        let rejection = self.rejection(claims, floor.max(EXPLAINS)).map(|reason| doubt(DoubtKind::Rejection, reason));
        let runaway = self.decision.is_none() && self.n_claims >= MAX_WITHOUT_DECISION;
        let runaway = runaway.then(|| format!("gave {} findings and no decision", self.n_claims));
        let lost = self.losses.iter().map(|loss| format!("gave an answer that {loss}"));
        rejection
            .into_iter()
            .chain(runaway.into_iter().chain(lost).map(|loss| doubt(DoubtKind::Answer, loss)))
            .collect()
    }

    /// Why a rejection is not explained: no finding is verified, or those that are do not block, and others might, or all
    /// of them are too mild.
    fn rejection(&self, claims: &[(Severity, bool)], explains: Severity) -> Option<String> {
        let claims = || claims.iter().filter(|(severity, _)| *severity != Severity::Praise);
        let n_unverified = claims().filter(|(_, counts)| !counts).count();
        let worst = claims().filter(|(_, counts)| *counts).map(|(severity, _)| *severity).max();
        let is_explained_by = |worst: Severity| worst.blocks() || (worst >= explains && n_unverified == 0);
        let is_explained = worst.is_some_and(is_explained_by) || self.open.is_some_and(|open| open >= explains);
        if self.decision != Some(Decision::Rejected) || self.is_unmet || is_explained {
            return None;
        }
        let why = match (claims().count(), n_unverified) {
            (0, _) if self.open.is_some() => " for findings that do not block",
            (0, _) if self.summary.is_none() => " and not why",
            (0, _) => " without a finding",
            (_, 0) => " for findings that do not block",
            (n_claims, n_unverified) if n_claims == n_unverified => ", and no finding of it could be verified",
            _ => ", and not all of its findings could be verified",
        };
        let summary = self.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
        Some(format!("says REJECTED{why}{summary}"))
    }
}

/// Collapses whitespace and truncates a text to one line.
fn one_line(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::answer;

    use crate::pipeline::prior::PriorItem;

    use super::*;

    #[test]
    fn a_truncated_approval_does_not_count() {
        let mut statements = Statements::default();
        let approved = r#"{"decision": "approved", "summary": "Fine.", "findings": []}"#;
        for (text, truncated) in
            [(approved, false), (approved, true), (&approved.replace("approved", "rejected"), true)]
        {
            let answer = Answer { truncated, ..answer::read(text).unwrap() };
            statements.add("m", (0, 1), &answer);
        }
        let (stated, testimony) = statements.finish();
        let decisions: Vec<Decision> = stated.iter().map(|stated| stated.decision).collect();
        assert_eq!(decisions, [Decision::Approved, Decision::Rejected]);
        assert_eq!((testimony.len(), testimony[0].calls.len()), (1, 3));
    }

    #[test]
    fn statements_are_about_what_the_call_asked_and_silence_is_unknown() {
        let text = r#"{"prior": [{"id": "P1", "state": "fixed", "evidence": "a"}, {"id": "P3", "state": "open"},
                       {"id": "P9", "state": "fixed"}], "decision": "approved", "summary": "ok", "findings": []}"#;
        let answer = answer::read(text).unwrap();
        let keys = [PriorItem::Finding(7), PriorItem::Finding(0), PriorItem::Withheld(2)];
        let keys = keys.map(|item| PriorKey { is_here: false, item });
        let said = |answer: &Answer, asked: &[usize]| {
            let said = about_prior("m", answer, asked, &keys);
            said.iter().map(|it| (it.about, it.state)).collect::<Vec<_>>()
        };
        let (fixed, unknown, open) = (PriorState::Fixed, PriorState::Unknown, PriorState::Open);
        assert_eq!(said(&answer, &[0, 1]), [(keys[0], fixed), (keys[1], unknown)]);
        assert_eq!(said(&answer, &[2]), [(keys[2], open)]);
        let truncated = Answer { truncated: true, ..answer };
        assert_eq!(said(&truncated, &[0, 2]), [(keys[0], unknown), (keys[2], open)]);
    }

    /// The doubts about an answer whose claims are given by severity and whether they are verified.
    #[track_caller]
    fn check(decision: &str, claims: &[(Severity, bool)], expected: &[&str]) {
        let text = format!(r#"{{"decision": "{decision}", "summary": "Bad.", "findings": []}}"#);
        let mut answer = AnswerInDoubt::of(&answer::read(&text).unwrap(), None);
        answer.n_claims = claims.len();
        let doubts: Vec<String> = answer.doubts("m", claims, Severity::Nit).iter().map(ToString::to_string).collect();
        assert_eq!(doubts, expected, "{decision} {claims:?}");
    }

    #[test]
    fn a_rejection_is_settled_only_by_verified_findings() {
        use Severity::{High, Low, Medium, Praise};
        check("rejected", &[], &["m says REJECTED without a finding: Bad."]);
        let none = "m says REJECTED, and no finding of it could be verified: Bad.";
        check("rejected", &[(High, false)], &[none]);
        check("rejected", &[(Medium, false), (Praise, true)], &[none]);
        check(
            "rejected",
            &[(Low, true), (Medium, false)],
            &["m says REJECTED, and not all of its findings could be verified: Bad."],
        );
        check("rejected", &[(High, true), (Medium, false)], &[]);
        check("rejected", &[(Low, true), (Medium, true)], &[]);
        check("rejected", &[(Praise, true)], &["m says REJECTED without a finding: Bad."]);
        let mild = "m says REJECTED for findings that do not block: Bad.";
        check("rejected", &[(Low, true), (Severity::Nit, true)], &[mild]);
        for claims in [&[][..], &[(Low, false)], &[(High, true)]] {
            check("approved", claims, &[]);
        }
    }

    #[test]
    fn a_rejection_is_explained_by_an_open_finding_that_counts() {
        let doubts = |open: Option<Severity>, claims: &[(Severity, bool)], floor: Severity| {
            let text = r#"{"decision": "rejected", "summary": "Bad.", "findings": []}"#;
            AnswerInDoubt::of(&answer::read(text).unwrap(), open).doubts("m", claims, floor).len()
        };
        assert_eq!(doubts(Some(Severity::Medium), &[], Severity::Nit), 0);
        assert_eq!(doubts(Some(Severity::Low), &[], Severity::Nit), 1);
        assert_eq!(doubts(None, &[(Severity::Medium, true)], Severity::High), 1, "below the floor it does not count");
        assert_eq!(doubts(None, &[(Severity::High, true)], Severity::Critical), 0);
    }

    #[test]
    fn a_lost_part_and_a_runaway_are_doubts() {
        let low = r#"{"severity": "Low", "file": "a", "title": "x"}"#;
        let doubts = |text: &str| {
            let answer = answer::read(text).unwrap();
            let claims: Vec<(Severity, bool)> = answer.claims.iter().map(|claim| (claim.severity, true)).collect();
            let doubts = AnswerInDoubt::of(&answer, None).doubts("m", &claims, Severity::Nit);
            doubts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(doubts(&format!(r#"{{"decision": "approved", "summary": "s", "findings": [{low}]}}"#)), "");
        let twice = format!(r#"{{"decision": "approved", "summary": "s", "findings": [{low}], "findings": []}}"#);
        assert_eq!(doubts(&twice), "m gave an answer that has the key `findings` twice in one object");
        let many = |n: usize| (0..n).map(|n| low.replace('x', &format!("x{n}"))).collect::<Vec<_>>().join(",");
        let runaway = format!(r#"{{"findings": [{}]}}"#, many(120));
        assert_eq!(doubts(&runaway), "m gave 120 findings and no decision");
        let over = format!(r#"{{"decision": "approved", "summary": "s", "findings": [{}]}}"#, many(2_100));
        let said = "m gave 2000 findings and no decision; \
                    m gave an answer that has 100 findings beyond the first 2000, which were left out";
        assert_eq!(doubts(&over), said);
    }
}
