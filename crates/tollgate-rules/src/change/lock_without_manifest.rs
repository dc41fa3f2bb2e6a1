//! Detects lock files that change together with code but without their manifest.
//!
//! A change of the lock file alone is an update and is not reported.

use crate::change::manifest;
use crate::change::view::{Reporter, View, patterns};

patterns! {
    UPDATES = concat!(
        r"(?i)\bdep(?:s|endenc)|\bbump|\bupgrad|\bupdat|\block|\bcrates\b|\bpackages\b|\bgems?\b|\brelease",
        r"|\bsecurity\b|\bcve\b|\brenovate\b|\bversion",
    );
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    let locked = view.files.iter().any(|file| file.stays() && manifest::of_lock(&file.path).is_some());
    if !locked || UPDATES.is_match(view.declared.title) {
        return;
    }
    if !view.files.iter().any(|file| file.is_source() && !file.blocks.is_empty()) {
        return;
    }
    for file in view.files.iter().filter(|file| file.stays()) {
        let Some(ecosystem) = manifest::of_lock(&file.path) else { continue };
        let has_manifest = view.files.iter().any(|other| manifest::of_manifest(&other.path) == Some(ecosystem));
        if let Some((index, _)) = file.lines.iter().enumerate().find(|(_, line)| line.is_added() && !has_manifest) {
            reporter.report(file, index..index + 1, None);
        }
    }
}
