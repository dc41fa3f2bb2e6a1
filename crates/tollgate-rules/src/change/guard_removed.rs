//! A check is deleted while the code behind it stays.

use crate::change::guard;
use crate::change::view::{Found, View};

pub(crate) fn scan(view: &View<'_>, found: &mut Found) {
    for file in &view.files {
        for guard in guard::removed(view, file).into_iter().filter(|guard| !guard.is_auth) {
            found.report(file, guard.lines, None);
        }
    }
}
