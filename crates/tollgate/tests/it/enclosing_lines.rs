//! What encloses changed lines, asked of real children.

use std::path::Path;

use tollgate_core::finding::LineRange;
use tollgate_core::plan::Enclosing;
use tollgate_engine::config::Limits;
use tollgate_engine::reviewer::embedded::{Outlined, enclose, parse_errors};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

/// What encloses one line of each file, as `2-4 in 1`.
fn outline(program: &str, files: &[(&str, &str, u32)]) -> Vec<String> {
    let places: Vec<[LineRange; 1]> = files.iter().map(|(_, _, line)| [LineRange::line(*line)]).collect();
    let outlined: Vec<Outlined<'_>> = files
        .iter()
        .zip(&places)
        .map(|((path, text, _), places)| Outlined { path: path.as_bytes(), text: text.as_bytes(), places })
        .collect();
    let enclosing = enclose(Path::new(program), Limits::default(), &outlined);
    let show = |enclosing: &Option<Enclosing>| match enclosing {
        Some(Enclosing { lines: Some(lines), crumbs }) => format!("{lines} in {crumbs:?}"),
        Some(Enclosing { lines: None, crumbs }) => format!("in {crumbs:?}"),
        None => "none".to_owned(),
    };
    enclosing.iter().map(|places| places.iter().map(show).collect::<Vec<_>>().join(", ")).collect()
}

const CLASS: &str = "class A {\n  f() {\n    g();\n  }\n}\n";

/// Deep interpolation overflows what the grammar's scanner keeps of its state.
fn crashes() -> String {
    format!("val x = \"{}{}\"\n", "${\"".repeat(3000), "\"}".repeat(3000))
}

#[test]
fn a_file_that_crashes_its_child_costs_only_itself() {
    let crashes = crashes();
    let files = [("a.ts", CLASS, 3), ("b.kt", crashes.as_str(), 1), ("c.ts", CLASS, 3), ("d.txt", CLASS, 3)];
    assert_eq!(outline(PROGRAM, &files), ["2-4 in [1]", "none", "2-4 in [1]", "none"]);
}

#[test]
fn a_change_that_crashes_child_after_child_is_given_up() {
    let crashes = crashes();
    let mut files = vec![("a.kt", crashes.as_str(), 1); 40];
    files.push(("b.ts", CLASS, 3));
    assert_eq!(outline(PROGRAM, &files), vec!["none"; 41]);
}

#[test]
fn without_a_program_to_start_nothing_is_known() {
    assert_eq!(outline("/nowhere/tollgate", &[("a.ts", CLASS, 3)]), ["none"]);
}

#[test]
#[cfg(unix)]
fn nothing_is_started_when_there_is_nothing_to_ask() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    std::fs::write(&program, "#!/bin/sh\n: > \"$0.started\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let started = || folder.path().join("program.started").exists();
    let none = Outlined { path: b"a.ts", text: CLASS.as_bytes(), places: &[] };
    assert_eq!(enclose(&program, Limits::default(), &[none]), [vec![]]);
    outline(program.to_str().unwrap(), &[("a.txt", CLASS, 3)]);
    assert!(!started());
    outline(program.to_str().unwrap(), &[("a.ts", CLASS, 3)]);
    assert!(started());
}

#[test]
fn errors_of_a_text_are_counted_where_there_is_a_grammar() {
    let crashes = crashes();
    let texts: [(&[u8], &[u8]); 4] =
        [(b"a.ts", CLASS.as_bytes()), (b"b.ts", b"class {{"), (b"c.txt", b"class {{"), (b"d.kt", crashes.as_bytes())];
    let errors = parse_errors(Path::new(PROGRAM), Limits::default(), &texts);
    assert_eq!(errors[0], Some(0));
    assert!(errors[1].is_some_and(|n_errors| n_errors > 0), "{errors:?}");
    assert_eq!(errors[2..], [None, None]);
}
