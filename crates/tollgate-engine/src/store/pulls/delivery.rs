//! What a host delivers: noted once, and turned into what is owed, in one small transaction.
//!
//! This is what a webhook waits for before it is answered, so it does as little as it can.

use rusqlite::{Connection, params};
use tollgate_core::pull::Repo;
use tollgate_core::pull::ask::{About, Ask, Place, What};

use super::{asking, told};
use crate::failure::Failure;
use crate::process;
use crate::store::{Database, number};

/// A review waits for this long after the last push: who pushes once often pushes twice.
const SETTLE_MS: u64 = 2_000;
/// It waits no longer than this, however often somebody pushes.
const LONGEST_SETTLE_MS: u64 = 30_000;
/// What a push to the base means for a pull request has time.
const BASE_SETTLE_MS: u64 = 60_000;
/// So many pull requests are looked at again for one push to their base.
const MAX_BASED: usize = 200;
/// So many deliveries go at once when old ones are forgotten.
const PRUNED_AT_ONCE: i64 = 5_000;

/// Something that a host delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The host's name for it, which it keeps when it is delivered once more.
    pub guid: String,
    /// What kind of event it is, in the host's word.
    pub event: String,
    /// What it asks of us. What asks for nothing need not be taken in.
    pub ask: Ask,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What came of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is new, and what it asks is owed from now on.
    New,
    /// It came before.
    Known,
}

impl Database {
    /// Takes in a delivery, and comes back when it is on the disk.
    pub fn accept(&self, delivery: NewDelivery) -> Result<Accepted, Failure> {
        self.write(move |connection| accept(connection, &delivery))
    }

    /// Takes in a delivery without waiting; `done` is told on another thread what came of it.
    pub fn accept_then(&self, delivery: NewDelivery, done: impl FnOnce(Result<Accepted, Failure>) + Send + 'static) {
        self.submit(
            move |connection| accept(connection, &delivery).map(Ok::<_, std::convert::Infallible>),
            |decided| {
                done(decided.map(|decided| match decided {
                    Ok(accepted) => accepted,
                    Err(never) => match never {},
                }));
            },
        );
    }

    /// Asks for a pull request to be looked at, without a delivery; false when that is owed already.
    pub fn want_pull(&self, repo: &Repo, at: u64, installation: Option<u64>, at_ms: u64) -> Result<bool, Failure> {
        let repo = repo.clone();
        self.write(move |connection| {
            let pull = find_or_make(connection, &repo, at, installation)?;
            let is_owed = "SELECT wanted > done FROM pull WHERE id = ?1";
            if connection.prepare(is_owed)?.query_row([pull], |row| row.get(0))? {
                return Ok(false);
            }
            want(connection, pull, at_ms, SETTLE_MS)?;
            Ok(true)
        })
    }

    /// True when a delivery was taken in.
    pub fn knows_delivery(&self, guid: &str) -> Result<bool, Failure> {
        let sql = "SELECT EXISTS (SELECT 1 FROM delivery WHERE guid = ?1)";
        self.read(|connection| connection.query_row(sql, [guid], |row| row.get(0)))
    }

    /// Forgets deliveries from before a time, some thousands of them at most; true when there may be more.
    pub fn prune_deliveries(&self, before_ms: u64) -> Result<bool, Failure> {
        self.write(move |connection| {
            let sql = "DELETE FROM delivery WHERE guid IN \
                       (SELECT guid FROM delivery WHERE received_ms < ?1 ORDER BY received_ms LIMIT ?2)";
            let n_gone = connection.execute(sql, params![number(before_ms), PRUNED_AT_ONCE])?;
            Ok(number(n_gone) >= PRUNED_AT_ONCE)
        })
    }
}

fn accept(connection: &Connection, delivery: &NewDelivery) -> rusqlite::Result<Accepted> {
    let sql = "INSERT OR IGNORE INTO delivery (guid, event, received_ms) VALUES (?1, ?2, ?3)";
    let values = params![delivery.guid, delivery.event, number(delivery.at_ms)];
    if connection.prepare(sql)?.execute(values)? == 0 {
        return Ok(Accepted::Known);
    }
    owe(connection, &delivery.ask, delivery.at_ms)?;
    process::crash_point("P3");
    Ok(Accepted::New)
}

/// Notes what is owed from now on.
fn owe(connection: &Connection, ask: &Ask, at_ms: u64) -> rusqlite::Result<()> {
    match &ask.what {
        What::Pull { repo, number, about } => {
            let pull = |connection| find_or_make(connection, repo, *number, ask.installation);
            match about {
                About::Changed { .. } | About::Closed => want(connection, pull(connection)?, at_ms, SETTLE_MS),
                About::Again { by } if by.is_bot => Ok(()),
                About::Again { .. } => {
                    let pull = pull(connection)?;
                    want(connection, pull, at_ms, 0)?;
                    again(connection, pull, false)
                }
                // A program that talks to us may be ourselves, and would be answered for ever.
                About::Said { by, .. } | About::Thread { by, .. } if by.is_bot => Ok(()),
                About::Said { by, comment, command } => {
                    let place = match comment {
                        Place::Conversation(comment) => ("conversation", *comment, None),
                        Place::Thread { comment, root } => ("thread", *comment, Some(*root)),
                    };
                    told::insert(connection, pull(connection)?, place, &by.login, command, at_ms)
                }
                About::Thread { by, comment, resolved } => {
                    told::insert_resolved(connection, pull(connection)?, *comment, &by.login, *resolved, at_ms)
                }
            }
        }
        What::Pushed { repo, branch } => based_on(connection, repo, branch, at_ms),
        What::Removed { repos } => removed(connection, repos, ask.installation),
    }
}

/// Looks again at what is for a branch that was pushed to: where it began may have moved.
fn based_on(connection: &Connection, repo: &Repo, branch: &str, at_ms: u64) -> rusqlite::Result<()> {
    let sql = "SELECT id FROM pull WHERE repo_key = ?1 AND base_branch = ?2 AND NOT closed ORDER BY id DESC LIMIT ?3";
    let mut statement = connection.prepare(sql)?;
    let pulls = statement.query_map(params![repo.key(), branch, number(MAX_BASED)], |row| row.get(0))?;
    for pull in pulls.collect::<rusqlite::Result<Vec<i64>>>()? {
        want(connection, pull, at_ms, BASE_SETTLE_MS)?;
    }
    Ok(())
}

/// Nothing is owed any more in these repositories, or to this installation when none is named.
fn removed(connection: &Connection, repos: &[Repo], installation: Option<u64>) -> rusqlite::Result<()> {
    let keys: Vec<String> = repos.iter().map(Repo::key).collect();
    let keys = serde_json::to_string(&keys).unwrap_or_default();
    let which = "SELECT id FROM pull WHERE CASE WHEN ?1 = '[]' THEN installation = ?2 \
                 ELSE repo_key IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR installation = ?2) END";
    for sql in [
        format!("UPDATE told SET state = 'done' WHERE state = 'due' AND pull IN ({which})"),
        format!("UPDATE post SET state = 'cancelled' WHERE state IN ('due', 'posting') AND pull IN ({which})"),
        format!(
            "UPDATE pull SET done = wanted, closed = 1, owner = NULL, token = NULL, lease_until_ms = NULL \
             WHERE id IN ({which})"
        ),
    ] {
        connection.execute(&sql, params![keys, installation])?;
    }
    Ok(())
}

/// The row of a pull request.
pub(super) fn find_or_make(
    connection: &Connection,
    repo: &Repo,
    at: u64,
    installation: Option<u64>,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO pull (repo_key, repo, number, installation) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (repo_key, number) DO UPDATE SET repo = excluded.repo, \
               installation = coalesce(excluded.installation, installation) RETURNING id";
    let values = params![repo.key(), repo.to_string(), number(at), installation];
    connection.prepare(sql)?.query_row(values, |row| row.get(0))
}

/// Raises what is wanted of a pull request. A failure of what was wanted before does not count any more; a review that
/// was put off stays so, unless another clock said until when.
pub(super) fn want(connection: &Connection, pull: i64, at_ms: u64, settle_ms: u64) -> rusqlite::Result<()> {
    // Everything on the right is what was there before.
    let sql = "UPDATE pull SET wanted = wanted + 1, attempt = 0, closed = 0, \
               since_ms = iif(wanted > done, since_ms, ?2), \
               review_at_ms = max(iif(put_off_to_ms <= ?2 + ?5, put_off_to_ms, 0), \
                 min(?2 + ?3, iif(wanted > done, since_ms, ?2) + max(?3, ?4))) WHERE id = ?1";
    let (longest, longest_pause) = (number(LONGEST_SETTLE_MS), number(asking::LONGEST_PAUSE_MS));
    connection.prepare(sql)?.execute(params![pull, number(at_ms), number(settle_ms), longest, longest_pause])?;
    Ok(())
}

/// Whatever was reviewed, what is wanted now is another review.
pub(super) fn again(connection: &Connection, pull: i64, whole: bool) -> rusqlite::Result<()> {
    let sql = "UPDATE pull SET again = wanted, whole = iif(?2, wanted, whole), paused_by = paused_by WHERE id = ?1";
    connection.prepare(sql)?.execute(params![pull, whole])?;
    Ok(())
}
