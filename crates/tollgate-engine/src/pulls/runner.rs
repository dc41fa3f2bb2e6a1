//! The worker of pull requests: claims them fairly, and reconciles with the host what no delivery announced.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Pulls;
use super::work::{self, Watch};
use crate::failure::{self, Failure};
use crate::store::pulls::{Claim, NextClaim};
use crate::store::queue::{FencingToken, Queue};
use crate::store::{Database, Signal};
use crate::worker::{JobKind, Log, NewJob, Ran, Shared, Worker};

/// How often the open pull requests of the host are compared with those in the database.
const RECONCILE_EVERY: Duration = Duration::from_secs(5 * 60);

/// Does the jobs of pull requests until it is stopped.
pub type Runner = Worker<PullJobs>;

/// Pull requests as jobs.
pub struct PullJobs {
    pulls: Pulls,
}

/// A pull request that a worker has claimed.
#[derive(Debug)]
pub struct RunningPull {
    pull: i64,
    watch: Arc<Watch>,
}

impl Runner {
    /// Begins to claim pull requests, and to reconcile.
    pub fn start(pulls: &Pulls, log: Log) -> Result<Self, Failure> {
        let worker = Self::spawn(PullJobs { pulls: pulls.clone() }, log)?;
        // The shutdown does not wait for this thread: it may be waiting for the host, and nothing of it is lost.
        drop(worker.spawn_thread("-reconcile", reconcile)?);
        Ok(worker)
    }
}

impl JobKind for PullJobs {
    const NAME: &'static str = "pulls";
    const QUEUE: Queue = Queue::Pulls;
    const DEBOUNCE: Duration = Duration::from_millis(50);
    type State = ();
    type Job = Claim;
    type Running = RunningPull;

    fn database(&self) -> &Database {
        self.pulls.database()
    }

    fn now_ms(&self) -> u64 {
        self.pulls.now()
    }

    fn signal(&self) -> Arc<Signal> {
        self.database().job_signal()
    }

    fn poll(&self, worker: &Arc<Shared<Self>>, (): &mut ()) -> Result<Duration, Failure> {
        let n_most = self.pulls.site().concurrency.max(1);
        while !worker.is_stopping() {
            let request = self.next_claim(worker);
            if request.except.len() >= n_most || !worker.has_handles() {
                break;
            }
            let Some(claim) = self.database().claim_next(&request)? else { break };
            worker.start(new_job(worker, claim));
        }
        worker.until_next_due()
    }

    fn heartbeat(&self, token: FencingToken, until_ms: u64, RunningPull { watch, .. }: &RunningPull) {
        match self.database().heartbeat_pull(token, until_ms) {
            Ok(Ok(heartbeat)) => {
                watch.hold_until(until_ms);
                watch.look(heartbeat.wanted);
            }
            Ok(Err(_)) => watch.cancel.cancel(),
            // A lease that cannot be extended may still be valid.
            Err(_) => {}
        }
    }

    fn run(&self, worker: &Shared<Self>, claim: &Claim, running: &RunningPull) -> Ran<Self> {
        let next = || (!worker.is_stopping()).then(|| self.next_claim(worker));
        let (done, next) = work::run(&self.pulls, claim.clone(), &running.watch, &next);
        (done, next.map(|claim| new_job(worker, claim)))
    }

    fn recover(&self, claim: &Claim, _: &RunningPull) -> Failure {
        work::gave_up(&self.pulls, claim.token).err().unwrap_or_else(failure::internal_error)
    }
}

impl PullJobs {
    /// A request for the next job, except those that are running here.
    fn next_claim(&self, worker: &Shared<Self>) -> NextClaim {
        let except = worker.running().iter().map(|running| running.pull).collect();
        NextClaim { lease: worker.lease(), limits: self.pulls.site().limits, except }
    }
}

fn new_job(worker: &Shared<PullJobs>, claim: Claim) -> NewJob<PullJobs> {
    let watch = Watch::new(worker.cancel_token(), claim.until_ms);
    let name = format!("{}#{}", claim.pull.repo, claim.pull.number);
    NewJob { token: claim.token, name, running: Arc::new(RunningPull { pull: claim.pull.id, watch }), job: claim }
}

/// Finds what no delivery announced, every few minutes until shutdown.
fn reconcile(worker: &Arc<Shared<PullJobs>>) {
    let pulls = &worker.kind().pulls;
    let mut since = None;
    while !worker.is_stopping() {
        let now = pulls.now();
        match catch_unwind(AssertUnwindSafe(|| pulls.reconcile(since))) {
            Ok(Ok(found)) => {
                // After a problem the next round covers the same time again.
                since = if found.problems.is_empty() { Some(now) } else { since };
                worker.log_once("reconcile", &found.problems.join("; "));
            }
            Ok(Err(failure)) => worker.log_once("reconcile", &failure.message),
            Err(_) => worker.log_once("reconcile", &failure::internal_error().message),
        }
        worker.wait_for_shutdown(RECONCILE_EVERY);
    }
}
