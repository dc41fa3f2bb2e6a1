//! Hostile, broken and unverifiable answers of models: none of them lets a change pass, at the command line or as a check.

use serde_json::{Value, json};

use crate::fake_model::{FakeModel, answer, finding};
use crate::scratch::Scratch;

/// The change: correct code, in which neither rules nor an honest model find anything.
const CODE: &str = "export function half(n) {\n  return n / 2;\n}\n";
/// A line of it.
const LINE: &str = "return n / 2;";
/// The name of the file in all answers.
const FILE: &str = "src/a.js";

fn high(file: &str, line: u32, evidence: &str) -> Value {
    finding("High", file, line, "the result is wrong", evidence)
}

fn with(mut value: Value, key: &str, to: Value) -> Value {
    value[key] = to;
    value
}

/// Blocking claims without a usable anchor.
fn without_anchor() -> Vec<(&'static str, Value)> {
    let quoted = || high(FILE, 2, "return n / 7;");
    vec![
        ("the file is not in the change", high("src/b.js", 2, LINE)),
        ("the file is absolute and another", high("/etc/passwd", 1, LINE)),
        ("the file climbs out", high("../../etc/passwd", 1, "root")),
        ("the file has another case of another letter", high("src/\u{430}.js", 2, LINE)),
        ("the quote is empty", high(FILE, 2, "")),
        ("the quote is blank", high(FILE, 2, " \n\t ")),
        ("the quote is an empty fence", high(FILE, 2, "```js\n```")),
        ("the quote is null", with(quoted(), "evidence", Value::Null)),
        ("the quote is an ellipsis", high(FILE, 2, "…")),
        ("the quote is three dots", high(FILE, 2, "...")),
        ("the quote is n/a", high(FILE, 2, "n/a")),
        ("the quote is a number", with(quoted(), "evidence", json!(2))),
        ("the quote is a list", with(quoted(), "evidence", json!(["return n / 3;"]))),
        ("the quote is an object", with(quoted(), "evidence", json!({ "code": "return n / 3;" }))),
        ("the quote is invented", high(FILE, 2, "console.log(password)")),
        ("the quote differs in one digit", quoted()),
        ("the quote differs in the operator", high(FILE, 2, "return n * 2;")),
        ("the quote has a zero width space", high(FILE, 2, "return n /\u{200b} 2;")),
        ("the quote has Cyrillic letters", high(FILE, 2, "r\u{435}turn n / 2;")),
        ("the quote has full width digits", high(FILE, 2, "return n / \u{ff12};")),
        ("the quote is reversed by a mark", high(FILE, 2, "\u{202e}return n / 2;")),
        ("the quote is a zero width space", high(FILE, 2, "\u{200b}")),
        ("the quote is only the reason", with(quoted(), "evidence", json!("it matters"))),
        ("the title quotes code and the evidence is empty", {
            with(high(FILE, 2, ""), "title", json!("`return n / 2;` is wrong"))
        }),
        ("the line is negative and the quote is empty", with(high(FILE, 2, ""), "line_start", json!(-2))),
        ("the line is huge", with(quoted(), "line_start", json!(u64::MAX))),
        ("the line is a fraction", with(quoted(), "line_start", json!(1.5))),
        ("the line is a word", with(quoted(), "line_start", json!("two"))),
        ("the line is zero", with(quoted(), "line_start", json!(0))),
        ("the severity is a synonym", with(quoted(), "severity", json!("blocker"))),
        ("the severity is in capitals", with(quoted(), "severity", json!("CRITICAL"))),
        ("the side is the old one", with(quoted(), "side", json!("LEFT"))),
        ("the file is null", with(quoted(), "file", Value::Null)),
        ("the title is empty", with(quoted(), "title", json!(""))),
    ]
}

/// Texts that are not the answer schema.
fn texts() -> Vec<(&'static str, String)> {
    let low = finding("Low", FILE, 2, "a name could be longer", LINE).to_string();
    let clean = answer("approved", &[]);
    let many: Vec<Value> = (0..3_000).map(|n| finding("Low", FILE, 2, &format!("remark {n}"), LINE)).collect();
    let deep = format!("{}{}{}", "{\"a\":".repeat(90), high(FILE, 2, LINE), "}".repeat(90));
    vec![
        ("rejected, bare", "**[REJECTED]**".to_owned()),
        ("rejected, bare JSON", r#"{"decision": "rejected", "findings": []}"#.to_owned()),
        ("rejected with a reason", "**[REJECTED]** - it has no tests".to_owned()),
        ("rejected with a summary", answer("rejected", &[])),
        ("rejected as a flag", r#"{"approved": false, "summary": "no tests", "findings": []}"#.to_owned()),
        ("rejected as changes requested", r#"{"verdict": "REQUEST_CHANGES", "summary": "no", "findings": []}"#.to_owned()),
        ("rejected with a null list", r#"{"decision": "rejected", "summary": "no", "findings": null}"#.to_owned()),
        ("rejected with only praise", answer("rejected", &[finding("Praise", FILE, 2, "neat", LINE)])),
        ("rejected, and a mild finding without a quote", answer("rejected", &[finding("Medium", FILE, 2, "odd", "")])),
        ("rejected, a mild finding verified and one not", {
            answer("rejected", &[finding("Low", FILE, 2, "odd", LINE), finding("Medium", FILE, 2, "odder", "x = 1")])
        }),
        ("rejected in a wrapper", json!({ "result": answer("rejected", &[]) }).to_string()),
        ("rejected in two wrappers", json!({ "output": json!({ "text": answer("rejected", &[]) }).to_string() }).to_string()),
        ("rejected twice", format!("{0}\n{0}", answer("rejected", &[]))),
        ("both decisions in prose", "**[APPROVED]**\n\n**[REJECTED]**\n".to_owned()),
        ("both decisions in JSON", format!("{clean}\n{}", answer("rejected", &[]))),
        ("both decisions in one object", r#"{"decision": "approved", "approved": false, "summary": "x", "findings": []}"#.to_owned()),
        ("approval in JSON, rejection in prose", format!("**[REJECTED]**\n\n{clean}")),
        ("decision twice", r#"{"decision": "rejected", "summary": "x", "findings": [], "decision": "approved"}"#.to_owned()),
        ("approval twice", r#"{"decision": "approved", "decision": "approved", "summary": "x", "findings": []}"#.to_owned()),
        ("findings twice", format!(r#"{{"decision": "approved", "summary": "x", "findings": [{low}], "findings": []}}"#)),
        ("severity twice", format!(r#"{{"decision": "approved", "summary": "x", "findings": [{}]}}"#, low.replacen('{', "{\"severity\": \"High\", ", 1))),
        ("approval only in a code block", "```\n**[APPROVED]**\n```\n".to_owned()),
        ("approval only in a quote", "> **[APPROVED]**\n".to_owned()),
        ("approval in the middle of a line", "I would say [APPROVED].".to_owned()),
        ("approval as part of the instructions", "**[APPROVED]** - if the implementation satisfies the requirements".to_owned()),
        ("an isolated approval in JSON", r#"{"approved": true}"#.to_owned()),
        ("cut in a finding", answer("approved", &[high(FILE, 2, LINE)])[..90].to_owned()),
        ("cut before the list ends", format!(r#"{{"decision": "approved", "summary": "x", "findings": [{low},"#)),
        ("cut in the last string", format!(r#"{{"findings": [{low}], "decision": "approved", "summary": "it is fi"#)),
        ("cut before the last bracket", clean[..clean.len() - 1].to_owned()),
        ("cut after the decision", r#"{"decision": "approved","#.to_owned()),
        ("an unclosed code block", format!("```json\n{}", &clean[..clean.len() - 2])),
        ("a list that breaks", format!(r#"{{"decision": "approved", "summary": "x", "findings": [{low}, (oops), {low}]}}"#)),
        ("JSON that goes on", format!("{clean}, {low}]}}")),
        ("3,000 findings", answer("approved", &many)),
        ("3,000 findings without a decision", json!({ "findings": many }).to_string()),
        ("150 findings without a decision", json!({ "findings": many[..150] }).to_string()),
        ("a blocker 90 levels deep", format!(r#"{{"decision": "approved", "summary": "x", "findings": [{deep}]}}"#)),
        ("a blocker in wrappers of its own", {
            let claim = high(FILE, 2, "");
            json!({ "decision": "approved", "summary": "x", "findings": [{ "item": { "data": claim } }] }).to_string()
        }),
        ("findings as one text", r#"{"decision": "approved", "summary": "x", "findings": "Critical: wrong"}"#.to_owned()),
        ("findings as a number", r#"{"decision": "approved", "summary": "x", "findings": 3}"#.to_owned()),
        ("findings as numbers", r#"{"decision": "approved", "summary": "x", "findings": [1, 2]}"#.to_owned()),
        ("findings without any known field", r#"{"decision": "approved", "summary": "x", "findings": [{"zz": "wrong"}]}"#.to_owned()),
        ("runaway prose", "The change divides by two. ".repeat(4_000)),
        ("runaway brackets", "[{\"a\":".repeat(20_000)),
        ("findings as sentences", json!({ "decision": "approved", "summary": "x", "findings": ["Critical: src/a.js:2: wrong"] }).to_string().replace("approved", "rejected")),
        ("text form without a quote", "**[REJECTED]**\n\n### Issues Found\n- **[CODE]** - High: Wrong result\n  - File: src/a.js\n  - Line: 2\n".to_owned()),
        ("text form approved beside a blocker", "**[APPROVED]**\n\n### Issues Found\n- **[CODE]** - High: Wrong result\n  - File: src/a.js\n  - Line: 2\n".to_owned()),
        ("comment form without a quote", "## Observations\n\n### Critical\nsrc/a.js (2): Wrong result\n\n## Verdict\n:red_circle: **Block** -- 1 critical\n".to_owned()),
        ("an empty answer", " \n".to_owned()),
        ("a refusal", "I'm sorry, but I can't help with that.".to_owned()),
        ("an error message", r#"{"type": "error", "error": {"message": "overloaded"}}"#.to_owned()),
        ("an error after the answer", format!("{clean}\n{{\"type\": \"error\", \"error\": {{\"message\": \"overloaded\"}}}}")),
        ("a completion that was cut", json!({ "choices": [{ "message": { "content": clean }, "finish_reason": "length" }] }).to_string()),
        ("a login page", "<!doctype html><title>Sign in</title>".to_owned()),
        ("a schema instead of an answer", json!({ "type": "object", "properties": { "decision": { "type": "string" } } }).to_string()),
        ("NaN and infinity", r#"{"decision": "rejected", "summary": "x", "findings": [{"severity": "High", "file": "src/a.js", "line_start": NaN, "title": "t", "evidence": Infinity}]}"#.to_owned()),
    ]
}

/// All answers by name.
pub(crate) fn answers() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = texts().into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    for (name, claim) in without_anchor() {
        // The decision does not matter: a rejection is never silent, and an approval contradicts its blocker.
        let decision = if all.len().is_multiple_of(2) { "rejected" } else { "approved" };
        all.push((format!("{name}, {decision}"), answer(decision, &[claim])));
    }
    all
}

#[test]
fn no_hostile_answer_passes_at_the_command_line() {
    let scratch = Scratch::on_a_branch();
    scratch.write(FILE, CODE).commit("add a function");
    let answers = answers();
    assert!(answers.len() >= 77, "{}", answers.len());
    let mut passed = Vec::new();
    for (name, text) in &answers {
        let stub = FakeModel::saying(text.clone());
        scratch.configure(&stub.table("stub"));
        let ran = scratch.tollgate(&["review", "--no-store", "--reviewer", "stub", "--format", "json"]);
        let review: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        let gate = review["x_gate"].as_str().unwrap_or_default();
        if ran.code == 0 || review["verdict"] == "APPROVED" || !["partial", "closed"].contains(&gate) {
            passed.push(format!("{name}: exit {}, {}, gate {gate}", ran.code, review["verdict"]));
        }
    }
    assert!(passed.is_empty(), "{} of {} passed:\n{}", passed.len(), answers.len(), passed.join("\n"));
}

#[test]
fn an_honest_answer_passes() {
    let scratch = Scratch::on_a_branch();
    scratch.write(FILE, CODE).commit("add a function");
    let low = finding("Low", FILE, 2, "a name could be longer", LINE);
    let medium = finding("Medium", FILE, 2, "odd numbers lose a half", LINE);
    let unverified = finding("Medium", FILE, 2, "invented", "x = 1");
    for (text, verdict) in [
        (answer("approved", &[]), "APPROVED"),
        ("**[APPROVED]**\n\n### Summary\nFine.".to_owned(), "APPROVED"),
        (format!("```json\n{}\n```", answer("approved", &[])), "APPROVED"),
        (answer("approved", &[finding("Praise", FILE, 2, "neat", LINE)]), "APPROVED"),
        // The default profile lists a Low finding below its floor.
        (answer("approved", std::slice::from_ref(&low)), "APPROVED"),
        // Verified findings that do not block explain the rejection.
        (answer("rejected", &[low, medium]), "COMMENTED"),
        // A mild claim that is unverified is listed, and blocks nothing.
        (answer("approved", &[unverified]), "APPROVED"),
    ] {
        let stub = FakeModel::saying(text.clone());
        scratch.configure(&stub.table("stub"));
        let ran = scratch.tollgate(&["review", "--no-store", "--reviewer", "stub", "--format", "json"]);
        let review: Value = serde_json::from_str(&ran.expect(0)).unwrap();
        assert_eq!((&review["verdict"], &review["x_gate"]), (&json!(verdict), &json!("open")), "{text}");
    }
}

/// A text without the line breaks of the terminal.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_report_shows_an_unverified_blocker_and_an_unsettled_rejection() {
    let scratch = Scratch::on_a_branch();
    scratch.write(FILE, CODE).commit("add a function");
    let stub = FakeModel::saying(answer("rejected", &[high(FILE, 2, "")]));
    scratch.configure(&stub.table("stub"));
    for format in ["pretty", "json", "markdown", "html", "summary", "github", "junit", "sarif", "rdjson", "rdjsonl"] {
        let ran = scratch.tollgate(&["review", "--no-store", "--reviewer", "stub", "--format", format]);
        assert_eq!(ran.code, 1, "{format}: {}", ran.stderr);
        for said in
            ["the result is wrong", "it quotes no code", "says REJECTED, and no finding of it could be verified"]
        {
            assert!(in_one_line(&ran.stdout).contains(said), "{format}, {said}: {}", ran.stdout);
        }
    }
}

#[test]
fn a_change_that_rules_skip_as_a_whole_does_not_pass() {
    for (files, rule) in [
        (&[("package-lock.json", "{\"lockfileVersion\": 3}\n")][..], "generated"),
        (&[("logo.png", "\u{1}\0\u{2}")], "binary"),
        (&[("package-lock.json", "{}\n"), ("logo.png", "\u{1}\0\u{2}")], "generated, binary"),
    ] {
        let scratch = Scratch::on_a_branch();
        for (name, text) in files {
            scratch.write(name, text);
        }
        scratch.commit("add files");
        let said = in_one_line(&scratch.tollgate(&["review", "--no-store"]).expect(1));
        assert!(said.contains("Partly reviewed -- no findings; nothing was reviewed"), "{said}");
        assert!(rule.split(", ").all(|rule| said.contains(rule)), "{said}");
        assert!(said.contains("a person has to look"), "{said}");
    }
    // Without any change there is nothing to review, and that is said.
    let scratch = Scratch::on_a_branch();
    let ran = scratch.tollgate(&["review", "--no-store"]);
    assert!(ran.stderr.contains("nothing to review"), "{}", ran.stderr);
    assert_eq!(ran.code, 0);
}

#[test]
fn hunks_of_an_unsettled_answer_are_reviewed_again() {
    let scratch = Scratch::on_a_branch();
    scratch.write(FILE, CODE).commit("add a function");
    let review = |stub: &FakeModel, code: i32| {
        scratch.configure(&stub.table("stub"));
        let ran = scratch.tollgate(&["review", "--reviewer", "stub", "--since-last", "--format", "json"]);
        serde_json::from_str::<Value>(&ran.expect(code)).unwrap()
    };
    review(&FakeModel::saying(answer("rejected", &[])), 1);
    scratch.write("src/b.js", "export const b = 2;\n").commit("another file");
    let stub = FakeModel::saying(answer("rejected", &[]));
    let again = review(&stub, 1);
    assert!(stub.heard().contains(LINE), "the first file is sent again: {}", stub.heard());
    assert_eq!(again["x_gate"], "partial");
    let stub = FakeModel::saying(answer("approved", &[]));
    assert_eq!(review(&stub, 1)["x_gate"], "partial", "an approval does not say what became of the rejection");
    let prior = json!([{ "id": "P1", "state": "fixed", "evidence": "it was about another version" }]);
    let settled = json!({ "prior": prior, "decision": "approved", "summary": "fine", "findings": [] });
    let stub = FakeModel::saying(settled.to_string());
    assert_eq!(review(&stub, 0)["verdict"], "APPROVED");
    // All of it is reviewed now; what is unchanged stays approved.
    let stub = FakeModel::saying(answer("rejected", &[]));
    assert_eq!(review(&stub, 0)["verdict"], "APPROVED");
    assert_eq!(stub.asked().len(), 0);
}
