//! `check-comment`, through the program.

use crate::scratch::Scratch;

const VALID: &str = "\
<details>
<summary>Kodiai Review Summary</summary>

## What Changed
Retries when the server is busy.

## Observations

### Minor
src/b.ts (3): A name says nothing

## Verdict
:green_circle: **Approve with notes** -- 1 minor finding

</details>
";

#[test]
fn a_valid_comment_passes() {
    let scratch = Scratch::folder();
    scratch.write("c.md", VALID);
    let text = scratch.tollgate(&["check-comment", "c.md"]).expect(0);
    assert_eq!(text, "c.md: a valid summary of a first review\n");
    let ran = scratch.tollgate_with(&["check-comment", "--format", "json"], VALID.as_bytes(), &[]);
    let json: serde_json::Value = serde_json::from_str(&ran.expect(0)).unwrap();
    assert_eq!(json, serde_json::json!({ "kind": "review", "valid": true, "errors": [] }));
}

#[test]
fn an_invalid_comment_is_told_by_section_rule_and_line() {
    let scratch = Scratch::folder();
    let text = VALID.replace("### Minor", "### Critical").replace("## What Changed", "## What");
    scratch.write("c.md", &text);
    insta::assert_snapshot!(scratch.tollgate(&["check-comment", "c.md", "--format", "pretty"]).expect(1), @"
    c.md:2: in `What Changed`: the section `## What Changed` is missing (missing-section)
    c.md:4: in `What`: unknown section `What` for this kind of summary (unknown-section)
    c.md:13: in `Verdict`: the verdict is green, but a finding that blocks is listed (verdict-mismatch)
    3 problems
    ");
    let ran = scratch.tollgate(&["check-comment", "c.md", "--format", "json"]);
    insta::assert_snapshot!(ran.expect(1), @r#"
    {
      "kind": "review",
      "valid": false,
      "errors": [
        {
          "rule": "missing-section",
          "section": "What Changed",
          "line": 2,
          "message": "the section `## What Changed` is missing"
        },
        {
          "rule": "unknown-section",
          "section": "What",
          "line": 4,
          "message": "unknown section `What` for this kind of summary"
        },
        {
          "rule": "verdict-mismatch",
          "section": "Verdict",
          "line": 13,
          "message": "the verdict is green, but a finding that blocks is listed"
        }
      ]
    }
    "#);
}

#[test]
fn another_comment_passes_byte_for_byte() {
    let scratch = Scratch::folder();
    for text in ["Thanks!\r\n\r\n## Verdict", "", "<details>\n## x"] {
        let ran = scratch.tollgate_with(&["check-comment", "-", "--fix"], text.as_bytes(), &[]);
        assert_eq!((ran.stderr.as_str(), ran.stdout.as_str(), ran.code), ("", text, 0));
        let ran = scratch.tollgate_with(&["check-comment", "--format", "json"], text.as_bytes(), &[]);
        assert!(ran.expect(0).contains("\"kind\": \"other\""));
    }
    let ran = scratch.tollgate_with(&["check-comment", "--bot", "Acme"], VALID.as_bytes(), &[]);
    assert_eq!(ran.expect(0), "standard input: not a review summary, so no rule applies\n");
}

#[test]
fn repairable_problems_are_repaired_and_listed() {
    let scratch = Scratch::folder();
    let broken =
        VALID.replace("</summary>\n\n", "</summary>\n").replace("## Verdict", "## Suggestions\n(none)\n\n## Verdict");
    scratch.write("c.md", &broken);
    let ran = scratch.tollgate(&["check-comment", "c.md", "--fix"]);
    let said = "fixed: put blank lines between HTML and Markdown\nfixed: left out the empty section `Suggestions`\n";
    assert_eq!(ran.stderr, said);
    assert_eq!(ran.expect(0), VALID);
    assert_eq!(scratch.tollgate(&["check-comment", "c.md", "--fix", "-o", "c.md"]).expect(0), "");
    assert_eq!(scratch.read("c.md"), VALID);
    let again = scratch.tollgate(&["check-comment", "c.md", "--fix"]);
    assert_eq!(again.stderr, "");
    assert_eq!(again.expect(0), VALID);
}

#[test]
fn unrepairable_comments_are_left_alone() {
    let scratch = Scratch::folder();
    let broken = VALID.replace("</summary>\n\n", "</summary>\n").replace("### Minor", "### Critical");
    scratch.write("c.md", &broken);
    let stderr = scratch.tollgate(&["check-comment", "c.md", "--fix", "-o", "c.md"]).expect_refused(1);
    insta::assert_snapshot!(stderr, @"
    c.md:3: a blank line is missing after `</summary>`, so the Markdown below it is not rendered (blank-line-after-summary)
    c.md:12: in `Verdict`: the verdict is green, but a finding that blocks is listed (verdict-mismatch)
    not repaired: some problems cannot be repaired without changing the meaning
    ");
    assert_eq!(scratch.read("c.md"), broken);
}

#[test]
fn input_that_is_no_text_is_bad_input() {
    let scratch = Scratch::folder();
    let stderr = scratch.tollgate_with(&["check-comment"], b"\xff", &[]).expect_refused(2);
    assert!(stderr.contains("`standard input` is not valid UTF-8"), "{stderr}");
    scratch.tollgate(&["check-comment", "nowhere.md"]).expect_refused(2);
    scratch.tollgate(&["check-comment", "--fix", "--format", "json"]).expect_refused(2);
}
