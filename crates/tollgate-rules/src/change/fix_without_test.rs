//! A change that calls itself a fix touches the program and no test.

use crate::change::path;
use crate::change::syntax;
use crate::change::view::{Found, View};

pub(crate) fn scan(view: &View<'_>, found: &mut Found) {
    if !view.declared.fix || view.files.iter().any(|file| file.is_test) {
        return;
    }
    let changed = |file: &crate::change::view::File<'_>| {
        let mut lines = file.lines.iter().enumerate();
        lines.position(|(_, line)| line.is_added() && !line.is_blank() && !line.is_comment())
    };
    let sources = || view.files.iter().filter(|file| file.stays() && file.is_source());
    // Tests inside a Rust file are touched when a hunk is in them.
    if sources().any(|file| file.hunks.iter().any(|hunk| syntax::in_test(file, hunk.end.saturating_sub(1)))) {
        return;
    }
    let Some(file) = sources().max_by_key(|file| file.diff.n_added) else { return };
    let ending = path::ending(&file.path);
    if !view.declared.paths.iter().any(|other| path::is_test(other) && path::ending(other) == ending) {
        return;
    }
    if let Some(index) = changed(file) {
        found.report(file, index..index + 1, None);
    }
}
