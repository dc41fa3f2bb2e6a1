//! Who does the work of a server: the runner of the board, those who see to the app, and who tells what happens.
//!
//! A server has a crew beside its pages, a worker is nothing else. When the end is asked for, agents and reviews are
//! stopped, and what they had claimed is given back for the next one.

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
use tollgate_server::board::BoardDesk;

use super::github::{self, Seat, Tender};
use super::{Clock, follow, forget};
use crate::cli::demo::Demo;
use crate::cli::failure;

/// How long agents and reviews have to end.
pub(super) const WORK_ENDS: Duration = Duration::from_secs(6);

/// Who works and how many at once, as the command line says it.
#[derive(clap::Args)]
pub(crate) struct Hands {
    /// Who implements features, instead of `pipeline.agent` of the configuration
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// How many features agents work on at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    at_once: Option<u64>,
}

impl Hands {
    /// The same as settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer { source: "the command line".to_owned(), ..Layer::default() };
        layer.values.pipeline.agent.clone_from(&self.agent);
        layer.values.pipeline.at_once = self.at_once;
        layer
    }
}

/// The seat of the app, and whether there is one. What is missing is said now, not when the first feature fails or the first
/// delivery comes: an agent that nobody knows, an app without its key or its secret.
pub(crate) fn be_seated(board: &Board) -> Result<(Seat, bool), Failure> {
    if let Some(name) = &board.settings().pipeline.agent {
        board.settings().reviewer(name)?;
    }
    let own = github::find(board)?;
    let seat = Seat::default();
    if let Some(own) = &own {
        // A key that is none is told of by those who see to the app.
        let _ = seat.take(own, &board.settings().github);
    }
    Ok((seat, own.is_some()))
}

/// Everybody who works.
pub(crate) struct Crew {
    pub(crate) board: Board,
    pub(crate) clock: Clock,
    /// False when other processes do the work.
    pub(crate) does_work: bool,
    pub(crate) demo: Option<Demo>,
    pub(crate) seat: Seat,
    /// Where deliveries of GitHub are taken, if they are.
    pub(crate) desk: Option<Arc<BoardDesk>>,
    /// The end was asked for.
    pub(crate) shutdown: CancellationToken,
    /// Nothing more will happen.
    told: CancellationToken,
    runner: Mutex<Option<Runner>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Crew {
    pub(crate) fn new(board: Board, clock: Clock, seat: Seat) -> Self {
        Self {
            board,
            clock,
            does_work: true,
            demo: None,
            seat,
            desk: None,
            shutdown: CancellationToken::new(),
            told: CancellationToken::new(),
            runner: Mutex::default(),
            threads: Mutex::default(),
        }
    }

    /// Begins to work, and to tell of it.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        let from = self.board.database().last_seq()?;
        let thread = std::thread::Builder::new().name("tale".to_owned());
        let follower = follow::Follower {
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
        let tender = Tender {
            board: self.board.clone(),
            desk: self.desk.clone(),
            clock: self.clock,
            does_work: self.does_work,
            seat: self.seat.clone(),
            until: self.shutdown.clone(),
        };
        self.threads().push(tender.start()?);
        if self.does_work {
            self.threads().push(forget::start(&self.board, self.clock, &self.shutdown)?);
        }
        Ok(())
    }

    /// Ends the work, however far it is. To be asked twice does no harm.
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

    /// Waits until everybody is done.
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

/// The first Ctrl-C or SIGTERM asks for the end, the second ends at once.
pub(crate) fn end_when_asked(ask: Sender<()>) {
    let is_ending = AtomicBool::new(false);
    // Without a handler the program would end all the same, and the next start would tidy up.
    let _ = ctrlc::set_handler(move || {
        if is_ending.swap(true, Ordering::SeqCst) {
            tollgate_engine::process::stop_all();
            std::process::exit(130);
        }
        let _ = ask.send(());
    });
}
