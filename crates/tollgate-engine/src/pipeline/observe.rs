//! Stage 3, observed: runs the built-in rules and the models over the change.

use tollgate_core::change::Change;
use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::intent::Intent;
use tollgate_core::path::FilePath;
use tollgate_rules::change::{ChangeContext, is_per_file};

use super::models::{self, ModelResults, PromptInputs};
use super::plan::Planned;
use super::{Memory, ReviewContext, ReviewProgress, ReviewRequest, cache, prior};
use crate::failure::Failure;
use crate::reviewer::embedded;

/// The raw results of all reviewers.
pub(super) struct Observed {
    pub(super) rules: embedded::Answer,
    pub(super) models: ModelResults,
}

/// Runs the rules and the models, concurrently where neither needs the other.
///
/// `None` when a rule needs more of the change than was fetched.
pub(super) fn observe(request: &mut ReviewRequest<'_>, planned: &Planned) -> Result<Option<Observed>, Failure> {
    let Planned { change, history, .. } = planned;
    let inputs = PromptInputs {
        commit_subjects: &planned.commit_subjects,
        policy: &planned.policy,
        prior: history.prior.as_ref(),
        here: history.here.as_ref(),
        only_fresh: history.only_fresh(),
    };
    // The cache of the rules needs the store for itself, while other threads read the rest of the request.
    let mut memory = std::mem::replace(&mut request.runtime.memory, Memory::Off);
    let context = request.model_context();
    let asks = !request.settings.reviewers.is_empty() && !change.files.is_empty();
    // When files were left out, a second pass may have to fetch them; no model is asked twice.
    let at_once = change.known.is_empty();
    let observed = std::thread::scope(|scope| {
        let begun = asks.then(|| scope.spawn(|| models::begin(&context, change, &inputs, at_once)));
        let rules = scan(request, &mut memory, planned);
        if rules.is_err() {
            request.models.cancel.cancel();
        }
        let begun = begun.map(|begun| begun.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let rules = rules?;
        if !change.known.is_empty() && rules.findings.iter().any(needs_all_files) {
            return Ok(None);
        }
        let models = begun.transpose()?.map(|begun| begun.finish(&context, change, &inputs, &rules.findings));
        Ok(Some(Observed { rules, models: models.unwrap_or_default() }))
    });
    request.runtime.memory = memory;
    observed
}

/// Runs the built-in rules over the fresh lines of the change, or over all of it.
fn scan(request: &ReviewRequest<'_>, memory: &mut Memory, planned: &Planned) -> Result<embedded::Answer, Failure> {
    let Planned { change, history, .. } = planned;
    let touches = |file: &FilePath, lines: LineRange, side: Side| history.is_fresh(file, lines, side);
    let unchanged = history.unchanged_because.as_deref();
    let executable = &request.runtime.executable;
    let declared = declared(request, &planned.intent, &planned.commit_subjects);
    let mut contents = request.forge.contents();
    let mut cache = cache::Cache::new(memory, executable);
    let asked = embedded::asks_for_paths(change, declared);
    let paths = if asked { cache.paths(&change.base, || request.forge.paths_before(change)) } else { Vec::new() };
    let user_rules = user_rules(request, change)?;
    let answer = embedded::review(
        &embedded::Request {
            change,
            settings: request.settings,
            user_rules: &user_rules,
            executable,
            declared: declared.in_repository(&paths),
            part: unchanged.map(|otherwise| embedded::Part { touches: &touches, otherwise }),
            progress: &|n_done, n_files| (request.runtime.events)(ReviewProgress::Scanned { n_done, n_files }),
        },
        &mut |file, max_bytes| contents.read(file, max_bytes),
        &mut cache,
    )?;
    cache.store(&change.files);
    Ok(answer)
}

/// The user's rules: those of the working tree for a local review, otherwise those of the base.
fn user_rules<'a>(request: &'a ReviewRequest<'_>, change: &Change) -> Result<embedded::UserRules<'a>, Failure> {
    Ok(match request.context {
        ReviewContext::Local => embedded::UserRules::Below(request.forge.root()),
        ReviewContext::Gate | ReviewContext::Pull { .. } => {
            embedded::UserRules::Texts(request.forge.before_below(change, embedded::RULES_FOLDER)?)
        }
    })
}

/// The declarations of the author, for rules that compare them with the change.
fn declared<'a>(request: &ReviewRequest<'a>, intent: &Intent, commit_subjects: &'a [String]) -> ChangeContext<'a> {
    let title = request.title.or_else(|| if let [only] = commit_subjects { Some(only) } else { None });
    let declared = ChangeContext::titled(title.unwrap_or_default());
    ChangeContext { breaking: intent.is_breaking(), fix: declared.fix || intent.is_fix(), ..declared }
}

/// True for a finding of a rule that looks at several files, some of which were not fetched.
fn needs_all_files(finding: &Finding) -> bool {
    finding.origin.rule.as_deref().is_some_and(|rule| prior::is_about_the_change(rule) && !is_per_file(rule))
}
