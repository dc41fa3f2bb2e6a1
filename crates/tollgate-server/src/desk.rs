//! What the routes ask for: the board, seen from the server.
//!
//! Everything here may take its time (files, the database, git), so routes call it off the runtime. Whoever implements
//! it decides; the server only translates.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tollgate_core::board::machine::State;
use tollgate_core::board::{FeatureId, Iteration, Outcome};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::github::metrics as github_metrics;
use tollgate_engine::store::Health;
use utoipa::ToSchema;

use crate::json;
use crate::problem::{Kind, Problem};

pub mod cards;
pub mod deliveries;
pub mod github;
pub mod jobs;
pub(crate) mod prompt;
pub mod record;
pub mod reviews;
pub mod setup;
pub mod source;

/// The number of a project.
pub type ProjectId = u64;

/// Why a desk did not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such thing.
    NotFound(Failure),
    /// It cannot be done to the thing as it is now.
    Conflict(Failure),
    /// The thing is not any more what the client takes it for.
    Stale(Failure),
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let (kind, failure) = match refusal {
            Refusal::NotFound(failure) => (Kind::NotFound, failure),
            Refusal::Conflict(failure) => (Kind::Conflict, failure),
            Refusal::Stale(failure) => (Kind::PreconditionFailed, failure),
            Refusal::Failed(failure) => return failure.into(),
        };
        let problem = Self::new(kind, failure.message);
        match failure.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

/// What a desk answers.
pub type Answer<T> = Result<T, Refusal>;

/// A project, as an operator added it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its number.
    pub id: ProjectId,
    /// What it is called.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// How many features it has.
    pub n_features: u64,
    /// Features whose files cannot be read, each with the reason.
    pub broken: Vec<Broken>,
}

/// A feature whose file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    /// The name of its folder.
    pub folder: String,
    /// Why it cannot be read.
    pub problem: String,
}

/// A feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name.
    pub id: FeatureId,
    /// Its title; may be empty.
    pub title: String,
    /// What is wanted.
    pub description: String,
    /// The specification, if there is one.
    pub spec: Option<String>,
    /// The group it is shown in.
    pub category: String,
    /// 1 is the most urgent, 3 the least.
    pub priority: u8,
    /// True when a person looks at it in the end.
    pub skip_tests: bool,
    /// What has to be done before it.
    pub dependencies: Vec<String>,
    /// The model that works on it, if it is not the default.
    pub model: Option<String>,
    /// The branch it is worked on.
    pub branch: Option<String>,
    /// Its work tree, once there is one.
    pub worktree: Option<PathBuf>,
    /// Where it is.
    pub state: State,
    /// How many iterations there may be before a person decides.
    pub max_iterations: u32,
    /// What went wrong last, to people.
    pub error: Option<String>,
    /// Why its file cannot be read, if it cannot.
    pub broken: Option<String>,
    /// What it has cost, in US dollars.
    pub cost_usd: f64,
    /// How many tokens it took.
    pub n_tokens: u64,
    /// Grows with every change.
    pub rev: u64,
    /// When it was made, if that is known.
    pub created_at: Option<String>,
    /// When it was last changed, if that is known.
    pub updated_at: Option<String>,
}

/// A feature as a list shows it: without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// What is stored of it.
    pub card: tollgate_engine::store::board::Card,
    /// How many iterations there may be before a person decides.
    pub max_iterations: u32,
}

/// Some of a longer list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// Where the next part begins, when there is more.
    pub next: Option<String>,
    /// How many there are in all.
    pub total: u64,
}

/// Which features are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureQuery {
    /// Only those in this column.
    pub status: Option<String>,
    /// Only those with this text in name, title or first line, in any case.
    pub text: Option<String>,
    /// Only those of this priority.
    pub priority: Option<u32>,
    /// Only those of this group.
    pub category: Option<String>,
    /// Only those that wait for a person.
    pub needs_person: bool,
    /// At most so many.
    pub limit: usize,
    /// Those after this place, as [`Page::next`] gave it.
    pub after: Option<String>,
}

/// A project to add.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    /// The folder of the project: absolute, and a git repository.
    #[schema(min_length = 1, max_length = 4096, pattern = "^/", example = "/home/me/shop")]
    pub path: String,
    /// What to call it, if not by the name of its folder.
    #[schema(max_length = 200, example = "Shop")]
    pub name: Option<String>,
}

/// A feature to add.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFeature {
    /// A short title.
    #[serde(default)]
    #[schema(max_length = 500, example = "Add login")]
    pub title: String,
    /// What is wanted. List items and sentences with "must" or "should" become acceptance criteria.
    #[schema(
        min_length = 1,
        max_length = 200_000,
        pattern = r"\S",
        example = "Users can sign in.\n- passwords must have 8 characters"
    )]
    pub description: String,
    /// The specification, if there is one.
    #[schema(max_length = 500_000)]
    pub spec: Option<String>,
    /// The group it is shown in.
    #[schema(max_length = 200, example = "Core")]
    pub category: Option<String>,
    /// 1 is the most urgent, 3 the least.
    #[serde(default, deserialize_with = "json::maybe_whole")]
    #[schema(minimum = 1, maximum = 3)]
    pub priority: Option<u8>,
    /// True when a person looks at it in the end.
    pub skip_tests: Option<bool>,
    /// Features that have to be done before it.
    #[schema(max_items = 100)]
    pub dependencies: Option<Vec<FeatureName>>,
    /// The model that works on it, if it is not the default.
    #[schema(max_length = 200)]
    pub model: Option<String>,
    /// The branch to work on; made up when it is missing.
    #[schema(max_length = 200)]
    pub branch_name: Option<String>,
    /// True to start the work at once.
    pub start: Option<bool>,
}

/// What is to be different about a feature. What is missing stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeatureEdit {
    /// A short title.
    #[schema(max_length = 500)]
    pub title: Option<String>,
    /// What is wanted.
    #[schema(min_length = 1, max_length = 200_000, pattern = r"\S")]
    pub description: Option<String>,
    /// The specification; an empty one is none.
    #[schema(max_length = 500_000)]
    pub spec: Option<String>,
    /// The group it is shown in.
    #[schema(max_length = 200)]
    pub category: Option<String>,
    /// 1 is the most urgent, 3 the least.
    #[serde(default, deserialize_with = "json::maybe_whole")]
    #[schema(minimum = 1, maximum = 3)]
    pub priority: Option<u8>,
    /// True when a person looks at it in the end.
    pub skip_tests: Option<bool>,
    /// Features that have to be done before it.
    #[schema(max_items = 100)]
    pub dependencies: Option<Vec<FeatureName>>,
    /// The model that works on it; an empty one is the default.
    #[schema(max_length = 200)]
    pub model: Option<String>,
}

/// The name of a feature in a body, which cannot be a wrong one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureName(pub FeatureId);

impl<'de> Deserialize<'de> for FeatureName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let id = FeatureId::parse(&text)
            .map_err(|problem| serde::de::Error::custom(format_args!("`{text}` names no feature: {problem}")))?;
        Ok(Self(id))
    }
}

impl utoipa::PartialSchema for FeatureName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some(FEATURE_ID))
            .description(Some("The name of a feature."))
            .examples(["feature-1767960000000-x7k2m9qpa"])
            .into()
    }
}

impl ToSchema for FeatureName {}

/// What names of features look like, for the description of the API.
pub(crate) const FEATURE_ID: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// Something a person does to a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Has it done.
    Start,
    /// Ends the work on it.
    Stop,
    /// Has it go on, with more rounds, and something to say to the agent.
    Resume {
        /// What to say.
        note: Option<String>,
    },
    /// Lets it pass, whatever the review says.
    Approve {
        /// Why.
        reason: String,
    },
    /// Sends it back.
    Reject {
        /// What is wrong with it.
        note: String,
    },
    /// Has tried again what failed.
    Retry,
    /// Moves it to another column.
    Move {
        /// The column.
        status: String,
    },
    /// Removes its work tree.
    Clean,
}

/// Which diff of an iteration is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The whole feature, as it was reviewed.
    #[default]
    Whole,
    /// What changed since the review before.
    Delta,
}

/// A part of what an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The text from the place that was asked for.
    pub text: String,
    /// The place after it, in bytes.
    pub next: u64,
    /// True when the agent may write more.
    pub is_running: bool,
}

/// Something that happened to a feature, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// When, as `2026-01-09T14:22:00.000Z`.
    pub at: String,
    /// What happened, e.g. `start`, `committed`, `rejected`.
    pub event: String,
    /// The column before.
    pub from: String,
    /// The column after.
    pub to: String,
    /// Who did it: a person, or the server.
    pub by: String,
    /// What else is to be known, e.g. the reason of an approval by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// A prompt that may be a team's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// True to use it, false to use the default and keep this one.
    pub enabled: bool,
    /// The text.
    pub value: String,
}

/// The prompts of code reviews that may be a team's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prompts {
    /// What the reviewer is told about its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = prompt::system)]
    pub review_system_prompt: Option<Prompt>,
    /// How a review is asked for; has `{gitDiff}` in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = prompt::template)]
    pub review_prompt_template: Option<Prompt>,
}

/// The prompts in force, beside those that would be without a team's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptsInForce {
    /// What is stored at this level.
    pub own: Prompts,
    /// The default of the role.
    pub default_system: String,
    /// The default of the question.
    pub default_template: String,
    /// What is odd about them, e.g. a variable that does not exist.
    pub notes: Vec<String>,
    /// Another number for other prompts at this level.
    pub revision: u64,
    /// What reviews are made with, and where it comes from.
    pub used: setup::UsedPrompts,
}

/// How the pipeline works. The operator's configuration file is where that is changed.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// How many features agents work on at once.
    pub max_concurrency: usize,
    /// How many reviews are made at once.
    pub max_reviews: usize,
    /// How many rounds there are before a person decides.
    pub max_iterations: u32,
    /// The agent that implements.
    pub implementer: Option<String>,
    /// Who reviews, beside the rules.
    pub reviewers: Vec<String>,
    /// The model that reviews, if it is not that of the feature.
    pub review_model: Option<String>,
    /// US dollars for one feature.
    pub budget_usd: Option<f64>,
    /// True when the project's hooks have a say in commits.
    pub hooks: bool,
    /// The folder of a project that holds its features.
    pub folder: String,
}

/// An agent or model that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its name in settings and features.
    #[schema(example = "claude")]
    pub name: String,
    /// `implementer` or `reviewer`.
    #[schema(example = "implementer")]
    pub role: String,
    /// True when it could be started now.
    pub available: bool,
    /// Why not, or what it is.
    pub detail: String,
    /// `embedded`, `service`, `agent` or `command`.
    #[schema(example = "agent")]
    pub kind: String,
    /// Its model, where one is set or usual.
    pub model: Option<String>,
    /// Where its key is looked for: names of environment variables, or a file.
    pub key_in: Vec<String>,
    /// True when there is a key in one of them.
    pub has_key: bool,
    /// True when the operator set it up, false when it is only known by name.
    pub is_own: bool,
    /// True when it has this role now.
    pub is_used: bool,
}

/// A review that is asked for by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// The folder of the project, as the client names it.
    pub project_path: String,
    /// The feature.
    pub feature: FeatureId,
    /// The iteration the client believes it is.
    pub iteration: u32,
    /// The work tree the client believes it is.
    pub worktree_path: Option<String>,
}

/// A review that runs, or ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewTicket {
    /// The project.
    pub project: ProjectId,
    /// The name of this review.
    pub review: String,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
}

/// How much there is of everything, for those who watch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// Features by column.
    pub features: Vec<(String, u64)>,
    /// Work that is owed, by kind.
    pub work: Vec<(String, u64)>,
    /// Agents that run.
    pub agents: u64,
    /// What is owed, and how the database does.
    pub health: Health,
    /// What was asked of GitHub.
    pub github: github_metrics::RequestCounts,
}

/// The board, as the routes see it.
#[expect(clippy::missing_errors_doc, reason = "each says in `Refusal` why it did not do it")]
pub trait Desk:
    cards::Cards
    + deliveries::Deliveries
    + github::Github
    + jobs::Jobs
    + record::Record
    + reviews::Reviews
    + setup::Setup
    + source::Sources
    + Send
    + Sync
    + 'static
{
    /// Nothing, or why no work can be done now.
    fn ready(&self) -> Answer<()>;
    /// How much there is of everything.
    fn figures(&self) -> Answer<Figures>;

    /// All projects.
    fn projects(&self) -> Answer<Vec<Project>>;
    /// One project.
    fn project(&self, project: ProjectId) -> Answer<Project>;
    /// Adds a project.
    fn add_project(&self, new: NewProject) -> Answer<Project>;
    /// Forgets a project. Its folder stays as it is.
    fn remove_project(&self, project: ProjectId) -> Answer<()>;

    /// Some features of a project.
    fn features(&self, project: ProjectId, query: &FeatureQuery) -> Answer<Page<Card>>;
    /// One feature.
    fn feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<Feature>;
    /// Adds a feature.
    fn add_feature(&self, project: ProjectId, new: NewFeature, by: &str) -> Answer<Feature>;
    /// Changes a feature, if it still is at this revision.
    fn edit_feature(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        edit: FeatureEdit,
        rev: Option<u64>,
    ) -> Answer<Feature>;
    /// Removes a feature.
    fn remove_feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<()>;
    /// Does something to a feature.
    fn act(&self, project: ProjectId, feature: &FeatureId, act: Act, by: &str) -> Answer<Feature>;

    /// The reviews of a feature.
    fn iterations(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Iteration>>;
    /// The diff of an iteration.
    fn diff(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<String>;
    /// The review of an iteration as Markdown.
    fn review_text(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<String>;
    /// What the agent of an iteration wrote, from a place on.
    fn output(&self, project: ProjectId, feature: &FeatureId, iteration: u32, from: u64) -> Answer<Output>;
    /// What happened to a feature, oldest first.
    fn history(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Step>>;

    /// The prompts of a project, or those for all.
    fn prompts(&self, project: Option<ProjectId>) -> Answer<PromptsInForce>;
    /// Stores the prompts of a project, or those for all, if they still are at this revision.
    fn set_prompts(&self, project: Option<ProjectId>, prompts: Prompts, rev: Option<u64>) -> Answer<PromptsInForce>;
    /// The settings.
    fn settings(&self) -> Answer<Settings>;
    /// Who can be asked to implement or review.
    fn agents(&self) -> Answer<Vec<Agent>>;

    /// Sees to it that a review runs, and says which. The same one when it runs already.
    fn start_review(&self, request: &ReviewRequest) -> Answer<ReviewTicket>;
    /// How a review stands.
    fn review_outcome(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Outcome>>;
}
