//! The declared intent of an author changes the review, and the report says how.

use serde_json::Value;

use crate::scratch::Scratch;

/// A High, a Low and a Nit.
const CODE: &str =
    "function run(input) {\n  // TODO tidy this up\n  try {\n    return eval(input);\n  } catch (e) {}\n}\n";

fn scratch() -> Scratch {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", CODE).commit("add");
    scratch
}

fn review(scratch: &Scratch, args: &[&str]) -> Value {
    let ran = scratch.tollgate(&[&["review", "--no-store", "--format", "json"], args].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
}

/// The severities of counted findings, then those of withheld ones with reasons.
fn counted(review: &Value) -> String {
    let severity = |finding: &Value| finding["severity"].as_str().unwrap_or_default().to_owned();
    let counts: Vec<String> = review["findings"].as_array().unwrap().iter().map(severity).collect();
    let withheld = review["x_withheld"].as_array().map(Vec::as_slice).unwrap_or_default();
    let withheld: Vec<String> = withheld
        .iter()
        .map(|held| format!("{} {}", severity(&held["finding"]), held["why"].as_str().unwrap()))
        .collect();
    format!("{} | {}", counts.join(", "), withheld.join(", "))
}

#[track_caller]
fn check(args: &[&str], expected: &str) {
    assert_eq!(counted(&review(&scratch(), args)), expected, "{args:?}");
}

#[test]
fn the_profile_decides_from_which_severity_on_findings_count() {
    let balanced = "High | Low below-floor, Nit below-floor";
    check(&[], balanced);
    check(&["--profile", "balanced"], balanced);
    check(&["--profile", "strict"], "High, Low | Nit below-floor");
    check(&["--profile", "minimal"], "High | Low below-floor, Nit ignored-area");
}

#[test]
fn a_tag_goes_before_the_command_line_and_the_strictest_wins() {
    check(&["--title", "[strict-review] x"], "High, Low | Nit below-floor");
    check(&["--profile", "strict", "--title", "x [Minimal-Review]"], "High | Low below-floor, Nit ignored-area");
    check(&["--title", "[minimal-review] [strict-review] x"], "High, Low | Nit below-floor");
}

#[test]
fn style_is_left_out_where_the_profile_or_the_author_says_so_but_a_blocker_never_is() {
    let style = |severity: &str| {
        format!(
            r#"[{{"id": "F001", "severity": "{severity}", "category": "Style", "location": {{"file": "a.js", "line_start": 1}},
            "summary": "a matter of taste", "reason": "it reads badly", "evidence": "run"}}]"#
        )
    };
    let review = |severity: &str, args: &[&str]| {
        let args = [&["review", "--no-store", "--format", "json", "--with", "-"], args].concat();
        let ran = scratch().tollgate_with(&args, style(severity).as_bytes(), &[]);
        counted(&serde_json::from_str(&ran.stdout).unwrap())
    };
    assert_eq!(review("Medium", &[]), "High | Medium ignored-area, Low below-floor, Nit below-floor");
    assert_eq!(review("Medium", &["--profile", "strict"]), "High, Medium, Low | Nit below-floor");
    let by_author = ["--profile", "strict", "--title", "[style-ok] x"];
    assert_eq!(review("Medium", &by_author), "High, Low | Medium ignored-area, Nit below-floor");
    assert_eq!(review("High", &by_author), "High, High, Low | Nit below-floor");
}

#[test]
fn findings_at_the_fail_on_severity_are_counted() {
    check(&["--fail-on", "low"], "High, Low | Nit below-floor");
}

#[test]
fn a_tag_in_a_commit_counts_but_never_skips_the_review() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", CODE).commit("[strict-review] [no-review] add");
    let ran = scratch.tollgate(&["review", "--no-store"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("reviewed despite [no-review] in commit"), "{}", ran.stderr);
    assert!(ran.stderr.contains("profile strict from [strict-review] in commit"), "{}", ran.stderr);
}

#[test]
fn the_title_skips_a_review_and_nothing_reads_as_approved() {
    let scratch = scratch();
    let ran = scratch.tollgate(&["review", "--title", "[no-review] x"]);
    assert!(ran.stdout.ends_with("Review skipped per `[no-review]` in PR title.\n"), "{}", ran.stdout);
    assert_eq!(ran.code, 0);
    let summary = scratch.tollgate(&["review", "--title", "[no-review] x", "--format", "summary"]).expect(0);
    assert_eq!(summary, "Review skipped per `[no-review]` in PR title.\n");
    let review = review(&scratch, &["--title", "[no-review] x"]);
    assert_eq!((&review["verdict"], &review["x_gate"]), (&"COMMENTED".into(), &"skipped".into()));
    assert_eq!(review["x_coverage"]["complete"], false);
    // It is no run, so there is nothing to compare with later.
    assert_eq!(scratch.tollgate(&["history"]).expect(0), "");

    scratch.write(".tollgate.toml", "[review]\nallow_no_review = false\n[paths]\nexclude = ['.tollgate.toml']\n");
    scratch.tollgate(&["review", "--title", "[no-review] x"]).expect(1);
}

#[test]
fn work_in_progress_gets_early_feedback() {
    let scratch = scratch();
    let comment = scratch.tollgate(&["review", "--title", "[WIP] x", "--format", "summary"]).expect(1);
    assert!(comment.contains("\nKeywords: [WIP] in title\n"), "{comment}");
    assert!(comment.to_lowercase().contains("early feedback"), "{comment}");
    check(&["--profile", "strict", "--title", "[wip] x"], "High | Low below-floor, Nit below-floor");
}

#[test]
fn a_fix_without_a_test_is_said_also_when_only_a_commit_calls_it_one() {
    let rules = |scratch: &Scratch, args: &[&str]| {
        let review = review(scratch, &[&["--profile", "strict"], args].concat());
        let found = review["findings"].as_array().unwrap().iter();
        found.filter_map(|finding| Some(finding["x_rule"].as_str()?.to_owned())).collect::<Vec<_>>()
    };
    let scratch = Scratch::empty();
    scratch
        .write("src/cart.py", "def total(items):\n    return 0\n")
        .write("tests/test_cart.py", "def test_total():\n    assert True\n");
    scratch.commit("start");
    scratch.git(&["switch", "-q", "-c", "work"]);
    scratch.write(
        "src/cart.py",
        "def total(items):\n    if not items:\n        return 0\n    return sum(item.price for item in items)\n",
    );
    scratch.commit("total of items");
    assert!(!rules(&scratch, &[]).contains(&"fix-without-test".to_owned()));
    assert!(rules(&scratch, &["--title", "fix: the total"]).contains(&"fix-without-test".to_owned()));
    scratch.git(&["commit", "-q", "--amend", "-m", "fix: the total"]);
    assert!(rules(&scratch, &[]).contains(&"fix-without-test".to_owned()));
}

#[test]
fn a_misspelt_tag_is_said_with_what_was_meant() {
    let ran = scratch().tollgate(&["review", "--no-store", "--title", "[strict-reveiw] x"]);
    assert!(ran.stderr.contains("ignored [strict-reveiw], did you mean [strict-review]?"), "{}", ran.stderr);
}

#[test]
fn the_body_declares_breaking_changes() {
    let scratch = scratch();
    scratch.write("body.md", "This is a breaking change for callers.\n\n- [ ] breaking change\n");
    let args = ["review", "--no-store", "--format", "summary", "--title", "feat: x", "--body-file", "body.md"];
    let comment = scratch.tollgate(&args).expect(1);
    assert!(comment.contains("Keywords: breaking change in body"), "{comment}");
    assert!(comment.contains("\n- Reviewers: rules\n"), "{comment}");
    let refused = scratch.tollgate(&["review", "--body-file", "none.md"]).expect_refused(2);
    assert!(refused.contains("none.md"), "{refused}");
}

#[test]
fn the_comment_names_findings_up_to_the_cap_and_lists_the_rest_in_the_details() {
    let scratch = Scratch::on_a_branch();
    let code: String = (0..9).map(|n| format!("function run{n}(input) {{\n  return eval(input);\n}}\n")).collect();
    let parts: Vec<String> = (0..9).map(|n| format!("file{n}.js")).collect();
    for part in &parts {
        scratch.write(part, &code[..50]);
    }
    scratch.commit("add");
    let comment = scratch.tollgate(&["review", "--no-store", "--format", "summary"]).expect(1);
    assert!(comment.contains("- Cut by the comment cap: 2\n"), "{comment}");
    assert!(comment.contains("9 major findings"), "{comment}");
    for part in &parts {
        assert!(comment.contains(part.as_str()), "{part} is lost:\n{comment}");
    }
}

#[test]
fn a_comment_is_never_silent_about_what_was_not_reviewed() {
    let scratch = Scratch::on_a_branch();
    let code: String = (0..400).map(|n| format!("function run{n}(input) {{\n  return eval(input);\n}}\n")).collect();
    scratch.write("a.js", &code).commit("add");
    scratch.write(".tollgate.toml", "[limits]\nfile_bytes = 1000\n");
    let figures = scratch.tollgate(&["review", "--no-store", "--format", "summary"]).expect(1);
    assert!(figures.starts_with("<details>\n<summary>Review Details</summary>\n"), "{figures}");
    assert!(figures.contains("not reviewed: a.js (1-1200): larger than 16000 bytes\n"), "{figures}");
}
