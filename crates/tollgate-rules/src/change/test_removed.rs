//! Detects removed tests of remaining code.
//!
//! A test that is added again under its name was moved. When the change adds as
//! many tests as it removes, they were rewritten; when it removes functions from
//! the program, their tests go with them.

use std::collections::HashSet;

use tollgate_core::diff::Status;

use crate::change::syntax;
use crate::change::view::{File, Reporter, View, names};

/// Maximum number of lines of a test that are read.
const MAX_TEST_LINES: usize = 30;

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    if !view.files.iter().any(|file| file.removed().next().is_some()) {
        return;
    }
    let added: HashSet<String> = view.files.iter().flat_map(|file| tests(file, true)).map(|(_, name)| name).collect();
    let removed: Vec<(&File<'_>, Vec<(usize, String)>)> =
        view.files.iter().map(|file| (file, tests(file, false))).collect();
    let removed_names: HashSet<&String> = removed.iter().flat_map(|(_, tests)| tests).map(|(_, name)| name).collect();
    let n_new = added.iter().filter(|name| !removed_names.contains(name)).count();
    let n_gone = removed_names.iter().filter(|name| !added.contains(**name)).count();
    if n_gone <= n_new
        || view.declared.is_removal()
        || shrinks(view)
        || syntax::removes_code(view)
        || !syntax::touches_program(view)
    {
        return;
    }
    let lost = syntax::gone_names(view);
    for (file, tests) in removed {
        // New tests in the same file mean that old ones were merged or rewritten.
        if file.diff.status != Status::Deleted && !self::tests(file, true).is_empty() {
            continue;
        }
        let gone = |(index, name): &&(usize, String)| !added.contains(name) && !about(file, *index, &lost);
        let gone: Vec<&(usize, String)> = tests.iter().filter(gone).collect();
        let Some(&&(first, ref name)) = gone.first() else { continue };
        let message = match gone.len() {
            1 => format!("test `{name}` removed while the code under test remains"),
            n_tests => format!("{n_tests} tests removed, `{name}` first, while the code under test remains"),
        };
        reporter.report(file, first..first + 1, Some(message));
    }
}

/// The tests that the added or the removed lines of a file declare.
fn tests(file: &File<'_>, added: bool) -> Vec<(usize, String)> {
    let side =
        file.lines.iter().enumerate().filter(|(_, line)| if added { line.is_added() } else { line.is_removed() });
    side.filter_map(|(index, _)| Some((index, syntax::test_name(file, index)?))).collect()
}

/// True when the test names code that the change removes.
fn about(file: &File<'_>, index: usize, gone: &HashSet<&str>) -> bool {
    let lines = file.lines[index..].iter().take(MAX_TEST_LINES).take_while(|line| line.is_removed());
    lines.flat_map(|line| names(&line.text)).any(|name| gone.contains(name))
}

/// True when the program gets smaller, because a feature is removed with its tests. Reverts do not count.
fn shrinks(view: &View<'_>) -> bool {
    let sources = || view.files.iter().filter(|file| file.is_source()).map(|file| file.diff);
    let (n_added, n_removed) = (
        sources().map(|diff| u64::from(diff.n_added)).sum::<u64>(),
        sources().map(|diff| u64::from(diff.n_removed)).sum::<u64>(),
    );
    n_removed > n_added && !view.declared.title.to_ascii_lowercase().starts_with("revert")
}
