//! Detects an action whose commit pin is replaced by a tag or branch.

use std::collections::HashSet;

use crate::change::view::{Reporter, View};
use crate::change::workflow;

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in workflow::files(view) {
        let pinned: HashSet<String> = file
            .removed()
            .filter_map(|(_, line)| workflow::uses(line))
            .filter(workflow::Uses::is_pinned)
            .map(|uses| uses.action)
            .collect();
        for (index, line) in file.added() {
            if let Some(uses) = workflow::uses(line)
                && !uses.is_pinned()
                && pinned.contains(&uses.action)
            {
                let message = format!("`{}` no longer pinned to a commit, now `{}`", uses.action, uses.version);
                reporter.report(file, index..index + 1, Some(message));
            }
        }
    }
}
