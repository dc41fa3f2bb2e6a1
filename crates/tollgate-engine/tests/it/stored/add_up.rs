//! Trends add up to the list.

use proptest::prelude::*;
use tollgate_core::finding::{Category, Severity};
use tollgate_engine::store::{Range, RunQuery};

use super::{Given, Memory, finding, run};

const DAY: u64 = 86_400_000;

/// A run: which repository, on which day, how its findings are.
fn given() -> impl Strategy<Value = Given> {
    let findings = prop::collection::vec((0..6usize, 0..10usize, 0..3u8), 0..6);
    (any::<bool>(), 1..9u64, findings, 0..5_000u64).prop_map(|(elsewhere, day, findings, took_ms)| {
        let of = |(severity, category, rule): (usize, usize, u8)| {
            let (severity, category) = (Severity::ALL[severity], Category::ALL[category]);
            finding(&format!("{severity} {category} {rule}"), severity, category, &format!("rule-{rule}"))
        };
        let repository = if elsewhere { "/srv/other" } else { "/srv/shop" };
        let findings = findings.into_iter().map(of).collect();
        Given { repository, ended_ms: day * DAY + took_ms, took_ms, findings, ..run() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_parts_of_a_range_are_the_runs_of_its_list(
        runs in prop::collection::vec(given(), 0..12),
        (from, days, part) in (0..8u64, 1..9u64, 1..4u64),
        only_one in any::<bool>(),
    ) {
        let memory = Memory::new();
        let mut store = memory.store();
        for given in &runs {
            given.stored(&mut store);
        }
        let repository = only_one.then(|| "/srv/shop".to_owned());
        let (from_ms, to_ms) = (from * DAY, (from + days) * DAY);
        let range = Range { from_ms, to_ms, part_ms: part * DAY, repository: repository.clone() };
        let query = RunQuery { repository, from_ms: Some(from_ms), to_ms: Some(to_ms), limit: 100, ..RunQuery::default() };
        let database = memory.database();
        let (trends, (listed, total)) = (database.trends(&range).unwrap(), database.runs(&query).unwrap());

        prop_assert_eq!(trends.parts.iter().map(|part| part.n_runs).sum::<u64>(), total);
        prop_assert_eq!(trends.whole.n_runs, total);
        for (index, severity) in Severity::ALL.into_iter().enumerate() {
            let in_list: usize = listed
                .iter()
                .flat_map(|run| &run.counts.by_severity)
                .filter(|(of, _)| *of == severity)
                .map(|(_, n)| n)
                .sum();
            let in_parts: u64 = trends.parts.iter().map(|part| part.by_severity[index]).sum();
            prop_assert_eq!(in_parts, in_list as u64);
        }
        for part in trends.parts.iter().chain([&trends.whole]) {
            prop_assert_eq!(part.by_category.iter().sum::<u64>(), part.n_findings());
            let results = part.n_approved + part.n_commented + part.n_changes_requested + part.n_failed;
            prop_assert_eq!(results, part.n_runs);
        }
        prop_assert_eq!(trends.rules.iter().map(|rule| rule.n_findings).sum::<u64>(), trends.whole.n_findings());
    }
}
