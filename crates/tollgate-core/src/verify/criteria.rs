//! Combines the answers of several reviewers to acceptance criteria.
//!
//! A reviewer may get the change in several calls. One part can prove that a criterion is met; that a part does not meet it
//! proves little, because another may. So within a reviewer a yes with evidence beats a no. Between reviewers, which all
//! saw the whole change, a no beats a yes. A criterion without an answer is unclear, and unclear is not met.

use std::collections::BTreeMap;

use crate::board::{Compliance, Criterion, Met};
use crate::fingerprint::normalise;
use crate::verify::one_line;

/// The most characters of evidence.
const MAX_EVIDENCE: usize = 500;

/// The answers of one reviewer in one pass over the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriteriaAnswers {
    /// The name of the reviewer.
    pub reviewer: String,
    /// The answers of each call, by criterion id.
    pub calls: Vec<Vec<(String, Met)>>,
}

/// Combines the answers into one per criterion; also returns human-readable problems.
#[must_use]
pub fn combine_criteria(criteria: &[Criterion], all_answers: &[CriteriaAnswers]) -> (Compliance, Vec<String>) {
    let mut problems = Vec::new();
    let by_reviewer: Vec<BTreeMap<&str, Met>> =
        all_answers.iter().map(|reviewer| answers_of(criteria, reviewer, &mut problems)).collect();
    let answered = criteria.iter().map(|criterion| {
        let answers = by_reviewer.iter().filter_map(|answers| answers.get(criterion.id.as_str()));
        let worst = answers.min_by_key(|met| match met {
            Met::No { .. } => 0,
            Met::Yes { .. } => 1,
            Met::Unclear { evidence: Some(_) } => 2,
            Met::Unclear { evidence: None } => 3,
        });
        (criterion.clone(), worst.cloned().unwrap_or(Met::Unclear { evidence: None }))
    });
    (Compliance { criteria: answered.collect() }, problems)
}

/// The answers of one reviewer over all of its calls.
fn answers_of<'a>(
    criteria: &'a [Criterion],
    reviewer: &CriteriaAnswers,
    problems: &mut Vec<String>,
) -> BTreeMap<&'a str, Met> {
    let mut unknown = 0;
    let mut combined: BTreeMap<&str, Met> = BTreeMap::new();
    for (id, met) in reviewer.calls.iter().flatten() {
        let Some(criterion) = criteria.iter().find(|criterion| criterion.id == *id) else {
            unknown += 1;
            continue;
        };
        let met = weighed(criterion, met);
        match combined.get(criterion.id.as_str()) {
            Some(known) if rank(known) <= rank(&met) => {}
            _ => {
                combined.insert(&criterion.id, met);
            }
        }
    }
    if unknown > 0 && !criteria.is_empty() {
        let answers = if unknown == 1 { "1 criterion".to_owned() } else { format!("{unknown} criteria") };
        problems.push(format!("{}: it answers {answers} not asked for", reviewer.reviewer));
    }
    combined
}

/// The precedence of the answers of one reviewer, highest first.
fn rank(met: &Met) -> u8 {
    match met {
        Met::Yes { .. } => 0,
        Met::No { .. } => 1,
        Met::Unclear { evidence: Some(_) } => 2,
        Met::Unclear { evidence: None } => 3,
    }
}

/// Normalizes the evidence. Repeating the criterion is no evidence that it is met.
fn weighed(criterion: &Criterion, met: &Met) -> Met {
    match met {
        Met::Yes { evidence } => {
            let trimmed = trimmed(evidence);
            let words = normalise(&trimmed);
            if words.is_empty() || words == normalise(&criterion.text) {
                return Met::Unclear { evidence: None };
            }
            Met::Yes { evidence: trimmed }
        }
        Met::No { evidence } => Met::No { evidence: trimmed(evidence) },
        Met::Unclear { evidence } => {
            Met::Unclear { evidence: evidence.as_deref().map(trimmed).filter(|evidence| !evidence.is_empty()) }
        }
    }
}

fn trimmed(evidence: &str) -> String {
    one_line(evidence, MAX_EVIDENCE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn criterion(number: usize) -> Criterion {
        Criterion { id: format!("C{number}"), text: format!("Thing {number}") }
    }

    fn yes(evidence: &str) -> Met {
        Met::Yes { evidence: evidence.to_owned() }
    }

    fn no(evidence: &str) -> Met {
        Met::No { evidence: evidence.to_owned() }
    }

    fn unclear() -> Met {
        Met::Unclear { evidence: None }
    }

    fn by(calls: &[&[Met]]) -> CriteriaAnswers {
        let call = |answers: &&[Met]| answers.iter().map(|met| ("C1".to_owned(), met.clone())).collect();
        CriteriaAnswers { reviewer: "m".to_owned(), calls: calls.iter().map(call).collect() }
    }

    #[track_caller]
    fn check(all_answers: &[CriteriaAnswers], expected: Met) {
        let (compliance, problems) = combine_criteria(&[criterion(1)], all_answers);
        assert_eq!(compliance.criteria, [(criterion(1), expected)]);
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn a_criterion_without_an_answer_is_unclear() {
        check(&[], unclear());
        check(&[by(&[&[]]), by(&[])], unclear());
        check(&[by(&[&[unclear()]]), by(&[&[yes("a.rs:1")]])], yes("a.rs:1"));
    }

    #[test]
    fn within_a_reviewer_a_yes_beats_a_no() {
        check(&[by(&[&[no("not here")], &[yes("a.rs:1")], &[unclear()]])], yes("a.rs:1"));
        check(&[by(&[&[no("not here")], &[unclear()]])], no("not here"));
    }

    #[test]
    fn between_reviewers_a_no_beats_a_yes() {
        check(&[by(&[&[yes("a.rs:1")]]), by(&[&[no("only for mail")]])], no("only for mail"));
        check(&[by(&[&[no("x")], &[yes("a.rs:1")]]), by(&[&[yes("b.rs:1")]])], yes("a.rs:1"));
    }

    #[test]
    fn a_yes_needs_evidence() {
        check(&[by(&[&[yes(" ")]])], unclear());
        check(&[by(&[&[yes("thing 1!")]])], unclear());
        check(&[by(&[&[yes("")], &[no("missing")]])], no("missing"));
        let long = "x ".repeat(2_000);
        check(&[by(&[&[yes(&long)]])], yes(&format!("{}…", long[..MAX_EVIDENCE].trim_end())));
    }

    #[test]
    fn answers_to_unknown_criteria_are_dropped_and_reported() {
        let all_answers = CriteriaAnswers { reviewer: "m".to_owned(), calls: vec![vec![("C7".to_owned(), yes("a"))]] };
        let (compliance, problems) = combine_criteria(&[criterion(1)], std::slice::from_ref(&all_answers));
        assert_eq!(compliance.criteria, [(criterion(1), unclear())]);
        assert_eq!(problems, ["m: it answers 1 criterion not asked for"]);
        assert_eq!(combine_criteria(&[], &[all_answers]), (Compliance::default(), Vec::new()));
    }

    proptest! {
        #[test]
        fn every_criterion_is_answered_once_and_in_order(
            answers in proptest::collection::vec((0usize..6, 0u8..3, "[a-z ]{0,3}"), 0..20),
            n_criteria in 0usize..5,
        ) {
            let criteria: Vec<Criterion> = (1..=n_criteria).map(criterion).collect();
            let calls = answers.iter().map(|(number, kind, evidence)| {
                let met = match kind {
                    0 => yes(evidence),
                    1 => no(evidence),
                    _ => unclear(),
                };
                vec![(format!("C{number}"), met)]
            });
            let all_answers: Vec<CriteriaAnswers> =
                calls.map(|call| CriteriaAnswers { reviewer: "m".to_owned(), calls: vec![call] }).collect();
            let (compliance, _) = combine_criteria(&criteria, &all_answers);
            let asked: Vec<Criterion> = compliance.criteria.iter().map(|(criterion, _)| criterion.clone()).collect();
            prop_assert_eq!(asked, criteria);
            for (criterion, met) in &compliance.criteria {
                let denied = answers.iter().any(|(number, kind, _)| criterion.id == format!("C{number}") && *kind == 1);
                prop_assert_eq!(matches!(met, Met::No { .. }), denied);
            }
        }
    }
}
