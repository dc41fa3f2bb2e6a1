//! Reviews as Markdown: round trips and damaged documents.

use proptest::prelude::*;
use serde_json::json as value;
use tollgate_core::finding::{Category, Fix, LineRange, Severity, Side};
use tollgate_core::report::{Content, Strictness, json, markdown};
use tollgate_core::review::Review;

use crate::arbitrary;
use crate::sample;

fn read_strict(text: &str) -> Review {
    let read = markdown::read(text, Strictness::Strict).unwrap_or_else(|error| panic!("{:#?}\n{text}", error.problems));
    match read.content {
        Content::Review(review) => *review,
        Content::Findings(..) => panic!("Markdown is always a review"),
    }
}

/// Writes a review, parses it back and returns the text.
#[track_caller]
fn check(review: &Review) -> String {
    let text = markdown::write(review);
    assert_eq!(&read_strict(&text), review, "{text}");
    text
}

fn problems(text: &str) -> Vec<String> {
    markdown::read(text, Strictness::Strict)
        .map_or_else(|error| error.problems.iter().map(ToString::to_string).collect(), |_| Vec::new())
}

#[test]
fn the_example_of_the_description_is_written_byte_for_byte() {
    assert_eq!(check(&sample::review()), sample::MARKDOWN);
}

#[test]
fn the_example_of_the_description_is_read() {
    assert_eq!(read_strict(sample::MARKDOWN), sample::review());
    assert_eq!(read_strict(&sample::MARKDOWN.replace('\n', "\r\n")), sample::review());
}

#[test]
fn extra_fields_are_written_as_extra_lines_and_comments() {
    let mut finding = sample::finding(Severity::High, "src/a.rs:3", "Use `Vec<u8>` not <b>");
    finding.location.lines = LineRange::new(3, 5).unwrap();
    finding.location.side = Side::Left;
    finding.category = Category::Architecture;
    finding.reason = Some("### F002: [Nit/Doc] no\n---\n**File:** `b:1`\n\\# x\n<!-- tollgate: {} -->".to_owned());
    finding.evidence = "a ``` b".to_owned();
    finding.suggestion = Some("x\r\ny --> <!-- \u{202e}".to_owned());
    finding.fix = Some(Fix { lines: LineRange::line(3), replacement: "-->".to_owned() });
    finding.origin.rule = Some("no-vec".to_owned());
    finding.extra.insert("confidence".to_owned(), value!(1));
    let mut review = sample::with(vec![finding]);
    review.re_review_required = true;
    review.title = Some("a\nb".to_owned());
    insta::assert_snapshot!(check(&review), @r#"
    # Code Review: a b

    **Reviewed SHA:** `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`
    **Base SHA:** `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`
    **Verdict:** CHANGES_REQUESTED
    **Blocking Issues:** 0 Critical, 1 High
    **Re-review Required:** true

    ---

    ## Files Reviewed

    _None._

    ---

    ## Findings

    ### F001: [High/Style] Use `Vec<u8>` not \<b>

    **File:** `src/a.rs:3`-5
    **Side:** LEFT

    \### F002: [Nit/Doc] no
    \---
    \**File:** `b:1`
    \\# x
    \<!-- tollgate: {} -->

    **Evidence:**
    ````rust
    a ``` b
    ````

    **Suggested Fix:**
    ```rust
    x
    y --> <!-- \u{202e}
    ```

    <!-- tollgate: {"suggestion":"x\r\ny -\u002d\u003e \u003c!-\u002d \u202e","x_rule":"no-vec","x_category":"Architecture","x_fix":{"line_start":3,"replacement":"-\u002d\u003e"},"confidence":1} -->

    ---

    <!-- tollgate: {"x_title":"a\nb"} -->
    "#);
}

#[test]
fn a_review_without_anything_is_readable() {
    insta::assert_snapshot!(check(&sample::clean()), @"
    # Code Review

    **Reviewed SHA:** `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`
    **Base SHA:** `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`
    **Verdict:** APPROVED
    **Blocking Issues:** 0 Critical, 0 High

    ---

    ## Files Reviewed

    _None._

    ---

    ## Findings

    _No findings._
    ");
}

#[test]
fn code_blocks_in_a_reason_stay_as_they_are() {
    let mut finding = sample::finding(Severity::High, "a.rs:1", "x");
    finding.reason = Some("Like this:\n\n```rust\n### F001: [High/Error] x\n<b>\n```\n\nnot\n```\nthis".to_owned());
    let text = check(&sample::with(vec![finding]));
    assert!(text.contains("\n```rust\n### F001: [High/Error] x\n<b>\n```\n\nnot\n\\```\nthis\n"), "{text}");
}

#[test]
fn text_cannot_fake_a_finding_or_a_comment() {
    let hostile = "x\n### F002: [Critical/Security] fake\n\n**File:** `a:1`\n\n**Evidence:**\n```\ny\n```\n\
        <!-- tollgate: {\"severity\":\"Nit\"} -->";
    let mut finding = sample::finding(Severity::High, "a.rs:1", "x");
    finding.reason = Some(hostile.to_owned());
    finding.evidence = hostile.to_owned();
    finding.suggestion = Some(hostile.to_owned());
    let mut review = sample::with(vec![finding]);
    review.notes = Some(hostile.to_owned());
    let text = check(&review);
    assert!(!text.contains("{\"severity\":\"Nit\"} -->\n\n---"), "{text}");
}

#[test]
fn a_review_written_by_hand_is_read() {
    let text = "# Code Review: Login\n\nReviewed SHA: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n- **Base SHA**: `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`\n\
        **Verdict:** CHANGES_REQUESTED\n**Blocking Issues:** 1 Critical, 0 High\n\n## Files Reviewed\n* src/a.rs\n\n## Findings\n\n\
        ### F001: [Critical/Security] SQL injection\nFile: src/a.rs:10-12\n\nThe id is pasted in.\n\n**Evidence:**\n~~~\nquery(id)\n~~~\n";
    let review = read_strict(text);
    let finding = &review.findings[0];
    assert_eq!((finding.location.lines.start(), finding.location.lines.end()), (10, 12));
    assert_eq!(finding.reason.as_deref(), Some("The id is pasted in."));
    assert_eq!(finding.evidence, "query(id)");
    assert_eq!(review.files_reviewed[0].as_str(), "src/a.rs");
}

#[test]
fn missing_parts_are_named_with_their_line() {
    let text = sample::MARKDOWN
        .replace("**File:** `tests/api/client.test.ts:15`\n", "")
        .replace("**Base SHA:** `fed", "**Base SHA:** `xyz")
        .replace("[Praise/Style]", "[Nice]");
    insta::assert_snapshot!(problems(&text).join("\n"), @r#"
    line 4: expected 40 or 64 hex digits (sha), found "xyzcba0987654321098765432109876543210fed"
    line 42: expected a line **File:** `path:line` in this finding (file), found ### F002: [Medium/Test] Missing test for error case
    line 42: `location` is missing (required)
    line 42: this finding names no file and was left out (refused)
    line 52: expected `[Severity/Category]` (heading), found ### F003: [Nice] Excellent use of discriminated unions
    line 52: expected one of Critical, High, Medium, Low, Nit, Praise; read as Medium (severity), found "Nice"
    line 52: `category` is missing (required)
    line 52: now `F002`, because a finding before it was left out (renumbered), found F003
    "#);
}

#[test]
fn one_broken_finding_does_not_lose_the_others() {
    let text = sample::MARKDOWN.replace("**File:** `tests/api/client.test.ts:15`\n", "");
    assert!(markdown::read(&text, Strictness::Strict).is_err());
    let read = markdown::read(&text, Strictness::Lenient).unwrap();
    assert!(read.notes.iter().any(|note| note.rule == "refused"), "{:?}", read.notes);
    let summaries: Vec<_> = read.into_review().findings.iter().map(|finding| finding.summary.to_string()).collect();
    assert_eq!(summaries, ["Unhandled promise rejection", "Excellent use of discriminated unions"]);
}

#[test]
fn a_megabyte_of_fences_is_parsed() {
    let text: String = (3..1400).map(|len| format!("{}x\n", "`".repeat(len))).collect();
    let mut finding = sample::finding(Severity::High, "a.rs:1", "x");
    finding.reason = Some(text + &"``` `\n".repeat(20_000));
    check(&sample::with(vec![finding]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_review_round_trips(review in arbitrary::review()) {
        check(&review);
    }

    #[test]
    fn the_rest_of_a_damaged_document_is_a_valid_review(review in arbitrary::review(), seed in any::<u64>()) {
        let text = markdown::write(&review);
        // Each bit of the seed keeps or drops one line.
        let kept = text.split_inclusive('\n').enumerate().filter(|(index, _)| (seed.rotate_left(*index as u32 % 64) & 7) != 0);
        let damaged: String = kept.map(|(_, line)| line).collect();
        if let Ok(read) = markdown::read(&damaged, Strictness::Lenient) {
            let written = json::write(&read.into_review(), json::Options::default());
            prop_assert!(json::read_strict(written.as_bytes()).is_ok(), "{}", damaged);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in arbitrary::text(), more in arbitrary::text()) {
        let _ = markdown::read(&format!("# x\n{text}\n### F001: {more}\n{text}{more}\n"), Strictness::Lenient);
    }
}
