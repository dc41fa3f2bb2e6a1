//! Detects widened permissions of a workflow token.

use std::collections::HashSet;

use crate::change::view::{File, Reporter, View, patterns};
use crate::change::workflow;

patterns! {
    ALL ["write-all"] = r"^\s*permissions:\s*write-all\b";
    SCOPE ["write"] = concat!(
        r"^\s+(actions|attestations|checks|contents|deployments|id-token|issues|packages|pages|pull-requests",
        r"|repository-projects|security-events|statuses):\s*write\b",
    );
    HEADING ["permissions:"] = r"^(\s*)permissions:\s*(?:#.*)?$";
    ANY ["permissions:"] = r"^\s*permissions:";
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays() && workflow::is_workflow(file)) {
        let removed_scopes: HashSet<String> = file
            .removed()
            .filter_map(|(_, line)| Some(SCOPE.captures(&line.text)?.get(1)?.as_str().to_owned()))
            .collect();
        for (index, line) in file.added() {
            let text = line.text.as_ref();
            if ALL.is_match(text) {
                reporter.report(
                    file,
                    index..index + 1,
                    Some("workflow token granted write access to everything".to_owned()),
                );
            } else if let Some(scope) = SCOPE.captures(text).and_then(|groups| groups.get(1))
                && !removed_scopes.contains(scope.as_str())
                && adds_to_permissions(file, index)
            {
                let message = format!("workflow token granted write access to `{}`", scope.as_str());
                reporter.report(file, index..index + 1, Some(message));
            }
        }
        // For a job, the permissions of the workflow may still apply outside the diff.
        let gone = file.removed().find(|(_, line)| line.text.starts_with("permissions:"));
        let limits = file.lines.iter().any(|line| !line.is_removed() && ANY.is_match(&line.text));
        if let Some((index, _)) = gone.filter(|_| !limits && !removes_job(file)) {
            let message = "`permissions` removed, so the workflow token gets the default permissions".to_owned();
            reporter.report(file, index..index + 1, Some(message));
        }
    }
}

/// True below an existing `permissions:` key; a new key narrows the default permissions.
fn adds_to_permissions(file: &File<'_>, index: usize) -> bool {
    let hunk = file.hunk_of(index);
    let indent = file.lines[index].indent();
    let above =
        file.lines[hunk.start..index].iter().rev().take(30).filter(|line| !line.is_removed() && !line.is_blank());
    let heading = above.into_iter().find(|line| line.indent() < indent);
    heading.is_some_and(|line| !line.is_added() && HEADING.is_match(&line.text))
}

/// True when the change removes a whole job together with its permissions.
fn removes_job(file: &File<'_>) -> bool {
    file.removed()
        .any(|(_, line)| line.text.trim_start().starts_with("runs-on:") || line.text.trim_start().starts_with("uses:"))
}
