//! Does what is owed to pull requests, until it is told to end.
//!
//! One thread looks what is owed, claims what there is room for and starts a thread for each pull request; another keeps
//! the claims alive and ends reviews that something newer makes useless; a third finds out what no delivery told us.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::work::{self, Watch};
use super::{Pulls, failure};
use crate::failure::Failure;
use crate::process::{handles, lease, owner};
use crate::store::pulls::{Claim, FencingToken};

/// How often signs of life are given.
const BEAT: Duration = Duration::from_secs(2);
/// How often to look what is owed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often to find out what no delivery told us.
const RECONCILE_EVERY: Duration = Duration::from_secs(5 * 60);

/// What a runner has to tell those who watch over it.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Does what is owed.
pub struct Runner {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    pulls: Pulls,
    owner: String,
    /// The program ends.
    ending: CancellationToken,
    /// What is being done.
    jobs: Mutex<HashMap<FencingToken, (i64, Arc<Watch>)>>,
    /// A piece of work is over, or the program ends.
    over: Condvar,
    tell: Tell,
    /// What was said last about each thing, so that nothing is said again and again.
    said: Mutex<HashMap<String, String>>,
}

impl Runner {
    /// Gives back what a runner left that is gone, and begins.
    pub fn start(pulls: &Pulls, tell: Tell) -> Result<Self, Failure> {
        let shared = Arc::new(Shared {
            pulls: pulls.clone(),
            owner: owner::name(),
            ending: CancellationToken::new(),
            jobs: Mutex::default(),
            over: Condvar::new(),
            tell,
            said: Mutex::default(),
        });
        let database = pulls.database();
        for owner in database.pull_owners()? {
            if owner != shared.owner && owner::has_ended(&owner) {
                database.release_pulls_of(&owner)?;
            }
        }
        let begin = |name: &str, part: fn(&Arc<Shared>)| {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || part(&shared)).map_err(|error| failure::no_thread(&error))
        };
        let threads = vec![begin("pulls", Shared::supervise)?, begin("pulls-claims", Shared::beat)?];
        // Nobody waits for this one to end: it may be waiting for the host, and what it does can be done again.
        drop(begin("pulls-lost", Shared::reconcile)?);
        Ok(Self { threads, shared })
    }

    /// How many pull requests are worked on.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.shared.jobs().len()
    }

    /// Ends everything; what was under way is done when the next runner starts. False when something did not end in time.
    pub fn stop(self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        self.shared.ending.cancel();
        self.shared.over.notify_all();
        let mut jobs = self.shared.jobs();
        while !jobs.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            jobs = self.shared.over.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(jobs);
        self.shared.over.notify_all();
        for thread in self.threads {
            let _ = thread.join();
        }
        let _ = self.shared.pulls.database().release_pulls_of(&self.shared.owner);
        true
    }
}

impl Shared {
    fn jobs(&self) -> MutexGuard<'_, HashMap<FencingToken, (i64, Arc<Watch>)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a piece of work is over, the program ends, or for so long.
    fn wait(&self, within: Duration) {
        let jobs = self.jobs();
        if !self.ending.is_cancelled() {
            drop(self.over.wait_timeout(jobs, within));
        }
    }

    fn supervise(self: &Arc<Self>) {
        while !self.ending.is_cancelled() {
            // A mistake of ours must not end the work on everything.
            match catch_unwind(AssertUnwindSafe(|| self.hand_out())) {
                Ok(Ok(())) => self.say_once("", ""),
                Ok(Err(failure)) => self.say_once("", &failure.message),
                Err(_) => self.say_once("", "looking what pull requests are owed went wrong; it is tried again"),
            }
            self.wait(LOOK_EVERY);
        }
    }

    fn hand_out(self: &Arc<Self>) -> Result<(), Failure> {
        let room = self.pulls.site().concurrency.max(1);
        while !self.ending.is_cancelled() {
            let at_work: Vec<i64> = self.jobs().values().map(|(pull, _)| *pull).collect();
            if at_work.len() >= room {
                return Ok(());
            }
            let n_works = u64::try_from(at_work.len()).unwrap_or(u64::MAX).saturating_add(1);
            if handles::n_free().is_some_and(|n_free| n_free < handles::FOR_WORK.saturating_mul(n_works)) {
                self.say_once("handles", "there are too few file handles; more reviews wait until some are free");
                return Ok(());
            }
            let Some(claim) = self.pulls.claim_next(&self.owner, at_work)? else { return Ok(()) };
            self.begin(claim);
        }
        Ok(())
    }

    fn begin(self: &Arc<Self>, claim: Claim) {
        let watch = Watch::new(self.ending.child_token(), claim.until_ms);
        let (token, name) = (claim.token, format!("{}#{}", claim.pull.repo, claim.pull.number));
        self.jobs().insert(token, (claim.pull.id, Arc::clone(&watch)));
        let shared = Arc::clone(self);
        let work = move || {
            let _over = Over { shared: &shared, token };
            let done = catch_unwind(AssertUnwindSafe(|| work::run(&shared.pulls, claim, &watch)));
            let done = done.unwrap_or_else(|_| work::gave_up(&shared.pulls, token));
            let problem = done.err().map(|failure| format!("{name}: {}", failure.message)).unwrap_or_default();
            shared.say_once(&name, &problem);
        };
        if let Err(error) = std::thread::Builder::new().name("pulls-work".to_owned()).spawn(work) {
            // The claim runs out, and it is tried again.
            self.jobs().remove(&token);
            self.say_once("thread", &failure::no_thread(&error).message);
        }
    }

    fn beat(self: &Arc<Self>) {
        loop {
            self.wait(BEAT);
            let jobs: Vec<(FencingToken, Arc<Watch>)> =
                self.jobs().iter().map(|(token, (_, watch))| (*token, Arc::clone(watch))).collect();
            if self.ending.is_cancelled() {
                if jobs.is_empty() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            // Without signs of life others would take over what is still being done here.
            let _ = catch_unwind(AssertUnwindSafe(|| self.renew(&jobs)));
        }
    }

    fn renew(&self, jobs: &[(FencingToken, Arc<Watch>)]) {
        let until = self.pulls.now().saturating_add(u64::try_from(lease().as_millis()).unwrap_or(u64::MAX));
        for (token, watch) in jobs {
            match self.pulls.database().heartbeat_pull(*token, until) {
                Ok(Ok(beat)) => {
                    watch.hold_until(until);
                    watch.look(beat.wanted);
                }
                // It is somebody else's now.
                Ok(Err(_)) => watch.cancel.cancel(),
                // A claim that cannot be renewed may still be good.
                Err(_) => {}
            }
        }
    }

    fn reconcile(self: &Arc<Self>) {
        let mut since = None;
        while !self.ending.is_cancelled() {
            let now = self.pulls.now();
            match catch_unwind(AssertUnwindSafe(|| self.pulls.reconcile(since))) {
                Ok(Ok(found)) => {
                    // What could not be asked is asked from the same time on again.
                    since = if found.problems.is_empty() { Some(now) } else { since };
                    self.say_once("reconcile", &found.problems.join("; "));
                }
                Ok(Err(failure)) => self.say_once("reconcile", &failure.message),
                Err(_) => self.say_once("reconcile", &failure::mistake().message),
            }
            let next = Instant::now() + RECONCILE_EVERY;
            while !self.ending.is_cancelled() && Instant::now() < next {
                self.wait(next.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Says what is the matter with something, unless that was said already.
    fn say_once(&self, about: &str, message: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            if message.is_empty() { said.remove(about) } else { said.insert(about.to_owned(), message.to_owned()) };
        if before.as_deref() != Some(message) && !message.is_empty() {
            (self.tell)(message);
        }
    }
}

/// Notes the end of a piece of work, however it ends.
struct Over<'a> {
    shared: &'a Shared,
    token: FencingToken,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.shared.jobs().remove(&self.token);
        self.shared.over.notify_all();
    }
}
