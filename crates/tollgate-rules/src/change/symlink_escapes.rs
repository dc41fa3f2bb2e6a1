//! Detects symbolic links that point outside the repository.

use crate::change::path;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.diff.new_mode == Some(0o120_000)) {
        for (index, line) in file.added() {
            if leaves(path::folder(&file.path), &line.text) {
                let message = format!("symbolic link points outside the repository, to `{}`", line.text.trim());
                reporter.report(file, index..index + 1, Some(message));
            }
        }
    }
}

/// True when a target, relative to a directory, is outside the repository root.
fn leaves(folder: &str, target: &str) -> bool {
    let drive = target.as_bytes().get(1) == Some(&b':');
    if target.starts_with(['/', '~', '\\']) || drive {
        return true;
    }
    let mut depth = folder.split('/').filter(|step| !step.is_empty()).count();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}
