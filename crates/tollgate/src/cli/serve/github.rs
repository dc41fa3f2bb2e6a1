//! The GitHub task of a server: connects the GitHub App and runs the worker of its pull requests.
//!
//! One thread waits until an app is registered, fetches its name, opens the webhook and processes the jobs of deliveries.
//! An app that is incomplete at the start keeps the server from starting.

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
use tollgate_server::mcp::Connect;
use tollgate_server::webhook::{Hook, Webhook, WebhookState};

use super::super::{doctor, failure, mcp};
use super::{Clock, WORK_ENDS};

/// How often a registration is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// The backoff of the request for the name of the app: first and longest pause.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The registered app; `None` when there is none.
pub(crate) fn find(board: &Board) -> Result<Option<RegisteredApp>, Failure> {
    let home = board.home();
    app_registration::find(&board.settings().github, &home.data, &home.variables)
}

/// The connected app, once there is one; all users share its tokens and rate limits.
#[derive(Clone, Default)]
pub(crate) struct AppSlot(Arc<OnceLock<LoadedApp>>);

struct LoadedApp {
    /// Where GitHub is.
    url: String,
    app: App,
}

impl AppSlot {
    /// Connects an app; an app that is connected already stays.
    pub(crate) fn take(&self, own: &RegisteredApp, github: &Github) -> Result<App, Failure> {
        if let Some(loaded) = self.0.get() {
            return Ok(loaded.app.clone());
        }
        let app = doctor::github::connect(own, github)?;
        Ok(self.0.get_or_init(|| LoadedApp { url: own.card.url.clone(), app }).app.clone())
    }

    /// The way to code hosts: in the name of the app where there is one, so that its marks are ours; with the token of the
    /// environment elsewhere.
    pub(super) fn connect(&self, settings: &Settings) -> Connect {
        let (slot, with_token) = (self.clone(), mcp::connect(settings));
        Arc::new(move |pull: &PullRef| match slot.0.get().filter(|loaded| loaded.url == pull.host) {
            Some(LoadedApp { app, .. }) => {
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

/// The GitHub task.
pub(super) struct GithubTask {
    pub(super) board: Board,
    /// The webhook; a worker has none.
    pub(super) webhook: Option<Arc<Webhook>>,
    pub(super) clock: Clock,
    /// False when another process does the work.
    pub(super) does_work: bool,
    pub(super) slot: AppSlot,
    pub(super) until: CancellationToken,
}

impl GithubTask {
    /// Begins, on a thread of its own.
    pub(super) fn start(self) -> Result<JoinHandle<()>, Failure> {
        let thread = std::thread::Builder::new().name("github".to_owned());
        thread.spawn(move || self.run()).map_err(|error| failure::no_thread(&error))
    }

    fn run(&self) {
        let Some(own) = self.wait_for_app() else { return };
        let app = match self.slot.take(&own, &self.board.settings().github) {
            Ok(app) => app,
            Err(failure) => return self.clock.say(&format!("pull requests are not reviewed: {}", failure.message)),
        };
        let Some(mention) = self.learn_name(&own, &app) else { return };
        if let Some(webhook) = &self.webhook {
            let secrets = own.secrets.iter().map(Secret::expose);
            let Some(hook) = Hook::new(secrets, &mention) else { return };
            webhook.set(WebhookState::Ready(Arc::new(hook)));
        }
        let (id, url) = (own.card.id, &own.card.url);
        self.clock.say(&format!("pull requests are reviewed as @{mention}, GitHub App {id} at {url}"));
        if self.does_work {
            self.work(&own, app);
        }
    }

    /// Runs the worker of pull requests until shutdown.
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
                // Unfinished work is cleaned up at the next start.
                runner.stop(WORK_ENDS);
            }
            Err(failure) => clock.say(&format!("pull requests are not processed: {}", failure.message)),
        }
    }

    fn wait_for_app(&self) -> Option<RegisteredApp> {
        let mut told: Option<Failure> = None;
        loop {
            match find(&self.board) {
                Ok(Some(own)) => return Some(own),
                Ok(None) => {}
                // Logged once, however often the registration is read.
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

    /// The name of the app, from its record or from GitHub.
    fn learn_name(&self, own: &RegisteredApp, app: &App) -> Option<String> {
        if let Some(slug) = &own.card.slug {
            return Some(slug.clone());
        }
        if let Some(webhook) = &self.webhook {
            webhook.set(WebhookState::Starting);
        }
        let (mut pause, longest) = ASK_AGAIN;
        loop {
            match app.me() {
                Ok(me) => return Some(me.mention),
                Err(error) => self.clock.say(&format!("fetching the name of the GitHub App failed; retrying: {error}")),
            }
            if !self.waits(pause) {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Waits for a while; false at shutdown.
    fn waits(&self, pause: Duration) -> bool {
        Arc::new(Signal::default()).wait_unless_cancelled(0, pause, &self.until);
        !self.until.is_cancelled()
    }
}
