//! The app that this server is at GitHub, as long as the server runs.
//!
//! One thread waits until there is an app (somebody may be making it just now), learns what it is called, has deliveries
//! taken, and works on what they ask. An app that was there from the start and lacks something is a reason not to start.

use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_core::pull::PullRef;
use tollgate_engine::board::Board;
use tollgate_engine::config::{Github, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::app_registration::{self, RegisteredApp};
use tollgate_engine::forge::github::App;
use tollgate_engine::forge::host::{HostError, HostErrorKind, Secret};
use tollgate_engine::pulls::{Log, Pulls, Runner, Site};
use tollgate_engine::store::Signal;
use tollgate_server::board::BoardDesk;
use tollgate_server::desk::deliveries::{Hook, Wire};
use tollgate_server::mcp::Connect;

use super::super::{doctor, failure, mcp};
use super::{Clock, WORK_ENDS};

/// How often it is looked whether there is an app by now.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How long to wait before GitHub is asked again who we are, at first and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The app that is set up; `None` when there is none.
pub(crate) fn find(board: &Board) -> Result<Option<RegisteredApp>, Failure> {
    let home = board.home();
    app_registration::find(&board.settings().github, &home.data, &home.variables)
}

/// Where the app is, once there is one: whoever acts in its name shares its tokens and its limits.
#[derive(Clone, Default)]
pub(crate) struct Seat(Arc<OnceLock<Seated>>);

struct Seated {
    /// Where GitHub is.
    url: String,
    app: App,
}

impl Seat {
    /// Takes the seat for an app; who sits there already stays.
    pub(crate) fn take(&self, own: &RegisteredApp, github: &Github) -> Result<App, Failure> {
        if let Some(seated) = self.0.get() {
            return Ok(seated.app.clone());
        }
        let app = doctor::github::connect(own, github)?;
        Ok(self.0.get_or_init(|| Seated { url: own.card.url.clone(), app }).app.clone())
    }

    /// The way to code hosts: in the name of the app where there is one, so that its marks are ours; with the token of the
    /// environment elsewhere.
    pub(super) fn connect(&self, settings: &Settings) -> Connect {
        let (seat, with_token) = (self.clone(), mcp::connect(settings));
        Arc::new(move |pull: &PullRef| match seat.0.get().filter(|seated| seated.url == pull.host) {
            Some(Seated { app, .. }) => {
                let installation = app.installation_of(&pull.repo).map_err(|error| not_there(error, pull))?;
                Ok(Some(app.host(installation, &pull.repo)))
            }
            None => with_token(pull),
        })
    }
}

/// Why the app cannot act in a repository.
fn not_there(error: HostError, pull: &PullRef) -> Failure {
    match error.kind {
        HostErrorKind::NotFound => failure::not_installed(&pull.repo),
        _ => error.into_failure(),
    }
}

/// Sees to the app until the end.
pub(super) struct Tender {
    pub(super) board: Board,
    /// Where deliveries are taken; a worker takes none.
    pub(super) desk: Option<Arc<BoardDesk>>,
    pub(super) clock: Clock,
    /// False when another process does the work.
    pub(super) does_work: bool,
    pub(super) seat: Seat,
    pub(super) until: CancellationToken,
}

impl Tender {
    /// Begins, on a thread of its own.
    pub(super) fn start(self) -> Result<JoinHandle<()>, Failure> {
        let thread = std::thread::Builder::new().name("github".to_owned());
        thread.spawn(move || self.run()).map_err(|error| failure::no_thread(&error))
    }

    fn run(&self) {
        let Some(own) = self.wait_for_app() else { return };
        let app = match self.seat.take(&own, &self.board.settings().github) {
            Ok(app) => app,
            Err(failure) => return self.clock.say(&format!("pull requests are not reviewed: {}", failure.message)),
        };
        let Some(mention) = self.learn_name(&own, &app) else { return };
        if let Some(desk) = &self.desk {
            let secrets = own.secrets.iter().map(Secret::expose);
            let Some(hook) = Hook::new(secrets, &mention) else { return };
            desk.set_wire(Wire::Open(Arc::new(hook)));
        }
        let (id, url) = (own.card.id, &own.card.url);
        self.clock.say(&format!("pull requests are reviewed as @{mention}, GitHub App {id} at {url}"));
        if self.does_work {
            self.work(&own, app);
        }
    }

    /// Does what deliveries ask, until the end.
    fn work(&self, own: &RegisteredApp, app: App) {
        let clock = self.clock;
        let tell: Log = Arc::new(move |message: &str| clock.say(message));
        let (settings, home) = (self.board.settings(), self.board.home().clone());
        let site = Site {
            url: own.card.url.clone(),
            check_name: settings.github.check_name(&settings.bot),
            public_url: own.card.public_url.clone(),
            concurrency: settings.github.concurrency,
            limits: Site::limits(&settings.github),
        };
        let pulls = Pulls::open(self.board.database().clone(), home, Arc::new(app), site);
        match pulls.and_then(|pulls| Runner::start(&pulls, tell)) {
            Ok(runner) => {
                while self.waits(LOOK_EVERY) {}
                // What is left is tidied up at the next start.
                runner.stop(WORK_ENDS);
            }
            Err(failure) => clock.say(&format!("nobody works on pull requests: {}", failure.message)),
        }
    }

    fn wait_for_app(&self) -> Option<RegisteredApp> {
        let mut told: Option<Failure> = None;
        loop {
            match find(&self.board) {
                Ok(Some(own)) => return Some(own),
                Ok(None) => {}
                // Said once, however often it is looked.
                Err(failure) if told.as_ref() == Some(&failure) => {}
                Err(failure) => {
                    self.clock.say(&format!("the GitHub App cannot be used: {}", failure.message));
                    told = Some(failure);
                }
            }
            if !self.waits(LOOK_EVERY) {
                return None;
            }
        }
    }

    /// What people call us, which GitHub knows when nobody here does.
    fn learn_name(&self, own: &RegisteredApp, app: &App) -> Option<String> {
        if let Some(slug) = &own.card.slug {
            return Some(slug.clone());
        }
        if let Some(desk) = &self.desk {
            desk.set_wire(Wire::NotYet);
        }
        let (mut pause, longest) = ASK_AGAIN;
        loop {
            match app.me() {
                Ok(me) => return Some(me.mention),
                Err(error) => self.clock.say(&format!("GitHub does not say who we are, and is asked again: {error}")),
            }
            if !self.waits(pause) {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Waits for a while; false when the end came first.
    fn waits(&self, pause: Duration) -> bool {
        Arc::new(Signal::default()).wait_unless_cancelled(0, pause, &self.until);
        !self.until.is_cancelled()
    }
}
