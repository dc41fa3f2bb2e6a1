use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::diff;
use crate::finding::{Category, LineRange, Severity, Side};

/// Line numbers: `login` is 10 to 16 now; `import db` is line 2; `retry` is line 44.
const CHANGE: &str = "\
diff --git a/src/auth.py b/src/auth.py
--- a/src/auth.py
+++ b/src/auth.py
@@ -1,3 +1,3 @@
 import os
-import sqlite3
+import db
 
@@ -10,6 +10,7 @@ def login
 def login(user, password):
-    if user is None:
-        return False
-    return check(user, password)
+    query = \"SELECT * FROM users WHERE name = '\" + user + \"'\"
+    rows = db.execute(query)
+    if len(rows) <= 1:
+        return rows[0]
 
     
@@ -40,3 +41,5 @@ def retry
 def retry(call):
     while True:
+        log(call)
+        call()
         continue
diff --git a/src/old_name.js b/src/new_name.js
similarity index 90%
rename from src/old_name.js
rename to src/new_name.js
--- a/src/old_name.js
+++ b/src/new_name.js
@@ -5,2 +5,3 @@
 function render(user) {
+  element.innerHTML = user.name, render(user);
 }
diff --git a/gone.c b/gone.c
deleted file mode 100644
--- a/gone.c
+++ /dev/null
@@ -1,2 +0,0 @@
-int unused(void) {
-}
";

fn claim(file: &str, lines: &str, evidence: &str) -> Claim {
    let lines = lines.split_once('-').unwrap_or((lines, lines));
    let lines = lines.0.parse().ok().and_then(|start| LineRange::new(start, lines.1.parse().unwrap()));
    Claim {
        severity: Severity::High,
        category: Category::Security,
        file: Some(file.to_owned()).filter(|file| !file.is_empty()),
        lines,
        side: None,
        title: "something is wrong".to_owned(),
        reason: None,
        evidence: Some(evidence.to_owned()).filter(|evidence| !evidence.is_empty()),
        quotes: Vec::new(),
        suggestion: None,
        replacement: None,
    }
}

fn around(file: usize) -> &'static [(u32, String)] {
    static AROUND: std::sync::LazyLock<Vec<(u32, String)>> = std::sync::LazyLock::new(|| {
        let lines =
            [(7, "class Session:"), (8, "    token = None"), (9, "@audited(True)"), (10, "def login(user, password):")];
        lines.into_iter().map(|(number, text)| (number, text.to_owned())).collect()
    });
    if file == 0 { &AROUND } else { &[] }
}

/// `login` with its decorator.
fn functions(file: usize) -> Vec<LineRange> {
    if file == 0 { vec![LineRange::new(9, 16).unwrap()] } else { Vec::new() }
}

fn verified(claims: Vec<Claim>, sent: &dyn Fn(usize, usize) -> bool) -> Verified {
    let (files, refused) = diff::parse(CHANGE.as_bytes().to_vec());
    assert_eq!(refused, []);
    verify(
        claims,
        &ShownChange { files: &files, sent, around: &|file| around(file), functions: &functions, reviewer: "model" },
    )
}

fn said(finding: &Finding) -> String {
    let place = &finding.location;
    let side = if place.side == Side::Left { " LEFT" } else { "" };
    let verification = &finding.extra[VERIFICATION];
    let changed = verification.get("changed").map(|changed| format!(" {changed}").replace('"', "")).unwrap_or_default();
    format!("{}:{}{side} {}{changed}", place.file, place.lines, verification["state"].as_str().unwrap())
}

#[track_caller]
fn check_claim(claim: Claim, expected: &str) {
    let verified = verified(vec![claim], &|_, _| true);
    let refused = verified.withheld.iter().map(|held| format!("{}: {}", held.why.as_str(), held.why));
    let said: Vec<String> = verified.findings.iter().map(said).chain(refused).collect();
    assert_eq!(said.join("; "), expected);
}

#[track_caller]
fn check(file: &str, lines: &str, evidence: &str, expected: &str) {
    check_claim(claim(file, lines, evidence), expected);
}

const PY: &str = "src/auth.py";

#[test]
fn a_right_quote_on_the_right_line_stays() {
    check(PY, "12", "rows = db.execute(query)", "src/auth.py:12 exact");
    check(PY, "11-12", "rows = db.execute(query)", "src/auth.py:11-12 exact");
    check(PY, "13-14", "if len(rows) <= 1:\n        return rows[0]", "src/auth.py:13-14 exact");
}

#[test]
fn a_right_quote_on_a_wrong_line_moves_to_the_right_line() {
    check(PY, "99", "rows = db.execute(query)", "src/auth.py:12 exact [line]");
    check(PY, "1", "rows = db.execute(query)", "src/auth.py:12 exact [line]");
    check(PY, "", "db.execute(query)", "src/auth.py:12 exact [line]");
    check(PY, "1-400", "db.execute(query)", "src/auth.py:12 exact [line]");
    check(PY, "40", "if len(rows) <= 1:\n    return rows[0]", "src/auth.py:13-14 whitespace [line]");
}

#[test]
fn a_quote_may_have_line_numbers_and_markers() {
    for quote in [
        "+    rows = db.execute(query)",
        "       12 |+    rows = db.execute(query)",
        "12:     rows = db.execute(query)",
        "12+    rows = db.execute(query)",
        "=== modified, Python: src/auth.py\n@@ -10 +10 @@\n12+    rows = db.execute(query)",
        "```python\n    rows = db.execute(query)\n```",
        "`rows = db.execute(query)`",
        "@@ -10,6 +10,7 @@ def login\n+    rows = db.execute(query)",
    ] {
        check(PY, "12", quote, "src/auth.py:12 exact");
    }
    check(PY, "12", "rows=db.execute( query )", "src/auth.py:12 whitespace");
    check(PY, "12", "rows = db.execute(query);", "src/auth.py:12 nearest");
}

#[test]
fn a_number_that_may_be_code_must_be_the_lines_own() {
    check(PY, "", "41 def retry(call):", "src/auth.py:41 exact [line]");
    check(PY, "", "40 def retry(call):", "unverified: not verified: its evidence is nowhere in the change");
    check(PY, "11", "13-    return check(user, password)", "src/auth.py:13 LEFT exact [line,side]");
    check(PY, "", "40 def retry(call):\n41     while True:\n42+        log(call)", "src/auth.py:41-43 exact [line]");
}

#[test]
fn invisible_characters_match_as_the_escapes_that_were_sent() {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,0 +1,2 @@\n+if admin\u{202e} { check() }\r\n+x\r\n";
    let files = diff::parse(text.as_bytes().to_vec()).0;
    let shown = ShownChange {
        files: &files,
        sent: &|_, _| true,
        around: &|_| &[],
        functions: &|_| Vec::new(),
        reviewer: "model",
    };
    for quote in ["if admin\\u{202e} { check() }", "if admin\u{202e} { check() }"] {
        let verified = verify(vec![claim("a", "2", quote)], &shown);
        assert_eq!(verified.findings.iter().map(said).collect::<Vec<_>>(), ["a:1 exact [line]"], "{quote}");
    }
}

#[test]
fn an_invented_quote_is_unverified() {
    let nowhere = "unverified: not verified: its evidence is nowhere in the change";
    for quote in [
        "rows = db.execute_unsafe(query)",
        "if len(rows) < 1:",
        "if len(rows) >= 1:",
        "if not len(rows) <= 1:",
        "if len(rows) <= 2:",
        "rows = db.execute(querys)",
        "rows = await db.execute(query)",
        "row = db.execute(query)",
        "rows = db.execute(sql)",
        "query = \"SELECT * FROM accounts WHERE name = '\" + user + \"'\"",
        "rows = db.execute(query)\ncommit(rows)",
        "xecute(query)",
        "rows = db.exec",
        "eval(user_input)",
        "os.system(password)",
        "return rows[0]\nreturn rows[1]",
    ] {
        check(PY, "12", quote, nowhere);
    }
}

#[test]
fn half_a_name_at_the_end_of_a_long_quote_is_another_name() {
    let words: Vec<String> = (0..40).map(|number| format!("word_{number}")).collect();
    let line = words.join(" + ");
    let text = format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,0 +1,1 @@\n+{line}\n");
    let files = diff::parse(text.into_bytes()).0;
    let shown = ShownChange {
        files: &files,
        sent: &|_, _| true,
        around: &|_| &[],
        functions: &|_| Vec::new(),
        reviewer: "model",
    };
    let n_found = |quote: &str| verify(vec![claim("a", "1", quote)], &shown).findings.len();
    assert_eq!((n_found(&line), n_found(&line[..line.len() - 1])), (1, 0));
}

/// Typical inaccuracies of quotes that do not change their meaning.
#[test]
fn a_slightly_misquoted_quote_is_found() {
    let cases = [
        ("query = 'SELECT * FROM users WHERE name = \"' + user + '\"'", "src/auth.py:11 nearest [line]"),
        (r#"query = \"SELECT * FROM users WHERE name = '\" + user + \"'\""#, "src/auth.py:11 nearest [line]"),
        ("def login(user password)", "src/auth.py:10 nearest [line]"),
        ("query = \"SELECT * FROM users … rows = db.execute(query)", "src/auth.py:11-12 parts [line]"),
        ("def login(user, password):\n    ...\n    rows = db.execute(query)", "src/auth.py:10-12 parts [line]"),
        ("rows = db.execute(query)\n        return rows[0]", "src/auth.py:12-14 nearest [line]"),
    ];
    for (quote, expected) in cases {
        check(PY, "44", quote, expected);
    }
}

#[test]
fn a_quote_of_removed_lines_is_on_the_left() {
    check(PY, "11", "if user is None:\n        return False", "src/auth.py:11-12 LEFT exact [line,side]");
    check(PY, "13", "-    return check(user, password)", "src/auth.py:13 LEFT exact [side]");
    check("gone.c", "1", "int unused(void) {", "gone.c:1 LEFT exact [side]");
    check(PY, "2", "-import sqlite3\n+import db", "src/auth.py:2 exact");
    check("src/old_name.js", "6", "element.innerHTML = user.name", "src/new_name.js:6 exact [file]");
}

#[test]
fn a_quote_that_is_not_distinctive_counts_only_on_the_claimed_line() {
    check("src/new_name.js", "7", "}", "src/new_name.js:7 exact");
    check("src/new_name.js", "6", "}", "unverified: not verified: its evidence is nowhere in the change");
    check(PY, "45", "continue", "src/auth.py:45 exact");
    check(PY, "12", "continue", "unverified: not verified: its evidence is nowhere in the change");
    check(PY, "", "return", "unverified: not verified: its evidence is nowhere in the change");
}

#[test]
fn context_around_the_hunks_is_outside_the_change() {
    check(PY, "8", "token = None", "outside-change: on lines that the change does not touch");
    check(PY, "9", "@audited(True)\ndef login(user, password):", "src/auth.py:10 exact [line]");
}

#[test]
fn an_unchanged_line_of_a_function_that_the_change_touches_is_anchored_at_its_nearest_changed_line() {
    check(PY, "9", "@audited(True)", "src/auth.py:11 exact [line]");
    let verified = verified(vec![claim(PY, "9", "@audited(True)")], &|_, _| true);
    let finding = &verified.findings[0];
    assert_eq!(finding.evidence, "@audited(True)");
    assert_eq!(finding.extra[VERIFICATION]["anchored"], serde_json::json!({ "line_start": 9, "line_end": 9 }));
    let said = "something is wrong\n\nThe quoted code is on line 9, unchanged; anchored at line 11, the nearest changed \
                line of the function.";
    assert_eq!(finding.reason.as_deref(), Some(said));
}

#[test]
fn a_distinctive_quote_of_another_file_moves_there() {
    check("gone.c", "3", "rows = db.execute(query)", "src/auth.py:12 exact [file,line]");
    check("", "", "rows = db.execute(query)", "src/auth.py:12 exact [file,line]");
    check("gone.c", "1", "import db", "unverified: not verified: its evidence is nowhere in the change");
    check("gone.c", "1", "db.execute(", "unverified: not verified: its evidence is not in `gone.c`");
}

#[test]
fn a_claim_about_a_file_outside_the_change_is_unverified() {
    let why = "unverified: not verified: `src/other.py` is not in the change";
    check("src/other.py", "12", "rows = db.execute(query)", why);
    check("src/other.py", "12", "", why);
    check("", "12", "", "unverified: not verified: it names no file");
    check("", "12", "x = y(z)", "unverified: not verified: it names no file");
}

#[test]
fn a_claim_without_a_quote_is_unverified_at_every_line() {
    for lines in ["12", "12-300", "8-12", "19", "39", "25", "25-30", ""] {
        check(PY, lines, "", "unverified: not verified: it quotes no code");
    }
    for blank in [" ", "\n\t\n", "```\n```", "\u{feff}", "``", "`", "\u{200b}"] {
        let verified = verified(vec![claim(PY, "12", blank)], &|_, _| true);
        assert_eq!(verified.findings, [], "{blank:?}");
    }
    check("gone.c", "1", "", "unverified: not verified: it quotes no code");
    let held = &verified(vec![claim(PY, "12", "")], &|_, _| true).withheld[0].finding;
    assert_eq!(held.evidence, NOTHING_QUOTED);
}

#[test]
fn code_that_prose_quotes_in_backticks_counts_as_a_quote() {
    let quotes = |piece: &str, lines: &str| Claim { quotes: vec![piece.to_owned()], ..claim(PY, lines, "") };
    check_claim(quotes("db.execute(query)", "11"), "src/auth.py:12 exact [line]");
    check_claim(quotes("rows = db.execute(query)", ""), "src/auth.py:12 exact [line]");
    check_claim(quotes("db.execute(query)", "43"), "unverified: not verified: it quotes no code");
    check_claim(quotes("frobnicate(x)", "11"), "unverified: not verified: it quotes no code");
    let verified = verified(vec![quotes("db.execute(query)", "11")], &|_, _| true);
    assert_eq!(verified.findings[0].evidence, "db.execute(query)");
}

#[test]
fn a_claim_about_a_hunk_that_was_not_sent_is_unverified() {
    let claims = vec![claim(PY, "12", "rows = db.execute(query)"), claim(PY, "12", ""), claim(PY, "2", "import db")];
    let verified = verified(claims, &|file, hunk| (file, hunk) != (0, 1));
    assert_eq!(verified.findings.iter().map(said).collect::<Vec<_>>(), ["src/auth.py:2 exact"]);
    let why: Vec<String> = verified.withheld.iter().map(|held| held.why.to_string()).collect();
    assert_eq!(
        why,
        [
            "not verified: its evidence is not in the part of the change that was sent",
            "not verified: it quotes no code",
        ]
    );
}

#[test]
fn a_blocker_without_a_reason_gets_one_and_a_long_title_is_kept_whole() {
    let long = "the query is built from what the user typed, which lets anybody read the whole table of users";
    let quoted = || claim(PY, "12", "rows = db.execute(query)");
    let claims = vec![quoted(), Claim { title: long.to_owned(), ..quoted() }];
    let verified = verified(claims, &|_, _| true);
    let [first, second] = &verified.findings[..] else { panic!("{verified:?}") };
    assert_eq!(first.reason.as_deref(), Some("something is wrong"));
    assert_eq!(second.reason.as_deref(), Some(long));
    assert_eq!(second.origin.reviewer.as_deref(), Some("model"));
}

#[track_caller]
fn check_fix(lines: &str, evidence: &str, replacement: &str, expected: Option<(&str, &str)>) {
    let claim = Claim { replacement: Some(replacement.to_owned()), ..claim(PY, lines, evidence) };
    let verified = verified(vec![claim], &|_, _| true);
    let finding = &verified.findings[0];
    let fix = finding.fix.as_ref().map(|fix| (fix.lines.to_string(), fix.replacement.clone()));
    assert_eq!(fix.as_ref().map(|(lines, text)| (lines.as_str(), text.as_str())), expected);
    assert_eq!(finding.suggestion.is_some(), expected.is_some(), "a refused fix is not shown as a suggestion");
}

#[test]
fn a_replacement_is_a_fix_only_where_it_applies() {
    let safe = "rows = db.execute(query, [user])";
    let there = Some(("12", "    rows = db.execute(query, [user])"));
    check_fix("12", "rows = db.execute(query)", safe, there);
    check_fix("99", "rows = db.execute(query)", safe, there);
    check_fix("90-95", "rows = db.execute(query)", safe, None);
    check_fix("12", "rows = db.execute(query)", "    rows = db.execute(query)", None);
    check_fix("11", "if user is None:", "if not user:", None);
}

#[test]
fn of_several_matches_the_nearest_changed_one_wins() {
    let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,6 @@\n+save(item)\n x\n x\n save(item)\n x\n+save(item)\n\
                @@ -50,2 +52,3 @@\n-save(item)\n x\n+y\n+save(item)\n";
    let files = diff::parse(text.as_bytes().to_vec()).0;
    let shown = ShownChange {
        files: &files,
        sent: &|_, _| true,
        around: &|_| &[],
        functions: &|_| Vec::new(),
        reviewer: "model",
    };
    for (lines, side, expected) in [
        ("1", None, "a:1 exact"),
        ("5", None, "a:6 exact [line]"),
        ("29", None, "a:6 exact [line]"),
        ("54", None, "a:54 exact"),
        ("50", Some(Side::Left), "a:50 LEFT exact"),
        ("", None, "a:1 exact [line]"),
    ] {
        let verified = verify(vec![Claim { side, ..claim("a", lines, "save(item)") }], &shown);
        assert_eq!(said(&verified.findings[0]), expected);
    }
}

/// A change of one file with `n_lines` lines, some of them equal.
fn large(n_lines: usize) -> Vec<FileDiff> {
    let body: String = (0..n_lines)
        .map(|line| if line % 2 == 0 { "+same(line);\n".to_owned() } else { format!("+call_{line}(value);\n") })
        .collect();
    let text = format!("diff --git a/a b/a\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,{n_lines} @@\n{body}");
    diff::parse(text.into_bytes()).0
}

#[test]
fn the_work_for_a_claim_does_not_grow_with_the_change() {
    let work = |n_lines: usize| {
        let files = large(n_lines);
        let shown = ShownChange {
            files: &files,
            sent: &|_, _| true,
            around: &|_| &[],
            functions: &|_| Vec::new(),
            reviewer: "model",
        };
        // Each part of the last three occurs, but the whole does not.
        let (many, endless) = (["same(line);\n"; 38].concat(), ["same(line);\n"; 500].concat());
        let (many, endless) = (format!("{many}invented(value);"), format!("{endless}invented(value);"));
        let quotes =
            ["same(line);", "call_77(value);", "nowhere(value);", "a(…)\nsame(line)", many.as_str(), endless.as_str()];
        let claims = (0..200).map(|at| claim("a", &(at + 1).to_string(), quotes[at % quotes.len()])).collect();
        let (verified, n_compared) = counted(claims, &shown);
        assert_eq!(verified.findings.len() + verified.withheld.len(), 200);
        n_compared
    };
    let (small, big) = (work(2_000), work(200_000));
    assert!(big <= small * 2 && big < 200 * 4_000, "{small} comparisons in the small change, {big} in the large one");
}

/// Fragments of code and of decoration around quotes.
fn quote() -> impl Strategy<Value = String> {
    let pieces = [
        "rows = db.execute(query)",
        "import db",
        "return",
        "\n",
        " ",
        "+",
        "-",
        "12: ",
        "  11   12 | ",
        "…",
        "...",
        "```",
        "`",
        "}",
        "if",
        "é",
        "漢字漢字",
        "\u{0}",
        "x",
        "rows[0]",
        "\t",
        "name = '",
        "\\",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
}

fn any_claim() -> impl Strategy<Value = Claim> {
    let files = [PY, "gone.c", "src/old_name.js", "b/src/auth.py:3", "", "nowhere", "/x/gone.c", "..", "\u{0}"];
    let place = (prop::sample::select(files.to_vec()), 0u32..60, 0u32..60, 0usize..3);
    let words = (quote(), quote(), prop::option::of(quote()), prop::option::of(quote()), 0usize..6);
    (place, words).prop_map(|((file, start, more, side), (title, evidence, reason, replacement, severity))| Claim {
        severity: Severity::ALL[severity],
        side: [None, Some(Side::Left), Some(Side::Right)][side],
        lines: LineRange::new(start, start + more),
        title,
        reason,
        replacement,
        ..claim(file, "", &evidence)
    })
}

/// Invariants of all findings, and of verified ones with respect to the change.
fn check_laws(verified: &Verified, files: &[FileDiff]) -> Result<(), TestCaseError> {
    let withheld = verified.withheld.iter().map(|held| &held.finding);
    for finding in verified.findings.iter().chain(withheld) {
        prop_assert!(!finding.evidence.trim().is_empty());
        prop_assert!(
            !finding.severity.blocks() || finding.reason.as_deref().is_some_and(|text| !text.trim().is_empty())
        );
        prop_assert!(!format!("{finding:?}").contains("\\0"), "{finding:?}");
        prop_assert!(matches!(finding.extra[VERIFICATION]["state"], Value::String(_)));
    }
    for finding in &verified.findings {
        let place = &finding.location;
        let lines = files.iter().flat_map(|file| file.hunks.iter().flat_map(|hunk| file.lines(hunk)));
        let number = |line: crate::diff::Line<'_>| if place.side == Side::Left { line.old } else { line.new };
        let numbers: std::collections::HashSet<u32> = lines.filter_map(number).collect();
        prop_assert!(numbers.contains(&place.lines.start()) && numbers.contains(&place.lines.end()), "{place:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_claim_ends_in_one_of_the_lists(claims in prop::collection::vec(any_claim(), 0..6)) {
        let n_claims = claims.len();
        let files = diff::parse(CHANGE.as_bytes().to_vec()).0;
        let verified = verified(claims, &|_, _| true);
        prop_assert_eq!(verified.findings.len() + verified.withheld.len(), n_claims);
        check_laws(&verified, &files)?;
    }

    #[test]
    fn no_change_makes_it_fail(
        body in prop::collection::vec("[-+ ][a-z(){}; ]{0,8}|@@ -[0-9]{1,2},[0-9] \\+[0-9]{1,2},[0-9] @@|\\PC{0,8}", 0..20),
        claims in prop::collection::vec(any_claim(), 1..4),
    ) {
        let text = format!("diff --git a/gone.c b/gone.c\n--- a/gone.c\n+++ b/gone.c\n{}\n", body.join("\n"));
        let (files, _) = diff::parse(text.into_bytes());
        let shown = ShownChange { files: &files, sent: &|_, _| true, around: &|file| around(file), functions: &functions, reviewer: "model" };
        let n_claims = claims.len();
        let verified = verify(claims, &shown);
        prop_assert_eq!(verified.findings.len() + verified.withheld.len(), n_claims);
        check_laws(&verified, &files)?;
    }

    /// A quoted line of the change is found, regardless of the line number with it.
    #[test]
    fn a_quoted_line_is_found(index in 0usize..8, start in 1u32..99) {
        let files = diff::parse(CHANGE.as_bytes().to_vec()).0;
        let lines: Vec<(u32, String)> = files[0]
            .added()
            .map(|(number, text)| (number, String::from_utf8_lossy(text).into_owned()))
            .filter(|(_, text)| text.trim().len() > 9)
            .collect();
        let (number, text) = &lines[index % lines.len()];
        let verified = verified(vec![claim(PY, &start.to_string(), text)], &|_, _| true);
        prop_assert_eq!(verified.findings[0].location.lines.start(), *number);
    }
}
