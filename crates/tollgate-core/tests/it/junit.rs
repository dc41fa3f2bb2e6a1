//! JUnit's XML.

use proptest::prelude::*;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{LineRange, Severity};
use tollgate_core::path::FilePath;
use tollgate_core::report::junit;

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
    insta::assert_snapshot!(junit::write(&review), @r#"
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
        <testcase classname="tollgate" name="d.rs" file="d.rs">
          <error message="not reviewed: lines 1: time limit" type="not reviewed">lines 1: time limit</error>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
}

proptest! {
    #[test]
    fn the_output_is_well_formed(review in arbitrary::review()) {
        let text = junit::write(&review);
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
