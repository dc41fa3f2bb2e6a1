//! `tollgate review` in repositories of every kind.

use insta::assert_snapshot;

use crate::scratch::{Scratch, git_command};

const LOOP: &str = "export function saveAll(items) {\n  items.forEach(async (item) => save(item));\n}\n";
const CLEAN: &str = "export const answer = 42;\n";

/// The compared revisions and the reporting rules of a JSON review.
#[track_caller]
fn told(scratch: &Scratch, args: &[&str], code: i32) -> String {
    let args: Vec<&str> = [&["review", "--format", "json"], args].concat();
    let json: serde_json::Value = serde_json::from_str(&scratch.tollgate(&args).expect(code)).unwrap();
    let found = json["findings"].as_array().unwrap().iter().map(|finding| {
        let line = &finding["location"]["line_start"];
        format!("{}:{line} {}", finding["location"]["file"].as_str().unwrap(), finding["x_rule"].as_str().unwrap())
    });
    let mut lines = vec![hide_shas(json["x_compared"].as_str().unwrap()), json["verdict"].as_str().unwrap().to_owned()];
    lines.extend(found);
    lines.join("\n")
}

/// Commit names differ with the paths in them; their form does not.
fn hide_shas(text: &str) -> String {
    let is_sha = |word: &str| word.len() == 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split_inclusive(['(', ')', ' ', '.', ','])
        .map(|part| {
            let word = part.trim_end_matches(['(', ')', ' ', '.', ',']);
            if is_sha(word) { part.replace(word, "<sha>") } else { part.to_owned() }
        })
        .collect()
}

#[test]
fn standard_input_is_read_for_one_flag_only() {
    let scratch = Scratch::on_a_branch();
    for (flags, expected) in [
        (["--diff", "--body-file"], "`--diff` and `--body-file` cannot both read standard input"),
        (["--diff", "--with"], "`--diff` and `--with` cannot both read standard input"),
        (["--with", "--with"], "two `--with` cannot both read standard input"),
    ] {
        let refused = scratch.tollgate(&["review", flags[0], "-", flags[1], "-"]).expect_refused(2);
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn a_branch_is_reviewed_against_main_with_uncommitted_and_untracked_work() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).commit("add a");
    scratch.write("b.js", LOOP);
    scratch.git(&["add", "b.js"]);
    scratch.write("c.js", LOOP);
    assert_snapshot!(told(&scratch, &[], 1), @r"
    work and uncommitted work against the merge base with main (<sha>)
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    b.js:2 js-async-foreach
    c.js:2 js-async-foreach
    ");
}

#[test]
fn only_lines_that_the_change_adds_are_reported() {
    let scratch = Scratch::empty();
    scratch.write("a.js", LOOP).commit("old");
    scratch.git(&["switch", "-q", "-c", "work"]);
    scratch.write("a.js", &format!("// a comment\n{LOOP}others.forEach(async (other) => drop(other));\n"));
    assert_snapshot!(told(&scratch, &[], 1), @r"
    uncommitted work against HEAD (<sha>)
    CHANGES_REQUESTED
    a.js:5 js-async-foreach
    ");
}

#[test]
fn a_range_compares_two_commits() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).commit("one");
    scratch.write("b.js", CLEAN).commit("two");
    scratch.write("c.js", LOOP);
    assert_snapshot!(told(&scratch, &["HEAD~1..HEAD"], 0), @r"
    HEAD (<sha>) against HEAD~1 (<sha>)
    APPROVED
    ");
    assert_snapshot!(told(&scratch, &["main...HEAD"], 1), @r"
    HEAD (<sha>) against the merge base with main (<sha>)
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    ");
}

#[test]
fn staged_work_is_reviewed_as_it_is_staged() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    scratch.git(&["add", "a.js"]);
    scratch.write("a.js", CLEAN).write("b.js", LOOP);
    assert_snapshot!(told(&scratch, &["--staged"], 1), @r"
    staged changes against HEAD (<sha>)
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    ");
    assert_snapshot!(told(&scratch, &["--worktree"], 1), @r"
    uncommitted work against HEAD (<sha>)
    CHANGES_REQUESTED
    b.js:2 js-async-foreach
    ");
}

#[test]
fn a_patch_is_reviewed_from_a_file_and_from_standard_input_also_outside_a_repository() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).commit("add");
    let patch = scratch.git(&["diff", "main", "HEAD"]);
    let outside = Scratch::folder();
    outside.write("x.patch", &patch);
    assert_snapshot!(told(&outside, &["--diff", "x.patch"], 1), @r"
    the patch x.patch
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    ");
    let ran = outside.tollgate_with(&["review", "--diff", "-"], patch.as_bytes(), &[]);
    assert!(ran.expect(1).contains("async callback in `forEach`"));
}

#[test]
fn a_branch_without_commits_is_reviewed_as_all_new() {
    let scratch = Scratch::empty();
    scratch.write("a.js", LOOP);
    assert_snapshot!(told(&scratch, &[], 1), @r"
    uncommitted work on main, which has no commits yet
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    ");
}

#[test]
fn a_detached_head_is_reviewed_against_main() {
    let scratch = Scratch::on_a_branch();
    let sha = scratch.write("a.js", LOOP).commit("add");
    scratch.git(&["checkout", "-q", &sha]);
    assert_snapshot!(told(&scratch, &[], 1), @r"
    HEAD (<sha>, detached) against the merge base with main (<sha>)
    CHANGES_REQUESTED
    a.js:2 js-async-foreach
    ");
}

#[test]
fn a_bare_clone_is_reviewed_by_range() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).commit("add");
    let outside = Scratch::folder();
    outside.git(&["clone", "-q", "--bare", scratch.path().to_str().unwrap(), "bare.git"]);
    let ran = outside.tollgate(&["-C", "bare.git", "review", "main..work", "--format", "json"]);
    assert!(ran.expect(1).contains("js-async-foreach"));
    let stderr = outside.tollgate(&["-C", "bare.git", "review"]).expect_refused(2);
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn a_worktree_a_submodule_and_a_sha256_repository_are_reviewed() {
    let scratch = Scratch::on_a_branch();
    let elsewhere = Scratch::folder();
    let worktree = elsewhere.path().join("worktree");
    scratch.git(&["worktree", "add", "-q", "-b", "other", worktree.to_str().unwrap()]);
    elsewhere.write("worktree/a.js", LOOP);
    let ran = elsewhere.tollgate(&["-C", "worktree", "review", "--format", "json"]);
    assert!(ran.expect(1).contains("js-async-foreach"));

    let sha256 = Scratch::folder();
    sha256.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    sha256.write("README.md", "x\n").commit("start");
    sha256.write("a.js", LOOP);
    let text = sha256.tollgate(&["review", "--format", "json"]).expect(1);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["reviewed_sha"].as_str().unwrap().len(), 64);

    let outer = Scratch::empty();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", scratch.path().to_str().unwrap(), "sub"]);
    outer.commit("add a submodule");
    outer.write("sub/b.js", LOOP);
    assert!(outer.tollgate(&["-C", "sub", "review", "--format", "json"]).expect(1).contains("js-async-foreach"));
}

#[test]
fn a_shallow_clone_says_what_it_lacks_and_reviews_what_it_has() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", CLEAN).commit("one");
    scratch.write("a.js", LOOP).commit("two");
    let url = format!("file://{}", scratch.path().display());
    let clone = Scratch::folder();
    let cloned =
        git_command(clone.path()).args(["clone", "-q", "--depth", "1", "-b", "work", &url, "c"]).output().unwrap();
    assert!(cloned.status.success());
    let failed = clone.tollgate(&["-C", "c", "review", "HEAD~1..HEAD"]).expect_refused(2);
    assert!(failed.contains("HEAD~1") && failed.contains("hint: "), "{failed}");
    std::fs::write(clone.path().join("c/b.js"), LOOP).unwrap();
    assert!(clone.tollgate(&["-C", "c", "review", "--worktree"]).expect(1).contains("b.js"));
}

#[test]
fn a_clean_repository_has_nothing_to_review_and_that_is_fine() {
    let scratch = Scratch::on_a_branch();
    let ran = scratch.tollgate(&["review"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("nothing to review"), "{}", ran.stderr);
    let json = scratch.tollgate(&["review", "--format", "json"]).expect(0);
    assert!(json.contains("\"COMMENTED\"") && json.contains("\"findings\": []"), "{json}");
}

#[test]
fn mistakes_get_a_clear_error_and_a_next_step() {
    let scratch = Scratch::on_a_branch();
    for (args, words) in [
        (&["review", "mian..HEAD"][..], "mian"),
        (&["review", "--diff", "none.patch"], "none.patch"),
        (&["review", "--staged", "--worktree"], "cannot be used with"),
        (&["review", "--format", "xml"], "invalid value 'xml'"),
        (&["rewiev"], "similar subcommand exists: 'review'"),
        (&["-C", "nowhere", "review"], "nowhere"),
        (&["review", "--with", "README.md"], "README.md"),
    ] {
        let stderr = scratch.tollgate(args).expect_refused(2);
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
    let outside = Scratch::folder();
    assert_snapshot!(
        outside.tollgate(&["review"]).expect_refused(2).replace(outside.path().to_str().unwrap(), "<folder>"),
        @r"
    error: `<folder>` is not in a git repository
    hint: Run this inside a repository; `review` and `analyze` also take a patch with `--diff FILE`.
    "
    );
}

#[test]
fn the_same_change_gives_the_same_bytes() {
    let scratch = Scratch::on_a_branch();
    for name in ["a.js", "b.js", "c.js", "d.ts"] {
        scratch.write(name, LOOP);
    }
    for format in ["json", "markdown", "sarif", "rdjson", "rdjsonl", "github", "junit", "html", "pretty"] {
        let once = scratch.tollgate(&["review", "--format", format]).expect(1);
        assert_eq!(once, scratch.tollgate(&["review", "--format", format]).expect(1), "{format}");
    }
}

#[test]
fn the_gate_closes_at_the_severity_that_was_asked_for() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    scratch.tollgate(&["review", "--fail-on", "critical"]).expect(0);
    scratch.tollgate(&["review", "--fail-on", "high"]).expect(1);
    scratch.tollgate(&["review", "--fail-on", "never"]).expect(0);
    scratch.write(".tollgate.toml", "[review]\nfail_on = \"critical\"\n");
    scratch.tollgate(&["review"]).expect(0);
    scratch.tollgate(&["review", "--fail-on", "high"]).expect(1);
}

#[test]
fn findings_are_suppressed_in_code_and_in_the_configuration_and_counted() {
    let scratch = Scratch::on_a_branch();
    scratch.write(
        "a.js",
        &LOOP.replace("  items", "  // tollgate:ignore js-async-foreach order does not matter\n  items"),
    );
    let text = scratch.tollgate(&["review", "--verbose"]).expect(0);
    assert!(text.contains("1 finding suppressed") && text.contains("order does not matter"), "{text}");
    scratch.write("a.js", LOOP);
    scratch.write(".tollgate.toml", "[[suppress]]\npaths = [\"*.js\"]\nrule = \"js-*\"\nreason = \"old code\"\n");
    let text = scratch.tollgate(&["review", "--verbose"]).expect(0);
    assert!(text.contains("old code"), "{text}");
}

#[test]
fn paths_that_are_left_out_are_skipped_by_name() {
    let scratch = Scratch::on_a_branch();
    scratch.write("vendor/a.js", LOOP).write(".tollgate.toml", "[paths]\nexclude = [\"vendor/\"]\n");
    let text = scratch.tollgate(&["review", "--verbose"]).expect(0);
    assert!(text.contains("skipped: vendor/a.js"), "{text}");
}

// Issue 17: a Java test below `…/cli/dist/` was skipped as generated, and the change was approved.
#[test]
fn source_files_are_reviewed_whatever_their_folders_are_called() {
    let scratch = Scratch::on_a_branch();
    let paths = [
        "src/test/java/org/a/cli/dist/a.js",
        "src/generated/a.js",
        "app/build/a.js",
        "pkg/pods/a.js",
        "app/vendor/a.js",
    ];
    for path in paths {
        scratch.write(path, LOOP);
    }
    scratch.write("dist/a.js", LOOP).write("node_modules/a/a.js", LOOP);
    let text = scratch.tollgate(&["review", "--verbose"]).expect(1);
    for path in paths {
        assert!(text.contains(&format!("{path}:")) && !text.contains(&format!("skipped: {path}")), "{path}: {text}");
    }
    assert!(text.contains("skipped: dist/a.js") && text.contains("skipped: node_modules/a/a.js"), "{text}");
}

#[test]
fn untracked_files_of_the_board_are_not_reviewed() {
    let scratch = Scratch::on_a_branch();
    scratch.write(".automaker/features/x/feature.json", "{}\n").write(".automaker/context/rules.md", "a\n");
    let text = scratch.tollgate(&["review", "--verbose"]).expect(0);
    assert!(text.contains("1 file"), "{text}");
    scratch.git(&["add", "--all"]);
    let text = scratch.tollgate(&["review", "--verbose"]).expect(0);
    assert!(text.contains("2 files"), "{text}");
}

#[test]
fn options_that_cannot_work_together_are_refused() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", CLEAN);
    let url = "https://github.com/o/r/pull/1";
    let refused = scratch.tollgate(&["review", "--pr", url, "--offline"]).expect_refused(2);
    assert!(refused.contains("--pr") && refused.contains("--offline"), "{refused}");
    let refused = scratch.tollgate(&["review", "--database", "foo"]).expect_refused(2);
    assert!(refused.contains("neither a `postgres://` URL nor a `sqlite:` file"), "{refused}");
}

#[test]
fn rules_of_ones_own_join_the_review() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.ts", "console.log('x');\n");
    let rule = "id: no-console\nlanguage: TypeScript\nseverity: error\nmessage: use the logger\nnote: It is collected.\nrule:\n  pattern: console.log($$$)\nfix: ''\n";
    scratch.write(".tollgate/rules/no-console.yml", rule);
    assert!(told(&scratch, &[], 1).contains("a.ts:1 no-console"));
    assert!(scratch.tollgate(&["rules", "test", "no-console"]).expect(0).contains("1 user rules valid"));
    let stderr = scratch.tollgate(&["rules", "test", "no-such-rule"]).expect_refused(2);
    assert!(stderr.contains("no such rule: `no-such-rule`"), "{stderr}");
    scratch.write(".tollgate/rules/broken.yml", "id: x\nlanguage: Klingon\nrule: { pattern: a }\n");
    let stderr = scratch.tollgate(&["review"]).expect_refused(2);
    assert!(stderr.contains("broken.yml"), "{stderr}");
}

#[test]
fn findings_of_other_tools_join_when_they_are_on_changed_lines() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", "let a = 1;\nlet b = 2;\n").commit("old");
    scratch.git(&["switch", "-q", "-c", "next"]);
    scratch.write("a.js", "let a = 1;\nlet b = 3;\n");
    let result = |line: u32| {
        format!(
            r#"{{"ruleId":"no-magic","level":"error","message":{{"text":"magic number"}},"locations":[{{"physicalLocation":
            {{"artifactLocation":{{"uri":"a.js"}},"region":{{"startLine":{line}}}}}}}]}}"#
        )
    };
    let sarif = format!(
        r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"linter"}}}},"results":[{},{}]}}]}}"#,
        result(1),
        result(2)
    );
    scratch.write("lint.sarif", &sarif);
    scratch.git(&["add", "lint.sarif"]);
    let args = ["review", "--diff", "-", "--with", "lint.sarif", "--format", "json"];
    let patch = scratch.git(&["diff", "--", "a.js"]);
    let json: serde_json::Value =
        serde_json::from_str(&scratch.tollgate_with(&args, patch.as_bytes(), &[]).expect(1)).unwrap();
    assert_eq!(json["findings"].as_array().unwrap().len(), 1, "{json:#}");
    assert_eq!(json["findings"][0]["location"]["line_start"], 2);
    assert_eq!(json["findings"][0]["x_reviewer"], "linter");
    assert_eq!(json["x_withheld"].as_array().unwrap().len(), 1);
}
