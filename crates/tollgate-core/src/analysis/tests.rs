//! Tests of the analysis as a whole; paths, keywords and declarations are tested in their modules.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::json::AnalysisJson;
use super::*;
use crate::diff::parse;

const CHANGE: &str = "\
diff --git a/src/login.rs b/src/session.rs
similarity index 90%
rename from src/login.rs
rename to src/session.rs
index 1111111..2222222 100644
--- a/src/login.rs
+++ b/src/session.rs
@@ -9,3 +9,3 @@ fn main() {
 // the author
-pub fn log_in() {
+fn log_in(password: &str) {
 }
diff --git a/Cargo.lock b/Cargo.lock
index 1111111..2222222 100644
--- a/Cargo.lock
+++ b/Cargo.lock
@@ -3 +3 @@
-version = \"1\"
+version = \"2\"
diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml
index 1111111..2222222 100644
--- a/.github/workflows/ci.yml
+++ b/.github/workflows/ci.yml
@@ -1,2 +1,4 @@
 on: push
+# permissions: none
+permissions: write-all
 jobs:
diff --git a/tests/a.py b/tests/a.py
deleted file mode 100644
index 1111111..0000000
--- a/tests/a.py
+++ /dev/null
@@ -1,2 +0,0 @@
-def test_a():
-    assert True
\\ No newline at end of file
diff --git a/db/migrations/1.sql b/db/migrations/1.sql
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/db/migrations/1.sql
@@ -0,0 +1 @@
+drop table users;
diff --git a/docs/a.png b/docs/a.png
new file mode 100644
index 0000000..2222222
Binary files /dev/null and b/docs/a.png differ
";

#[test]
fn the_text_has_a_table_the_totals_and_the_risks() {
    assert_snapshot!(render(&analyze_bytes(CHANGE.as_bytes())), @"
    source  Rust    +1  -1  src/session.rs (renamed from src/login.rs)
    config  TOML    +1  -1  Cargo.lock (generated)
    infra   YAML    +2  -0  .github/workflows/ci.yml
    test    Python  +0  -2  tests/a.py (deleted)
    source  SQL     +1  -0  db/migrations/1.sql (new)
    docs            +0  -0  docs/a.png (new, binary)
    6 files, +5 -4: 2 source, 1 test, 1 config, 1 docs, 1 infra

    Risks
      auth                src/session.rs:10
      public-api-removed  src/session.rs:10
      dependencies        Cargo.lock:3
      ci-permissions      .github/workflows/ci.yml:3
      deleted-tests       tests/a.py:1
      sql                 db/migrations/1.sql:1
      migration           db/migrations/1.sql:1
    ");
}

#[test]
fn json_field_names_are_stable() {
    let start = &CHANGE[..CHANGE.find("diff --git a/Cargo.lock").unwrap()];
    let json = AnalysisJson::from(&analyze_bytes(start.as_bytes()));
    assert_snapshot!(serde_json::to_string_pretty(&json).unwrap(), @r#"
    {
      "files": [
        {
          "path": "src/session.rs",
          "old_path": "src/login.rs",
          "status": "renamed",
          "category": "source",
          "language": "Rust",
          "added": 1,
          "removed": 1,
          "binary": false,
          "generated": false
        }
      ],
      "totals": {
        "files": 1,
        "added": 1,
        "removed": 1
      },
      "files_by_category": {
        "source": [
          "src/session.rs"
        ]
      },
      "files_by_language": {
        "Rust": [
          "src/session.rs"
        ]
      },
      "risks": [
        {
          "risk": "auth",
          "path": "src/session.rs",
          "line": 10
        },
        {
          "risk": "public-api-removed",
          "path": "src/session.rs",
          "line": 10
        }
      ]
    }
    "#);
}

#[test]
fn the_schema_describes_the_output() {
    let schema = schemars::schema_for!(AnalysisJson);
    let json = serde_json::to_value(AnalysisJson::from(&analyze_bytes(CHANGE.as_bytes()))).unwrap();
    let validator = jsonschema::validator_for(schema.as_value()).unwrap();
    assert_eq!(validator.iter_errors(&json).map(|error| error.to_string()).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_path_cannot_break_the_table() {
    let text = "diff --git \"a/x\\n\\033[2J\\t.rs\" \"b/x\\n\\033[2J\\t.rs\"\nold mode 100644\nnew mode 100755\n";
    assert_snapshot!(render(&analyze_bytes(text.as_bytes())), @r"
    source  Rust  +0  -0  x\n\u{1b}[2J\t.rs
    1 file, +0 -0: 1 source
    ");
}

#[test]
fn an_empty_diff_has_totals_of_zero() {
    assert_snapshot!(render(&analyze_bytes(b"")), @"0 files, +0 -0");
}

#[test]
fn attributes_decide_what_is_generated() {
    let attribute = |path: &[u8]| (path != b"tests/a.py").then_some(path.ends_with(b".rs"));
    let analysis = Analyzer::new(&attribute).finish(CHANGE.as_bytes());
    let generated: Vec<_> = analysis.files.iter().map(|file| file.generated).collect();
    assert_eq!(generated, [true, false, false, false, false, false]);
    assert_eq!(analyze_with(&parse(CHANGE.as_bytes().to_vec()).0, &attribute), analysis);
}

#[track_caller]
fn check_risks(path: &str, added: &str, expected: &str) {
    let n_lines = added.lines().count();
    let added = added.replace('\n', "\n+");
    let text = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -4,0 +5,{n_lines} @@\n+{added}\n");
    let analysis = analyze_bytes(text.as_bytes());
    assert_eq!(analysis.refused, []);
    let shown = analysis.risks.iter().map(|risk| format!("{}:{}", risk.kind.name(), risk.line.unwrap_or(0)));
    assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{path}");
}

#[test]
fn each_kind_is_reported_once_per_file_at_its_first_occurrence() {
    check_risks("src/a.rs", "x\nlet password = 1;\nauth()\nmd5(x)", "auth:6 crypto:8");
    check_risks("src/a.py", "q('x')\n\"SELECT a FROM b\"", "sql:6");
}

#[test]
fn keywords_are_not_searched_in_prose_tests_and_generated_files() {
    for path in ["README.md", "tests/a.rs", "vendor/a.go", "docs/x.html"] {
        check_risks(path, "password md5", "");
    }
}

#[test]
fn migrations_and_dependencies_are_recognized_by_path() {
    check_risks("db/migrate/1_users.rb", "add_column", "migration:5");
    check_risks("sql/V1__users.sql", "x", "sql:5 migration:5");
    check_risks("app/alembic/versions/1.py", "x", "migration:5");
    check_risks("package.json", "x", "dependencies:5");
    check_risks("requirements/dev.txt", "x", "");
    check_risks("requirements-dev.txt", "x", "dependencies:5");
    check_risks("tests/fixtures/package.json", "x", "");
}

#[test]
fn ci_permissions_are_recognized_in_changed_lines() {
    check_risks(".github/workflows/a.yml", "run: x\n  contents: write", "ci-permissions:6");
    check_risks(".github/workflows/a.yml", "on: pull_request_target", "ci-permissions:5");
    check_risks(".github/workflows/a.yml", "run: make", "");
    check_risks("src/a.yml", "permissions: write-all", "");
}

#[test]
fn large_files_are_reported() {
    check_risks("src/a.rs", &["x"; 1_000].join("\n"), "");
    check_risks("src/a.rs", &["x"; 1_001].join("\n"), "large-file:5");
    check_risks("dist/a.js", &["x"; 1_001].join("\n"), "");
}

/// Analyzes a diff in pieces of the given size.
fn in_pieces(text: &[u8], n_bytes: usize) -> Analysis {
    let mut analyzer = Analyzer::new(NO_ATTRIBUTE);
    let (mut done, mut end) = (0, 0);
    while end < text.len() {
        end = text.len().min(end + n_bytes);
        done += analyzer.push(&text[done..end]);
    }
    analyzer.finish(&text[done..])
}

#[test]
fn a_file_larger_than_the_window_is_read_whole() {
    let lines = ["x"; 400_000].join("\n+");
    let text = format!("{CHANGE}diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,400000 @@\n+{lines}\n{CHANGE}");
    let analysis = analyze_reader(text.as_bytes(), NO_ATTRIBUTE).unwrap();
    assert_eq!(analysis, analyze_bytes(text.as_bytes()));
    assert_eq!((analysis.files.len(), analysis.totals().n_added), (13, 400_010));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_pass_gives_what_the_parsed_diff_gives(
        lines in prop::collection::vec(prop::sample::select(CHANGE.lines().collect::<Vec<_>>()), 0..60),
        damage in prop::collection::vec((0usize..3000, any::<u8>()), 0..3),
        piece in 1usize..2000,
    ) {
        let mut text = [CHANGE, &lines.join("\n")].concat().into_bytes();
        for (at, byte) in damage {
            let at = at % text.len();
            text[at] = byte;
        }
        let mut fast = analyze_bytes(&text);
        prop_assert_eq!(&in_pieces(&text, piece), &fast);
        prop_assert_eq!(&analyze_reader(text.as_slice(), NO_ATTRIBUTE).unwrap(), &fast);
        let (files, refused) = parse(text);
        prop_assert_eq!(std::mem::take(&mut fast.refused), refused);
        prop_assert_eq!(fast, analyze(&files));
    }
}

#[test]
fn a_change_of_type_and_the_text_of_a_mail_are_read_alike_in_pieces() {
    let changed = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/x\n+++ /dev/null\n\
                   @@ -1 +0,0 @@\n-a\ndiff --git a/x b/x\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n\
                   +++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n";
    let mail = format!("From {} Mon Sep 17\nSubject: x\n\ndiff --git a/no b/no\n---\n\n{changed}", "a".repeat(40));
    let text = format!("{mail}{changed}{mail}");
    let whole = analyze_bytes(text.as_bytes());
    assert_eq!(whole.files.len(), 3, "{whole:?}");
    assert!(whole.files.iter().all(|file| file.status == Status::Modified && file.n_added == 1 && file.n_removed == 1));
    for size in 1..text.len() {
        assert_eq!(in_pieces(text.as_bytes(), size), whole, "pieces of {size} bytes");
    }
}
