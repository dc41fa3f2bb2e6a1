//! JUnit's XML.

use proptest::prelude::*;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{LineRange, Severity};
use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::path::FilePath;
use tollgate_core::report::junit;
use tollgate_core::review::Review;

use crate::arbitrary;
use crate::sample;

#[test]
fn a_file_is_a_test_case() {
    let mut review = sample::with(vec![
        sample::finding(Severity::Low, "b.rs:9", "Odd"),
        sample::finding(Severity::High, "b.rs:3", "Uses <T> & \"x\"\u{202e}"),
        sample::finding(Severity::Praise, "a.rs:1", "Nice"),
    ]);
    let path = |text: &str| FilePath::parse(text).unwrap();
    review.files_reviewed = vec![path("a.rs"), path("b.rs")];
    let covered = |file: &str, status| CoveredHunk { file: path(file), lines: Some(LineRange::line(1)), status };
    review.coverage = Some(Coverage {
        hunks: vec![
            covered("c.lock", HunkStatus::Skipped("generated".to_owned())),
            covered("d.rs", HunkStatus::NotReviewed("time limit".to_owned())),
        ],
    });
    insta::assert_snapshot!(junit::write(&review, FailOn::default()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="tollgate" tests="4" failures="1" errors="1" skipped="1">
      <testsuite name="tollgate review" tests="4" failures="1" errors="1" skipped="1">
        <testcase classname="tollgate" name="a.rs" file="a.rs"/>
        <testcase classname="tollgate" name="b.rs" file="b.rs" line="3">
          <failure message="2 findings, worst High: Uses &lt;T&gt; &amp; &quot;x&quot;\u{202e}" type="High">b.rs:9 [Low/Logic] Odd
        code
    b.rs:3 [High/Logic] Uses &lt;T&gt; &amp; &quot;x&quot;\u{202e}
        It matters.
        code</failure>
        </testcase>
        <testcase classname="tollgate" name="c.lock" file="c.lock">
          <skipped message="generated"/>
        </testcase>
        <testcase classname="tollgate" name="d.rs" file="d.rs" line="1">
          <error message="not reviewed: time limit" type="not reviewed">d.rs:1</error>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
}

fn unreviewed(n_files: usize) -> Review {
    let hunk = |index: usize| CoveredHunk {
        file: FilePath::parse(&format!("src/f{index}.rs")).unwrap(),
        lines: Some(LineRange::line(1)),
        status: HunkStatus::NotReviewed("the call failed: 503".to_owned()),
    };
    Review { coverage: Some(Coverage { hunks: (0..n_files).map(hunk).collect() }), ..sample::clean() }
}

#[test]
fn findings_that_leave_the_gate_open_are_the_output_of_a_case_that_passes() {
    let review = sample::with(vec![sample::finding(Severity::Medium, "a.rs:3", "Slow")]);
    insta::assert_snapshot!(junit::write(&review, FailOn::default()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="tollgate" tests="1" failures="0" errors="0" skipped="0">
      <testsuite name="tollgate review" tests="1" failures="0" errors="0" skipped="0">
        <testcase classname="tollgate" name="a.rs" file="a.rs" line="3">
          <system-out>a.rs:3 [Medium/Logic] Slow
        code</system-out>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    let closed = junit::write(&review, FailOn::Severity(Severity::Medium));
    assert!(closed.contains("failures=\"1\""), "{closed}");
    let never = junit::write(&unreviewed(1), FailOn::Never);
    assert!(never.contains("errors=\"0\" skipped=\"1\""), "{never}");
}

#[test]
fn files_that_were_not_reviewed_for_one_reason_are_one_case() {
    let text = junit::write(&unreviewed(40), FailOn::default());
    assert_eq!(text.matches("the call failed: 503").count(), 1, "{text}");
    assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
    assert!(text.contains("src/f39.rs"), "{text}");
}

proptest! {
    #[test]
    fn a_case_is_red_exactly_when_the_gate_is_not_open(review in arbitrary::review(), floor in 0_usize..7) {
        let fail_on = Severity::ALL.get(floor).map_or(FailOn::Never, |floor| FailOn::Severity(*floor));
        // Praise is no finding of a build server.
        let review = Review { findings: review.findings.into_iter().filter(|finding| finding.severity != Severity::Praise).collect(), ..review };
        let text = junit::write(&review, fail_on);
        let is_green = text.contains("failures=\"0\" errors=\"0\"");
        let passes = gate::check(&review, fail_on) == Gate::Open || fail_on == FailOn::Never;
        prop_assert_eq!(is_green, passes, "{}", text);
    }

    #[test]
    fn the_output_is_well_formed(review in arbitrary::review()) {
        let text = junit::write(&review, FailOn::default());
        let illegal = ['\u{fffe}', '\u{ffff}'];
        prop_assert!(!text.contains(illegal) && !text.contains(tollgate_core::visible::is_hidden));
        // All tags are written by tollgate, so a stack can check the nesting.
        let mut open: Vec<&str> = Vec::new();
        for tag in text.split('<').skip(2).map(|part| part.split_once('>').unwrap().0) {
            match tag.strip_prefix('/') {
                Some(name) => prop_assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split(' ').next().unwrap()),
            }
            let quotes = tag.matches('"').count();
            prop_assert_eq!(quotes % 2, 0);
        }
        prop_assert!(open.is_empty());
    }
}
