//! Supervision of the background tasks: workers, the GitHub task, retention, and the event log.
//!
//! A server has them besides its pages; `tollgate worker` is nothing else. At shutdown agents and reviews are stopped and
//! their leases released.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_core::board::FeatureId;
use tollgate_engine::board::Board;
use tollgate_engine::board::runner::{Log, Runner};
use tollgate_engine::failure::{self, Failure};
use tollgate_engine::store::Signal;

use crate::webhook::Webhook;

mod event_log;
mod follower;
mod github;
mod retention;

pub use github::AppSlot;

/// How long agents and reviews have to stop.
const WORK_ENDS: Duration = Duration::from_secs(6);

/// Writes a line of the log: when it happened, in milliseconds since the epoch, and the message. A line without a time
/// stands alone.
pub type WriteLog = Arc<dyn Fn(Option<u64>, &str) + Send + Sync>;

/// The words after a feature that awaits approval.
pub type Epilogue = Arc<dyn Fn(&FeatureId) -> String + Send + Sync>;

/// The background tasks of a server or worker.
pub struct BackgroundTasks {
    /// The board they work on.
    pub board: Board,
    /// False when other processes do the work.
    pub does_work: bool,
    /// For a demonstration: its events are logged with agent output and findings, and end with these words.
    pub story: Option<Epilogue>,
    /// The GitHub App.
    pub slot: AppSlot,
    /// The webhook of the server, if there is one.
    pub webhook: Option<Arc<Webhook>>,
    /// Cancelled at shutdown.
    pub shutdown: CancellationToken,
    log: WriteLog,
    /// Cancelled when no more events follow.
    last_event: CancellationToken,
    runner: Mutex<Option<Runner>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl BackgroundTasks {
    /// Tasks that have not begun.
    pub fn new(board: Board, slot: AppSlot, log: WriteLog) -> Self {
        Self {
            board,
            does_work: true,
            story: None,
            slot,
            webhook: None,
            shutdown: CancellationToken::new(),
            log,
            last_event: CancellationToken::new(),
            runner: Mutex::default(),
            threads: Mutex::default(),
        }
    }

    /// Starts all tasks.
    pub fn begin(self: &Arc<Self>) -> Result<(), Failure> {
        let from = self.board.database().last_seq()?;
        self.spawn("event-log", move |tasks| follower::run(tasks, from))?;
        if self.does_work {
            let started = Runner::start(&self.board, self.log())?;
            *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        }
        self.spawn("github", github::run)?;
        if self.does_work {
            self.spawn("retention", retention::run)?;
        }
        Ok(())
    }

    /// Stops the workers. Idempotent.
    pub fn stop(&self) {
        self.shutdown.cancel();
        let Some(runner) = self.runner.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let n_running = runner.n_running();
        if n_running > 0 {
            self.say(&format!("ending; what is under way ({n_running}) goes on at the next start"));
        }
        if !runner.stop(WORK_ENDS) {
            self.say("not everything ended in time; what is left is ended now, and tidied up at the next start");
            tollgate_engine::process::stop_all();
        }
    }

    /// Waits for all threads.
    pub fn wait(&self) {
        self.last_event.cancel();
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn spawn(self: &Arc<Self>, name: &str, task: impl FnOnce(&Self) + Send + 'static) -> Result<(), Failure> {
        let tasks = Arc::clone(self);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || task(&tasks)).map_err(|error| failure::no_thread(&error))?;
        self.threads().push(thread);
        Ok(())
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log of a worker.
    fn log(&self) -> Log {
        let (log, clock) = (Arc::clone(&self.log), self.board.home().clock);
        Arc::new(move |message: &str| log(Some(clock()), message))
    }

    fn say(&self, message: &str) {
        (self.log)(Some(self.board.now()), message);
    }

    /// Waits for a while; false at shutdown.
    fn waits(&self, pause: Duration) -> bool {
        Arc::new(Signal::default()).wait_unless_cancelled(0, pause, &self.shutdown);
        !self.shutdown.is_cancelled()
    }
}
