//! What can be looked at before it is known what the rules say, while they are at work.
//!
//! Most of it is waiting for git and for children, so it costs a review little when it is done beside the rules, and a
//! model is asked so much sooner.

use std::borrow::Cow;
use std::path::Path;

use tollgate_core::analysis::{self, Analysis};
use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::LineRange;
use tollgate_core::plan;
use tollgate_rules::text::mask::{self, mask};

use super::{Scene, background};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::local::Local;
use crate::reviewer::embedded;

/// What was looked at.
pub(super) struct Ahead {
    /// The files of the change, secrets masked.
    pub(super) files: Vec<FileDiff>,
    pub(super) analysis: Analysis,
    /// Why a file is not looked at, for each file.
    pub(super) skipped: Vec<Option<String>>,
    /// What is known of each file beyond its diff.
    pub(super) known: Vec<Option<plan::Known>>,
    /// What the project says about itself, by path.
    pub(super) guidance: Result<Vec<(String, Vec<u8>)>, Failure>,
}

/// Looks ahead for a review by models.
pub(super) fn look_ahead(scene: &Scene<'_>, change: &Change) -> Ahead {
    let Scene { settings, forge, executable, .. } = *scene;
    let skipped: Vec<Option<String>> =
        change.files.iter().map(|file| embedded::why_skipped(change, file, settings)).collect();
    let (files, analysis, known, guidance) = std::thread::scope(|scope| {
        let guidance = scope.spawn(|| background::guidance(forge, change));
        let known = scope.spawn(|| surroundings(forge, change, &skipped, settings, executable));
        let files = mask::mask_files(&change.files);
        let analysis = analysis::analyze_with(&files, &|path| change.generated.says(path));
        let known = known.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let guidance = guidance.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (files, analysis, known, guidance)
    });
    Ahead { files, analysis, skipped, known, guidance }
}

/// The text of the files around their hunks and the definitions that enclose them, where that can be had.
fn surroundings(
    forge: &Local,
    change: &Change,
    skipped: &[Option<String>],
    settings: &Settings,
    executable: &Path,
) -> Vec<Option<plan::Known>> {
    let limits = settings.limits;
    let mut contents = forge.contents();
    let mut texts: Vec<(usize, Vec<u8>, Vec<LineRange>)> = Vec::new();
    for (index, file) in change.files.iter().enumerate().filter(|(index, _)| skipped[*index].is_none()) {
        let places = plan::places(file);
        if places.is_empty() {
            continue;
        }
        if let Ok(Content::Whole(text)) = contents.read(file, limits.file_bytes) {
            texts.push((index, text, places));
        }
    }
    let outlined: Vec<embedded::Outlined<'_>> = texts
        .iter()
        .map(|(index, text, places)| embedded::Outlined { path: change.files[*index].path().as_bytes(), text, places })
        .collect();
    let enclosing = embedded::enclose(executable, limits, &outlined);
    let mut known: Vec<Option<plan::Known>> = change.files.iter().map(|_| None).collect();
    for ((index, text, _), enclosing) in texts.into_iter().zip(enclosing) {
        let text = match mask(&String::from_utf8_lossy(&text)) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked.into_bytes(),
        };
        known[index] = Some(plan::Known::new(text, enclosing));
    }
    known
}
