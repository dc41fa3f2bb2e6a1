//! The inbox: webhook deliveries of the host, stored once and turned into queued jobs in one small transaction.
//!
//! The webhook answers after this transaction, so it does as little as possible. Deliveries are idempotent by their GUID.

use std::sync::mpsc;

use tollgate_core::pull::Repo;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::webhook_event::{CommentRef, PullEvent, WebhookEvent, WebhookEventKind};

use super::ready::Priority;
use super::{bot_command, quota};
use crate::failure::{self, Failure};
use crate::process;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, ToSql, WriteMode, params};
use crate::store::{Database, number};

/// The debounce: a review waits for this long after the last push.
const SETTLE_MS: u64 = 2_000;
/// The longest debounce, however often there are pushes.
const LONGEST_SETTLE_MS: u64 = 30_000;
/// The debounce after a push to the target branch, which is less urgent.
const BASE_SETTLE_MS: u64 = 60_000;
/// A push is debounced.
const PUSHED: (u64, Priority) = (SETTLE_MS, Priority::Pushed);
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

impl NewDelivery {
    /// The pull request of a delivery that requests a review after a debounce and nothing else, as most do.
    fn push(&self) -> Option<PullKey<'_>> {
        match &self.ask.what {
            WebhookEventKind::Pull { repo, number, about: PullEvent::Changed { .. } | PullEvent::Closed } => {
                Some(PullKey { repo, number: *number, installation: self.ask.installation })
            }
            _ => None,
        }
    }
}

/// A pull request as a delivery names it.
#[derive(Debug, Clone, Copy)]
struct PullKey<'a> {
    repo: &'a Repo,
    number: u64,
    installation: Option<u64>,
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
        let (answer, answered) = mpsc::sync_channel(1);
        // The receiver waits for it.
        self.accept_then(delivery, move |accepted| _ = answer.send(accepted));
        answered.recv().unwrap_or_else(|_| Err(failure::internal_error()))
    }

    /// Stores a delivery without waiting; `done` gets the result on another thread.
    pub fn accept_then(&self, delivery: NewDelivery, done: impl FnOnce(Result<Accepted, Failure>) + Send + 'static) {
        let notify_jobs = self.job_notifier();
        let done = move |accepted| {
            notify_jobs();
            done(accepted);
        };
        if delivery.push().is_some() {
            self.submit_alone(move |connection| accept(connection, &delivery), done);
        } else {
            self.submit(
                WriteMode::Concurrent,
                move |connection| accept(connection, &delivery).map(Ok::<_, std::convert::Infallible>),
                move |decided| {
                    done(decided.map(|decided| match decided {
                        Ok(accepted) => accepted,
                        Err(never) => match never {},
                    }));
                },
            );
        }
    }

    /// Enqueues a pull request without a delivery; false when it is queued already.
    pub fn request_pull(&self, repo: &Repo, at: u64, installation: Option<u64>, at_ms: u64) -> Result<bool, Failure> {
        let repo = repo.clone();
        let is_new = self.write_concurrent(move |connection| {
            let pull = find_or_make(connection, PullKey { repo: &repo, number: at, installation })?;
            if !pull.is_owed {
                want(connection, pull.id, at_ms, (SETTLE_MS, Priority::Found))?;
            }
            Ok(!pull.is_owed)
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

/// Stores a delivery, unless it is known.
const STORE: &str = "INSERT INTO delivery (guid, event, received_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";

fn accept(connection: &Connection, delivery: &NewDelivery) -> sql::Result<Accepted> {
    let values = params![delivery.guid, delivery.event, number(delivery.at_ms)];
    if let Some(pull) = delivery.push().filter(|_| connection.is_shared()) {
        process::crash_point("delivery-before-commit");
        // One statement, so that a server is asked once. The first part yields a row for the second if the delivery is new.
        let sql = format!("WITH inbox AS ({STORE} RETURNING guid) {}", enqueue(4, "FROM inbox"));
        let request = Request::new(delivery.at_ms, PUSHED);
        let n_new = pull.with_values(&request, |more| {
            connection.prepare(&sql)?.execute_alone([values, more].concat().as_slice())
        })?;
        return Ok(if n_new == 0 { Accepted::Known } else { Accepted::New });
    }
    if connection.prepare(STORE)?.execute(values)? == 0 {
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
            let key = PullKey { repo, number: *number, installation: ask.installation };
            let pull = |connection| find_or_make(connection, key);
            match about {
                PullEvent::Changed { .. } | PullEvent::Closed => key.request(connection, at_ms, PUSHED).map(drop),
                PullEvent::ReviewRequested { by } if by.is_bot => Ok(()),
                PullEvent::ReviewRequested { .. } => {
                    let pull = key.request(connection, at_ms, (0, Priority::Asked))?;
                    again(connection, pull, false)
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
    /// True when a review is queued.
    is_owed: bool,
}

/// The columns of it.
const LOCKED: &str = "id, wanted > done AS is_owed";

fn locked(row: &Row<'_>) -> sql::Result<Locked> {
    Ok(Locked { id: row.get("id")?, is_owed: row.get("is_owed")? })
}

/// Changes the names of a pull request to those of the row that could not be inserted.
const RENAME: &str = "repo = excluded.repo, installation = coalesce(excluded.installation, pull.installation), \
                      lane = coalesce(excluded.installation, pull.installation, 0) || ' ' || pull.repo_key";

/// Finds and locks the row of a pull request, or inserts it.
fn find_or_make(connection: &Connection, key: PullKey<'_>) -> sql::Result<Locked> {
    let as_it_is = format!(
        "SELECT {LOCKED} FROM pull WHERE repo_key = ?1 AND repo = ?2 AND number = ?3 \
         AND (installation = ?4 OR ?4 IS NULL) /* row lock */"
    );
    let PullKey { repo, number: at, installation } = key;
    let values = params![repo.key(), repo.to_string(), number(at), installation];
    if let Some(found) = connection.query_row(&as_it_is, values, locked).optional()? {
        return Ok(found);
    }
    let sql = format!(
        "INSERT INTO pull (repo_key, repo, number, installation, lane) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (repo_key, number) DO UPDATE SET {RENAME} RETURNING {LOCKED}"
    );
    let values = params![repo.key(), repo.to_string(), number(at), installation, key.lane()];
    connection.query_row(&sql, values, locked)
}

impl PullKey<'_> {
    fn lane(&self) -> String {
        format!("{} {}", self.installation.unwrap_or(0), self.repo.key())
    }

    /// Adds a request to the pull request, which is inserted if necessary, and returns its number in this database.
    fn request(&self, connection: &Connection, at_ms: u64, how: (u64, Priority)) -> sql::Result<i64> {
        // Without a condition SQLite would take the conflict clause for that of a join.
        let sql = format!("{} RETURNING id", enqueue(1, "WHERE 1 = 1"));
        let request = Request::new(at_ms, how);
        self.with_values(&request, |values| connection.query_row(&sql, values, |row| row.get(0)))
    }

    /// The parameters of [`enqueue`].
    fn with_values<T>(&self, request: &Request, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        let (key, repo, lane, at) = (self.repo.key(), self.repo.to_string(), self.lane(), number(self.number));
        let mut values: Vec<&dyn ToSql> = request.values().to_vec();
        values.extend(params![key, repo, at, self.installation, lane]);
        run(&values)
    }
}

/// A request for a review, in numbers for SQL.
struct Request {
    at_ms: i64,
    /// When the review is due without earlier requests.
    settled_ms: i64,
    /// How long after the first request it is due at the latest.
    longest_ms: i64,
    /// A review that is postponed beyond this was postponed by a wrong clock.
    latest_ms: i64,
    priority: i64,
}

impl Request {
    fn new(at_ms: u64, (settle_ms, priority): (u64, Priority)) -> Self {
        Self {
            at_ms: number(at_ms),
            settled_ms: number(at_ms.saturating_add(settle_ms)),
            longest_ms: number(settle_ms.max(LONGEST_SETTLE_MS)),
            latest_ms: number(at_ms.saturating_add(quota::LONGEST_PAUSE_MS)),
            priority: priority.number(),
        }
    }

    /// The parameters of [`wanted`].
    fn values(&self) -> [&dyn ToSql; 5] {
        [&self.at_ms, &self.settled_ms, &self.longest_ms, &self.latest_ms, &self.priority]
    }
}

/// The changes to a pull request by one more request, whose parameters begin at `first`.
///
/// Earlier failures no longer count. A postponed review stays postponed, unless the time was written by a wrong clock. Commands
/// and posts that are due keep their time: they are due as soon as anything may be. The row tells them, so that one statement
/// is right even if another transaction enqueues some at this moment; a claim that comes too early costs nothing.
fn wanted(first: usize) -> String {
    let [at, settled, longest, latest, priority] = std::array::from_fn(|index| cast(first + index));
    let since = format!("CASE WHEN pull.wanted > pull.done THEN pull.since_ms ELSE {at} END");
    let settled = format!("CASE WHEN {since} + {longest} < {settled} THEN {since} + {longest} ELSE {settled} END");
    let review_at = format!(
        "CASE WHEN pull.put_off_to_ms <= {latest} AND pull.put_off_to_ms > {settled} THEN pull.put_off_to_ms \
         ELSE {settled} END"
    );
    format!(
        "wanted = pull.wanted + 1, attempt = 0, closed = 0, since_ms = {since}, review_at_ms = {review_at}, \
         priority = CASE WHEN pull.priority < {priority} THEN {priority} ELSE pull.priority END, \
         ready_ms = CASE WHEN pull.ready_ms <= pull.not_before_ms OR {review_at} <= pull.not_before_ms \
         THEN pull.not_before_ms ELSE {review_at} END"
    )
}

/// A parameter that is a number, for statements from which a server cannot tell.
fn cast(place: usize) -> String {
    format!("CAST(?{place} AS BIGINT)")
}

/// Inserts a pull request with one request, or adds the request to it. The parameters are those of [`wanted`] from `first` on,
/// then key, repository, number, installation and lane.
fn enqueue(first: usize, source: &str) -> String {
    let [at, settled, priority, number, installation] = [0, 1, 4, 7, 8].map(|place| cast(first + place));
    let [key, repo, lane] = [5, 6, 9].map(|place| format!("CAST(?{} AS TEXT)", first + place));
    format!(
        "INSERT INTO pull (repo_key, repo, number, installation, lane, wanted, since_ms, review_at_ms, ready_ms, priority) \
         SELECT {key}, {repo}, {number}, {installation}, {lane}, 1, {at}, {settled}, {settled}, {priority} {source} \
         ON CONFLICT (repo_key, number) DO UPDATE SET {RENAME}, {}",
        wanted(first)
    )
}

/// Adds a request to a pull request.
pub(super) fn want(connection: &Connection, pull: i64, at_ms: u64, how: (u64, Priority)) -> sql::Result<()> {
    let request = Request::new(at_ms, how);
    let mut values: Vec<&dyn ToSql> = vec![&pull];
    values.extend(request.values());
    connection.execute(&format!("UPDATE pull SET {} WHERE id = ?1", wanted(2)), values.as_slice()).map(drop)
}

/// Requests another review, even of a head that was reviewed.
pub(super) fn again(connection: &Connection, pull: i64, whole: bool) -> sql::Result<()> {
    let set = if whole { "again = wanted, whole = wanted" } else { "again = wanted" };
    connection.prepare(&format!("UPDATE pull SET {set} WHERE id = ?1"))?.execute([pull]).map(drop)
}
