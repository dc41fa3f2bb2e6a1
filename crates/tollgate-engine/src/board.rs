//! The board: the application layer of features and their gate, shared by HTTP, MCP, pages and the command line.
//!
//! A project is a repository that the operator added. Its features are files that people and other programs may edit
//! ([`folder`]); their state at the gate is in the database, which is authoritative. Every change of a feature is one
//! transition in the database, after which its file is rewritten (`projection`). Agents, commits and reviews are jobs
//! of a [`runner`]; everything else here only enqueues, so that the command line and the server work the same with or
//! without a runner.
//!
//! ```text
//! person ──► Board ──► transition ──► database ──► projection ──► feature.json
//!                                        │
//! runner ◄───────┘ queued jobs
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::feature_event::FeatureEvent;
use tollgate_core::board::machine::{self, Action, Effect, Event, IllegalTransition, Rules, Status};
use tollgate_core::board::{Document, FeatureId, Iteration, Override, StepId, override_in_force};

use crate::config::{self, Layer, Settings};
use crate::failure::{Failure, Kind};
use crate::forge::git::Environment;
use crate::forge::project::Project as Repository;
use crate::forge::worktree::Removed;
use crate::store::board::{
    Card, CardFilter, Changes, FeatureRow, FencingToken, Field, IterationRow, LeaseAfter, NewIteration, ProjectRow,
    Transition, TransitionError, TransitionRow, Transitioned,
};
use crate::store::{Database, RunRecord};

mod announce;
mod artifacts;
mod audit;
mod available_actions;
pub mod demo;
pub mod diff_context;
mod failure;
pub mod folder;
mod gate_result;
mod host_affinity;
mod import;
mod projection;
mod prompt_preview;
mod prompts;
pub mod runner;
mod work;

use folder::Folder;

pub use crate::timestamp::iso;
pub use artifacts::{Output, Part};
pub use audit::{Audit, DismissRequest, ReviewAttempt};
pub use available_actions::available_actions;
pub use host_affinity::machine_name;
pub use import::{Edits, NewFeature};
pub use prompt_preview::{ContextFile, Draft, PromptPreview};
pub use prompts::{EffectivePrompt, EffectivePrompts, Level, OwnPrompt, OwnPrompts};

/// The environment of the board.
#[derive(Debug, Clone)]
pub struct Home {
    /// The executable of this program, which scans files and guards agents in child processes.
    pub executable: PathBuf,
    /// The user's configuration directory.
    pub config_dir: Option<PathBuf>,
    /// The environment variables.
    pub variables: Vec<(String, String)>,
    /// The flags of the command line.
    pub flags: Layer,
    /// The directory of transcripts and scratch files.
    pub data: PathBuf,
    /// The environment of git.
    pub git: Environment,
    /// The time in milliseconds since 1970.
    pub clock: fn() -> u64,
}

impl Home {
    /// The settings without those of a project.
    pub fn settings(&self) -> Result<Settings, Failure> {
        self.settings_at(None)
    }

    /// The settings of a project, with its own file read at a commit.
    pub(crate) fn settings_at(&self, file: Option<Vec<u8>>) -> Result<Settings, Failure> {
        config::load_at(file, self.config_dir.as_deref(), &self.variables, self.flags.clone())
    }

    /// The time in milliseconds since 1970, by which rows are stamped and leases expire.
    ///
    /// Several machines use the clock of their shared database.
    pub(crate) fn now(&self, database: &Database) -> u64 {
        if database.place().file().is_some() { (self.clock)() } else { database.now_ms() }
    }
}

/// The reason why an operation on the board was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// There is no such project.
    NoProject(i64),
    /// There is no such feature.
    NoFeature(String),
    /// The feature has no review of this iteration.
    NoReview(u32),
    /// The review has no such finding.
    NoFinding(String),
    /// No dismissal of this finding is proposed.
    NoProposal(String),
    /// The operation is not available in the feature's state.
    Illegal(IllegalTransition),
    /// The feature was changed concurrently; its current revision.
    Stale(u64),
    /// The request is invalid.
    Invalid(String),
    /// The operation failed.
    Failure(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Refused {
    /// Converts the error for the terminal.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        match self {
            Self::NoProject(id) => Failure::new(Kind::User, format!("there is no project {id}"))
                .hint("`tollgate project list` shows them; `tollgate project add PATH` adds one."),
            Self::NoFeature(id) => Failure::new(Kind::User, format!("there is no feature `{id}`"))
                .hint("`tollgate feature list` shows them."),
            Self::NoReview(number) => Failure::new(Kind::User, format!("iteration {number} has no review"))
                .hint("`tollgate feature show ID` lists the reviews."),
            Self::NoFinding(id) => {
                Failure::new(Kind::User, format!("the review has no finding `{}`", id.escape_debug()))
                    .hint("Findings are named `F001`, `F002` and so on; an unmet criterion is not a finding.")
            }
            Self::NoProposal(fingerprint) => {
                Failure::new(Kind::User, format!("no dismissal of `{fingerprint}` is proposed"))
                    .hint("`tollgate feature dismissals ID` lists the proposed ones.")
            }
            Self::Illegal(illegal) => Failure::new(Kind::User, illegal.to_string()),
            Self::Stale(_) => Failure::new(Kind::User, "the feature was changed in the meantime")
                .hint("Look at it again and repeat what you did."),
            Self::Invalid(why) => Failure::new(Kind::User, why),
            Self::Failure(failure) => failure,
        }
    }
}

/// The board.
#[derive(Debug, Clone)]
pub struct Board {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Database,
    home: Home,
    /// The settings without those of a project.
    settings: Settings,
    folders: Mutex<HashMap<i64, Arc<Folder>>>,
    /// The errors of unreadable feature folders, by project and name.
    broken: Mutex<HashMap<(i64, String), String>>,
    /// Cancels jobs that run in this process, by feature.
    running: Mutex<HashMap<(i64, FeatureId), CancellationToken>>,
    /// Serializes creating and removing the demo.
    demo: Mutex<()>,
    /// A cache of file texts.
    sources: diff_context::RecentTexts,
}

impl Board {
    /// Opens the board.
    pub fn open(database: Database, home: Home) -> Result<Self, Failure> {
        let settings = home.settings()?;
        let (folders, broken, running) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (sources, demo) = (diff_context::RecentTexts::default(), Mutex::default());
        Ok(Self { inner: Arc::new(Inner { database, home, settings, folders, broken, running, sources, demo }) })
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// The environment of the board.
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// The time in milliseconds since 1970, by the clock that all machines of the board share.
    pub fn now(&self) -> u64 {
        self.home().now(self.database())
    }

    /// The settings without those of a project.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Adds a repository and imports its features.
    pub fn add_project(&self, path: &Path, name: Option<&str>) -> Result<ProjectRow, Refused> {
        self.register_project(path, name, false)
    }

    /// The projects, in the order of adding.
    pub fn projects(&self) -> Result<Vec<ProjectRow>, Failure> {
        self.database().projects()
    }

    /// A project by its number.
    pub fn project(&self, id: i64) -> Result<ProjectRow, Refused> {
        self.database().project(id)?.ok_or(Refused::NoProject(id))
    }

    /// The project whose folder is `path` or contains it.
    pub fn project_at(&self, path: &Path) -> Result<Option<ProjectRow>, Failure> {
        let Ok(path) = path.canonicalize() else { return Ok(None) };
        for folder in path.ancestors() {
            if let Some(project) = self.database().project_at(folder)? {
                return Ok(Some(project));
            }
        }
        Ok(None)
    }

    /// Removes a project from the board. Its folder and its rows remain.
    pub fn remove_project(&self, id: i64) -> Result<(), Refused> {
        let busy = self.features(id, &CardFilter { limit: usize::MAX, ..CardFilter::default() })?;
        if let Some(card) = busy.iter().find(|card| card.state.work != machine::Work::Nothing) {
            return Err(Refused::Invalid(format!("`{}` is still worked on; stop it first", card.id)));
        }
        if self.database().remove_project(id, self.now())? { Ok(()) } else { Err(Refused::NoProject(id)) }
    }

    /// The features of a project, as cards.
    pub fn features(&self, project: i64, filter: &CardFilter) -> Result<Vec<Card>, Refused> {
        self.project(project)?;
        Ok(self.database().cards(project, filter)?)
    }

    /// One feature.
    pub fn feature(&self, project: i64, id: &FeatureId) -> Result<FeatureRow, Refused> {
        self.database().feature(project, id)?.ok_or_else(|| Refused::NoFeature(id.to_string()))
    }

    /// The reviews of a feature, oldest first.
    pub fn iterations(&self, project: i64, id: &FeatureId) -> Result<Vec<IterationRow>, Refused> {
        self.feature(project, id)?;
        Ok(self.database().iterations(project, id)?)
    }

    /// The transitions of a feature, oldest first.
    pub fn history(&self, project: i64, id: &FeatureId) -> Result<Vec<TransitionRow>, Refused> {
        self.feature(project, id)?;
        Ok(self.database().transitions(project, id)?)
    }

    /// Starts work on a feature.
    pub fn start(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Start, who, PersonNote::nothing())
    }

    /// Stops work on a feature. Its commits remain.
    pub fn stop(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Stop, who, PersonNote::nothing())
    }

    /// Resumes a paused feature, optionally with a note to the agent.
    pub fn resume(&self, project: i64, id: &FeatureId, who: &str, note: Option<&str>) -> Result<FeatureRow, Refused> {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        self.act(project, id, Event::Resume, who, PersonNote { note, to_agent: true, overridden: None })
    }

    /// Approves a feature regardless of its review.
    pub fn approve(&self, project: i64, id: &FeatureId, who: &str, reason: &str) -> Result<FeatureRow, Refused> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(Refused::Invalid("a manual approval needs a reason, which is stored".to_owned()));
        }
        let at = iso(self.now());
        let overridden = Override { who: who.to_owned(), reason: reason.to_owned(), at };
        self.act(
            project,
            id,
            Event::Approve,
            who,
            PersonNote { note: Some(reason), to_agent: false, overridden: Some(overridden) },
        )
    }

    /// Sends a feature back to the agent.
    pub fn reject(&self, project: i64, id: &FeatureId, who: &str, note: &str) -> Result<FeatureRow, Refused> {
        let note = note.trim();
        if note.is_empty() {
            return Err(Refused::Invalid("say what is to be done differently; the agent reads it first".to_owned()));
        }
        self.act(project, id, Event::SendBack, who, PersonNote { note: Some(note), to_agent: true, overridden: None })
    }

    /// Retries a failed step of a feature.
    pub fn retry(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Retry, who, PersonNote::nothing())
    }

    /// Moves a feature to another column, where that is available.
    pub fn move_to(&self, project: i64, id: &FeatureId, who: &str, status: &Status) -> Result<FeatureRow, Refused> {
        let act = Action::Move(status.clone());
        let event = act.event().map_err(Refused::Illegal)?;
        self.act(project, id, event, who, PersonNote::nothing()).map_err(|refused| match refused {
            Refused::Illegal(illegal) => Refused::Illegal(act.reword(illegal)),
            refused => refused,
        })
    }

    /// Applies an event of a person to a feature, and rewrites its file.
    fn act(
        &self,
        project: i64,
        id: &FeatureId,
        event: Event,
        who: &str,
        note: PersonNote<'_>,
    ) -> Result<FeatureRow, Refused> {
        let row = self.feature(project, id)?;
        if let Some(why) = &row.broken {
            return Err(Refused::Invalid(format!("its file cannot be read: {why}")));
        }
        let to_agent = match note.note {
            Some(text) if note.to_agent => Field::Set(text.to_owned()),
            Some(_) | None => Field::Keep,
        };
        let change = Change {
            note: note.note.map(str::to_owned),
            overridden: note.overridden,
            set: Changes { note: to_agent, problem: Field::Clear, ..Changes::default() },
            ..Change::of(event)
        };
        let done = self.transition(&row, who, None, change)?;
        let project = self.project(project)?;
        self.write_files(&project, id)?;
        if done.effects.contains(&Effect::Clean) {
            // A worktree that cannot be removed now can be removed on request.
            let _ = self.clean(project.id, id);
        }
        Ok(done.feature)
    }

    /// Applies an event to a feature: the only way in which its state changes.
    fn transition(
        &self,
        row: &FeatureRow,
        who: &str,
        claim: Option<(FencingToken, LeaseAfter)>,
        change: Change<'_>,
    ) -> Result<Transitioned, Refused> {
        let project = self.project(row.project)?;
        let folder = self.folder(&project)?;
        let mut rules = self.rules(&folder, &row.document, row)?;
        if let Some(new) = &change.iteration {
            let is_overridden = !override_in_force(&self.reviews(row)?).is_empty();
            rules.unchecked = new.iteration.is_unchecked() && !is_overridden;
        }
        let path = project.path.to_string_lossy().into_owned();
        let feature = row.id.clone();
        let problem = match &change.set.problem {
            Field::Set(problem) => Some(problem.clone()),
            Field::Keep | Field::Clear => None,
        };
        let iteration = change.iteration.as_ref().map(|new| new.iteration.clone());
        let first: Vec<_> = change.first.iter().map(|it| announce::event(project.id, &path, &feature, it)).collect();
        let project_id = project.id;
        let announce = move |after: &FeatureRow, before: &machine::State, effects: &[Effect]| {
            let transition_events = announce::TransitionEvents {
                project: project_id,
                path: &path,
                feature: &feature,
                iteration: iteration.as_ref(),
                problem: problem.as_deref(),
                first,
            };
            transition_events.events(before, &after.state, effects)
        };
        let transition = Transition {
            project: row.project,
            feature: row.id.clone(),
            event: change.event,
            rules,
            who: who.to_owned(),
            note: change.note,
            at_ms: self.now(),
            token: claim.map(|(token, _)| token),
            hold: claim.map_or(LeaseAfter::Release, |(_, hold)| hold),
            iteration: change.iteration,
            undecided: change.undecided,
            overridden: change.overridden,
            set: change.set,
            announce: Box::new(announce),
        };
        let done = self.database().transition(transition).map_err(|error| match error {
            TransitionError::Illegal(illegal) => Refused::Illegal(illegal),
            TransitionError::Stale => Refused::Stale(row.rev),
            TransitionError::NoSuchFeature => Refused::NoFeature(row.id.to_string()),
            TransitionError::Unfounded(why) => Refused::Invalid(why.to_string()),
            TransitionError::Failure(failure) => Refused::Failure(failure),
        })?;
        if done.effects.contains(&Effect::EndWork) {
            self.end_work(row.project, &row.id);
        }
        Ok(done)
    }

    /// The state machine's rules for a feature.
    fn rules(&self, folder: &Folder, document: &[u8], row: &FeatureRow) -> Result<Rules, Failure> {
        let document = Document::parse(document).ok();
        let reviews = self.reviews(row)?;
        let is_unchecked = reviews.last().is_some_and(Iteration::is_unchecked);
        Ok(Rules {
            skip_tests: document.is_none_or(|document| document.skip_tests()),
            unchecked: is_unchecked && override_in_force(&reviews).is_empty(),
            steps: folder.steps().0.into_iter().map(|step| step.id).collect::<Vec<StepId>>(),
            max_rounds: self.settings().pipeline.rounds,
        })
    }

    /// The valid reviews of a feature.
    fn reviews(&self, row: &FeatureRow) -> Result<Vec<Iteration>, Failure> {
        Ok(self.standing_iterations(row.project, &row.id)?.into_iter().map(|row| row.iteration).collect())
    }

    /// The folder of a project's features.
    fn folder(&self, project: &ProjectRow) -> Result<Arc<Folder>, Failure> {
        self.check_here(project)?;
        let mut folders = self.inner.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = folders.get(&project.id) {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(Folder::make(&project.path, &self.settings().pipeline.dir)?);
        folders.insert(project.id, Arc::clone(&folder));
        Ok(folder)
    }

    /// Removes the worktree of an idle feature, unless it has uncommitted work.
    pub fn clean(&self, project: i64, id: &FeatureId) -> Result<Removed, Refused> {
        let (project, row) = (self.project(project)?, self.feature(project, id)?);
        if row.state.work != machine::Work::Nothing {
            return Err(Refused::Invalid(format!("{}; stop it first", row.state.in_words())));
        }
        self.check_here(&project)?;
        let repository = Repository::open(&project.path, self.home().git.clone())?;
        let branch = work::branch(&row)?;
        // Leftovers of staging are useless without the worktree.
        let _ = std::fs::remove_dir_all(self.scratch(project.id, id));
        match repository.worktree(&branch)? {
            Some(worktree) => Ok(repository.remove_worktree(&worktree)?),
            None => Ok(Removed::Done),
        }
    }

    /// The directory in which commits of a feature are staged.
    fn scratch(&self, project: i64, id: &FeatureId) -> PathBuf {
        self.home().data.join("gate").join(format!("{project}-{id}"))
    }

    /// The directory of transcripts of a feature's reviewers.
    pub fn records(&self, project: i64, id: &FeatureId) -> PathBuf {
        self.home().data.join("records").join(format!("{project}-{id}"))
    }

    /// Registers the cancellation token of a running job.
    fn register(&self, project: i64, feature: &FeatureId, cancel: &CancellationToken) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert((project, feature.clone()), cancel.clone());
    }

    fn unregister(&self, project: i64, feature: &FeatureId) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&(project, feature.clone()));
    }

    /// Cancels the running job of a feature in this process. Elsewhere the lost lease ends it.
    fn end_work(&self, project: i64, feature: &FeatureId) {
        let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = running.get(&(project, feature.clone())) {
            cancel.cancel();
        }
    }
}

/// The note that accompanies a person's action.
struct PersonNote<'a> {
    note: Option<&'a str>,
    /// True when the note is for the agent.
    to_agent: bool,
    overridden: Option<Override>,
}

impl PersonNote<'_> {
    fn nothing() -> Self {
        Self { note: None, to_agent: false, overridden: None }
    }
}

/// An event with everything that is stored in its transaction.
struct Change<'a> {
    event: Event,
    note: Option<String>,
    iteration: Option<NewIteration>,
    undecided: Option<RunRecord>,
    overridden: Option<Override>,
    set: Changes,
    /// Events to announce before those of the transition.
    first: Vec<FeatureEvent<'a>>,
}

impl Change<'_> {
    fn of(event: Event) -> Self {
        Self {
            event,
            note: None,
            iteration: None,
            undecided: None,
            overridden: None,
            set: Changes::default(),
            first: Vec::new(),
        }
    }
}
