//! What is behind a review, what was decided about its findings, and what can be taken away from it.

use serde::{Deserialize, Serialize};
use tollgate_core::board::{FeatureId, Remark};
use tollgate_core::coverage::CoveredHunk;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_engine::board::Audit;
use tollgate_engine::history::Export;
use utoipa::ToSchema;

use super::{Answer, Output, ProjectId};

/// What a review looked at, and what it found that does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked {
    /// Its number among all stored reviews.
    pub run: i64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// What was compared, in words.
    pub compared: String,
    /// Each hunk of the change, and what became of it; `None` when the review does not say.
    pub hunks: Option<Vec<CoveredHunk>>,
    /// Findings that do not count, each with the reason.
    pub withheld: Vec<(Remark, String)>,
    /// Models and agents that were asked.
    pub reviewers: Vec<Asked>,
}

/// A model or an agent that was asked in a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Its name in the settings.
    #[schema(example = "claude")]
    pub name: String,
    /// The model, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// How many questions it was asked.
    pub calls: u64,
    /// How many of them brought no answer.
    pub failed: u64,
    /// Tokens of questions and answers.
    pub tokens: u64,
    /// What it cost in US dollars, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cost_usd: Option<f64>,
    /// Why it brought no answer, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
}

/// A finding that somebody decided not to hear again while its code is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Dismissal)]
pub struct Dismissed {
    /// The key of the finding across reviews.
    #[schema(example = "fp-4d1b0c2f9a6e7385")]
    pub fingerprint: String,
    /// The file it is in.
    #[schema(example = "src/render.js")]
    pub file: String,
    /// Its title.
    #[schema(example = "Input is evaluated as code")]
    pub title: String,
    /// The code it is about; when that changes, it is heard again.
    #[schema(example = "eval(template)")]
    pub evidence: String,
    /// Why.
    #[schema(example = "The template is ours.")]
    pub reason: String,
    /// Who said so, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "Ada")]
    pub by: Option<String>,
    /// When.
    #[schema(example = "2026-01-09T14:22:00.000Z")]
    pub at: String,
}

impl Dismissed {
    /// True when it speaks of a remark, and of the code as it stands there.
    #[must_use]
    pub fn covers(&self, remark: &Remark) -> bool {
        let is_it = remark.identity.as_ref().is_some_and(|identity| identity.fingerprint == self.fingerprint);
        let evidence = remark.evidence.as_deref().unwrap_or_default();
        is_it && self.evidence.split_whitespace().eq(evidence.split_whitespace())
    }
}

/// Which finding of which review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointed {
    /// The iteration.
    pub iteration: u32,
    /// The finding's number within its review, `F001`.
    pub finding: String,
}

/// What is behind reviews.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Record {
    /// What reviewers were asked in an iteration and what they said.
    fn audit(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Audit>;
    /// What a review looked at; `None` for one that ended without an answer.
    fn looked(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Looked>>;
    /// The end of what the agent of an iteration wrote, and the place in bytes where it begins.
    fn last_output(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        iteration: u32,
        most: usize,
    ) -> Answer<(u64, Output)>;
    /// What is dismissed in a project, oldest first.
    fn dismissals(&self, project: ProjectId) -> Answer<Vec<Dismissed>>;
    /// Dismisses a finding in a person's name.
    fn dismiss(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        which: &Pointed,
        reason: &str,
        by: &str,
    ) -> Answer<Dismissed>;
    /// Takes a dismissal back.
    fn withdraw(&self, project: ProjectId, feature: &FeatureId, fingerprint: Fingerprint) -> Answer<()>;
    /// A review in the form of a file.
    fn export(&self, project: ProjectId, feature: &FeatureId, iteration: u32, form: Export) -> Answer<String>;
    /// The findings of a review, or one of them, as a task for an agent.
    fn task(&self, project: ProjectId, feature: &FeatureId, iteration: u32, finding: Option<&str>) -> Answer<String>;
}
