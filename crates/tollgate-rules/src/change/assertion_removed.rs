//! A test stays, but asserts less.

use std::collections::HashSet;

use crate::change::syntax;
use crate::change::view::{File, Reporter, View, names};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    if !view.files.iter().any(|file| file.removed().next().is_some())
        || syntax::removes_code(view)
        || !syntax::touches_program(view)
    {
        return;
    }
    if view.declared.is_removal() {
        return;
    }
    let gone = syntax::gone_names(view);
    for file in view.files.iter().filter(|file| file.stays()) {
        // A test with another name tests something else.
        if file.removed().any(|(index, _)| syntax::test_name(file, index).is_some()) {
            continue;
        }
        for hunk in &file.hunks {
            let asserts = |line: &&crate::change::view::Line<'_>| syntax::is_assertion(line);
            // An assertion that was rewritten has its new form near.
            if file.added_in(hunk).any(|line| asserts(&line)) || file.removed_in(hunk).any(syntax::is_declaration) {
                continue;
            }
            let lost = hunk.clone().find(|&index| {
                let line = &file.lines[index];
                line.is_removed()
                    && syntax::is_assertion(line)
                    && syntax::in_test(file, index)
                    && !view.adds_similar(&line.text)
                    && !about_gone(file, index, &gone)
            });
            if let Some(index) = lost {
                reporter.report(file, index..index + 1, None);
                break;
            }
        }
    }
}

/// True when the assertion, which may go on for some lines, names what the program loses.
fn about_gone(file: &File<'_>, index: usize, gone: &HashSet<&str>) -> bool {
    let lines = file.lines[index..].iter().take(6).take_while(|line| line.is_removed());
    lines.flat_map(|line| names(&line.text)).any(|name| gone.contains(name))
}
