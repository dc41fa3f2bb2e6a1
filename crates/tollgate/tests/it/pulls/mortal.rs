//! A worker that dies on the way: between two words to a code host, as if it had been killed there.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tollgate_core::pull::Repo;
use tollgate_core::pull::post::Inline;
use tollgate_core::sha::Sha;
use tollgate_engine::forge::github::App;
use tollgate_engine::forge::host::{
    Asked, Check, CheckUpdate, Comment, FailedDelivery, Hidden, Host, Me, NewCheck, NewReview, Permission,
    PostedReview, Pull, PullCommit, Thread,
};
use tollgate_engine::pulls::Hosts;

/// When a worker dies: after so many words, and whether before or after the last was spoken. It lives below 0.
#[derive(Clone, Default)]
pub(crate) struct Death(Arc<AtomicI64>);

/// What a dead worker leaves instead of a result.
pub(crate) struct Dead;

impl Death {
    pub(crate) fn comes_after(&self, n_moments: i64) {
        self.0.store(n_moments + 1, Ordering::SeqCst);
    }

    pub(crate) fn is_called_off(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    fn moment(&self) {
        if self.0.load(Ordering::SeqCst) > 0 && self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::panic::resume_unwind(Box::new(Dead));
        }
    }
}

/// Hosts of an app, in the hands of a worker that may die.
pub(crate) struct MortalHosts {
    pub(crate) app: App,
    pub(crate) death: Death,
}

impl Hosts for MortalHosts {
    fn host(&self, installation: Option<u64>, repo: &Repo) -> Asked<Arc<dyn Host>> {
        let host = Hosts::host(&self.app, installation, repo)?;
        Ok(Arc::new(Mortal { host, death: self.death.clone() }))
    }

    fn me(&self) -> Asked<Me> {
        self.app.me()
    }

    fn failed_deliveries(&self, since_ms: u64) -> Asked<Vec<FailedDelivery>> {
        self.app.failed_deliveries(since_ms)
    }

    fn redeliver(&self, id: u64) -> Asked<()> {
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
            self.death.moment();
            let answer = self.host.$name($($argument),*);
            self.death.moment();
            answer
        })*
    };
}

impl Host for Mortal {
    mortal! {
        me() -> Asked<Me>;
        pull(repo: &Repo, number: u64) -> Asked<Pull>;
        open_pulls(repo: &Repo, at_most: usize) -> Asked<Vec<Pull>>;
        commits(repo: &Repo, number: u64) -> Asked<Vec<PullCommit>>;
        permission(repo: &Repo, login: &str) -> Asked<Permission>;
        comments(repo: &Repo, number: u64) -> Asked<Vec<Comment>>;
        reviews(repo: &Repo, number: u64) -> Asked<Vec<PostedReview>>;
        line_comments(repo: &Repo, number: u64) -> Asked<Vec<Comment>>;
        threads(repo: &Repo, number: u64) -> Asked<Vec<Thread>>;
        checks(repo: &Repo, head: &Sha, name: &str) -> Asked<Vec<Check>>;
        comment(repo: &Repo, number: u64, body: &str) -> Asked<u64>;
        edit_comment(repo: &Repo, comment: u64, body: &str) -> Asked<()>;
        delete_comment(repo: &Repo, comment: u64) -> Asked<()>;
        review(repo: &Repo, number: u64, review: &NewReview<'_>) -> Asked<u64>;
        comment_at(repo: &Repo, number: u64, head: &Sha, inline: &Inline) -> Asked<u64>;
        delete_line_comment(repo: &Repo, comment: u64) -> Asked<()>;
        reply(repo: &Repo, number: u64, root: u64, body: &str) -> Asked<u64>;
        resolve(repo: &Repo, thread: &str) -> Asked<()>;
        begin_check(repo: &Repo, check: &NewCheck<'_>) -> Asked<u64>;
        update_check(repo: &Repo, check: u64, update: &CheckUpdate<'_>) -> Asked<()>;
        clone_url(repo: &Repo) -> String;
        git_authorization(repo: &Repo) -> Asked<Option<Hidden>>;
        failed_deliveries(since_ms: u64) -> Asked<Vec<FailedDelivery>>;
        redeliver(id: u64) -> Asked<()>;
    }
}
