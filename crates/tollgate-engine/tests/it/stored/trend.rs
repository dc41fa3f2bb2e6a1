//! Trends with figures that were worked out by hand.

use tollgate_core::finding::{Category, Severity};
use tollgate_core::suppress::Dismissal;
use tollgate_engine::party::Party;
use tollgate_engine::store::{Figures, NewDismissal, Range, RuleFigures, Spread, Subject};

use super::{Given, Memory, finding, high, run};

/// Two days from the tenth on.
const DAY: u64 = 86_400_000;

fn range() -> Range {
    Range { from_ms: 10 * DAY, to_ms: 12 * DAY, part_ms: DAY, repository: None }
}

#[test]
fn each_part_adds_up_what_ended_in_it() {
    let memory = Memory::new();
    let perf = finding("slow", Severity::Low, Category::Perf, "slow");
    let took = |took_ms: u64, ended_ms: u64| Given { took_ms, ended_ms, ..run() };
    // Before the range, at its first and last moment, and right after it.
    memory.add(&Given { findings: vec![high("a")], ..took(1, 10 * DAY - 1) });
    memory.add(&Given { findings: vec![high("a"), perf.clone()], asked: Some((100, 0.2)), ..took(400, 10 * DAY) });
    memory.add(&Given { findings: vec![perf], asked: Some((50, 0.4)), ..took(100, 11 * DAY - 1) });
    memory.add(&took(300, 11 * DAY - 1));
    memory.add(&Given { findings: vec![high("b")], ..took(700, 12 * DAY - 1) });
    memory.add(&took(1, 12 * DAY));

    let trends = memory.database().trends(&range()).unwrap();
    assert_eq!(trends.parts.len(), 2);
    let mut by_category = [0; 10];
    by_category[2] = 1; // Logic
    by_category[6] = 2; // Perf
    let first = Figures {
        n_runs: 3,
        n_approved: 1,
        n_commented: 1,
        n_changes_requested: 1,
        by_severity: [0, 1, 0, 2, 0, 0],
        by_category,
        // 100, 300, 400: the second of three, and the third.
        took_ms: Some(Spread { median: 300.0, p90: 400.0 }),
        // 0.2, 0.4: the first of two, and the second.
        cost: Some(Spread { median: 0.2, p90: 0.4 }),
        cost_usd: 0.2 + 0.4,
        n_tokens: 150,
        ..Figures::default()
    };
    assert_eq!(trends.parts[0], first);
    assert_eq!(trends.parts[1].by_severity, [0, 1, 0, 0, 0, 0]);
    // 100, 300, 400, 700: the second of four, and the fourth.
    assert_eq!((trends.whole.n_runs, trends.whole.took_ms), (4, Some(Spread { median: 300.0, p90: 700.0 })));
    assert_eq!((trends.whole.n_findings(), trends.whole.n_blockers()), (4, 2));
    assert_eq!((trends.before.n_runs, trends.before.n_blockers()), (1, 1));
}

#[test]
fn a_finding_missing_in_the_next_run_is_resolved_once() {
    let memory = Memory::new();
    let at = |ended_ms: u64| Given { ended_ms, ..run() };
    let first = memory.add(&Given { findings: vec![high("a"), high("b"), high("c"), high("d")], ..at(10 * DAY) });
    // `a` is still there, `b` is dismissed, `c` and `d` are gone, `e` is new.
    let next = Given {
        findings: vec![high("a"), high("e")],
        withheld: vec![high("b")],
        prior: Some(first),
        new: vec![1],
        ..at(10 * DAY + 1)
    };
    let second = memory.add(&next);
    // The same state reviewed again is compared with the same run again.
    memory.add(&Given { ended_ms: 10 * DAY + 2, ..next });
    memory.add(&Given { prior: Some(second), ..at(11 * DAY) });
    let trends = memory.database().trends(&range()).unwrap();
    let rates: Vec<(u64, u64)> = trends.parts.iter().map(|part| (part.n_resolved, part.n_prior)).collect();
    assert_eq!(rates, [(2, 4), (2, 2)]);
    assert_eq!((trends.whole.n_resolved, trends.whole.n_prior), (4, 6));
}

#[test]
fn rules_are_told_by_how_often_they_speak_and_are_dismissed() {
    let memory = Memory::new();
    let of = |rule: &str, summary: &str| finding(summary, Severity::Low, Category::Style, rule);
    let at = Given { ended_ms: 10 * DAY, ..run() };
    let both = vec![of("loud", "x"), of("loud", "y"), of("calm", "z")];
    memory.add(&Given { findings: both, ..at.clone() });
    let subject = Subject {
        repository: "example.com/o/shop".to_owned(),
        name: "branch work".to_owned(),
        scope: "branch".to_owned(),
    };
    let (dismissal, party) =
        (Dismissal::of_finding(&of("loud", "x"), "only noise").unwrap(), Party::Person("Ada".to_owned()));
    memory.store().dismiss(&NewDismissal { dismissal, party, subject, everywhere: false }, 1).unwrap();
    // From now on it is withheld; the mark in the code silences `calm`.
    memory.add(&Given {
        findings: vec![of("loud", "y")],
        withheld: vec![of("loud", "x"), of("calm", "z")],
        ..at.clone()
    });
    // In other repositories it is not dismissed.
    memory.add(&Given { repository: "/srv/other", findings: vec![of("loud", "x")], ..at });
    let figures = |rule: &str, n_findings, n_distinct, n_dismissed| RuleFigures {
        rule: rule.to_owned(),
        n_findings,
        n_distinct,
        n_dismissed,
    };
    let rules = memory.database().trends(&range()).unwrap().rules;
    assert_eq!(rules, [figures("loud", 4, 3, 1), figures("calm", 1, 1, 1)]);
    let there = Range { repository: Some("/srv/other".to_owned()), ..range() };
    assert_eq!(memory.database().trends(&there).unwrap().rules, [figures("loud", 1, 1, 0)]);
}

#[test]
fn a_range_without_runs_has_parts_and_no_figures() {
    let trends = Memory::new().database().trends(&range()).unwrap();
    assert_eq!(trends.parts, [Figures::default(), Figures::default()]);
    assert_eq!((trends.whole, trends.before, trends.rules), (Figures::default(), Figures::default(), vec![]));
}

#[test]
fn parts_are_bounded_whatever_is_asked_for() {
    let parts = |range: Range| Memory::new().database().trends(&range).unwrap().parts.len();
    assert_eq!(parts(Range { from_ms: 0, to_ms: u64::MAX, part_ms: 0, repository: None }), 400);
    assert_eq!(parts(Range { from_ms: 5, to_ms: 1, part_ms: DAY, repository: None }), 1);
    assert_eq!(parts(Range { to_ms: 12 * DAY + 1, ..range() }), 3);
}
