//! Fixes that models suggest, tried before anybody is offered them.

use std::collections::HashMap;

use tollgate_core::change::{Change, Content};
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::Finding;
use tollgate_core::path::FilePath;
use tollgate_core::verify;

use super::Scene;
use crate::reviewer::embedded;

/// Takes back fixes after which a file would not parse any more, and says so in the finding.
pub(super) fn check(scene: &Scene<'_>, change: &Change, files: &[FileDiff], findings: &mut [Finding]) {
    let mut contents = scene.forge.contents();
    let mut texts: HashMap<FilePath, Option<String>> = HashMap::new();
    let mut checked: Vec<(usize, String, String)> = Vec::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        let Some(fix) = &finding.fix else { continue };
        let path = &finding.location.file;
        let text = texts.entry(path.clone()).or_insert_with(|| {
            let at = files.iter().position(|file| FilePath::of_repo_path(file.path()) == *path)?;
            match contents.read(&change.files[at], scene.settings.limits.file_bytes) {
                Ok(Content::Whole(text)) => String::from_utf8(text).ok(),
                _ => None,
            }
        });
        match text.as_deref().and_then(|text| Some((text, verify::fixed(text, fix)?))) {
            Some((text, fixed)) => checked.push((index, text.to_owned(), fixed)),
            None => set_aside(finding, "the file's text is not at hand"),
        }
    }
    let texts: Vec<(&[u8], &[u8])> = checked
        .iter()
        .flat_map(|(index, text, fixed)| {
            let path = findings[*index].location.file.as_str().as_bytes();
            [(path, text.as_bytes()), (path, fixed.as_bytes())]
        })
        .collect();
    let errors = embedded::parse_errors(scene.executable, scene.settings.limits, &texts);
    let pairs: Vec<(usize, bool)> = checked
        .iter()
        .zip(errors.chunks(2))
        .map(|((index, ..), pair)| match pair {
            // Without a grammar there is nothing that could stop parsing.
            [Some(before), Some(after)] => (*index, after <= before),
            [before, after] => (*index, before.is_none() && after.is_none()),
            _ => (*index, false),
        })
        .collect();
    for (index, parses) in pairs {
        if !parses {
            set_aside(&mut findings[index], "the file would not parse with it");
        }
    }
}

/// Makes a fix a mere suggestion.
fn set_aside(finding: &mut Finding, why: &str) {
    let Some(fix) = finding.fix.take() else { return };
    if finding.suggestion.is_none() {
        finding.suggestion = Some(fix.replacement);
    }
    finding.extra.insert("x_fix_withheld".to_owned(), why.into());
}
