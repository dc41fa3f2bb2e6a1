//! The code host interface: reads pull requests and writes comments, reviews and checks.
//!
//! One trait for all hosts, of which GitHub is the first. Calls block, so callers run them on worker threads. Each
//! call is made once: the caller decides about a retry by the [`HostErrorKind`].

use std::sync::Arc;

use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::{Annotation, Conclusion};
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::sha::Sha;

mod error;

pub use error::{HostError, HostErrorKind};

/// The result of a call to a host.
pub type HostResult<T> = Result<T, HostError>;

/// The fence of a writer: false once its lease was lost. Called right before each write, so it must be quick.
pub type FenceCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// A code host, authenticated as one identity.
pub trait Host: Send + Sync {
    /// The identity under which we write.
    fn me(&self) -> HostResult<BotIdentity>;
    /// The current state of a pull request.
    fn pull(&self, repo: &Repo, number: u64) -> HostResult<Pull>;
    /// Open pull requests, most recently updated first, at most `at_most`.
    fn open_pulls(&self, repo: &Repo, at_most: usize) -> HostResult<Vec<Pull>>;
    /// The commits of a pull request, oldest first; hosts list at most 250.
    fn commits(&self, repo: &Repo, number: u64) -> HostResult<Vec<PullCommit>>;
    /// The permission of a user in a repository.
    fn permission(&self, repo: &Repo, login: &str) -> HostResult<Permission>;
    /// The comments of the conversation, oldest first.
    fn comments(&self, repo: &Repo, number: u64) -> HostResult<Vec<Comment>>;
    /// The reviews, oldest first.
    fn reviews(&self, repo: &Repo, number: u64) -> HostResult<Vec<PostedReview>>;
    /// The review comments at lines and files, oldest first.
    fn line_comments(&self, repo: &Repo, number: u64) -> HostResult<Vec<Comment>>;
    /// The review threads.
    fn threads(&self, repo: &Repo, number: u64) -> HostResult<Vec<Thread>>;
    /// Our check runs of a commit with this name, oldest first.
    fn checks(&self, repo: &Repo, head: &Sha, name: &str) -> HostResult<Vec<Check>>;

    // Writes. None is idempotent; each leaves a marker by which a retry finds it.

    /// Writes a comment into the conversation.
    fn comment(&self, repo: &Repo, number: u64, body: &str) -> HostResult<u64>;
    /// Replaces the text of a comment of ours.
    fn edit_comment(&self, repo: &Repo, comment: u64, body: &str) -> HostResult<()>;
    /// Deletes a comment of ours.
    fn delete_comment(&self, repo: &Repo, comment: u64) -> HostResult<()>;
    /// Writes a review with its line comments in one request; comments at whole files cannot be part of it.
    fn review(&self, repo: &Repo, number: u64, review: &NewReview<'_>) -> HostResult<u64>;
    /// Writes one review comment at lines or at a file.
    fn comment_at(&self, repo: &Repo, number: u64, head: &Sha, inline: &InlineComment) -> HostResult<u64>;
    /// Deletes a review comment of ours.
    fn delete_line_comment(&self, repo: &Repo, comment: u64) -> HostResult<()>;
    /// Replies in the thread of a review comment.
    fn reply(&self, repo: &Repo, number: u64, root: u64, body: &str) -> HostResult<u64>;
    /// Resolves a thread.
    fn resolve(&self, repo: &Repo, thread: &str) -> HostResult<()>;
    /// Opens a resolved thread again.
    fn unresolve(&self, repo: &Repo, thread: &str) -> HostResult<()>;
    /// Creates a check run.
    fn begin_check(&self, repo: &Repo, check: &NewCheck<'_>) -> HostResult<u64>;
    /// Updates or completes a check run. Annotations are appended, at most 50 per call.
    fn update_check(&self, repo: &Repo, check: u64, update: &CheckUpdate<'_>) -> HostResult<()>;

    /// The URL for `git fetch`.
    fn clone_url(&self, repo: &Repo) -> String;
    /// The `Authorization` header for `git fetch`; `None` for public access.
    fn git_authorization(&self, repo: &Repo) -> HostResult<Option<Secret>>;
}

/// A secret, redacted in `Debug`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The identity under which we act at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotIdentity {
    /// The login under which we write: `tollgate[bot]`.
    pub login: String,
    /// The name for mentions, without `@`: `tollgate`.
    pub mention: String,
    /// The number of our app; then only comments of this app are ours.
    pub app: Option<u64>,
}

impl BotIdentity {
    /// True when `author` is this identity: by app where the host names one, by login otherwise.
    pub fn wrote(&self, author: &Author) -> bool {
        match (self.app, author.app) {
            (Some(mine), Some(its)) => mine == its,
            (None, Some(_)) | (_, None) => author.login.eq_ignore_ascii_case(&self.login),
        }
    }
}

/// The author of a comment or review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The login.
    pub login: String,
    /// The app through which the text was written.
    pub app: Option<u64>,
    /// True for bots.
    pub is_bot: bool,
}

/// The current state of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The login of its author.
    pub author: String,
    /// True until it is closed or merged.
    pub is_open: bool,
    /// True for a draft.
    pub is_draft: bool,
    /// The commit at its head.
    pub head: Sha,
    /// The target branch.
    pub base_branch: String,
    /// The tip of the target branch, which moves; reviews use the merge base.
    pub base: Sha,
    /// The repository of the head branch; `None` when it was deleted.
    pub from: Option<Repo>,
    /// The number of commits and files.
    pub size: (u64, u64),
}

impl Pull {
    /// True when the head branch is in another repository than `repo`.
    pub fn is_fork(&self, repo: &Repo) -> bool {
        self.from.as_ref() != Some(repo)
    }
}

/// A commit of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullCommit {
    /// Its name.
    pub sha: Sha,
    /// Its whole message.
    pub message: String,
}

/// The permission of a user in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// No access.
    None,
    /// Read access.
    Read,
    /// Write access: push and merge.
    Write,
}

/// A comment in the conversation or at lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: u64,
    /// Its author.
    pub author: Author,
    /// Its text.
    pub body: String,
    /// The comment it replies to.
    pub answers: Option<u64>,
}

/// A published review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedReview {
    /// Its number.
    pub id: u64,
    /// Its author.
    pub author: Author,
    /// Its text.
    pub body: String,
    /// The reviewed commit.
    pub head: Option<Sha>,
}

/// A review thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The host's identifier.
    pub id: String,
    /// The first comment.
    pub root: u64,
    /// True when it is resolved.
    pub is_resolved: bool,
    /// True when we have the permission to resolve it.
    pub may_resolve: bool,
    /// True when we have the permission to open it again.
    pub may_unresolve: bool,
}

/// A new review.
#[derive(Debug, Clone, Copy)]
pub struct NewReview<'a> {
    /// The reviewed commit.
    pub head: &'a Sha,
    /// Its text with our marker. Never empty.
    pub body: &'a str,
    /// The review event.
    pub act: ReviewEvent,
    /// Its line comments.
    pub comments: &'a [InlineComment],
}

/// The event of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEvent {
    /// Comments without a verdict.
    Comment,
    /// Approves.
    Approve,
    /// Requests changes.
    RequestChanges,
}

/// A check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its number.
    pub id: u64,
    /// Our idempotency key for it.
    pub external_id: String,
    /// True once it has completed.
    pub is_completed: bool,
    /// The host's word for the conclusion.
    pub conclusion: Option<String>,
    /// How many annotations it has.
    pub n_annotations: usize,
}

/// A new check run.
#[derive(Debug, Clone, Copy)]
pub struct NewCheck<'a> {
    /// The commit.
    pub head: &'a Sha,
    /// Its name.
    pub name: &'a str,
    /// Our idempotency key for it.
    pub external_id: &'a str,
    /// The page with details.
    pub details_url: Option<&'a str>,
    /// The title and the summary.
    pub says: (&'a str, &'a str),
}

/// An update of a check run.
#[derive(Debug, Clone, Copy)]
pub struct CheckUpdate<'a> {
    /// The conclusion; `None` while in progress.
    pub conclusion: Option<Conclusion>,
    /// The title and the summary.
    pub says: (&'a str, &'a str),
    /// Annotations to append, at most 50.
    pub annotations: &'a [Annotation],
}

/// A webhook delivery that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDelivery {
    /// The host's number, for a redelivery.
    pub id: u64,
    /// The GUID, which redeliveries share.
    pub guid: String,
}
