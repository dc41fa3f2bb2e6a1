//! Checks that a file still parses with the fix that a model suggests.

use std::collections::BTreeMap;

use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::Finding;
use tollgate_core::path::FilePath;
use tollgate_core::verify;

use super::ModelContext;
use crate::reviewer::embedded;

/// At most this many fixes are checked, because each means parsing a whole file.
const MAX_FIXES: usize = 50;

/// Withdraws fixes after which a file would not parse any more, and notes that in the finding.
pub(super) fn check(context: &ModelContext<'_>, change: &Change, files: &[FileDiff], findings: &mut [Finding]) {
    let mut contents = context.forge.contents();
    let mut texts: BTreeMap<FilePath, Option<String>> = BTreeMap::new();
    let mut fixed: Vec<(usize, String)> = Vec::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        let Some(fix) = &finding.fix else { continue };
        if fixed.len() >= MAX_FIXES {
            withdraw(finding, "there are too many fixes to try them all");
            continue;
        }
        let path = &finding.location.file;
        let text = texts.entry(path.clone()).or_insert_with(|| {
            let at = files.iter().position(|file| FilePath::of_repo_path(file.path()) == *path)?;
            match contents.read(&change.files[at], context.settings.limits.file_bytes) {
                Ok(Content::Whole(text)) => String::from_utf8(text).ok(),
                _ => None,
            }
        });
        match text.as_deref().and_then(|text| verify::fixed(text, fix)) {
            Some(text) => fixed.push((index, text)),
            None => withdraw(finding, "the file's text is not at hand"),
        }
    }
    let before: Vec<(&FilePath, &String)> =
        texts.iter().filter_map(|(path, text)| Some((path, text.as_ref()?))).collect();
    let asked = before.iter().map(|(path, text)| (path.as_str().as_bytes(), text.as_bytes()));
    let after = fixed.iter().map(|(index, text)| (findings[*index].location.file.as_str().as_bytes(), text.as_bytes()));
    let asked: Vec<(&[u8], &[u8])> = asked.chain(after).collect();
    let errors = embedded::parse_errors(context.executable, context.settings.limits, &asked);
    let (errors_before, errors_after) = errors.split_at(before.len().min(errors.len()));
    let errors_before: BTreeMap<&FilePath, Option<usize>> =
        before.iter().map(|(path, _)| *path).zip(errors_before.iter().copied()).collect();
    let parses = |index: usize, after: Option<usize>| {
        let before = errors_before.get(&findings[index].location.file).copied().flatten();
        match (before, after) {
            (Some(before), Some(after)) => after <= before,
            // Without a grammar neither text is parsed.
            (before, after) => before.is_none() && after.is_none(),
        }
    };
    let spoilt: Vec<usize> = fixed
        .iter()
        .zip(errors_after)
        .map(|((index, _), after)| (*index, *after))
        .filter(|&(index, after)| !parses(index, after))
        .map(|(index, _)| index)
        .collect();
    for index in spoilt {
        withdraw(&mut findings[index], "the file would not parse with it");
    }
}

/// Withdraws a fix. What was refused is shown neither as a fix nor as a suggestion.
fn withdraw(finding: &mut Finding, why: &str) {
    if let Some(fix) = finding.fix.take() {
        verify::withhold_fix(finding, why, fix.replacement);
    }
}
