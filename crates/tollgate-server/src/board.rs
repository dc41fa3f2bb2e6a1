//! The desk of a real board.
//!
//! Everything is asked of `tollgate_engine::board::Board`, the same that the command line asks; here it only gets the
//! shapes of the API. What runs is known from the database, so a desk serves also where another process does the work.

use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::board::machine::{Status, Work};
use tollgate_core::board::{Document, FeatureId, Iteration, Outcome};
use tollgate_engine::board::{self, Board, Edits, Refused, iso};
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::github::metrics as github_metrics;
use tollgate_engine::forge::worktree::Removed;
use tollgate_engine::store::board::{CardFilter, FeatureRow, ProjectRow};

use crate::desk::deliveries::Wire;
use crate::desk::{
    Act, Agent, Answer, Broken, Card, Desk, Feature, FeatureEdit, FeatureQuery, Figures, NewFeature, NewProject,
    Output, Page, Part, Project, ProjectId, Prompts, PromptsInForce, Refusal, ReviewRequest, ReviewTicket, Settings,
    Step,
};
use crate::view::{CardBody, FeatureBody, IterationBody, ProjectBody};

mod agents;
mod cards;
mod deliveries;
mod github;
mod jobs;
mod log;
mod prompts;
mod record;
mod reviews;
mod setup;
mod source;

pub use log::BoardLog;

/// How long it is believed who can be asked: some agents take seconds to say their version.
const AGENTS_FOR: Duration = Duration::from_secs(60);

/// The desk of a real board.
pub struct BoardDesk {
    board: Board,
    /// Who could be asked when it was last looked.
    agents: Mutex<Option<(Instant, Vec<Agent>)>>,
    /// Who is being tried out.
    trials: setup::Trials,
    /// Held by whoever looks what a reviewer would be told.
    previews: Mutex<()>,
    /// Whose an app is to be that is made here, as far as somebody said.
    organization: Option<String>,
    /// Whether GitHub can deliver here.
    wire: RwLock<Wire>,
}

impl BoardDesk {
    /// A desk for a board.
    #[must_use]
    pub fn new(board: Board) -> Self {
        Self {
            board,
            agents: Mutex::default(),
            trials: setup::Trials::default(),
            previews: Mutex::default(),
            organization: None,
            wire: RwLock::new(Wire::None),
        }
    }

    /// The same, for an app of this organization.
    #[must_use]
    pub fn for_organization(self, organization: Option<String>) -> Self {
        Self { organization, ..self }
    }

    fn row(&self, project: ProjectId) -> Answer<ProjectRow> {
        self.board.project(number(project)?).map_err(refusal)
    }

    fn described(&self, row: ProjectRow) -> Answer<Project> {
        let counts = self.board.database().column_counts(row.id)?;
        let broken = self.board.broken(row.id).into_iter();
        Ok(Project {
            id: u64::try_from(row.id).unwrap_or_default(),
            name: row.name,
            path: row.path,
            n_features: counts.iter().map(|(_, n)| *n as u64).sum(),
            broken: broken.map(|broken| Broken { folder: broken.name, problem: broken.why }).collect(),
        })
    }

    fn shown(&self, row: FeatureRow) -> Feature {
        // A file that cannot be read any more leaves what was last read.
        let document = Document::parse(&row.document).ok();
        let text = |read: fn(&Document) -> Option<String>| document.as_ref().and_then(read);
        Feature {
            title: row.facts.title,
            description: text(|document| Some(document.description())).unwrap_or_default(),
            spec: text(Document::spec),
            category: text(Document::category).unwrap_or_else(|| "Uncategorized".to_owned()),
            priority: u8::try_from(row.facts.priority).unwrap_or(2),
            skip_tests: document.as_ref().is_none_or(Document::skip_tests),
            dependencies: row.facts.dependencies,
            model: text(Document::model),
            branch: row.branch,
            worktree: row.worktree,
            max_iterations: self.board.settings().pipeline.rounds,
            error: row.problem,
            broken: row.broken,
            cost_usd: row.cost_usd,
            n_tokens: row.n_tokens,
            rev: row.rev,
            created_at: Some(iso(row.created_ms)),
            updated_at: Some(iso(row.updated_ms)),
            id: row.id,
            state: row.state,
        }
    }

    /// The feature that a review is asked for, if it is at the gate with this iteration.
    fn at_the_gate(&self, request: &ReviewRequest) -> Answer<FeatureRow> {
        let path = Path::new(&request.project_path);
        let canonical = path.is_absolute().then(|| path.canonicalize().ok()).flatten();
        let project = canonical.map(|path| self.board.database().project_at(&path)).transpose()?.flatten();
        let project = project.ok_or_else(|| {
            Refusal::NotFound(
                Failure::new(Kind::User, "this folder is no project of the board")
                    .hint("List them with `GET /api/projects`."),
            )
        })?;
        let row = self.board.feature(project.id, &request.feature).map_err(refusal)?;
        if row.state.status != Status::CodeReview {
            return Err(conflict(format!("it is not at the gate: {}", row.state.in_words())));
        }
        if row.state.iteration != request.iteration {
            return Err(conflict(format!("it is at iteration {}", row.state.iteration)));
        }
        if let Some(named) = &request.worktree_path {
            let is_it = |own: &std::path::PathBuf| own.canonicalize().ok() == Path::new(named).canonicalize().ok();
            if !row.worktree.as_ref().is_some_and(is_it) {
                return Err(conflict("this is not the work tree of the feature".to_owned()));
            }
        }
        Ok(row)
    }
}

impl Desk for BoardDesk {
    fn ready(&self) -> Answer<()> {
        Ok(self.board.database().check()?)
    }

    fn figures(&self) -> Answer<Figures> {
        let database = self.board.database();
        let mut features: Vec<(String, u64)> = Vec::new();
        for project in database.projects()? {
            for (status, n) in database.column_counts(project.id)? {
                let word = match status {
                    // Words that anybody may write into a file would be names of figures.
                    Status::Other(_) => "other".to_owned(),
                    status => status.to_string(),
                };
                match features.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, sum)) => *sum += n as u64,
                    None => features.push((word, n as u64)),
                }
            }
        }
        let work = database.work_counts()?.into_iter().map(|(work, n)| (work.as_str().to_owned(), n as u64)).collect();
        let agents = database.processes()?.len() as u64;
        let health = database.health(database.now_ms())?;
        Ok(Figures { features, work, agents, health, github: github_metrics::read() })
    }

    fn projects(&self) -> Answer<Vec<Project>> {
        self.board.projects()?.into_iter().map(|row| self.described(row)).collect()
    }

    fn project(&self, project: ProjectId) -> Answer<Project> {
        self.described(self.row(project)?)
    }

    fn add_project(&self, new: NewProject) -> Answer<Project> {
        let path = Path::new(&new.path);
        if let Ok(canonical) = path.canonicalize()
            && self.board.database().project_at(&canonical)?.is_some()
        {
            return Err(conflict("it is a project of the board already".to_owned()));
        }
        let row = self.board.add_project(path, new.name.as_deref()).map_err(refusal)?;
        self.described(row)
    }

    fn remove_project(&self, project: ProjectId) -> Answer<()> {
        self.board.remove_project(number(project)?).map_err(|refused| match refused {
            Refused::Invalid(why) => conflict(why),
            refused => refusal(refused),
        })
    }

    fn features(&self, project: ProjectId, query: &FeatureQuery) -> Answer<Page<Card>> {
        tollgate_engine::process::panic_point("route");
        let project = self.row(project)?.id;
        let after = query.after.as_deref().map(FeatureId::parse).transpose();
        let after = after.map_err(|error| Failure::new(Kind::User, format!("`after` names no feature: {error}")))?;
        let status = query.status.as_deref().map(Status::parse);
        // One more, to know whether there is one.
        let filter = CardFilter {
            status,
            text: query.text.clone(),
            priority: query.priority,
            category: query.category.clone(),
            needs_person: query.needs_person,
            limit: query.limit + 1,
            after,
            ..CardFilter::default()
        };
        let mut cards = self.board.database().cards(project, &filter)?;
        let total = self.board.database().n_cards(project, &filter)? as u64;
        let has_more = cards.len() > query.limit;
        cards.truncate(query.limit);
        let next = cards.last().filter(|_| has_more).map(|card| card.id.to_string());
        let max_iterations = self.board.settings().pipeline.rounds;
        let items = cards.into_iter().map(|card| Card { card, max_iterations }).collect();
        Ok(Page { items, next, total })
    }

    fn feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<Feature> {
        let row = self.board.feature(self.row(project)?.id, feature).map_err(refusal)?;
        Ok(self.shown(row))
    }

    fn add_feature(&self, project: ProjectId, new: NewFeature, by: &str) -> Answer<Feature> {
        let project = number(project)?;
        let start = new.start.unwrap_or(false);
        // An empty text is none, as in an edit.
        let unless_empty = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let dependencies = new.dependencies.unwrap_or_default().iter().map(|name| name.0.to_string()).collect();
        let new = board::NewFeature {
            title: new.title,
            description: new.description,
            spec: unless_empty(new.spec),
            category: unless_empty(new.category),
            priority: new.priority,
            skip_tests: new.skip_tests,
            dependencies,
            model: unless_empty(new.model),
            branch: unless_empty(new.branch_name),
        };
        let mut row = self.board.create(project, &new).map_err(refusal)?;
        if start {
            row = self.board.start(project, &row.id, by).map_err(refusal)?;
        }
        Ok(self.shown(row))
    }

    fn edit_feature(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        edit: FeatureEdit,
        rev: Option<u64>,
    ) -> Answer<Feature> {
        let row = self.board.edit(self.row(project)?.id, feature, &edits(edit), rev).map_err(refusal)?;
        Ok(self.shown(row))
    }

    fn remove_feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<()> {
        self.board.delete(self.row(project)?.id, feature, "operator").map_err(|refused| match refused {
            Refused::Invalid(why) => conflict(why),
            refused => refusal(refused),
        })
    }

    fn act(&self, project: ProjectId, feature: &FeatureId, act: Act, by: &str) -> Answer<Feature> {
        let (board, project) = (&self.board, self.row(project)?.id);
        let row = match act {
            Act::Start => board.start(project, feature, by),
            Act::Stop => board.stop(project, feature, by),
            Act::Resume { note } => board.resume(project, feature, by, note.as_deref()),
            Act::Approve { reason } => board.approve(project, feature, by, &reason),
            Act::Reject { note } => board.reject(project, feature, by, &note),
            Act::Retry => board.retry(project, feature, by),
            Act::Move { status } => board.move_to(project, feature, by, &Status::parse(&status)),
            Act::Clean => {
                let removed = board.clean(project, feature).map_err(|refused| match refused {
                    Refused::Invalid(why) => conflict(why),
                    refused => refusal(refused),
                })?;
                match removed {
                    Removed::Done => board.feature(project, feature),
                    Removed::Kept { uncommitted } => {
                        let why = format!("{uncommitted} files in its work tree are not committed");
                        return Err(conflict(why));
                    }
                    Removed::NotOurs => {
                        return Err(conflict("its work tree was made by somebody else, and stays".to_owned()));
                    }
                }
            }
        };
        row.map(|row| self.shown(row)).map_err(refusal)
    }

    fn iterations(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Iteration>> {
        let rows = self.board.iterations(self.row(project)?.id, feature).map_err(refusal)?;
        Ok(rows.into_iter().map(|row| row.iteration).collect())
    }

    fn diff(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<String> {
        let part = match part {
            Part::Whole => board::Part::Whole,
            Part::Delta => board::Part::Delta,
        };
        let diff = self.board.diff(self.row(project)?.id, feature, iteration, part).map_err(refusal)?;
        Ok(String::from_utf8_lossy(&diff).into_owned())
    }

    fn review_text(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<String> {
        self.board.review_text(self.row(project)?.id, feature, iteration).map_err(refusal)
    }

    fn output(&self, project: ProjectId, feature: &FeatureId, iteration: u32, from: u64) -> Answer<Output> {
        let output = self.board.output(self.row(project)?.id, feature, iteration, from).map_err(refusal)?;
        Ok(Output { text: output.text, next: output.next, is_running: output.is_open })
    }

    fn history(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Step>> {
        let rows = self.board.history(self.row(project)?.id, feature).map_err(refusal)?;
        let step = |row: tollgate_engine::store::board::TransitionRow| Step {
            at: iso(row.at_ms),
            event: row.event,
            from: row.from.as_ref().map_or(String::new(), |state| state.status.to_string()),
            to: row.to.status.to_string(),
            by: row.who,
            note: row.note,
        };
        Ok(rows.into_iter().map(step).collect())
    }

    fn prompts(&self, project: Option<ProjectId>) -> Answer<PromptsInForce> {
        let id = project.map(number).transpose()?;
        let own = self.board.prompts(id).map_err(refusal)?;
        Ok(prompts::shown(own, self.board.prompts_in_force(id).map_err(refusal)?))
    }

    fn set_prompts(&self, project: Option<ProjectId>, prompts: Prompts, rev: Option<u64>) -> Answer<PromptsInForce> {
        let id = project.map(number).transpose()?;
        self.board.set_prompts(id, &prompts::stored(prompts), rev).map_err(refusal)?;
        self.prompts(project)
    }

    fn settings(&self) -> Answer<Settings> {
        let settings = self.board.settings();
        let pipeline = &settings.pipeline;
        Ok(Settings {
            max_concurrency: pipeline.at_once,
            max_reviews: pipeline.reviews_at_once,
            max_iterations: pipeline.rounds,
            implementer: pipeline.agent.clone(),
            reviewers: settings.reviewers.iter().map(|chosen| chosen.name.clone()).collect(),
            review_model: pipeline.review_model.clone(),
            budget_usd: pipeline.usd,
            hooks: pipeline.hooks,
            folder: pipeline.dir.clone(),
        })
    }

    fn agents(&self) -> Answer<Vec<Agent>> {
        // Whoever comes meanwhile waits for the same answer.
        let mut known = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, agents)) = known.as_ref().filter(|(at, _)| at.elapsed() < AGENTS_FOR) {
            return Ok(agents.clone());
        }
        let agents = agents::all(self.board.settings());
        *known = Some((Instant::now(), agents.clone()));
        Ok(agents)
    }

    fn start_review(&self, request: &ReviewRequest) -> Answer<ReviewTicket> {
        let row = self.at_the_gate(request)?;
        if row.state.work != Work::Reviewing {
            self.board.retry(row.project, &row.id, "operator").map_err(refusal)?;
        }
        let review = format!("{}-{}", row.id, row.state.iteration);
        let project = u64::try_from(row.project).unwrap_or_default();
        Ok(ReviewTicket { project, review, outcome: None })
    }

    fn review_outcome(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Outcome>> {
        let project = number(project)?;
        let row = self.board.feature(project, feature).map_err(refusal)?;
        if row.state.iteration == iteration && row.state.work == Work::Reviewing {
            return Ok(None);
        }
        match self.board.iteration(project, feature, iteration) {
            Ok(stored) => Ok(Some(stored.iteration.outcome)),
            Err(Refused::NoReview(_)) => Err(conflict(format!("the review ended early: {}", row.state.in_words()))),
            Err(refused) => Err(refusal(refused)),
        }
    }
}

/// A feature as the API shows it.
#[must_use]
pub fn feature_json(feature: Feature) -> Value {
    json!(FeatureBody::whole(feature))
}

/// A feature of a list as the API shows it.
#[must_use]
pub fn card_json(card: Card) -> Value {
    json!(CardBody::from(card))
}

/// A review as the API shows it.
#[must_use]
pub fn iteration_json(iteration: &Iteration) -> Value {
    json!(IterationBody::from(iteration))
}

/// A project as the API shows it.
#[must_use]
pub fn project_json(project: Project) -> Value {
    json!(ProjectBody::from(project))
}

/// The number of a project in the database.
fn number(project: ProjectId) -> Answer<i64> {
    i64::try_from(project).map_err(|_| {
        let failure = Failure::new(Kind::User, format!("there is no project {project}"));
        Refusal::NotFound(failure.hint("List them with `GET /api/projects`."))
    })
}

fn conflict(why: String) -> Refusal {
    Refusal::Conflict(Failure::new(Kind::User, why))
}

/// What the board refused, as a client is told.
fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::NoProject(id) => {
            let failure = Failure::new(Kind::User, format!("there is no project {id}"));
            Refusal::NotFound(failure.hint("List them with `GET /api/projects`."))
        }
        Refused::NoFeature(id) => Refusal::NotFound(Failure::new(Kind::User, format!("there is no feature `{id}`"))),
        Refused::NoReview(number) => {
            Refusal::NotFound(Failure::new(Kind::User, format!("iteration {number} has no review")))
        }
        refused @ Refused::NoFinding(_) => Refusal::NotFound(refused.into_failure()),
        Refused::Illegal(illegal) => conflict(illegal.to_string()),
        Refused::Stale(rev) => {
            let failure = Failure::new(Kind::User, format!("it was changed in the meantime, and is at revision {rev}"));
            Refusal::Stale(failure.hint("Read it again, and repeat the change."))
        }
        Refused::Invalid(why) => Refusal::Failed(Failure::new(Kind::User, why)),
        Refused::Failure(failure) => Refusal::Failed(failure),
    }
}

/// The keys of the file that change. An empty text takes one away where that means the default.
fn edits(edit: FeatureEdit) -> Edits {
    let text = |text: Option<String>| text.map(Value::String);
    let unless_empty =
        |text: Option<String>| text.map(|text| if text.is_empty() { Value::Null } else { Value::String(text) });
    let names = edit.dependencies.map(|names| names.iter().map(|name| name.0.to_string()).collect::<Vec<_>>());
    let pairs = [
        ("title", text(edit.title)),
        ("description", text(edit.description)),
        ("spec", unless_empty(edit.spec)),
        ("category", text(edit.category)),
        ("priority", edit.priority.map(|priority| json!(priority))),
        ("skipTests", edit.skip_tests.map(|skip| json!(skip))),
        ("dependencies", names.map(|names| json!(names))),
        ("model", unless_empty(edit.model)),
    ];
    pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
