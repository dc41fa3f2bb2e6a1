//! Every rule on its own examples.

use tollgate_rules::{catalog, example};

/// `TOLLGATE_RULE=part-of-an-id` narrows the run while a rule is being written.
#[test]
fn every_rule_reports_its_bad_examples_and_not_its_good_ones() {
    let wanted = std::env::var("TOLLGATE_RULE").unwrap_or_default();
    let rules = catalog::all().iter().filter(|rule| rule.id.contains(&wanted));
    let problems: Vec<String> = rules.flat_map(example::test).collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn rule_ids_are_unique() {
    let mut ids: Vec<&str> = catalog::all().iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    let n_rules = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), n_rules);
}
