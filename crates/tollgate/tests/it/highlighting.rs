//! Syntax highlighting by real child processes.

use std::path::Path;

use tollgate_engine::config::Limits;
use tollgate_engine::reviewer::embedded::colour::{Span, colour, grammar};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

/// The highlighted tokens of each text, as `k:fn f:main`; `none` for an unknown language.
fn coloured(program: &Path, texts: &[(&str, &str)]) -> Vec<String> {
    let asked: Vec<(&str, &[u8])> =
        texts.iter().map(|(path, text)| (grammar(path.as_bytes()).unwrap_or("none"), text.as_bytes())).collect();
    let limits = Limits { file_seconds: 2, ..Limits::default() };
    let spans = colour(program, limits, &asked);
    let words = |(spans, (_, text)): (&Option<Vec<Span>>, &(&str, &str))| match spans {
        Some(spans) => {
            let word = |Span(start, end, class): &Span| {
                format!("{}:{}", class.letter(), &text[*start as usize..*end as usize])
            };
            spans.iter().map(word).collect::<Vec<_>>().join(" ")
        }
        None => "none".to_owned(),
    };
    spans.iter().zip(texts).map(words).collect()
}

#[test]
fn texts_of_many_languages_have_colours() {
    let texts = [
        ("a.rs", "fn main() {} // ü"),
        ("b.go", "func main() { x := \"s\" }"),
        ("c.yml", "key: 1"),
        ("d.tsx", "const a = <b>1</b>;"),
        ("e.txt", "plain"),
        ("f.tf", "a = 1"),
    ];
    assert_eq!(
        coloured(Path::new(PROGRAM), &texts),
        ["k:fn f:main c:// ü", "k:func f:main s:\"s\"", "p:key n:1", "k:const k:b k:b", "none", "none"]
    );
}

#[test]
fn a_text_that_crashes_its_child_costs_only_its_own_colours() {
    let crashes = format!("val x = \"{}{}\"\n", "${\"".repeat(3000), "\"}".repeat(3000));
    let texts = [("a.rs", "fn a() {}"), ("b.kt", crashes.as_str()), ("c.rs", "fn c() {}")];
    assert_eq!(coloured(Path::new(PROGRAM), &texts), ["k:fn f:a", "none", "k:fn f:c"]);
}

#[test]
fn a_text_that_is_too_long_or_no_text_has_none() {
    let long = "fn a() {}\n".repeat(60_000);
    assert_eq!(coloured(Path::new(PROGRAM), &[("a.rs", long.as_str())]), ["none"]);
    let spans = colour(Path::new(PROGRAM), Limits::default(), &[("Rust", b"fn a() {} // \xff")]);
    assert_eq!(spans, [None]);
}

#[test]
#[cfg(unix)]
fn a_child_that_says_nothing_is_not_waited_for() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("silent");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 3600\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(coloured(&program, &[("a.rs", "fn a() {}")]), ["none"]);
}
