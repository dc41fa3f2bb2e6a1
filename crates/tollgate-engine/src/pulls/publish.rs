//! Publishes outbox entries to the forge exactly once.
//!
//! For each post: search for our own marker, check the lease, mark the entry as posting, post it, search again and
//! delete duplicates, and store the host's number. After a crash at any point, the next worker can tell what happened.
//! A server keeps its [`Outbox`] in the database, the command line in memory.
//!
//! A host may reject a review because of one of its comments; then the comments are posted one by one, rejected ones
//! at their file, and the rest in the text of the review: no finding is lost.

use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::check_external_id;
use tollgate_core::sha::Sha;

use super::post::{Post, PostContent};
use crate::failure::Failure;
use crate::forge::host::{BotIdentity, Host, HostError, HostErrorKind};
use crate::process;

mod check;
mod conversation;
mod existing;
mod outbox;
mod review;
mod thread;

pub use conversation::{CommentAction, publish_comment};
use existing::ExistingPosts;
pub use outbox::{MemoryOutbox, Outbox};
pub(super) use thread::says_resolved;

/// The pull request to publish to.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The host.
    pub host: &'a dyn Host,
    /// Our identity.
    pub me: &'a BotIdentity,
    /// The repository.
    pub repo: &'a Repo,
    /// The pull request.
    pub number: u64,
    /// The name of our check run.
    pub check_name: &'a str,
}

/// The reason why a job stops early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobError {
    /// The lease was lost to another worker.
    LeaseLost,
    /// The host failed, perhaps temporarily.
    Host(HostError),
    /// A failure of our own.
    Failure(Failure),
}

impl From<HostError> for JobError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<Failure> for JobError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// The result of publishing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// The number of published posts.
    pub n_done: usize,
    /// The number of rejected posts that are retried later.
    pub n_later: usize,
    /// The posts that were rejected for good, with the errors.
    pub refused: Vec<(String, HostError)>,
}

impl Target<'_> {
    /// Our idempotency key for the check run of a commit.
    fn external_id(&self, head: &Sha) -> String {
        check_external_id(self.number, head)
    }
}

/// Publishes the posts that do not exist yet, in order.
///
/// Stops early when the lease is lost or the host fails temporarily; progress is stored, so the next call resumes. A
/// post that the host rejects for good does not block the others.
pub fn publish(target: &Target<'_>, posts: &[Post], outbox: &dyn Outbox) -> Result<Published, JobError> {
    let mut existing = ExistingPosts::new(*target);
    let mut published = Published::default();
    for post in posts {
        let done = match &post.what {
            PostContent::Summary(body) => conversation::summary(&mut existing, post, body, outbox),
            PostContent::Note(body) => conversation::note(&mut existing, post, body, outbox),
            PostContent::Reply { to, body } => conversation::reply(&mut existing, post, *to, body, outbox),
            PostContent::Review { body, act, inline } => {
                review::review(&mut existing, post, (body, *act, inline), outbox)
            }
            PostContent::Inline(inline) => review::inline(&mut existing, post, inline, outbox),
            PostContent::Resolve => thread::resolve(&mut existing, post, outbox),
            PostContent::Reopen => thread::reopen(&mut existing, post, outbox),
            PostContent::Check { conclusion, text, details_url } => {
                check::check(&mut existing, post, (*conclusion, text, details_url.as_deref()), outbox)
            }
        };
        match done {
            Ok(remote) => {
                process::crash_point("post-before-ack");
                outbox.done(post, remote)?;
                published.n_done += 1;
            }
            Err(JobError::Host(error)) if error.may_pass() => {
                // If the outcome is unknown, the next attempt looks first; otherwise the post is simply due again.
                if error.kind != HostErrorKind::Unclear {
                    outbox.put_back(post, &error.message)?;
                }
                return Err(JobError::Host(error));
            }
            Err(JobError::Host(error)) => {
                // Some rejections are temporary: a commit that the host does not know yet, a missing permission.
                if outbox.refused(post, &error.message)? {
                    published.n_later += 1;
                } else {
                    published.refused.push((post.key.clone(), error));
                }
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok(published)
}

/// Checks the lease and marks the entry as posting.
fn mark_posting(post: &Post, outbox: &dyn Outbox) -> Result<(), JobError> {
    if !outbox.is_ours()? {
        return Err(JobError::LeaseLost);
    }
    outbox.posting(post)
}
