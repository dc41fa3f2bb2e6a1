//! The inbox: webhook deliveries of the host, stored once and turned into queued jobs in one small transaction.
//!
//! The webhook answers after this transaction, so it does as little as possible. Deliveries are idempotent by their GUID.

use tollgate_core::pull::Repo;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::{CommentRef, PullEvent, WebhookEvent, WebhookEventKind};

use super::ready::{self, Priority};
use super::{bot_command, quota};
use crate::failure::Failure;
use crate::process;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, ToSql, WriteMode, params};
use crate::store::{Database, number};

/// The debounce: a review waits for this long after the last push.
const SETTLE_MS: u64 = 2_000;
/// The longest debounce, however often there are pushes.
const LONGEST_SETTLE_MS: u64 = 30_000;
/// The debounce after a push to the target branch, which is less urgent.
const BASE_SETTLE_MS: u64 = 60_000;
/// The most pull requests that one push to their target branch enqueues.
const MAX_BASED: usize = 200;

/// A delivery of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    /// The identifier that the host keeps when it redelivers.
    pub guid: String,
    /// The kind of event, as the host names it.
    pub event: String,
    /// The request in it. Deliveries without one are not stored.
    pub ask: WebhookEvent,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The result of storing a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is new, and its request is queued.
    New,
    /// It was stored before.
    Known,
}

impl Database {
    /// Stores a delivery; when this returns, it is durable.
    pub fn accept(&self, delivery: NewDelivery) -> Result<Accepted, Failure> {
        let accepted = self.write_concurrent(move |connection| accept(connection, &delivery))?;
        self.notify_jobs();
        Ok(accepted)
    }

    /// Stores a delivery without waiting; `done` gets the result on another thread.
    pub fn accept_then(&self, delivery: NewDelivery, done: impl FnOnce(Result<Accepted, Failure>) + Send + 'static) {
        let notify_jobs = self.job_notifier();
        self.submit(
            WriteMode::Concurrent,
            move |connection| accept(connection, &delivery).map(Ok::<_, std::convert::Infallible>),
            move |decided| {
                notify_jobs();
                done(decided.map(|decided| match decided {
                    Ok(accepted) => accepted,
                    Err(never) => match never {},
                }));
            },
        );
    }

    /// Enqueues a pull request without a delivery; false when it is queued already.
    pub fn request_pull(&self, repo: &Repo, at: u64, installation: Option<u64>, at_ms: u64) -> Result<bool, Failure> {
        let repo = repo.clone();
        let is_new = self.write_concurrent(move |connection| {
            let pull = find_or_make(connection, &repo, at, installation)?;
            let is_owed = pull.since_ms.is_some();
            if !is_owed {
                pull.want(connection, at_ms, (SETTLE_MS, Priority::Found))?;
            }
            Ok(!is_owed)
        })?;
        self.notify_jobs();
        Ok(is_new)
    }

    /// True when a delivery is stored.
    pub fn knows_delivery(&self, guid: &str) -> Result<bool, Failure> {
        let sql = "SELECT 1 FROM delivery WHERE guid = ?1";
        self.read(|connection| connection.prepare(sql)?.exists([guid]))
    }
}

fn accept(connection: &Connection, delivery: &NewDelivery) -> sql::Result<Accepted> {
    let sql = "INSERT INTO delivery (guid, event, received_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    let values = params![delivery.guid, delivery.event, number(delivery.at_ms)];
    if connection.prepare(sql)?.execute(values)? == 0 {
        return Ok(Accepted::Known);
    }
    owe(connection, &delivery.ask, delivery.at_ms)?;
    process::crash_point("delivery-before-commit");
    Ok(Accepted::New)
}

/// Enqueues the request of a delivery.
fn owe(connection: &Connection, ask: &WebhookEvent, at_ms: u64) -> sql::Result<()> {
    match &ask.what {
        WebhookEventKind::Pull { repo, number, about } => {
            let pull = |connection| find_or_make(connection, repo, *number, ask.installation);
            match about {
                PullEvent::Changed { .. } | PullEvent::Closed => {
                    pull(connection)?.want(connection, at_ms, (SETTLE_MS, Priority::Pushed))
                }
                PullEvent::ReviewRequested { by } if by.is_bot => Ok(()),
                PullEvent::ReviewRequested { .. } => {
                    let pull = pull(connection)?;
                    pull.want(connection, at_ms, (0, Priority::Asked))?;
                    again(connection, pull.id, false)
                }
                // Bots may propose dismissals and do nothing else: replies to replies would never end.
                PullEvent::Commanded { by, command, .. }
                    if by.is_bot && !matches!(command, Command::Dismiss { .. }) =>
                {
                    Ok(())
                }
                PullEvent::Thread { by, .. } if by.is_bot => Ok(()),
                PullEvent::Commanded { by, comment, command } => {
                    let place = match comment {
                        CommentRef::Conversation(comment) => ("conversation", *comment, None),
                        CommentRef::Thread { comment, root } => ("thread", *comment, Some(*root)),
                    };
                    // Some bots have a login like that of a person.
                    let is_plain = by.is_bot && !by.login.ends_with(bot_command::BOT_SUFFIX);
                    let suffix = if is_plain { bot_command::BOT_SUFFIX } else { "" };
                    let who = format!("{}{suffix}", by.login);
                    bot_command::insert(connection, pull(connection)?.id, place, &who, command, at_ms)
                }
                PullEvent::Thread { by, comment, resolved } => bot_command::insert_resolved(
                    connection,
                    pull(connection)?.id,
                    *comment,
                    &by.login,
                    *resolved,
                    at_ms,
                ),
            }
        }
        WebhookEventKind::Pushed { repo, branch } => based_on(connection, repo, branch, at_ms),
        WebhookEventKind::Removed { repos } => removed(connection, repos, ask.installation),
    }
}

/// Enqueues the pull requests into a branch that was pushed to: their merge base may have moved.
fn based_on(connection: &Connection, repo: &Repo, branch: &str, at_ms: u64) -> sql::Result<()> {
    let sql = "SELECT id FROM pull WHERE repo_key = ?1 AND base_branch = ?2 AND closed = 0 ORDER BY id DESC LIMIT ?3";
    let mut statement = connection.prepare(sql)?;
    let pulls = statement.query_map(params![repo.key(), branch, number(MAX_BASED)], |row| row.get(0))?;
    for pull in pulls.collect::<sql::Result<Vec<i64>>>()? {
        want(connection, pull, at_ms, (BASE_SETTLE_MS, Priority::Found))?;
    }
    Ok(())
}

/// Cancels all jobs of these repositories, or of the installation when none is named.
fn removed(connection: &Connection, repos: &[Repo], installation: Option<u64>) -> sql::Result<()> {
    if repos.is_empty() {
        return end(connection, "coalesce(installation, 0) = ?1", &[&installation]);
    }
    for repo in repos {
        match installation {
            None => end(connection, "repo_key = ?1", &[&repo.key()])?,
            Some(installation) => {
                end(connection, "repo_key = ?1 AND installation = ?2", &[&repo.key(), &installation])?;
            }
        }
    }
    Ok(())
}

/// Cancels all jobs of these pull requests.
fn end(connection: &Connection, which: &str, values: &[&dyn ToSql]) -> sql::Result<()> {
    let these = format!("SELECT id FROM pull WHERE {which}");
    // Workers lock the row of a pull request before its commands and posts; another order would be a deadlock.
    connection.prepare(&format!("{these} ORDER BY id DESC /* row lock */"))?.query(values)?;
    for sql in [
        format!("UPDATE told SET state = 'done' WHERE state = 'due' AND pull IN ({these})"),
        format!("UPDATE post SET state = 'cancelled' WHERE state IN ('due', 'posting') AND pull IN ({these})"),
        format!(
            "UPDATE pull SET done = wanted, closed = 1, owner = NULL, token = NULL, lease_until_ms = NULL, \
             ready_ms = NULL, priority = 0 WHERE {which}"
        ),
    ] {
        connection.execute(&sql, values)?;
    }
    Ok(())
}

/// A pull request whose row is locked until the transaction ends.
struct Locked {
    id: i64,
    /// Since when a review is queued, if one is.
    since_ms: Option<u64>,
    put_off_to_ms: u64,
}

/// The columns of it.
const LOCKED: &str = "id, CASE WHEN wanted > done THEN since_ms END AS since_ms, put_off_to_ms";

fn locked(row: &Row<'_>) -> sql::Result<Locked> {
    Ok(Locked { id: row.get("id")?, since_ms: row.get("since_ms")?, put_off_to_ms: row.get("put_off_to_ms")? })
}

/// Finds and locks the row of a pull request, or inserts it.
fn find_or_make(connection: &Connection, repo: &Repo, at: u64, installation: Option<u64>) -> sql::Result<Locked> {
    let as_it_is = format!(
        "SELECT {LOCKED} FROM pull WHERE repo_key = ?1 AND repo = ?2 AND number = ?3 \
         AND (installation = ?4 OR ?4 IS NULL) /* row lock */"
    );
    let values = params![repo.key(), repo.to_string(), number(at), installation];
    if let Some(found) = connection.query_row(&as_it_is, values, locked).optional()? {
        return Ok(found);
    }
    let sql = format!(
        "INSERT INTO pull (repo_key, repo, number, installation, lane) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (repo_key, number) DO UPDATE SET repo = excluded.repo, \
         installation = coalesce(excluded.installation, pull.installation), \
         lane = coalesce(excluded.installation, pull.installation, 0) || ' ' || pull.repo_key RETURNING {LOCKED}"
    );
    let lane = format!("{} {}", installation.unwrap_or(0), repo.key());
    let values = params![repo.key(), repo.to_string(), number(at), installation, lane];
    connection.query_row(&sql, values, locked)
}

/// Adds a request to a pull request.
pub(super) fn want(connection: &Connection, pull: i64, at_ms: u64, how: (u64, Priority)) -> sql::Result<()> {
    let sql = format!("SELECT {LOCKED} FROM pull WHERE id = ?1 /* row lock */");
    connection.query_row(&sql, [pull], locked)?.want(connection, at_ms, how)
}

impl Locked {
    /// Adds a request. Earlier failures no longer count. A postponed review stays postponed, unless the time was written by a
    /// wrong clock.
    fn want(&self, connection: &Connection, at_ms: u64, (settle_ms, priority): (u64, Priority)) -> sql::Result<()> {
        let since_ms = self.since_ms.unwrap_or(at_ms);
        let settled_ms = (at_ms + settle_ms).min(since_ms + settle_ms.max(LONGEST_SETTLE_MS));
        let is_put_off = self.put_off_to_ms <= at_ms + quota::LONGEST_PAUSE_MS;
        let review_at_ms = settled_ms.max(if is_put_off { self.put_off_to_ms } else { 0 });
        let sql = format!(
            "UPDATE pull SET wanted = wanted + 1, attempt = 0, closed = 0, since_ms = ?2, review_at_ms = ?3, \
             priority = CASE WHEN priority < ?4 THEN ?4 ELSE priority END, ready_ms = {} WHERE id = ?1",
            ready::ready("1 = 1", "?3")
        );
        let values = params![self.id, number(since_ms), number(review_at_ms), priority.number()];
        connection.execute(&sql, values).map(drop)
    }
}

/// Requests another review, even of a head that was reviewed.
pub(super) fn again(connection: &Connection, pull: i64, whole: bool) -> sql::Result<()> {
    let set = if whole { "again = wanted, whole = wanted" } else { "again = wanted" };
    connection.prepare(&format!("UPDATE pull SET {set} WHERE id = ?1"))?.execute([pull]).map(drop)
}
