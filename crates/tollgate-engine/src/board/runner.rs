//! The worker of the board: watches the folders of its projects and claims the work of their features.
//!
//! A project is worked on by one runner at a time, which holds its lock. A runner that takes over a project first ends the
//! processes that a killed one left behind, and brings the files up to date.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Work;

use super::folder::Lock;
use super::folder::watch::{self, Changes, Watcher};
use super::{Board, work};
use crate::failure::{self, Failure};
use crate::process;
use crate::process::guard::{ProcessMark, end_survivors};
use crate::store::board::{Candidate, Claim, ClaimRequest, ConcurrencyLimit, ProjectRow};
use crate::store::queue::{FencingToken, Queue};
use crate::store::{Database, Signal};
use crate::worker::{JobKind, NewJob, Ran, Shared, Worker};

pub use crate::worker::Log;

/// How many jobs are looked at in one poll.
const MAX_CANDIDATES: usize = 500;
/// How often files are read again that could not be read: the reason may have passed without a change to them.
const REREAD_EVERY: Duration = Duration::from_secs(5);
/// The most commits that are made at once.
const MAX_COMMITS: usize = 8;

/// Does the work of features until it is stopped.
pub type Runner = Worker<FeatureJobs>;

/// Work on features as jobs.
pub struct FeatureJobs {
    board: Board,
    /// Features on which a job panicked.
    panicked: Mutex<HashSet<(i64, FeatureId)>>,
}

/// A feature that a worker works on.
#[derive(Debug)]
pub struct RunningFeature {
    project: i64,
    feature: FeatureId,
    cancel: CancellationToken,
}

/// The projects that this runner holds.
#[derive(Default)]
pub struct Projects {
    /// Tells other processes that work is done here, also on projects that are added later.
    presence: Option<crate::lock::Lock>,
    held: HashMap<i64, HeldProject>,
    /// Projects that another runner holds; logged once.
    elsewhere: HashSet<i64>,
}

struct HeldProject {
    _lock: Lock,
    _watcher: Watcher,
    changes: Receiver<Changes>,
    /// When files that could not be read were last read again.
    reread: Instant,
}

impl Runner {
    /// Begins to claim the work of features.
    pub fn start(board: &Board, log: Log) -> Result<Self, Failure> {
        Self::spawn(FeatureJobs { board: board.clone(), panicked: Mutex::default() }, log)
    }
}

impl JobKind for FeatureJobs {
    const NAME: &'static str = "board";
    const QUEUE: Queue = Queue::Features;
    const DEBOUNCE: Duration = Duration::ZERO;
    type State = Projects;
    type Job = Claim;
    type Running = RunningFeature;

    fn database(&self) -> &Database {
        self.board.database()
    }

    fn now_ms(&self) -> u64 {
        self.board.now()
    }

    fn signal(&self) -> Arc<Signal> {
        self.database().event_signal()
    }

    fn poll(&self, worker: &Arc<Shared<Self>>, projects: &mut Projects) -> Result<Duration, Failure> {
        process::panic_point("look");
        if projects.presence.is_none() {
            // Commands can do without; the next poll tries again.
            projects.presence = self.board.announce_worker().ok().flatten();
        }
        self.import_files(worker, projects)?;
        self.claim_due(worker, projects)?;
        // Files that could not be read are read again, also when nothing happens.
        Ok(worker.until_next_due()?.min(if projects.held.is_empty() { Duration::MAX } else { REREAD_EVERY }))
    }

    fn heartbeat(&self, token: FencingToken, until_ms: u64, running: &RunningFeature) {
        // A lease that cannot be extended may still be valid.
        if let Ok(false) = self.database().heartbeat(token, until_ms) {
            running.cancel.cancel();
        }
    }

    fn run(&self, _: &Shared<Self>, claim: &Claim, running: &RunningFeature) -> Ran<Self> {
        (work::run(&self.board, claim, &running.cancel), None)
    }

    /// Retries a job that panicked once; the second time a person has to look.
    fn recover(&self, claim: &Claim, running: &RunningFeature) -> Failure {
        let feature = (claim.project, claim.feature.clone());
        let is_first = self.panicked.lock().unwrap_or_else(PoisonError::into_inner).insert(feature);
        let recovered = if is_first {
            work::try_again(&self.board, claim)
        } else {
            work::give_up(&self.board, claim, &running.cancel)
        };
        recovered.err().unwrap_or_else(failure::internal_error)
    }

    fn ended(&self, running: &RunningFeature) {
        self.board.unregister(running.project, &running.feature);
    }
}

impl FeatureJobs {
    /// Imports changed files and writes files that are behind the database.
    fn import_files(&self, worker: &Shared<Self>, projects: &mut Projects) -> Result<(), Failure> {
        let mut rows = self.board.projects()?;
        // The projects of other machines are left to them.
        rows.retain(|project| self.board.is_here(project));
        self.hold(worker, &rows, projects);
        for project in &rows {
            let Some(held) = projects.held.get_mut(&project.id) else { continue };
            let mut names = Vec::new();
            let mut end = TryRecvError::Empty;
            while let Ok(changes) = held.changes.try_recv().inspect_err(|error| end = *error) {
                if let Some(note) = &changes.note {
                    worker.log(note);
                }
                names.extend(changes.names);
            }
            if held.reread.elapsed() >= REREAD_EVERY {
                held.reread = Instant::now();
                names.extend(self.board.broken(project.id).into_iter().map(|broken| broken.name));
            }
            for name in &names {
                if let Err(failure) = self.board.import_one(project, name) {
                    worker.log_once(name, &failure.message);
                }
            }
            if end == TryRecvError::Disconnected {
                // The watcher died; the next poll takes the project over anew.
                projects.held.remove(&project.id);
            }
        }
        let running = worker.running();
        for behind in self.database().unprojected()?.iter().filter(|behind| projects.held.contains_key(&behind.project))
        {
            // A running job writes the files of its feature itself.
            if !is_running(&running, behind.project, &behind.feature)
                && let Some(project) = rows.iter().find(|known| known.id == behind.project)
                && let Err(failure) = self.board.write_files(project, &behind.feature)
            {
                worker.log_once(behind.feature.as_str(), &failure.message);
            }
        }
        Ok(())
    }

    /// Takes over new projects, and lets go of removed ones.
    fn hold(&self, worker: &Shared<Self>, rows: &[ProjectRow], projects: &mut Projects) {
        projects.held.retain(|id, _| rows.iter().any(|project| project.id == *id));
        for project in rows {
            if projects.held.contains_key(&project.id) {
                continue;
            }
            match self.take_over(worker, project) {
                Ok(held) => {
                    projects.elsewhere.remove(&project.id);
                    projects.held.insert(project.id, held);
                }
                Err(failure) => {
                    if projects.elsewhere.insert(project.id) {
                        worker.log(&failure.message);
                    }
                }
            }
        }
    }

    fn take_over(&self, worker: &Shared<Self>, project: &ProjectRow) -> Result<HeldProject, Failure> {
        let folder = self.board.folder(project)?;
        let lock = folder.lock()?;
        // With the lock, no other runner works on the project.
        self.end_survivors(worker, project)?;
        let watched = Watcher::start(Arc::clone(&folder), watch::EVERY)?;
        self.board.import_all(project)?;
        let changes = forward(watched.1, Arc::clone(worker.signal()))?;
        Ok(HeldProject { _lock: lock, _watcher: watched.0, changes, reread: Instant::now() })
    }

    /// Ends the processes that a killed runner left behind in a project.
    fn end_survivors(&self, worker: &Shared<Self>, project: &ProjectRow) -> Result<(), Failure> {
        let database = self.database();
        for process in database.processes()?.into_iter().filter(|process| process.project == project.id) {
            let mark = serde_json::from_str(&process.mark).ok().and_then(|value| ProcessMark::of_json(&value));
            match mark.map(|mark| end_survivors(&mark)) {
                Some(Err(error)) => {
                    worker.log(&format!("what is left of `{}` cannot be ended: {error}", process.feature));
                }
                Some(Ok(n_ended)) => {
                    if n_ended > 0 {
                        worker.log(&format!("ended {n_ended} processes that were left of `{}`", process.feature));
                    }
                    database.forget_process(process.token)?;
                }
                None => database.forget_process(process.token)?,
            }
        }
        Ok(())
    }

    /// Claims and starts due jobs. A job that waits for another of the same feature is claimed once that has ended.
    fn claim_due(&self, worker: &Arc<Shared<Self>>, projects: &Projects) -> Result<(), Failure> {
        let pipeline = &self.board.settings().pipeline;
        let agents = vec![Work::Queued, Work::Implementing, Work::Stepping];
        let kinds = [
            (vec![Work::Committing, Work::CommittingStep], MAX_COMMITS),
            (vec![Work::Reviewing], pipeline.reviews_at_once),
            (agents, pipeline.at_once),
        ];
        for (works, most) in kinds {
            for candidate in self.database().candidates(&works, self.now_ms(), MAX_CANDIDATES)? {
                let is_held = projects.held.contains_key(&candidate.project);
                if worker.is_stopping() || !is_held || candidate.is_broken || !self.may_begin(&candidate)? {
                    continue;
                }
                if is_running(&worker.running(), candidate.project, &candidate.feature) {
                    continue;
                }
                if !worker.has_handles() {
                    return Ok(());
                }
                let limit = Some(ConcurrencyLimit { works: works.clone(), most });
                let Candidate { project, feature, work, .. } = candidate;
                let request = ClaimRequest { project, feature, work, lease: worker.lease(), limit };
                if let Some(claim) = self.database().claim(&request)? {
                    self.start(worker, claim);
                }
            }
        }
        Ok(())
    }

    /// True unless the feature waits for others.
    fn may_begin(&self, candidate: &Candidate) -> Result<bool, Failure> {
        if candidate.work != Work::Queued || candidate.dependencies.is_empty() {
            return Ok(true);
        }
        let names: Vec<FeatureId> =
            candidate.dependencies.iter().filter_map(|name| FeatureId::parse(name).ok()).collect();
        let statuses = self.database().statuses(candidate.project, &names)?;
        // A missing feature blocks no other: it may have been deleted after it was done.
        Ok(statuses.iter().all(|(_, status)| status.is_done()))
    }

    fn start(&self, worker: &Arc<Shared<Self>>, claim: Claim) {
        let Claim { token, project, ref feature, .. } = claim;
        let running = RunningFeature { project, feature: feature.clone(), cancel: worker.cancel_token() };
        self.board.register(project, feature, &running.cancel);
        let (name, running) = (format!("`{feature}`"), Arc::new(running));
        worker.start(NewJob { token, name, job: claim, running });
    }
}

/// Passes the changes of a watcher on, and wakes the polling thread for each; ends when the watcher does.
fn forward(changes: Receiver<Changes>, signal: Arc<Signal>) -> Result<Receiver<Changes>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let pass_on = move || {
        while let Ok(change) = changes.recv()
            && sender.send(change).is_ok()
        {
            signal.notify();
        }
        drop(sender);
        signal.notify();
    };
    let thread = std::thread::Builder::new().name("board-files".to_owned());
    thread.spawn(pass_on).map_err(|error| failure::no_thread(&error))?;
    Ok(receiver)
}

/// True while a job of a feature runs, also one that was cancelled and has not ended yet.
fn is_running(running: &[Arc<RunningFeature>], project: i64, feature: &FeatureId) -> bool {
    running.iter().any(|running| running.project == project && running.feature == *feature)
}
