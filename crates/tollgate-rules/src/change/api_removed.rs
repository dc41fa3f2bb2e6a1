//! Detects removed public items without a breaking-change mark.

use crate::change::api;
use crate::change::view::{Reporter, View};

/// Maximum number of findings per file; the last one counts the rest.
const MAX_PER_FILE: usize = 3;

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| api::is_public_api(view, file)) {
        let gone: Vec<api::PublicItem> =
            api::declarations(file, false).into_iter().filter(|public| !view.adds_name(&public.name)).collect();
        for (number, public) in gone.iter().take(MAX_PER_FILE).enumerate() {
            let n_more = gone.len().saturating_sub(MAX_PER_FILE);
            let more =
                if number + 1 == MAX_PER_FILE && n_more > 0 { format!(" (and {n_more} more)") } else { String::new() };
            let message = format!("public `{}` removed{more} without a breaking-change mark", public.name);
            reporter.report(file, public.index..public.index + 1, Some(message));
        }
    }
}
