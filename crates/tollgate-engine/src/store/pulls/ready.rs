//! From when on a pull request can be claimed, kept beside it so that whoever looks for work reads nothing else.
//!
//! It follows from what is owed; [`refresh`] says so anew. Whatever makes something owed calls it in the same write. What
//! is carried out is noted when the claim is given back: until then nobody else could have it anyway.

use super::delivery;
use super::post::{self, NewPost};
use crate::store::sql::{self, Connection, params};

/// How much something matters to those who wait for it. Each step is worth an hour of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// We found it out ourselves: a base that moved, a head that no delivery told us of.
    Found,
    /// Somebody pushed, opened or closed.
    Pushed,
    /// A person asked for it.
    Asked,
}

impl Priority {
    /// The number that is stored.
    pub(super) fn number(self) -> i64 {
        match self {
            Self::Found => 0,
            Self::Pushed => 1,
            Self::Asked => 2,
        }
    }
}

/// From when on it can be claimed, in SQL; nothing when nothing is owed. A review is owed if `wants`, and from `at` on.
pub(super) fn ready(wants: &str, at: &str) -> String {
    format!(
        "CASE WHEN EXISTS (SELECT 1 FROM told t WHERE t.pull = pull.id AND t.state = 'due') \
           OR EXISTS (SELECT 1 FROM post t WHERE t.pull = pull.id AND t.state IN ('due', 'posting')) THEN not_before_ms \
         WHEN {wants} AND {at} > not_before_ms THEN {at} WHEN {wants} THEN not_before_ms END"
    )
}

/// The same as it is set, with how much it matters: where nothing is owed any more, what comes next matters as much as it
/// does by itself.
pub(super) fn set(wants: &str, at: &str) -> String {
    let ready = ready(wants, at);
    format!("ready_ms = {ready}, priority = CASE WHEN {ready} IS NULL THEN 0 ELSE priority END")
}

/// Says anew from when on a pull request can be claimed.
pub(in crate::store) fn refresh(connection: &Connection, pull: i64) -> sql::Result<()> {
    let sql = format!("UPDATE pull SET {} WHERE id = ?1", set("wanted > done", "review_at_ms"));
    connection.prepare(&sql)?.execute([pull]).map(drop)
}

/// What is owed matters at least so much.
pub(super) fn raise(connection: &Connection, pull: i64, priority: Priority) -> sql::Result<()> {
    let sql = "UPDATE pull SET priority = ?2 WHERE id = ?1 AND priority < ?2";
    connection.prepare(sql)?.execute(params![pull, priority.number()]).map(drop)
}

/// What is owed is done as soon as there is room, whatever went wrong before.
pub(in crate::store) fn hasten(connection: &Connection, pull: i64, priority: Priority) -> sql::Result<()> {
    let sql = "UPDATE pull SET not_before_ms = 0, troubles = 0, problem = CASE WHEN troubles > 0 THEN NULL ELSE problem END \
               WHERE id = ?1";
    connection.execute(sql, [pull])?;
    raise(connection, pull, priority)?;
    refresh(connection, pull)
}

/// Looks at a pull request anew because a person says so, as if nothing had failed.
pub(in crate::store) fn retry(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<()> {
    let sql = "UPDATE pull SET problem = NULL, put_off_to_ms = 0 WHERE id = ?1";
    connection.execute(sql, [pull])?;
    delivery::want(connection, pull, now_ms, (0, Priority::Asked))?;
    delivery::again(connection, pull, false)?;
    let sql = "UPDATE pull SET review_at_ms = ?2 WHERE id = ?1";
    connection.execute(sql, params![pull, super::number(now_ms)])?;
    hasten(connection, pull, Priority::Asked)
}

/// Ends what a pull request is owed, and the claim of whoever works on it; checks end with what is said.
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
        // What an earlier review of the same commit said still holds.
        if !post::has(connection, pull, ends)? {
            post::put(connection, pull, std::slice::from_ref(ends))?;
        }
    }
    refresh(connection, pull)
}
