//! A model that words every finding differently the second time: it is the same finding on every surface.

use serde_json::{Value, json};

use crate::fake_github::{FakeGithub, Opening};
use crate::fake_model::{FakeModel, answer};
use crate::pulls::test_server::TestServer;
use crate::scratch::Scratch;

/// The file that the findings of the table are about.
const FILE: &str = "src/table.txt";

/// The line after each finding of the table in the second version of the file.
pub(crate) const BETWEEN: &str = "between two rows\n";

/// The findings of the table that are worded twice.
fn table() -> Vec<Value> {
    let text = include_str!("../../../tollgate-core/tests/data/rewordings.json");
    let table: Value = serde_json::from_str(text).unwrap();
    table["same"].as_array().unwrap().clone()
}

/// The file: a line for each finding of the table, and `more` after each of them.
pub(crate) fn code(more: &str) -> String {
    let lines = table().into_iter().enumerate();
    let line = |(index, row): (usize, Value)| format!("{}\nstep {index}\n{more}", row["quote"].as_str().unwrap());
    lines.map(line).collect()
}

/// A finding of the table in the words of the first or the second time.
fn worded(row: &Value, is_again: bool, line: usize) -> Value {
    let word = |key: &str| row["again"][key].as_str().filter(|_| is_again).or(row[key].as_str()).unwrap().to_owned();
    json!({
        "severity": "High", "category": word("category"), "file": FILE, "line_start": line, "line_end": line,
        "side": "RIGHT", "title": word("title"), "reason": word("reason"), "evidence": word("quote"),
        "suggestion": null, "replacement": null,
    })
}

/// A model that reports the table, in other words once it is shown the second version of the file.
pub(crate) fn model() -> FakeModel {
    FakeModel::answering(|question| {
        let is_again = question.contains(BETWEEN);
        let n_lines = if is_again { 3 } else { 2 };
        let findings = table().into_iter().enumerate();
        let findings = findings.map(|(index, row)| worded(&row, is_again, index * n_lines + 1));
        answer("REJECTED", &findings.collect::<Vec<_>>())
    })
}

#[test]
fn a_reworded_repeat_is_still_open_and_not_new() {
    let stub = model();
    let scratch = Scratch::on_a_branch();
    scratch.write(FILE, &code("")).commit("add the file");
    scratch.configure(&stub.table("stub"));
    let args = ["review", "--since-last", "--reviewer", "stub", "--format", "json"];
    let first: Value = serde_json::from_str(&scratch.tollgate(&args).expect(1)).unwrap();
    assert_eq!(first["findings"].as_array().unwrap().len(), 60, "{first:#}");

    scratch.write(FILE, &code(BETWEEN)).commit("lines between");
    let again: Value = serde_json::from_str(&scratch.tollgate(&args).expect(1)).unwrap();
    let delta = &again["x_since_last"];
    let count = |key: &str| delta[key].as_array().unwrap().len();
    assert_eq!((count("new"), count("resolved"), count("still_open")), (0, 0, 60), "{delta:#}");
    assert_eq!(again["blocking_count"]["high"], 60, "{:#}", again["blocking_count"]);
}

#[test]
fn a_reworded_repeat_on_a_pull_request_has_one_comment_and_counts_once() {
    let stub = model();
    let github = FakeGithub::start();
    let mut server = TestServer::new(&github, &format!("[review]\nreviewers = ['stub']\n{}", stub.table("stub")));
    server.launch(None);
    github.repository("octo/app", &[("README.md", "# app\n")]);
    let first = code("");
    let pull =
        github.open("octo/app", &Opening { title: "feat: table", files: &[(FILE, &first)], ..Opening::default() });
    let before = server.settled(&pull);
    let title = |seen: &crate::fake_github::Seen| {
        let check = seen.checks.iter().find(|check| check.head == seen.head).unwrap();
        check.title.clone().unwrap()
    };
    assert!(title(&before).contains("60"), "{}", title(&before));
    assert!(!before.inline.is_empty());

    pull.push("lines between", &[(FILE, &code(BETWEEN))]);
    let after = server.settled(&pull);
    assert_eq!(after.problems(), [""; 0]);
    assert_eq!(after.inline.len(), before.inline.len());
    let summary = &after.summaries[0].body;
    assert!(!summary.contains("## New Findings") && !summary.contains("## Resolved Findings"), "{summary}");
    assert!(summary.contains("60 finding(s) from the previous review remain open."), "{summary}");
    assert!(title(&after).contains("60"), "{}", title(&after));
}

#[test]
fn a_fixed_injection_and_another_one_elsewhere_are_one_resolved_and_one_new() {
    let query = |line: &str| format!("function f(db, req) {{\n  {line}\n}}\n");
    let padding = "const unrelated = 1;\n".repeat(141);
    let safe = query("return db.query(\"SELECT 1\");");
    let first = query("return eval(req.query.first);");
    let second = query("return eval(req.body.second + \";\");");
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", &format!("{first}{padding}{safe}")).commit("one");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", &format!("{safe}{padding}{second}")).commit("another");
    let report = scratch.tollgate(&["review", "--since-last"]).expect(1);
    assert!(report.contains("1 new, 1 resolved, 0 still open"), "{report}");
    assert!(report.contains("req.body.second"), "{report}");
}

#[test]
fn a_dismissal_covers_its_occurrence_in_any_words_and_no_later_copy() {
    let line = "  return eval(input);\n";
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", &format!("function run(input) {{\n{line}}}\n")).commit("one");
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "the input is ours"]).expect(0);
    let again = scratch.tollgate(&["review"]).expect(0);
    assert!(again.contains("1 finding suppressed"), "{again}");
    let copy = format!("function run(input) {{\n{line}}}\n\nfunction other(input) {{\n{line}}}\n");
    scratch.write("a.js", &copy).commit("the same line elsewhere");
    let report = scratch.tollgate(&["review"]).expect(1);
    assert!(report.contains("a.js:6") && report.contains("1 finding suppressed"), "{report}");
    assert!(report.contains("1 new, 0 resolved, 0 still open"), "{report}");
}

/// A function with a call that a rule objects to, and its harmless form.
fn evaluating(name: &str) -> String {
    format!("function {name}(input) {{\n  return eval(input);\n}}\n\n")
}

fn harmless(name: &str) -> String {
    evaluating(name).replace("eval(input)", "JSON.parse(input)")
}

const PADDING: &str = "const unrelated = 1;\n";

#[test]
fn the_same_line_in_another_function_is_another_finding_and_a_moved_function_keeps_its_own() {
    let padding = PADDING.repeat(150);
    for more in [&["--since-last"][..], &[]] {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", &format!("{}{padding}{}", evaluating("first"), harmless("second"))).commit("one");
        scratch.tollgate(&["review"]).expect(1);
        scratch.write("a.js", &format!("{}{padding}{}", harmless("first"), evaluating("second"))).commit("swap");
        let report = scratch.tollgate(&[&["review"], more].concat()).expect(1);
        assert!(report.contains("1 new, 1 resolved, 0 still open"), "{report}");
    }

    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", &format!("{}{padding}", evaluating("first"))).commit("one");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", &format!("{padding}{}", evaluating("first"))).commit("move");
    let report = scratch.tollgate(&["review", "--since-last"]).expect(1);
    assert!(report.contains("0 new, 0 resolved, 1 still open"), "{report}");
}

#[test]
fn a_dismissal_stays_in_its_function_on_every_branch() {
    let padding = PADDING.repeat(150);
    let moved = format!("{}{padding}{}", harmless("admin"), evaluating("login"));
    for how in [&[][..], &["--everywhere"], &["--shared"]] {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", &format!("{}{padding}", evaluating("admin"))).commit("one");
        scratch.tollgate(&["review"]).expect(1);
        let dismiss = ["history", "dismiss", "F001", "--reason", "only our console calls it"];
        scratch.tollgate(&[&dismiss[..], how].concat()).expect(0);
        assert!(scratch.tollgate(&["review"]).expect(0).contains("1 finding suppressed"), "{how:?}");
        scratch.write("a.js", &moved).commit("two");
        let report = scratch.tollgate(&["review", "--since-last"]).expect(1);
        assert!(report.contains("a.js:156"), "{how:?} {report}");
        // Another branch, without a prior review, has a copy beside the dismissed line.
        scratch.git(&["checkout", "-q", "-b", "other"]);
        scratch.write("a.js", &format!("{}{}", evaluating("admin"), evaluating("login"))).commit("three");
        let report = scratch.tollgate(&["review"]).expect(1);
        assert!(report.contains("a.js:6"), "{how:?} {report}");
        assert_eq!(report.contains("1 finding suppressed"), !how.is_empty(), "{how:?} {report}");
    }
}

#[test]
fn a_copy_of_a_dismissed_line_in_its_function_is_new_in_every_review() {
    let line = "  return eval(input);\n";
    for more in [&["--since-last"][..], &[]] {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", &evaluating("run")).commit("one");
        scratch.tollgate(&["review"]).expect(1);
        scratch.tollgate(&["history", "dismiss", "F001", "--reason", "the input is ours"]).expect(0);
        scratch.tollgate(&["review"]).expect(0);
        scratch.write("a.js", &evaluating("run").replace(line, &line.repeat(2))).commit("twice");
        let report = scratch.tollgate(&[&["review"], more].concat()).expect(1);
        assert!(report.contains("a.js:3") && report.contains("1 finding suppressed"), "{more:?} {report}");
        assert!(report.contains("1 new, 0 resolved, 0 still open"), "{more:?} {report}");
        // A second dismissal covers the copy as well.
        scratch.tollgate(&["history", "dismiss", "F001", "--reason", "ours as well"]).expect(0);
        scratch.write("b.js", "const b = 1;\n").commit("another file");
        let report = scratch.tollgate(&["review"]).expect(0);
        assert!(report.contains("2 findings suppressed"), "{more:?} {report}");
    }
}

#[test]
fn a_dismissal_covers_the_finding_in_other_words_and_no_other_defect_of_its_line() {
    let line = "return eval(input);";
    let report = |severity: &str, title: &str, reason: &str| {
        let mut report = crate::fake_model::finding(severity, "a.js", 3, title, line);
        report["category"] = json!("Security");
        report["reason"] = json!(reason);
        answer("REJECTED", &[report])
    };
    let same =
        report("High", "Dynamic code execution of the input", "Input that reaches eval runs with all privileges.");
    let other = |severity| report(severity, "Nobody checks the caller's role", "Every visitor may start this job.");
    for (says, code) in [(same, 0), (other("High"), 1), (other("Critical"), 1)] {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", &evaluating("run")).commit("one");
        scratch.tollgate(&["review"]).expect(1);
        scratch.tollgate(&["history", "dismiss", "F001", "--reason", "the input is ours"]).expect(0);
        scratch.write("a.js", &format!("// a note\n{}", evaluating("run"))).commit("two");
        let stub = FakeModel::saying(says.clone());
        scratch.configure(&stub.table("stub"));
        let args = ["review", "--since-last", "--reviewer", "stub"];
        let report = scratch.tollgate(&args).expect(code);
        assert!(report.contains("1 finding suppressed"), "{says} {report}");
        assert_eq!(report.contains("caller's role"), code == 1, "{report}");
    }
}

/// Five pairs of findings of two models on one line.
const PAIRS: [(&str, &str, &str); 5] = [
    ("const q = 'name=' + name;", "SQL injection through string concatenation", "Untrusted text reaches the database"),
    ("users[id].profile.load();", "Unknown id crashes the handler", "Missing check for undefined"),
    ("total = sum / count;", "Division by zero for an empty list", "Average of nothing is not defined"),
    ("cache.set(path, body);", "Tenants share one cache entry", "Cache key is too coarse"),
    ("jobs.forEach(async (job) => run(job));", "Promises are not awaited", "Failures of jobs are lost"),
];

#[test]
fn two_models_that_word_a_blocker_differently_agree_and_one_alone_is_listed_as_not_agreed() {
    let scratch = Scratch::on_a_branch();
    let code: String = PAIRS.iter().map(|(line, _, _)| format!("{line}\n")).collect();
    scratch.write("src/a.txt", &format!("{code}limit = 3\n")).commit("add");
    let said = |index: usize, title: &str| {
        crate::fake_model::finding("High", "src/a.txt", index as u32 + 1, title, PAIRS[index].0)
    };
    let one: Vec<Value> = (0..5).map(|index| said(index, PAIRS[index].1)).collect();
    let mut other: Vec<Value> = (0..5).map(|index| said(index, PAIRS[index].2)).collect();
    other.push(crate::fake_model::finding("High", "src/a.txt", 6, "Limit is too low", "limit = 3"));
    let (one, other) = (FakeModel::saying(answer("REJECTED", &one)), FakeModel::saying(answer("REJECTED", &other)));
    scratch.configure(&format!("review.consensus = 2\n{}{}", one.table("one"), other.table("other")));
    let args = ["review", "--reviewer", "one", "--reviewer", "other"];
    let review: Value =
        serde_json::from_str(&scratch.tollgate(&[&args[..], &["--format", "json"]].concat()).expect(1)).unwrap();
    let findings = review["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 5, "{review:#}");
    assert!(findings.iter().all(|finding| finding["x_reviewers"] == json!(["one", "other"])), "{review:#}");
    let report = scratch.tollgate(&args).expect(1);
    assert!(report.contains("Not agreed: 1 blocker"), "{report}");
    assert!(report.contains("Limit is too low (1 of 2 needed reviewers says so)"), "{report}");
}

#[test]
fn a_rule_and_a_model_on_one_line_are_one_finding_with_two_names() {
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.js", "function run(input) {\n  return eval(input);\n}\n").commit("add");
    let finding = crate::fake_model::finding("High", "src/a.js", 2, "User text is run", "return eval(input);");
    let stub = FakeModel::saying(answer("REJECTED", &[finding]));
    scratch.configure(&stub.table("stub"));
    let ran = scratch.tollgate(&["review", "--reviewer", "stub", "--format", "json"]);
    let review: Value = serde_json::from_str(&ran.expect(1)).unwrap();
    assert_eq!(review["findings"].as_array().unwrap().len(), 1, "{review:#}");
    assert_eq!(review["findings"][0]["x_reviewers"], json!(["rules", "stub"]), "{review:#}");
}

#[test]
fn blockers_of_two_models_about_one_quote_are_kept_whatever_they_are_called() {
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.txt", "total = sum / count;\n").commit("add");
    let said = |severity: &str, category: &str, title: &str| {
        let mut said = crate::fake_model::finding(severity, "src/a.txt", 1, title, "total = sum / count;");
        said["category"] = json!(category);
        FakeModel::saying(answer(if severity == "High" { "REJECTED" } else { "APPROVED" }, &[said]))
    };
    let one = said("High", "Logic", "Division by zero when the list is empty");
    for (severity, category, code) in [("High", "Error", 1), ("High", "Style", 0), ("Low", "Error", 0)] {
        let other = said(severity, category, "Missing empty-input check leads to a runtime panic");
        scratch.configure(&format!("review.consensus = 2\n{}{}", one.table("one"), other.table("other")));
        let args = ["review", "--no-store", "--reviewer", "one", "--reviewer", "other"];
        let report = scratch.tollgate(&args).expect(code);
        assert!(report.contains("Division by zero"), "{report}");
        assert_eq!(report.contains("Not agreed"), code == 0, "{severity} {category} {report}");
    }
}
