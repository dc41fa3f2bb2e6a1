//! Implements [`Host`] for GitHub, authenticated as an installed app or with a token.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde::de::DeserializeOwned;
use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::MAX_ANNOTATIONS;
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::sha::Sha;

use super::app::App;
use super::client::{Client, Credentials, HttpResponse, decode};
use super::limits::Limits;
use super::request::Request;
use super::{MAX_ITEMS, error, graphql, wire};
use crate::forge::host::{
    BotIdentity, Check, CheckUpdate, Comment, FenceCheck, Host, HostError, HostErrorKind, HostResult, NewCheck,
    NewReview, Permission, PostedReview, Pull, PullCommit, Secret, Thread,
};

/// The page sizes: the maximum, and a smaller one for responses that exceed the size limit.
const PER_PAGE: [usize; 2] = [100, 20];
/// The maximum size of a list.
const MAX_LIST: usize = 64 << 20;
/// The author of comments written with a workflow's token.
const ACTIONS: &str = "github-actions";

/// GitHub with credentials and a rate limiter.
pub(super) struct GithubHost {
    client: Client,
    limits: Arc<Limits>,
    role: AuthMode,
}

/// The credentials.
pub(super) enum AuthMode {
    /// An installed app, for one repository.
    Installed { app: App, installation: u64, repo: Repo, is_ours: FenceCheck },
    /// A token, or anonymous without one.
    Holder { token: Option<Secret>, me: OnceLock<BotIdentity> },
}

impl Credentials for AuthMode {
    fn token(&self) -> HostResult<Option<Secret>> {
        match self {
            Self::Installed { app, installation, repo, .. } => app.token(*installation, repo).map(Some),
            Self::Holder { token, .. } => Ok(token.clone()),
        }
    }

    fn token_refused(&self, token: &Secret, _date_ms: Option<u64>) -> bool {
        match self {
            Self::Installed { app, installation, repo, .. } => {
                app.drop_token(*installation, repo, token);
                true
            }
            Self::Holder { .. } => false,
        }
    }

    fn may_write(&self) -> bool {
        match self {
            Self::Installed { is_ours, .. } => is_ours(),
            Self::Holder { .. } => true,
        }
    }
}

impl GithubHost {
    pub(super) fn new(client: Client, limits: Arc<Limits>, role: AuthMode) -> Self {
        Self { client, limits, role }
    }

    pub(super) fn read<T: DeserializeOwned>(&self, request: &Request) -> HostResult<T> {
        self.client.read(request, &self.role, &self.limits)
    }

    fn done(&self, request: &Request) -> HostResult<()> {
        self.client.ask(request, &self.role, &self.limits).map(drop)
    }

    fn number(&self, request: &Request) -> HostResult<u64> {
        self.read::<wire::Numbered>(request).map(|made| made.id)
    }

    /// Reads all pages of a list, at most `at_most` items. A list too long to read is an error, because a search for
    /// our own posts must not miss one.
    fn list<T: DeserializeOwned>(&self, request: &Request, at_most: usize) -> HostResult<Vec<T>> {
        self.pages(request, at_most, decode)
    }

    fn pages<T>(
        &self,
        request: &Request,
        at_most: usize,
        read: impl Fn(&Request, &HttpResponse) -> HostResult<Vec<T>>,
    ) -> HostResult<Vec<T>> {
        let [many, few] = PER_PAGE;
        let (mut per_page, mut page) = (many.min(at_most), 1);
        let (mut all, mut n_bytes) = (Vec::new(), 0);
        while per_page * (page - 1) < MAX_ITEMS {
            let request = request.clone().with_query("per_page", per_page).with_query("page", page);
            let answer = self.client.ask(&request, &self.role, &self.limits)?;
            if answer.is_cut && per_page > few {
                (per_page, page) = (few, 1);
                all.clear();
                continue;
            }
            n_bytes += answer.body.len();
            let found = read(&request, &answer)?;
            let is_last = found.is_empty() || (found.len() < per_page && !answer.has_next());
            all.extend(found);
            if is_last || all.len() >= at_most {
                all.truncate(at_most);
                return Ok(all);
            }
            if n_bytes > MAX_LIST {
                break;
            }
            page += 1;
        }
        Err(error::too_many(request, all.len()))
    }

    /// The user of the token.
    fn holder(&self) -> HostResult<BotIdentity> {
        let request = Request::get("/user");
        match self.read::<wire::User>(&request) {
            Ok(user) => Ok(BotIdentity { mention: user.login.clone(), login: user.login, app: None }),
            // The token of a workflow belongs to no user.
            Err(HostError { kind: HostErrorKind::Forbidden, message }) if message.contains("by integration") => {
                Ok(BotIdentity { login: format!("{ACTIONS}[bot]"), mention: ACTIONS.to_owned(), app: None })
            }
            Err(error) => Err(error),
        }
    }
}

/// Converts a response body, or reports that it does not match the API.
fn sensible<T>(request: &Request, converted: Result<T, String>) -> HostResult<T> {
    converted.map_err(|why| {
        let message = format!("the answer to `{}` makes no sense: {why}", request.shown());
        HostError::new(HostErrorKind::Nonsense, message)
    })
}

impl Host for GithubHost {
    fn me(&self) -> HostResult<BotIdentity> {
        match &self.role {
            AuthMode::Installed { app, .. } => app.me(),
            AuthMode::Holder { me, .. } => match me.get() {
                Some(me) => Ok(me.clone()),
                None => self.holder().map(|found| me.get_or_init(|| found).clone()),
            },
        }
    }

    fn pull(&self, repo: &Repo, number: u64) -> HostResult<Pull> {
        let request = Request::get(format!("/repos/{repo}/pulls/{number}"));
        sensible(&request, self.read::<wire::Pull>(&request)?.into_host())
    }

    fn open_pulls(&self, repo: &Repo, at_most: usize) -> HostResult<Vec<Pull>> {
        if at_most == 0 {
            return Ok(Vec::new());
        }
        let request = Request::get(format!("/repos/{repo}/pulls"))
            .with_query("state", "open")
            .with_query("sort", "updated")
            .with_query("direction", "desc");
        let found: Vec<wire::Pull> = self.list(&request, at_most.min(MAX_ITEMS))?;
        found.into_iter().map(|pull| sensible(&request, pull.into_host())).collect()
    }

    fn commits(&self, repo: &Repo, number: u64) -> HostResult<Vec<PullCommit>> {
        let request = Request::get(format!("/repos/{repo}/pulls/{number}/commits"));
        let found: Vec<wire::Commit> = self.list(&request, usize::MAX)?;
        found.into_iter().map(|commit| sensible(&request, commit.into_host())).collect()
    }

    fn permission(&self, repo: &Repo, login: &str) -> HostResult<Permission> {
        let is_login = |character: char| character.is_ascii_alphanumeric() || "-_[]".contains(character);
        if login.is_empty() || login.len() > 100 || !login.chars().all(is_login) {
            return Ok(Permission::None);
        }
        let login = login.replace('[', "%5B").replace(']', "%5D");
        let request = Request::get(format!("/repos/{repo}/collaborators/{login}/permission"));
        match self.read::<wire::Access>(&request) {
            Ok(access) => Ok(access.permission()),
            // Apps and deleted users have no permission entry.
            Err(HostError { kind: HostErrorKind::NotFound, .. }) => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }

    fn comments(&self, repo: &Repo, number: u64) -> HostResult<Vec<Comment>> {
        let request = Request::get(format!("/repos/{repo}/issues/{number}/comments"));
        let found: Vec<wire::Comment> = self.list(&request, usize::MAX)?;
        Ok(found.into_iter().map(Comment::from).collect())
    }

    fn reviews(&self, repo: &Repo, number: u64) -> HostResult<Vec<PostedReview>> {
        let request = Request::get(format!("/repos/{repo}/pulls/{number}/reviews"));
        let found: Vec<wire::Review> = self.list(&request, usize::MAX)?;
        Ok(found.into_iter().map(PostedReview::from).collect())
    }

    fn line_comments(&self, repo: &Repo, number: u64) -> HostResult<Vec<Comment>> {
        let request = Request::get(format!("/repos/{repo}/pulls/{number}/comments"));
        let found: Vec<wire::Comment> = self.list(&request, usize::MAX)?;
        Ok(found.into_iter().map(Comment::from).collect())
    }

    fn threads(&self, repo: &Repo, number: u64) -> HostResult<Vec<Thread>> {
        graphql::threads(self, repo, number)
    }

    fn checks(&self, repo: &Repo, head: &Sha, name: &str) -> HostResult<Vec<Check>> {
        let app = self.me()?.app;
        let mut request = Request::get(format!("/repos/{repo}/commits/{head}/check-runs"))
            .with_query("check_name", name)
            .with_query("filter", "all");
        if let Some(app) = app {
            request = request.with_query("app_id", app);
        }
        let found = self.pages(&request, usize::MAX, |request, answer| {
            decode::<wire::CheckRuns>(request, answer).map(|found| found.check_runs)
        })?;
        let mut checks: Vec<Check> = found.into_iter().filter(|run| run.is(name, app)).map(Check::from).collect();
        checks.sort_by_key(|check| check.id);
        Ok(checks)
    }

    fn comment(&self, repo: &Repo, number: u64, body: &str) -> HostResult<u64> {
        let path = format!("/repos/{repo}/issues/{number}/comments");
        self.number(&Request::content(Method::POST, path, &wire::CommentBody { body })?)
    }

    fn edit_comment(&self, repo: &Repo, comment: u64, body: &str) -> HostResult<()> {
        let path = format!("/repos/{repo}/issues/comments/{comment}");
        self.done(&Request::content(Method::PATCH, path, &wire::CommentBody { body })?)
    }

    fn delete_comment(&self, repo: &Repo, comment: u64) -> HostResult<()> {
        self.done(&Request::change(Method::DELETE, format!("/repos/{repo}/issues/comments/{comment}")))
    }

    fn review(&self, repo: &Repo, number: u64, review: &NewReview<'_>) -> HostResult<u64> {
        if let Some(stray) = review.comments.iter().find(|comment| comment.at.is_none()) {
            let path = error::tidy(&stray.path);
            return Err(error::wont_do(format!("a comment at the whole of `{path}` cannot be part of a review")));
        }
        let path = format!("/repos/{repo}/pulls/{number}/reviews");
        self.number(&Request::content(Method::POST, path, &wire::ReviewBody::new(review))?)
    }

    fn comment_at(&self, repo: &Repo, number: u64, head: &Sha, inline: &InlineComment) -> HostResult<u64> {
        let path = format!("/repos/{repo}/pulls/{number}/comments");
        self.number(&Request::content(Method::POST, path, &wire::SingleComment::new(head, inline))?)
    }

    fn delete_line_comment(&self, repo: &Repo, comment: u64) -> HostResult<()> {
        self.done(&Request::change(Method::DELETE, format!("/repos/{repo}/pulls/comments/{comment}")))
    }

    fn reply(&self, repo: &Repo, number: u64, root: u64, body: &str) -> HostResult<u64> {
        let path = format!("/repos/{repo}/pulls/{number}/comments/{root}/replies");
        self.number(&Request::content(Method::POST, path, &wire::CommentBody { body })?)
    }

    fn resolve(&self, _repo: &Repo, thread: &str) -> HostResult<()> {
        graphql::resolve(self, thread)
    }

    fn unresolve(&self, _repo: &Repo, thread: &str) -> HostResult<()> {
        graphql::unresolve(self, thread)
    }

    fn begin_check(&self, repo: &Repo, check: &NewCheck<'_>) -> HostResult<u64> {
        let path = format!("/repos/{repo}/check-runs");
        self.number(&Request::content(Method::POST, path, &wire::CheckBegin::new(check))?)
    }

    fn update_check(&self, repo: &Repo, check: u64, update: &CheckUpdate<'_>) -> HostResult<()> {
        let n_annotations = update.annotations.len();
        if n_annotations > MAX_ANNOTATIONS {
            return Err(error::wont_do(format!(
                "{n_annotations} annotations are more than GitHub takes at once, which is {MAX_ANNOTATIONS}"
            )));
        }
        let path = format!("/repos/{repo}/check-runs/{check}");
        self.done(&Request::content(Method::PATCH, path, &wire::CheckMore::new(update))?)
    }

    fn clone_url(&self, repo: &Repo) -> String {
        self.client.address.clone_url(repo)
    }

    fn git_authorization(&self, _repo: &Repo) -> HostResult<Option<Secret>> {
        // Git accepts every kind of token as a password; the user name is ignored.
        let token = self.role.token()?;
        Ok(token.map(|token| {
            Secret::new(format!("Basic {}", STANDARD.encode(format!("x-access-token:{}", token.expose()))))
        }))
    }
}
