//! Stage 1, fetched: reads the change, without the files that the prior review has seen already.

use tollgate_core::change::Change;
use tollgate_core::diff::FileDiff;
use tollgate_core::path::FilePath;

use super::prior::PriorReview;
use super::{Memory, ReviewRequest};
use crate::config::FILE_NAME;
use crate::failure::Failure;
use crate::forge::local::{FetchOptions, Known};

/// Which files of a change are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FetchScope {
    /// Only files whose content the prior review has not seen.
    UnseenFiles,
    /// All of them.
    AllFiles,
}

/// A change that was read, with the prior review it is compared with.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) change: Change,
    /// The prior review, when only the lines that changed since are reviewed.
    pub(super) prior: Option<PriorReview>,
    pub(super) notes: Vec<String>,
}

impl Fetched {
    pub(super) fn fetch(request: &mut ReviewRequest<'_>, scope: FetchScope) -> Result<Self, Failure> {
        let mut recall_notes = Vec::new();
        let prior = if request.since_last { recall_last(request, &mut recall_notes) } else { None };
        // Files that a model has not seen yet have to be read, even when the rules of the prior review saw them.
        let all_asked = |prior: &&PriorReview| request.settings.reviewers.iter().all(|it| prior.asked(&it.name));
        let seen = prior.as_ref().filter(|_| scope == FetchScope::UnseenFiles).filter(all_asked);
        let change = fetch(request, seen)?;
        let mut notes = change.notes.clone();
        notes.extend(recall_notes);
        if alters_settings(&change) {
            notes.push(format!("the change alters `{FILE_NAME}`, by which it is reviewed"));
        }
        Ok(Self { change, prior, notes })
    }
}

/// Reads the change, without the files that a prior review has seen.
pub(super) fn fetch(request: &mut ReviewRequest<'_>, seen: Option<&PriorReview>) -> Result<Change, Failure> {
    let settings = request.settings;
    let options = FetchOptions { base: settings.base.clone(), max_diff_bytes: settings.max_diff_bytes };
    match seen.filter(|prior| prior.is_worth_knowing()) {
        Some(prior) => {
            let has = |old: Option<&FilePath>, new: Option<&FilePath>, blob: Option<&str>| prior.knows(old, new, blob);
            request.forge.fetch_unknown(&options, &Known { base: prior.base(), has: &has })
        }
        None => request.forge.fetch(&options),
    }
}

/// True when a change alters the settings by which it is reviewed.
pub(super) fn alters_settings(change: &Change) -> bool {
    let paths = |file: &FileDiff| [file.old_path.clone(), file.new_path.clone()];
    let mut paths = change.files.iter().chain(&change.known).flat_map(paths).flatten();
    paths.any(|path| path.as_bytes() == FILE_NAME.as_bytes())
}

/// The prior review of the same line of work, for a review of only the lines that changed since.
fn recall_last(request: &ReviewRequest<'_>, notes: &mut Vec<String>) -> Option<PriorReview> {
    let recalled = match (&request.runtime.memory, &request.subject) {
        (Memory::Open(store), Some(subject)) => PriorReview::last(store, subject),
        (Memory::Unavailable(failure), _) => Err(failure.clone()),
        (Memory::Off, _) | (Memory::Open(_), None) => Ok(None),
    };
    let why = match recalled {
        Ok(Some(prior)) => return Some(prior),
        Ok(None) => "there is no earlier review to compare with".to_owned(),
        Err(failure) => format!("past reviews are not available ({})", failure.message),
    };
    notes.push(format!("{why}, so all of the change was reviewed"));
    None
}
