//! A fake code host in memory: its contents can be inspected, and it can fail.
//!
//! It keeps the rules that matter here: a review with one bad comment is refused whole, annotations are added to those a
//! check has, and a request that succeeded may be answered with an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::Conclusion;
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::sha::Sha;
use tollgate_engine::forge::host::{
    Author, BotIdentity, Check, CheckUpdate, Comment, FailedDelivery, FenceCheck, Host, HostError, HostErrorKind,
    HostResult, NewCheck, NewReview, Permission, PostedReview, Pull, PullCommit, ReviewEvent, Secret, Thread,
};
use tollgate_engine::pulls::Hosts;

/// The fate of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not done, and this is why.
    Refuse(HostErrorKind),
    /// It is done, and the answer does not arrive.
    Unclear,
    /// The caller is killed before it.
    KilledBefore,
    /// The caller is killed after it.
    KilledAfter,
}

/// What a check looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) head: Sha,
    pub(crate) check: Check,
    pub(crate) title: String,
    pub(crate) annotations: Vec<String>,
}

/// All that is there.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) line_comments: Vec<(InlineComment, Comment)>,
    pub(crate) reviews: Vec<(ReviewEvent, PostedReview)>,
    pub(crate) checks: Vec<Shown>,
    pub(crate) resolved: BTreeSet<u64>,
    pub(crate) writers: BTreeSet<String>,
    /// Files at which no comment is taken at lines.
    pub(crate) bad_lines: BTreeSet<String>,
    /// Files at which none is taken at all.
    pub(crate) bad_files: BTreeSet<String>,
    pub(crate) failed: Vec<FailedDelivery>,
    pub(crate) redelivered: Vec<u64>,
    /// Errors by the number of the call, from 0.
    pub(crate) faults: BTreeMap<usize, Fault>,
    /// The calls.
    pub(crate) calls: Vec<&'static str>,
    last_id: u64,
}

/// The host.
pub(crate) struct Hub {
    pub(crate) url: String,
    state: Mutex<State>,
}

impl Hub {
    pub(crate) fn new(url: String) -> Arc<Self> {
        let state = State { writers: BTreeSet::from(["ann".to_owned()]), ..State::default() };
        Arc::new(Self { url, state: Mutex::new(state) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A call that only looks.
    fn read<T>(&self, name: &'static str, look: impl FnOnce(&State) -> HostResult<T>) -> HostResult<T> {
        self.call(name, |state| look(state))
    }

    fn call<T>(&self, name: &'static str, act: impl FnOnce(&mut State) -> HostResult<T>) -> HostResult<T> {
        let mut state = self.state();
        let number = state.calls.len();
        state.calls.push(name);
        match state.faults.get(&number).cloned() {
            None => act(&mut state),
            Some(Fault::Refuse(trouble)) => Err(HostError::new(trouble, format!("{name} was refused"))),
            Some(Fault::Unclear) => {
                act(&mut state)?;
                Err(HostError::new(HostErrorKind::Unclear, format!("{name} was not answered")))
            }
            Some(Fault::KilledBefore) => panic!("killed before {name}"),
            Some(Fault::KilledAfter) => {
                let _ = act(&mut state);
                panic!("killed after {name}");
            }
        }
    }
}

impl State {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn check(&mut self, id: u64) -> HostResult<&mut Shown> {
        self.checks.iter_mut().find(|shown| shown.check.id == id).ok_or_else(not_found)
    }

    /// Another user writes a comment.
    pub(crate) fn say(&mut self, login: &str, body: &str) -> u64 {
        let id = self.id();
        let author = Author { login: login.to_owned(), app: None, is_bot: false };
        self.comments.push(Comment { id, author, body: body.to_owned(), answers: None });
        id
    }
}

pub(crate) fn me() -> BotIdentity {
    BotIdentity { login: "gate[bot]".to_owned(), mention: "gate".to_owned(), app: Some(7) }
}

fn ours() -> Author {
    Author { login: "gate[bot]".to_owned(), app: Some(7), is_bot: true }
}

fn not_found() -> HostError {
    HostError::new(HostErrorKind::NotFound, "it is not there")
}

fn invalid(why: &str) -> HostError {
    HostError::new(HostErrorKind::Invalid(vec![why.to_owned()]), why)
}

/// The host, for many.
pub(crate) struct Shared(pub(crate) Arc<Hub>);

impl Hosts for Shared {
    fn host(&self, _: Option<u64>, _: &Repo, _: FenceCheck) -> HostResult<Arc<dyn Host>> {
        Ok(Arc::clone(&self.0) as Arc<dyn Host>)
    }

    fn me(&self) -> HostResult<BotIdentity> {
        Ok(me())
    }

    fn failed_deliveries(&self, _: u64) -> HostResult<Vec<FailedDelivery>> {
        self.0.read("failed_deliveries", |state| Ok(state.failed.clone()))
    }

    fn redeliver(&self, id: u64) -> HostResult<()> {
        self.0.call("redeliver", |state| {
            state.redelivered.push(id);
            Ok(())
        })
    }
}

impl Host for Hub {
    fn me(&self) -> HostResult<BotIdentity> {
        Ok(me())
    }

    fn pull(&self, _: &Repo, number: u64) -> HostResult<Pull> {
        self.read("pull", |state| state.pulls.get(&number).cloned().ok_or_else(not_found))
    }

    fn open_pulls(&self, _: &Repo, at_most: usize) -> HostResult<Vec<Pull>> {
        self.read("open_pulls", |state| {
            Ok(state.pulls.values().filter(|pull| pull.is_open).take(at_most).cloned().collect())
        })
    }

    fn commits(&self, _: &Repo, _: u64) -> HostResult<Vec<PullCommit>> {
        Ok(Vec::new())
    }

    fn permission(&self, _: &Repo, login: &str) -> HostResult<Permission> {
        self.read("permission", |state| {
            Ok(if state.writers.contains(login) { Permission::Write } else { Permission::Read })
        })
    }

    fn comments(&self, _: &Repo, _: u64) -> HostResult<Vec<Comment>> {
        self.read("comments", |state| Ok(state.comments.clone()))
    }

    fn reviews(&self, _: &Repo, _: u64) -> HostResult<Vec<PostedReview>> {
        self.read("reviews", |state| Ok(state.reviews.iter().map(|(_, review)| review.clone()).collect()))
    }

    fn line_comments(&self, _: &Repo, _: u64) -> HostResult<Vec<Comment>> {
        self.read("line_comments", |state| Ok(state.line_comments.iter().map(|(_, comment)| comment.clone()).collect()))
    }

    fn threads(&self, _: &Repo, _: u64) -> HostResult<Vec<Thread>> {
        self.read("threads", |state| {
            let roots = state.line_comments.iter().filter(|(_, comment)| comment.answers.is_none());
            let thread = |id: u64| {
                let is_resolved = state.resolved.contains(&id);
                Thread { id: format!("thread {id}"), root: id, is_resolved, may_resolve: true, may_unresolve: true }
            };
            Ok(roots.map(|(_, comment)| thread(comment.id)).collect())
        })
    }

    fn checks(&self, _: &Repo, head: &Sha, _: &str) -> HostResult<Vec<Check>> {
        self.read("checks", |state| {
            let of_head = state.checks.iter().filter(|shown| shown.head == *head);
            Ok(of_head.map(|shown| shown.check.clone()).collect())
        })
    }

    fn comment(&self, _: &Repo, _: u64, body: &str) -> HostResult<u64> {
        self.call("comment", |state| {
            let id = state.id();
            state.comments.push(Comment { id, author: ours(), body: body.to_owned(), answers: None });
            Ok(id)
        })
    }

    fn edit_comment(&self, _: &Repo, comment: u64, body: &str) -> HostResult<()> {
        self.call("edit_comment", |state| {
            let known = state.comments.iter_mut().find(|known| known.id == comment).ok_or_else(not_found)?;
            known.body = body.to_owned();
            Ok(())
        })
    }

    fn delete_comment(&self, _: &Repo, comment: u64) -> HostResult<()> {
        self.call("delete_comment", |state| {
            state.comments.retain(|known| known.id != comment);
            Ok(())
        })
    }

    fn review(&self, _: &Repo, _: u64, review: &NewReview<'_>) -> HostResult<u64> {
        self.call("review", |state| {
            if review.body.is_empty() {
                return Err(invalid("body is required"));
            }
            let is_bad = |inline: &InlineComment| {
                inline.at.is_none() || state.bad_lines.contains(&inline.path) || state.bad_files.contains(&inline.path)
            };
            if review.comments.iter().any(is_bad) {
                return Err(invalid("line must be part of the diff"));
            }
            for inline in review.comments {
                let id = state.id();
                let comment = Comment { id, author: ours(), body: inline.body.clone(), answers: None };
                state.line_comments.push((inline.clone(), comment));
            }
            let id = state.id();
            let (body, head) = (review.body.to_owned(), Some(review.head.clone()));
            state.reviews.push((review.act, PostedReview { id, author: ours(), body, head }));
            Ok(id)
        })
    }

    fn comment_at(&self, _: &Repo, _: u64, _: &Sha, inline: &InlineComment) -> HostResult<u64> {
        self.call("comment_at", |state| {
            let is_bad = inline.at.is_some() && state.bad_lines.contains(&inline.path);
            if is_bad || state.bad_files.contains(&inline.path) {
                return Err(invalid("line must be part of the diff"));
            }
            let id = state.id();
            let comment = Comment { id, author: ours(), body: inline.body.clone(), answers: None };
            state.line_comments.push((inline.clone(), comment));
            Ok(id)
        })
    }

    fn delete_line_comment(&self, _: &Repo, comment: u64) -> HostResult<()> {
        self.call("delete_line_comment", |state| {
            state.line_comments.retain(|(_, known)| known.id != comment);
            Ok(())
        })
    }

    fn reply(&self, _: &Repo, _: u64, root: u64, body: &str) -> HostResult<u64> {
        self.call("reply", |state| {
            let known = state.line_comments.iter().find(|(_, known)| known.id == root).cloned();
            let (inline, _) = known.ok_or_else(not_found)?;
            let id = state.id();
            let comment = Comment { id, author: ours(), body: body.to_owned(), answers: Some(root) };
            state.line_comments.push((inline, comment));
            Ok(id)
        })
    }

    fn resolve(&self, _: &Repo, thread: &str) -> HostResult<()> {
        self.call("resolve", |state| {
            let id = thread.strip_prefix("thread ").and_then(|id| id.parse().ok()).ok_or_else(not_found)?;
            state.resolved.insert(id);
            Ok(())
        })
    }

    fn unresolve(&self, _: &Repo, thread: &str) -> HostResult<()> {
        self.call("unresolve", |state| {
            let id: u64 = thread.strip_prefix("thread ").and_then(|id| id.parse().ok()).ok_or_else(not_found)?;
            state.resolved.remove(&id);
            Ok(())
        })
    }

    fn begin_check(&self, _: &Repo, check: &NewCheck<'_>) -> HostResult<u64> {
        self.call("begin_check", |state| {
            let id = state.id();
            let new = Check {
                id,
                external_id: check.external_id.to_owned(),
                is_completed: false,
                conclusion: None,
                n_annotations: 0,
            };
            let (head, title) = (check.head.clone(), check.says.0.to_owned());
            state.checks.push(Shown { head, check: new, title, annotations: Vec::new() });
            Ok(id)
        })
    }

    fn update_check(&self, _: &Repo, check: u64, update: &CheckUpdate<'_>) -> HostResult<()> {
        self.call("update_check", |state| {
            if update.annotations.len() > 50 {
                return Err(invalid("no more than 50 annotations"));
            }
            let shown = state.check(check)?;
            shown.title = update.says.0.to_owned();
            shown.annotations.extend(update.annotations.iter().map(|it| format!("{}:{}", it.path, it.start_line)));
            shown.check.n_annotations = shown.annotations.len();
            if let Some(conclusion) = update.conclusion {
                shown.check.is_completed = true;
                shown.check.conclusion = Some(Conclusion::as_str(conclusion).to_owned());
            }
            Ok(())
        })
    }

    fn clone_url(&self, _: &Repo) -> String {
        self.url.clone()
    }

    fn git_authorization(&self, _: &Repo) -> HostResult<Option<Secret>> {
        Ok(None)
    }
}
