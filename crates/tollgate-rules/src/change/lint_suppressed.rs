//! Detects lint suppressions without a reason.

use crate::change::view::{File, Reporter, View, patterns};

patterns! {
    WHOLE ["disable", "nocheck", "noqa", "ignore", "allow(", "nolint", "skip-file", "Suppress"] = concat!(
        r"^\s*(?:/\*\s*eslint-disable\s*\*/|//\s*@ts-nocheck\s*$|#\s*(?:flake8|ruff):\s*noqa\s*$",
        r"|#\s*type:\s*ignore\s*$|#\s*mypy:\s*ignore-errors\s*$|#!\[allow\((?:warnings|clippy::all",
        r"|unused)\)\]|#\s*pylint:\s*(?:skip-file|disable=all)\s*$|#\s*rubocop:disable\s+all",
        r"|//\s*nolint:?\s*(?:all)?\s*$|#\s*pragma warning disable\s*$|@file:Suppress\()",
    );
    BARE ["noqa", "disable", "ignore", "nolint", "NOSONAR", "nosec"] = concat!(
        r"(?:#\s*noqa\s*$|//\s*eslint-disable-(?:next-)?line\s*$|//\s*@ts-ignore\s*$|//\s*nolint\s*$",
        r"|#\s*type:\s*ignore\s*$|//\s*NOSONAR\s*$|#\s*nosec\s*$|/\*\s*eslint-disable-(?:next-)?line\s*\*/)",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.is_source()) {
        let silences = |text: &str| WHOLE.is_match(text) || BARE.is_match(text);
        let mut silenced = file.added().filter(|(index, line)| {
            silences(&line.text) && !view.removes(&line.text) && !explained(file, *index) && !was_there(file, *index)
        });
        if let Some((index, _)) = silenced.next() {
            let message = match silenced.count() {
                0 => None,
                n_more => Some(format!("lint suppressed without a reason, and {n_more} more in this file")),
            };
            reporter.report(file, index..index + 1, message);
        }
    }
}

/// True when the line above is a comment that can give the reason.
fn explained(file: &File<'_>, index: usize) -> bool {
    let neighbour = |at: Option<usize>| {
        let line = at.and_then(|at| file.lines.get(at)).filter(|line| !line.is_removed());
        line.is_some_and(|line| line.is_comment() && !WHOLE.is_match(&line.text) && !BARE.is_match(&line.text))
    };
    neighbour(index.checked_sub(1))
}

/// True when a removed line nearby had a suppression too, so that only its code changed.
fn was_there(file: &File<'_>, index: usize) -> bool {
    file.removed_in(&file.near(index)).any(|line| WHOLE.is_match(&line.text) || BARE.is_match(&line.text))
}
