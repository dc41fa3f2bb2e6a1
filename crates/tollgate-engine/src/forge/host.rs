//! A code host: where pull requests are, and what we may do there.
//!
//! One interface for all hosts, of which GitHub is the first. Calls wait for their answer; whoever
//! waits does so on a thread of their own. Each call is made once: whether it is made again is decided by those who know
//! what it would mean, with the help of [`Trouble`].

use std::sync::Arc;

use tollgate_core::pull::Repo;
use tollgate_core::pull::post::{Annotation, Conclusion, Inline};
use tollgate_core::sha::Sha;

mod trouble;

pub use trouble::{HostError, Trouble};

/// Something that was asked of a host.
pub type Asked<T> = Result<T, HostError>;

/// Whether what is to be written at a host is still ours to write. It is asked at the last moment, and must be quick.
pub type IsOurs = Arc<dyn Fn() -> bool + Send + Sync>;

/// A code host, in the name of somebody.
pub trait Host: Send + Sync {
    // Reading.

    /// Who we are there: the author of what we write.
    fn me(&self) -> Asked<Me>;
    /// A pull request as it is now.
    fn pull(&self, repo: &Repo, number: u64) -> Asked<Pull>;
    /// Open pull requests, those that changed last first, at most so many.
    fn open_pulls(&self, repo: &Repo, at_most: usize) -> Asked<Vec<Pull>>;
    /// The commits of a pull request, oldest first; hosts list 250 at most.
    fn commits(&self, repo: &Repo, number: u64) -> Asked<Vec<PullCommit>>;
    /// What somebody may do in a repository.
    fn permission(&self, repo: &Repo, login: &str) -> Asked<Permission>;
    /// The comments of the conversation, oldest first.
    fn comments(&self, repo: &Repo, number: u64) -> Asked<Vec<Comment>>;
    /// The reviews, oldest first.
    fn reviews(&self, repo: &Repo, number: u64) -> Asked<Vec<PostedReview>>;
    /// The comments at lines and files, oldest first.
    fn line_comments(&self, repo: &Repo, number: u64) -> Asked<Vec<Comment>>;
    /// The threads at lines, as far as the host can tell.
    fn threads(&self, repo: &Repo, number: u64) -> Asked<Vec<Thread>>;
    /// Our checks of a commit that have this name, oldest first.
    fn checks(&self, repo: &Repo, head: &Sha, name: &str) -> Asked<Vec<Check>>;

    // Writing. None of these may be done twice; all of them leave something that can be looked for.

    /// Writes a comment into the conversation.
    fn comment(&self, repo: &Repo, number: u64, body: &str) -> Asked<u64>;
    /// Replaces the text of a comment of ours.
    fn edit_comment(&self, repo: &Repo, comment: u64, body: &str) -> Asked<()>;
    /// Removes a comment of ours.
    fn delete_comment(&self, repo: &Repo, comment: u64) -> Asked<()>;
    /// Writes a review with all its comments at lines in one request; those at files as a whole cannot be in it.
    fn review(&self, repo: &Repo, number: u64, review: &NewReview<'_>) -> Asked<u64>;
    /// Writes one comment at lines or at a file.
    fn comment_at(&self, repo: &Repo, number: u64, head: &Sha, inline: &Inline) -> Asked<u64>;
    /// Removes a comment of ours at lines.
    fn delete_line_comment(&self, repo: &Repo, comment: u64) -> Asked<()>;
    /// Answers in the thread that began with a comment.
    fn reply(&self, repo: &Repo, number: u64, root: u64, body: &str) -> Asked<u64>;
    /// Resolves a thread.
    fn resolve(&self, repo: &Repo, thread: &str) -> Asked<()>;
    /// Begins a check.
    fn begin_check(&self, repo: &Repo, check: &NewCheck<'_>) -> Asked<u64>;
    /// Says more about a check, or ends it. Annotations are added to those it has, at most 50 at a time.
    fn update_check(&self, repo: &Repo, check: u64, update: &CheckUpdate<'_>) -> Asked<()>;

    // Git.

    /// Where git fetches the repository from.
    fn clone_url(&self, repo: &Repo) -> String;
    /// The value of the `Authorization` header with which git may fetch it; `None` when anybody may.
    fn git_authorization(&self, repo: &Repo) -> Asked<Option<Hidden>>;

    // Deliveries.

    /// Deliveries that the host could not hand over, newest first, back to a time in milliseconds since 1970.
    fn failed_deliveries(&self, since_ms: u64) -> Asked<Vec<FailedDelivery>>;
    /// Asks the host to deliver once more.
    fn redeliver(&self, id: u64) -> Asked<()>;
}

/// A secret on its way: it is never shown.
#[derive(Clone)]
pub struct Hidden(String);

impl Hidden {
    /// Keeps a secret.
    #[must_use]
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// The secret itself, for the one place that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Who we are at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// The name under which we write: `tollgate[bot]`.
    pub login: String,
    /// The name that people put behind `@`: `tollgate`.
    pub mention: String,
    /// Our app, when we are one; only its comments are ours then.
    pub app: Option<u64>,
}

impl Me {
    /// True when we wrote it. The app decides where the host names it, the name of the author otherwise.
    #[must_use]
    pub fn wrote(&self, author: &Author) -> bool {
        match (self.app, author.app) {
            (Some(mine), Some(its)) => mine == its,
            (None, Some(_)) | (_, None) => author.login.eq_ignore_ascii_case(&self.login),
        }
    }
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub login: String,
    /// The app through which it was written.
    pub app: Option<u64>,
    /// True for programs.
    pub is_bot: bool,
}

/// A pull request as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// What the author says about it.
    pub body: String,
    /// Whose it is.
    pub author: String,
    /// True while it can be merged or pushed to.
    pub is_open: bool,
    /// True for one that is not ready.
    pub is_draft: bool,
    /// The commit at its head.
    pub head: Sha,
    /// The branch it is to be merged into.
    pub base_branch: String,
    /// The commit at the head of that branch, as the host has it; it moves. The merge base counts.
    pub base: Sha,
    /// Where its commits come from; `None` when that was deleted.
    pub from: Option<Repo>,
    /// How many commits and files it has.
    pub size: (u64, u64),
}

impl Pull {
    /// True when its commits come from elsewhere than `repo`.
    #[must_use]
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

/// What somebody may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nothing.
    None,
    /// Look.
    Read,
    /// Push, merge, decide.
    Write,
}

/// A comment of the conversation or at lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: u64,
    /// Who wrote it.
    pub author: Author,
    /// What it says.
    pub body: String,
    /// The comment it answers, for one in a thread.
    pub answers: Option<u64>,
}

/// A review that somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedReview {
    /// Its number.
    pub id: u64,
    /// Who wrote it.
    pub author: Author,
    /// What it says.
    pub body: String,
    /// The commit it is about.
    pub head: Option<Sha>,
}

/// A thread at lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The host's name for it.
    pub id: String,
    /// The comment that began it.
    pub root: u64,
    /// True when somebody resolved it.
    pub is_resolved: bool,
    /// True when we may.
    pub may_resolve: bool,
}

/// A review to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewReview<'a> {
    /// The commit it is about.
    pub head: &'a Sha,
    /// What it says, with its mark. Never empty.
    pub body: &'a str,
    /// What it does.
    pub act: Act,
    /// Its comments, each at lines.
    pub comments: &'a [Inline],
}

/// What a review does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Says something.
    Comment,
    /// Approves.
    Approve,
    /// Asks for changes.
    RequestChanges,
}

/// A check of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its number.
    pub id: u64,
    /// Our own name for it.
    pub external_id: String,
    /// True once it has ended.
    pub is_completed: bool,
    /// How it ended, in the host's word.
    pub conclusion: Option<String>,
    /// How many annotations it has.
    pub n_annotations: usize,
}

/// A check to be begun.
#[derive(Debug, Clone, Copy)]
pub struct NewCheck<'a> {
    /// The commit.
    pub head: &'a Sha,
    /// Its name.
    pub name: &'a str,
    /// Our own name for it.
    pub external_id: &'a str,
    /// Where people read more.
    pub details_url: Option<&'a str>,
    /// What it says: a title and a summary.
    pub says: (&'a str, &'a str),
}

/// More about a check.
#[derive(Debug, Clone, Copy)]
pub struct CheckUpdate<'a> {
    /// How it ends; `None` while it goes on.
    pub conclusion: Option<Conclusion>,
    /// What it says: a title and a summary.
    pub says: (&'a str, &'a str),
    /// More annotations, at most 50.
    pub annotations: &'a [Annotation],
}

/// A delivery that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDelivery {
    /// The host's number, to ask for it once more.
    pub id: u64,
    /// The name it keeps when it is delivered once more.
    pub guid: String,
}
