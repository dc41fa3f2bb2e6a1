//! The summary comment on a pull request.

mod hostile;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use tollgate_core::analysis::{self, Analysis};
use tollgate_core::comment::{self, DEFAULT_BOT, Kind};
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::finding::{Finding, Fix, LineRange, Severity, Summary};
use tollgate_core::gate::{self, FailOn};
use tollgate_core::path::FilePath;
use tollgate_core::report::summary::{self, Comment, MAX_LEN, Since};
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;

use crate::arbitrary;
use crate::sample;

fn of_review(review: &Review) -> Comment<'_> {
    Comment {
        bot: DEFAULT_BOT,
        review,
        gate: gate::check(review, FailOn::default()),
        analysis: None,
        what: None,
        checked: &[],
        keywords: None,
        early_feedback: false,
        commented: None,
        details: &[],
        since: None,
    }
}

/// Writes a comment and validates it.
#[track_caller]
fn written(comment: &Comment<'_>) -> String {
    let text = summary::write(comment).unwrap();
    assert_valid(&text, comment);
    text
}

#[track_caller]
fn assert_valid(text: &str, comment: &Comment<'_>) {
    let kind = if comment.since.is_some() { Kind::ReReview } else { Kind::Review };
    let checked = comment::check(text, comment.bot);
    assert_eq!((checked.kind, checked.errors.as_slice()), (kind, &[][..]), "{text}");
    assert!(text.len() <= MAX_LEN, "{} bytes", text.len());
    assert_eq!(sections(text), expected_sections(comment), "{text}");
}

/// The second-level headings of the rendered Markdown, after checking that there is no other structure.
#[track_caller]
fn sections(text: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    let mut found = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some(format!("{level} ")),
            Event::End(pulldown_cmark::TagEnd::Heading(_)) => found.extend(heading.take()),
            Event::Text(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::Html(html) => {
                let line = html.trim();
                let ours = ["", "<details>", "</details>"].contains(&line) || line.starts_with("<summary>");
                assert!(ours, "{html} in {text}");
            }
            Event::InlineHtml(html) => panic!("{html} in {text}"),
            Event::Start(
                tag @ (Tag::BlockQuote(_)
                | Tag::CodeBlock(_)
                | Tag::Table(_)
                | Tag::Link { .. }
                | Tag::Image { .. }
                | Tag::Emphasis
                | Tag::Strikethrough
                | Tag::FootnoteDefinition(_)),
            ) => panic!("{tag:?} in {text}"),
            Event::TaskListMarker(_) | Event::Rule | Event::InlineMath(_) | Event::DisplayMath(_) => {
                panic!("{event:?} in {text}")
            }
            _ => {}
        }
    }
    found
}

fn expected_sections(comment: &Comment<'_>) -> Vec<String> {
    let findings = &comment.review.findings;
    let has = |found: fn(&Finding) -> bool| findings.iter().any(found);
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str, is_there: bool| names.extend(is_there.then(|| name.to_owned()));
    let remark = |finding: &Finding| finding.severity != Severity::Praise;
    match &comment.since {
        Some(since) => {
            add(&format!("h2 Re-review -- Changes since {}", since.head.short()), true);
            add("h2 What Changed", true);
            add("h2 New Findings", since.new.iter().any(|&index| remark(&findings[index])));
            add("h2 Resolved Findings", since.resolved.iter().any(remark));
            add("h2 Still Open", since.still_open.iter().any(|&index| remark(&findings[index])));
            add("h2 Verdict Update", true);
        }
        None => {
            add("h2 What Changed", true);
            add("h2 Strengths", has(|finding| finding.severity == Severity::Praise));
            add("h2 Observations", true);
            let mut shown: Vec<Severity> =
                findings.iter().filter(|finding| remark(finding)).map(|finding| finding.severity).collect();
            shown.sort_unstable_by_key(|severity| std::cmp::Reverse(*severity));
            let n_critical = shown.iter().filter(|severity| **severity == Severity::Critical).count();
            shown.truncate(comment.commented.map_or(usize::MAX, |cap| cap.max(n_critical).max(1)));
            let has = |severities: &[Severity]| shown.iter().any(|severity| severities.contains(severity));
            add("h3 Critical", has(&[Severity::Critical]));
            add("h3 Major", has(&[Severity::High]));
            add("h3 Medium", has(&[Severity::Medium]));
            add("h3 Minor", has(&[Severity::Low, Severity::Nit]));
            // Suggestions depend on the wording; if there are any, they are here.
            let text = summary::write(comment).unwrap();
            add("h2 Suggestions", text.contains("\n## Suggestions\n"));
            add("h2 Verdict", true);
        }
    }
    names
}

fn analysis() -> Analysis {
    let file = |path: &str, hunk: &str| format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunk}");
    let diff = [
        file("src/retry.ts", "@@ -1 +1,2 @@\n-a\n+b\n+c\n"),
        file("tests/retry.test.ts", "@@ -0,0 +1 @@\n+d\n"),
        file(".github/workflows/ci.yml", "@@ -0,0 +1 @@\n+d\n"),
    ];
    analysis::analyze_bytes(diff.concat().as_bytes())
}

fn finding(severity: Severity, place: &str, summary: &str, reason: &str) -> Finding {
    Finding { reason: Some(reason.to_owned()), ..sample::finding(severity, place, summary) }
}

fn partly(review: Review) -> Review {
    let covered = |file: &str, lines: u32, status| CoveredHunk {
        file: FilePath::parse(file).unwrap(),
        lines: Some(LineRange::line(lines)),
        status,
    };
    let hunks = vec![
        covered("src/retry.ts", 1, HunkStatus::Reviewed),
        covered("src/big.ts", 400, HunkStatus::NotReviewed("stalled the matcher".to_owned())),
    ];
    Review { coverage: Some(Coverage { hunks }), ..review }
}

fn line_of<'t>(text: &'t str, start: &str) -> &'t str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no `{start}` in\n{text}"))
}

#[test]
fn a_first_review_has_five_sections() {
    let mut advice = sample::finding(Severity::Low, "src/name.ts:3", "A name says `nothing`");
    advice.suggestion = Some("Call it `delay`.".to_owned());
    let mut review = sample::with(vec![
        finding(
            Severity::High,
            "src/retry.ts:12",
            "The delay is never reset",
            "After an hour every request waits a minute. Then it is worse. And so on. And on.",
        ),
        advice,
        finding(Severity::High, "src/retry.ts:30", "The delay is never reset", "Here, too."),
        finding(Severity::Critical, "src/auth.ts:7", "The token is logged", "Whoever reads the log can sign in."),
        sample::finding(Severity::Praise, "src/retry.ts:1", "Null checks for all returns"),
    ]);
    review.compared = Some("main…HEAD".to_owned());
    review.files_reviewed = vec![FilePath::parse("src/retry.ts").unwrap()];
    review.withheld = vec![WithheldFinding {
        finding: sample::finding(Severity::Medium, "src/old.ts:9", "Not so nice"),
        why: Withheld::Suppressed {
            by: "`tollgate:ignore` at line 8".to_owned(),
            reason: Some("see #12".to_owned()),
            kind: Suppressor::Comment,
        },
    }];
    let (analysis, details) = (analysis(), ["Keyword parsing: No keywords detected".to_owned()]);
    let comment = Comment {
        analysis: Some(&analysis),
        what: Some("Retries when the server is busy. Thanks to @octocat. More."),
        keywords: Some("Keywords: [WIP] in title"),
        details: &details,
        ..of_review(&review)
    };
    insta::assert_snapshot!(written(&comment), @r"
    <details>
    <summary>Kodiai Review Summary</summary>

    ## What Changed
    Retries when the server is busy. Thanks to @&#8203;octocat. More.

    3 files changed, 4 lines added and 1 removed.

    Reviewed: core logic, tests, infrastructure
    Keywords: [WIP] in title

    ## Strengths
    - :white_check_mark: Null checks for all returns

    ## Observations

    ### Critical
    src/auth.ts (7): The token is logged (F004)
    Whoever reads the log can sign in.

    ### Major
    src/retry.ts (12, 30): The delay is never reset (2 findings: F001, F003)
    After an hour every request waits a minute. Then it is worse. And so on.

    ### Minor
    src/name.ts (3): A name says `nothing` (F002)

    ## Suggestions
    - src/name.ts (3): Call it `delay`.

    ## Verdict
    :red_circle: **Block** -- 1 critical and 2 major findings must be fixed before merging; also 1 minor finding

    </details>

    <details>
    <summary>Review Details</summary>

    - Commit: aaaaaaa against bbbbbbb, main…HEAD
    - Files: 3 changed, 1 reviewed
    - Lines: 4 added, 1 removed
    - Findings: 1 critical, 2 major, 0 medium, 1 minor
    - Not counted: 1 suppressed
      - [MEDIUM] src/old.ts (9): Not so nice (F001) -- suppressed by `tollgate:ignore` at line 8: see #&#8203;12
    - Keyword parsing: No keywords detected

    </details>
    ");
}

#[test]
fn a_re_review_separates_new_resolved_and_still_open() {
    let review = sample::with(vec![
        finding(Severity::Medium, "src/retry.ts:42", "The delay grows without end", "It is doubled each time."),
        sample::finding(Severity::Low, "src/name.ts:3", "A name says nothing"),
        sample::finding(Severity::Medium, "src/check.ts:3", "A check is missing"),
    ]);
    let head = Sha::parse(&"abc1234f".repeat(5)).unwrap();
    let resolved = [finding(Severity::High, "src/retry.ts:12", "The delay is never reset", "x")];
    let since = Since {
        head: &head,
        new: &[0],
        resolved: &resolved,
        still_open: &[1, 2],
        n_added: 3,
        n_removed: 1,
        held_back: 1,
        dismissed: &[],
        had_findings: true,
    };
    let comment = Comment { since: Some(since), ..of_review(&review) };
    insta::assert_snapshot!(written(&comment), @"
    <details>
    <summary>Kodiai Re-Review Summary</summary>

    ## Re-review -- Changes since abc1234

    ## What Changed
    3 lines added and 1 removed since abc1234.

    ## New Findings
    :new: [MEDIUM] src/retry.ts (42): The delay grows without end (F001)
    It is doubled each time.

    ## Resolved Findings
    :white_check_mark: [MAJOR] src/retry.ts: The delay is never reset -- resolved

    ## Still Open
    2 finding(s) from the previous review remain open.

    <details>
    <summary>View still-open findings</summary>

    - [MEDIUM] src/check.ts: A check is missing (F003)
    - [MINOR] src/name.ts: A name says nothing (F002)

    </details>

    ## Verdict Update
    :green_circle: **Blockers resolved** -- 3 non-blocking finding(s) remain

    </details>

    <details>
    <summary>Review Details</summary>

    - Commit: aaaaaaa against bbbbbbb
    - Files: 0 reviewed
    - Findings: 0 critical, 0 major, 2 medium, 1 minor
    - Since abc1234: 1 new, 1 resolved, 2 still open, 1 held back

    </details>
    ");
}

#[test]
fn the_figures_stand_alone_where_there_is_nothing_to_report() {
    let review = partly(sample::clean());
    let details = ["Review skipped: ![x](y) </details>".to_owned()];
    let comment = Comment { details: &details, ..of_review(&review) };
    assert_eq!(summary::write(&comment), None);
    insta::assert_snapshot!(summary::write_details(&comment), @r"
    <details>
    <summary>Review Details</summary>

    - Verdict: :yellow_circle: **Partly reviewed** -- no findings; 1 of 2 hunks was not reviewed, so this is not an approval
    - Commit: aaaaaaa against bbbbbbb
    - Files: 0 reviewed
    - Findings: 0 critical, 0 major, 0 medium, 0 minor
    - Coverage: 1 of 2 hunks reviewed, 1 not reviewed
      - not reviewed: src/big.ts (400): stalled the matcher
    - Review skipped: !\[x\](y) &lt;/details&gt;

    </details>
    ");
}

/// Checks the size line of a change with one file over the limit.
#[track_caller]
fn check_size(diff: &str, what: &str, figures: &str) {
    let review = partly(sample::with(vec![sample::finding(Severity::Low, "a.ts:1", "A name says nothing")]));
    let analysis = analysis::analyze_bytes(diff.as_bytes());
    let text = written(&Comment { analysis: Some(&analysis), ..of_review(&review) });
    assert!(text.contains(&format!("## What Changed\n{what}\n")), "{text}");
    assert!(text.contains(&format!("- Files: {figures}\n")), "{text}");
}

#[test]
fn files_over_the_limit_are_counted() {
    let small = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-a\n+b\n";
    check_size(small, "2 files changed, 1 of them read, 1 line added and 1 removed.", "2 changed, 0 reviewed");
    check_size("", "1 file changed, 0 of them read, 0 lines added and 0 removed.", "1 changed, 0 reviewed");
    let big = small.replace("a.ts", "src/big.ts");
    check_size(&big, "1 file changed, 1 line added and 1 removed.", "1 changed, 0 reviewed");
}

#[test]
fn a_clean_review_or_one_with_praise_alone_is_silent() {
    let praise = sample::with(vec![sample::finding(Severity::Praise, "a.rs:1", "Nice")]);
    for review in [sample::clean(), praise] {
        assert_eq!(summary::write(&of_review(&review)), None);
    }
}

#[test]
fn a_re_review_without_any_delta_is_silent() {
    let review = sample::clean();
    let head = review.base.clone();
    let since = Since {
        head: &head,
        new: &[],
        resolved: &[],
        still_open: &[],
        n_added: 3,
        n_removed: 1,
        held_back: 3,
        dismissed: &[],
        had_findings: true,
    };
    assert_eq!(summary::write(&Comment { since: Some(since), ..of_review(&review) }), None);
}

#[test]
fn all_resolved_and_nothing_new_is_posted() {
    let review = sample::clean();
    let head = review.base.clone();
    let resolved = [finding(Severity::High, "a.rs:1", "Was bad", "x")];
    let since = Since {
        head: &head,
        new: &[],
        resolved: &resolved,
        still_open: &[],
        n_added: 3,
        n_removed: 1,
        held_back: 0,
        dismissed: &[],
        had_findings: true,
    };
    let text = written(&Comment { since: Some(since), ..of_review(&review) });
    assert_eq!(line_of(&text, ":green"), ":green_circle: **Blockers resolved** -- Ready to merge");
    assert_eq!(line_of(&text, ":white"), ":white_check_mark: [MAJOR] a.rs: Was bad -- resolved");
}

#[track_caller]
fn check_verdict(severities: &[Severity], complete: bool, expected: &str) {
    let findings = severities
        .iter()
        .enumerate()
        .map(|(index, severity)| sample::finding(*severity, &format!("a.rs:{}", index + 1), &format!("Title {index}")));
    let review = sample::with(findings.collect());
    let review = if complete { review } else { partly(review) };
    let text = written(&of_review(&review));
    assert_eq!(text.split("## Verdict\n").nth(1).unwrap().lines().next().unwrap(), expected);
}

#[test]
fn the_verdict_line_counts() {
    use Severity::{Critical, High, Low, Medium, Nit};
    check_verdict(
        &[Critical, High, High, Low],
        true,
        ":red_circle: **Block** -- 1 critical and 2 major findings must be fixed before merging; \
         also 1 minor finding",
    );
    check_verdict(&[High], true, ":yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging");
    check_verdict(
        &[Medium, Nit],
        true,
        ":yellow_circle: **Needs changes** -- 1 medium and 1 minor finding should be fixed before merging",
    );
    check_verdict(&[Low, Nit], true, ":green_circle: **Approve with notes** -- 2 minor findings, none blocking");
}

#[test]
fn a_partial_review_never_reads_as_approval() {
    use Severity::{High, Low};
    check_verdict(
        &[Low],
        false,
        ":yellow_circle: **Partly reviewed** -- 1 minor finding so far, none blocking; \
         1 of 2 hunks was not reviewed, so this is not an approval",
    );
    check_verdict(
        &[High],
        false,
        ":yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging; \
         1 of 2 hunks was not reviewed",
    );
}

#[track_caller]
fn check_update(new: &[Severity], resolved: &[Severity], still_open: &[Severity], complete: bool, expected: &str) {
    let made = |name: &str, severities: &[Severity]| -> Vec<Finding> {
        let finding =
            |(index, severity): (usize, &Severity)| sample::finding(*severity, "a.rs:1", &format!("{name} {index}"));
        severities.iter().enumerate().map(finding).collect()
    };
    let review = sample::with([made("new", new), made("open", still_open)].concat());
    let review = if complete { review } else { partly(review) };
    let resolved = made("resolved", resolved);
    let head = review.base.clone();
    let indices: Vec<usize> = (0..review.findings.len()).collect();
    let (new, still_open) = indices.split_at(new.len());
    let since = Since {
        head: &head,
        new,
        resolved: &resolved,
        still_open,
        n_added: 3,
        n_removed: 1,
        held_back: 0,
        dismissed: &[],
        had_findings: true,
    };
    let text = written(&Comment { since: Some(since), ..of_review(&review) });
    assert_eq!(text.split("## Verdict Update\n").nth(1).unwrap().lines().next().unwrap(), expected);
}

#[test]
fn the_verdict_update_reports_the_blockers() {
    use Severity::{Critical, High, Low, Medium};
    check_update(
        &[High],
        &[Critical],
        &[Low],
        true,
        ":yellow_circle: **New blockers found** -- Address 1 new issue(s)",
    );
    check_update(&[Low], &[Critical], &[Low], true, ":green_circle: **Blockers resolved** -- Ready to merge");
    check_update(
        &[],
        &[Critical],
        &[High],
        true,
        ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open",
    );
    check_update(&[], &[Medium], &[Low], true, ":green_circle: **Now ready** -- Ready to merge");
    check_update(&[], &[Low], &[Low], true, ":large_blue_circle: **Still ready** -- No new issues");
    check_update(
        &[],
        &[],
        &[Medium],
        true,
        ":yellow_circle: **Still needs changes** -- 1 non-blocking finding(s) remain",
    );
    check_update(
        &[Low],
        &[Medium],
        &[Medium],
        true,
        ":yellow_circle: **Still needs changes** -- No new blocking issues; 2 non-blocking finding(s) remain",
    );
    check_update(
        &[Medium],
        &[],
        &[],
        true,
        ":large_blue_circle: **Still ready** -- No new blocking issues; 1 non-blocking finding(s) remain",
    );
}

#[test]
fn a_partial_re_review_never_reads_as_approval() {
    use Severity::{High, Low};
    check_update(
        &[],
        &[High],
        &[],
        false,
        ":yellow_circle: **Partly reviewed** -- no new issues so far; 1 of 2 hunks was not reviewed, \
         so this is not an approval",
    );
    check_update(
        &[],
        &[Low],
        &[],
        false,
        ":yellow_circle: **Partly reviewed** -- no new issues so far; 1 of 2 hunks was not reviewed, \
         so this is not an approval",
    );
    check_update(
        &[High],
        &[],
        &[],
        false,
        ":yellow_circle: **New blockers found** -- Address 1 new issue(s); 1 of 2 hunks was not reviewed",
    );
}

#[test]
fn the_reviewed_line_names_the_categories_that_have_files() {
    let review = sample::with(vec![sample::finding(Severity::Low, "a.rs:1", "x")]);
    let analysis = analysis();
    let text = written(&Comment { analysis: Some(&analysis), ..of_review(&review) });
    assert_eq!(line_of(&text, "Reviewed"), "Reviewed: core logic, tests, infrastructure");
    assert_eq!(line_of(&text, "3 files"), "3 files changed, 4 lines added and 1 removed.");
    assert!(!written(&of_review(&review)).contains("Reviewed:"));
}

#[test]
fn the_comparison_is_stated_once() {
    let mut review = sample::with(vec![sample::finding(Severity::Low, "a.rs:1", "x")]);
    let commits = format!("{} against {}", review.reviewed.short(), review.base.short());
    let line = |review: &Review| line_of(&written(&of_review(review)), "- Commit").to_owned();
    for (compared, expected) in [(Some("main…HEAD"), ", main…HEAD"), (Some(commits.as_str()), ""), (None, "")] {
        review.compared = compared.map(str::to_owned);
        assert_eq!(line(&review), format!("- Commit: {commits}{expected}"), "{compared:?}");
    }
}

#[test]
fn work_in_progress_gets_early_feedback_with_a_note() {
    let review = sample::with(vec![sample::finding(Severity::Medium, "a.rs:1", "x")]);
    let text = written(&Comment { early_feedback: true, ..of_review(&review) });
    assert!(text.contains("\nEarly feedback: this is work in progress"), "{text}");
}

#[test]
fn the_cap_cuts_the_mildest_into_the_figures_and_never_a_critical() {
    let severities = [Severity::Low, Severity::Critical, Severity::Medium, Severity::Critical, Severity::High];
    let findings = severities
        .iter()
        .enumerate()
        .map(|(index, severity)| sample::finding(*severity, &format!("a.rs:{}", index + 1), &format!("Title {index}")));
    let review = sample::with(findings.collect());
    for (cap, n_shown) in [(0, 2), (1, 2), (3, 3), (9, 5)] {
        let text = written(&Comment { commented: Some(cap), ..of_review(&review) });
        let (observations, figures) = text.split_once("<summary>Review Details").unwrap();
        assert_eq!(observations.matches(": Title ").count(), n_shown, "{cap}");
        assert_eq!(figures.matches(": Title ").count(), 5 - n_shown, "{cap}");
        assert_eq!(figures.contains("Cut by the comment cap"), n_shown < 5);
        let more = format!("\n{} more findings are listed in Review Details.\n", 5 - n_shown);
        assert_eq!(observations.contains(&more), n_shown < 5);
    }
}

#[test]
fn still_open_is_not_repeated_although_an_equal_finding_is_new_or_resolved() {
    let finding = |line: u32| sample::finding(Severity::Medium, &format!("a.rs:{line}"), "Same words");
    let review = sample::with(vec![finding(1), finding(50)]);
    let head = review.base.clone();
    let resolved = [finding(9)];
    let since = Since {
        head: &head,
        new: &[1],
        resolved: &resolved,
        still_open: &[0],
        n_added: 3,
        n_removed: 1,
        held_back: 0,
        dismissed: &[],
        had_findings: true,
    };
    let text = written(&Comment { since: Some(since), ..of_review(&review) });
    assert_eq!(line_of(&text, ":new:"), ":new: [MEDIUM] a.rs (50): Same words (another place) (F002)");
    let resolved = ":white_check_mark: [MEDIUM] a.rs: Same words (in one place of several) -- resolved";
    assert_eq!(line_of(&text, ":white"), resolved);
    assert_eq!(line_of(&text, "- [MEDIUM]"), "- [MEDIUM] a.rs: Same words (F001)");
}

#[test]
fn suggestions_are_advice_on_findings_that_do_not_block() {
    let with = |severity, place, suggestion: &str| {
        let fix = Some(Fix { lines: LineRange::line(3), replacement: "  a(b);".to_owned() });
        Finding { suggestion: Some(suggestion.to_owned()), fix, ..sample::finding(severity, place, "x") }
    };
    let review = sample::with(vec![
        with(Severity::Medium, "a.rs:3", "a(b);"),
        with(Severity::Low, "b.rs:3", "Call it <b>."),
        with(Severity::Nit, "c.rs:3", "several\nlines"),
        with(Severity::High, "d.rs:3", "must be done"),
    ]);
    let text = written(&of_review(&review));
    let suggestions = text.split("## Suggestions\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(suggestions, "- a.rs (3): write `a(b);` instead\n- b.rs (3): Call it &lt;b&gt;.");
}

#[test]
fn the_configured_name_stands_in_the_summary() {
    let review = sample::with(vec![sample::finding(Severity::Low, "a.rs:1", "x")]);
    for (bot, expected) in [("Acme & <b>", "Acme &amp; &lt;b&gt;"), (" ", "Kodiai"), ("a\n\nb", "a b")] {
        let text = written(&Comment { bot, ..of_review(&review) });
        assert_eq!(line_of(&text, "<summary>"), format!("<summary>{expected} Review Summary</summary>"));
    }
}

#[test]
fn blockers_are_listed_for_any_number_of_findings() {
    let long = "word ".repeat(2000);
    let remark = |index: u32| finding(Severity::Low, &format!("src/{index}.rs:1"), &format!("Remark {index}"), &long);
    let blocker =
        |index: u32| finding(Severity::High, &format!("src/{index}.rs:1"), &format!("Blocker {index}"), &long);
    let review = sample::with((0..3000).map(remark).chain((0..300).map(blocker)).collect());
    let details: Vec<String> = (0..1000).map(|_| long.clone()).collect();
    let text = written(&Comment { details: &details, ..of_review(&review) });
    assert_eq!(text.matches(": Blocker ").count(), 300);
    let n_remarks = text.matches(": Remark ").count();
    assert!(text.contains(&format!("and {} more\n", 3000 - n_remarks)), "{n_remarks}");
    assert!(text.contains("\n- and 900 more lines\n"));
    assert!(text.len() > MAX_LEN - 1000, "{}", text.len());

    let head = review.base.clone();
    let new: Vec<usize> = (0..1500).chain(3000..3150).collect();
    let still_open: Vec<usize> = (1500..3000).chain(3150..3300).collect();
    let resolved: Vec<Finding> = (0..3000).map(remark).chain((4000..4100).map(blocker)).collect();
    let since = Since {
        head: &head,
        new: &new,
        resolved: &resolved,
        still_open: &still_open,
        n_added: 3,
        n_removed: 1,
        held_back: 0,
        dismissed: &[],
        had_findings: true,
    };
    let text = written(&Comment { since: Some(since), ..of_review(&review) });
    assert_eq!(text.matches(": Blocker ").count(), 400);
}

#[test]
fn findings_that_do_not_fit_are_counted() {
    let review = sample::with(
        (0..5000)
            .map(|index| {
                finding(Severity::Critical, &format!("{}/{index}.rs:1", "long".repeat(40)), &format!("B {index}"), "x")
            })
            .collect(),
    );
    let text = written(&of_review(&review));
    let n_shown = text.matches(": B ").count();
    assert!(n_shown > 200);
    assert!(text.contains(&format!("\nand {} more\n", 5000 - n_shown)));
    assert!(text.contains(":red_circle: **Block** -- 5000 critical findings"));
}

#[test]
fn equal_findings_of_a_file_are_one_entry_with_several_lines() {
    let review =
        sample::with((1..=50).map(|line| sample::finding(Severity::Low, &format!("a.rs:{line}"), "Same")).collect());
    let text = written(&of_review(&review));
    assert_eq!(text.matches(": Same").count(), 1);
    let twice =
        sample::with([7, 3, 7].map(|line| sample::finding(Severity::Low, &format!("a.rs:{line}"), "Same")).to_vec());
    assert_eq!(line_of(&written(&of_review(&twice)), "a.rs"), "a.rs (3, 7): Same (3 findings: F001, F002, F003)");
    assert!(line_of(&text, "a.rs (1, 2, 3,").contains("19, 20): Same (and 30 more places) (50 findings: F001, F002, "));
}

/// Text that has structural meaning in a comment.
const PIECES: [&str; 58] = [
    "## Verdict",
    "## Verdict Update",
    "# x",
    "### Critical",
    "[CRITICAL]",
    "[MAJOR] a: b",
    ":new: [CRITICAL] ",
    "</details>",
    "<details>",
    "<summary>Kodiai Review Summary</summary>",
    "<!--",
    "-->",
    "<script>",
    "<b>",
    "&lt;",
    "&#35;",
    "`",
    "``",
    "```",
    "~~~",
    "|",
    "|-|",
    ":-:",
    "---",
    "===",
    "***",
    "**x**",
    "_x_",
    "*",
    "- ",
    "- [ ] ",
    "1. ",
    "1) ",
    "> ",
    "> [!NOTE]",
    "[a](b)",
    "![a](b)",
    "[^1]",
    "[^1]: x",
    "[a]: b",
    "<https://a.b>",
    "https://a.b",
    "www.a.b",
    "@octocat",
    "#123",
    "GH-1",
    ":rocket:",
    ":red_circle: **Block** -- x",
    "$x$",
    "\n",
    "\r\n",
    "\n\n",
    "\u{202e}",
    "\u{2028}",
    "🙂",
    "\\",
    " ",
    "and 3 more",
];
