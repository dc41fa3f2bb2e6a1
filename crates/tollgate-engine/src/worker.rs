//! The worker loop: claims due jobs and runs each on a thread of its own, until shutdown.
//!
//! ```text
//! poll        claims due jobs while there is room ─► a thread for each job
//! heartbeat   extends the leases; cancels jobs whose lease is lost or that are superseded
//! ```
//!
//! The loop is the same for both kinds of job ([`JobKind`]): work on features of the board and pull requests. It sleeps
//! until something is enqueued, a job ends, or the time comes that the last poll named. A panic ends one job or one poll,
//! never the loop. A problem is logged once, until it changes. Shutdown cancels all jobs and waits for them up to a
//! deadline; unfinished jobs are claimed again once their lease has expired.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, no_thread};
use crate::process::{self, handles, lease, owner};
use crate::store::queue::{FencingToken, LeaseRequest, Queue};
use crate::store::{Database, Signal};

/// How often leases are extended.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How soon a poll is repeated that failed, or that left a due job for a reason that may pass without a notification.
const RETRY: Duration = Duration::from_millis(500);
/// The longest wait for a notification. None is lost: a job that another process enqueued without one is noticed by the thread
/// that listens to the database.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// Takes the messages of a worker for its log.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A kind of job that a worker does.
pub trait JobKind: Send + Sync + Sized + 'static {
    /// The name of its threads.
    const NAME: &'static str;
    /// Where its jobs are queued.
    const QUEUE: Queue;
    /// The shortest time between two polls: many notifications are a reason for one.
    const DEBOUNCE: Duration;
    /// What the polling thread keeps between polls.
    type State: Default;
    /// A claimed job.
    type Job: Send;
    /// A running job, as the polling and heartbeat threads see it.
    type Running: Send + Sync;

    /// The database of the queue.
    fn database(&self) -> &Database;
    /// The time by which leases are made, in milliseconds since 1970.
    fn now_ms(&self) -> u64;
    /// Is notified when a poll may find something new.
    fn signal(&self) -> Arc<Signal>;
    /// Claims and starts due jobs; how long to wait for a notification before the next poll.
    fn poll(&self, worker: &Arc<Shared<Self>>, state: &mut Self::State) -> Result<Duration, Failure>;
    /// Extends a lease, and cancels a job whose lease is lost or that is superseded.
    fn heartbeat(&self, token: FencingToken, until_ms: u64, running: &Self::Running);
    /// Does a job, and releases its lease. The next job may be claimed in the same transaction; it runs on the same thread.
    fn run(&self, worker: &Shared<Self>, job: &Self::Job, running: &Self::Running) -> Ran<Self>;
    /// Retries or gives up a job that panicked; what to log about it.
    fn recover(&self, job: &Self::Job, running: &Self::Running) -> Failure;
    /// Forgets a job that ended, however it ended.
    fn ended(&self, _running: &Self::Running) {}
}

/// The result of a job, and the next one.
pub(crate) type Ran<K> = (Result<(), Failure>, Option<NewJob<K>>);

/// A claimed job that is about to run.
pub struct NewJob<K: JobKind> {
    /// The fencing token of its lease.
    pub(crate) token: FencingToken,
    /// Its name in the log.
    pub(crate) name: String,
    /// The job.
    pub(crate) job: K::Job,
    /// The same, as the polling and heartbeat threads see it.
    pub(crate) running: Arc<K::Running>,
}

/// A worker with its threads.
pub struct Worker<K: JobKind> {
    shared: Arc<Shared<K>>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads of a worker share.
pub struct Shared<K: JobKind> {
    kind: K,
    owner: String,
    /// Cancelled at shutdown; every job has a child of it.
    stopping: CancellationToken,
    jobs: Mutex<HashMap<FencingToken, Arc<K::Running>>>,
    /// A job began or ended, or the shutdown has begun.
    changed: Condvar,
    /// Wakes the polling thread.
    signal: Arc<Signal>,
    log: Log,
    /// The last problem of each thing.
    logged: Mutex<HashMap<String, String>>,
}

impl<K: JobKind> Worker<K> {
    /// Releases the leases of workers that died on this machine, and begins.
    pub(crate) fn spawn(kind: K, log: Log) -> Result<Self, Failure> {
        let (signal, owner) = (kind.signal(), owner::name());
        let database = kind.database();
        for other in database.lease_owners(K::QUEUE)? {
            if other != owner && owner::has_ended(&other) {
                database.release_owner(K::QUEUE, &other)?;
            }
        }
        let shared = Arc::new(Shared {
            kind,
            owner,
            stopping: CancellationToken::new(),
            jobs: Mutex::default(),
            changed: Condvar::new(),
            signal,
            log,
            logged: Mutex::default(),
        });
        let mut worker = Self { shared, threads: Vec::new() };
        worker.threads.push(worker.spawn_thread("", Shared::poll_until_shutdown)?);
        worker.threads.push(worker.spawn_thread("-leases", Shared::send_heartbeats)?);
        Ok(worker)
    }

    /// Starts another thread of the worker, which may go on after the shutdown.
    pub(crate) fn spawn_thread(&self, suffix: &str, run: fn(&Arc<Shared<K>>)) -> Result<JoinHandle<()>, Failure> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(format!("{}{suffix}", K::NAME));
        thread.spawn(move || run(&shared)).map_err(|error| no_thread(&error))
    }

    /// How many jobs are running.
    #[must_use]
    pub fn n_running(&self) -> usize {
        self.shared.jobs().len()
    }

    /// Cancels all jobs and waits for their end; they are claimed again by the next worker.
    ///
    /// False when a job did not end in time.
    pub fn stop(self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        self.shared.stopping.cancel();
        self.shared.signal.notify();
        let mut jobs = self.shared.jobs();
        self.shared.changed.notify_all();
        while !jobs.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            jobs = self.shared.changed.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(jobs);
        for thread in self.threads {
            let _ = thread.join();
        }
        let _ = self.shared.kind.database().release_owner(K::QUEUE, &self.shared.owner);
        true
    }
}

impl<K: JobKind> Shared<K> {
    /// The kind of job.
    pub(crate) fn kind(&self) -> &K {
        &self.kind
    }

    /// Whether the shutdown has begun.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Cancels a new job, by itself or at the shutdown.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        self.stopping.child_token()
    }

    /// A lease that begins now.
    pub(crate) fn lease(&self) -> LeaseRequest {
        LeaseRequest { owner: self.owner.clone(), now_ms: self.kind.now_ms(), lease_ms: lease_ms() }
    }

    /// The running jobs, including cancelled ones that have not ended yet.
    pub(crate) fn running(&self) -> Vec<Arc<K::Running>> {
        self.jobs().values().map(Arc::clone).collect()
    }

    /// Whether one more job finds the file handles that it needs; without them it would fail. Logged once.
    pub(crate) fn has_handles(&self) -> bool {
        let n_jobs = u64::try_from(self.jobs().len()).unwrap_or(u64::MAX).saturating_add(1);
        let has_handles = handles::n_free().is_none_or(|n_free| n_free >= handles::FOR_WORK.saturating_mul(n_jobs));
        let problem = if has_handles { "" } else { "too few file handles; queued jobs wait until some are free" };
        self.log_once("handles", problem);
        has_handles
    }

    /// Runs a claimed job on a thread of its own, and the jobs that are claimed with its end.
    pub(crate) fn start(self: &Arc<Self>, new: NewJob<K>)
    where
        K::Job: 'static,
    {
        let (token, shared) = (new.token, Arc::clone(self));
        self.register(&new);
        let work = move || {
            let mut next = Some(new);
            while let Some(job) = next.take() {
                next = shared.run(&job);
            }
        };
        let thread = std::thread::Builder::new().name(format!("{}-work", K::NAME));
        if let Err(error) = thread.spawn(work) {
            // The lease expires, and the job is claimed again.
            self.jobs().remove(&token);
            self.log_once("thread", &no_thread(&error).message);
        }
    }

    fn register(&self, new: &NewJob<K>) {
        self.jobs().insert(new.token, Arc::clone(&new.running));
        self.changed.notify_all();
    }

    fn run(&self, NewJob { token, name, job, running }: &NewJob<K>) -> Option<NewJob<K>> {
        let _ended = Ended { shared: self, token: *token, running };
        let ran = catch_unwind(AssertUnwindSafe(|| self.kind.run(self, job, running)));
        let (done, next) = ran.unwrap_or_else(|_| (Err(self.kind.recover(job, running)), None));
        let problem = done.err().map(|failure| format!("{name}: {}", failure.message)).unwrap_or_default();
        self.log_once(name, &problem);
        // Registered before this one ends, so that the polling thread claims no other in its place.
        next.inspect(|next| self.register(next))
    }

    /// Waits for a notification or the shutdown, up to a time.
    pub(crate) fn wait_for_shutdown(&self, within: Duration) {
        let jobs = self.jobs();
        let is_running = |_: &mut _| !self.is_stopping();
        drop(self.changed.wait_timeout_while(jobs, within, is_running));
    }

    /// Logs a message.
    pub(crate) fn log(&self, message: &str) {
        (self.log)(message);
    }

    /// Logs a problem with something, unless it was the last one logged about it; empty when there is none any more.
    pub(crate) fn log_once(&self, about: &str, problem: &str) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let last =
            if problem.is_empty() { logged.remove(about) } else { logged.insert(about.to_owned(), problem.to_owned()) };
        if !problem.is_empty() && last.as_deref() != Some(problem) {
            self.log(problem);
        }
    }

    /// How long to wait for a notification after a poll: until the next job is due.
    pub(crate) fn until_next_due(&self) -> Result<Duration, Failure> {
        let now_ms = self.kind.now_ms();
        Ok(wait_until(self.kind.database().next_due_ms(K::QUEUE, now_ms)?, now_ms))
    }

    /// Wakes the polling thread.
    pub(crate) fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<FencingToken, Arc<K::Running>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_until_shutdown(self: &Arc<Self>) {
        let mut state = K::State::default();
        while !self.is_stopping() {
            // Before the poll: a job that is enqueued meanwhile is a reason for another one.
            let (seen, begun) = (self.signal.count(), Instant::now());
            let polled = catch_unwind(AssertUnwindSafe(|| self.kind.poll(self, &mut state)));
            let (wait, problem) = match polled {
                Ok(Ok(wait)) => (wait, String::new()),
                Ok(Err(failure)) => (RETRY, failure.message),
                Err(_) => (RETRY, "polling failed; retrying".to_owned()),
            };
            self.log_once("", &problem);
            if problem.is_empty() {
                self.signal.wait(seen, wait);
                self.wait_for_shutdown(K::DEBOUNCE.saturating_sub(begun.elapsed()));
            } else {
                self.wait_for_shutdown(wait);
            }
        }
    }

    fn send_heartbeats(self: &Arc<Self>) {
        let mut next = Instant::now() + HEARTBEAT;
        loop {
            let mut jobs = self.jobs();
            if jobs.is_empty() {
                if self.is_stopping() {
                    return;
                }
                jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                next = Instant::now() + HEARTBEAT;
            } else {
                let left = next.saturating_duration_since(Instant::now());
                jobs = self.changed.wait_timeout(jobs, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            let is_due = Instant::now() >= next;
            let leased: Vec<_> = jobs.iter().map(|(token, running)| (*token, Arc::clone(running))).collect();
            drop(jobs);
            // Without heartbeats other workers would claim the jobs that run here.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                process::panic_point("beat");
                if is_due {
                    next = Instant::now() + HEARTBEAT;
                    let until_ms = self.kind.now_ms().saturating_add(lease_ms());
                    leased.iter().for_each(|(token, running)| self.kind.heartbeat(*token, until_ms, running));
                }
            }));
        }
    }
}

/// How long to wait for a notification when the next job is due at a time.
fn wait_until(due_ms: Option<u64>, now_ms: u64) -> Duration {
    match due_ms {
        Some(due_ms) if due_ms <= now_ms => RETRY,
        Some(due_ms) => Duration::from_millis(due_ms - now_ms).min(IDLE),
        None => IDLE,
    }
}

fn lease_ms() -> u64 {
    u64::try_from(lease().as_millis()).unwrap_or(u64::MAX)
}

/// Notes the end of a job, however it ends.
struct Ended<'a, K: JobKind> {
    shared: &'a Shared<K>,
    token: FencingToken,
    running: &'a K::Running,
}

impl<K: JobKind> Drop for Ended<'_, K> {
    fn drop(&mut self) {
        self.shared.kind.ended(self.running);
        self.shared.jobs().remove(&self.token);
        self.shared.changed.notify_all();
        self.shared.signal.notify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_ends_when_the_next_job_is_due() {
        assert_eq!(wait_until(Some(5_300), 5_000), Duration::from_millis(300));
        assert_eq!(wait_until(Some(900_000), 5_000), IDLE);
        assert_eq!(wait_until(None, 5_000), IDLE);
        assert_eq!(wait_until(Some(5_000), 5_000), RETRY, "a due job that could not be claimed");
    }
}
