//! Detects changed parameters of a public function without a breaking-change mark.

use crate::change::api;
use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays() && api::is_public_api(view, file)) {
        let (before, after) = (api::declarations(file, false), api::declarations(file, true));
        let only = |all: &[api::PublicItem], name: &str| all.iter().filter(|public| public.name == name).count() == 1;
        let changed = after.iter().filter(|now| only(&after, &now.name) && only(&before, &now.name));
        for now in changed.take(3) {
            let Some(was) = before.iter().find(|was| was.name == now.name) else { continue };
            let n_before = api::n_required(&file.lines[was.index].text);
            let n_after = api::n_required(&file.lines[now.index].text);
            if let (Some(n_before), Some(n_after)) = (n_before, n_after)
                && n_before != n_after
            {
                let message = format!(
                    "public `{}` now takes {n_after} arguments instead of {n_before}, without a breaking-change mark",
                    now.name
                );
                reporter.report(file, now.index..now.index + 1, Some(message));
            }
        }
    }
}
