//! Checks a reviewer's decision for consistency with its own findings.

use crate::answer::{Answer, Decision};
use crate::board::Met;

/// Compares a reviewer's decision with its findings.
///
/// Returns a note when they disagree: then the findings count, not the decision. An answer without enough content for a
/// review is an error with the reason, so that the gate never takes it for an approval. A rejection always is a review:
/// whether findings explain it is decided once they are verified.
pub fn check_consistency(answer: &Answer) -> Result<Option<String>, String> {
    let n_blockers = answer.claims.iter().filter(|claim| claim.severity.blocks()).count();
    let n_unmet = answer.criteria.iter().filter(|(_, met)| matches!(met, Met::No { .. })).count();
    match (answer.decision, answer.claims.is_empty()) {
        (Some(Decision::Approved), _) if n_unmet > 0 && n_blockers == 0 => {
            let criteria = if n_unmet == 1 { "1 criterion is".to_owned() } else { format!("{n_unmet} criteria are") };
            Ok(Some(format!("said APPROVED and that {criteria} not met; the criteria count")))
        }
        (None, true) => Err("it has neither a decision nor a finding".to_owned()),
        (Some(Decision::Approved), _) if n_blockers > 0 => {
            let blockers = if n_blockers == 1 { "1 blocker".to_owned() } else { format!("{n_blockers} blockers") };
            Ok(Some(format!("said APPROVED and reported {blockers}; the findings count")))
        }
        (Some(Decision::Rejected), false) if n_blockers == 0 => {
            Ok(Some("said REJECTED and reported no blocker".to_owned()))
        }
        (None, false) | (Some(_), _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Claim, Form};
    use crate::finding::{Category, Severity};

    #[track_caller]
    fn check(decision: Option<Decision>, severities: &[Severity], criteria: &[Met], expected: &str) {
        let claim = |severity: &Severity| Claim {
            severity: *severity,
            category: Category::Logic,
            file: None,
            lines: None,
            side: None,
            title: "x".to_owned(),
            reason: None,
            evidence: None,
            quotes: Vec::new(),
            suggestion: None,
            replacement: None,
        };
        let answer = Answer {
            decision,
            form: Form::Text,
            truncated: false,
            claims: severities.iter().map(claim).collect(),
            summary: None,
            criteria: criteria.iter().map(|met| ("C1".to_owned(), met.clone())).collect(),
            prior: Vec::new(),
            losses: Vec::new(),
            problems: Vec::new(),
        };
        let said = match check_consistency(&answer) {
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
        check(APPROVED, &[], &[], "fine");
        check(APPROVED, MILD, &[], "fine");
        check(REJECTED, HARD, &[], "fine");
        check(None, MILD, &[], "fine");
        check(None, HARD, &[], "fine");
    }

    #[test]
    fn a_decision_that_contradicts_the_findings_is_noted_and_the_findings_count() {
        check(APPROVED, HARD, &[], "note: said APPROVED and reported 2 blockers; the findings count");
        check(APPROVED, &HARD[..1], &[], "note: said APPROVED and reported 1 blocker; the findings count");
        check(REJECTED, MILD, &[], "note: said REJECTED and reported no blocker");
        let unmet = Met::No { evidence: "nothing checks".to_owned() };
        let said = "note: said APPROVED and that 1 criterion is not met; the criteria count";
        check(APPROVED, MILD, &[unmet], said);
    }

    #[test]
    fn an_answer_without_a_decision_and_a_finding_is_not_a_review() {
        check(None, &[], &[], "failed: it has neither a decision nor a finding");
        let unmet = Met::No { evidence: "nothing checks".to_owned() };
        check(None, &[], &[unmet], "failed: it has neither a decision nor a finding");
    }

    #[test]
    fn a_rejection_without_a_finding_is_a_review() {
        check(REJECTED, &[], &[], "fine");
    }
}
