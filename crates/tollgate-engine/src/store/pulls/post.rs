//! What is to be seen at the host, and how far it has come.
//!
//! ```text
//! due ─► posting (since when) ─► done (under which number there)
//!   └──────────┴───────────────► cancelled
//! ```
//!
//! A post that was being posted when somebody was killed may be there or not: who comes next has to look.

use tollgate_core::sha::Sha;

use super::claim::{FencingToken, claimed};
use super::{Fenced, LeaseLost, damaged, ready};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, ToSql, params};
use crate::store::{Database, number};

/// What kind of thing is posted. The order is that in which they appear: the check ends when all else is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PostKind {
    /// The review with its comments at lines; one for each head.
    Review,
    /// One comment at lines or at a file; one for each finding.
    Inline,
    /// The summary in the conversation; one for each pull request.
    Summary,
    /// A note in the conversation; one for each head and matter.
    Note,
    /// The answer to what somebody said; one for each comment.
    Reply,
    /// A thread that is to be resolved; one for each finding.
    Resolve,
    /// The check; one for each head.
    Check,
}

impl PostKind {
    const ALL: [Self; 7] =
        [Self::Review, Self::Inline, Self::Summary, Self::Note, Self::Reply, Self::Resolve, Self::Check];

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }

    /// The word that is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Inline => "inline",
            Self::Summary => "summary",
            Self::Note => "note",
            Self::Reply => "reply",
            Self::Resolve => "resolve",
            Self::Check => "check",
        }
    }
}

/// How far a post has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostState {
    /// It is to be posted.
    Due,
    /// Somebody was about to post it.
    Posting,
    /// It is there.
    Done,
    /// It is not to be posted any more.
    Cancelled,
}

impl PostState {
    const ALL: [Self; 4] = [Self::Due, Self::Posting, Self::Done, Self::Cancelled];

    fn as_str(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Posting => "posting",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Something to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPost {
    /// The commit it is about.
    pub head: Sha,
    /// What it is.
    pub kind: PostKind,
    /// Which one of its kind; what has the same key is the same thing, said anew.
    pub key: String,
    /// What it says, as whoever posts it wrote it down.
    pub body: String,
    /// False for a check that is still going on once it is posted.
    pub is_final: bool,
}

/// Something to be posted, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostRow {
    /// Its number in this database.
    pub id: i64,
    /// What is to be posted.
    pub post: NewPost,
    /// How far it has come.
    pub state: PostState,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// Its number at the host, once that is known.
    pub remote_id: Option<u64>,
    /// How often it was tried.
    pub attempt: u32,
    /// Why it cannot be posted.
    pub problem: Option<String>,
}

impl Database {
    /// What is to be posted on a pull request, in the order in which it is to appear.
    pub fn posts_due(&self, pull: i64) -> Result<Vec<PostRow>, Failure> {
        let mut posts = self.posts_in(pull, "state IN ('due', 'posting')")?;
        posts.sort_by_key(|row| (row.post.kind, row.id));
        Ok(posts)
    }

    /// All that was posted on a pull request or is to be, in no order that matters.
    pub fn posts(&self, pull: i64) -> Result<Vec<PostRow>, Failure> {
        self.posts_in(pull, "1 = 1")
    }

    fn posts_in(&self, pull: i64, which: &str) -> Result<Vec<PostRow>, Failure> {
        let sql = format!("{SELECT} WHERE pull = ?1 AND {which} ORDER BY id");
        self.read(|connection| connection.prepare(&sql)?.query_map([pull], of_row)?.collect())
    }

    /// Stores something to be posted, apart from any review.
    pub fn put_posts(&self, token: FencingToken, posts: Vec<NewPost>) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            put(connection, pull, &posts)?;
            ready::refresh(connection, pull).map(Ok)
        })
    }

    /// Somebody is about to post it.
    pub fn begin_post(&self, token: FencingToken, post: i64, now_ms: u64) -> Fenced<()> {
        let set = "state = 'posting', since_ms = ?3, attempt = attempt + 1";
        self.move_post(token, post, set, number(now_ms))
    }

    /// It is there, under this number.
    pub fn end_post(&self, token: FencingToken, post: i64, remote_id: Option<u64>) -> Fenced<()> {
        self.move_post(token, post, "state = 'done', problem = NULL, remote_id = coalesce(?3, remote_id)", remote_id)
    }

    /// It was surely not posted, and is to be posted later.
    pub fn put_back_post(&self, token: FencingToken, post: i64, problem: &str) -> Fenced<()> {
        self.move_post(token, post, "state = 'due', problem = ?3", problem.to_owned())
    }

    /// The host refused it: it is posted later, or given up when that came to so many tries. True when it is posted later.
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

    /// It cannot be posted.
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

/// Stores what is to be posted. What is there already under the same key is said anew,
/// unless it says the same.
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

/// A newer commit is at the head: what is not posted of others is not to be, and their checks end.
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

/// True when there is such a post, whatever it says.
pub(super) fn has(connection: &Connection, pull: i64, post: &NewPost) -> sql::Result<bool> {
    let sql = "SELECT 1 FROM post WHERE pull = ?1 AND kind = ?2 AND key = ?3";
    connection.prepare(sql)?.exists(params![pull, post.kind.as_str(), post.key])
}

/// The checks that go on end with what is said.
pub(super) fn end_checks(connection: &Connection, pull: i64, body: &str) -> sql::Result<()> {
    let sql = "UPDATE post SET body = ?2, final = 1, state = 'due', attempt = 0 WHERE pull = ?1 AND kind = 'check' \
               AND final = 0";
    connection.execute(sql, params![pull, body]).map(drop)
}

fn of_row(row: &Row<'_>) -> sql::Result<PostRow> {
    let (head, kind, state): (String, String, String) = (row.get("head")?, row.get("kind")?, row.get("state")?);
    let head = Sha::parse(&head).map_err(|error| damaged(error.to_string()))?;
    let kind = PostKind::parse(&kind);
    let state = PostState::ALL.into_iter().find(|known| known.as_str() == state);
    let is_final = row.get("final")?;
    let kind = kind.ok_or_else(|| damaged("a post is of no kind"))?;
    Ok(PostRow {
        id: row.get("id")?,
        post: NewPost { head, kind, key: row.get("key")?, body: row.get("body")?, is_final },
        state: state.ok_or_else(|| damaged("a post is in no state"))?,
        since_ms: row.get("since_ms")?,
        remote_id: row.get("remote_id")?,
        attempt: row.get("attempt")?,
        problem: row.get("problem")?,
    })
}

/// The posts of a head that nobody needs to see any more, since the pull request is closed.
pub(super) fn cancel_all(connection: &Connection, pull: i64) -> sql::Result<()> {
    let sql = "UPDATE post SET state = 'cancelled', problem = NULL WHERE pull = ?1 AND state <> 'done' \
               AND kind NOT IN ('reply', 'check')";
    connection.execute(sql, [pull]).map(drop)
}
