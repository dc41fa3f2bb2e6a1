//! Properties of the text rules that hold for every change.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_core::diff;
use tollgate_rules::hit::Hit;
use tollgate_rules::text;

/// Fragments that detectors react to, so that random text exercises their code.
const PIECES: &[&str] = &[
    "AKIA",
    "ghp_",
    "npm_",
    "sk-ant-",
    "eyJh",
    "eyJ0",
    ".",
    ":AAE",
    "123456789",
    "password",
    "API_KEY",
    "token",
    " = ",
    ": ",
    "=",
    "\"",
    "'",
    "\\",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "MII",
    "://",
    "https://",
    "@",
    "db.acme.io",
    "<<<<<<< HEAD",
    "=======",
    ">>>>>>> x",
    "\u{202e}",
    "\u{200b}",
    "\u{fe0f}",
    "p\u{430}ss",
    "é",
    "FROM ",
    "RUN ",
    "ENV ",
    "curl -k ",
    "| sh",
    "DELETE FROM ",
    "ALTER TABLE t ",
    "ADD ",
    "NOT NULL",
    ";",
    "--",
    "/*",
    "*/",
    "CREATE USER x PASSWORD ",
    "9f8Tq2LmWz7Rk4Yb",
    "kX9#mQ2vLp",
    " ",
    "T3BlbkFJ",
    "AccountKey=",
    "aws_secret_access_key",
    "Copyright (c) 2020",
    "(",
    ")",
    ",",
];

const PATHS: &[&str] =
    &["src/a.js", "Dockerfile", "db/migrations/1.sql", ".env", "README.md", "tests/a.py", "locales/he.json"];

fn line() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        2 => "[A-Za-z0-9+/_-]{1,40}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat().into_iter().filter(|byte| *byte != b'\n').collect())
}

/// A change of one file: its lines cut into hunks, one right after the other.
fn change(path: &str, hunks: &[&[Vec<u8>]]) -> Vec<u8> {
    let mut text = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n").into_bytes();
    let mut new = 1;
    for (old, lines) in (1..).zip(hunks) {
        text.extend(format!("@@ -{old},0 +{new},{} @@\n", lines.len()).into_bytes());
        for line in *lines {
            text.push(b'+');
            text.extend(line);
            text.push(b'\n');
        }
        new += lines.len();
    }
    text
}

fn scan(text: Vec<u8>) -> Vec<Hit> {
    diff::parse(text).0.iter().flat_map(|file| text::scan(file, &|_| true)).collect()
}

proptest! {
    #[test]
    fn no_change_makes_the_rules_fail(path in prop::sample::select(PATHS), lines in vec(line(), 0..12)) {
        let hits = scan(change(path, &[&lines]));
        for hit in &hits {
            prop_assert!(hit.line_start >= 1 && hit.line_start <= hit.line_end);
            prop_assert!(!hit.evidence.is_empty() && hit.evidence.chars().count() <= 400);
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in vec(any::<u8>(), 0..400)) {
        let mut text = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,9 @@\n+".to_vec();
        text.extend(bytes);
        scan(text);
    }

    /// Each line is scanned independently of how git cuts the change into hunks.
    #[test]
    fn secrets_do_not_depend_on_the_cut_into_hunks(lines in vec(line(), 1..10), cut in 0usize..10) {
        let (head, tail) = lines.split_at(cut.min(lines.len()));
        let of_lines = |hits: Vec<Hit>| -> Vec<(String, u32, String)> {
            let lines = hits.into_iter().filter(|hit| hit.rule.starts_with("secret") && hit.rule != "secret-private-key");
            lines.map(|hit| (hit.rule, hit.line_start, hit.evidence)).collect()
        };
        let (whole, parts) = (scan(change("src/a.js", &[&lines])), scan(change("src/a.js", &[head, tail])));
        prop_assert_eq!(of_lines(whole), of_lines(parts));
    }

    #[test]
    fn masking_twice_is_masking_once(lines in vec(line(), 0..6)) {
        let text = String::from_utf8_lossy(&lines.join(&b'\n')).into_owned();
        let once = text::mask::mask(&text).into_owned();
        prop_assert_eq!(text::mask::mask(&once).into_owned(), once);
    }
}

/// No rule may leak the secret, neither its own rule nor one that quotes the line as evidence.
#[test]
fn a_secret_is_never_shown() {
    let secret = "9f8Tq2LmWz7Rk4YbXc3N";
    let lines = [
        ("src/a.js", format!("const apiToken = \"{secret}\"; p\u{430}ss()")),
        ("src/a.js", format!("x\u{202e} = https://bob:{secret}@git.acme.io/")),
        ("Dockerfile", format!("ENV API_TOKEN={secret}")),
        ("Dockerfile", format!("RUN curl -k https://bob:{secret}@git.acme.io/x")),
        ("db/a.sql", format!("CREATE USER app PASSWORD '{secret}';")),
    ];
    for (path, line) in lines {
        let hits = scan(change(path, &[&[line.clone().into_bytes()]]));
        assert!(!hits.is_empty(), "{line}");
        for hit in hits {
            assert!(!format!("{hit:?}").contains(&secret[4..]), "{hit:?}");
        }
    }
}

/// A line of almost a megabyte, full of candidates.
#[test]
fn one_secret_among_many_clues_is_found_once() {
    let mut line = "token token=\"x\" AKIA eyJh. ://a:b@c ".repeat(20_000);
    line.push_str("ASIA");
    line.push_str("QJ5SLMQ2VWTX7PDR ");
    let hits = scan(change("src/a.js", &[&[line.into_bytes()]]));
    assert_eq!(hits.iter().map(|hit| hit.rule.as_str()).collect::<Vec<_>>(), ["secret-aws-key-id"]);
}
