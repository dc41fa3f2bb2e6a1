//! Webhook events: the deliveries of a forge that lead to a job.
//!
//! A delivery becomes at most one [`WebhookEvent`]; an irrelevant one is accepted and ignored.

use super::Repo;
use super::command::Command;
use crate::sha::Sha;

/// A relevant delivery of the forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEvent {
    /// The installation of our app.
    pub installation: Option<u64>,
    /// The kind of event.
    pub what: WebhookEventKind,
}

/// The kind of a webhook event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookEventKind {
    /// An event of a pull request.
    Pull {
        /// The repository.
        repo: Repo,
        /// The number of the pull request.
        number: u64,
        /// The event.
        about: PullEvent,
    },
    /// A push to a branch, which may be the base of pull requests.
    Pushed {
        /// The repository.
        repo: Repo,
        /// The branch, without `refs/heads/`.
        branch: String,
    },
    /// The app was uninstalled from these repositories, or from all when the list is empty: their jobs are cancelled.
    Removed {
        /// The repositories.
        repos: Vec<Repo>,
    },
}

/// An event of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullEvent {
    /// It was opened, pushed to, retitled or marked ready: a review may be due.
    ///
    /// The head of the delivery may be outdated; the worker asks the forge for the current one.
    Changed {
        /// The head commit in the delivery.
        head: Option<Sha>,
    },
    /// A re-review was requested on the page of the forge.
    ReviewRequested {
        /// The actor.
        by: Actor,
    },
    /// The pull request was closed or merged.
    Closed,
    /// A comment with a bot command.
    Commanded {
        /// The actor.
        by: Actor,
        /// The comment.
        comment: CommentRef,
        /// The command, as of the event; later edits of the comment are ignored.
        command: Command,
    },
    /// A review thread was resolved or reopened.
    Thread {
        /// The actor.
        by: Actor,
        /// The first comment of the thread.
        comment: u64,
        /// Whether the thread is resolved now.
        resolved: bool,
    },
}

/// A comment and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentRef {
    /// A comment in the conversation.
    Conversation(u64),
    /// A comment in a review thread.
    Thread {
        /// The comment.
        comment: u64,
        /// The first comment of the thread.
        root: u64,
    },
}

impl CommentRef {
    /// The id of the comment.
    #[must_use]
    pub fn comment(self) -> u64 {
        match self {
            Self::Conversation(comment) | Self::Thread { comment, .. } => comment,
        }
    }
}

/// The user or bot behind an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The login on the forge.
    pub login: String,
    /// True for bots, whose comments are never commands.
    pub is_bot: bool,
}
