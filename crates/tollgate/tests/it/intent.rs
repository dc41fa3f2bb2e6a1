//! `tollgate intent`, through the program.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::scratch::Scratch;

#[track_caller]
fn json(scratch: &Scratch, args: &[&str], stdin: &str) -> Value {
    let args: Vec<&str> = ["intent", "--format", "json"].iter().chain(args).copied().collect();
    serde_json::from_str(&scratch.tollgate_with(&args, stdin.as_bytes(), &[]).expect(0)).unwrap()
}

#[test]
fn people_read_what_was_declared_and_what_it_changes() {
    let scratch = Scratch::folder();
    scratch.write("log.txt", "abc1234 fix!: drop v1\r\ndef5678 [strict-reveiw] x\r\n");
    let args = ["intent", "--title", "[WIP] feat(api): a [security-review]", "--commits", "log.txt"];
    assert_snapshot!(scratch.tollgate(&args).expect(0), @r"
    Keywords: [WIP] in title, [security-review] in title
    ignored [strict-reveiw], did you mean [strict-review]?
    Conventional type: feat(api) in title
    Breaking change in commit abc1234: fix!: drop v1
    Commits scanned: 2 of 2

    In a review:
      early feedback because of [WIP] in title: no style, nothing below Medium, at most 3 comments
      security in focus because of [security-review] in title
    ");
    assert_snapshot!(scratch.tollgate(&["intent", "--title", "hello"]).expect(0), @"Keyword parsing: No keywords detected");
    let draft = scratch.tollgate(&["intent", "--title", "[wip] hello", "--draft"]).expect(0);
    assert_snapshot!(draft, @r"
    Keywords: [WIP] in title
    Draft: not reviewed until it is ready
    ");
}

#[test]
fn programs_read_json_with_the_promised_names() {
    let scratch = Scratch::folder();
    scratch.write("pr.md", "## Breaking changes\n\nThe v1 routes are gone.\n");
    let lines = "{\"sha\": \"abc1234567\", \"message\": \"fix: a [wip]\"}\n";
    let intent = json(&scratch, &["--title", "docs: b [PAY-77]", "--body-file", "pr.md", "--commits", "-"], lines);
    let expected = json!({
        "bracket_tags": [{"tag": "wip", "recognized": true, "source": "commit", "commit": "abc1234"}],
        "conventional": {"type": "docs", "scope": null, "is_breaking": false, "source": "title"},
        "breaking_change": true,
        "breaking_sources": [{"source": "body", "excerpt": "Breaking changes"}],
        "no_review": false, "is_wip": true, "profile_override": null, "focus_areas": [], "style_ok": false,
        "recognized": ["wip"], "unrecognized": [], "suggestions": {}, "references": ["PAY-77"],
        "commits_scanned": 1, "commits_total": 1
    });
    assert_eq!(intent, expected);
}

#[test]
fn commits_come_from_a_range_or_from_what_git_log_prints() {
    let scratch = Scratch::on_a_branch();
    scratch.commit("[style-ok] one\n\n[wip] in the body");
    scratch.commit("this breaks v1");
    let of_range = json(&scratch, &["--title", "a", "--commits", "main..HEAD"], "");
    assert_eq!((&of_range["style_ok"], &of_range["is_wip"]), (&json!(true), &json!(false)));
    assert_eq!((&of_range["commits_total"], &of_range["breaking_change"]), (&json!(2), &json!(true)));
    for args in [&["log", "main..HEAD"][..], &["log", "--oneline", "main..HEAD"], &["log", "--format=raw", "main.."]] {
        let log = scratch.git(args);
        for log in [log.replace('\n', "\r\n"), log] {
            let of_log = json(&scratch, &["--title", "a", "--commits", "-"], &log);
            assert_eq!(of_log, of_range, "{args:?}");
        }
    }
}

#[test]
fn a_file_goes_before_a_range_of_the_same_name() {
    let scratch = Scratch::on_a_branch();
    scratch.write("main", "abc1234 [wip] from a file\n");
    assert_eq!(json(&scratch, &["--title", "a", "--commits", "main"], "")["recognized"], json!(["wip"]));
}

#[test]
fn wrong_use_is_said_and_ends_with_two() {
    let scratch = Scratch::on_a_branch();
    scratch
        .write("broken.jsonl", "{\"sha\": \"abc1234\", \"message\": \"a\"}\n{\"sha\": 1}\n")
        .write("text", "hello\n");
    let refused = |args: &[&str]| {
        let args: Vec<&str> = ["intent", "--title", "a"].iter().chain(args).copied().collect();
        scratch.tollgate(&args).expect_refused(2)
    };
    assert_snapshot!(refused(&["--commits", "text"]), @r"
    error: `text` is not a list of commits: line 1: expected a commit id and a title, as printed by `git log --oneline`
    hint: Create one with `git log --oneline main..HEAD`, or give a range such as `main..HEAD`.
    ");
    assert_snapshot!(refused(&["--commits", "broken.jsonl"]), @r"
    error: `broken.jsonl` is not a list of commits: line 2: expected an object with `sha` and `message`: invalid type: integer `1`, expected a string
    hint: Create one with `git log --oneline main..HEAD`, or give a range such as `main..HEAD`.
    ");
    assert_snapshot!(refused(&["--commits", "main..nowhere"]), @r"
    error: `main..nowhere` is not a file, and as a range of commits: there is no revision `nowhere` here
    hint: Check the spelling, or run `git fetch` if it is on a remote.
    ");
    assert_snapshot!(refused(&["--commits=--output=x"]), @r"
    error: `--output=x` is not a file, and as a range of commits: `--output=x` is not a revision or a range of revisions
    hint: Write `A..B` to compare two revisions, `A...B` to compare B with where it left A, or `A` for all since A.
    ");
    assert_snapshot!(refused(&["--commits", "-", "--body-file", "-"]), @r"
    error: `--body-file` and `--commits` cannot both read standard input
    hint: Save one of them to a file first.
    ");
    assert!(refused(&["--body-file", "nowhere.md"]).contains("cannot read"));
    assert!(scratch.tollgate(&["intent"]).expect_refused(2).contains("--title"));
    let outside = Scratch::folder();
    let ran = outside.tollgate(&["intent", "--title", "a", "--commits", "main..HEAD"]);
    assert!(ran.expect_refused(2).contains("is not a file, and as a range of commits: "));
}

#[test]
fn the_authors_text_cannot_move_the_cursor() {
    let scratch = Scratch::folder();
    let shown = scratch.tollgate(&["intent", "--title", "[a\u{1b}[2J\u{202e}b] x", "--draft"]).expect(0);
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn the_schema_describes_the_intent() {
    let schema: Value = serde_json::from_str(&Scratch::folder().tollgate(&["schema", "intent"]).expect(0)).unwrap();
    let intent = json(&Scratch::folder(), &["--title", "a"], "");
    let names: Vec<&String> = intent.as_object().unwrap().keys().collect();
    let described: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, described);
}
