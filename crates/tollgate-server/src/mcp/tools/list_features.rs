//! `list_features`: the features of a project, and where each is on its way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{State, Status};
use tollgate_engine::board::{Board, Refused, iso};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::{Card, CardFilter, ProjectRow};

use super::{Effect, Job, Tool};
use crate::mcp::arguments::maybe_name;
use crate::mcp::context::ToolContext;
use crate::mcp::failure;
use crate::mcp::shape::MAX_LISTED;

/// The tool.
pub(super) struct ListFeatures;

/// Input of the tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Arguments {
    /// The folder of the project; on a server its number or folder. Left out: where the server was started, or its only
    /// project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
    /// Only those in this column: `backlog`, `in_progress`, `code_review`, `waiting_approval`, `verified`, `completed`.
    #[schemars(length(min = 1, max = 4096))]
    status: Option<String>,
    /// Only those with this text in id, title or first line, in any case.
    #[schemars(length(min = 1, max = 4096))]
    text: Option<String>,
    /// Only features that wait for a person.
    needs_person: bool,
    /// Those after this one, as `next` of the last answer says.
    #[schemars(length(min = 1, max = 64))]
    after: Option<String>,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// The number of the project.
    project: i64,
    /// Its name.
    name: String,
    /// How many features fit.
    total: usize,
    /// They, at most 100.
    features: Vec<Feature>,
    /// The `after` for more, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A feature on the board.
#[derive(Debug, Serialize, JsonSchema)]
struct Feature {
    /// Its id.
    id: String,
    /// Its title, or the first line of its description.
    title: String,
    /// Its state, and the event that it waits for.
    #[serde(flatten)]
    standing: Standing,
    /// 1 is the most urgent, 3 the least.
    priority: u32,
    /// How its reviews ended, in order: approved, rejected or failed.
    outcomes: Vec<String>,
    /// Features that have to be done before it and are not.
    blocked_by: Vec<String>,
}

/// Where a feature is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Standing {
    /// Its column.
    pub(super) status: String,
    /// Its job: none, queued, implementing, committing, reviewing, …
    pub(super) work: String,
    /// Why it waits for a person, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) paused: Option<String>,
    /// The round that is worked on or was last; 0 before the first.
    pub(super) iteration: u32,
    /// The branch it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// When it last changed.
    pub(super) updated_at: String,
}

impl Standing {
    pub(super) fn new(state: &State, branch: Option<String>, problem: Option<String>, updated_ms: u64) -> Self {
        Self {
            status: state.status.to_string(),
            work: state.work.as_str().to_owned(),
            paused: state.pause.map(|pause| pause.in_words().to_owned()),
            iteration: state.iteration,
            branch,
            problem,
            updated_at: iso(updated_ms),
        }
    }

    /// `code_review, reviewing, round 2`.
    pub(super) fn in_words(&self) -> String {
        let paused = self.paused.as_ref().map(|paused| format!(", waits for a person: {paused}")).unwrap_or_default();
        format!("{}, {}, round {}{paused}", self.status, self.work, self.iteration)
    }
}

impl Tool for ListFeatures {
    const NAME: &'static str = "list_features";
    const TITLE: &'static str = "List features";
    const DESCRIPTION: &'static str = "Lists the features on the board of a project, with where each is on its way \
        through the gate. Call it to find the feature you work on, or what waits for a person. A repository that is not on \
        a board has none.";
    const EFFECT: Effect = Effect::Looks;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, _: &Job<'_>) -> Result<Output, Failure> {
        let after = arguments.after.as_deref().map(FeatureId::parse).transpose();
        let after =
            after.map_err(|_| failure::not_a_name("feature", arguments.after.as_deref().unwrap_or_default()))?;
        let status = maybe_name("column", arguments.status.as_deref())?.map(Status::known).transpose();
        let status = status.map_err(|unknown| failure::unknown_status(&unknown))?;
        let text = maybe_name("text", arguments.text.as_deref())?.map(str::to_owned);
        let (board, project) = project(context, arguments.repository.as_deref())?;
        // One more, to know whether there is one.
        let limit = MAX_LISTED + 1;
        let needs_person = arguments.needs_person;
        let filter = CardFilter { status, text, needs_person, limit, after, ..CardFilter::default() };
        let mut cards = board.features(project.id, &filter).map_err(Refused::into_failure)?;
        let total = board.database().n_cards(project.id, &filter)?;
        let has_more = cards.len() > MAX_LISTED;
        cards.truncate(MAX_LISTED);
        let next = cards.last().filter(|_| has_more).map(|card| card.id.to_string());
        let features = cards.into_iter().map(feature).collect();
        Ok(Output { project: project.id, name: project.name, total, features, next })
    }

    fn in_words(output: &Output) -> String {
        let listed = output.features.iter().map(|feature| {
            let Feature { id, title, standing, .. } = feature;
            format!("\n{id}: {title} ({})", standing.in_words())
        });
        let more = output.next.as_ref().map(|next| format!("\nmore with `after: {next}`")).unwrap_or_default();
        format!("{}: {} features fit{}{more}", output.name, output.total, listed.collect::<String>())
    }
}

/// Resolves the project. Without a file watcher, files edited meanwhile are imported first.
pub(super) fn project(context: &ToolContext, named: Option<&str>) -> Result<(Board, ProjectRow), Failure> {
    let folder = context.folder(named)?;
    let board = context.board()?.ok_or_else(failure::no_project_here)?;
    let project = board.project_at(&folder)?.ok_or_else(failure::no_project_here)?;
    if !board.is_kept(&project)? {
        board.import_all(&project)?;
    }
    Ok((board, project))
}

fn feature(card: Card) -> Feature {
    Feature {
        id: card.id.to_string(),
        title: card.facts.display_title().to_owned(),
        standing: Standing::new(&card.state, card.branch, card.problem.or(card.broken), card.updated_ms),
        priority: card.facts.priority,
        outcomes: card.pips.iter().map(|outcome| outcome.as_str().to_owned()).collect(),
        blocked_by: card.blocked_by.iter().map(|blocker| blocker.id.to_string()).collect(),
    }
}
