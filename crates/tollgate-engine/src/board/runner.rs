//! Does the work that is owed to features, until it is told to end.
//!
//! One thread looks what is owed, claims what there is room for and starts a thread for each piece; another keeps the
//! claims alive. A project is kept by one runner at a time. What an earlier runner left, because it was killed, is
//! tidied up first: its processes are ended, its claims given back, files brought up to date.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Work;

use super::folder::Lock;
use super::folder::watch::{self, Changes, Watcher};
use super::{Board, work};
use crate::failure::Failure;
use crate::process::guard::{ProcessMark, end_survivors};
use crate::process::{handles, lease, owner};
use crate::store::board::{Candidate, Claim, ClaimRequest, ConcurrencyLimit, FencingToken, ProjectRow};

/// How often signs of life are given.
const BEAT: Duration = Duration::from_secs(2);
/// How often to look what is owed, when nobody says that something changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The same, when work waits for what is just ending.
const LOOK_SOON: Duration = Duration::from_millis(50);
/// How much is looked at in one go.
const MAX_CANDIDATES: usize = 500;
/// How often to look again at files that could not be read: the reason may have passed without a change to them.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The most commits that are made at once.
const MAX_COMMITS: usize = 8;

/// What a runner has to tell those who watch over it.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Does what is owed.
pub struct Runner {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    board: Board,
    owner: String,
    /// The program ends.
    ending: CancellationToken,
    /// What is being done, and what ends it.
    jobs: Mutex<HashMap<FencingToken, Running>>,
    /// A piece of work is over.
    over: Condvar,
    tell: Tell,
    /// What was said last about each thing, so that nothing is said again and again.
    said: Mutex<HashMap<String, String>>,
    /// Features on which a mistake of ours ended a piece of work.
    mistakes: Mutex<HashSet<(i64, FeatureId)>>,
}

struct Running {
    project: i64,
    feature: FeatureId,
    cancel: CancellationToken,
}

/// The projects that this runner keeps.
#[derive(Default)]
struct Kept {
    locks: HashMap<i64, Keeping>,
    /// Projects that somebody else keeps, so that this is said once.
    elsewhere: HashSet<i64>,
}

/// What it takes to keep a project.
struct Keeping {
    _lock: Lock,
    _watcher: Watcher,
    changes: Receiver<Changes>,
    /// When files that could not be read were last looked at.
    looked_again: Instant,
}

impl Runner {
    /// Tidies up and begins.
    pub fn start(board: &Board, tell: Tell) -> Result<Self, Failure> {
        let owner = owner::name();
        let shared = Arc::new(Shared {
            board: board.clone(),
            owner,
            ending: CancellationToken::new(),
            jobs: Mutex::default(),
            over: Condvar::new(),
            tell,
            said: Mutex::default(),
            mistakes: Mutex::default(),
        });
        shared.tidy_up()?;
        let (supervisor, heart) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            std::thread::Builder::new().name("board".to_owned()).spawn(move || supervisor.supervise()),
            std::thread::Builder::new().name("board-claims".to_owned()).spawn(move || heart.beat()),
        ];
        let threads = threads.into_iter().collect::<Result<_, _>>();
        let threads = threads.map_err(|error: std::io::Error| super::failure::no_thread(&error))?;
        Ok(Self { shared, threads })
    }

    /// How many pieces of work are under way.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.shared.jobs().len()
    }

    /// Ends everything: agents are stopped, and what they were at is done when the next runner starts.
    ///
    /// False when something did not end in time.
    pub fn stop(self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        self.shared.ending.cancel();
        for running in self.shared.jobs().values() {
            running.cancel.cancel();
        }
        let mut jobs = self.shared.jobs();
        while !jobs.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            jobs = self.shared.over.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(jobs);
        // Both look every moment whether it is over; who waits for jobs to end is woken.
        self.shared.over.notify_all();
        for thread in self.threads {
            let _ = thread.join();
        }
        let _ = self.shared.board.database().release_owner(&self.shared.owner);
        true
    }
}

impl Shared {
    fn jobs(&self) -> MutexGuard<'_, HashMap<FencingToken, Running>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.board.now()
    }

    // What an earlier runner left.

    fn tidy_up(&self) -> Result<(), Failure> {
        let database = self.board.database();
        for owner in database.owners()? {
            if owner != self.owner && owner::has_ended(&owner) {
                database.release_owner(&owner)?;
            }
        }
        Ok(())
    }

    /// Ends what an earlier runner has left running for a project.
    fn end_survivors(&self, project: &ProjectRow) -> Result<(), Failure> {
        let database = self.board.database();
        for process in database.processes()?.into_iter().filter(|process| process.project == project.id) {
            let mark = serde_json::from_str(&process.mark).ok().and_then(|value| ProcessMark::of_json(&value));
            match mark.map(|mark| end_survivors(&mark)) {
                Some(Err(error)) => {
                    self.say(&format!("what is left of `{}` cannot be ended: {error}", process.feature))
                }
                Some(Ok(n_ended)) => {
                    if n_ended > 0 {
                        self.say(&format!("ended {n_ended} processes that were left of `{}`", process.feature));
                    }
                    database.forget_process(process.token)?;
                }
                None => database.forget_process(process.token)?,
            }
        }
        Ok(())
    }

    // Looking what is owed.

    fn supervise(self: Arc<Self>) {
        let mut kept = Kept::default();
        let mut seen = 0;
        while !self.ending.is_cancelled() {
            // A mistake of ours must not end the work on everything.
            let is_held_up = match catch_unwind(AssertUnwindSafe(|| self.look(&mut kept))) {
                Ok(Ok(is_held_up)) => {
                    self.say_once("", "");
                    is_held_up
                }
                Ok(Err(failure)) => {
                    self.say_once("", &failure.message);
                    false
                }
                Err(_) => {
                    self.say_once("", "looking what is to be done went wrong; it is tried again");
                    false
                }
            };
            if is_held_up {
                let jobs = self.jobs();
                drop(self.over.wait_timeout(jobs, LOOK_SOON));
                continue;
            }
            let database = self.board.database();
            let woken = database.wait_for_events(seen, LOOK_EVERY);
            if woken.is_err() {
                std::thread::sleep(LOOK_EVERY);
            }
            seen = database.last_seq().unwrap_or(seen);
        }
    }

    /// True when there is work that waits for something else on the same feature to end.
    fn look(self: &Arc<Self>, kept: &mut Kept) -> Result<bool, Failure> {
        crate::process::panic_point("look");
        let mut projects = self.board.projects()?;
        // Those of other machines are left to them.
        projects.retain(|project| self.board.is_here(project));
        self.keep(&projects, kept);
        for project in &projects {
            let Some(keeping) = kept.locks.get_mut(&project.id) else { continue };
            let mut names = Vec::new();
            let mut end = TryRecvError::Empty;
            while let Ok(changes) = keeping.changes.try_recv().inspect_err(|error| end = *error) {
                if let Some(note) = &changes.note {
                    self.say(note);
                }
                names.extend(changes.names);
            }
            if keeping.looked_again.elapsed() >= LOOK_AGAIN {
                keeping.looked_again = Instant::now();
                names.extend(self.board.broken(project.id).into_iter().map(|broken| broken.name));
            }
            for name in &names {
                if let Err(failure) = self.board.import_one(project, name) {
                    self.say_once(name, &failure.message);
                }
            }
            if end == TryRecvError::Disconnected {
                // Nobody watches any more; next time the project is kept anew.
                kept.locks.remove(&project.id);
            }
        }
        let behind = self.board.database().unprojected()?;
        for behind in behind.iter().filter(|behind| kept.locks.contains_key(&behind.project)) {
            // Whoever is at it writes its files.
            if !self.is_at_work(behind.project, &behind.feature)
                && let Some(project) = projects.iter().find(|known| known.id == behind.project)
                && let Err(failure) = self.board.write_files(project, &behind.feature)
            {
                self.say_once(behind.feature.as_str(), &failure.message);
            }
        }
        self.hand_out(kept)
    }

    /// Keeps new projects, and lets go of those that are gone.
    fn keep(&self, projects: &[ProjectRow], kept: &mut Kept) {
        kept.locks.retain(|id, _| projects.iter().any(|project| project.id == *id));
        for project in projects {
            if kept.locks.contains_key(&project.id) {
                continue;
            }
            match self.take_over(project) {
                Ok(lock) => {
                    kept.elsewhere.remove(&project.id);
                    kept.locks.insert(project.id, lock);
                }
                Err(failure) => {
                    if kept.elsewhere.insert(project.id) {
                        self.say(&failure.message);
                    }
                }
            }
        }
    }

    fn take_over(&self, project: &ProjectRow) -> Result<Keeping, Failure> {
        let folder = self.board.folder(project)?;
        let lock = folder.lock()?;
        // From here on nobody else works on the project.
        self.end_survivors(project)?;
        let watched = Watcher::start(Arc::clone(&folder), watch::EVERY)?;
        self.board.import_all(project)?;
        Ok(Keeping { _lock: lock, _watcher: watched.0, changes: watched.1, looked_again: Instant::now() })
    }

    fn hand_out(self: &Arc<Self>, kept: &Kept) -> Result<bool, Failure> {
        let mut is_held_up = false;
        let pipeline = &self.board.settings().pipeline;
        let agents = vec![Work::Queued, Work::Implementing, Work::Stepping];
        let kinds = [
            (vec![Work::Committing, Work::CommittingStep], MAX_COMMITS),
            (vec![Work::Reviewing], pipeline.reviews_at_once),
            (agents, pipeline.at_once),
        ];
        for (works, most) in kinds {
            let candidates = self.board.database().candidates(&works, self.now(), MAX_CANDIDATES)?;
            for candidate in candidates {
                let is_kept = kept.locks.contains_key(&candidate.project);
                if self.ending.is_cancelled() || !is_kept || candidate.is_broken || !self.may_begin(&candidate)? {
                    continue;
                }
                if self.is_at_work(candidate.project, &candidate.feature) {
                    is_held_up = true;
                    continue;
                }
                if !self.has_handles() {
                    self.say_once("handles", "there are too few file handles; more work waits until some are free");
                    return Ok(false);
                }
                let room = ConcurrencyLimit { works: works.clone(), most };
                let Some(claim) = self.claim(&candidate, room)? else { continue };
                self.begin(claim);
            }
        }
        Ok(is_held_up)
    }

    /// True when one more piece of work finds the file handles that it needs; without them it would fail.
    fn has_handles(&self) -> bool {
        let n_works = u64::try_from(self.jobs().len()).unwrap_or(u64::MAX).saturating_add(1);
        handles::n_free().is_none_or(|n_free| n_free >= handles::FOR_WORK.saturating_mul(n_works))
    }

    /// True unless the feature waits for others.
    fn may_begin(&self, candidate: &Candidate) -> Result<bool, Failure> {
        if candidate.work != Work::Queued || candidate.dependencies.is_empty() {
            return Ok(true);
        }
        let names: Vec<FeatureId> =
            candidate.dependencies.iter().filter_map(|name| FeatureId::parse(name).ok()).collect();
        let statuses = self.board.database().statuses(candidate.project, &names)?;
        // One that is not there holds nobody up: it may have been deleted after it was done.
        Ok(statuses.iter().all(|(_, status)| status.is_done()))
    }

    fn claim(&self, candidate: &Candidate, room: ConcurrencyLimit) -> Result<Option<Claim>, Failure> {
        self.board.database().claim(&ClaimRequest {
            project: candidate.project,
            feature: candidate.feature.clone(),
            work: candidate.work,
            owner: self.owner.clone(),
            now_ms: self.now(),
            lease_ms: u64::try_from(lease().as_millis()).unwrap_or(u64::MAX),
            room: Some(room),
        })
    }

    fn begin(self: &Arc<Self>, claim: Claim) {
        let cancel = self.ending.child_token();
        let (token, project, feature) = (claim.token, claim.project, claim.feature.clone());
        let running = Running { project, feature: feature.clone(), cancel: cancel.clone() };
        self.jobs().insert(token, running);
        self.board.register(project, &feature, &cancel);
        let shared = Arc::clone(self);
        let work = move || {
            let _over = Over { shared: &shared, token, project, feature: &feature };
            let done = catch_unwind(AssertUnwindSafe(|| work::run(&shared.board, &claim, &cancel)));
            if let Err(failure) = done.unwrap_or_else(|_| shared.went_wrong(&claim, &cancel)) {
                shared.say(&format!("`{feature}`: {}", failure.message));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("board-work".to_owned()).spawn(work) {
            // The claim runs out, and it is tried again.
            self.jobs().remove(&token);
            self.say(&format!("no thread could be started: {error}"));
        }
    }

    /// A mistake of ours ended a piece of work: it is tried once more, and then a person has to look.
    fn went_wrong(&self, claim: &Claim, cancel: &CancellationToken) -> Result<(), Failure> {
        let is_first = {
            let mut mistakes = self.mistakes.lock().unwrap_or_else(PoisonError::into_inner);
            mistakes.insert((claim.project, claim.feature.clone()))
        };
        if is_first {
            work::try_again(&self.board, claim)?
        } else {
            work::give_up(&self.board, claim, cancel)?
        }
        Err(super::failure::mistake())
    }

    // Signs of life.

    fn beat(self: Arc<Self>) {
        loop {
            let jobs = self.jobs();
            let (jobs, _) = self.over.wait_timeout(jobs, BEAT).unwrap_or_else(PoisonError::into_inner);
            let tokens: Vec<FencingToken> = jobs.keys().copied().collect();
            drop(jobs);
            if self.ending.is_cancelled() && tokens.is_empty() {
                return;
            }
            // Without signs of life others would take over what is still being done here.
            let _ = catch_unwind(AssertUnwindSafe(|| self.heartbeat(&tokens)));
        }
    }

    fn heartbeat(&self, tokens: &[FencingToken]) {
        crate::process::panic_point("beat");
        let until = self.now().saturating_add(u64::try_from(lease().as_millis()).unwrap_or(u64::MAX));
        for token in tokens {
            // A claim that is gone is somebody else's decision; one that cannot be renewed may still be good.
            if let Ok(false) = self.board.database().heartbeat(*token, until)
                && let Some(running) = self.jobs().get(token)
            {
                running.cancel.cancel();
            }
        }
    }

    /// True while something runs for a feature, also what was stopped and is not gone yet.
    fn is_at_work(&self, project: i64, feature: &FeatureId) -> bool {
        self.jobs().values().any(|running| running.project == project && running.feature == *feature)
    }

    fn say(&self, message: &str) {
        (self.tell)(message);
    }

    /// Says what is the matter with something, unless that was said already.
    fn say_once(&self, about: &str, message: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(about.to_owned(), message.to_owned()).as_deref() != Some(message) && !message.is_empty() {
            self.say(message);
        }
    }
}

/// Notes the end of a piece of work, however it ends.
struct Over<'a> {
    shared: &'a Shared,
    token: FencingToken,
    project: i64,
    feature: &'a FeatureId,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.shared.board.unregister(self.project, self.feature);
        self.shared.jobs().remove(&self.token);
        self.shared.over.notify_all();
    }
}
