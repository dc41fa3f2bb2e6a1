//! Detects files that lose their code owners.

use std::collections::HashSet;

use crate::change::path;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| path::name(&file.path) == "CODEOWNERS" && file.stays()) {
        let owned = |text: &str| -> Option<String> {
            let mut words = text.split('#').next()?.split_whitespace();
            let pattern = words.next()?;
            words.next().is_some().then(|| pattern.to_owned())
        };
        let still: HashSet<String> =
            file.lines.iter().filter(|line| !line.is_removed()).filter_map(|line| owned(&line.text)).collect();
        for (index, line) in file.removed().take(200) {
            if let Some(pattern) = owned(&line.text)
                && !still.contains(&pattern)
                && !removes_path(view, &pattern)
            {
                let message = format!("code owners of `{pattern}` removed");
                reporter.report(file, index..index + 1, Some(message));
            }
        }
    }
}

/// True when the change deletes or moves the owned files.
fn removes_path(view: &View<'_>, pattern: &str) -> bool {
    let plain = pattern.trim_start_matches('/').trim_end_matches(['*', '/']);
    !plain.is_empty()
        && view.files.iter().any(|file| {
            let old = file.diff.old_path.as_ref().map(ToString::to_string);
            old.is_some_and(|old| {
                !file.stays() && old.starts_with(plain)
                    || file.diff.old_path != file.diff.new_path && file.path.contains(plain)
            })
        })
}
