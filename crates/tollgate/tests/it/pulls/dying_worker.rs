//! A worker that dies between two requests to the forge, as if killed there.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use tollgate_core::pull::Repo;
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::sha::Sha;
use tollgate_engine::forge::github::App;
use tollgate_engine::forge::host::{
    BotIdentity, Check, CheckUpdate, Comment, FailedDelivery, FenceCheck, Host, HostResult, NewCheck, NewReview,
    Permission, PostedReview, Pull, PullCommit, Secret, Thread,
};
use tollgate_engine::pulls::Hosts;

/// The fate of a worker: it dies after a number of requests, before or after the last is sent; 0 is never.
#[derive(Clone, Default)]
pub(crate) struct Death(Arc<Fate>);

#[derive(Default)]
struct Fate {
    left: AtomicI64,
    /// Counts only requests of this kind, if given.
    only: Mutex<Option<&'static str>>,
    /// Pauses instead of dying: sends a message and waits until it is resumed.
    sleeps: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

/// What a dead worker leaves instead of a result.
pub(crate) struct Dead;

impl Death {
    pub(crate) fn comes_after(&self, n_moments: i64) {
        self.0.left.store(n_moments + 1, Ordering::SeqCst);
    }

    /// Pauses, after a message, until the returned guard is dropped. Counts all moments, or those
    /// of one kind.
    pub(crate) fn is_a_sleep_after(&self, n_moments: i64, only: Option<&'static str>) -> (Receiver<()>, Sender<()>) {
        let ((tell, told), (wake, woken)) = (mpsc::channel(), mpsc::channel());
        *self.0.sleeps.lock().unwrap() = Some((tell, woken));
        *self.0.only.lock().unwrap() = only;
        self.comes_after(n_moments);
        (told, wake)
    }

    pub(crate) fn is_called_off(&self) {
        self.0.left.store(0, Ordering::SeqCst);
        self.0.sleeps.lock().unwrap().take();
        self.0.only.lock().unwrap().take();
    }

    fn moment(&self, word: &str) {
        if self.0.only.lock().unwrap().is_some_and(|only| only != word) {
            return;
        }
        if self.0.left.load(Ordering::SeqCst) > 0 && self.0.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let sleep = self.0.sleeps.lock().unwrap().take();
            let Some((tell, woken)) = sleep else { std::panic::resume_unwind(Box::new(Dead)) };
            tell.send(()).unwrap();
            // Dropping the sender resumes it.
            let _ = woken.recv();
        }
    }
}

/// Hosts of an app, in the hands of a worker that may die.
pub(crate) struct MortalHosts {
    pub(crate) app: App,
    pub(crate) death: Death,
}

impl Hosts for MortalHosts {
    fn host(&self, installation: Option<u64>, repo: &Repo, is_ours: FenceCheck) -> HostResult<Arc<dyn Host>> {
        let host = Hosts::host(&self.app, installation, repo, is_ours)?;
        Ok(Arc::new(Mortal { host, death: self.death.clone() }))
    }

    fn me(&self) -> HostResult<BotIdentity> {
        self.app.me()
    }

    fn failed_deliveries(&self, since_ms: u64) -> HostResult<Vec<FailedDelivery>> {
        self.app.failed_deliveries(since_ms)
    }

    fn redeliver(&self, id: u64) -> HostResult<()> {
        self.app.redeliver(id)
    }
}

struct Mortal {
    host: Arc<dyn Host>,
    death: Death,
}

macro_rules! mortal {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $kind),*) -> $answer {
            self.death.moment(stringify!($name));
            let answer = self.host.$name($($argument),*);
            self.death.moment(stringify!($name));
            answer
        })*
    };
}

impl Host for Mortal {
    mortal! {
        me() -> HostResult<BotIdentity>;
        pull(repo: &Repo, number: u64) -> HostResult<Pull>;
        open_pulls(repo: &Repo, at_most: usize) -> HostResult<Vec<Pull>>;
        commits(repo: &Repo, number: u64) -> HostResult<Vec<PullCommit>>;
        permission(repo: &Repo, login: &str) -> HostResult<Permission>;
        comments(repo: &Repo, number: u64) -> HostResult<Vec<Comment>>;
        reviews(repo: &Repo, number: u64) -> HostResult<Vec<PostedReview>>;
        line_comments(repo: &Repo, number: u64) -> HostResult<Vec<Comment>>;
        threads(repo: &Repo, number: u64) -> HostResult<Vec<Thread>>;
        checks(repo: &Repo, head: &Sha, name: &str) -> HostResult<Vec<Check>>;
        comment(repo: &Repo, number: u64, body: &str) -> HostResult<u64>;
        edit_comment(repo: &Repo, comment: u64, body: &str) -> HostResult<()>;
        delete_comment(repo: &Repo, comment: u64) -> HostResult<()>;
        review(repo: &Repo, number: u64, review: &NewReview<'_>) -> HostResult<u64>;
        comment_at(repo: &Repo, number: u64, head: &Sha, inline: &InlineComment) -> HostResult<u64>;
        delete_line_comment(repo: &Repo, comment: u64) -> HostResult<()>;
        reply(repo: &Repo, number: u64, root: u64, body: &str) -> HostResult<u64>;
        resolve(repo: &Repo, thread: &str) -> HostResult<()>;
        unresolve(repo: &Repo, thread: &str) -> HostResult<()>;
        begin_check(repo: &Repo, check: &NewCheck<'_>) -> HostResult<u64>;
        update_check(repo: &Repo, check: u64, update: &CheckUpdate<'_>) -> HostResult<()>;
        clone_url(repo: &Repo) -> String;
        git_authorization(repo: &Repo) -> HostResult<Option<Secret>>;
    }
}
