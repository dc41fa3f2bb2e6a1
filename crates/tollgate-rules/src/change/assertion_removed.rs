//! A test stays, but asserts less.

use crate::change::syntax;
use crate::change::view::{Found, View};

pub(crate) fn scan(view: &View<'_>, found: &mut Found) {
    if !view.files.iter().any(|file| !file.blocks.is_empty()) || syntax::removes_code(view) {
        return;
    }
    for file in view.files.iter().filter(|file| file.stays()) {
        for hunk in &file.hunks {
            let asserts = |line: &&crate::change::view::Line<'_>| syntax::is_assertion(line);
            // An assertion that was rewritten has its new form near.
            if file.added_in(hunk).any(|line| asserts(&line)) || file.removed_in(hunk).any(syntax::is_declaration) {
                continue;
            }
            if hunk.clone().any(|index| file.lines[index].is_removed() && syntax::test_name(file, index).is_some()) {
                continue;
            }
            let gone = hunk.clone().find(|&index| {
                let line = &file.lines[index];
                line.is_removed()
                    && syntax::is_assertion(line)
                    && syntax::in_test(file, index)
                    && !view.adds_similar(&line.text)
            });
            if let Some(index) = gone {
                found.report(file, index..index + 1, None);
                break;
            }
        }
    }
}
