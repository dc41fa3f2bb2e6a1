//! Claims, approvals and streams that a careless reader would drop, weaken or wave through.

use tollgate_core::answer::{self, Answer, Decision, NoAnswer};

use super::shown;

fn read(text: &str) -> Answer {
    answer::read(text).unwrap_or_else(|none| panic!("{none}: {text}"))
}

#[track_caller]
fn check(text: &str, decision: Option<Decision>, claims: &[&str]) {
    let answer = read(text);
    let found: Vec<String> = answer.claims.iter().map(shown).collect();
    assert_eq!(found, claims, "{text}");
    assert_eq!(answer.settled_decision(), decision, "{text}");
}

#[test]
fn findings_as_strings_are_read_with_severity_and_place() {
    let division = "High/Logic pay/account.go:28 division by zero";
    for line in [
        "[HIGH] pay/account.go:28 - division by zero",
        "[HIGH] pay/account.go (28): division by zero",
        "**[HIGH]** pay/account.go:28: division by zero",
        "HIGH: division by zero (pay/account.go:28)",
        "- [HIGH] pay/account.go:28 – division by zero",
    ] {
        let text = serde_json::json!({ "decision": "approved", "findings": [line] }).to_string();
        check(&text, Some(Decision::Rejected), &[division]);
    }
    let text = r#"{"decision": "approved", "problems": ["HIGH: division by zero in pay/account.go:28."]}"#;
    check(text, Some(Decision::Rejected), &["High/Logic pay/account.go:28 division by zero in pay/account.go:28."]);
    let tagged = r#"{"decision": "approved", "comments": ["[CRITICAL] pay/account.go:28 - division by zero"]}"#;
    check(tagged, Some(Decision::Rejected), &["Critical/Logic pay/account.go:28 division by zero"]);
}

#[test]
fn lists_that_are_called_critical_or_blocking_are_claims() {
    for (key, severity) in [
        ("critical_issues", "Critical"),
        ("criticalIssues", "Critical"),
        ("blocking_findings", "High"),
        ("majorProblems", "High"),
        ("must_fix_issues", "High"),
        ("high_severity_bugs", "High"),
        ("blockers", "Critical"),
    ] {
        let claim = format!("{severity}/Logic - Division by zero in Average");
        let list = format!(r#"{{"decision": "approved", "findings": [], "{key}": ["Division by zero in Average"]}}"#);
        check(&list, Some(Decision::Rejected), &[&claim]);
    }
    let sentence = r#"{"decision": "approved", "findings": [], "critical_issues": "Division by zero in Average"}"#;
    check(sentence, Some(Decision::Rejected), &["Critical/Logic - Division by zero in Average"]);
    let nested = r#"{"decision": "approved", "review": {"criticalIssues": ["Division by zero in Average"]}}"#;
    check(nested, None, &["Critical/Logic - Division by zero in Average"]);
    for none in [
        r#"{"decision": "approved", "findings": [], "critical_issues": []}"#,
        r#"{"decision": "approved", "findings": [], "critical_issues": ["None"]}"#,
        r#"{"decision": "approved", "findings": [], "critical_issues": "none"}"#,
        r#"{"decision": "approved", "findings": [], "critical_issues": 0}"#,
        r#"{"decision": "approved", "findings": [], "resolved_critical_issues": ["Division by zero"]}"#,
        r#"{"decision": "approved", "findings": [], "non_blocking_comments": ["Nice name"]}"#,
    ] {
        check(none, Some(Decision::Approved), &[]);
    }
}

#[track_caller]
fn check_severity(word: &str, expected: &str, note: &str) {
    let text = format!(r#"{{"findings": [{{"severity": {word}, "title": "Division by zero", "file": "a.go"}}]}}"#);
    let answer = read(&text);
    assert_eq!(answer.claims[0].severity.as_str(), expected, "{word}");
    let noted = answer.problems.iter().find(|problem| problem.contains("the severity"));
    assert_eq!(noted.is_some(), !note.is_empty(), "{:?}", answer.problems);
    assert!(noted.is_none_or(|noted| noted.contains(note)), "{noted:?}");
}

#[test]
fn severities_in_other_words_are_never_milder_than_they_say() {
    for word in [
        r#""High (blocking)""#,
        r#""HIGH/Security""#,
        r#""sev-1""#,
        "1",
        r#""S1""#,
        r#""9.8""#,
        r#""Medium, maybe High""#,
    ] {
        check_severity(word, "High", "is read as High");
    }
    check_severity(r#""P1""#, "High", "");
    check_severity(r#""Blocker!""#, "Critical", "");
    check_severity(r#""Catastrophic""#, "Critical", "the severity `Catastrophic` is read as Critical");
    check_severity(r#""not critical""#, "Medium", "is unknown and treated as Medium");
    check_severity(r#""banana""#, "Medium", "is unknown and treated as Medium");
}

#[test]
fn evidence_that_ends_in_an_open_bracket_is_not_truncated_json() {
    for line in [
        "P1: fixed – pay/account.go:24 if len(list) == 0 {",
        "- P1: fixed – pay/account.js:24 const rows = [{",
        "P1: fixed – pay/account.js:24 return {\"ok\": true,",
        "P1: fixed – pay/account.py:24 x = {",
    ] {
        for text in [
            format!("**[APPROVED]**\n\n{line}\n"),
            format!("{line}\nP2: fixed – a.go:3 switch {{\n\n**[APPROVED]**\n"),
            format!("**[APPROVED]**\n\n{line}\nsummary: fine\n"),
        ] {
            let answer = read(&text);
            assert_eq!((answer.settled_decision(), answer.truncated), (Some(Decision::Approved), false), "{text}");
            assert_eq!(answer.prior[0].id, "P1", "{text}");
        }
    }
    let code = "**[APPROVED]**\n\nThe guard is there now: if len(list) == 0 {";
    assert_eq!(read(code).settled_decision(), Some(Decision::Approved));
    for cut in ["**[APPROVED]**\n\n{", "**[APPROVED]**\n\nHere it is: {", "**[APPROVED]**\n\n{\"findings\": ["] {
        assert!(answer::read(cut).is_err(), "{cut}");
    }
}

fn approves(text: &str) -> bool {
    answer::read(text).is_ok_and(|answer| answer.settled_decision() == Some(Decision::Approved))
}

#[test]
fn a_stream_of_events_without_its_end_is_no_approval() {
    let approval = r#"{\"decision\":\"approved\",\"findings\":[]}"#;
    let claude = format!(
        r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"text","text":"{approval}"}}]}},"session_id":"s"}}"#
    );
    let result =
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"{approval}","session_id":"s"}}"#);
    let codex = format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{approval}"}}}}"#);
    let ollama = |done: bool| {
        format!(r#"{{"model":"m","message":{{"role":"assistant","content":"{approval}"}},"done":{done}}}"#)
    };
    for (stream, end) in [
        (claude, result),
        (codex, r#"{"type":"turn.completed","usage":{}}"#.to_owned()),
        (ollama(false), r#"{"model":"m","message":{"role":"assistant","content":""},"done":true}"#.to_owned()),
    ] {
        assert!(!approves(&stream), "{stream}");
        assert!(approves(&format!("{stream}\n{end}\n")), "{stream}\n{end}");
    }
    assert!(approves(&ollama(true)));
}

#[test]
fn the_pieces_of_a_message_are_joined_without_gaps() {
    let piece = |text: &str, done: bool| {
        format!(
            r#"{{"model":"m","message":{{"role":"assistant","content":{}}},"done":{done}}}"#,
            serde_json::json!(text)
        )
    };
    let stream = [piece("**[APPRO", false), piece("VED]**\n", false), piece("", true)].join("\n");
    assert!(approves(&stream), "{stream}");
}

#[test]
fn an_example_or_an_excuse_is_no_approval() {
    let json = "```json\n{\"decision\": \"approved\", \"findings\": []}\n```";
    assert!(approves(&format!("Here is my review:\n\n{json}")));
    for text in [
        format!("I looked at nothing. For example:\n\n{json}"),
        format!("The expected format is an object, for instance:\n{json}"),
        format!("I could not review it.\n\n{json}"),
        "I was unable to read the diff.\n\n**[APPROVED]**".to_owned(),
        "I couldn’t access the files, so:\n\nVerdict: APPROVED".to_owned(),
    ] {
        assert!(!approves(&text), "{text}");
    }
    let excuse = answer::read(&format!("I could not review it.\n\n{json}"));
    assert!(matches!(excuse, Err(NoAnswer::NotAReview(_))), "{excuse:?}");
    let finding = "I could not read the generated file.\n\n**[REJECTED]**\n\n- **[CODE]** - High: No check\n  - File: a.rs\n  - Line: 3\n";
    assert_eq!(read(finding).claims.len(), 1);
}
