//! The calls to each reviewer: plans the hunks into calls and writes their prompts.

use std::borrow::Cow;

use tollgate_core::analysis::Analysis;
use tollgate_core::diff::{FileDiff, Line, LineKind};
use tollgate_core::finding::{Finding, LineRange, Side};
use tollgate_core::path::{FilePath, RepoPath};
use tollgate_core::plan::{self, Plan, render};
use tollgate_core::prompt::{self, AnswerForm, Prompt};
use tollgate_core::tokens;

use super::prompt_context::PromptContext;
use super::{PromptInputs, SentPrompt, places};
use crate::config::Settings;
use crate::redaction::Redactor;
use crate::reviewer::prepared::PreparedReviewer;

/// The largest number of calls to one reviewer.
const MAX_CALLS: usize = 200;

pub(super) struct PlanInputs<'a> {
    pub(super) files: &'a [FileDiff],
    pub(super) analysis: &'a Analysis,
    pub(super) known: &'a [Option<plan::FileContext>],
    pub(super) skipped: &'a [Option<String>],
    /// The findings of the rules.
    pub(super) findings: &'a [Finding],
    pub(super) inputs: &'a PromptInputs<'a>,
    pub(super) settings: &'a Settings,
}

/// The calls to one reviewer.
pub(super) struct PlannedCalls {
    pub(super) plan: Plan,
    pub(super) prompt: Prompt,
    /// About how many tokens of each call are not the change.
    pub(super) overhead: usize,
}

impl PlanInputs<'_> {
    pub(super) fn plan(
        &self,
        member: &PreparedReviewer,
        team: &[PreparedReviewer],
        shared: &PromptContext,
        redactor: &Redactor,
    ) -> PlannedCalls {
        let applies = |index: usize, path: &RepoPath| {
            shared.applies.get(index).is_some_and(|it| it.is_about(FilePath::of_repo_path(path).as_str()))
        };
        let is_marked = |file: usize, line: &Line<'_>| self.is_new_line(file, line);
        let setting = prompt::PromptSettings {
            system: shared.prompts.system.as_deref(),
            template: shared.prompts.template.as_deref(),
            title: &shared.title,
            description: &shared.description,
            spec: &shared.spec,
            criteria: &shared.criteria,
            unmet: &shared.unmet,
            context: &shared.context,
            effects: &shared.effects,
            focus: &self.inputs.policy.focus,
            ignored: &self.inputs.policy.ignored,
            floor: self.inputs.policy.floor,
            instructions: &shared.instructions,
            applies: &applies,
            prior: &shared.prior,
            fresh: self.inputs.prior.map(|_| &is_marked as render::IsFresh<'_>),
            skipped: &shared.skipped,
            boundary: &shared.boundary,
            schema: &shared.schema,
            answer: if member.structured { AnswerForm::Structured } else { AnswerForm::Text },
        };
        let place = member.place.map(|place| format!("\n## Where you are\n{place}\n")).unwrap_or_default();
        let overhead = prompt::overhead(&setting) + tokens::estimate(place.as_bytes());
        let n_passes: u32 = team.iter().map(|member| member.passes).sum();
        let budget = &self.settings.budget;
        let limits = plan::PlanLimits {
            call_tokens: budget.call_tokens.unwrap_or(member.call_tokens),
            total_tokens: budget.tokens / n_passes.max(1) as usize,
            max_calls: MAX_CALLS,
            overhead,
        };
        let plan = plan::plan(&plan::PlanInput {
            files: self.files,
            wanted: &|file, hunk| self.is_wanted(&member.name, file, hunk),
            fresh: &|file, line| self.is_new(&member.name, file, line),
            known: &|file| self.known.get(file).and_then(Option::as_ref),
            findings: self.findings,
            analysis: self.analysis,
            limits,
        });
        let mut prompt = prompt::write(&setting, &plan, self.files);
        prompt.system.push_str(&place);
        // The change itself can contain one of our API keys.
        for text in [&mut prompt.system, &mut prompt.shared].into_iter().chain(&mut prompt.parts) {
            if let Cow::Owned(hidden) = redactor.redact(text) {
                *text = hidden;
            }
        }
        PlannedCalls { plan, prompt, overhead }
    }

    /// True when a reviewer has not seen a line yet.
    fn is_new(&self, reviewer: &str, file: usize, line: &Line<'_>) -> bool {
        let Some(last) = self.inputs.prior.filter(|_| self.inputs.only_fresh) else {
            return true;
        };
        !last.asked(reviewer) || self.is_fresh(file, line)
    }

    /// True when the last review did not see a line, or did not see what stood beside it.
    fn is_fresh(&self, file: usize, line: &Line<'_>) -> bool {
        let Some(last) = self.inputs.prior else { return true };
        self.place(file, line).is_some_and(|(file, number, side)| last.is_fresh(&file, LineRange::line(number), side))
    }

    /// True when a line itself changed since the last review.
    fn is_new_line(&self, file: usize, line: &Line<'_>) -> bool {
        let Some(last) = self.inputs.prior else { return true };
        self.place(file, line).is_some_and(|(file, number, side)| last.is_new_line(&file, number, side))
    }

    fn place(&self, file: usize, line: &Line<'_>) -> Option<(FilePath, u32, Side)> {
        let file = self.files.get(file)?;
        let (path, number, side) = match line.kind {
            LineKind::Removed => (file.old_path.as_ref(), line.old, Side::Left),
            LineKind::Added | LineKind::Context => (file.new_path.as_ref(), line.new, Side::Right),
        };
        Some((FilePath::of_repo_path(path?), number?, side))
    }

    /// True when a reviewer has not seen a hunk yet and the file is not skipped.
    fn is_wanted(&self, reviewer: &str, file: usize, hunk: usize) -> bool {
        if self.skipped[file].is_some() {
            return false;
        }
        let Some(last) = self.inputs.prior.filter(|_| self.inputs.only_fresh) else {
            return true;
        };
        let file = &self.files[file];
        places(file, &file.hunks[hunk])
            .iter()
            .any(|place| last.is_new_to(reviewer, &place.file, place.lines, place.side))
    }
}

impl PlannedCalls {
    pub(super) fn sent(&self, reviewer: &str) -> Vec<SentPrompt> {
        let calls = self.prompt.parts.iter().zip(&self.plan.calls).enumerate();
        let sent = calls.map(|(index, (part, call))| SentPrompt {
            reviewer: reviewer.to_owned(),
            call: index + 1,
            n_calls: self.plan.calls.len(),
            n_tokens: call.tokens + self.overhead,
            system: self.prompt.system.clone(),
            shared: self.prompt.shared.clone(),
            part: part.clone(),
        });
        sent.collect()
    }
}
