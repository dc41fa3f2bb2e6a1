use insta::assert_snapshot;
use serde_json::Map;

use super::*;
use crate::coverage::{Coverage, CoveredHunk};
use crate::finding::{Category, FindingId, Fix, LineRange, Location, Origin, Side, Summary};
use crate::path::FilePath;
use crate::review::WithheldFinding;
use crate::sha::Sha;
use crate::{diff, gate};

const DIFF: &str = "diff --git a/src/auth.js b/src/auth.js
index 1111111..2222222 100644
--- a/src/auth.js
+++ b/src/auth.js
@@ -10,4 +10,4 @@
 function run(input) {
-  if (!allowed) return;
+  return eval(input);
 }
 module.exports = run;
";

fn finding(severity: Severity, line: u32, summary: &str) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Security,
        location: Location {
            file: FilePath::parse("src/auth.js").unwrap(),
            lines: LineRange::line(line),
            side: Side::Right,
        },
        summary: Summary::parse(summary).unwrap(),
        reason: Some("Whoever controls the input controls the process.".to_owned()),
        evidence: "return eval(input);".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin { reviewer: Some("rules".to_owned()), rule: Some("js-eval".to_owned()), rule_url: None },
        extra: Map::new(),
    }
}

fn review(findings: Vec<Finding>, status: HunkStatus) -> Review {
    let file = FilePath::parse("src/auth.js").unwrap();
    Review {
        title: None,
        reviewed: Sha::null(),
        base: Sha::null(),
        compared: Some("HEAD with main (merge base 1a2b3c4)".to_owned()),
        files_reviewed: vec![file.clone()],
        findings,
        withheld: Vec::new(),
        coverage: Some(Coverage { hunks: vec![CoveredHunk { file, lines: Some(LineRange::line(10)), status }] }),
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra: Map::new(),
    }
}

fn show(review: &Review, width: usize) -> String {
    let look = Look { paint: Paint { unicode: true, ..Paint::default() }, width, verbose: false, only_new: false };
    let (files, _) = diff::parse(DIFF.as_bytes().to_vec());
    render(review, &files, gate::check(review, gate::FailOn::default()), None, &look)
}

#[test]
fn a_finding_is_shown_in_its_code_with_the_reason_and_the_fix() {
    let mut eval = finding(Severity::High, 11, "user input is passed to `eval`");
    eval.fix = Some(Fix { lines: LineRange::line(11), replacement: "  return JSON.parse(input);".to_owned() });
    assert_snapshot!(show(&review(vec![eval], HunkStatus::Reviewed), 80), @r"
    Compared HEAD with main (merge base 1a2b3c4)
    1 file changed, 1 line added, 1 removed

    src/auth.js

      F001 High/Security  user input is passed to `eval`
           js-eval at src/auth.js:11

         10 │ function run(input) {
       > 11 │   return eval(input);
         12 │ }
         13 │ module.exports = run;

         Why  Whoever controls the input controls the process.

         Fix
         -   return eval(input);
         +   return JSON.parse(input);

    ✖ Needs changes -- 1 major finding must be fixed before merging
      Coverage: complete (1 hunk in 1 file)
    ");
}

#[test]
fn a_narrow_terminal_breaks_lines_instead_of_losing_words() {
    let text =
        show(&review(vec![finding(Severity::High, 11, "user input is passed to `eval`")], HunkStatus::Reviewed), 36);
    assert_snapshot!(text, @r"
    Compared HEAD with main (merge base
    1a2b3c4)
    1 file changed, 1 line added, 1
    removed

    src/auth.js

      F001 High/Security
         user input is passed to `eval`
           js-eval at src/auth.js:11

         10 │ function run(input) {
       > 11 │   return eval(input);
         12 │ }
         13 │ module.exports = run;

         Why  Whoever controls the input
              controls the process.

    ✖ Needs changes -- 1 major finding
      must be fixed before merging
      Coverage: complete (1 hunk in 1
      file)
    ");
}

#[test]
fn unreviewed_hunks_are_named_and_never_approved() {
    let text = show(&review(Vec::new(), HunkStatus::NotReviewed("stalled the matcher".to_owned())), 80);
    assert_snapshot!(text, @r"
    Compared HEAD with main (merge base 1a2b3c4)
    1 file changed, 1 line added, 1 removed

    ◐ Partly reviewed -- no findings; 1 of 1 hunk was not reviewed, so this is not
      an approval
      Coverage: 0 of 1 hunk in 1 file, 1 not reviewed
      not reviewed: src/auth.js (stalled the matcher)
    ");
}

#[test]
fn removed_lines_are_shown_as_they_were_before_the_change() {
    let mut removed = finding(Severity::High, 11, "a check was removed");
    removed.location.side = Side::Left;
    let text = show(&review(vec![removed], HunkStatus::Reviewed), 80);
    assert!(text.contains("> 11 │   if (!allowed) return;"), "{text}");
    assert!(text.contains("src/auth.js:11 (before the change)"), "{text}");
}

#[test]
fn the_worst_file_comes_first_and_withheld_findings_are_counted() {
    let mut mild = finding(Severity::Low, 11, "mild");
    mild.location.file = FilePath::parse("a.js").unwrap();
    let held = finding(Severity::High, 11, "held");
    let mut review = review(vec![mild, finding(Severity::Critical, 11, "grave")], HunkStatus::Reviewed);
    let (by, kind) = ("tollgate:ignore at line 3".to_owned(), crate::review::Suppressor::Comment);
    let why = Withheld::Suppressed { by, reason: None, kind };
    review.withheld.push(WithheldFinding { finding: held, why });
    let text = show(&review, 80);
    assert!(text.find("grave") < text.find("mild"), "{text}");
    assert!(text.contains("(1 hunk in 1 file), 1 finding suppressed"), "{text}");
}

#[test]
fn unverified_findings_are_listed_apart_and_blockers_without_consensus_beside_the_verdict() {
    let mut review = review(Vec::new(), HunkStatus::Reviewed);
    for (summary, why) in [
        ("invented", Withheld::Unverified("its evidence is nowhere in the change".to_owned())),
        ("alone", Withheld::NoConsensus { voices: 1, needed: 2 }),
        ("elsewhere", Withheld::OutsideChange),
    ] {
        review.withheld.push(WithheldFinding { finding: finding(Severity::High, 11, summary), why });
    }
    assert_snapshot!(show(&review, 100), @r"
    Compared HEAD with main (merge base 1a2b3c4)
    1 file changed, 1 line added, 1 removed

    Unverified blocking claims

      High/Security src/auth.js:11 invented (not verified: its evidence is nowhere in the change)

    ◐ Partly reviewed -- no findings; 1 blocking claim could not be verified, so this is not an
      approval; 1 blocking finding not agreed by enough reviewers
      Not agreed: 1 blocker reported by fewer reviewers than `review.consensus` asks for
        High src/auth.js:11 alone (1 of 2 needed reviewers says so)
      Coverage: complete (1 hunk in 1 file), 3 findings withheld
    ");
}

#[test]
fn a_change_that_rules_skip_as_a_whole_is_never_approved() {
    let text = show(&review(Vec::new(), HunkStatus::Skipped("generated".to_owned())), 100);
    assert_snapshot!(text, @r"
    Compared HEAD with main (merge base 1a2b3c4)
    1 file changed, 1 line added, 1 removed

    ◐ Partly reviewed -- no findings; nothing was reviewed: 1 hunk skipped by rule (generated); a person
      has to look, so this is not an approval
      Coverage: 0 of 1 hunk in 1 file, 1 skipped by a rule
    ");
    let unchanged = review(Vec::new(), HunkStatus::unchanged_since(&Sha::null()));
    assert!(show(&unchanged, 100).contains("Approve -- no findings"));
}

#[test]
fn text_of_the_change_cannot_emit_terminal_escapes() {
    let (files, _) = diff::parse(DIFF.replace("eval(input)", "\x1b[2Jeval\x07\u{202e}").into_bytes());
    let review = review(vec![finding(Severity::High, 11, "user input is passed to `eval`")], HunkStatus::Reviewed);
    let look = Look { paint: Paint { unicode: true, ..Paint::default() }, width: 80, verbose: true, only_new: false };
    let text = render(&review, &files, Gate::Closed, None, &look);
    assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text:?}");
}

#[test]
fn colours_and_links_are_written_only_when_enabled() {
    let review = review(vec![finding(Severity::High, 11, "user input is passed to `eval`")], HunkStatus::Reviewed);
    assert!(!show(&review, 80).contains('\x1b'));
    let paint = Paint { colour: true, unicode: true, root: Some("file:///repo".to_owned()) };
    let text = render(&review, &[], Gate::Closed, None, &Look { paint, width: 80, verbose: false, only_new: false });
    assert!(text.contains("\x1b]8;;file:///repo/src/auth.js#L11\x1b\\src/auth.js:11\x1b]8;;\x1b\\"), "{text:?}");
}

#[test]
fn the_sign_never_contradicts_the_verdict() {
    let sign = |findings: Vec<Finding>, fail_on| {
        let review = review(findings, HunkStatus::Reviewed);
        let look =
            Look { paint: Paint { unicode: true, ..Paint::default() }, width: 80, verbose: false, only_new: false };
        let text = render(&review, &[], gate::check(&review, fail_on), None, &look);
        let line = text.lines().find(|line| line.starts_with(['✔', '✖', '●', '◐'])).unwrap_or_default();
        line.split(" -- ").next().unwrap_or_default().to_owned()
    };
    let at = |severity| gate::FailOn::Severity(severity);
    assert_eq!(sign(vec![finding(Severity::High, 11, "x")], gate::FailOn::Never), "● Needs changes");
    assert_eq!(sign(vec![finding(Severity::Low, 11, "x")], at(Severity::High)), "✔ Approve with notes");
    assert_eq!(sign(vec![finding(Severity::Low, 11, "x")], at(Severity::Low)), "✖ Needs changes");
    assert_eq!(sign(Vec::new(), at(Severity::Low)), "✔ Approve");
}
