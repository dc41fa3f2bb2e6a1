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
            "evidence": "(nothing was quoted)",
            "suggestion": "Return early.",
        })
    );
    assert_eq!(found["findings"][1]["evidence"], "(nothing was quoted)");
    assert!(found["findings"][1].get("location").is_none(), "{found}");
}

#[test]
fn answers_about_findings_of_the_last_review_are_told_in_both_formats() {
    let text = "**[REJECTED]**\nP1: fixed – src/a.rs:12 if n == 0 { return }\nP2: open – still there\n\n### Summary\nHalf done.\n";
    let prior = json!([
        { "id": "P1", "state": "fixed", "evidence": "src/a.rs:12 if n == 0 { return }" },
        { "id": "P2", "state": "open", "evidence": "still there" },
    ]);
    assert_eq!(json_of(text)["prior"], prior);
    let structured = json!({ "prior": prior, "decision": "rejected", "summary": "Half done.", "findings": [] });
    assert_eq!(json_of(&structured.to_string())["prior"], prior);
    assert!(json_of(REJECTED).get("prior").is_none(), "left out when there are none");
    let ran = Scratch::folder().tollgate_with(&["parse-answer"], text.as_bytes(), &[]);
    assert_snapshot!(ran.expect(0), @"
    rejected, as a list of issues

      Half done.

    P1: fixed – src/a.rs:12 if n == 0 { return }

    P2: open – still there

    0 findings
    ");
}

#[test]
fn an_answer_about_a_prior_finding_may_quote_a_line_that_opens_a_block() {
    let value = json_of("**[APPROVED]**\n\nP1: fixed – pay/account.go:24 if len(list) == 0 {\n");
    assert_eq!((&value["decision"], &value["truncated"]), (&"approved".into(), &false.into()));
    assert_eq!(value["prior"][0]["evidence"], "pay/account.go:24 if len(list) == 0 {");
}

#[test]
fn a_finding_that_is_a_string_keeps_its_severity_and_place() {
    let value = json_of(r#"{"decision":"approved","findings":["[HIGH] pay/account.go:28 - division by zero"]}"#);
    assert_eq!(value["decision"], "rejected");
    assert_eq!(value["findings"][0]["severity"], "High");
    assert_eq!(value["findings"][0]["location"]["line_start"], 28);
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
fn an_approval_beside_a_blocker_or_a_rejection_is_a_rejection() {
    for (text, problem) in [
        (
            r#"{"decision": "approved", "summary": "x", "findings": [{"severity": "High", "file": "a", "title": "b"}]}"#,
            "it says approved beside a blocking finding; treated as rejected",
        ),
        (
            "**[APPROVED]**\n\n### Issues Found\n- **[CODE]** - critical: a\n- **[CODE]** - high: b\n",
            "it says approved beside 2 blocking findings; treated as rejected",
        ),
        ("**[APPROVED]**\n\n**[REJECTED]**\n", "it states both approved and rejected; treated as rejected"),
        (
            r#"{"decision": "approved", "decision": "rejected", "summary": "x", "findings": []}"#,
            "it states both approved and rejected; treated as rejected",
        ),
    ] {
        let found = json_of(text);
        assert_eq!(found["decision"], "rejected", "{text}");
        assert!(found["problems"].as_array().unwrap().contains(&json!(problem)), "{found:#}");
        let words = Scratch::folder().tollgate_with(&["parse-answer"], text.as_bytes(), &[]).expect(0);
        assert!(words.starts_with("rejected, ") && words.contains(problem), "{words}");
    }
}

#[test]
fn words_around_an_approval_that_say_the_contrary_reject() {
    let approved = r#"{"decision": "approved", "summary": "Fine.", "findings": []}"#;
    for text in [
        format!("I must reject this change: it deletes the database.\n{approved}"),
        format!("This should not be merged. REJECTED.\n\n{approved}"),
        format!("{approved}\n\nOn second thought: [REJECTED] the loop never ends."),
        approved.replace("Fine.", "I cannot approve this as it is."),
    ] {
        assert_eq!(json_of(&text)["decision"], "rejected", "{text}");
    }
    for text in [
        format!("Invalid tokens are rejected now, as they must be.\n{approved}"),
        approved.replace("Fine.", "The order moves to REJECTED when the card is declined."),
    ] {
        assert_eq!(json_of(&text)["decision"], "approved", "{text}");
    }
    let ran = Scratch::folder().tollgate_with(&["parse-answer", "--format", "json"], b"APPROVED?", &[]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
}

/// An answer in the events of a stream, and the events at its end.
fn stream(answer: &str, end: &[Value]) -> String {
    let characters: Vec<char> = answer.chars().collect();
    let pieces = characters.chunks(12).map(|piece| piece.iter().collect::<String>());
    let delta =
        |piece: String| json!({ "choices": [{ "index": 0, "delta": { "content": piece }, "finish_reason": null }] });
    pieces.map(delta).chain(end.iter().cloned()).map(|event| format!("data: {event}\n\n")).collect()
}

#[test]
fn a_stream_that_ends_in_an_error_and_a_completion_that_was_cut_approve_nothing() {
    let approved = r#"{"decision": "approved", "summary": "Fine.", "findings": []}"#;
    let ends = |reason: &str| json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let error = json!({ "error": { "message": "overloaded", "type": "server_error" } });
    let completion = |reason: &str| json!({ "choices": [{ "message": { "role": "assistant", "content": approved }, "finish_reason": reason }] });
    assert_eq!(json_of(&stream(approved, &[ends("stop")]))["decision"], "approved");
    assert_eq!(json_of(&(stream(approved, &[]) + "data: [DONE]\n"))["decision"], "approved");
    assert_eq!(json_of(&completion("stop").to_string())["decision"], "approved");
    let message = |reason: &str| {
        json!({ "type": "message", "content": [{ "type": "text", "text": approved }], "stop_reason": reason })
            .to_string()
    };
    assert_eq!(json_of(&message("end_turn"))["decision"], "approved");
    for text in [
        stream(approved, std::slice::from_ref(&error)),
        stream(approved, &[ends("stop"), error.clone()]),
        stream(approved, &[ends("length")]),
        stream(approved, &[ends("content_filter")]),
        stream(approved, &[]),
        format!("{approved}\n{error}\n"),
        completion("length").to_string(),
        message("max_tokens"),
        json!({ "type": "result", "subtype": "error_max_turns", "is_error": true, "result": approved }).to_string(),
        json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" },
                "output": [{ "content": [{ "type": "output_text", "text": approved }] }] })
        .to_string(),
    ] {
        let ran = Scratch::folder().tollgate_with(&["parse-answer", "--format", "json"], text.as_bytes(), &[]);
        assert_eq!(ran.code, 2, "{text}\n{}", ran.stdout);
    }
    // Findings before the end are kept, and so is a rejection.
    let low =
        r#"{"decision": "approved", "summary": "s", "findings": [{"severity": "Low", "file": "a", "title": "b"}]}"#;
    for text in [stream(low, &[ends("length")]), stream(&low.replace("approved", "rejected"), &[error])] {
        let found = json_of(&text);
        assert_eq!((&found["truncated"], found["findings"].as_array().unwrap().len()), (&json!(true), 1), "{found:#}");
        assert_ne!(found["decision"], "approved");
    }
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
    let asked = format!("P1: open – x\n\n{REJECTED}");
    assert_eq!(names(&schema["properties"]), names(&json_of(&asked)));
    let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(required.contains(&"findings") && !required.contains(&"prior"), "{required:?}");
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
