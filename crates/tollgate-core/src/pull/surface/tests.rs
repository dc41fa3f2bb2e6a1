use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::comment::MAX_CHARS;
use crate::coverage::HunkStatus;
use crate::finding::{Fix, Summary};
use crate::gate::Gate;
use crate::pull::check_run::AnnotationLevel;
use crate::pull::hostile::{self, HOST, assert_harmless, assert_inert};
use crate::pull::inline_comment::LineSpan;
use crate::pull::sample::{covered, files, finding, head, review};
use crate::review::WithheldFinding;

const DIFF: &str = "\
diff --git a/a.js b/a.js
--- a/a.js
+++ b/a.js
@@ -2,3 +2,4 @@ function run(input) {
 // context 2
-  old(input);
+  eval(input);
+  run(input);
 }
diff --git a/a.png b/a.png
Binary files a/a.png and b/a.png differ
diff --git a/gone.js b/gone.js
deleted file mode 100644
--- a/gone.js
+++ /dev/null
@@ -1 +0,0 @@
-x
";

fn url_of(file: &FilePath, lines: Option<LineRange>, _: Side) -> String {
    format!("{HOST}{file}#L{}", lines.map_or(1, LineRange::start))
}

/// A surface of findings, with the rest as it mostly is.
struct Seen {
    review: Review,
    new: Option<Vec<usize>>,
    known: BTreeSet<String>,
    cap: Option<usize>,
    gate: Gate,
    summary: Option<&'static str>,
    mode: Mode,
    auto_approve: bool,
    mention: Option<&'static str>,
    diff: &'static str,
}

fn of(findings: Vec<Finding>) -> Seen {
    let gate = if findings.iter().any(|finding| finding.severity.blocks()) { Gate::Closed } else { Gate::Open };
    Seen {
        review: review(findings),
        new: None,
        known: BTreeSet::new(),
        cap: None,
        gate,
        summary: None,
        mode: Mode::Standard,
        auto_approve: false,
        mention: Some("tollgate"),
        diff: DIFF,
    }
}

impl Seen {
    fn surface(&self) -> Surface {
        surface(&SurfaceInput {
            bot: "Kodiai",
            mention: self.mention,
            head: &head(),
            review: &self.review,
            files: &files(self.diff),
            state: &HeadState::of(&self.review, self.gate, None),
            summary: self.summary,
            new: self.new.as_deref(),
            known: &self.known,
            cap: self.cap,
            url_of: &url_of,
            details_url: Some("https://host.example/reviews/1"),
            mode: self.mode,
            auto_approve: self.auto_approve,
        })
    }

    fn inline(&self) -> Vec<InlineComment> {
        self.surface().review.map(|review| review.inline).unwrap_or_default()
    }
}

fn with_fix(mut finding: Finding, lines: (u32, u32), replacement: &str) -> Finding {
    finding.fix = Some(Fix { lines: LineRange::new(lines.0, lines.1).unwrap(), replacement: replacement.to_owned() });
    finding
}

#[test]
fn a_comment_has_title_reason_and_suggestion() {
    let finding = with_fix(finding("a.js:3", "Critical", "eval(input)"), (3, 3), "  parse(input);");
    let inline = of(vec![finding]).inline();
    assert_eq!(inline[0].at, Some(LineSpan { start: 3, line: 3, side: Side::Right }));
    assert_snapshot!(inline[0].body, @"
    **Critical: Input is run as code**

    Whoever sends the request runs what they like.

    ```suggestion
      parse(input);
    ```

    <sub>f-9c4d67d2 · `js-eval` · false positive? reply `@tollgate dismiss` with a reason</sub>

    <!-- tollgate:finding fp-83d88a0013f5ee09-f4864fa2 -->
    ");
}

#[test]
fn bot_commands_are_offered_only_where_a_server_answers_them() {
    let mut seen = of(vec![finding("a.js:3", "High", "x"), finding("other.js:7", "High", "x")]);
    let all = |seen: &Seen| bodies(&seen.surface()).concat();
    assert_eq!(all(&seen).matches("@tollgate dismiss").count(), 2);
    seen.mention = None;
    assert!(!all(&seen).contains("dismiss"), "{}", all(&seen));
    assert!(seen.inline()[0].body.contains("<sub>f-58afa5b2 · `js-eval`</sub>"));
}

#[test]
fn a_finding_outside_the_diff_is_anchored_nearby_with_its_location() {
    let inline = of(vec![finding("a.js:40-42", "High", "@Test\neval(input)")]).inline();
    assert_eq!(inline[0].at, Some(LineSpan { start: 5, line: 5, side: Side::Right }));
    assert_snapshot!(inline[0].body, @"
    **Major: Input is run as code**

    Applies to [a.js (40-42)](https://host.example/a.js#L40), which is outside the diff.

    Whoever sends the request runs what they like.

     ```javascript
     @Test
     eval(input)
     ```

    <sub>f-c88d64e9 · `js-eval` · false positive? reply `@tollgate dismiss` with a reason</sub>

    <!-- tollgate:finding fp-83d88a0013f5ee09-a3de70ae -->
    ");
    let cut = of(vec![finding("a.js:4-9", "High", "x")]).inline();
    assert!(cut[0].body.contains("Applies to [a.js (4-9)](https://host.example/a.js#L4).\n"), "{}", cut[0].body);
}

#[test]
fn findings_without_an_anchor_are_in_the_review_body() {
    let seen = of(vec![
        finding("other.js:7", "High", "x"),
        finding("a.js:3", "Medium", "x"),
        finding("a.png:1", "Low", "x"),
        finding("old.js:2:LEFT", "Nit", "x"),
    ]);
    let surface = seen.surface();
    assert_snapshot!(surface.review.unwrap().body, @"
    1 major, 1 medium and 2 minor findings at aaaaaaa.

    Outside the diff:

    - **Major** [other.js (7)](https://host.example/other.js#L7): Input is run as code (`f-003712ad`)
      Whoever sends the request runs what they like.
    - **Minor** [old.js (2)](https://host.example/old.js#L2) before the change: Input is run as code (`f-ff1713b0`)
      Whoever sends the request runs what they like.

    <sub>false positive? write `@tollgate dismiss` with the id and a reason</sub>

    <!-- tollgate:review head=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -->
    ");
    assert_eq!((surface.at_files.len(), surface.at_files[0].at), (1, None));
    assert!(surface.at_files[0].body.contains("Applies to [a.png (1)]"));
}

#[test]
fn findings_with_a_comment_are_not_commented_again() {
    let mut seen = of(vec![finding("a.js:3", "High", "x"), finding("a.js:4", "High", "y")]);
    assert_eq!(seen.inline().len(), 2);
    seen.new = Some(vec![1]);
    let inline = seen.inline();
    assert_eq!(inline.len(), 1);
    assert_eq!(inline[0].at.map(|span| span.line), Some(4));
    seen.known.insert(inline[0].key.clone());
    assert_eq!(seen.surface().review, None);
    // The first finding has neither a comment nor a new one.
    assert_eq!(seen.surface().check.1.annotations.len(), 1);
}

#[test]
fn equal_findings_have_comments_of_their_own() {
    let inline = of(vec![finding("a.js:3", "High", "x"), finding("a.js:4", "High", "x")]).inline();
    assert_eq!(inline[1].key, format!("{}.2", inline[0].key));
    assert!(inline.iter().all(|inline| inline.body.ends_with(&format!("<!-- tollgate:finding {} -->", inline.key))));
}

#[test]
fn a_new_finding_equal_to_a_known_one_gets_its_own_comment() {
    let mut seen = of(vec![finding("a.js:4", "High", "x")]);
    seen.known.insert(seen.inline()[0].key.clone());
    seen.review = review(vec![finding("a.js:3", "High", "x"), finding("a.js:4", "High", "x")]);
    seen.new = Some(vec![0]);
    let inline = seen.inline();
    assert_eq!(inline.iter().map(|inline| inline.at.map(|span| span.line)).collect::<Vec<_>>(), [Some(3)]);
    seen.known.insert(inline[0].key.clone());
    assert!(seen.inline().is_empty());
}

/// The last block of a comment about a finding in a file of these lines, with a fix, without its footer.
#[track_caller]
fn check_fix(diff: &'static str, place: &str, lines: (u32, u32), replacement: &str, expected: &str) {
    let mut seen = of(vec![with_fix(finding(place, "High", "x"), lines, replacement)]);
    seen.diff = diff;
    let body = &seen.inline()[0].body;
    let shown = body.split("they like.\n\n").nth(1).unwrap().split("\n\n<sub>").next().unwrap();
    assert_eq!(shown, expected, "{place} {lines:?} {replacement:?}");
}

const CRLF: &str = "--- a/a.js\n+++ b/a.js\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\r\n";

#[test]
fn a_valid_replacement_is_committable() {
    check_fix(DIFF, "a.js:3", (3, 4), "  safe();\n  done();", "```suggestion\n  safe();\n  done();\n```");
    check_fix(DIFF, "a.js:3-4", (3, 4), "", "```suggestion\n```");
    check_fix(DIFF, "a.js:3", (3, 3), "a ```` b", "`````suggestion\na ```` b\n`````");
    check_fix(CRLF, "a.js:1", (1, 2), "x\ny", "```suggestion\r\nx\r\ny\r\n```");
    check_fix(CRLF, "a.js:1", (1, 1), "x\r\ny", "```suggestion\r\nx\r\ny\r\n```");
}

#[test]
fn an_invalid_or_unsafe_replacement_is_shown_as_code() {
    let block = |code: &str| format!("```javascript\n{code}\n```");
    check_fix(DIFF, "a.js:3", (3, 6), "x", &format!("Suggested fix for lines 3-6:\n\n{}", block("x")));
    check_fix(DIFF, "a.js:3", (5, 5), "x", &format!("Suggested fix for line 5:\n\n{}", block("x")));
    check_fix(
        DIFF,
        "a.js:3",
        (3, 3),
        "  eval(input);",
        &format!("Suggested fix for line 3:\n\n{}", block("  eval(input);")),
    );
    check_fix(CRLF, "a.js:1", (1, 1), "b", &format!("Suggested fix for line 1:\n\n{}", block("b")));
    check_fix(DIFF, "a.js:3:LEFT", (3, 3), "", "Suggested fix: delete line 3.");
    check_fix(DIFF, "a.js:3", (3, 3), "a\u{202e}b", &format!("Suggested fix for line 3:\n\n{}", block("a\\u{202e}b")));
    check_fix(DIFF, "a.js:3", (3, 3), "/merge", "Suggested fix for line 3:\n\n ```javascript\n /merge\n ```");
}

#[test]
fn suggestions_never_overlap() {
    let seen = of(vec![
        with_fix(finding("a.js:3", "High", "x"), (3, 4), "one"),
        with_fix(finding("a.js:4", "High", "y"), (4, 4), "two"),
    ]);
    let inline = seen.inline();
    assert!(inline[0].body.contains("```suggestion\none\n```"));
    assert!(inline[1].body.contains("Suggested fix for line 4:\n\n```javascript\ntwo\n```"), "{}", inline[1].body);
}

/// The last block of a comment about line 3 with a fix, once it stands at its file.
#[track_caller]
fn check_at_file(lines: (u32, u32), replacement: &str, expected: &str) {
    let inline = of(vec![with_fix(finding("a.js:3", "High", "x"), lines, replacement)]).inline();
    assert_eq!(offers(&inline[0].body).len(), 1, "{}", inline[0].body);
    let moved = inline[0].at_file();
    assert_eq!((moved.at, &moved.key), (None, &inline[0].key));
    let shown = moved.body.split("they like.\n\n").nth(1).unwrap().split("\n\n<sub>").next().unwrap();
    assert_eq!(shown, expected, "{lines:?} {replacement:?}");
}

#[test]
fn a_suggestion_moved_to_the_file_is_shown_as_code() {
    check_at_file((3, 3), "  safe();", "Suggested fix for line 3:\n\n```javascript\n  safe();\n```");
    check_at_file((3, 4), "a ```` b\n\nc", "Suggested fix for lines 3-4:\n\n`````javascript\na ```` b\n\nc\n`````");
    check_at_file((3, 3), "```suggestion", "Suggested fix for line 3:\n\n````javascript\n```suggestion\n````");
    check_at_file((3, 3), "", "Suggested fix: delete line 3.");
}

/// The blocks of a text that a host offers to commit.
fn offers(body: &str) -> Vec<String> {
    use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
    let of_event = |event| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => Some(info.to_string()),
        _ => None,
    };
    Parser::new(body).filter_map(of_event).filter(|info| info.trim().eq_ignore_ascii_case("suggestion")).collect()
}

#[test]
fn a_suggestion_equal_to_the_replacement_is_shown_once() {
    let mut one = with_fix(finding("a.js:3", "High", "x"), (3, 3), "  safe();");
    one.suggestion = Some("safe();".to_owned());
    assert_eq!(of(vec![one.clone()]).inline()[0].body.matches("safe").count(), 1);
    one.suggestion = Some("Parse it:\n- first\n- then".to_owned());
    assert!(of(vec![one]).inline()[0].body.contains("Parse it:\n- first\n- then\n\n```suggestion"));
}

#[test]
fn the_worst_findings_are_commented_and_the_rest_is_listed() {
    let low = (0..40).map(|n| finding("a.js:3", "Low", &format!("x{n}")));
    let mut seen = of(low.chain([finding("a.js:4", "Critical", "x")]).collect());
    let review = seen.surface().review.unwrap();
    assert_eq!(review.inline.len(), MAX_INLINE);
    assert!(review.inline[0].body.starts_with("**Critical"));
    assert_eq!(review.body.matches("- **Minor**").count(), 11);
    assert!(review.body.contains("<summary>11 more findings</summary>"));
    seen.cap = Some(3);
    let review = seen.surface().review.unwrap();
    assert_eq!((review.inline.len(), review.body.matches("- **Minor**").count()), (3, 38));

    let at_files: Vec<Finding> = (0..12).map(|n| finding("a.png:1", "High", &format!("x{n}"))).collect();
    let surface = of(at_files).surface();
    assert_eq!(surface.at_files.len(), MAX_AT_FILES);
    assert_eq!(surface.review.unwrap().body.matches("- **Major**").count(), 2);
}

#[test]
fn a_cap_never_cuts_a_critical() {
    let mut seen = of((0..5).map(|n| finding("a.js:3", "Critical", &format!("x{n}"))).collect());
    seen.cap = Some(2);
    assert_eq!(seen.inline().len(), 5);
}

#[test]
fn findings_over_the_size_limit_are_counted() {
    let many: Vec<Finding> = (0..3000).map(|n| finding("other.js:3", "Medium", &format!("x{n}"))).collect();
    let surface = of(many).surface();
    let body = surface.review.unwrap().body;
    assert!(body.chars().count() <= MAX_CHARS);
    let n_listed = body.matches("- **Medium**").count();
    let more = format!("- and {} more, partly in the check\n", 3000 - n_listed);
    assert!(body.contains(&more), "{n_listed}");
    assert_eq!(surface.check.1.annotations.len(), 2000);
    assert!(surface.check.1.summary.contains("- Without a comment or an annotation: 1000 findings, "));
}

#[test]
fn the_body_refers_to_the_check_only_when_it_has_all_findings() {
    let many = |file: &str| (0..900).map(|n| finding(file, "Medium", &format!("x{n}"))).collect();
    let body = |file: &str| of(many(file)).surface().review.unwrap().body;
    assert!(body("other.js:3").contains(" more, see the check\n"));
    // The old side of a file that the diff does not have is nowhere.
    assert!(body("other.js:3:LEFT").contains(" more, partly in the check\n"));
}

#[test]
fn a_clean_review_is_silent_and_replaces_an_old_summary() {
    let surface = of(Vec::new()).surface();
    assert_eq!((surface.summary, surface.review), (None, None));
    assert_snapshot!(surface.settled.unwrap(), @"
    :green_circle: **Approve** -- no findings

    Reviewed at aaaaaaa: no open findings.

    <!-- tollgate:summary head=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -->
    ");
    assert_eq!(surface.check.0, Conclusion::Success);
    assert_eq!(surface.check.1.title, "Approve -- no findings");
}

#[test]
fn the_summary_is_marked_and_is_left_out_in_enhanced_mode() {
    let mut seen = of(vec![finding("a.js:3", "High", "x")]);
    seen.summary = Some("<details>\n<summary>Kodiai Review Summary</summary>\n\n</details>\n");
    assert_snapshot!(seen.surface().summary.unwrap(), @"
    <details>
    <summary>Kodiai Review Summary</summary>

    </details>

    <!-- tollgate:summary head=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -->
    ");
    assert_eq!(seen.surface().settled, None);
    seen.mode = Mode::Enhanced;
    assert_eq!((seen.surface().summary, seen.surface().settled), (None, None));
    assert_eq!(seen.inline().len(), 1);
}

#[test]
fn modes_round_trip_as_text() {
    for word in ["standard", "enhanced"] {
        assert_eq!(Mode::parse(word).map(Mode::as_str), Some(word));
    }
    assert_eq!(Mode::parse("Standard"), None);
}

#[test]
fn the_check_has_verdict_counts_and_coverage() {
    let mut seen = of(vec![
        finding("a.js:3-9", "High", "x"),
        finding("a.js:3:LEFT", "Medium", "x"),
        finding("gone.js:1:LEFT", "Low", "x"),
        finding("a.js:4", "Praise", "x"),
    ]);
    let not_reviewed = HunkStatus::NotReviewed("the budget is spent".to_owned());
    seen.review.coverage.as_mut().unwrap().hunks.push(covered("b.js", not_reviewed));
    let (conclusion, text) = seen.surface().check;
    assert_eq!(conclusion, Conclusion::Failure);
    let line = "1 major finding must be fixed before merging; also 1 medium and 1 minor finding; 1 of 2 hunks was not reviewed";
    assert_eq!(text.title, format!("Needs changes -- {line}"));
    assert_snapshot!(text.summary, @"
    :yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging; also 1 medium and 1 minor finding; 1 of 2 hunks was not reviewed

    - Commit: aaaaaaa against bbbbbbb
    - Findings: 0 critical, 1 major, 1 medium, 1 minor
    - Coverage: 1 of 2 hunks reviewed, 1 not reviewed
      - not reviewed: b.js (1-9): the budget is spent
    - [Full review](https://host.example/reviews/1)
    ");
    // Each of them has a comment.
    assert_eq!(text.annotations, []);
}

#[test]
fn findings_without_an_inline_comment_have_annotations() {
    let mut seen = of(vec![
        finding("a.js:3-9", "High", "x"),
        finding("a.js:3:LEFT", "Medium", "x"),
        finding("x.js:1", "Low", "x"),
    ]);
    seen.new = Some(Vec::new());
    let shown = |annotation: &crate::pull::check_run::Annotation| {
        let lines = format!("{}-{}", annotation.start_line, annotation.end_line);
        format!(
            "{}:{lines} {} {}: {}",
            annotation.path,
            annotation.level.as_str(),
            annotation.title,
            annotation.message
        )
    };
    let all = |seen: &Seen| seen.surface().check.1.annotations.iter().map(shown).collect::<Vec<_>>().join("\n");
    assert_snapshot!(all(&seen), @"
    a.js:3-9 failure Major: Input is run as code (f-58afa5b2): Whoever sends the request runs what they like.
    [js-eval]
    a.js:2-2 warning Medium: Input is run as code (f-9a2f6152): Whoever sends the request runs what they like.
    (removed, was line 3)
    [js-eval]
    x.js:1-1 notice Minor: Input is run as code (f-2f453300): Whoever sends the request runs what they like.
    [js-eval]
    ");
    seen.new = None;
    assert_eq!(seen.inline().len(), 2);
    assert_eq!(all(&seen).lines().next().unwrap().split(' ').next(), Some("x.js:1-1"));
}

#[test]
fn the_title_of_a_check_names_what_matters_most() {
    let title = |seen: &Seen| seen.surface().check.1.title;
    let mut seen = of(vec![finding("a.js:3", "Low", "x"), finding("a.js:4", "Praise", "x")]);
    assert_eq!(title(&seen), "Approve with notes -- 1 minor finding, none blocking");
    seen.gate = Gate::Closed;
    assert_eq!(title(&seen), "Needs changes -- 1 minor finding must be fixed before merging");
    seen.gate = Gate::Partial;
    assert_eq!(
        title(&seen),
        "Partly reviewed -- 1 minor finding so far, none blocking; the review is incomplete, so this is not an approval"
    );
    let mut seen = of(vec![finding("a.js:3", "High", "x"), finding("a.js:4", "Critical", "x")]);
    assert_eq!(title(&seen), "Block -- 1 critical and 1 major finding must be fixed before merging");
    seen.gate = Gate::Open;
    assert_eq!(title(&seen), "Block -- 1 critical and 1 major finding, which the configured gate lets pass");
}

#[test]
fn a_check_passes_only_with_an_open_gate_and_full_coverage() {
    let missing = || HunkStatus::NotReviewed("x".to_owned());
    for (status, gate, expected) in [
        (Some(HunkStatus::Reviewed), Gate::Open, Conclusion::Success),
        (Some(HunkStatus::unchanged_since(&crate::sha::Sha::null())), Gate::Open, Conclusion::Success),
        (Some(HunkStatus::Skipped("x".to_owned())), Gate::Open, Conclusion::ActionRequired),
        (Some(missing()), Gate::Open, Conclusion::ActionRequired),
        (None, Gate::Open, Conclusion::ActionRequired),
        (Some(HunkStatus::Reviewed), Gate::Closed, Conclusion::Failure),
        (Some(missing()), Gate::Closed, Conclusion::Failure),
        (None, Gate::Closed, Conclusion::Failure),
        (Some(HunkStatus::Reviewed), Gate::Partial, Conclusion::ActionRequired),
        (Some(missing()), Gate::Partial, Conclusion::ActionRequired),
        (None, Gate::Partial, Conclusion::ActionRequired),
        (Some(HunkStatus::Reviewed), Gate::Skipped, Conclusion::ActionRequired),
        (Some(missing()), Gate::Skipped, Conclusion::ActionRequired),
        (None, Gate::Skipped, Conclusion::ActionRequired),
    ] {
        let mut review = review(Vec::new());
        let hunks = status.clone().map(|status| vec![covered("a.js", status)]);
        review.coverage = hunks.map(|hunks| crate::coverage::Coverage { hunks });
        assert_eq!(conclusion(&HeadState::of(&review, gate, None), &review), expected, "{status:?} {gate:?}");
    }
}

/// What a review does, where approving is wanted.
#[track_caller]
fn check_act(change: impl FnOnce(&mut Seen), severity: &str, expected: Option<ReviewAction>) {
    let mut seen = of(Vec::from_iter((!severity.is_empty()).then(|| finding("a.js:3", severity, "x"))));
    seen.auto_approve = true;
    change(&mut seen);
    assert_eq!(seen.surface().review.map(|review| review.act), expected);
}

#[test]
fn only_clean_changes_are_approved() {
    let nothing = |_: &mut Seen| {};
    check_act(nothing, "", Some(ReviewAction::Approve));
    check_act(nothing, "Low", Some(ReviewAction::Approve));
    check_act(nothing, "Medium", Some(ReviewAction::Comment));
    check_act(nothing, "High", Some(ReviewAction::RequestChanges));
    check_act(|seen| seen.gate = Gate::Open, "High", Some(ReviewAction::Comment));
    check_act(|seen| seen.gate = Gate::Partial, "", None);
    check_act(|seen| seen.review.coverage = None, "", None);
    check_act(|seen| seen.gate = Gate::Skipped, "", None);
    check_act(|seen| seen.auto_approve = false, "", None);
    check_act(|seen| seen.auto_approve = false, "High", Some(ReviewAction::Comment));
    let withheld = |why| {
        move |seen: &mut Seen| {
            seen.review.withheld.push(WithheldFinding { finding: finding("a.js:3", "High", "x"), why });
        }
    };
    check_act(withheld(Withheld::Unverified("x".to_owned())), "", None);
    check_act(withheld(Withheld::OutsideChange), "", Some(ReviewAction::Approve));
}

#[test]
fn an_approval_has_only_its_marker() {
    let mut seen = of(Vec::new());
    seen.auto_approve = true;
    assert_eq!(seen.surface().review.unwrap().body, format!("<!-- tollgate:review head={} -->", head()));
}

#[test]
fn annotations_have_levels_by_severity() {
    let levels = ["Critical", "High", "Medium", "Low", "Nit"]
        .map(|severity| of(vec![finding("x.js:3", severity, "x")]).surface().check.1.annotations[0].level);
    assert_eq!(
        levels,
        [
            AnnotationLevel::Failure,
            AnnotationLevel::Failure,
            AnnotationLevel::Warning,
            AnnotationLevel::Notice,
            AnnotationLevel::Notice
        ]
    );
}

const PLACES: [&str; 7] = ["a.js:3", "a.js:3-40", "a.js:9", "a.js:3:LEFT", "a.png:1", "gone.js:1", "x.js:1"];

/// Every text that a surface has.
fn bodies(surface: &Surface) -> Vec<&str> {
    let inline = surface.review.iter().flat_map(|review| &review.inline).chain(&surface.at_files);
    let mut bodies: Vec<&str> = inline.map(|inline| inline.body.as_str()).collect();
    bodies.extend(surface.review.as_ref().map(|review| review.body.as_str()));
    bodies.extend(surface.summary.as_deref());
    bodies.push(&surface.check.1.summary);
    bodies
}

#[test]
fn hostile_findings_are_inert() {
    for text in hostile::texts() {
        for place in ["a.js:3", "a.js:40", "a.js:3:LEFT", "a.png:1", "other.js:1"] {
            let mut said = hostile::saying(text, place);
            let elsewhere = said.clone();
            said.location.file = FilePath::parse(place.split(':').next().unwrap()).unwrap();
            let mut seen = of(vec![said, elsewhere]);
            let status = HunkStatus::NotReviewed(text.to_owned());
            seen.review.coverage.as_mut().unwrap().hunks.push(covered("b.js", status));
            let surface = seen.surface();
            bodies(&surface).into_iter().for_each(assert_harmless);
            for annotation in &surface.check.1.annotations {
                assert_inert(&annotation.title);
                assert_inert(&annotation.message);
                assert!(!annotation.message.lines().any(|line| line.starts_with(['/', '@'])));
            }
        }
    }
}

#[test]
fn a_long_comment_is_truncated_and_keeps_its_marker() {
    for piece in ["@a ", "word ", "`", "<b>", "```\n", "漢字", "\u{202e}"] {
        let mut one = hostile::saying(&piece.repeat(100_000), "a.js:40");
        one.location.file = FilePath::parse("a.js").unwrap();
        let inline = of(vec![one]).inline();
        assert_harmless(&inline[0].body);
        assert_eq!(Marker::all_in(&inline[0].body).len(), 1);
    }
}

proptest! {
    #[test]
    fn any_mixture_of_hostile_text_is_inert(text in hostile::mixture()) {
        let mut said = hostile::saying(&text, "a.js:3");
        said.location.file = FilePath::parse("a.js").unwrap();
        let near = Finding { location: finding("a.js:40", "Low", "x").location, fix: None, ..said.clone() };
        let seen = of(vec![said, near, hostile::saying(&text, "other.js:1")]);
        bodies(&seen.surface()).into_iter().for_each(assert_harmless);
    }

    #[test]
    fn a_committable_suggestion_is_anchored_at_the_lines_it_replaces(
        (start, more, is_left) in (1_u32..9, 0_u32..4, any::<bool>()),
        (first, rest) in (1_u32..9, 0_u32..4),
        text in prop_oneof![hostile::mixture(), "[a-z;\n]{0,12}"],
    ) {
        let side = if is_left { ":LEFT" } else { "" };
        let mut one = finding(&format!("a.js:{start}-{}{side}", start + more), "High", "x");
        (one.reason, one.suggestion) = (Some(text.clone()), Some(format!("{text}.")));
        let seen = of(vec![with_fix(one, (first, first + rest), &text)]);
        for inline in seen.inline() {
            let n_offers = offers(&inline.body).len();
            let own = LineSpan { start: first, line: first + rest, side: Side::Right };
            prop_assert!(n_offers == 0 || n_offers == 1 && inline.at == Some(own), "{:?}\n{}", inline.at, inline.body);
            let moved = inline.at_file();
            prop_assert!(offers(&moved.body).is_empty(), "{}", moved.body);
            assert_harmless(&moved.body);
        }
        let surface = seen.surface();
        let elsewhere = bodies(&surface).into_iter().filter(|body| seen.inline().iter().all(|inline| inline.body != *body));
        for body in elsewhere {
            prop_assert!(offers(body).is_empty(), "{}", body);
        }
    }

    #[test]
    fn every_finding_is_in_exactly_one_place(
        places in proptest::collection::vec(
            (proptest::sample::select(&PLACES[..]),
             proptest::sample::select(&["Critical", "High", "Medium", "Nit", "Praise"][..]), 0_u32..3), 0..60),
        cap in proptest::option::of(0_usize..40),
    ) {
        let mut seen = of(places.iter().map(|(place, severity, n)| finding(place, severity, &n.to_string())).collect());
        seen.cap = cap;
        let surface = seen.surface();
        let keys = FindingKey::all(&seen.review.findings);
        let body = surface.review.as_ref().map_or("", |review| review.body.as_str());
        let inline = seen.inline();
        for (finding, key) in seen.review.findings.iter().zip(keys) {
            let (key, id) = (key.to_string(), key.short());
            let n_inline = inline.iter().filter(|inline| inline.key == key).count();
            let n_files = surface.at_files.iter().filter(|inline| inline.key == key).count();
            let n_listed = body.matches(&format!("(`{id}`)")).count();
            let expected = usize::from(finding.severity != Severity::Praise);
            prop_assert_eq!(n_inline + n_files + n_listed, expected);
        }
        prop_assert!(inline.len() <= MAX_INLINE && surface.at_files.len() <= MAX_AT_FILES);
        prop_assert!(inline.iter().all(|inline| inline.at.is_some()));
        prop_assert!(surface.at_files.iter().all(|inline| inline.at.is_none()));
        for body in bodies(&surface) {
            assert_harmless(body);
        }
    }
}

#[test]
fn findings_in_files_with_invalid_names_are_in_the_review_body() {
    let mut one = finding("a.js:1", "High", "x");
    one.location.file = FilePath::parse("\u{fffd}.js").unwrap();
    one.summary = Summary::parse("Odd").unwrap();
    let mut seen = of(vec![one]);
    seen.diff = "--- \"a/\\377.js\"\n+++ \"b/\\377.js\"\n@@ -1 +1 @@\n-a\n+b\n";
    let surface = seen.surface();
    let review = surface.review.unwrap();
    assert!(review.inline.is_empty());
    assert!(
        review.body.contains("- **Major** [\u{fffd}.js (1)](https://host.example/%EF%BF%BD.js#L1): Odd"),
        "{}",
        review.body
    );
    assert!(surface.check.1.annotations.is_empty());
}
