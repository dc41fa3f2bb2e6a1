use proptest::prelude::*;

use super::*;
use crate::delta::identity;
use crate::diff;
use crate::finding::{Category, Side};

fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

fn claim<'a>(file: &'a FilePath, line: u32, title: &'a str, severity: Severity) -> ComparedFinding<'a> {
    let lines = LineRange::new(line, line);
    ComparedFinding {
        file,
        title,
        severity,
        category: Category::Logic,
        rule: None,
        reviewer: None,
        lines,
        side: Side::Right,
        evidence: "call(one)",
        reason: "",
        scope: None,
        is_answered: false,
    }
}

/// In `a`, three lines are put in front, line 9 is edited and line 20 deleted; `gone` is deleted, `old` is `new` now.
fn map() -> LineMap {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,3 @@\n+x\n+y\n+z\n@@ -9 +12 @@\n-p\n+q\n@@ -20 +22,0 @@\n-d\n\
        diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    LineMap::of_diff(&diff::parse(text.into()).0, &[])
}

/// Classifies one prior finding that was not reported again.
#[track_caller]
fn check(file: &str, line: u32, reviewed: bool, quoted: Option<bool>, expected: &str) {
    let file = path(file);
    let prior = [claim(&file, line, "Bad", Severity::High)];
    let reviewed = ReviewedScope { at: &|_, _| reviewed, quoted: &|_, _| quoted };
    let delta = classify(&prior, 0, &FindingPairs::default(), &map(), reviewed);
    let shown = match (&delta.still_open[..], &delta.resolved[..]) {
        ([StillOpen { prior: 0, current: None, at: Some(at) }], []) => format!("open at {}:{}", at.file, at.lines),
        ([StillOpen { prior: 0, current: None, at: None }], []) => "open".to_owned(),
        ([], [0]) => "resolved".to_owned(),
        _ => panic!("{delta:?}"),
    };
    assert_eq!(shown, expected);
}

#[test]
fn a_finding_on_untouched_lines_is_still_open_at_its_new_lines() {
    check("a", 5, false, None, "open at a:8");
    check("other", 5, false, None, "open at other:5");
    check("old", 5, false, None, "open at new:5");
}

#[test]
fn a_finding_on_changed_lines_is_resolved_only_if_its_reviewer_saw_them() {
    check("a", 9, true, None, "resolved");
    check("a", 9, false, None, "open");
    check("a", 20, true, None, "resolved");
    check("a", 20, false, None, "open");
}

#[test]
fn a_rule_that_ran_again_and_found_nothing_resolves_its_finding() {
    check("a", 5, true, None, "resolved");
}

#[test]
fn evidence_that_is_no_longer_in_the_file_resolves_a_finding() {
    check("a", 9, false, Some(false), "resolved");
    check("a", 5, false, Some(false), "resolved");
    check("a", 9, false, Some(true), "open");
}

#[test]
fn a_deleted_file_resolves_its_findings() {
    check("gone", 1, false, None, "resolved");
}

#[test]
fn a_finding_without_lines_is_open_while_its_file_is_untouched() {
    check("other", 0, false, None, "open");
    check("a", 0, true, None, "resolved");
    check("gone", 0, false, None, "resolved");
    let file = path("other");
    let reviewed = ReviewedScope::at(&|_, mapped| !matches!(mapped, Mapped::At(_)));
    let delta = classify(&[claim(&file, 0, "Bad", Severity::Low)], 0, &FindingPairs::default(), &map(), reviewed);
    assert!(delta.resolved.is_empty());
}

#[test]
fn a_finding_reported_again_is_still_open_and_others_are_new() {
    let file = path("a");
    let prior = [claim(&file, 20, "Gone", Severity::Low), claim(&file, 5, "Bad", Severity::Low)];
    let joined = FindingPairs { pairs: vec![(1, 2)], n_not_compared: 0 };
    let delta = classify(&prior, 3, &joined, &map(), ReviewedScope::at(&|_, _| true));
    assert_eq!((delta.new, delta.resolved), (vec![0, 1], vec![0]));
    assert_eq!(delta.still_open, [StillOpen { prior: 1, current: Some(2), at: None }]);
}

#[track_caller]
fn check_update(prior: Severity, now: Severity, expected: &str) {
    let file = path("a");
    let (prior, current) = ([claim(&file, 1, "Bad", prior)], [claim(&file, 1, "Bad", now)]);
    let joined = identity::match_findings(&prior, &current, &LineMap::identity());
    let delta = classify(&prior, 1, &joined, &LineMap::identity(), ReviewedScope::at(&|_, _| true));
    assert_eq!(delta.verdict_update(&prior, &current).as_str(), expected);
}

#[test]
fn a_finding_counts_with_the_higher_of_both_severities() {
    check_update(Severity::Low, Severity::Critical, "blockers_remain");
    check_update(Severity::High, Severity::Low, "blockers_remain");
    check_update(Severity::Low, Severity::Medium, "still_ready");
}

#[track_caller]
fn check_required(fixed: &[Severity], n_added: u64, changed: &[&str], expected: bool) {
    let changed: Vec<FilePath> = changed.iter().map(|file| path(file)).collect();
    let scope = [path("a"), path("b")];
    assert_eq!(re_review_required(Since { fixed, n_added, changed: &changed, scope: &scope }), expected);
}

#[test]
fn a_review_stays_valid_while_little_has_changed() {
    check_required(&[Severity::High, Severity::High, Severity::Medium], 100, &["a"], false);
    check_required(&[], 0, &[], false);
}

#[test]
fn a_fixed_critical_requires_a_re_review() {
    check_required(&[Severity::Critical], 0, &[], true);
}

#[test]
fn three_fixed_high_findings_require_a_re_review() {
    check_required(&[Severity::High; 3], 0, &[], true);
}

#[test]
fn more_than_a_hundred_added_lines_require_a_re_review() {
    check_required(&[], 101, &[], true);
}

#[test]
fn files_outside_its_scope_require_a_re_review() {
    check_required(&[], 0, &["b", "c"], true);
}

proptest! {
    #[test]
    fn every_finding_is_in_exactly_one_class(
        prior in prop::collection::vec((0usize..4, 0u32..30, 0usize..4), 0..15),
        current in prop::collection::vec((0usize..4, 0u32..30, 0usize..4), 0..15),
        reviewed: bool,
    ) {
        let files = ["a", "old", "gone", "new"].map(path);
        let titles = ["Bad", "bad", "SQL injection here", "Here is an SQL injection"];
        let claims = |seeds: &[(usize, u32, usize)]| -> Vec<ComparedFinding<'_>> {
            seeds.iter().map(|&(file, line, title)| claim(&files[file], line, titles[title], Severity::High)).collect()
        };
        let (prior, current) = (claims(&prior), claims(&current));
        let joined = identity::match_findings(&prior, &current, &map());
        let delta = classify(&prior, current.len(), &joined, &map(), ReviewedScope::at(&|_, _| reviewed));
        let mut seen: Vec<usize> = delta.new.clone();
        seen.extend(delta.still_open.iter().filter_map(|open| open.current));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..current.len()).collect::<Vec<_>>());
        let mut seen: Vec<usize> = delta.resolved.clone();
        seen.extend(delta.still_open.iter().map(|open| open.prior));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..prior.len()).collect::<Vec<_>>());
    }
}
