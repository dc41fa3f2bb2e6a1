//! Answers to acceptance criteria, in every form of an answer.

use serde_json::json;
use tollgate_core::answer::{self, Answer, Asks, Form, PromptQuestions};
use tollgate_core::board::{Criterion, Met};

fn told(answer: &Answer) -> Vec<String> {
    let line = |(id, met): &(String, Met)| match met {
        Met::Yes { evidence } => format!("{id} yes: {evidence}"),
        Met::No { evidence } => format!("{id} no: {evidence}"),
        Met::Unclear { evidence } => format!("{id} unclear: {}", evidence.as_deref().unwrap_or("-")),
    };
    answer.criteria.iter().map(line).collect()
}

#[track_caller]
fn check(text: &str, n_claims: usize, expected: &[&str]) {
    let asked = ["C1", "C2"].map(|id| Criterion { id: id.to_owned(), text: "a".to_owned() });
    let answer = answer::read_asked(text, PromptQuestions { criteria: &asked, n_prior: None }).unwrap();
    assert_eq!(told(&answer), expected, "{text}");
    assert_eq!(answer.claims.len(), n_claims, "{:?}", answer.claims);
}

const BOTH: [&str; 2] = ["C1 yes: src/a.rs:3", "C2 no: nothing checks"];

#[test]
fn an_answer_in_the_schema_has_them_in_a_list() {
    let answer = json!({
        "criteria": [
            { "id": "C1", "met": "yes", "evidence": "src/a.rs:3" },
            { "id": "C2", "met": "no", "evidence": "nothing checks" },
        ],
        "decision": "rejected", "summary": "Not done.", "findings": [],
    });
    let read = answer::read_structured(&answer).unwrap();
    assert_eq!((told(&read), read.form, read.claims.len()), (BOTH.map(str::to_owned).to_vec(), Form::Structured, 0));
    assert_eq!(answer::read(&answer.to_string()).unwrap().form, Form::Structured);
    check(&format!("Here:\n```json\n{answer:#}\n```\n"), 0, &BOTH);
}

#[test]
fn json_of_other_shapes_is_understood() {
    let with = |criteria: &str| format!(r#"{{"decision": "rejected", "criteria": {criteria}, "findings": []}}"#);
    check(&with(r#"{"C1": {"met": true, "evidence": "src/a.rs:3"}, "C2": "not met: nothing checks"}"#), 0, &BOTH);
    check(
        &with(
            r#"[{"criterion": "C1", "status": "Met", "reason": "src/a.rs:3"}, {"id": "c2", "met": false, "evidence": "nothing checks"}]"#,
        ),
        0,
        &BOTH,
    );
    // Unknown ids and statuses are ignored.
    check(&with(r#"[{"id": "X1", "met": "yes", "evidence": "a"}, {"id": "C1", "met": "perhaps"}, 3]"#), 0, &[]);
}

#[test]
fn an_answer_in_words_has_a_line_for_each() {
    let text = "**[REJECTED]** - not done

### Acceptance Criteria
- C1: met – src/a.rs:3
- **C2**: not met – nothing checks

### Issues Found
- **[CODE]** - error: No check of the length
  - File: src/a.rs
  - Line: 12

### Summary
One thing is missing.
";
    check(text, 1, &BOTH);
    check(&text.replace("### Acceptance Criteria", "### Issues Found"), 1, &BOTH);
    let table = "REJECTED: not done\n\n| Criterion | Met | Evidence |\n|---|---|---|\n| C1 | yes | src/a.rs:3 |\n| C2 | no | nothing checks |\n";
    check(table, 0, &BOTH);
}

#[test]
fn findings_with_names_like_those_of_criteria_stay_findings() {
    let text = "**[REJECTED]**\n\n### Issues Found\n- C1: Incomplete - the handler\n- C7: Missing – a test\n";
    let answer = answer::read(text).unwrap();
    assert_eq!((answer.claims.len(), answer.criteria.len()), (2, 0));
    check(text, 1, &["C1 no: the handler"]);
    let finding = r#"{"id": "C1", "title": "Bug", "severity": "high", "file": "a.rs", "line": 3, "status": "failed"}"#;
    check(&format!(r#"{{"decision": "rejected", "review": {finding}, "findings": []}}"#), 1, &[]);
}

#[test]
fn lines_in_code_and_quotes_are_ignored() {
    let text = "**[REJECTED]** - see\n\n```\nC1: met – a\n```\n> C1: met – b\n<!--\nC1: met – c\n-->\n";
    check(text, 0, &[]);
}

#[test]
fn of_contradicting_answers_the_worse_counts() {
    let text = "C1: not met – really not\n\n{\"decision\": \"approved\", \"criteria\": \
                [{\"id\": \"C1\", \"met\": \"yes\", \"evidence\": \"a.rs:1\"}], \"findings\": []}";
    check(text, 0, &["C1 no: really not"]);
}

#[test]
fn a_repeated_schema_with_criteria_is_not_an_answer() {
    let schema = answer::schema(Asks { criteria: true, prior: true });
    assert!(answer::read(&schema.to_string()).is_err());
    assert!(answer::read_structured(&schema).is_err());
}
