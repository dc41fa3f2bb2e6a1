//! Answers about findings of the last review, in every form of an answer.

use serde_json::json;
use tollgate_core::answer::{self, Answer, Form, PriorAnswer, PromptQuestions};

fn told(answer: &Answer) -> Vec<String> {
    let line = |it: &PriorAnswer| format!("{} {}: {}", it.id, it.state.as_str(), it.evidence);
    answer.prior.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, form: Form, n_claims: usize, expected: &[&str]) {
    let answer = answer::read_asked(text, PromptQuestions { criteria: &[], n_prior: Some(2) }).unwrap();
    assert_eq!(told(&answer), expected, "{text}");
    assert_eq!((answer.form, answer.claims.len()), (form, n_claims), "{:?}", answer.claims);
}

const BOTH: [&str; 2] = ["P1 fixed: src/a.rs:3 if n == 0 { return }", "P2 open: nothing checks it"];

#[test]
fn an_answer_in_the_schema_has_them_in_a_list() {
    let answer = json!({
        "prior": [
            { "id": "P1", "state": "fixed", "evidence": "src/a.rs:3 if n == 0 { return }" },
            { "id": "P2", "state": "open", "evidence": "nothing checks it" },
        ],
        "decision": "rejected", "summary": "Half done.", "findings": [],
    });
    let read = answer::read_structured(&answer).unwrap();
    assert_eq!((told(&read), read.form, read.claims.len()), (BOTH.map(str::to_owned).to_vec(), Form::Structured, 0));
    check(&answer.to_string(), Form::Structured, 0, &BOTH);
    check(&format!("Here:\n```json\n{answer:#}\n```\n"), Form::Json, 0, &BOTH);
}

#[test]
fn json_of_other_shapes_is_understood() {
    let with = |prior: &str| format!(r#"Mine: {{"decision": "rejected", "prior": {prior}, "findings": []}}"#);
    let map = r#"{"P1": {"state": "fixed", "file": "src/a.rs", "line": 3, "quote": "if n == 0 { return }"},
                  "P2": "open: nothing checks it"}"#;
    check(&with(map), Form::Json, 0, &BOTH);
    let list = r#"[{"id": "p1", "fixed": true, "evidence": "src/a.rs:3 if n == 0 { return }"},
                   {"id": "P2", "status": "not fixed", "severity": "High", "title": "x", "reason": "nothing checks it"}]"#;
    check(&with(list), Form::Json, 0, &["P1 fixed: src/a.rs:3 if n == 0 { return }", "P2 open: nothing checks it"]);
    // Unknown names and states are ignored.
    check(&with(r#"[{"id": "X1", "state": "fixed"}, {"id": "P1", "state": "perhaps"}, 3]"#), Form::Json, 0, &[]);
}

#[test]
fn an_answer_without_the_field_is_silence() {
    check(r#"{"decision": "approved", "summary": "ok", "findings": []}"#, Form::Structured, 0, &[]);
    check("**[APPROVED]**\n\n### Summary\nGood.", Form::Text, 0, &[]);
}

#[test]
fn truncated_json_keeps_the_complete_answers() {
    let text = r#"{"prior": [{"id": "P1", "state": "fixed", "evidence": "a.rs:1 x"}, {"id": "P2", "state": "fix"#;
    let whole = format!(
        r#"{text}ed", "evidence": "b"}}], "decision": "rejected", "summary": "s", "findings": [{{"title": "No ch"#
    );
    let read = answer::read(&whole).unwrap();
    assert!(read.truncated);
    assert_eq!(told(&read), ["P1 fixed: a.rs:1 x", "P2 fixed: b"]);
    assert!(answer::read(text).is_err(), "without a decision or a finding it is no answer");
}

#[test]
fn an_answer_in_words_has_a_line_for_each() {
    let text = "**[REJECTED]** - half done

### Earlier Findings
- P1: fixed – src/a.rs:3 if n == 0 { return }
- **P2** (No check): open – nothing checks it

### Issues Found
- **[CODE]** - High: Another one
  - File: src/a.rs
  - Line: 9

### Summary
Half done.";
    check(text, Form::Text, 1, &BOTH);
}

#[test]
fn a_review_in_markdown_and_a_comment_have_a_line_for_each() {
    let markdown = "# Code Review\n\nP1: fixed – src/a.rs:3 if n == 0 { return }\nP2: open – nothing checks it\n\n\
                    ## Findings\n\n### F001: [High/Logic] Another one\n\n**File:** src/a.rs:9\n\n\
                    **Evidence:**\n```rust\nx();\n```\n";
    check(markdown, Form::Markdown, 1, &BOTH);
    let comment = "## What Changed\nOne guard.\n\n- P1: fixed – src/a.rs:3 if n == 0 { return }\n\
                   - P2: open – nothing checks it\n\n## Observations\n### Major\nsrc/a.rs (9): Another one\nIt is wrong.\n\n\
                   ## Verdict\n:yellow_circle: **Needs changes** -- 1 major";
    check(comment, Form::Comment, 1, &BOTH);
}

#[test]
fn a_table_has_a_row_for_each() {
    let text = "**[REJECTED]** half done\n\n| id | state | evidence |\n|---|---|---|\n\
                | P1 | fixed | src/a.rs:3 if n == 0 { return } |\n| P2 | open | nothing checks it |\n";
    check(text, Form::Text, 0, &BOTH);
}

#[test]
fn findings_that_were_not_asked_about_stay_findings() {
    let text = "**[REJECTED]**\n\n### Issues Found\n- P3: open – a file handle is never closed (src/a.rs:3)\n";
    check(text, Form::Text, 1, &[]);
}

#[test]
fn of_contradicting_answers_the_worse_counts() {
    let text = "P1: open – really\n\n{\"decision\": \"approved\", \"summary\": \"s\", \"prior\": \
                [{\"id\": \"P1\", \"state\": \"fixed\", \"evidence\": \"a.rs:1\"}], \"findings\": []}";
    check(text, Form::Json, 0, &["P1 open: really"]);
}
