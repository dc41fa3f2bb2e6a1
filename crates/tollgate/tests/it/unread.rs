//! What nobody has read is not approved: languages without rules, scripts inside other files, silenced reviews, large files.

use serde_json::Value;

use crate::scratch::{Ran, Scratch};

/// A secret in two pieces, so that this file holds none.
fn token() -> String {
    ["ghp_", "a9Y6yNd14tDdO9eGzMcNU77sVTUUJ53XhShQ"].concat()
}

fn review(scratch: &Scratch) -> (i32, Value) {
    let Ran { code, stdout, stderr } = scratch.tollgate(&["review", "--format", "json"]);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}")))
}

/// The rules with a finding in a file.
fn rules_in<'a>(review: &'a Value, file: &str) -> Vec<&'a str> {
    let findings = review["findings"].as_array().unwrap().iter();
    let there = findings.filter(|finding| finding["location"]["file"] == file);
    there.filter_map(|finding| finding["x_rule"].as_str()).collect()
}

#[test]
fn a_program_in_a_language_without_rules_is_not_reviewed() {
    for (name, text, language) in [
        ("a.swift", "print(1)\n", "Swift"),
        ("lib/a.dart", "main() {}\n", "Dart"),
        ("bin/tool", "#!/usr/bin/perl\nprint 1;\n", "perl"),
    ] {
        let scratch = Scratch::on_a_branch();
        scratch.write(name, text);
        let ran = scratch.tollgate(&["review"]);
        assert!(ran.stdout.contains(&format!("no rules for {language}")), "{}", ran.stdout);
        assert_eq!(ran.code, 1, "{name}: {}", ran.stdout);
        // Beside a file that was reviewed it stays unread.
        scratch.write("b.js", "run();\n");
        assert_eq!(review(&scratch).1["verdict"], "COMMENTED", "{name}");
    }
}

#[test]
fn documentation_data_and_styles_are_reviewed_as_text() {
    let scratch = Scratch::on_a_branch();
    scratch.write("README.md", "# More\n").write("docs/a.rst", "A\n=\n").write("a.css", "b { color: red }\n");
    scratch.write("a.json", "{}\n").write("LICENSE", "Do as you like.\n").write("Makefile", "all:\n\ttrue\n");
    let (code, review) = review(&scratch);
    assert_eq!((code, &review["verdict"]), (0, &"APPROVED".into()), "{review}");
}

#[test]
fn scripts_are_recognised_by_their_first_line_and_inside_other_files() {
    let scratch = Scratch::on_a_branch();
    let shell = "set -e\neval \"$1\"\n";
    let script = "items.forEach(async (item) => save(item));\n";
    scratch.write("bin/deploy", &format!("#!/bin/sh\n{shell}"));
    scratch.write("Rakefile", "task :a do\n  eval(params[:x])\nend\n");
    scratch.write("page.html", &format!("<p>a</p>\n<script>\n{script}</script>\n"));
    scratch.write("A.vue", &format!("<template><b/></template>\n<script lang=\"ts\">\n{script}</script>\n"));
    scratch.write("A.svelte", &format!("<script>\n{script}</script>\n<b/>\n"));
    let steps = "jobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          eval \"$1\"\n";
    scratch.write(".github/workflows/a.yml", steps);
    let cell = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"import yaml\\n\",\n    \"yaml.load(open(path))\\n\"\n   ]\n  }\n ]\n}\n";
    scratch.write("a.ipynb", cell);
    let (_, review) = review(&scratch);
    for (file, rule) in [
        ("bin/deploy", "bash-eval-argument"),
        ("page.html", "js-async-foreach"),
        ("A.vue", "js-async-foreach"),
        ("A.svelte", "js-async-foreach"),
        (".github/workflows/a.yml", "bash-eval-argument"),
        ("Rakefile", "ruby-eval-request"),
        ("a.ipynb", "py-yaml-load"),
    ] {
        assert!(rules_in(&review, file).contains(&rule), "{file}: {review}");
    }
}

#[test]
fn a_secret_is_found_in_files_that_nothing_else_reads() {
    let scratch = Scratch::on_a_branch();
    let files = ["dist/index.js", "vendor/a.py", "a.min.js", "package-lock.json", "node_modules/a/b.js", "go.sum"];
    for file in files {
        scratch.write(file, &format!("var a = \"{}\";\n", token()));
    }
    let (code, review) = review(&scratch);
    assert_eq!(code, 1);
    for file in files {
        assert_eq!(rules_in(&review, file), ["secret-github-token"], "{file}");
    }
}

#[test]
fn a_token_is_found_as_the_user_of_an_address() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.sh", &format!("git clone https://{}@git.acme.io/app\n", token()));
    scratch
        .write("b.sh", &format!("git clone https://{}@git.acme.io/app\n", ["glpat-", "XE6QNWPfZxa9uCzQVPSn"].concat()));
    let (_, review) = review(&scratch);
    assert_eq!(rules_in(&review, "a.sh"), ["secret-github-token"]);
    assert_eq!(rules_in(&review, "b.sh"), ["secret-gitlab-token"]);
}

#[test]
fn a_comment_that_suppresses_is_a_finding_that_names_what_it_hides() {
    let scratch = Scratch::on_a_branch();
    let mark = "// tollgate:ignore js-async-foreach order does not matter";
    scratch.write("a.js", &format!("{mark}\nitems.forEach(async (item) => save(item));\n"));
    let (code, review) = review(&scratch);
    assert_eq!((code, &review["verdict"]), (0, &"COMMENTED".into()));
    let summary = &review["findings"][0]["summary"];
    assert_eq!(summary, "suppresses High: async callback in `forEach` is not awaited");
}

#[test]
fn a_wildcard_does_not_hide_a_critical_finding() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", &format!("const a = \"{}\"; // tollgate:ignore * trust me\n", token()));
    let ran = scratch.tollgate(&["review"]);
    assert!(ran.stderr.contains("a Critical finding is not suppressed by `*`") || ran.stdout.contains("by `*`"));
    assert_eq!(ran.code, 1, "{}", ran.stdout);
}

#[test]
fn a_branch_that_disables_every_rule_is_not_approved() {
    let scratch = Scratch::on_a_branch();
    scratch.write("a.js", "items.forEach(async (item) => save(item));\n");
    scratch.write(".tollgate.toml", "[rules]\ndisable = [\"*\"]\n");
    let ran = scratch.tollgate(&["review"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("every rule is disabled") && said.contains("review configuration weakened"), "{said}");
}

#[test]
fn a_large_file_is_reviewed_in_pieces() {
    let scratch = Scratch::on_a_branch();
    let mut text = format!("// {}\n", "x".repeat(100)).repeat(14_000);
    text.push_str("items.forEach(async (item) => save(item));\n");
    scratch.write("a.js", &text);
    let (code, review) = review(&scratch);
    assert_eq!(code, 1);
    assert!(rules_in(&review, "a.js").contains(&"js-async-foreach"), "{}", review["findings"]);
    assert!(!review.to_string().contains("larger than"), "{review}");
}
