//! What reviewers state beside their findings: whether the change may pass, and whether what was asked for is there.

use std::collections::BTreeMap;

use tollgate_core::answer::{Answer, Decision};
use tollgate_core::verify::CriteriaAnswers;

/// What a model or agent said of passing. It is not the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// Who said so.
    pub reviewer: String,
    /// Whether it would let the change pass, or its part of it.
    pub decision: Decision,
    /// What it says in general.
    pub summary: Option<String>,
}

/// Statements as they come in.
#[derive(Debug, Default)]
pub(super) struct Statements {
    stated: Vec<Stated>,
    /// By who and in which pass.
    testimony: BTreeMap<(usize, u32), CriteriaAnswers>,
}

impl Statements {
    /// Takes what an answer states. An approval that does not come whole is none.
    pub(super) fn hear(&mut self, reviewer: &str, voice: (usize, u32), answer: &Answer) {
        let counts = |decision: &Decision| *decision == Decision::Rejected || !answer.truncated;
        if let Some(decision) = answer.decision.filter(counts) {
            let summary = answer.summary.clone();
            self.stated.push(Stated { reviewer: reviewer.to_owned(), decision, summary });
        }
        let testimony = self.testimony.entry(voice).or_default();
        testimony.reviewer = reviewer.to_owned();
        testimony.calls.push(answer.criteria.clone());
    }

    /// What was stated, in the order of the calls, and what was said of criteria.
    pub(super) fn finish(self) -> (Vec<Stated>, Vec<CriteriaAnswers>) {
        (self.stated, self.testimony.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::answer;

    use super::*;

    #[test]
    fn an_approval_that_was_cut_off_is_none() {
        let mut statements = Statements::default();
        let approved = r#"{"decision": "approved", "summary": "Fine.", "findings": []}"#;
        for (text, truncated) in
            [(approved, false), (approved, true), (&approved.replace("approved", "rejected"), true)]
        {
            let answer = Answer { truncated, ..answer::read(text).unwrap() };
            statements.hear("m", (0, 1), &answer);
        }
        let (stated, testimony) = statements.finish();
        let decisions: Vec<Decision> = stated.iter().map(|stated| stated.decision).collect();
        assert_eq!(decisions, [Decision::Approved, Decision::Rejected]);
        assert_eq!((testimony.len(), testimony[0].calls.len()), (1, 3));
    }
}
