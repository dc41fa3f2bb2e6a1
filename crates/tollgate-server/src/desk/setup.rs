//! What the settings and the first steps ask for: who is set up and works, what is in force and where it comes from, what
//! a reviewer would be told, the demonstration.

use serde::{Deserialize, Serialize};
use tollgate_core::board::FeatureId;
use utoipa::ToSchema;

use crate::desk::{Answer, FeatureName, Project, ProjectId, Prompts};

/// Where a prompt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// From nobody: it is the default.
    Default,
    /// From those for all projects.
    All,
    /// From the project's own.
    Project,
}

/// A prompt that is used, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct UsedPrompt {
    /// Where it comes from.
    pub level: Level,
    /// The text.
    pub value: String,
}

/// The prompts that reviews are made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedPrompts {
    /// What the reviewer is told about its role.
    pub review_system_prompt: UsedPrompt,
    /// How a review is asked for.
    pub review_prompt_template: UsedPrompt,
}

/// A feature that prompts can be shown with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Its project.
    pub project: ProjectId,
    /// What the project is called.
    pub project_name: String,
    /// Its name.
    pub feature: FeatureId,
    /// What it is called.
    pub title: String,
    /// The iteration that was reviewed last.
    pub iteration: u32,
    /// When, as `2026-01-09T14:22:00.000Z`.
    pub at: String,
}

/// What is to be shown with which feature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreviewRequest {
    /// The project of the feature.
    #[serde(deserialize_with = "crate::json::whole")]
    #[schema(maximum = 9_000_000_000_000_000_i64)]
    pub project: ProjectId,
    /// The feature, of which something was reviewed.
    pub feature: FeatureName,
    /// Prompts that are not stored; missing means those that hold.
    #[serde(default)]
    #[schema(nullable = false)]
    pub prompts: Option<Prompts>,
    /// True when `prompts` are meant for all projects, false when for this one.
    #[serde(default)]
    pub for_all: bool,
}

/// What a reviewer would be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The iteration whose commit it is about.
    pub iteration: u32,
    /// Who would be told.
    #[schema(example = "claude")]
    pub reviewer: String,
    /// False when nobody is set up to review, and this is what one would be told.
    pub is_set_up: bool,
    /// How many calls there would be.
    pub calls: u64,
    /// About how many tokens those are together.
    pub tokens: u64,
    /// Parts of the change that would not be sent, because there is too much of it.
    pub left_out: u64,
    /// The first call: who the reviewer is to be. Hidden characters are written as `\u{..}`, since people read this.
    pub system: Excerpt,
    /// What all calls begin with.
    pub shared: Excerpt,
    /// What is special to the first call.
    pub part: Excerpt,
    /// The files of the project that are told.
    pub context: Vec<ContextShown>,
    /// What is odd about it.
    pub notes: Vec<String>,
}

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Excerpt {
    /// As much of it as is shown.
    pub text: String,
    /// How many characters it has in all.
    pub chars: u64,
    /// True when it goes on.
    pub cut: bool,
}

impl Excerpt {
    /// More of a text is not shown.
    pub const MAX_CHARS: usize = 60_000;

    /// The beginning of a text, harmless for people's eyes.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let chars = text.chars().count();
        let beginning: String = text.chars().take(Self::MAX_CHARS).collect();
        let text = tollgate_core::visible::visible(&beginning).into_owned();
        Self { text, chars: chars as u64, cut: chars > Self::MAX_CHARS }
    }
}

/// A file of the project that a reviewer is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ContextShown {
    /// Its name.
    #[schema(example = "AGENTS.md")]
    pub name: String,
    /// How many characters it has.
    pub chars: u64,
    /// How many of them are told.
    pub shown: u64,
}

/// How somebody is tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trial {
    /// They are asked once.
    #[default]
    Ask,
    /// An agent is asked to write, and it is looked whether it did.
    Hands,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// True when all is well.
    pub passed: bool,
    /// What happened.
    #[schema(example = "it answered within 2.1 s")]
    pub words: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub hint: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// A value that is set, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetValue {
    /// The key: `review.fail_on`.
    pub key: String,
    /// The value as TOML.
    pub value: String,
    /// Where it comes from: `default`, a file, a variable, a flag.
    pub source: String,
}

/// Everything that is set, and where it is changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Each value; a list has one for each place that adds to it.
    pub values: Vec<SetValue>,
    /// The operator's own configuration file, whether it is there or not.
    pub file: Option<String>,
    /// True when it is there.
    pub has_file: bool,
}

/// Whose names stand on what is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// In the titles of summary comments.
    pub bot: String,
    /// In messages of commits.
    pub pipeline: String,
    /// Whom the commits of each project name.
    pub authors: Vec<AuthorOf>,
    /// The message of a commit, as it would be.
    pub message: String,
}

/// Whom the commits of a project name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorOf {
    /// What the project is called.
    pub project: String,
    /// `Ada Lovelace <ada@example.com>`, or why that cannot be told.
    pub author: Result<String, String>,
}

/// A project at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The project.
    pub project: Project,
    /// How many features each column has, those with none left out.
    pub columns: Vec<(String, u64)>,
    /// How many wait for a person.
    pub n_waiting: u64,
    /// True when it is the demonstration.
    pub is_demo: bool,
}

/// The demonstration, once it is on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedDemo {
    /// Its project.
    pub project: Project,
    /// Its feature, on which an agent is at work.
    pub feature: FeatureId,
}

/// What the settings and the first steps ask for.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Setup {
    /// Features that prompts can be shown with, of a project or of all, the last reviewed first.
    fn examples(&self, project: Option<ProjectId>) -> Answer<Vec<Example>>;
    /// What a reviewer would be told.
    fn preview(&self, request: PreviewRequest) -> Answer<Preview>;
    /// Tries somebody out, over the network and within a bound.
    fn try_agent(&self, name: &str, trial: Trial) -> Answer<Tried>;
    /// Everything that is set.
    fn policy(&self) -> Answer<Policy>;
    /// Whose names stand on what is made.
    fn identity(&self) -> Answer<Identity>;
    /// All projects at a glance.
    fn overview(&self) -> Answer<Vec<Overview>>;
    /// Puts the demonstration on the board.
    fn load_demo(&self, by: &str) -> Answer<LoadedDemo>;
    /// Takes the demonstration off the board and deletes its folder; false when there is none.
    fn remove_demo(&self, by: &str) -> Answer<bool>;
}
