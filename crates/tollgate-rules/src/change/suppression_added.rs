//! Detects comments that suppress findings of this review.

use tollgate_core::analysis::{self, Category};
use tollgate_core::suppress;

use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    // Documentation shows suppression comments as examples.
    let is_docs = |path: &str| analysis::category(path.as_bytes()) == Category::Docs;
    for file in view.files.iter().filter(|file| !is_docs(&file.path)) {
        let added = file.added().filter(|(_, line)| line.text.contains(suppress::MARK) && !view.removes(&line.text));
        for (index, line) in added {
            if let Some(names) = suppress::names_in(&line.text) {
                let names =
                    if names.iter().any(|name| name == "*") { "every finding".to_owned() } else { names.join(", ") };
                reporter.report(file, index..index + 1, Some(format!("comment suppresses {names}")));
            }
        }
    }
}
