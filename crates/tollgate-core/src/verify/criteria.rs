//! What several reviewers say of acceptance criteria, made one answer for each.
//!
//! A reviewer may be asked in several calls, each with a part of the change. A part can show that a criterion is met; that
//! it is not met there says little, because the rest may meet it. So within a reviewer a yes with evidence counts before
//! a no. Between reviewers, who all saw the change, a no counts before a yes: the gate is closed by whoever misses
//! something. What nobody answered is unclear, and unclear is not met.

use std::collections::BTreeMap;

use crate::board::{Compliance, Criterion, Met};
use crate::fingerprint::normalise;

/// The most characters of evidence.
const MAX_EVIDENCE: usize = 500;

/// What one reviewer says of criteria in one pass over the change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CriteriaAnswers {
    /// Who says so.
    pub reviewer: String,
    /// What it said in each call, by the names of the criteria.
    pub calls: Vec<Vec<(String, Met)>>,
}

/// Makes one answer for each criterion of what reviewers said. Also gives what was odd, for people.
#[must_use]
pub fn combine_criteria(criteria: &[Criterion], said: &[CriteriaAnswers]) -> (Compliance, Vec<String>) {
    let mut problems = Vec::new();
    let voices: Vec<BTreeMap<&str, Met>> =
        said.iter().map(|testimony| voice(criteria, testimony, &mut problems)).collect();
    let answered = criteria.iter().map(|criterion| {
        let answers = voices.iter().filter_map(|voice| voice.get(criterion.id.as_str()));
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

/// What one reviewer says of each criterion, over all of its calls.
fn voice<'a>(
    criteria: &'a [Criterion],
    testimony: &CriteriaAnswers,
    problems: &mut Vec<String>,
) -> BTreeMap<&'a str, Met> {
    let mut unknown = 0;
    let mut voice: BTreeMap<&str, Met> = BTreeMap::new();
    for (id, met) in testimony.calls.iter().flatten() {
        let Some(criterion) = criteria.iter().find(|criterion| criterion.id == *id) else {
            unknown += 1;
            continue;
        };
        let met = weighed(criterion, met);
        match voice.get(criterion.id.as_str()) {
            Some(known) if rank(known) <= rank(&met) => {}
            _ => {
                voice.insert(&criterion.id, met);
            }
        }
    }
    if unknown > 0 && !criteria.is_empty() {
        let answers = if unknown == 1 { "1 criterion".to_owned() } else { format!("{unknown} criteria") };
        problems.push(format!("{}: it answers {answers} that nobody asked about", testimony.reviewer));
    }
    voice
}

/// Which answer of a reviewer's own calls counts first.
fn rank(met: &Met) -> u8 {
    match met {
        Met::Yes { .. } => 0,
        Met::No { .. } => 1,
        Met::Unclear { evidence: Some(_) } => 2,
        Met::Unclear { evidence: None } => 3,
    }
}

/// An answer with its evidence on one line. A criterion in its own words is no evidence that it is met.
fn weighed(criterion: &Criterion, met: &Met) -> Met {
    match met {
        Met::Yes { evidence } => {
            let shown = shown(evidence);
            let words = normalise(&shown);
            if words.is_empty() || words == normalise(&criterion.text) {
                return Met::Unclear { evidence: None };
            }
            Met::Yes { evidence: shown }
        }
        Met::No { evidence } => Met::No { evidence: shown(evidence) },
        Met::Unclear { evidence } => {
            Met::Unclear { evidence: evidence.as_deref().map(shown).filter(|evidence| !evidence.is_empty()) }
        }
    }
}

fn shown(evidence: &str) -> String {
    let line = evidence.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_EVIDENCE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
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
    fn check(said: &[CriteriaAnswers], expected: Met) {
        let (compliance, problems) = combine_criteria(&[criterion(1)], said);
        assert_eq!(compliance.criteria, [(criterion(1), expected)]);
        assert_eq!(problems, [""; 0]);
    }

    #[test]
    fn what_nobody_answered_is_unclear() {
        check(&[], unclear());
        check(&[by(&[&[]]), by(&[])], unclear());
        check(&[by(&[&[unclear()]]), by(&[&[yes("a.rs:1")]])], yes("a.rs:1"));
    }

    #[test]
    fn a_part_that_shows_it_counts_before_parts_that_do_not() {
        check(&[by(&[&[no("not here")], &[yes("a.rs:1")], &[unclear()]])], yes("a.rs:1"));
        check(&[by(&[&[no("not here")], &[unclear()]])], no("not here"));
    }

    #[test]
    fn between_reviewers_whoever_misses_something_counts() {
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
    fn answers_to_what_nobody_asked_are_left_out_and_told() {
        let said = CriteriaAnswers { reviewer: "m".to_owned(), calls: vec![vec![("C7".to_owned(), yes("a"))]] };
        let (compliance, problems) = combine_criteria(&[criterion(1)], std::slice::from_ref(&said));
        assert_eq!(compliance.criteria, [(criterion(1), unclear())]);
        assert_eq!(problems, ["m: it answers 1 criterion that nobody asked about"]);
        assert_eq!(combine_criteria(&[], &[said]), (Compliance::default(), Vec::new()));
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
            let said: Vec<CriteriaAnswers> =
                calls.map(|call| CriteriaAnswers { reviewer: "m".to_owned(), calls: vec![call] }).collect();
            let (compliance, _) = combine_criteria(&criteria, &said);
            let asked: Vec<Criterion> = compliance.criteria.iter().map(|(criterion, _)| criterion.clone()).collect();
            prop_assert_eq!(asked, criteria);
            for (criterion, met) in &compliance.criteria {
                let denied = answers.iter().any(|(number, kind, _)| criterion.id == format!("C{number}") && *kind == 1);
                prop_assert_eq!(matches!(met, Met::No { .. }), denied);
            }
        }
    }
}
