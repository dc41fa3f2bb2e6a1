//! Tests are deleted though the code they test stays.
//!
//! A test that appears again under its name was moved. When the change adds as
//! many tests as it removes, they were rewritten; when it removes functions from
//! the program, their tests rightly go with them.

use std::collections::HashSet;

use crate::change::syntax;
use crate::change::view::{File, Found, View};

pub(crate) fn scan(view: &View<'_>, found: &mut Found) {
    let tests = |file: &File<'_>, added: bool| -> Vec<(usize, String)> {
        let side =
            file.lines.iter().enumerate().filter(|(_, line)| if added { line.is_added() } else { line.is_removed() });
        side.filter_map(|(index, _)| Some((index, syntax::test_name(file, index)?))).collect()
    };
    let added: HashSet<String> = view.files.iter().flat_map(|file| tests(file, true)).map(|(_, name)| name).collect();
    let removed: Vec<(&File<'_>, Vec<(usize, String)>)> =
        view.files.iter().map(|file| (file, tests(file, false))).collect();
    let removed_names: HashSet<&String> = removed.iter().flat_map(|(_, tests)| tests).map(|(_, name)| name).collect();
    let n_new = added.iter().filter(|name| !removed_names.contains(name)).count();
    let n_gone = removed_names.iter().filter(|name| !added.contains(**name)).count();
    if n_gone <= n_new || syntax::removes_code(view) || !touches_program(view) {
        return;
    }
    for (file, tests) in removed {
        let gone: Vec<&(usize, String)> = tests.iter().filter(|(_, name)| !added.contains(name)).collect();
        // What a diff shows as removed can be the top of a function whose end went on with another.
        let Some(&&(first, ref name)) = gone.first() else { continue };
        let message = match gone.len() {
            1 => format!("the test `{name}` is deleted, the code it tests is not"),
            n_tests => format!("{n_tests} tests are deleted, from `{name}` on; the code they test is not"),
        };
        found.report(file, first..first + 1, Some(message));
    }
}

/// Housekeeping among tests alone is not a loss of cover for what changes.
fn touches_program(view: &View<'_>) -> bool {
    view.files.iter().any(|file| {
        file.is_source()
            && file.lines.iter().enumerate().any(|(index, line)| {
                (line.is_added() || line.is_removed())
                    && !line.is_blank()
                    && !line.is_comment()
                    && !syntax::in_test(file, index)
            })
    })
}
