//! Detects removed guards other than authorization checks.

use crate::change::guard;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in &view.files {
        for guard in guard::removed(view, file).into_iter().filter(|guard| !guard.is_auth) {
            reporter.report(file, guard.lines, None);
        }
    }
}
