//! The board: features, and the gate each has to pass.
//!
//! A project is a repository that the operator added. Its features are files that people and other programs may edit
//! ([`folder`]); where they are on their way through the gate is in the database, which is the truth. What happens to a
//! feature goes through one transition of the database, then its file is written anew (`projection`). Agents, commits
//! and reviews are the work of a [`runner`]; everything else here only says what is to be done, so that the command line
//! and the server can do the same, with or without a runner.
//!
//! ```text
//! person ──► Board ──► transition ──► database ──► projection ──► feature.json
//!                                        │
//!                         runner ◄───────┘ work that is owed
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::machine::{self, Act, Effect, Event, Illegal, Rules, Status};
use tollgate_core::board::wire::Announced;
use tollgate_core::board::{Document, FeatureId, Override, StepId};

use crate::config::{self, Layer, Settings};
use crate::failure::{Failure, Kind};
use crate::forge::git::Environment;
use crate::forge::project::Project as Repository;
use crate::forge::worktree::Removed;
use crate::store::Database;
use crate::store::board::{
    Card, CardFilter, Changes, FeatureRow, FencingToken, Field, Hold, IterationRow, NewIteration, ProjectRow,
    Transition, TransitionError, TransitionRow, Transitioned,
};

mod announce;
pub mod demo;
mod failure;
pub mod folder;
mod here;
mod intake;
mod judge;
mod offered;
mod preview;
mod projection;
mod prompts;
mod record;
pub mod runner;
mod shown;
pub mod source;
mod time;
mod work;

use folder::Folder;

pub use here::machine_name;
pub use intake::{Edits, NewFeature};
pub use offered::offers;
pub use preview::{Draft, Previewed, Shown as ShownContext};
pub use prompts::{InForce, Level, OwnPrompt, OwnPrompts, PromptsInForce};
pub use record::{Audit, Try};
pub use shown::{Output, Part};
pub use time::iso;

/// What the board needs from outside.
#[derive(Debug, Clone)]
pub struct Home {
    /// This very program, which scans files and guards agents as a child of itself.
    pub executable: PathBuf,
    /// Where the user keeps configuration.
    pub config_dir: Option<PathBuf>,
    /// The variables of the environment.
    pub variables: Vec<(String, String)>,
    /// What the command line says.
    pub flags: Layer,
    /// Where transcripts and scratch files are kept.
    pub data: PathBuf,
    /// What git takes from the environment.
    pub git: Environment,
    /// The time in milliseconds since 1970.
    pub clock: fn() -> u64,
}

impl Home {
    /// The settings that hold whatever the project.
    pub fn settings(&self) -> Result<Settings, Failure> {
        self.settings_at(None)
    }

    /// The settings of a project whose own file was read as of a commit.
    pub(crate) fn settings_at(&self, file: Option<Vec<u8>>) -> Result<Settings, Failure> {
        config::load_at(file, self.config_dir.as_deref(), &self.variables, self.flags.clone())
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }
}

/// Something cannot be done.
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
    /// Not where the feature is now.
    Illegal(Illegal),
    /// Somebody else was faster; what is there now has this revision.
    Stale(u64),
    /// What was asked for makes no sense, in words.
    Invalid(String),
    /// Something failed.
    Failure(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Refused {
    /// The same for a person at a terminal.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        match self {
            Self::NoProject(id) => Failure::new(Kind::User, format!("there is no project {id}"))
                .hint("`tollgate project list` shows them; `tollgate project add PATH` adds one."),
            Self::NoFeature(id) => Failure::new(Kind::User, format!("there is no feature `{id}`"))
                .hint("`tollgate feature list` shows them."),
            Self::NoReview(number) => Failure::new(Kind::User, format!("iteration {number} has no review"))
                .hint("`tollgate feature show ID` shows those that have one."),
            Self::NoFinding(id) => {
                Failure::new(Kind::User, format!("the review has no finding `{}`", id.escape_debug()))
                    .hint("Findings are called `F001`, `F002` and so on; what a criterion asks for is no finding.")
            }
            Self::Illegal(illegal) => Failure::new(Kind::User, illegal.to_string()),
            Self::Stale(_) => Failure::new(Kind::User, "somebody else changed the feature in the meantime")
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
    /// The settings that hold whatever the project.
    settings: Settings,
    folders: Mutex<HashMap<i64, Arc<Folder>>>,
    /// Why folders of features cannot be read, by project and name.
    broken: Mutex<HashMap<(i64, String), String>>,
    /// Stops what runs here, by feature.
    running: Mutex<HashMap<(i64, FeatureId), CancellationToken>>,
    /// Held by whoever makes or removes the demonstration.
    demo: Mutex<()>,
    /// Texts of files that were looked at lately.
    sources: source::Lately,
}

impl Board {
    /// Opens the board.
    pub fn open(database: Database, home: Home) -> Result<Self, Failure> {
        let settings = home.settings()?;
        let (folders, broken, running) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (sources, demo) = (source::Lately::default(), Mutex::default());
        Ok(Self { inner: Arc::new(Inner { database, home, settings, folders, broken, running, sources, demo }) })
    }

    /// What is stored, and what is announced.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// What the board needs from outside.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// The time in milliseconds since 1970, by which everything here is stored and claims run out.
    ///
    /// Several machines go by the clock of the database that they share.
    #[must_use]
    pub fn now(&self) -> u64 {
        if self.database().place().file().is_some() { self.home().now() } else { self.database().now_ms() }
    }

    /// The settings that hold whatever the project.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    // Projects.

    /// Adds a repository, and takes in the features it has already.
    pub fn add_project(&self, path: &Path, name: Option<&str>) -> Result<ProjectRow, Refused> {
        self.put_on_board(path, name, false)
    }

    /// The projects, in the order in which they were added.
    pub fn projects(&self) -> Result<Vec<ProjectRow>, Failure> {
        self.database().projects()
    }

    /// A project by its number.
    pub fn project(&self, id: i64) -> Result<ProjectRow, Refused> {
        self.database().project(id)?.ok_or(Refused::NoProject(id))
    }

    /// The project that has this folder, or holds it.
    pub fn project_at(&self, path: &Path) -> Result<Option<ProjectRow>, Failure> {
        let Ok(path) = path.canonicalize() else { return Ok(None) };
        for folder in path.ancestors() {
            if let Some(project) = self.database().project_at(folder)? {
                return Ok(Some(project));
            }
        }
        Ok(None)
    }

    /// Takes a project off the board. Its folder and what is stored of it stay.
    pub fn remove_project(&self, id: i64) -> Result<(), Refused> {
        let busy = self.features(id, &CardFilter { limit: usize::MAX, ..CardFilter::default() })?;
        if let Some(card) = busy.iter().find(|card| card.state.work != machine::Work::Nothing) {
            return Err(Refused::Invalid(format!("`{}` is still worked on; stop it first", card.id)));
        }
        if self.database().remove_project(id, self.now())? { Ok(()) } else { Err(Refused::NoProject(id)) }
    }

    // Features.

    /// The features of a project, as a list shows them.
    pub fn features(&self, project: i64, filter: &CardFilter) -> Result<Vec<Card>, Refused> {
        self.project(project)?;
        Ok(self.database().cards(project, filter)?)
    }

    /// One feature.
    pub fn feature(&self, project: i64, id: &FeatureId) -> Result<FeatureRow, Refused> {
        self.database().feature(project, id)?.ok_or_else(|| Refused::NoFeature(id.to_string()))
    }

    /// Its reviews, oldest first.
    pub fn iterations(&self, project: i64, id: &FeatureId) -> Result<Vec<IterationRow>, Refused> {
        self.feature(project, id)?;
        Ok(self.database().iterations(project, id)?)
    }

    /// What happened to it, oldest first.
    pub fn history(&self, project: i64, id: &FeatureId) -> Result<Vec<TransitionRow>, Refused> {
        self.feature(project, id)?;
        Ok(self.database().transitions(project, id)?)
    }

    /// A person wants it to be done.
    pub fn start(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Start, who, Said::nothing())
    }

    /// A person wants the work on it to end. What was done stays.
    pub fn stop(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Stop, who, Said::nothing())
    }

    /// A person wants it to go on, and may say something to the agent.
    pub fn resume(&self, project: i64, id: &FeatureId, who: &str, note: Option<&str>) -> Result<FeatureRow, Refused> {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        let said = Said { note, to_agent: true, ..Said::nothing() };
        self.act(project, id, Event::Resume, who, said)
    }

    /// A person lets it pass, whatever the review says.
    pub fn approve(&self, project: i64, id: &FeatureId, who: &str, reason: &str) -> Result<FeatureRow, Refused> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(Refused::Invalid("an approval by hand needs a reason, which is kept".to_owned()));
        }
        let at = iso(self.now());
        let overridden = Override { who: who.to_owned(), reason: reason.to_owned(), at };
        self.act(
            project,
            id,
            Event::Approve,
            who,
            Said { note: Some(reason), to_agent: false, overridden: Some(overridden) },
        )
    }

    /// A person sends it back to the agent.
    pub fn reject(&self, project: i64, id: &FeatureId, who: &str, note: &str) -> Result<FeatureRow, Refused> {
        let note = note.trim();
        if note.is_empty() {
            return Err(Refused::Invalid("say what is to be done differently; the agent reads it first".to_owned()));
        }
        self.act(project, id, Event::SendBack, who, Said { note: Some(note), to_agent: true, overridden: None })
    }

    /// A person wants to have tried again what failed.
    pub fn retry(&self, project: i64, id: &FeatureId, who: &str) -> Result<FeatureRow, Refused> {
        self.act(project, id, Event::Retry, who, Said::nothing())
    }

    /// A person moves it to another column, where that is theirs to do.
    pub fn move_to(&self, project: i64, id: &FeatureId, who: &str, status: &Status) -> Result<FeatureRow, Refused> {
        let act = Act::Move(status.clone());
        let event = act.event().map_err(Refused::Illegal)?;
        self.act(project, id, event, who, Said::nothing()).map_err(|refused| match refused {
            Refused::Illegal(illegal) => Refused::Illegal(act.said_of(illegal)),
            refused => refused,
        })
    }

    /// Something happens to a feature, and its file is written anew.
    fn act(
        &self,
        project: i64,
        id: &FeatureId,
        event: Event,
        who: &str,
        said: Said<'_>,
    ) -> Result<FeatureRow, Refused> {
        let row = self.feature(project, id)?;
        if let Some(why) = &row.broken {
            return Err(Refused::Invalid(format!("its file cannot be read: {why}")));
        }
        let to_agent = match said.note {
            Some(note) if said.to_agent => Field::Set(note.to_owned()),
            Some(_) | None => Field::Keep,
        };
        let change = Change {
            note: said.note.map(str::to_owned),
            overridden: said.overridden,
            set: Changes { note: to_agent, problem: Field::Clear, ..Changes::default() },
            ..Change::of(event)
        };
        let done = self.transition(&row, who, None, change)?;
        let project = self.project(project)?;
        self.write_files(&project, id)?;
        if done.effects.contains(&Effect::Clean) {
            // The work tree is in nobody's way; what cannot be removed now is removed on request.
            let _ = self.clean(project.id, id);
        }
        Ok(done.feature)
    }

    /// The one way in which anything happens to a feature here.
    fn transition(
        &self,
        row: &FeatureRow,
        who: &str,
        claim: Option<(FencingToken, Hold)>,
        change: Change<'_>,
    ) -> Result<Transitioned, Refused> {
        let project = self.project(row.project)?;
        let folder = self.folder(&project)?;
        let rules = self.rules(&folder, &row.document);
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
            let telling = announce::Telling {
                project: project_id,
                path: &path,
                feature: &feature,
                iteration: iteration.as_ref(),
                problem: problem.as_deref(),
                first,
            };
            telling.events(before, &after.state, effects)
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
            hold: claim.map_or(Hold::LetGo, |(_, hold)| hold),
            iteration: change.iteration,
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

    /// The rules by which a feature moves.
    fn rules(&self, folder: &Folder, document: &[u8]) -> Rules {
        let document = Document::parse(document).ok();
        Rules {
            skip_tests: document.is_none_or(|document| document.skip_tests()),
            steps: folder.steps().0.into_iter().map(|step| step.id).collect::<Vec<StepId>>(),
            max_rounds: self.settings().pipeline.rounds,
        }
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

    /// Removes the work tree of a feature that nobody works on. Work that is not committed keeps it there.
    pub fn clean(&self, project: i64, id: &FeatureId) -> Result<Removed, Refused> {
        let (project, row) = (self.project(project)?, self.feature(project, id)?);
        if row.state.work != machine::Work::Nothing {
            return Err(Refused::Invalid(format!("{}; stop it first", row.state.in_words())));
        }
        self.check_here(&project)?;
        let repository = Repository::open(&project.path, self.home().git.clone())?;
        let branch = work::branch(&row)?;
        // What staging left behind is of no use to anybody.
        let _ = std::fs::remove_dir_all(self.scratch(project.id, id));
        match repository.worktree(&branch)? {
            Some(worktree) => Ok(repository.remove_worktree(&worktree)?),
            None => Ok(Removed::Done),
        }
    }

    /// Where the commits of a feature are staged.
    fn scratch(&self, project: i64, id: &FeatureId) -> PathBuf {
        self.home().data.join("gate").join(format!("{project}-{id}"))
    }

    /// Where it is kept what reviewers of a feature were asked and said.
    #[must_use]
    pub fn records(&self, project: i64, id: &FeatureId) -> PathBuf {
        self.home().data.join("records").join(format!("{project}-{id}"))
    }

    /// Takes note of what ends the work on a feature.
    fn register(&self, project: i64, feature: &FeatureId, cancel: &CancellationToken) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert((project, feature.clone()), cancel.clone());
    }

    fn unregister(&self, project: i64, feature: &FeatureId) {
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&(project, feature.clone()));
    }

    /// Ends what runs here for a feature. What runs elsewhere ends when it finds its claim gone.
    fn end_work(&self, project: i64, feature: &FeatureId) {
        let running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = running.get(&(project, feature.clone())) {
            cancel.cancel();
        }
    }
}

/// What a person said with what they did.
struct Said<'a> {
    note: Option<&'a str>,
    /// True when it is meant for the agent.
    to_agent: bool,
    overridden: Option<Override>,
}

impl Said<'_> {
    fn nothing() -> Self {
        Self { note: None, to_agent: false, overridden: None }
    }
}

/// What happens to a feature, with all that is stored beside it.
struct Change<'a> {
    event: Event,
    note: Option<String>,
    iteration: Option<NewIteration>,
    overridden: Option<Override>,
    set: Changes,
    /// What is announced before what follows.
    first: Vec<Announced<'a>>,
}

impl Change<'_> {
    fn of(event: Event) -> Self {
        Self { event, note: None, iteration: None, overridden: None, set: Changes::default(), first: Vec::new() }
    }
}
