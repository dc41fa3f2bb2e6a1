//! Previews the prompts that reviewers would get for a change.
//!
//! The preview runs the stages of a review up to the first call, so it shows exactly the prompts that would be sent. The
//! rules are not run: their findings only decide which parts of a change beyond the budget go first.

use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::prompt::ContextFile;

use super::models::{self, PromptInputs, SentPrompt};
use super::plan::{read_intent, recall_before, recall_here, resolve_policy, subjects};
use super::{Memory, ReviewRequest, fetch};
use crate::failure::Failure;

/// The prompts that reviewers would get.
#[derive(Debug)]
pub struct Preview {
    /// The prompts, call by call.
    pub sent: Vec<SentPrompt>,
    /// The context files of the project in them, in full.
    pub context: Vec<ContextFile>,
    /// How many hunks would not be sent, because the change exceeds the budget.
    pub n_left_out: usize,
    /// Problems to show to people.
    pub notes: Vec<String>,
}

/// Writes the prompts for a request made by [`ReviewRequest::preview`]. No model is asked and nothing is stored.
pub fn preview(request: &mut ReviewRequest<'_>) -> Result<Preview, Failure> {
    debug_assert!(request.models.only_print, "a preview sends nothing");
    request.models.only_print = true;
    let mut notes = Vec::new();
    let change = fetch::fetch(request, None)?;
    notes.extend(change.notes.iter().cloned());
    let (intent, commits) = read_intent(request, &change, &mut notes);
    let commit_subjects = subjects(&commits);
    let policy = resolve_policy(&intent, request.settings);
    let snapshot = Snapshot::of(&change.files);
    let (prior, here) = match request.runtime.memory {
        Memory::Off => (None, None),
        _ => (
            recall_before(request, &change, &snapshot, &mut notes),
            recall_here(request, &change, &snapshot, &mut notes),
        ),
    };
    let prior = prior.map(|prior| prior.mapped_onto(&snapshot));
    let here = here.map(|here| here.mapped_here(&snapshot)).map(|here| match &prior {
        Some(prior) => here.without_those_of(prior),
        None => here,
    });
    let inputs = PromptInputs {
        commit_subjects: &commit_subjects,
        policy: &policy,
        prior: prior.as_ref(),
        here: here.as_ref(),
        only_fresh: false,
    };
    let (results, context) = models::preview(&request.model_context(), &change, &inputs)?;
    notes.extend(results.notes);
    Ok(Preview { sent: results.sent, context, n_left_out: results.missed.len(), notes })
}
