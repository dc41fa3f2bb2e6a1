//! Detects scripts and workflows that bypass git hooks.

use crate::change::path;
use crate::change::view::{Reporter, View, patterns};

patterns! {
    BYPASS ["--no-verify", "HUSKY", "PRE_COMMIT"] = concat!(
        r"\bgit\s+(?:commit|push|merge|am|rebase)\b[^|;&#]*\s(?:--no-verify)\b|\bHUSKY=0\b",
        r"|\bHUSKY_SKIP_HOOKS=1|\bPRE_COMMIT_ALLOW_NO_CONFIG=1",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| !path::is_document(&file.path)) {
        for (index, line) in file.added() {
            if BYPASS.is_match(&line.text) && !line.is_comment() && !view.removes(&line.text) {
                reporter.report(file, index..index + 1, None);
            }
        }
    }
}
