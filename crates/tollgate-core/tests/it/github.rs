//! Annotations for GitHub's workflows.

use proptest::prelude::*;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Finding, LineRange, Severity, Side};
use tollgate_core::path::FilePath;
use tollgate_core::report::github;

use crate::arbitrary;
use crate::sample;

#[test]
fn blockers_come_first_and_text_is_escaped() {
    let mut hostile = sample::finding(Severity::High, "a,b:c%.rs:3", "100% wrong: a, b");
    hostile.reason = Some("one\r\ntwo\n::error::fake %0A \u{1b}[1m".to_owned());
    hostile.location.lines = LineRange::new(3, 5).unwrap();
    let mut removed = sample::finding(Severity::Medium, "b.rs:7", "Check removed");
    removed.location.side = Side::Left;
    removed.origin.rule = Some("guard".to_owned());
    let mut review = sample::with(vec![
        sample::finding(Severity::Nit, "c.rs:1", "Name"),
        sample::finding(Severity::Praise, "c.rs:1", "Nice"),
        removed,
        hostile,
    ]);
    let (file, lines) = (FilePath::parse("d.rs").unwrap(), Some(LineRange::line(4)));
    review.coverage =
        Some(Coverage { hunks: vec![CoveredHunk { file, lines, status: HunkStatus::NotReviewed("slow".to_owned()) }] });
    let annotations = github::write(&review);
    assert_eq!(annotations.note, None);
    insta::assert_snapshot!(annotations.text, @r#"
    ::error file=a%2Cb%3Ac%25.rs,line=3,endLine=5,title=High/Logic%3A 100%25 wrong%3A a%2C b::one%0Atwo%0A::error::fake %250A \u{1b}[1m
    ::warning file=b.rs,title=Medium/Logic%3A Check removed::Check removed%0A(removed, was line 7)%0A[guard]
    ::notice file=c.rs,line=1,endLine=1,title=Nit/Logic%3A Name::Name
    ::warning title=The review is not complete::d.rs:4: slow
    "#);
}

#[test]
fn a_reason_for_unreviewed_hunks_is_said_once_with_its_files() {
    let hunk = |index: usize| CoveredHunk {
        file: FilePath::parse(&format!("src/f{index}.rs")).unwrap(),
        lines: Some(LineRange::line(1)),
        status: HunkStatus::NotReviewed("the call failed: 503".to_owned()),
    };
    let mut review = sample::clean();
    review.coverage = Some(Coverage { hunks: (0..3).map(hunk).collect() });
    insta::assert_snapshot!(github::write(&review).text, @"::warning title=The review is not complete::3 hunks in src/f0.rs, src/f1.rs, src/f2.rs: the call failed: 503");
}

#[test]
fn annotations_over_the_limit_are_reported_to_the_caller() {
    let findings: Vec<Finding> = (0..12).map(|_| sample::finding(Severity::High, "a.rs:1", "x")).collect();
    let note = github::write(&sample::with(findings)).note.unwrap();
    assert_eq!(note, "GitHub shows only 10 of 12 errors; the log has them all");
}

proptest! {
    #[test]
    fn text_cannot_start_a_new_command(review in arbitrary::review()) {
        let text = github::write(&review).text;
        let n_shown = review.findings.iter().filter(|finding| finding.severity != Severity::Praise).count();
        prop_assert_eq!(text.lines().count(), n_shown + usize::from(!review.is_complete()) + usize::from(review.uncounted_blockers().next().is_some()));
        prop_assert!(text.lines().all(|line| line.starts_with("::")));
        prop_assert!(!text.contains('\r'));
    }
}
