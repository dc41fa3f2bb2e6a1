//! Previews the prompt of a review with prompts that are not stored yet.
//!
//! Built by the same code as a real prompt, from the last reviewed commit of a feature. No model is called, nothing is
//! stored.

use tokio_util::sync::CancellationToken;
use tollgate_core::board::FeatureId;
use tollgate_core::prompt::MAX_CONTEXT_CHARS;
use tollgate_core::sha::Sha;

use super::work::{self, Feature};
use super::{Board, OwnPrompts, Refused};
use crate::config::reviewer::presets;
use crate::config::{Chosen, Settings};
use crate::forge::local::{Local, Trigger};
use crate::forge::project::Project as Repository;
use crate::pipeline::{self, GatedFeature, Memory, ModelOptions, ReviewRequest, Runtime, SentPrompt};
use crate::store::board::ProjectRow;

/// The example provider when no reviewer is configured.
const EXAMPLE: &str = "anthropic";

/// Unsaved prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// True for the global prompts; then the project's own are ignored.
    pub is_for_all: bool,
    /// The prompts.
    pub prompts: OwnPrompts,
}

/// A previewed prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPreview {
    /// The iteration of the previewed commit.
    pub iteration: u32,
    /// The reviewer.
    pub reviewer: String,
    /// False when no reviewer is configured, and the example is shown.
    pub is_set_up: bool,
    /// The first call.
    pub first: Option<SentPrompt>,
    /// The number of calls, to all reviewers.
    pub n_calls: usize,
    /// The estimated number of tokens of all calls.
    pub n_tokens: usize,
    /// The number of hunks that would not be sent.
    pub n_left_out: usize,
    /// The project's context files in the prompt.
    pub context: Vec<ContextFile>,
    /// Warnings, for people.
    pub notes: Vec<String>,
}

/// A context file in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its name.
    pub name: String,
    /// The number of characters of the file.
    pub n_chars: usize,
    /// The number of characters in the prompt.
    pub n_shown: usize,
}

impl Board {
    /// Previews the prompt of a review of a feature, with the stored prompts or a draft.
    pub fn preview(&self, project: i64, id: &FeatureId, draft: Option<&Draft>) -> Result<PromptPreview, Refused> {
        if let Some(draft) = draft {
            draft.prompts.check().map_err(Refused::Invalid)?;
        }
        let project = self.project(project)?;
        let feature = Feature::read(self.feature(project.id, id)?)?;
        let iterations = self.iterations(project.id, id)?;
        let reviewed = iterations.into_iter().rev().map(|row| row.iteration).find_map(|iteration| {
            let base = Sha::parse(iteration.base.as_deref()?).ok()?;
            Some((iteration.number, base, Sha::parse(iteration.commit.as_deref()?).ok()?))
        });
        let Some((number, base, commit)) = reviewed else {
            return Err(Refused::Invalid(
                "nothing of this feature was reviewed yet, so there is no diff to fill in".into(),
            ));
        };
        self.check_here(&project)?;
        let repository = Repository::open(&project.path, self.home().git.clone())?;
        let (settings, is_set_up) = with_somebody(self.settings_as_of(&project, &repository, &base)?);
        let preview = self.write_preview(&project, &feature, &settings, &format!("{base}..{commit}"), draft)?;
        let context = preview.context.iter().map(|file| {
            let n_chars = file.text.trim_end().chars().count();
            ContextFile { name: file.name.clone(), n_chars, n_shown: n_chars.min(MAX_CONTEXT_CHARS) }
        });
        Ok(PromptPreview {
            iteration: number,
            reviewer: settings.reviewers.first().map(|chosen| chosen.name.clone()).unwrap_or_default(),
            is_set_up,
            n_calls: preview.sent.len(),
            n_tokens: preview.sent.iter().map(|sent| sent.n_tokens).sum(),
            n_left_out: preview.n_left_out,
            context: context.collect(),
            notes: preview.notes,
            first: preview.sent.into_iter().next(),
        })
    }

    fn write_preview(
        &self,
        project: &ProjectRow,
        feature: &Feature,
        settings: &Settings,
        range: &str,
        draft: Option<&Draft>,
    ) -> Result<pipeline::Preview, Refused> {
        let home = self.home();
        let draft_prompts = draft.map(|draft| self.drafted(project, draft)).transpose()?;
        let (title, body, spec) = (feature.title(), feature.document.description(), feature.document.spec());
        let (criteria, variable) = (feature.criteria(), |name: &str| std::env::var(name).ok());
        let forge = Local::open(&project.path, Trigger::Range(range.to_owned()), home.git.clone())?;
        let feature = GatedFeature {
            unmet: Vec::new(),
            subject: work::subject(project, &feature.row.id),
            title: &title,
            body: &body,
            spec: spec.as_deref(),
            criteria: &criteria,
        };
        let models = ModelOptions {
            prompts: Some(home.data.join("settings.json")),
            draft_prompts,
            board: Some(project.path.join(&self.settings().pipeline.dir)),
            ..ModelOptions::new(&variable, CancellationToken::new())
        };
        let runtime = Runtime {
            executable: home.executable.clone(),
            memory: self.database().store().map_or_else(Memory::Unavailable, Memory::Open),
            clock: &home.clock,
            events: &|_| {},
        };
        let mut request = ReviewRequest::preview(settings, forge, feature, models, runtime);
        Ok(pipeline::preview(&mut request)?)
    }
}

/// The settings with at least an example reviewer, and whether one is configured.
fn with_somebody(mut settings: Settings) -> (Settings, bool) {
    // No call is made, so the budget does not matter.
    settings.budget.usd = None;
    let is_set_up = !settings.reviewers.is_empty();
    if !is_set_up {
        let example = |chosen: &Chosen| chosen.name == EXAMPLE;
        settings.reviewers.extend(presets().find(example));
    }
    (settings, is_set_up)
}
