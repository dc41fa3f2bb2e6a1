//! The GitHub task of a server: connects the GitHub App and runs the worker of its pull requests.
//!
//! One thread waits until an app is registered, fetches its name, opens the webhook and processes the jobs of deliveries.
//! An app that is incomplete at the start keeps the server from starting.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_core::pull::{PullRef, Repo};
use tollgate_engine::board::Board;
use tollgate_engine::config::Github;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::app_registration::{self, RegisteredApp};
use tollgate_engine::forge::github::App;
use tollgate_engine::forge::host::{HostError, HostErrorKind, Secret};
use tollgate_engine::pulls::{Pulls, Runner, Site};

use super::{BackgroundTasks, WORK_ENDS};
use crate::mcp::Connect;
use crate::webhook::{Hook, WebhookState};

/// How often a registration is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// A pause that only the shutdown ends.
const UNTIL_SHUTDOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// The backoff of the request for the name of the app: first and longest pause.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// The registered app; `None` when there is none.
fn find(board: &Board) -> Result<Option<RegisteredApp>, Failure> {
    let home = board.home();
    app_registration::find(&board.settings().github, &home.data, &home.variables)
}

/// The connected app, once there is one; all users share its tokens and rate limits.
#[derive(Clone, Default)]
pub struct AppSlot(Arc<OnceLock<LoadedApp>>);

struct LoadedApp {
    /// Where GitHub is.
    url: String,
    app: App,
}

impl AppSlot {
    /// Loads the GitHub App of a board, and tells whether there is one. An unknown agent, or an app without its key or its
    /// secret, is reported now, not at the first feature or delivery.
    pub fn load(board: &Board) -> Result<(Self, bool), Failure> {
        if let Some(name) = &board.settings().pipeline.agent {
            board.settings().reviewer(name)?;
        }
        let own = find(board)?;
        let slot = Self::default();
        if let Some(own) = &own {
            // The GitHub task reports an invalid key.
            let _ = slot.take(own, &board.settings().github);
        }
        Ok((slot, own.is_some()))
    }

    /// Connects an app; an app that is connected already stays.
    fn take(&self, own: &RegisteredApp, github: &Github) -> Result<App, Failure> {
        if let Some(loaded) = self.0.get() {
            return Ok(loaded.app.clone());
        }
        let app = own.connect(github)?;
        Ok(self.0.get_or_init(|| LoadedApp { url: own.card.url.clone(), app }).app.clone())
    }

    /// The way to code hosts: in the name of the app where there is one, so that its marks are ours; with a token
    /// elsewhere.
    pub fn connect(&self, with_token: Connect) -> Connect {
        let slot = self.clone();
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
        HostErrorKind::NotFound => not_installed(&pull.repo),
        _ => error.into_failure(),
    }
}

fn not_installed(repo: &Repo) -> Failure {
    Failure::new(Kind::User, format!("the GitHub App of this server is not installed in `{repo}`"))
        .hint("An owner of the repository installs it on the app's page at GitHub.")
}

/// Runs the GitHub task until shutdown.
pub(super) fn run(tasks: &BackgroundTasks) {
    let Some(own) = wait_for_app(tasks) else { return };
    if let (Some(webhook), Some(url)) = (&tasks.webhook, &own.card.public_url) {
        webhook.public().set(url);
    }
    let app = match tasks.slot.take(&own, &tasks.board.settings().github) {
        Ok(app) => app,
        Err(failure) => return tasks.say(&format!("pull requests are not reviewed: {}", failure.message)),
    };
    let Some(mention) = learn_name(tasks, &own, &app) else { return };
    if let Some(webhook) = &tasks.webhook {
        let secrets = own.secrets.iter().map(Secret::expose);
        let Some(hook) = Hook::new(secrets, &mention) else { return };
        webhook.set(WebhookState::Ready(Arc::new(hook)));
    }
    let (id, url) = (own.card.id, &own.card.url);
    tasks.say(&format!("pull requests are reviewed as @{mention}, GitHub App {id} at {url}"));
    if tasks.does_work {
        work(tasks, &own, app);
    }
}

/// Runs the worker of pull requests until shutdown.
fn work(tasks: &BackgroundTasks, own: &RegisteredApp, app: App) {
    let (settings, home) = (tasks.board.settings(), tasks.board.home().clone());
    let site = Site {
        url: own.card.url.clone(),
        check_name: settings.github.check_name(&settings.bot),
        public_url: own.card.public_url.clone(),
        concurrency: settings.github.concurrency,
        limits: Site::limits(&settings.github),
    };
    let pulls = Pulls::open(tasks.board.database().clone(), home, Arc::new(app), site);
    match pulls.and_then(|pulls| Runner::start(&pulls, tasks.log())) {
        Ok(runner) => {
            while tasks.waits(UNTIL_SHUTDOWN) {}
            // Unfinished work is cleaned up at the next start.
            runner.stop(WORK_ENDS);
        }
        Err(failure) => tasks.say(&format!("pull requests are not processed: {}", failure.message)),
    }
}

fn wait_for_app(tasks: &BackgroundTasks) -> Option<RegisteredApp> {
    let mut told: Option<Failure> = None;
    loop {
        match find(&tasks.board) {
            Ok(Some(own)) => return Some(own),
            Ok(None) => {}
            // Logged once, however often the registration is read.
            Err(failure) if told.as_ref() == Some(&failure) => {}
            Err(failure) => {
                tasks.say(&format!("the GitHub App cannot be used: {}", failure.message));
                told = Some(failure);
            }
        }
        if !tasks.waits(LOOK_EVERY) {
            return None;
        }
    }
}

/// The name of the app, from its record or from GitHub.
fn learn_name(tasks: &BackgroundTasks, own: &RegisteredApp, app: &App) -> Option<String> {
    if let Some(slug) = &own.card.slug {
        return Some(slug.clone());
    }
    if let Some(webhook) = &tasks.webhook {
        webhook.set(WebhookState::Starting);
    }
    let (mut pause, longest) = ASK_AGAIN;
    loop {
        match app.me() {
            Ok(me) => return Some(me.mention),
            Err(error) => tasks.say(&format!("fetching the name of the GitHub App failed; retrying: {error}")),
        }
        if !tasks.waits(pause) {
            return None;
        }
        pause = (pause * 2).min(longest);
    }
}
