//! The outbox: posts to publish at the host, each exactly once.
//!
//! ```text
//! due ─► posting (since when) ─► done (with its number at the host)
//!   └──────────┴───────────────► cancelled
//! ```
//!
//! A post that was being published when its worker died may be there or not: the next worker has to look first.

use tollgate_core::names;
use tollgate_core::sha::Sha;

use super::claim::claimed;
use super::{Fenced, FencingToken, LeaseLost, damaged, ready};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, ToSql, from_row, params};
use crate::store::{Database, number};

/// The kind of a post. They are published in this order: the check ends last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PostKind {
    /// The review with its inline comments; one for each head.
    Review,
    /// One inline comment, at lines or at a file; one for each finding.
    Inline,
    /// The summary in the conversation; one for each pull request.
    Summary,
    /// A note in the conversation; one for each head and subject.
    Note,
    /// The reply to a command; one for each comment.
    Reply,
    /// A thread to resolve; one for each finding.
    Resolve,
    /// The check; one for each head.
    Check,
}

names!(PostKind {
    Review => "review",
    Inline => "inline",
    Summary => "summary",
    Note => "note",
    Reply => "reply",
    Resolve => "resolve",
    Check => "check",
});

/// The state of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostState {
    /// To be published.
    Due,
    /// A worker began to publish it.
    Posting,
    /// Published.
    Done,
    /// Cancelled.
    Cancelled,
}

names!(PostState {
    Due => "due",
    Posting => "posting",
    Done => "done",
    Cancelled => "cancelled",
});

/// A new post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPost {
    /// The commit it is about.
    pub head: Sha,
    /// Its kind.
    pub kind: PostKind,
    /// The idempotency key within its kind: a post with the same key replaces the earlier one.
    pub key: String,
    /// Its content, in the form of the publisher.
    pub body: String,
    /// False for a check that stays in progress.
    pub is_final: bool,
}

/// A stored post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostRow {
    /// Its number in this database.
    pub id: i64,
    /// The post.
    pub post: NewPost,
    /// Its state.
    pub state: PostState,
    /// Since when it has this state, in milliseconds since 1970.
    pub since_ms: u64,
    /// Its number at the host, once known.
    pub remote_id: Option<u64>,
    /// How many attempts there were.
    pub attempt: u32,
    /// The problem.
    pub problem: Option<String>,
}

impl Database {
    /// The due posts of a pull request, in the order of publication.
    pub fn posts_due(&self, pull: i64) -> Result<Vec<PostRow>, Failure> {
        let mut posts = self.posts_in(pull, "state IN ('due', 'posting')")?;
        posts.sort_by_key(|row| (row.post.kind, row.id));
        Ok(posts)
    }

    /// All posts of a pull request, in no order that matters.
    pub fn posts(&self, pull: i64) -> Result<Vec<PostRow>, Failure> {
        self.posts_in(pull, "1 = 1")
    }

    fn posts_in(&self, pull: i64, which: &str) -> Result<Vec<PostRow>, Failure> {
        let sql = format!("{SELECT} WHERE pull = ?1 AND {which} ORDER BY id");
        self.read(|connection| connection.prepare(&sql)?.query_map([pull], of_row)?.collect())
    }

    /// Adds posts to the outbox, apart from any review.
    pub fn put_posts(&self, token: FencingToken, posts: Vec<NewPost>) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            put(connection, pull, &posts)?;
            ready::refresh(connection, pull).map(Ok)
        })
    }

    /// Marks a post as being published.
    pub fn begin_post(&self, token: FencingToken, post: i64, now_ms: u64) -> Fenced<()> {
        let set = "state = 'posting', since_ms = ?3, attempt = attempt + 1";
        self.move_post(token, post, set, number(now_ms))
    }

    /// Marks a post as published, with its number at the host.
    pub fn end_post(&self, token: FencingToken, post: i64, remote_id: Option<u64>) -> Fenced<()> {
        self.move_post(token, post, "state = 'done', problem = NULL, remote_id = coalesce(?3, remote_id)", remote_id)
    }

    /// Returns a post to the outbox that was certainly not published.
    pub fn put_back_post(&self, token: FencingToken, post: i64, problem: &str) -> Fenced<()> {
        self.move_post(token, post, "state = 'due', problem = ?3", problem.to_owned())
    }

    /// Records that the host refused a post: it is retried, or given up after so many attempts. True when it is retried.
    pub fn refuse_post(&self, token: FencingToken, post: i64, problem: &str, max_tries: u32) -> Fenced<bool> {
        let problem = problem.to_owned();
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            let sql = "UPDATE post SET attempt = attempt + 1, problem = ?3, \
                       state = CASE WHEN attempt + 1 >= ?4 THEN 'cancelled' ELSE 'due' END WHERE id = ?1 AND pull = ?2 \
                       RETURNING state";
            let values = params![post, pull, problem, max_tries];
            let state: Option<String> = connection.query_row(sql, values, |row| row.get(0)).optional()?;
            Ok(Ok(state.is_some_and(|state| state == PostState::Due.as_str())))
        })
    }

    /// Cancels a post that cannot be published.
    pub fn cancel_post(&self, token: FencingToken, post: i64, problem: &str) -> Fenced<()> {
        self.move_post(token, post, "state = 'cancelled', problem = ?3", problem.to_owned())
    }

    fn move_post(
        &self,
        token: FencingToken,
        post: i64,
        set: &'static str,
        value: impl ToSql + Send + 'static,
    ) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            let sql = format!("UPDATE post SET {set} WHERE id = ?1 AND pull = ?2");
            connection.prepare(&sql)?.execute(params![post, pull, value])?;
            Ok(Ok(()))
        })
    }
}

const SELECT: &str = "SELECT id, head, kind, key, body, final, state, since_ms, remote_id, attempt, problem FROM post";

/// Adds posts to the outbox. A post with the same key is replaced and due again,
/// unless its content is the same.
pub(super) fn put(connection: &Connection, pull: i64, posts: &[NewPost]) -> sql::Result<()> {
    let sql = "INSERT INTO post (pull, head, kind, key, body, final, state, since_ms, attempt) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'due', 0, 0) ON CONFLICT (pull, kind, key) DO UPDATE SET \
               head = excluded.head, final = excluded.final, attempt = 0, problem = NULL, body = excluded.body, \
               state = CASE WHEN post.state = 'done' AND post.body = excluded.body AND post.head = excluded.head \
                 THEN 'done' ELSE 'due' END";
    let mut statement = connection.prepare(sql)?;
    for post in posts {
        let NewPost { head, kind, key, body, is_final } = post;
        statement.execute(params![pull, head.as_str(), kind.as_str(), key, body, is_final])?;
    }
    Ok(())
}

/// Cancels unpublished posts about other commits, and ends their checks.
pub(super) fn supersede(connection: &Connection, pull: i64, head: &Sha, superseded: &str) -> sql::Result<()> {
    connection.execute(
        "UPDATE post SET state = 'cancelled', problem = NULL WHERE pull = ?1 AND head <> ?2 AND state <> 'done' \
         AND kind IN ('review', 'inline', 'summary', 'note')",
        params![pull, head.as_str()],
    )?;
    connection.execute(
        "UPDATE post SET body = ?3, final = 1, state = 'due', attempt = 0 WHERE pull = ?1 AND head <> ?2 \
         AND kind = 'check' AND final = 0",
        params![pull, head.as_str(), superseded],
    )?;
    Ok(())
}

/// True when there is a post with this key.
pub(super) fn has(connection: &Connection, pull: i64, post: &NewPost) -> sql::Result<bool> {
    let sql = "SELECT 1 FROM post WHERE pull = ?1 AND kind = ?2 AND key = ?3";
    connection.prepare(sql)?.exists(params![pull, post.kind.as_str(), post.key])
}

/// Ends the checks in progress with this content.
pub(super) fn end_checks(connection: &Connection, pull: i64, body: &str) -> sql::Result<()> {
    let sql = "UPDATE post SET body = ?2, final = 1, state = 'due', attempt = 0 WHERE pull = ?1 AND kind = 'check' \
               AND final = 0";
    connection.execute(sql, params![pull, body]).map(drop)
}

fn of_row(row: &Row<'_>) -> sql::Result<PostRow> {
    let (head, kind, state): (String, String, String) = (row.get("head")?, row.get("kind")?, row.get("state")?);
    let head = Sha::parse(&head).map_err(|error| damaged(error.to_string()))?;
    let kind = PostKind::parse(&kind);
    let state = PostState::parse(&state);
    let is_final = row.get("final")?;
    let kind = kind.ok_or_else(|| damaged("a post is of no kind"))?;
    Ok(from_row!(row => PostRow {
        id, since_ms, remote_id, attempt, problem;
        post: NewPost { head, kind, key: row.get("key")?, body: row.get("body")?, is_final },
        state: state.ok_or_else(|| damaged("a post is in no state"))?,
    }))
}

/// Cancels the unpublished posts of a closed pull request.
pub(super) fn cancel_all(connection: &Connection, pull: i64) -> sql::Result<()> {
    let sql = "UPDATE post SET state = 'cancelled', problem = NULL WHERE pull = ?1 AND state <> 'done' \
               AND kind NOT IN ('reply', 'check')";
    connection.execute(sql, [pull]).map(drop)
}
