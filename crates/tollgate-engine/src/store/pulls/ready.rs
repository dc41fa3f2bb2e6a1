//! When a pull request is due, as a column of its row, so that a claim reads one index and nothing else.
//!
//! The column is derived from requests, commands and posts; [`refresh`] computes it. Every write that enqueues something calls
//! it in the same transaction. Finished work is reflected when the lease is released: until then no other worker may claim it.

use super::delivery;
use super::post::{self, NewPost};
use crate::store::sql::{self, Connection, params};

/// The priority of a job. Each step is worth an hour of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Found by ourselves: a base that moved, a head without a delivery.
    Found,
    /// A push, or an opened or closed pull request.
    Pushed,
    /// Requested by a person.
    Asked,
}

impl Priority {
    /// The stored number.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Found => 0,
            Self::Pushed => 1,
            Self::Asked => 2,
        }
    }
}

/// When it is due, in SQL; `NULL` when it is not queued. A review is due at `at` if `wants`.
pub(super) fn ready(wants: &str, at: &str) -> String {
    format!(
        "CASE WHEN EXISTS (SELECT 1 FROM told t WHERE t.pull = pull.id AND t.state = 'due') \
           OR EXISTS (SELECT 1 FROM post t WHERE t.pull = pull.id AND t.state IN ('due', 'posting')) THEN not_before_ms \
         WHEN {wants} AND {at} > not_before_ms THEN {at} WHEN {wants} THEN not_before_ms END"
    )
}

/// The same as an assignment, with the priority: once the queue is empty, the next job begins with its own priority.
pub(super) fn set(wants: &str, at: &str) -> String {
    let ready = ready(wants, at);
    format!("ready_ms = {ready}, priority = CASE WHEN {ready} IS NULL THEN 0 ELSE priority END")
}

/// Computes when a pull request is due.
pub(in crate::store) fn refresh(connection: &Connection, pull: i64) -> sql::Result<()> {
    let sql = format!("UPDATE pull SET {} WHERE id = ?1", set("wanted > done", "review_at_ms"));
    connection.prepare(&sql)?.execute([pull]).map(drop)
}

/// Raises the priority to at least this one.
pub(super) fn raise(connection: &Connection, pull: i64, priority: Priority) -> sql::Result<()> {
    let sql = "UPDATE pull SET priority = ?2 WHERE id = ?1 AND priority < ?2";
    connection.prepare(sql)?.execute(params![pull, priority.number()]).map(drop)
}

/// Makes a job due now, without the backoff of earlier failures.
pub(in crate::store) fn hasten(connection: &Connection, pull: i64, priority: Priority) -> sql::Result<()> {
    let sql = "UPDATE pull SET not_before_ms = 0, troubles = 0, problem = CASE WHEN troubles > 0 THEN NULL ELSE problem END \
               WHERE id = ?1";
    connection.execute(sql, [pull])?;
    raise(connection, pull, priority)?;
    refresh(connection, pull)
}

/// Retries a pull request at the request of a person, as if nothing had failed.
pub(in crate::store) fn retry(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<()> {
    let sql = "UPDATE pull SET problem = NULL, put_off_to_ms = 0 WHERE id = ?1";
    connection.execute(sql, [pull])?;
    delivery::want(connection, pull, now_ms, (0, Priority::Asked))?;
    delivery::again(connection, pull, false)?;
    let sql = "UPDATE pull SET review_at_ms = ?2 WHERE id = ?1";
    connection.execute(sql, params![pull, super::number(now_ms)])?;
    hasten(connection, pull, Priority::Asked)
}

/// Cancels the job of a pull request and its lease; checks end with the given content.
pub(in crate::store) fn cancel(
    connection: &Connection,
    pull: i64,
    is_owed: bool,
    ends: Option<&NewPost>,
) -> sql::Result<()> {
    if !is_owed {
        return connection.execute("UPDATE pull SET problem = NULL WHERE id = ?1", [pull]).map(drop);
    }
    connection.execute("UPDATE told SET state = 'done' WHERE pull = ?1 AND state = 'due'", [pull])?;
    let sql = "UPDATE pull SET done = wanted, attempt = 0, troubles = 0, problem = NULL, put_off_to_ms = 0, \
               not_before_ms = 0, owner = NULL, token = NULL, lease_until_ms = NULL WHERE id = ?1 AND wanted > done";
    if connection.execute(sql, [pull])? > 0
        && let Some(ends) = ends
    {
        post::end_checks(connection, pull, &ends.body)?;
        // An earlier review of the same commit still stands.
        if !post::has(connection, pull, ends)? {
            post::put(connection, pull, std::slice::from_ref(ends))?;
        }
    }
    refresh(connection, pull)
}
