//! Detects bug fixes that leave the existing test of the fixed file unchanged.

use std::collections::HashMap;

use crate::change::path;
use crate::change::syntax;
use crate::change::view::{File, Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    if !view.declared.fix || view.files.iter().any(|file| file.is_test) {
        return;
    }
    let sources: Vec<&File<'_>> = view.files.iter().filter(|file| file.stays() && file.is_source()).collect();
    // A hunk inside the test module of a Rust file counts as a changed test.
    let in_tests = |file: &File<'_>| file.hunks.iter().any(|hunk| syntax::in_test(file, hunk.end.saturating_sub(1)));
    if sources.iter().any(|file| in_tests(file)) {
        return;
    }
    let tests: HashMap<(String, &str), &str> = view
        .declared
        .paths
        .iter()
        .filter(|path| path::is_test(path) && is_named_test(path))
        .map(|path| ((subject(path), path::ending(path)), path.as_str()))
        .collect();
    for file in sources {
        let first = file.lines.iter().position(|line| line.is_added() && !line.is_blank() && !line.is_comment());
        let test = tests.get(&(subject(&file.path), path::ending(&file.path)));
        if let (Some(index), Some(test)) = (first, test) {
            let message = format!("bug fix without a change to its test `{test}`");
            reporter.report(file, index..index + 1, Some(message));
            return;
        }
    }
}

/// The subject of a file, equal for a source file and its test; the path itself for generic names.
fn subject(path: &str) -> String {
    const VAGUE: &[&str] = &[
        "index",
        "mod",
        "main",
        "utils",
        "util",
        "app",
        "init",
        "types",
        "views",
        "models",
        "helpers",
        "server",
        "config",
        "lib",
        "common",
        "base",
        "core",
        "constants",
    ];
    let name = path::name(path);
    let stem = name.split('.').next().unwrap_or(name);
    let bare: String = stem.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let bare = if path::is_test(path) {
        let bare = bare.strip_prefix("test").unwrap_or(&bare);
        let ends = ["tests", "test", "spec"];
        ends.iter().find_map(|end| bare.strip_suffix(end)).unwrap_or(bare).to_owned()
    } else {
        bare
    };
    if VAGUE.contains(&bare.as_str()) { path.to_owned() } else { bare }
}

/// True when the file name marks a test; shared test helpers are marked by their directory only.
fn is_named_test(path: &str) -> bool {
    let name = path::name(path).to_ascii_lowercase();
    name.contains("test") || name.contains("spec")
}
