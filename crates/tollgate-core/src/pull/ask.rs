//! What a code host tells us, as far as it means something to us.
//!
//! A delivery of the host becomes at most one [`Ask`]; what nobody acts upon becomes none and is politely taken.

use super::Repo;
use super::command::Command;
use crate::sha::Sha;

/// Something that is asked of us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The installation of our app in whose name we may act.
    pub installation: Option<u64>,
    /// What is asked.
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something about a pull request.
    Pull {
        /// Where.
        repo: Repo,
        /// Which.
        number: u64,
        /// What about it.
        about: About,
    },
    /// Commits were pushed to a branch, which may be the base of pull requests.
    Pushed {
        /// Where.
        repo: Repo,
        /// The branch, without `refs/heads/`.
        branch: String,
    },
    /// The app was removed from these repositories, or from all when there are none: nothing is owed there any more.
    Removed {
        /// Which.
        repos: Vec<Repo>,
    },
}

/// What is asked about a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// It is new, was pushed to, retitled or made ready: somebody has to look whether there is something to review.
    ///
    /// The commit is what the delivery says, which may be old by now; what counts is what the host says when it is asked.
    Changed {
        /// The commit at its head, as the delivery has it.
        head: Option<Sha>,
    },
    /// Somebody pressed the button to review it again.
    Again {
        /// Who.
        by: Actor,
    },
    /// It was closed or merged.
    Closed,
    /// Somebody told us something in a comment.
    Said {
        /// Who.
        by: Actor,
        /// The comment.
        comment: Place,
        /// What we are told to do. The words are those of the event; later edits do not matter.
        command: Command,
    },
    /// A thread that began with this comment was resolved or opened again.
    Thread {
        /// Who did it.
        by: Actor,
        /// The comment that began it.
        comment: u64,
        /// Whether it is resolved now.
        resolved: bool,
    },
}

/// Where a comment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the conversation.
    Conversation(u64),
    /// At a line, in the thread that began with `root`.
    Thread {
        /// The comment.
        comment: u64,
        /// The comment that began the thread.
        root: u64,
    },
}

impl Place {
    /// The comment's number.
    #[must_use]
    pub fn comment(self) -> u64 {
        match self {
            Self::Conversation(comment) | Self::Thread { comment, .. } => comment,
        }
    }
}

/// Who did something, by the name at the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name.
    pub login: String,
    /// True for programs; what they say is never a command.
    pub is_bot: bool,
}
