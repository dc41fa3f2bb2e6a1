//! Statements of reviewers beside their findings: whether the change may pass, and which acceptance criteria it meets.

use std::collections::BTreeMap;

use tollgate_core::answer::{Answer, Decision};
use tollgate_core::verify::CriteriaAnswers;

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

#[cfg(test)]
mod tests {
    use tollgate_core::answer;

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
}
