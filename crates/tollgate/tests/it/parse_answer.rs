//! `parse-answer`, through the program.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scratch::Scratch;

const REJECTED: &str = "\
**[REJECTED]**

### Issues Found
- **[CODE]** - High: No check of the length
  - Description: An empty list is indexed.
  - File: src/a.rs
  - Line: 12-15
  - Suggestion: Return early.
- **[TEST]** - banana: Nothing tests it

### Summary
One bug.
";

#[track_caller]
fn json_of(text: &str) -> Value {
    let ran = Scratch::folder().tollgate_with(&["parse-answer", "--format", "json"], text.as_bytes(), &[]);
    serde_json::from_str(&ran.expect(0)).unwrap()
}

#[test]
fn an_answer_is_told_in_words() {
    let scratch = Scratch::folder();
    scratch.write("answer.txt", REJECTED);
    assert_snapshot!(scratch.tollgate(&["parse-answer", "answer.txt"]).expect(0), @"
    rejected, as a list of issues

      One bug.

    [High/Logic] src/a.rs:12-15: No check of the length
      An empty list is indexed.
      suggestion:
        Return early.

    [Medium/Test] (no file): Nothing tests it

    2 findings
    note: finding 2: the severity `banana` is unknown and treated as Medium
    ");
}

#[test]
fn an_answer_is_told_as_json() {
    let found = json_of(REJECTED);
    assert_eq!(found["decision"], "rejected");
    assert_eq!(found["form"], "text");
    assert_eq!(found["truncated"], false);
    assert_eq!(found["summary"], "One bug.");
    assert_eq!(found["problems"], json!(["finding 2: the severity `banana` is unknown and treated as Medium"]));
    let mut first = found["findings"][0].clone();
    first.as_object_mut().unwrap().remove("x_fingerprint").unwrap();
    assert_eq!(
        first,
        json!({
            "id": "F001",
            "severity": "High",
            "category": "Logic",
            "location": { "file": "src/a.rs", "line_start": 12, "line_end": 15 },
            "summary": "No check of the length",
            "reason": "An empty list is indexed.",
            "evidence": "An empty list is indexed.",
            "suggestion": "Return early.",
        })
    );
    assert_eq!(found["findings"][1]["evidence"], "Nothing tests it");
    assert!(found["findings"][1].get("location").is_none(), "{found}");
}

#[test]
fn a_place_without_a_line_is_the_first_line_and_said_so() {
    let found = json_of(
        r#"{"decision": "rejected", "findings": [
            {"severity": "High", "category": "Logic", "file": "src/b.rs", "title": "no line", "side": "LEFT"}]}"#,
    );
    assert_eq!(found["findings"][0]["location"], json!({ "file": "src/b.rs", "line_start": 1, "side": "LEFT" }));
    assert_eq!(found["problems"], json!(["finding 1: it names no line; line 1 is assumed"]));
}

#[test]
fn an_answer_that_was_cut_off_approves_nothing() {
    let found = json_of(r#"{"decision": "approved", "findings": [{"severity": "Low", "title": "a"}, {"sev"#);
    assert_eq!((&found["decision"], &found["truncated"]), (&Value::Null, &json!(true)));
    assert_eq!(found["findings"].as_array().unwrap().len(), 1);
}

#[test]
fn other_outputs_are_rejected_by_name() {
    let scratch = Scratch::folder();
    let refused = |text: &[u8]| scratch.tollgate_with(&["parse-answer"], text, &[]).expect_refused(2);
    assert_snapshot!(refused(b"I'm sorry, but I can't help with that."), @"
    error: `standard input`: the answer is not a review but a refusal
    hint: Ask for the review again once this is resolved.
    ");
    assert_snapshot!(refused(b"Nice change."), @"
    error: `standard input`: the answer cannot be read: it has neither a decision nor a finding in any known form
    hint: Supported are the answer schema, JSON with `findings` and a `decision`, `**[APPROVED]**` or `**[REJECTED]**` with a list of issues, the Markdown of a review, and comments such as `src/a.rs (12): title` under a severity.
    ");
    assert_snapshot!(refused(b" \n"), @"
    error: `standard input`: the answer is empty
    hint: Pass the answer as a file or on standard input.
    ");
    scratch.tollgate(&["parse-answer", "nowhere.txt"]).expect_refused(2);
}

#[test]
fn bytes_that_are_no_text_do_not_cost_the_findings_around_them() {
    let ran = Scratch::folder().tollgate_with(&["parse-answer"], b"[REJECTED]\n\n- [HIGH] a\xff.rs (3): x\n", &[]);
    assert!(ran.expect(0).contains("x\n"));
}

#[test]
fn control_characters_of_an_answer_do_not_reach_the_terminal() {
    let ran = Scratch::folder().tollgate_with(&["parse-answer"], "[REJECTED] - \u{1b}[2Jgone".as_bytes(), &[]);
    assert!(ran.expect(0).contains("\\u{1b}[2Jgone"));
}

#[test]
fn the_schema_describes_what_is_written() {
    let scratch = Scratch::folder();
    let schema: Value = serde_json::from_str(&scratch.tollgate(&["schema", "parse-answer"]).expect(0)).unwrap();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&schema["properties"]), names(&json_of(REJECTED)));
}

#[test]
fn paths_are_told_as_findings_have_them() {
    let cases = [
        ("src\\auth\\login.ts", "src/auth/login.ts"),
        ("C:\\repo\\src\\a.ts", "repo/src/a.ts"),
        ("/repo/src/a.ts", "repo/src/a.ts"),
        ("../src/./a.ts", "src/a.ts"),
    ];
    for (said, expected) in cases {
        let answer = json!({ "findings": [{ "severity": "High", "file": said, "line": 3, "title": "x" }] });
        let found = json_of(&answer.to_string());
        assert_eq!(found["findings"][0]["location"]["file"], expected, "{said}");
    }
}
