//! Reads the inputs of prompts while the rules are still running.
//!
//! Most of it waits for git and for child processes, so it costs little time beside the rules, and models are asked
//! earlier.

use std::borrow::Cow;
use std::path::Path;

use tollgate_core::analysis::{self, Analysis};
use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::LineRange;
use tollgate_core::plan;
use tollgate_rules::text::mask::{self, mask};

use super::{ModelContext, prompt_context};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::local::Local;
use crate::reviewer::embedded;

/// The inputs of prompts that do not depend on the rules.
pub(super) struct Prefetched {
    /// The files of the change, secrets masked.
    pub(super) files: Vec<FileDiff>,
    pub(super) analysis: Analysis,
    /// Why a file is not reviewed, for each file.
    pub(super) skipped: Vec<Option<String>>,
    /// The text and the enclosing definitions of each file.
    pub(super) known: Vec<Option<plan::FileContext>>,
    /// The guidance files of the project, by path.
    pub(super) guidance: Result<Vec<(String, Vec<u8>)>, Failure>,
}

/// Reads the inputs of prompts.
pub(super) fn prefetch(context: &ModelContext<'_>, change: &Change) -> Prefetched {
    let ModelContext { settings, forge, executable, .. } = *context;
    let skipped: Vec<Option<String>> =
        change.files.iter().map(|file| embedded::why_skipped(change, file, settings)).collect();
    let (files, analysis, known, guidance) = std::thread::scope(|scope| {
        let guidance = scope.spawn(|| prompt_context::guidance(forge, change));
        let known = scope.spawn(|| surroundings(forge, change, &skipped, settings, executable));
        let files = mask::mask_files(&change.files);
        let analysis = analysis::analyze_with(&files, &|path| change.generated.attribute(path));
        let known = known.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let guidance = guidance.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (files, analysis, known, guidance)
    });
    Prefetched { files, analysis, skipped, known, guidance }
}

/// The text of the files and the definitions that enclose their hunks, where they are available.
fn surroundings(
    forge: &Local,
    change: &Change,
    skipped: &[Option<String>],
    settings: &Settings,
    executable: &Path,
) -> Vec<Option<plan::FileContext>> {
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
    let mut known: Vec<Option<plan::FileContext>> = change.files.iter().map(|_| None).collect();
    for ((index, text, _), enclosing) in texts.into_iter().zip(enclosing) {
        let text = match mask(&String::from_utf8_lossy(&text)) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked.into_bytes(),
        };
        known[index] = Some(plan::FileContext::new(text, enclosing));
    }
    known
}
