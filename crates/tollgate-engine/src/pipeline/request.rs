//! The request for a review: the change, its trust context, and the services that the review needs from outside.

use std::path::PathBuf;

use tollgate_core::board::Criterion;
use tollgate_core::finding::Finding;
use tollgate_core::review::WithheldFinding;

use super::ReviewProgress;
use super::models::{ModelContext, ModelOptions};
use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::local::Local;
use crate::reviewer::imported::Scope;
use crate::store::{Store, Subject};

/// A change to review, and everything that the review needs from outside.
pub struct ReviewRequest<'a> {
    /// How to review.
    pub settings: &'a Settings,
    /// The repository that holds the change.
    pub forge: Local,
    /// Findings of other tools, merged into the review.
    pub imported: ImportedFindings,
    /// The title that the author gave the change.
    pub title: Option<&'a str>,
    /// The description that the author gave the change.
    pub body: Option<&'a str>,
    /// The specification of the change, for prompts.
    pub spec: Option<&'a str>,
    /// Acceptance criteria; each reviewer answers for each of them.
    pub criteria: &'a [Criterion],
    /// The criteria that the last review called not met, by their texts, each with the reason.
    pub unmet: Vec<(String, String)>,
    /// True to review only the lines that changed since the prior review.
    pub since_last: bool,
    /// The key under which reviews of this line of work are stored; `None` when the change has no stable name.
    pub subject: Option<Subject>,
    /// The trust context of the review.
    pub context: ReviewContext,
    /// True when the dismissals that a local branch adds to the team's file count.
    pub trusts_branch: bool,
    /// How models and agents are asked.
    pub models: ModelOptions<'a>,
    /// The services of the process that runs the review.
    pub runtime: Runtime<'a>,
}

/// The services of the process that runs a review.
pub struct Runtime<'a> {
    /// This very program, which scans files as a child process of itself.
    pub executable: PathBuf,
    /// Past reviews.
    pub memory: Memory,
    /// The time in milliseconds since 1970.
    pub clock: &'a dyn Fn() -> u64,
    /// Receives progress events.
    pub events: &'a (dyn Fn(ReviewProgress<'_>) + Sync),
}

/// Findings of other tools, with paths relative to the repository.
#[derive(Debug, Default)]
pub struct ImportedFindings {
    /// The findings.
    pub findings: Vec<Finding>,
    /// Findings that the other tool itself suppressed.
    pub withheld: Vec<WithheldFinding>,
    /// Which of the findings count.
    pub scope: Scope,
}

/// Past reviews, as far as they are available.
#[derive(Debug)]
pub enum Memory {
    /// The user switched the memory off.
    Off,
    /// The store cannot be opened, and why.
    Unavailable(Failure),
    /// The open store.
    Open(Store),
}

/// The trust context of a review: whose declarations count in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewContext {
    /// A developer reviews their own work: the rules of the working tree, marks in the code and tags in a title count.
    Local,
    /// A change is at a gate: its own statements about its review do not count, and rules are those of the base.
    ///
    /// The caller stores the review together with the transition that follows from it ([`super::Reviewed::completed`]).
    Gate,
    /// A pull request: as at a gate, its own statements about its review do not count.
    ///
    /// The caller stores the review together with the outbox entries that publish it.
    Pull {
        /// True when the author may write to the repository. Then the tags in the title and in the commits count;
        /// otherwise they are only shown.
        trusts_author: bool,
    },
}

/// A pull request, as far as its review needs it.
#[derive(Debug, Clone)]
pub struct PullRequest<'a> {
    /// The key under which its reviews are stored.
    pub subject: Subject,
    /// Its title.
    pub title: &'a str,
    /// Its description.
    pub body: &'a str,
    /// True when its author may write to the repository.
    pub trusts_author: bool,
}

/// A feature of the board, as far as its review needs it.
#[derive(Debug, Clone)]
pub struct GatedFeature<'a> {
    /// The key under which its reviews are stored.
    pub subject: Subject,
    /// Its title.
    pub title: &'a str,
    /// Its description.
    pub body: &'a str,
    /// Its specification.
    pub spec: Option<&'a str>,
    /// Its acceptance criteria.
    pub criteria: &'a [Criterion],
    /// The criteria that the last review called not met, by their texts, each with the reason.
    pub unmet: Vec<(String, String)>,
}

impl<'a> ReviewRequest<'a> {
    /// Requests a review of a developer's own work: a branch, a range, the working tree or a patch.
    pub fn for_branch(settings: &'a Settings, forge: Local, models: ModelOptions<'a>, runtime: Runtime<'a>) -> Self {
        let subject = subject_of(&forge);
        Self { subject, ..Self::new(settings, forge, models, runtime) }
    }

    /// Requests a review of a pull request.
    pub fn for_pull(
        settings: &'a Settings,
        forge: Local,
        pull: PullRequest<'a>,
        models: ModelOptions<'a>,
        runtime: Runtime<'a>,
    ) -> Self {
        let context = ReviewContext::Pull { trusts_author: pull.trusts_author };
        let (subject, title, body) = (Some(pull.subject), Some(pull.title), Some(pull.body));
        Self { subject, title, body, context, ..Self::new(settings, forge, models, runtime) }
    }

    /// Requests the review that decides whether a feature passes its gate.
    pub fn for_gate(
        settings: &'a Settings,
        forge: Local,
        feature: GatedFeature<'a>,
        models: ModelOptions<'a>,
        runtime: Runtime<'a>,
    ) -> Self {
        let GatedFeature { subject, title, body, spec, criteria, unmet } = feature;
        let (subject, title, body) = (Some(subject), Some(title), Some(body));
        let context = ReviewContext::Gate;
        Self { subject, title, body, spec, criteria, unmet, context, ..Self::new(settings, forge, models, runtime) }
    }

    /// Requests the prompts of a review at a gate, for [`super::preview`]: no model is asked and no review is stored.
    pub fn preview(
        settings: &'a Settings,
        forge: Local,
        feature: GatedFeature<'a>,
        models: ModelOptions<'a>,
        runtime: Runtime<'a>,
    ) -> Self {
        Self::for_gate(settings, forge, feature, ModelOptions { only_print: true, ..models }, runtime)
    }

    fn new(settings: &'a Settings, forge: Local, models: ModelOptions<'a>, runtime: Runtime<'a>) -> Self {
        Self {
            settings,
            forge,
            imported: ImportedFindings::default(),
            title: None,
            body: None,
            spec: None,
            criteria: &[],
            unmet: Vec::new(),
            since_last: false,
            subject: None,
            context: ReviewContext::Local,
            trusts_branch: false,
            models,
            runtime,
        }
    }

    /// The part of the request that models need, which other threads may share.
    pub(super) fn model_context(&self) -> ModelContext<'_> {
        ModelContext {
            settings: self.settings,
            forge: &self.forge,
            executable: &self.runtime.executable,
            title: self.title,
            body: self.body,
            spec: self.spec,
            criteria: self.criteria,
            unmet: &self.unmet,
            is_gate: self.context.is_gate(),
            options: &self.models,
            events: self.runtime.events,
        }
    }
}

impl ReviewContext {
    /// True at the gate of a pipeline, where reviewers say whether a change may pass.
    pub(super) fn is_gate(self) -> bool {
        self == Self::Gate
    }

    /// True when rules, marks and dismissals of the change itself count.
    pub(super) fn trusts_change(self) -> bool {
        self == Self::Local
    }

    /// True when declarations of the author are shown without being followed.
    pub(super) fn distrusts_author(self) -> bool {
        self == Self::Pull { trusts_author: false }
    }
}

/// The key under which reviews of a local change are stored; `None` for one without a stable name.
fn subject_of(forge: &Local) -> Option<Subject> {
    let (name, scope) = forge.line_of_work()?;
    Some(Subject { repository: forge.identity()?, name, scope })
}
