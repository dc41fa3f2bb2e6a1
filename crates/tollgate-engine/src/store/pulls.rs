//! Pull requests on a code host: what was delivered, what is owed, what we were told, and what is to be seen there.
//!
//! All of it are methods of [`Database`]. What is owed is owed to a pull request, never to a delivery:
//! each thing that is asked raises a counter, and whoever does the work carries out everything up to the number it saw.
//! A finished review, what is to be posted of it and the counter are stored together or not at all.
//!
//! ```text
//! delivery ─► pull ─► told   what people said to us, each answered once
//!               │ ├─► asking when models were asked, which costs money
//!               │ ├─► run    the stored review
//!               │ └─► post   what is to be seen at the host, and what is there
//!               └──── claim  who works on it until when; who comes with another token is too late
//! ```
//!
//! Nothing here talks to anybody.

use tollgate_core::pull::Repo;
use tollgate_core::sha::Sha;

use super::{Database, number};
use crate::failure::Failure;
use crate::store::sql::{self, OptionalExtension as _, Row, params};

mod bot_command;
mod claim;
mod delivery;
mod failing;
mod finish;
mod post;
mod quota;
mod ready;

pub use bot_command::{BotCommand, BotCommandRow, BotEffect, BotReply};
pub use claim::{Candidate, Claim, ClaimRequest, FencingToken, Heartbeat, Limits, NextClaim};
pub use delivery::{Accepted, NewDelivery};
pub use failing::FailingPull;
pub use finish::{Finished, ReviewKey};
pub use post::{NewPost, PostKind, PostRow, PostState};
pub use quota::{DailyLimits, Quota, QuotaRequest, SpentQuota};
pub use ready::Priority;
pub(super) use ready::{cancel, hasten, refresh, retry};

/// A pull request as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRow {
    /// Its number in this database.
    pub id: i64,
    /// Where it is.
    pub repo: Repo,
    /// Its number there.
    pub number: u64,
    /// The installation in whose name we may act.
    pub installation: Option<u64>,
    /// How often something was asked.
    pub wanted: i64,
    /// Up to where it was carried out.
    pub done: i64,
    /// Up to where somebody asked for another review.
    pub again: i64,
    /// Up to where somebody asked for a review of all of it.
    pub whole: i64,
    /// When a review is due, in milliseconds since 1970.
    pub review_at_ms: u64,
    /// How often what is owed has failed in a row.
    pub attempt: u32,
    /// How often the host was in trouble in a row.
    pub troubles: u32,
    /// Who said that there are to be no more reviews by themselves.
    pub paused_by: Option<String>,
    /// True when it was closed or merged, as far as we know.
    pub is_closed: bool,
    /// The branch it is for, when we last looked.
    pub base_branch: Option<String>,
    /// The commit at its head, when we last looked.
    pub head: Option<Sha>,
    /// The commit that was reviewed last.
    pub reviewed_head: Option<Sha>,
    /// Everything on which that review depends, as a hash.
    pub reviewed_as: Option<String>,
    /// That review.
    pub run: Option<i64>,
    /// What went wrong last, for people.
    pub problem: Option<String>,
}

impl PullRow {
    /// True when something is asked that was not carried out.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.wanted > self.done
    }

    /// True when somebody asked for another review, whatever was reviewed.
    #[must_use]
    pub fn is_asked_again(&self) -> bool {
        self.again > self.done
    }

    /// True when somebody asked for a review of all of it.
    #[must_use]
    pub fn is_asked_whole(&self) -> bool {
        self.whole > self.done
    }
}

/// Somebody else has claimed the pull request by now, or nothing of it is ours to do any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pull request was taken over by somebody else")]
pub struct LeaseLost;

/// What comes of something that only whoever holds the claim may do.
pub type Fenced<T> = Result<Result<T, LeaseLost>, Failure>;

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

    /// The pull requests that are open as far as we know, those that were last asked about first.
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
    Ok(PullRow {
        id: row.get("id")?,
        repo: repo(row)?,
        number: row.get("number")?,
        installation: row.get("installation")?,
        wanted: row.get("wanted")?,
        done: row.get("done")?,
        again: row.get("again")?,
        whole: row.get("whole")?,
        review_at_ms: row.get("review_at_ms")?,
        attempt: row.get("attempt")?,
        troubles: row.get("troubles")?,
        paused_by: row.get("paused_by")?,
        is_closed: row.get("closed")?,
        base_branch: row.get("base_branch")?,
        head: sha("head")?,
        reviewed_head: sha("reviewed_head")?,
        reviewed_as: row.get("reviewed_as")?,
        run: row.get("run")?,
        problem: row.get("problem")?,
    })
}

fn repo(row: &Row<'_>) -> sql::Result<Repo> {
    let text: String = row.get("repo")?;
    Repo::parse(&text).map_err(|error| damaged(error.to_string()))
}

/// What stands in the database is not what was put there.
pub(super) fn damaged(problem: impl Into<String>) -> sql::Error {
    sql::Error::Damaged(problem.into())
}

#[cfg(test)]
mod tests;
