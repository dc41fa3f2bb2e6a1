//! A fake GitHub: real state, real git over HTTP, GitHub's validation and messages, and injected faults.
//!
//! The program talks to it as it talks to GitHub, with an app's key or a token. People open pull requests, push and
//! talk ([`people`]); webhooks are signed and sent ([`hooks`]); [`oracle`] says what a person would see. Faults are
//! planned by the name of a request, as `route` lists them. It knows only what the program uses.

mod app;
mod checks;
mod comments;
mod fault;
mod git;
mod graphql;
mod hooks;
mod http;
mod json;
mod limits;
mod lines;
mod prism;
mod pulls;
mod route;
mod rules;
mod state;
mod users;
mod visible;

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use fault::Fault;
pub(crate) use git::{Commit, File};
pub(crate) use hooks::{deliver, sign};
pub(crate) use prism::{Prism, contract};
use state::{Actor, App, Entry, Repository, State, Token};
pub(crate) use users::{Opening, PullRequest};
pub(crate) use visible::Seen;

/// The fake GitHub; it ends when it is dropped.
pub(crate) struct FakeGithub {
    state: Arc<Mutex<State>>,
    bell: Arc<Condvar>,
    stop: Arc<AtomicBool>,
    folder: tempfile::TempDir,
    port: u16,
}

impl FakeGithub {
    /// Starts it, empty, with an app that is installed everywhere.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (pem, public_key) = app::key().clone();
        let app = App { id: 4711, slug: "tollgate", installation: 99, public_key, codes: BTreeMap::new(), pem };
        let state = State {
            url: format!("http://127.0.0.1:{port}"),
            ahead_ms: 0,
            next_id: 1_000,
            repos: BTreeMap::new(),
            app,
            tokens: BTreeMap::new(),
            log: Vec::new(),
            faults: fault::Faults::default(),
            lag: fault::Lag::default(),
            written: BTreeMap::new(),
            points: BTreeMap::new(),
            n_limited: 0,
            deliveries: Vec::new(),
            hook: None,
            holds: false,
            echoes: true,
            lets_resolve: false,
        };
        let (state, bell) = (Arc::new(Mutex::new(state)), Arc::new(Condvar::new()));
        let (stop, folder) = (Arc::new(AtomicBool::new(false)), tempfile::tempdir().unwrap());
        let (shared, root) = (Arc::clone(&state), folder.path().to_owned());
        http::serve(listener, Arc::clone(&stop), move |request| route::answer(&shared, &root, request));
        hooks::start(&state, &bell, &stop);
        Self { state, bell, stop, folder, port }
    }

    /// Its address for people and git: `http://127.0.0.1:PORT`. The API is below `/api/v3`, and at the root as well.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The private key of its app.
    pub(crate) fn private_key(&self) -> &'static str {
        &app::key().0
    }

    pub(crate) fn app_id(&self) -> u64 {
        self.state().app.id
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn folder_of(&self, full: &str) -> PathBuf {
        self.folder.path().join(format!("{}.git", full.to_ascii_lowercase()))
    }

    fn add_repository(&self, full: &str, git: PathBuf, is_fork: bool) {
        let (owner, name) = full.split_once('/').unwrap();
        let mut state = self.state();
        let repository = Repository {
            id: state.new_id(),
            owner: owner.to_owned(),
            name: name.to_owned(),
            is_private: false,
            is_fork,
            git,
            people: BTreeMap::new(),
            pulls: BTreeMap::new(),
            checks: Vec::new(),
        };
        state.repos.insert(full.to_ascii_lowercase(), repository);
    }

    /// A personal token with all permissions of its owner.
    pub(crate) fn token_of(&self, login: &str) -> String {
        let may = ["contents", "pull_requests", "issues", "checks"].map(|what| (what.to_owned(), "write".to_owned()));
        self.add_token(Actor::person(login), may.into())
    }

    /// A token as a workflow has it: on a pull request from a fork it may only read.
    pub(crate) fn workflow_token(&self, may_write: bool) -> String {
        let how = if may_write { "write" } else { "read" };
        let may = ["pull_requests", "issues", "checks"].map(|what| (what.to_owned(), how.to_owned()));
        let mut may = BTreeMap::from(may);
        may.insert("contents".to_owned(), "read".to_owned());
        self.add_token(Actor { login: "github-actions[bot]".to_owned(), app: Some(15_368) }, may)
    }

    fn add_token(&self, actor: Actor, may: BTreeMap<String, String>) -> String {
        let mut state = self.state();
        let token = format!("ghp_{:036}", state.new_id());
        state.tokens.insert(token.clone(), Token { actor, repos: Vec::new(), may, expires_ms: u64::MAX });
        token
    }

    /// Sends webhooks there from now on, signed with a secret.
    pub(crate) fn hook_to(&self, url: &str, secret: &str) {
        self.state().hook = Some((url.to_owned(), secret.to_owned()));
    }

    /// Has webhooks taken by a function from now on, which says with which status each is answered.
    pub(crate) fn hook_by(&self, take: impl Fn(&str, &str, &[u8]) -> u16 + Send + Sync + 'static) {
        let url = hooks::listen(&self.stop, take);
        self.hook_to(&url, "secret");
    }

    /// Lets apps resolve threads from now on.
    pub(crate) fn let_apps_resolve(&self) {
        self.state().lets_resolve = true;
    }

    /// Moves its clock.
    pub(crate) fn step_clock(&self, by_ms: i64) {
        self.state().ahead_ms += by_ms;
    }

    /// Advances its clock.
    pub(crate) fn stepper(&self) -> impl Fn(u64) + Send + Sync + 'static {
        let state = Arc::clone(&self.state);
        move |by_ms| state.lock().unwrap().ahead_ms += i64::try_from(by_ms).unwrap()
    }

    /// Every token that was given out is good no longer.
    pub(crate) fn end_tokens(&self) {
        self.state().tokens.clear();
    }

    /// The next `n` requests of a name, after the first few, meet a fault.
    pub(crate) fn fault(&self, which: &str, after: u32, n: u32, fault: Fault) {
        self.state().faults.plan(which, after, n, fault);
    }

    /// Some requests of a thousand meet some fault.
    pub(crate) fn faults_at_random(&self, seed: u64, per_mille: u64, of: &[Fault]) {
        self.state().faults.at_random(seed, per_mille, of);
    }

    /// Ends fault injection; returns the number of faulty requests.
    pub(crate) fn end_faults(&self) -> usize {
        let mut state = self.state();
        state.faults.end();
        state.faults.n_met()
    }

    /// Makes lists stale: writes appear after a delay or after a number of list requests.
    pub(crate) fn lag(&self, ms: u64, n_lists: u32) {
        self.state().lag = fault::Lag { ms, n_lists };
    }

    /// Every request of a name until now; of all names that begin like it.
    pub(crate) fn requests(&self, which: &str) -> Vec<Entry> {
        self.state().log.iter().filter(|entry| entry.name.starts_with(which)).cloned().collect()
    }

    /// How often more was asked than may be.
    pub(crate) fn n_limited(&self) -> usize {
        self.state().n_limited
    }

    /// Deliveries wait from now on until they are sent by [`FakeGithub::send`].
    pub(crate) fn hold_deliveries(&self, holds: bool) {
        self.state().holds = holds;
    }

    /// The numbers of the deliveries that wait.
    pub(crate) fn held(&self) -> Vec<u64> {
        self.state().deliveries.iter().filter(|one| one.status == hooks::HELD).map(|one| one.id).collect()
    }

    /// The numbers of the deliveries that were taken.
    pub(crate) fn taken(&self) -> Vec<u64> {
        self.state().deliveries.iter().filter(|one| one.is_taken()).map(|one| one.id).collect()
    }

    /// Sends a delivery that waits, or one that was sent once more.
    pub(crate) fn send(&self, delivery: u64) {
        self.state().send_again(delivery);
        self.wait_for_the_post();
    }

    /// Loses a delivery: it counts as one that could not be handed over.
    pub(crate) fn lose(&self, delivery: u64) {
        let mut state = self.state();
        if let Some(found) = state.deliveries.iter_mut().find(|one| one.id == delivery) {
            found.status = 0;
        }
    }

    /// The event and last response status of each delivery.
    pub(crate) fn delivered(&self) -> Vec<(&'static str, u16)> {
        self.state().deliveries.iter().map(|one| (one.event, one.status)).collect()
    }

    /// A code with which the manifest flow ends in an app with this secret.
    pub(crate) fn manifest_code(&self, secret: &str) -> String {
        let mut state = self.state();
        let code = format!("code{}", state.new_id());
        state.app.codes.insert(code.clone(), secret.to_owned());
        code
    }

    /// Waits until nothing is on its way any more.
    pub(crate) fn wait_for_the_post(&self) {
        let mut state = self.state();
        self.bell.notify_all();
        while state.has_mail() {
            state = self.bell.wait_timeout(state, std::time::Duration::from_millis(20)).unwrap().0;
        }
    }
}

impl Drop for FakeGithub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}
