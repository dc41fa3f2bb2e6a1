//! Names the function around each finding (`x_scope`), by which findings and dismissals are told apart.
//!
//! A rule's finding is its rule, its code and its function: equal code in another function is another finding. Where the
//! language has no functions, or a file cannot be parsed, the scope stays unknown.

use std::collections::BTreeMap;

use tollgate_core::change::{Change, Content};
use tollgate_core::delta::identity::SCOPE;
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::path::FilePath;

use super::ReviewRequest;
use crate::reviewer::embedded::{self, Outlined};

/// A file with findings: its path, the indices of its findings, its text, and their lines.
type ReadFile = (FilePath, Vec<usize>, Vec<u8>, Vec<LineRange>);

/// Sets the enclosing function of each reported finding.
pub(super) fn name_functions(request: &ReviewRequest<'_>, change: &Change, findings: &mut [Finding]) {
    let mut by_file: BTreeMap<FilePath, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        // A reviewer that names it itself could hide a finding behind another one.
        finding.extra.shift_remove(SCOPE);
        if finding.location.side == Side::Right {
            by_file.entry(finding.location.file.clone()).or_default().push(index);
        }
    }
    let limits = request.settings.limits;
    let mut contents = request.forge.contents();
    let is_at = |diff: &&FileDiff, file: &FilePath| {
        diff.new_path.as_ref().is_some_and(|path| FilePath::of_repo_path(path) == *file)
    };
    let mut read: Vec<ReadFile> = Vec::new();
    for (file, indices) in by_file {
        let diff = change.files.iter().find(|diff| is_at(diff, &file));
        if let Some(Ok(Content::Whole(text))) = diff.map(|diff| contents.read(diff, limits.file_bytes)) {
            let places = indices.iter().map(|&index| findings[index].location.lines).collect();
            read.push((file, indices, text, places));
        }
    }
    let outlined: Vec<Outlined<'_>> =
        read.iter().map(|(file, _, text, places)| Outlined { path: file.as_str().as_bytes(), text, places }).collect();
    let functions = embedded::functions(&request.runtime.executable, limits, &outlined);
    for ((_, indices, ..), functions) in read.iter().zip(functions) {
        for (&index, function) in indices.iter().zip(functions) {
            if let Some(function) = function {
                findings[index].extra.insert(SCOPE.to_owned(), function.name.into());
            }
        }
    }
}
