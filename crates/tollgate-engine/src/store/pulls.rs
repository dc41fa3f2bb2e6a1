//! Pull requests on a code host: the inbox of deliveries, the queue of reviews, bot commands, and the outbox of posts.
//!
//! All of it are methods of [`Database`]. A job is a pull request, never a delivery: every request raises a counter, and the
//! worker that claims the pull request carries out all requests up to the count it saw. A finished review, its posts and the
//! counter are stored together or not at all.
//!
//! ```text
//! delivery ─► pull ─► told    commands that people gave the bot, each answered once
//!               │ ├─► asking  reviews with models, counted for the quota
//!               │ ├─► run     the stored review
//!               │ └─► post    the outbox: due and published posts
//!               └──── claim   the lease of the worker; writes with another fencing token are refused
//! ```
//!
//! Nothing here talks to the host.

use tollgate_core::pull::Repo;
use tollgate_core::sha::Sha;

use super::{Database, number};
use crate::failure::Failure;
use crate::store::sql::{self, OptionalExtension as _, Row, from_row, params};

mod bot_command;
mod claim;
mod delivery;
mod failing;
mod finish;
mod post;
mod quota;
mod ready;

pub use crate::store::queue::{Fenced, FencingToken, LeaseLost, LeaseRequest};
pub use bot_command::{BotCommand, BotCommandRow, BotEffect, BotReply};
pub(super) use claim::Rotation;
pub use claim::{Claim, ConcurrencyLimits, Heartbeat, NextClaim};
pub use delivery::{Accepted, NewDelivery};
pub use failing::FailingPull;
pub use finish::{Finished, FinishedJob, ReviewKey};
pub use post::{NewPost, PostKind, PostRow, PostState};
pub use quota::{DailyLimits, Quota, QuotaRequest, SpentQuota};
pub use ready::Priority;
pub(super) use ready::{cancel, hasten, refresh, retry};

/// A pull request as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRow {
    /// Its number in this database.
    pub id: i64,
    /// The repository at the host.
    pub repo: Repo,
    /// Its number at the host.
    pub number: u64,
    /// The installation of the app by which the host is reached.
    pub installation: Option<u64>,
    /// How many requests there were.
    pub wanted: i64,
    /// Up to which request they are carried out.
    pub done: i64,
    /// The last request for another review of the same head.
    pub again: i64,
    /// The last request for a full review.
    pub whole: i64,
    /// When a review is due, in milliseconds since 1970.
    pub review_at_ms: u64,
    /// How many times in a row the review has failed.
    pub attempt: u32,
    /// How many times in a row the host has failed.
    pub troubles: u32,
    /// The person who paused automatic reviews.
    pub paused_by: Option<String>,
    /// True when it was closed or merged, as far as is known.
    pub is_closed: bool,
    /// The target branch, as last read.
    pub base_branch: Option<String>,
    /// The head commit, as last read.
    pub head: Option<Sha>,
    /// The commit of the last review.
    pub reviewed_head: Option<Sha>,
    /// A hash of everything on which that review depends.
    pub reviewed_as: Option<String>,
    /// The last review.
    pub run: Option<i64>,
    /// The last problem, for people.
    pub problem: Option<String>,
}

impl PullRow {
    /// True when a request is not carried out yet.
    pub fn is_owed(&self) -> bool {
        self.wanted > self.done
    }

    /// True when another review is requested, even of a head that was reviewed.
    pub fn is_asked_again(&self) -> bool {
        self.again > self.done
    }

    /// True when a full review is requested.
    pub fn is_asked_whole(&self) -> bool {
        self.whole > self.done
    }
}

impl Database {
    /// A pull request by its number in this database.
    pub fn pull(&self, id: i64) -> Result<Option<PullRow>, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM pull WHERE id = ?1");
        self.read(|connection| connection.query_row(&sql, [id], of_row).optional())
    }

    /// A pull request by its name at the host.
    pub fn pull_at(&self, repo: &Repo, at: u64) -> Result<Option<PullRow>, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM pull WHERE repo_key = ?1 AND number = ?2");
        self.read(|connection| connection.query_row(&sql, params![repo.key(), number(at)], of_row).optional())
    }

    /// The pull requests that are open as far as is known, by their last request, newest first.
    pub fn open_pulls(&self, limit: usize) -> Result<Vec<PullRow>, Failure> {
        let sql = format!("SELECT {COLUMNS} FROM pull WHERE closed = 0 ORDER BY since_ms DESC, id DESC LIMIT ?1");
        self.read(|connection| connection.prepare(&sql)?.query_map([number(limit)], of_row)?.collect())
    }
}

const COLUMNS: &str = "id, repo, number, installation, wanted, done, again, whole, review_at_ms, attempt, troubles, paused_by, \
                       closed, base_branch, head, reviewed_head, reviewed_as, run, problem";

fn of_row(row: &Row<'_>) -> sql::Result<PullRow> {
    let sha = |name: &str| {
        let text: Option<String> = row.get(name)?;
        text.map(|text| Sha::parse(&text).map_err(|error| damaged(error.to_string()))).transpose()
    };
    Ok(from_row!(row => PullRow {
        id, number, installation, wanted, done, again, whole, review_at_ms, attempt, troubles, paused_by, base_branch,
        reviewed_as, run, problem;
        repo: repo(row)?,
        is_closed: row.get("closed")?,
        head: sha("head")?,
        reviewed_head: sha("reviewed_head")?,
    }))
}

fn repo(row: &Row<'_>) -> sql::Result<Repo> {
    let text: String = row.get("repo")?;
    Repo::parse(&text).map_err(|error| damaged(error.to_string()))
}

/// A stored value is not one that this program writes.
pub(super) fn damaged(problem: impl Into<String>) -> sql::Error {
    sql::Error::Damaged(problem.into())
}

#[cfg(test)]
mod tests;
