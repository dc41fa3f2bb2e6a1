//! Checks a reviewer's decision for consistency with its own findings.

use crate::answer::{Answer, Decision};
use crate::board::Met;
use crate::verify::one_line;

/// The most characters of a quoted summary.
const MAX_QUOTED: usize = 200;

/// Which parts of an answer can block a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Only findings. A rejection without findings is not a review.
    Findings,
    /// Findings, and a rejection that gives a reason or names an unmet criterion.
    Statement,
}

/// Compares a reviewer's decision with its findings.
///
/// Returns a note when they disagree: then the findings count, not the decision. An answer without enough content for a
/// review is an error with the reason, so that the gate never takes it for an approval.
pub fn check_consistency(answer: &Answer, weight: Weight) -> Result<Option<String>, String> {
    let n_blockers = answer.claims.iter().filter(|claim| claim.severity.blocks()).count();
    let n_unmet = answer.criteria.iter().filter(|(_, met)| matches!(met, Met::No { .. })).count();
    let summary = answer.summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
    match (answer.decision, answer.claims.is_empty()) {
        (Some(Decision::Rejected), true) if weight == Weight::Statement && n_unmet > 0 => Ok(None),
        (Some(Decision::Rejected), true) if weight == Weight::Statement && summary.is_some() => {
            Ok(summary.map(|summary| format!("said REJECTED without a finding: {}", one_line(summary, MAX_QUOTED))))
        }
        (Some(Decision::Approved), _) if n_unmet > 0 && n_blockers == 0 => {
            let criteria = if n_unmet == 1 { "1 criterion is".to_owned() } else { format!("{n_unmet} criteria are") };
            Ok(Some(format!("said APPROVED and that {criteria} not met; the criteria count")))
        }
        (None, true) => Err("it has neither a decision nor a finding".to_owned()),
        (Some(Decision::Rejected), true) => Err(match summary {
            Some(summary) => {
                format!("it rejected the change without a finding, saying: {}", one_line(summary, MAX_QUOTED))
            }
            None => "it rejected the change without saying why".to_owned(),
        }),
        (Some(Decision::Approved), _) if n_blockers > 0 => {
            let blockers = if n_blockers == 1 { "1 blocker".to_owned() } else { format!("{n_blockers} blockers") };
            Ok(Some(format!("said APPROVED and reported {blockers}; the findings count")))
        }
        (Some(Decision::Rejected), false) if n_blockers == 0 => {
            Ok(Some("said REJECTED and reported no blocker".to_owned()))
        }
        (None | Some(Decision::Rejected), false) | (Some(Decision::Approved), _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Claim, Form};
    use crate::finding::{Category, Severity};

    #[track_caller]
    fn check(decision: Option<Decision>, severities: &[Severity], summary: Option<&str>, expected: &str) {
        check_weighed(decision, severities, summary, &[], Weight::Findings, expected);
    }

    #[track_caller]
    fn check_weighed(
        decision: Option<Decision>,
        severities: &[Severity],
        summary: Option<&str>,
        criteria: &[Met],
        weight: Weight,
        expected: &str,
    ) {
        let claim = |severity: &Severity| Claim {
            severity: *severity,
            category: Category::Logic,
            file: None,
            lines: None,
            side: None,
            title: "x".to_owned(),
            reason: None,
            evidence: None,
            suggestion: None,
            replacement: None,
        };
        let answer = Answer {
            decision,
            form: Form::Text,
            truncated: false,
            claims: severities.iter().map(claim).collect(),
            summary: summary.map(str::to_owned),
            criteria: criteria.iter().map(|met| ("C1".to_owned(), met.clone())).collect(),
            problems: Vec::new(),
        };
        let said = match check_consistency(&answer, weight) {
            Ok(None) => "fine".to_owned(),
            Ok(Some(note)) => format!("note: {note}"),
            Err(why) => format!("failed: {why}"),
        };
        assert_eq!(said, expected);
    }

    const APPROVED: Option<Decision> = Some(Decision::Approved);
    const REJECTED: Option<Decision> = Some(Decision::Rejected);
    const MILD: &[Severity] = &[Severity::Medium, Severity::Praise];
    const HARD: &[Severity] = &[Severity::High, Severity::Critical, Severity::Low];

    #[test]
    fn a_decision_that_agrees_with_the_findings_is_accepted() {
        check(APPROVED, &[], None, "fine");
        check(APPROVED, MILD, None, "fine");
        check(REJECTED, HARD, None, "fine");
        check(None, MILD, None, "fine");
        check(None, HARD, Some("bad"), "fine");
    }

    #[test]
    fn a_decision_that_contradicts_the_findings_is_noted_and_the_findings_count() {
        check(APPROVED, HARD, None, "note: said APPROVED and reported 2 blockers; the findings count");
        check(APPROVED, &HARD[..1], None, "note: said APPROVED and reported 1 blocker; the findings count");
        check(REJECTED, MILD, None, "note: said REJECTED and reported no blocker");
    }

    #[test]
    fn an_answer_without_enough_content_is_not_a_review() {
        check(None, &[], None, "failed: it has neither a decision nor a finding");
        check(None, &[], Some("Nice."), "failed: it has neither a decision nor a finding");
        check(REJECTED, &[], None, "failed: it rejected the change without saying why");
        check(REJECTED, &[], Some(" \n"), "failed: it rejected the change without saying why");
        let said = "failed: it rejected the change without a finding, saying: No tests at all.";
        check(REJECTED, &[], Some("No tests\nat all."), said);
    }
    #[test]
    fn where_statements_count_a_rejection_with_a_reason_is_a_review() {
        let statement = |summary, criteria: &[Met], expected: &str| {
            check_weighed(REJECTED, &[], summary, criteria, Weight::Statement, expected);
        };
        statement(Some("No tests\nat all."), &[], "note: said REJECTED without a finding: No tests at all.");
        let unmet = Met::No { evidence: "nothing checks".to_owned() };
        statement(None, std::slice::from_ref(&unmet), "fine");
        statement(None, &[], "failed: it rejected the change without saying why");
        statement(None, &[Met::Unclear { evidence: None }], "failed: it rejected the change without saying why");
        let said = "failed: it has neither a decision nor a finding";
        check_weighed(None, &[], Some("Nice."), std::slice::from_ref(&unmet), Weight::Statement, said);
        let said = "note: said APPROVED and that 1 criterion is not met; the criteria count";
        check_weighed(APPROVED, MILD, None, &[unmet], Weight::Statement, said);
    }
}
