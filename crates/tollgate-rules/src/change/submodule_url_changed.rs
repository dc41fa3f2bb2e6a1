//! Detects changed submodule URLs.

use crate::change::view::{Reporter, View};

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.path == ".gitmodules" && file.stays()) {
        let address =
            |text: &str| text.trim().strip_prefix("url").and_then(|rest| rest.trim_start().strip_prefix('=')).map(bare);
        for block in file.blocks.iter().filter(|block| block.len() <= 200) {
            let before: Vec<String> = file.removed_in(block).filter_map(|line| address(&line.text)).collect();
            for index in block.clone().filter(|&index| file.lines[index].is_added()) {
                let moved =
                    address(&file.lines[index].text).is_some_and(|now| !before.is_empty() && !before.contains(&now));
                if moved {
                    reporter.report(file, index..index + 1, None);
                }
            }
        }
    }
}

/// Normalizes a URL: removes scheme, user and `.git`.
fn bare(address: &str) -> String {
    let address = address.trim().trim_end_matches('/').trim_end_matches(".git");
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.rsplit_once('@').map_or(rest, |(_, rest)| rest).replace(':', "/").to_ascii_lowercase()
}
