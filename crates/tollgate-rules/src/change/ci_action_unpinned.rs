//! Detects new third-party actions on a branch, or on a tag where other actions are pinned to commits.

use crate::change::view::{Reporter, View};
use crate::change::workflow;

/// Branch names; the action changes with every push to the branch.
const BRANCHES: &[&str] = &["main", "master", "develop", "dev", "trunk", "latest", "HEAD"];

/// Actions that document a branch as their version.
const EXCEPT: &[&str] = &["dtolnay/rust-toolchain"];

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    let mut before = workflow::used_before(view);
    for file in workflow::files(view) {
        let all = || file.lines.iter().filter_map(workflow::uses);
        let pins = all().any(|uses| uses.is_pinned());
        for (index, line) in file.added() {
            let Some(uses) = workflow::uses(line) else { continue };
            if uses.is_pinned()
                || uses.is_own()
                || EXCEPT.contains(&uses.action.as_str())
                || is_shared(&uses)
                || !before.insert(uses.action.clone())
            {
                continue;
            }
            if BRANCHES.contains(&uses.version.as_str()) {
                let message = format!("`{}` not pinned to a commit but to the branch `{}`", uses.action, uses.version);
                reporter.report(file, index..index + 1, Some(message));
            } else if pins {
                let message =
                    format!("`{}@{}` not pinned to a commit, unlike the other actions", uses.action, uses.version);
                reporter.report(file, index..index + 1, Some(message));
            }
        }
    }
}

/// True for a reusable workflow, which usually belongs to the same owner.
fn is_shared(uses: &workflow::Uses) -> bool {
    uses.action.contains("/.github/workflows/")
}
