//! Reviews that know of earlier ones, on real repositories and a real file, through the program.

use serde_json::Value;

use crate::scratch::{Ran, Scratch};

/// Two functions, so that a diff between them has unchanged lines around it.
const RUN: &str = "function run(input) {\n  return eval(input);\n}\n";
const SAFE: &str = "function run(input) {\n  return JSON.parse(input);\n}\n";
const SHELL: &str = "const { exec } = require(\"child_process\");\n\
                     function list(req) {\n  exec(\"ls \" + req.query.dir);\n}\n";

/// A thousand of these make a change large enough that files are left out which the last review knows.
const LONG: &str = "nothing to say of this line\n";

/// The heading of a comment and its sections.
fn sections(comment: &str) -> Vec<&str> {
    comment.lines().filter(|line| line.starts_with("## ") || line.starts_with(":")).collect()
}

#[track_caller]
fn check_summary(scratch: &Scratch, code: i32, expected: &[&str]) {
    let ran = scratch.tollgate(&["review", "--format", "summary"]);
    let comment = ran.expect(code);
    assert_eq!(sections(&comment), expected, "\n{comment}");
    let checked = scratch.tollgate_with(&["check-comment", "-"], comment.as_bytes(), &[]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
}

#[test]
fn a_re_review_says_how_much_is_new() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add a file");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("b.js", "const a = 1;\nconst b = 2;\n").commit("another");
    let comment = scratch.tollgate(&["review", "--format", "summary"]).expect(1);
    assert!(comment.contains("\n2 lines added since "), "{comment}");
    assert!(comment.contains("## What Changed\nAnother.\n"), "{comment}");
    scratch.git(&["commit", "-q", "--amend", "-m", "other words"]);
    let comment = scratch.tollgate(&["review", "--format", "summary"]).expect(1);
    assert!(comment.contains("No line of the change is new since "), "{comment}");
    scratch.git(&["rm", "-q", "a.js", "b.js"]);
    scratch.commit("take it all back");
    let comment = scratch.tollgate(&["review", "--format", "summary"]).expect(0);
    assert!(comment.contains("\nThe change is empty: nothing differs from its base.\n"), "{comment}");
}

#[test]
fn the_summary_says_what_the_change_is_for_and_whether_a_fix_has_a_test() {
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.js", RUN).commit("fix: read the text");
    let title = "fix(parse): read the text once";
    let summary = || scratch.tollgate(&["review", "--no-store", "--format", "summary", "--title", title]).expect(1);
    let without = summary();
    assert!(without.contains("## What Changed\nRead the text once. Read the text.\n\n1 file changed, "), "{without}");
    assert!(without.contains("\n- Tests: the fix changes no test\n"), "{without}");
    assert!(!without.contains("## Strengths"), "{without}");
    scratch.write("tests/a.test.js", SAFE).commit("test: the text");
    let with = summary();
    assert!(with.contains("## Strengths\n- :white_check_mark: Tests changed with the code\n"), "{with}");
    assert!(with.contains("\n- Tests: tests changed with the fix\n"), "{with}");
}

#[test]
fn every_surface_of_one_review_has_the_same_verdict_line() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).write("b.js", SHELL).commit("add two files");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", SAFE).commit("mend one");
    let line = "Blockers remain -- 1 blocking issue(s) still open";
    let summary = scratch.tollgate(&["review", "--format", "summary"]).expect(1);
    assert!(summary.contains(":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open\n"), "{summary}");
    let shown = scratch.tollgate(&["review"]).expect(1);
    assert!(shown.contains(&format!("✖ {line}\n")) || shown.contains(&format!("x {line}\n")), "{shown}");
    let page = scratch.tollgate(&["review", "--format", "html"]).expect(1);
    assert!(page.contains("</span> Blockers remain</h2>\n<p>1 blocking issue(s) still open</p>"), "{page}");
    let history = scratch.tollgate(&["history", "--limit", "1"]).expect(0);
    assert!(history.contains("Blockers remain  1 blocking issue(s) still open"), "{history}");
    let stored = scratch.tollgate(&["history", "show"]).expect(0);
    assert!(stored.contains(line), "{stored}");
}

fn head(scratch: &Scratch) -> String {
    scratch.git(&["rev-parse", "HEAD"])[..7].to_owned()
}

#[test]
fn review_commit_review_rebase_review() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).write("b.js", SHELL).commit("add two files");
    check_summary(
        &scratch,
        1,
        &[
            "## What Changed",
            "## Observations",
            "## Verdict",
            ":red_circle: **Block** -- 1 critical and 1 major finding must be fixed before merging",
        ],
    );

    // One is mended, one is not touched.
    let first = head(&scratch);
    scratch.write("a.js", SAFE).commit("parse it");
    let heading = format!("## Re-review -- Changes since {first}");
    let mended = ":white_check_mark: [MAJOR] a.js: dynamic code execution -- resolved";
    let remain = ":yellow_circle: **Blockers remain** -- 1 blocking issue(s) still open";
    let again =
        [&heading, "## What Changed", "## Resolved Findings", mended, "## Still Open", "## Verdict Update", remain];
    check_summary(&scratch, 1, &again);
    // Said again, it says the same.
    check_summary(&scratch, 1, &again);

    // The main branch moves on in the same file, and the branch is put on top of that.
    let second = head(&scratch);
    scratch.git(&["switch", "-q", "main"]);
    scratch.write("c.js", "const unrelated = 1;\n".repeat(30).as_str()).commit("somebody else's work");
    scratch.git(&["switch", "-q", "work"]);
    scratch.git(&["rebase", "-q", "main"]);
    assert_ne!(head(&scratch), second);
    let heading = format!("## Re-review -- Changes since {second}");
    check_summary(&scratch, 1, &[&heading, "## What Changed", "## Still Open", "## Verdict Update", remain]);

    // The last one is mended, too.
    let third = head(&scratch);
    scratch
        .write("b.js", &SHELL.replace("exec(\"ls \" + req.query.dir)", "readdir(\".\", req.done)"))
        .commit("no shell");
    let heading = format!("## Re-review -- Changes since {third}");
    let mended = ":white_check_mark: [CRITICAL] b.js: command injection: request data in a shell command -- resolved";
    let green = ":green_circle: **Blockers resolved** -- Ready to merge";
    check_summary(
        &scratch,
        0,
        &[&heading, "## What Changed", "## Resolved Findings", mended, "## Verdict Update", green],
    );
}

/// What a review since the last one says, in its last lines.
fn since_last(scratch: &Scratch) -> String {
    let ran = scratch.tollgate(&["review", "--since-last"]);
    assert!(ran.code < 2, "{}", ran.stderr);
    let lines: Vec<&str> =
        ran.stdout.lines().filter(|line| line.starts_with("  Since") || line.contains("hunk")).collect();
    lines.join("\n").trim().replace(&head_of(&ran), "HEAD")
}

fn head_of(ran: &Ran) -> String {
    let since = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("Since the review of "));
    since.map_or_else(|| "none".to_owned(), |rest| rest[..7].to_owned())
}

#[test]
fn only_what_changed_since_the_last_review_is_looked_at() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).write("b.js", SHELL).commit("add two files");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("d.js", RUN).commit("another");
    insta::assert_snapshot!(since_last(&scratch), @"
    Since the review of HEAD: 1 new, 0 resolved, 2 still open
      Coverage: 1 of 3 hunks in 1 file, 2 unchanged since the review of HEAD
    ");
    // Amending only the message changes nothing.
    scratch.git(&["commit", "-q", "--amend", "-m", "another file"]);
    insta::assert_snapshot!(since_last(&scratch), @"
    Since the review of HEAD: 0 new, 0 resolved, 3 still open
      Coverage: 0 of 3 hunks in 0 files, 3 unchanged since the review of HEAD
    ");
    // A renamed file keeps its finding; a deleted one resolves it.
    scratch.git(&["mv", "a.js", "renamed.js"]);
    scratch.git(&["rm", "-q", "b.js"]);
    scratch.commit("tidy");
    insta::assert_snapshot!(since_last(&scratch), @"
    Since the review of HEAD: 0 new, 1 resolved, 2 still open
      Coverage: 0 of 2 hunks in 0 files, 2 unchanged since the review of HEAD
    ");
}

#[test]
fn uncommitted_work_is_followed_like_commits() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN);
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", &format!("// moved down\n\n{RUN}"));
    insta::assert_snapshot!(since_last(&scratch), @"
    Since the review of HEAD: 0 new, 0 resolved, 1 still open
      Coverage: complete (1 hunk in 1 file)
    ");
    let stored = scratch.tollgate(&["history", "show", "--format", "json"]).expect(0);
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["findings"][0]["location"]["line_start"], 4, "{stored:#}");
}

#[test]
fn without_an_earlier_review_everything_is_looked_at_and_that_is_said() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    let ran = scratch.tollgate(&["review", "--since-last"]);
    assert!(ran.stderr.contains("there is no earlier review to compare with, so all of the change was reviewed"));
    assert!(ran.stdout.contains("Coverage: complete"), "{}", ran.stdout);
    // The same state again: nothing is new.
    let again = scratch.tollgate(&["review", "--since-last"]);
    assert!(again.stdout.contains("0 new, 0 resolved, 1 still open"), "{}", again.stdout);
}

#[test]
fn findings_of_other_tools_stay_open_until_their_lines_change() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.txt", "one\ntwo\nthree\n").commit("add");
    let found = r#"[{"id": "F001", "severity": "High", "category": "Logic", "location": {"file": "a.txt", "line_start": 2},
        "summary": "two is wrong", "reason": "it should be four", "evidence": "two", "x_reviewer": "other"}]"#;
    scratch.tollgate_with(&["review", "--with", "-"], found.as_bytes(), &[]).expect(1);
    // It was not reviewed again: it is still open, two lines further down.
    scratch.write("a.txt", "zero\nhalf\none\ntwo\nthree\n").commit("more");
    let report = scratch.tollgate(&["review"]).expect(1);
    assert!(report.contains("a.txt:4") && report.contains("0 new, 0 resolved, 1 still open"), "{report}");
    // The other tool looked again and is silent.
    let report = scratch.tollgate_with(&["review", "--with", "-"], found.replace("two", "2").as_bytes(), &[]);
    assert!(report.stdout.contains("1 resolved"), "{}", report.stdout);
    scratch.write("a.txt", "zero\nhalf\none\nfour\nthree\n").commit("mended");
    let report = scratch.tollgate(&["review", "--no-store"]).expect(0);
    assert!(!report.contains("Since the review"), "{report}");
}

#[test]
fn a_second_review_of_the_same_files_answers_from_memory_and_says_the_same() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).write("b.js", SHELL).commit("add");
    let first = scratch.tollgate(&["review", "--format", "json"]).expect(1);
    let second = scratch.tollgate(&["review", "--format", "json"]).expect(1);
    let without = scratch.tollgate(&["review", "--format", "json", "--no-store"]).expect(1);
    assert_eq!(first, second);
    assert_eq!(first, without);
    // Another configuration asks other questions.
    scratch.write(".tollgate.toml", "[rules]\ndisable = ['js-*']\n[paths]\nexclude = ['.tollgate.toml']\n");
    let other = scratch.tollgate(&["review", "--format", "json", "--no-store"]).expect(0);
    let other: Value = serde_json::from_str(&other).unwrap();
    assert_eq!(other["findings"], serde_json::json!([]));
}

/// Checks that a review goes on without a store, reports that, and leaves the file alone.
#[track_caller]
fn check_unavailable(prepare: impl FnOnce(&Scratch), problem: &str) {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    std::fs::create_dir_all(scratch.store().parent().unwrap()).unwrap();
    prepare(&scratch);
    let before = std::fs::read(scratch.store()).ok();
    let ran = scratch.tollgate(&["review"]);
    assert!(ran.stdout.contains("Needs changes -- 1 major finding must be fixed before merging"), "{}", ran.stdout);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("past reviews are not available") && ran.stderr.contains(problem), "{}", ran.stderr);
    assert_eq!(std::fs::read(scratch.store()).ok(), before, "the file was changed");
    // A command that is about nothing else fails.
    let listed = scratch.tollgate(&["history"]);
    assert_eq!(listed.code, 3, "{}", listed.stderr);
    assert!(listed.stderr.contains(problem) && listed.stderr.contains("hint:"), "{}", listed.stderr);
}

#[test]
fn a_file_of_another_program_is_not_touched() {
    check_unavailable(
        |scratch| std::fs::write(scratch.store(), "not a database, but long enough to be one".repeat(99)).unwrap(),
        "is not a memory of tollgate",
    );
}

#[test]
fn a_folder_in_the_way_is_said() {
    check_unavailable(|scratch| std::fs::create_dir_all(scratch.store()).unwrap(), "cannot be used");
}

#[test]
fn a_memory_of_a_newer_version_is_not_touched() {
    check_unavailable(
        |scratch| {
            scratch.tollgate(&["review", "--staged"]).expect(0);
            let mut bytes = std::fs::read(scratch.store()).unwrap();
            // The version of the schema stands at byte 60 of the file.
            bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
            std::fs::write(scratch.store(), bytes).unwrap();
        },
        "comes from a newer tollgate",
    );
}

#[test]
fn a_damaged_memory_is_not_touched() {
    check_unavailable(
        |scratch| {
            scratch.tollgate(&["review"]).expect(1);
            let mut bytes = std::fs::read(scratch.store()).unwrap();
            bytes[4096..].fill(0xff);
            std::fs::write(scratch.store(), bytes).unwrap();
        },
        "is damaged",
    );
}

#[test]
fn past_reviews_are_listed_shown_compared_and_exported() {
    let scratch = Scratch::on_a_branch();
    let empty = scratch.tollgate(&["history"]);
    assert!(empty.stderr.contains("no reviews yet"), "{}", empty.stderr);
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", SAFE).commit("mend");
    scratch.tollgate(&["review"]).expect(0);

    let listed = scratch.tollgate(&["history"]).expect(0);
    let listed: Vec<String> = listed.lines().map(|line| [&line[..1], &line[28..]].concat()).collect();
    assert_eq!(
        listed,
        [
            "2  branch work  Blockers resolved  Ready to merge",
            "1  branch work  Needs changes      1 major finding must be fixed before merging"
        ]
    );
    let none = scratch.tollgate(&["history", "list", "--branch", "none"]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no reviews of `none`\n"));
    assert!(scratch.tollgate(&["history", "--limit", "1", "--all"]).expect(0).starts_with('2'));
    assert!(scratch.tollgate(&["history", "--all", "show", "1"]).expect_refused(2).contains("after the subcommand"));

    let report = scratch.tollgate(&["history", "show", "1"]).expect(0);
    assert!(report.contains("dynamic code execution"), "{report}");
    let stored: Value =
        serde_json::from_str(&scratch.tollgate(&["history", "show", "1", "--format", "json"]).expect(0)).unwrap();
    assert_eq!(stored["verdict"], "CHANGES_REQUESTED");
    let compared = scratch.tollgate(&["history", "compare", "1", "2"]).expect(0);
    assert!(compared.starts_with("0 new, 1 resolved, 0 still open\n"), "{compared}");

    let exported = scratch.tollgate(&["history", "export"]).expect(0);
    let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let runs: Vec<(&Value, &Value)> = exported.iter().map(|run| (&run["run"], &run["review"]["verdict"])).collect();
    assert_eq!(runs, [(&1.into(), &"CHANGES_REQUESTED".into()), (&2.into(), &"APPROVED".into())]);

    let refused = scratch.tollgate(&["history", "show", "9"]).expect_refused(2);
    assert!(refused.contains("no such review: 9"), "{refused}");
}

#[test]
fn the_comment_says_when_past_reviews_are_not_available() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    let store = scratch.path().join("folder");
    std::fs::create_dir(&store).unwrap();
    let store = store.to_str().unwrap();
    let comment = scratch.tollgate(&["review", "--store", store, "--format", "summary"]).expect(1);
    let (_, figures) = comment.split_once("<summary>Review Details").unwrap();
    assert!(figures.contains("\n- past reviews are not available: "), "{comment}");
    let args = ["review", "--no-store", "--title", "[strict-reveiw] [WIP] x", "--format", "summary"];
    let comment = scratch.tollgate(&args).expect(1);
    assert_eq!(comment.matches("did you mean [strict-review]?").count(), 1, "{comment}");
    assert_eq!(comment.matches("early feedback because of").count(), 1, "{comment}");
}

#[test]
fn a_report_for_a_folder_that_is_not_there_is_refused() {
    let scratch = Scratch::on_a_branch();
    let refused = scratch.tollgate(&["history", "export", "-o", "nowhere/out.jsonl"]).expect_refused(3);
    assert!(refused.ends_with("out.jsonl`: there is no such folder\n"), "{refused}");
}

#[test]
fn looking_something_up_makes_no_memory() {
    let scratch = Scratch::on_a_branch();
    let store = scratch.path().join("folder/reviews.db");
    let store = store.to_str().unwrap();
    for command in [&["list"][..], &["export"], &["dismissals"]] {
        assert_eq!(scratch.tollgate(&[&["history", "--store", store], command].concat()).expect(0), "");
    }
    scratch.tollgate(&["history", "--store", store, "show"]).expect_refused(2);
    assert!(!scratch.path().join("folder").exists());
}

#[test]
fn a_stored_review_says_when_it_no_longer_speaks_for_the_change() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    let outdated = || {
        let shown = scratch.tollgate(&["history", "show", "1", "--format", "json"]).expect(0);
        serde_json::from_str::<Value>(&shown).unwrap()["re_review_required"].clone()
    };
    assert_eq!(outdated(), false);
    scratch.write("a.js", &format!("{RUN}// one more line\n")).commit("a little");
    scratch.tollgate(&["review"]).expect(1);
    assert_eq!(outdated(), false);
    scratch.write("another.js", "const a = 1;\n").commit("another file");
    scratch.tollgate(&["review"]).expect(1);
    assert_eq!(outdated(), true);
}

#[test]
fn a_dismissed_finding_is_not_heard_again_while_its_code_is_the_same() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    let refused = scratch.tollgate(&["history", "dismiss", "F001", "--reason", " "]).expect_refused(2);
    assert!(refused.contains("a dismissal needs a reason"), "{refused}");
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "it is a calculator"]).expect(0);
    let report = scratch.tollgate(&["review", "--verbose"]).expect(0);
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("suppressed by a dismissal by ada: it is a calculator"), "{report}");
    let listed = scratch.tollgate(&["history", "--limit", "1"]).expect(0);
    assert!(listed.contains("1 blocking finding suppressed by a dismissal by ada: it is a calculator"), "{listed}");

    // The lines move: still dismissed. The code changes: heard again.
    scratch.write("a.js", &format!("\n\n{RUN}")).commit("move");
    scratch.tollgate(&["review"]).expect(0);
    scratch.write("a.js", &RUN.replace("eval(input)", "eval(input + \"\")")).commit("change");
    let ran = scratch.tollgate(&["review"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stderr.contains("no longer applies because the code changed"), "{}", ran.stderr);

    let listed = scratch.tollgate(&["history", "dismissals"]).expect(0);
    let print = listed.split_whitespace().next().unwrap();
    scratch.tollgate(&["history", "undismiss", print]).expect(0);
    assert_eq!(scratch.tollgate(&["history", "dismissals"]).expect(0), "");
}

#[test]
fn a_dismissal_holds_for_its_branch_unless_it_says_everywhere() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "it is a calculator"]).expect(0);
    scratch.tollgate(&["review"]).expect(0);
    scratch.git(&["switch", "-q", "-c", "other"]);
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "it is a calculator", "--everywhere"]).expect(0);
    for branch in ["other", "work"] {
        scratch.git(&["switch", "-q", branch]);
        scratch.tollgate(&["review"]).expect(0);
    }
    scratch.git(&["switch", "-q", "-c", "third"]);
    let shown: Value = serde_json::from_str(&scratch.tollgate(&["review", "--format", "json"]).expect(0)).unwrap();
    let held = &shown["x_withheld"][0];
    assert_eq!(
        (&held["kind"], &held["who"], &held["scope"]),
        (&"dismissal".into(), &"ada".into(), &"repository".into())
    );
    assert_eq!(held["by"], "a dismissal by ada for the whole repository");
}

#[test]
fn an_agent_at_the_command_line_only_proposes_a_dismissal() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    let dismiss = ["history", "dismiss", "F001", "--reason", "not real"];
    for (variable, value) in [("TOLLGATE_AGENT", "1"), ("CLAUDECODE", "1"), ("GEMINI_CLI", "1")] {
        let ran = scratch.tollgate_with(&dismiss, b"", &[(variable, value)]);
        assert!(ran.code == 0 && ran.stderr.contains("the finding counts until a person confirms"), "{}", ran.stderr);
        scratch.tollgate(&["review"]).expect(1);
    }
    for args in [
        &["history", "dismiss", "F001", "--reason", "it is ours", "--shared"][..],
        &["history", "confirm", "fp-0000000000000000"],
    ] {
        let ran = scratch.tollgate_with(args, b"", &[("TOLLGATE_AGENT", "1")]);
        assert!(ran.code == 2 && ran.stderr.contains("an agent cannot "), "{}", ran.stderr);
    }
    let listed = scratch.tollgate(&["history", "dismissals"]).expect(0);
    assert!(listed.contains("  proposed by an agent of the board on branch work, not confirmed: not real"), "{listed}");
    let print = listed.split_whitespace().next().unwrap();
    // A person rejects it, and later confirms another.
    scratch.tollgate(&["history", "undismiss", print]).expect(0);
    assert_eq!(scratch.tollgate(&["history", "dismissals"]).expect(0), "");
    scratch.tollgate_with(&dismiss, b"", &[("TOLLGATE_AGENT", "1")]).expect(0);
    scratch.tollgate(&["history", "confirm", print]).expect(0);
    let report = scratch.tollgate(&["review", "--verbose"]).expect(0);
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("a dismissal by ada, proposed by an agent of the board: not real"), "{report}");
}

#[test]
fn a_team_shares_dismissals_in_the_repository_and_they_are_reviewed_like_code() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "it is a calculator", "--shared"]).expect(0);
    insta::assert_snapshot!(scratch.read(".tollgate/dismissals.toml"), @r#"
    # Findings that were looked at and are not to be heard again while their evidence is the same.
    # Written by `tollgate history dismiss --shared`; review changes to it like code.

    [[dismissal]]
    file = "a.js"
    title = "dynamic code execution"
    evidence = "  return eval(input);"
    function = "run"
    severity = "High"
    reason = "it is a calculator"
    "#);
    let words = |report: String| report.split_whitespace().collect::<Vec<_>>().join(" ");
    // The person's own dismissal counts at once; the entry of the branch is a proposal to the team.
    let report = words(scratch.tollgate(&["review", "--verbose"]).expect(0));
    assert!(report.contains("a dismissal by ada for the whole repository: it is a calculator"), "{report}");
    assert!(report.contains("review-config-weakened at .tollgate/dismissals.toml"), "{report}");
    let ran = scratch.tollgate(&["review", "--verbose", "--no-store"]);
    let noted = ran.stderr.clone();
    let report = words(ran.expect(1) + noted.as_str());
    let proposes =
        "the branch proposes in `.tollgate/dismissals.toml` to dismiss `dynamic code execution` in a.js: it is a";
    assert!(report.contains(proposes) && !report.contains("suppressed"), "{report}");
    let report = words(scratch.tollgate(&["review", "--verbose", "--no-store", "--trust-branch-config"]).expect(0));
    assert!(report.contains("suppressed by .tollgate/dismissals.toml: it is a calculator"), "{report}");
    // Once the base has it, it counts.
    let entries = scratch.read(".tollgate/dismissals.toml");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.write(".tollgate/dismissals.toml", &entries).commit("dismiss");
    scratch.git(&["checkout", "-q", "-B", "work"]);
    scratch.write("a.js", RUN).commit("add again");
    let report = words(scratch.tollgate(&["review", "--verbose", "--no-store"]).expect(0));
    assert!(report.contains("suppressed by .tollgate/dismissals.toml: it is a calculator"), "{report}");
    scratch.write(".tollgate/dismissals.toml", "[[dismissal]]\nfile = 'a.js'\n");
    let refused = scratch.tollgate(&["review"]).expect_refused(2);
    assert!(refused.contains(".tollgate/dismissals.toml: "), "{refused}");
}

#[test]
fn a_rule_about_the_whole_change_sees_what_was_pushed_before() {
    let scratch = Scratch::empty();
    scratch.write("src/cart.py", "def total(items):\n    return 0\n");
    scratch.write("tests/test_cart.py", "def test_total():\n    assert True\n").commit("start");
    scratch.git(&["switch", "-q", "-c", "work"]);
    let fixed =
        "def total(items):\n    if not items:\n        return 0\n    return sum(item.price for item in items)\n";
    scratch.write("long.txt", &LONG.repeat(1_000));
    scratch.write("tests/test_cart.py", "def test_total():\n    assert total([]) == 0\n").commit("test: the total");
    scratch.tollgate(&["review"]).expect(0);
    scratch.write("src/cart.py", fixed).commit("fix: the total");
    let rules = |scratch: &Scratch| {
        let ran = scratch.tollgate(&[
            "review",
            "--since-last",
            "--profile",
            "strict",
            "--format",
            "json",
            "--title",
            "fix: x",
        ]);
        let review: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        let found = review["findings"].as_array().unwrap().iter();
        found.filter_map(|finding| Some(finding["x_rule"].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    // The test came with the first push, and the second is not blamed for having none.
    assert_eq!(rules(&scratch), Vec::<String>::new());
    scratch.git(&["reset", "-q", "--hard", "main"]);
    scratch.write("notes.txt", &LONG.repeat(1_000)).commit("notes");
    scratch.tollgate(&["review"]).expect(0);
    scratch.write("src/cart.py", fixed).commit("fix: the total");
    assert_eq!(rules(&scratch), ["fix-without-test"]);
}

#[test]
fn a_review_of_what_changed_is_stored_as_a_review_of_the_whole_change() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).write("b.js", SHELL).write("long.txt", &LONG.repeat(1_000)).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("c.js", RUN).commit("more");
    let ran = scratch.tollgate(&["review", "--since-last"]);
    // Only the new hunks were scanned.
    assert!(ran.stdout.contains("1 file changed, 3 lines added"), "{}", ran.stdout);
    scratch.tollgate(&["review"]).expect(1);
    let exported = scratch.tollgate(&["history", "export"]).expect(0);
    let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [_, since, whole] = &exported[..] else { panic!("{exported:#?}") };
    assert_eq!(since["lines_added"], whole["lines_added"]);
    assert_eq!(since["review"]["findings"], whole["review"]["findings"]);
    assert_eq!(since["verdict"], whole["verdict"]);
    assert_eq!(since["coverage"], serde_json::json!({ "reviewed": 1, "skipped": 3, "not_reviewed": 0 }));
    assert_eq!(
        scratch.tollgate(&["history", "compare", "2", "3"]).expect(0).lines().next(),
        Some("0 new, 0 resolved, 3 still open")
    );
}

#[test]
fn the_same_mistake_elsewhere_in_a_file_does_not_hide_the_one_that_nobody_looked_at_again() {
    let function =
        |name: &str, more: &str| format!("function {name}(req) {{\n  exec(\"ls \" + req.query.dir{more});\n}}\n");
    let first = format!("const {{ exec }} = require(\"child_process\");\n{}", function("f", ""));
    let scratch = Scratch::on_a_branch();
    scratch.write("b.js", &first).commit("one");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("b.js", &format!("{first}{}", function("g", "2"))).commit("two");
    let review = scratch.tollgate(&["review", "--since-last", "--format", "json"]).expect(1);
    let review: Value = serde_json::from_str(&review).unwrap();
    let since = &review["x_since_last"];
    assert_eq!((&since["new"], &since["still_open"]), (&serde_json::json!(["F002"]), &serde_json::json!(["F001"])));
    assert_eq!((&since["verdict_update"], &since["held_back"]), (&"new_blockers".into(), &0.into()));
    scratch.write("b.js", &first).commit("one again");
    let review = scratch.tollgate(&["review", "--since-last", "--format", "json"]).expect(1);
    let review: Value = serde_json::from_str(&review).unwrap();
    let since = &review["x_since_last"];
    assert_eq!((&since["new"], &since["still_open"]), (&serde_json::json!([]), &serde_json::json!(["F001"])));
    assert_eq!(since["resolved"].as_array().map(Vec::len), Some(1), "{since:#}");
    assert_eq!(since["verdict_update"], "blockers_remain");
}

#[test]
fn a_dismissal_follows_its_file_to_a_new_path() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "it is a calculator"]).expect(0);
    for (from, to) in [("a.js", "b.js"), ("b.js", "calculator.js")] {
        scratch.git(&["mv", from, to]);
        scratch.commit("rename");
        scratch.tollgate(&["review"]).expect(0);
    }
    // Taken back, it is heard again wherever it is.
    let listed = scratch.tollgate(&["history", "dismissals"]).expect(0);
    scratch.tollgate(&["history", "undismiss", listed.split_whitespace().next().unwrap()]).expect(0);
    scratch.tollgate(&["review"]).expect(1);
}

#[test]
fn a_failed_review_is_not_stored_as_a_review() {
    let scratch = Scratch::on_a_branch();
    scratch.tollgate(&["review", "none..HEAD"]).expect_refused(2);
    scratch.tollgate(&["review"]).expect(0);
    assert_eq!(scratch.tollgate(&["history"]).expect(0), "");
}

#[test]
fn a_line_that_is_taken_away_makes_no_other_line_new() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", &format!("const one = 1;\nconst two = 2;\n{RUN}")).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.write("a.js", &format!("const one = 1;\n{RUN}")).commit("less");
    let comment = scratch.tollgate(&["review", "--format", "summary"]).expect(1);
    assert!(comment.contains("\n1 line removed since "), "{comment}");
    scratch.write("a.js", &format!("const three = 3;\nconst four = 4;\n{RUN}")).commit("other");
    let comment = scratch.tollgate(&["review", "--format", "summary"]).expect(1);
    assert!(comment.contains("\n2 lines added and 1 removed since "), "{comment}");
}

#[test]
fn a_range_that_ends_at_the_current_branch_belongs_to_it() {
    let scratch = Scratch::on_a_branch();
    let head = scratch.write("a.js", RUN).commit("add");
    for range in ["main..HEAD", &format!("main...{head}"), "main..work"] {
        scratch.tollgate(&["review", range]).expect(1);
    }
    scratch.git(&["branch", "-q", "other", "main"]);
    scratch.tollgate(&["review", "work..other"]).expect(0);
    let runs: Value = serde_json::from_str(&scratch.tollgate(&["history", "--format", "json"]).expect(0)).unwrap();
    let subjects: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["branch other", "branch work", "branch work", "branch work"]);
}

#[test]
fn imported_findings_on_unchanged_files_count_since_the_last_review_too() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.txt", "one\ntwo\n").write("long.txt", &LONG.repeat(1_000)).commit("add");
    let found = r#"[{"id": "F001", "severity": "High", "category": "Logic", "location": {"file": "a.txt", "line_start": 2},
        "summary": "two is wrong", "reason": "it should be four", "evidence": "two", "x_reviewer": "other"}]"#;
    scratch.tollgate_with(&["review", "--with", "-"], found.as_bytes(), &[]).expect(1);
    scratch.write("b.txt", "more\n").commit("more");
    let report = scratch.tollgate_with(&["review", "--since-last", "--with", "-"], found.as_bytes(), &[]).expect(1);
    assert!(report.contains("0 new, 0 resolved, 1 still open"), "{report}");
}

#[test]
fn a_setting_that_switches_a_rule_or_a_file_off_resolves_no_finding() {
    for config in ["[rules]\ndisable = ['js-*']\n", "[paths]\nexclude = ['a.js']\n"] {
        let scratch = Scratch::on_a_branch();
        scratch.write("a.js", RUN).commit("add");
        scratch.tollgate(&["review", "main..HEAD"]).expect(1);
        scratch.write("b.txt", "more\n").commit("more");
        scratch.configure(config);
        for args in [&["review", "main..HEAD", "--since-last"][..], &["review", "main..HEAD"]] {
            let report = scratch.tollgate(args).expect(1);
            assert!(report.contains("0 new, 0 resolved, 1 still open"), "{config}: {report}");
        }
    }
}

#[test]
fn a_dismissal_does_not_go_to_another_function_with_its_line() {
    let query = "    cur.execute(\"SELECT * FROM users WHERE name = '\" + name + \"'\")\n";
    let pad: String = (0..40).map(|n| format!("def pad{n}(a):\n    return a + {n}\n\n\n")).collect();
    let tool = format!("def admin_tool(db, name):\n    cur = db.cursor()\n{query}    return cur.fetchone()\n\n\n");
    let login =
        format!("def public_login(db, name):\n    check(db)\n    cur = db.cursor()\n{query}    return first(cur)\n");
    let scratch = Scratch::empty();
    scratch.write("store.py", &pad).commit("base");
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.write("store.py", &format!("{tool}{pad}")).commit("a tool");
    scratch.tollgate(&["review"]).expect(1);
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "our own console tool"]).expect(0);
    scratch.write("store.py", &format!("{pad}{login}")).commit("a log-in");
    for args in [&["review", "--since-last"][..], &["review"]] {
        scratch.tollgate(args).expect(1);
    }
}

#[test]
fn after_a_review_without_findings_the_comment_is_that_of_a_first_review() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.txt", "one\n").commit("add");
    assert_eq!(scratch.tollgate(&["review", "--format", "summary"]).expect(0), "");
    scratch.write("a.js", RUN).commit("more");
    let major = ":yellow_circle: **Needs changes** -- 1 major finding must be fixed before merging";
    check_summary(&scratch, 1, &["## What Changed", "## Observations", "## Verdict", major]);
}

#[test]
fn a_file_that_could_not_be_scanned_has_resolved_nothing() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", RUN).commit("add");
    scratch.tollgate(&["review"]).expect(1);
    scratch.configure("limits.file_bytes = 500\n");
    let more = "const a = 1;\n".repeat(1000);
    scratch.write("a.js", &format!("{}{more}", RUN.replace("eval(input)", "eval(input + 1)"))).commit("larger");
    for more in [&["review", "--since-last"][..], &["review"]] {
        let report = scratch.tollgate(more).expect(1);
        assert!(report.contains("0 new, 0 resolved, 1 still open"), "{report}");
    }
}
