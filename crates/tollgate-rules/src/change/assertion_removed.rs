//! Detects assertions removed from a remaining test.

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
        // A renamed test covers a different behaviour.
        if file.removed().any(|(index, _)| syntax::test_name(file, index).is_some()) {
            continue;
        }
        for hunk in &file.hunks {
            let asserts = |line: &&crate::change::view::Line<'_>| syntax::is_assertion(line);
            // A rewritten assertion has its new form in the same hunk.
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

/// True when the assertion, possibly of several lines, names code that the change removes.
fn about_gone(file: &File<'_>, index: usize, gone: &HashSet<&str>) -> bool {
    let lines = file.lines[index..].iter().take(6).take_while(|line| line.is_removed());
    lines.flat_map(|line| names(&line.text)).any(|name| gone.contains(name))
}
