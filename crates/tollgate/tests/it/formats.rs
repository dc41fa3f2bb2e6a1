//! `convert` and `analyze`, through the program.

use crate::scratch::Scratch;

const LOOP: &str = "items.forEach(async (item) => save(item));\n";

fn review(scratch: &Scratch, format: &str) -> String {
    scratch.tollgate(&["review", "--format", format]).expect(1)
}

#[test]
fn a_review_survives_the_way_to_markdown_and_back() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    scratch.write("r.json", &review(&scratch, "json"));
    let markdown = scratch.tollgate(&["convert", "r.json", "--to", "markdown"]).expect(0);
    scratch.write("r.md", &markdown);
    let back = scratch.tollgate(&["convert", "r.md", "--to", "json"]).expect(0);
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parsed(&back)["x_gate"], "closed");
    assert_eq!(parsed(&back), parsed(&scratch.read("r.json")));
    // An overridden gate stays open.
    let never = scratch.tollgate(&["review", "--format", "json", "--fail-on", "never"]).expect(0);
    let same = scratch.tollgate_with(&["convert", "-", "--to", "json"], never.as_bytes(), &[]).expect(0);
    assert_eq!((same.as_str(), &parsed(&same)["x_gate"]), (never.as_str(), &"open".into()));
}

#[test]
fn every_written_format_that_can_be_read_gives_the_findings_back() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    for format in ["json", "markdown", "sarif", "rdjson", "rdjsonl"] {
        let text = review(&scratch, format);
        let ran = scratch.tollgate_with(&["convert", "-", "--to", "json"], text.as_bytes(), &[]);
        let json: serde_json::Value = serde_json::from_str(&ran.expect(0)).unwrap();
        let finding = &json["findings"][0];
        assert_eq!(finding["location"]["file"], "a.js", "{format}");
        assert_eq!(finding["summary"], "async callback in `forEach` is not awaited", "{format}");
        assert_eq!(finding["x_rule"], "js-async-foreach", "{format}");
    }
}

#[test]
fn lenient_conversion_never_turns_a_rejection_into_an_approval() {
    let scratch = Scratch::folder();
    let review = |finding: &str, verdict: &str, gate: &str| {
        format!(
            r#"{{"reviewed_sha":"{0}","base_sha":"{0}","files_reviewed":["a.js"],"findings":[{finding}],
            "verdict":"{verdict}","blocking_count":{{"critical":0,"high":0}},"re_review_required":false,"x_gate":"{gate}"}}"#,
            "a".repeat(40)
        )
    };
    let without_file = r#"{"id":"F001","severity":"Critical","category":"Security","summary":"s","evidence":"e"}"#;
    for (finding, verdict, gate) in [
        (without_file, "CHANGES_REQUESTED", "closed"),
        (without_file, "APPROVED", "open"),
        ("", "CHANGES_REQUESTED", "open"),
    ] {
        scratch.write("r.json", &review(finding, verdict, gate));
        for format in ["json", "markdown", "pretty", "summary"] {
            let said = scratch.tollgate(&["convert", "r.json", "--to", format, "--lenient"]).expect(0);
            assert!(!said.contains("APPROVED") && !said.contains("Approve"), "{verdict} {format}: {said}");
        }
    }
    let markdown = format!(
        "# Code Review\n\n**Reviewed SHA:** `{0}`\n**Base SHA:** `{0}`\n**Verdict:** CHANGES_REQUESTED\n\
         **Blocking Issues:** 1 Critical, 0 High\n\n## Files Reviewed\n\n- `a.js`\n\n## Findings\n\n### F001: no brackets\n\ntext\n",
        "a".repeat(40)
    );
    let ran = scratch.tollgate_with(&["convert", "-", "--to", "json", "--lenient"], markdown.as_bytes(), &[]);
    assert!(!ran.stdout.contains("APPROVED"), "{}", ran.stdout);
}

#[test]
fn mentions_references_and_commands_in_a_markdown_report_are_inert() {
    let scratch = Scratch::folder();
    let finding = serde_json::json!({
        "id": "F001", "severity": "High", "category": "Security", "summary": "ask @everyone, fixes #12",
        "location": { "file": "a.js", "line_start": 1, "line_end": 1, "side": "RIGHT" },
        "reason": "@octo/team look\n/merge now\ncloses octo/shop#7 and GH-8\nresolves https://github.com/o/r/issues/9\n`@kept`",
        "evidence": "/approve\n@bors r+",
    });
    scratch.write("f.json", &serde_json::json!([finding]).to_string());
    let markdown = scratch.tollgate(&["convert", "f.json", "--to", "markdown", "--lenient"]).expect(0);
    for live in
        ["@everyone", "#12", "@octo", "shop#7", "GH-8", "://github.com/o/r/issues", "\n/merge", "\n/approve", "\n@bors"]
    {
        assert!(!markdown.contains(live), "{live}: {markdown}");
    }
    assert!(markdown.contains("`@kept`"), "{markdown}");
    // Nothing of it is lost.
    let back =
        scratch.tollgate_with(&["convert", "-", "--to", "json", "--lenient"], markdown.as_bytes(), &[]).expect(0);
    let back: serde_json::Value = serde_json::from_str(&back).unwrap();
    for field in ["summary", "reason", "evidence"] {
        assert_eq!(back["findings"][0][field], finding[field], "{field}");
    }
}

#[test]
fn a_verdict_that_is_green_because_of_a_suppression_says_so_in_every_format() {
    let scratch = Scratch::on_a_branch();
    let reason = "the queue awaits each of them";
    scratch.write("a.js", &format!("// tollgate:ignore js-async-foreach: {reason}\n{LOOP}"));
    let formats = ["pretty", "json", "markdown", "sarif", "rdjson", "rdjsonl", "github", "junit", "html", "summary"];
    for format in formats {
        let ran = scratch.tollgate(&["review", "--format", format]);
        assert!(!ran.stderr.contains("no findings, so"), "{format}: {}", ran.stderr);
        let text = ran.expect(0);
        let visible: Vec<&str> = text.lines().filter(|line| !line.starts_with("<!--")).collect();
        assert!(visible.join("\n").contains(reason), "{format}: {text}");
    }
    let markdown = scratch.tollgate(&["review", "--format", "markdown"]).expect(0);
    scratch.write("r.md", &markdown);
    assert_eq!(scratch.tollgate(&["convert", "r.md", "--to", "markdown"]).expect(0), markdown);
}

#[test]
fn junit_is_red_exactly_when_the_gate_is_not_open() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP);
    for (fail_on, code, failures) in [("high", 1, 1), ("critical", 0, 0), ("never", 0, 0)] {
        let text = scratch.tollgate(&["review", "--format", "junit", "--fail-on", fail_on]).expect(code);
        assert!(text.contains(&format!("failures=\"{failures}\" errors=\"0\"")), "{fail_on}: {text}");
        assert!(text.contains("is not awaited"), "{fail_on}: {text}");
    }
}

#[test]
fn broken_input_is_refused_with_every_problem_and_lenient_makes_the_best_of_it() {
    let scratch = Scratch::folder();
    let finding = r#"{"id":"F009","severity":"major","category":"bug","location":{"file":"a.js","line_start":3},"summary":"s","reason":"r","evidence":"e"}"#;
    let json = format!(
        r#"{{"reviewed_sha":"{0}","base_sha":"{0}","files_reviewed":[],"findings":[{finding}],"verdict":"APPROVED",
        "blocking_count":{{"critical":0,"high":0}},"re_review_required":false}}"#,
        "a".repeat(40)
    );
    scratch.write("r.json", &json);
    let stderr = scratch.tollgate(&["convert", "r.json", "--to", "markdown"]).expect_refused(2);
    for place in ["/findings/0/id", "/findings/0/severity", "/findings/0/category"] {
        assert!(stderr.contains(place), "{place}: {stderr}");
    }
    let ran = scratch.tollgate(&["convert", "r.json", "--to", "json", "--lenient"]);
    assert!(ran.stderr.contains("note: "), "{}", ran.stderr);
    assert!(ran.expect(0).contains("CHANGES_REQUESTED"));
    scratch.write("x.txt", "hello\n");
    let stderr = scratch.tollgate(&["convert", "x.txt", "--to", "json"]).expect_refused(2);
    assert!(stderr.contains("has an unknown format"), "{stderr}");
}

#[test]
fn analyze_tells_what_a_change_is_made_of() {
    let scratch = Scratch::on_a_branch();
    scratch.write("src/a.js", LOOP).write("tests/a.test.js", LOOP).write("Cargo.lock", "x\n");
    let text = scratch.tollgate(&["analyze", "--format", "json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["totals"]["files"], 3);
    assert_eq!(json["files_by_category"]["test"][0], "tests/a.test.js");
    assert_eq!(json["files_by_language"]["JavaScript"].as_array().unwrap().len(), 2);
    assert!(scratch.tollgate(&["analyze"]).expect(0).contains("3 files"));
    let ran = scratch.tollgate_with(&["analyze", "--diff", "-"], b" \n", &[]);
    assert!(ran.stderr.contains("note: `standard input` is empty"), "{}", ran.stderr);
    assert!(ran.expect(0).contains("0 files"));
}

// Issue 17: these were "0 files" with exit code 0.
#[test]
fn analyze_and_review_refuse_text_that_is_no_unified_diff() {
    let scratch = Scratch::on_a_branch();
    for text in [
        "Dear reader,\nthis is prose.\n",
        "1c1\n< a\n---\n> b\n",
        "*** a.txt\t2026-01-01\n--- b.txt\t2026-01-01\n***************\n*** 1,2 ****\n! a\n  b\n--- 1,2 ----\n! c\n  b\n",
        "{\"files\": []}\n",
        "s/a/b/\n",
    ] {
        for command in ["analyze", "review"] {
            let stderr = scratch.tollgate_with(&[command, "--diff", "-"], text.as_bytes(), &[]).expect_refused(2);
            assert!(
                stderr.contains("holds no unified diff") && stderr.contains("hint: Make one"),
                "{command}: {stderr}"
            );
        }
    }
}

const BROKEN_HUNKS: [(&str, &str); 5] = [
    ("@@ -1,3 +1,3 @@\n a\n-b\n", "expected 1 more old and 2 more new lines of the hunk, found the end"),
    ("@@ -1,9999 +1,2 @@\n a\n+b\n", "expected 9998 more old and 0 more new lines of the hunk, found the end"),
    ("@@ -1 +1 @@\n-a\n+b\n+c\n", "expected the hunk to end, found `+c`"),
    ("@@ -4294967295,2 +1 @@\n-a\n+b\n", "expected a hunk header, found `@@ -4294967295,2 +1 @@`"),
    ("@@ -0,1 +1 @@\n-a\n+b\n", "expected a hunk header, found `@@ -0,1 +1 @@`"),
];

#[test]
fn analyze_refuses_a_hunk_that_is_cut_off_or_has_impossible_counts() {
    let scratch = Scratch::on_a_branch();
    for (hunk, problem) in BROKEN_HUNKS {
        let text = format!("diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n{hunk}");
        let ran = scratch.tollgate_with(&["analyze", "--format", "json", "--diff", "-"], text.as_bytes(), &[]);
        assert_eq!(ran.stdout, "", "{hunk}");
        let stderr = ran.expect_refused(2);
        assert!(stderr.contains(problem) && stderr.contains("hint: The diff is cut off"), "{stderr}");
    }
}

#[test]
fn review_refuses_a_patch_with_a_broken_hunk() {
    let scratch = Scratch::on_a_branch();
    for (hunk, problem) in BROKEN_HUNKS {
        let text = format!("diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n{hunk}");
        let ran = scratch.tollgate_with(&["review", "--diff", "-"], text.as_bytes(), &[]);
        let stderr = ran.expect_refused(2);
        assert!(stderr.contains(problem) && stderr.contains("hint: The diff is cut off"), "{stderr}");
    }
}

#[test]
fn analyze_calls_generated_what_the_base_does() {
    let scratch = Scratch::empty();
    scratch.write(".gitattributes", "api/* linguist-generated\n").commit("start");
    scratch.git(&["switch", "-q", "-c", "work"]);
    scratch.write("api/a.js", LOOP).write("b.js", LOOP).write(".gitattributes", "* linguist-generated\n");
    let text = scratch.tollgate(&["analyze", "--format", "json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let files = json["files"].as_array().unwrap().iter().filter(|file| file["generated"] == true);
    assert_eq!(files.map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>(), ["api/a.js"]);
}

#[cfg(unix)]
#[test]
fn a_report_is_written_through_a_link_and_not_in_its_place() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", LOOP).write(".git/r.json", "");
    std::os::unix::fs::symlink(".git/r.json", scratch.path().join("link.json")).unwrap();
    scratch.tollgate(&["review", "--format", "json", "-o", "link.json"]).expect(1);
    assert!(scratch.path().join("link.json").symlink_metadata().unwrap().is_symlink());
    assert!(scratch.read(".git/r.json").contains("js-async-foreach"));
}
