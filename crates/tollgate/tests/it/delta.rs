//! `delta`, through the program.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scratch::Scratch;

const PRIOR: &str = r#"[
    {"file": "src/api.rs", "title": "Missing rate limiting", "severity": "major", "category": "security", "line": 7},
    {"file": "src/auth.rs", "title": "Hard-coded key", "severity": "Critical", "category": "Security", "line": 3},
    {"file": "src/list.rs", "summary": "Missing null check", "severity": "medium", "category": "bug", "line": 9}
]"#;
const CURRENT: &str = r#"[
    {"file": "./src/list.rs", "title": "missing NULL check.", "severity": "Medium", "category": "Logic", "line": 12},
    {"file": "src/auth.rs", "title": "SQL injection in login", "severity": "High", "category": "Security", "line": 42}
]"#;
/// Edits line 7 of `src/api.rs`.
const DIFF: &str = "diff --git a/src/api.rs b/src/api.rs\n--- a/src/api.rs\n+++ b/src/api.rs\n@@ -7 +7 @@\n-a\n+b\n";

fn scratch(prior: &str, current: &str) -> Scratch {
    let scratch = Scratch::folder();
    scratch.write("prior", prior).write("current", current).write("diff", DIFF);
    scratch
}

#[track_caller]
fn delta(scratch: &Scratch, flags: &[&str]) -> Value {
    let args = [&["delta", "--prior", "prior", "--current", "current", "--format", "json"], flags].concat();
    serde_json::from_str(&scratch.tollgate(&args).expect(0)).unwrap()
}

#[test]
fn findings_are_new_resolved_or_still_open() {
    let expected = json!({
        "template": "delta", "new": [1], "still_open": [{"current": 0, "prior": 2}], "resolved": [0, 1],
        "verdict_update": "new_blockers", "counts": {"new": 1, "still_open": 1, "resolved": 2}
    });
    assert_eq!(delta(&scratch(PRIOR, CURRENT), &[]), expected);
}

#[test]
fn with_a_diff_what_is_on_untouched_lines_is_still_open() {
    let found = delta(&scratch(PRIOR, CURRENT), &["--diff", "diff"]);
    assert_eq!(found["resolved"], json!([0]));
    assert_eq!(found["still_open"], json!([{"current": 0, "prior": 2}, {"current": null, "prior": 1}]));
    let found = delta(&scratch(PRIOR, "[]"), &["--diff", "diff"]);
    assert_eq!(found["verdict_update"], "blockers_remain");
}

#[test]
fn an_empty_diff_leaves_everything_open() {
    let scratch = scratch(PRIOR, "[]");
    scratch.write("diff", "");
    assert_eq!(delta(&scratch, &["--diff", "diff"])["counts"], json!({"new": 0, "still_open": 3, "resolved": 0}));
}

#[test]
fn renamed_files_are_followed() {
    let finding =
        |file: &str| format!(r#"[{{"file": "{file}", "title": "Bad", "severity": "High", "category": "Logic"}}]"#);
    let scratch = scratch(&finding("old.rs"), &finding("new.rs"));
    assert_eq!(delta(&scratch, &[])["verdict_update"], "new_blockers");
    assert_eq!(delta(&scratch, &["--rename", "old.rs=new.rs"])["verdict_update"], "blockers_remain");
}

#[test]
fn without_prior_findings_there_is_nothing_to_compare() {
    let found = delta(&scratch("[]", CURRENT), &[]);
    let expected = json!({
        "template": "standard", "new": [0, 1], "still_open": [], "resolved": [],
        "verdict_update": null, "counts": {"new": 2, "still_open": 0, "resolved": 0}
    });
    assert_eq!(found, expected);
}

#[test]
fn all_resolved_and_nothing_new_is_good_news() {
    assert_eq!(delta(&scratch(PRIOR, "[]"), &[])["verdict_update"], "blockers_resolved");
    let mild = r#"[{"file": "a", "title": "Bad", "severity": "Low", "category": "Logic"}]"#;
    assert_eq!(delta(&scratch(mild, "[]"), &[])["verdict_update"], "still_ready");
}

#[test]
fn reviews_of_any_format_are_compared() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", "items.forEach(async (item) => save(item));\n");
    for format in ["json", "markdown", "sarif", "rdjson", "rdjsonl"] {
        let review = scratch.tollgate(&["review", "--format", format]).expect(1);
        let found = delta(&self::scratch(&review, &review), &[]);
        assert_eq!(found["still_open"], json!([{"current": 0, "prior": 0}]), "{format}");
    }
}

#[test]
fn people_read_counts_lists_and_what_became_of_the_blockers() {
    let scratch = scratch(PRIOR, CURRENT);
    let shown = scratch.tollgate(&["delta", "--prior", "prior", "--current", "current", "--diff", "diff"]).expect(0);
    assert_snapshot!(shown, @"
    1 new, 1 resolved, 2 still open

    New
      High      src/auth.rs:42: SQL injection in login
    Resolved
      High      src/api.rs: Missing rate limiting
    Still open
      Medium    src/list.rs:12: missing NULL check.
      Critical  src/auth.rs:3: Hard-coded key (not reviewed again)

    New blockers found: Address 1 new issue(s)
    ");
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let scratch = scratch(PRIOR, CURRENT);
    scratch.write("words", "hello\n").write("nowhere", r#"[{"title": "T"}]"#);
    let refused = |args: &[&str]| scratch.tollgate(&[&["delta"], args].concat()).expect_refused(2);
    for name in ["words", "nowhere", "absent"] {
        assert!(refused(&["--prior", name, "--current", "current"]).contains(name), "{name}");
    }
    assert!(
        refused(&["--prior", "prior", "--current", "current", "--diff", "words"])
            .contains("`words` holds no unified diff")
    );
    assert!(refused(&["--prior", "prior", "--current", "current", "--rename", "a"]).contains("old=new"));
    assert!(
        refused(&["--prior", "-", "--current", "-"])
            .contains("`--prior` and `--current` cannot both read standard input")
    );
    assert!(refused(&["--prior", "prior"]).contains("--current"));
}

#[test]
fn the_json_output_matches_its_schema() {
    let scratch = scratch(PRIOR, CURRENT);
    let schema: Value = serde_json::from_str(&scratch.tollgate(&["schema", "delta"]).expect(0)).unwrap();
    let found = delta(&scratch, &["--diff", "diff"]);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&schema["properties"]), names(&found));
}
