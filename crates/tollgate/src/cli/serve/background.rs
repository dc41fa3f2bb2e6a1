//! The background tasks of a server: workers, the GitHub task, retention, and the event log.
//!
//! A server has them besides its pages; `tollgate worker` is nothing else. At shutdown agents and reviews are stopped and
//! their leases released.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;
use tollgate_engine::board::runner::{Log, Runner};
use tollgate_engine::config::Layer;
use tollgate_engine::failure::Failure;
use tollgate_server::webhook::Webhook;

use super::github::{self, AppSlot, GithubTask};
use super::{Clock, follower, retention};
use crate::cli::demo::Demo;
use crate::cli::failure;

/// How long agents and reviews have to stop.
pub(super) const WORK_ENDS: Duration = Duration::from_secs(6);

/// The flags of workers: agent and concurrency.
#[derive(clap::Args)]
pub(crate) struct WorkerArgs {
    /// Who implements features, instead of `pipeline.agent` of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How many features agents work on at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    at_once: Option<u64>,
}

impl WorkerArgs {
    /// The flags as settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer { source: "the command line".to_owned(), ..Layer::default() };
        layer.values.pipeline.agent.clone_from(&self.agent);
        layer.values.pipeline.at_once = self.at_once;
        layer
    }
}

/// Loads the GitHub App into a slot, and tells whether there is one. An unknown agent, or an app without its key or its
/// secret, is reported now, not at the first feature or delivery.
pub(crate) fn load_app(board: &Board) -> Result<(AppSlot, bool), Failure> {
    if let Some(name) = &board.settings().pipeline.agent {
        board.settings().reviewer(name)?;
    }
    let own = github::find(board)?;
    let slot = AppSlot::default();
    if let Some(own) = &own {
        // The GitHub task reports an invalid key.
        let _ = slot.take(own, &board.settings().github);
    }
    Ok((slot, own.is_some()))
}

/// The background tasks.
pub(crate) struct BackgroundTasks {
    pub(crate) board: Board,
    pub(crate) clock: Clock,
    /// False when other processes do the work.
    pub(crate) does_work: bool,
    pub(crate) demo: Option<Demo>,
    pub(crate) slot: AppSlot,
    /// The webhook of the server, if there is one.
    pub(crate) webhook: Option<Arc<Webhook>>,
    /// Cancelled at shutdown.
    pub(crate) shutdown: CancellationToken,
    /// Cancelled when no more events follow.
    told: CancellationToken,
    runner: Mutex<Option<Runner>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl BackgroundTasks {
    pub(crate) fn new(board: Board, clock: Clock, slot: AppSlot) -> Self {
        Self {
            board,
            clock,
            does_work: true,
            demo: None,
            slot,
            webhook: None,
            shutdown: CancellationToken::new(),
            told: CancellationToken::new(),
            runner: Mutex::default(),
            threads: Mutex::default(),
        }
    }

    /// Starts all tasks.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        let from = self.board.database().last_seq()?;
        let thread = std::thread::Builder::new().name("event-log".to_owned());
        let follower = follower::Follower {
            board: self.board.clone(),
            demo: self.demo.clone(),
            clock: self.clock,
            until: self.told.clone(),
        };
        let follower = thread.spawn(move || follower.run(from)).map_err(|error| failure::no_thread(&error))?;
        self.threads().push(follower);
        if self.does_work {
            let clock = self.clock;
            let tell: Log = Arc::new(move |message: &str| clock.say(message));
            let started = Runner::start(&self.board, tell)?;
            *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        }
        if let Some(demo) = &self.demo {
            demo.begin(&self.board)?;
        }
        let github = GithubTask {
            board: self.board.clone(),
            webhook: self.webhook.clone(),
            clock: self.clock,
            does_work: self.does_work,
            slot: self.slot.clone(),
            until: self.shutdown.clone(),
        };
        self.threads().push(github.start()?);
        if self.does_work {
            self.threads().push(retention::start(&self.board, self.clock, &self.shutdown)?);
        }
        Ok(())
    }

    /// Stops the workers. Idempotent.
    pub(crate) fn stop(&self) {
        self.shutdown.cancel();
        let Some(runner) = self.runner.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let n_running = runner.n_running();
        if n_running > 0 {
            self.clock.say(&format!("ending; what is under way ({n_running}) goes on at the next start"));
        }
        if !runner.stop(WORK_ENDS) {
            self.clock.say("not everything ended in time; what is left is ended now, and tidied up at the next start");
            tollgate_engine::process::stop_all();
        }
    }

    /// Waits for all threads.
    pub(crate) fn wait(&self) {
        self.told.cancel();
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first Ctrl-C or SIGTERM requests shutdown, the second exits at once.
pub(crate) fn on_interrupt(ask: Sender<()>) {
    let is_ending = AtomicBool::new(false);
    // Without a handler the program would exit as well, and the next start would clean up.
    let _ = ctrlc::set_handler(move || {
        if is_ending.swap(true, Ordering::SeqCst) {
            tollgate_engine::process::stop_all();
            std::process::exit(130);
        }
        let _ = ask.send(());
    });
}
