//! How what is owed to a pull request ends: with a review, without one, or later.

use tollgate_core::sha::Sha;

use super::claim::{FencingToken, claimed, let_go};
use super::post::{self, NewPost};
use super::{Fenced, LeaseLost, ready};
use crate::process;
use crate::store::board::NewEvent;
use crate::store::record::{self, RunRecord};
use crate::store::sql::{self, Connection, Row, params};
use crate::store::{Database, board, number};

/// What was owed is carried out.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Up to what of it.
    pub up_to: i64,
    /// The review, if there is one.
    pub record: Option<Box<RunRecord>>,
    /// What was reviewed, when all that depends on it need not be done again.
    pub reviewed: Option<ReviewKey>,
    /// What is to be seen of it.
    pub posts: Vec<NewPost>,
    /// True when it is closed, and what was to be seen of earlier work is not to be any more.
    pub is_closed: bool,
    /// What went wrong, for people.
    pub problem: Option<String>,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

/// What was reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewKey {
    /// The commit.
    pub head: Sha,
    /// Everything on which the review depends, as a hash.
    pub key: String,
}

impl Database {
    /// Stores a finished review with what is to be seen of it, and that it is no longer owed; gives back its number.
    pub fn finish_review(&self, token: FencingToken, finished: Finished) -> Fenced<Option<i64>> {
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            finish(connection, pull, &finished).map(Ok)
        })
    }

    /// Takes up the commit at the head: what was to be seen of others is not to be any more, and their checks end.
    pub fn take_up_head(&self, token: FencingToken, head: &Sha, base_branch: &str, superseded: &str) -> Fenced<()> {
        let (head, base_branch, superseded) = (head.clone(), base_branch.to_owned(), superseded.to_owned());
        self.decide_concurrent(move |connection| {
            let Some(pull) = claimed(connection, token)? else { return Ok(Err(LeaseLost)) };
            let sql = "UPDATE pull SET head = ?2, base_branch = ?3, closed = 0 WHERE id = ?1";
            connection.execute(sql, params![pull, head.as_str(), base_branch])?;
            post::supersede(connection, pull, &head, &superseded)?;
            ready::refresh(connection, pull).map(Ok)
        })
    }

    /// The review is made later, whatever is asked until then; the claim is given back.
    pub fn put_off_review(&self, token: FencingToken, review_at_ms: u64) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let set = "review_at_ms = ?2, put_off_to_ms = ?2";
            let_go(connection, set, params![token.0, number(review_at_ms)])
        })
    }

    /// The review failed and is made again later; the claim is given back.
    pub fn fail_review(&self, token: FencingToken, problem: &str, review_at_ms: u64) -> Fenced<()> {
        let problem = problem.to_owned();
        self.decide_concurrent(move |connection| {
            let set = "review_at_ms = ?2, attempt = attempt + 1, problem = ?3";
            let_go(connection, set, params![token.0, number(review_at_ms), problem])
        })
    }
}

/// How far it is carried out then, in SQL; a mistake of whoever carried it out makes it neither more nor less.
const DONE: &str = "CASE WHEN ?2 > wanted THEN wanted WHEN ?2 > done THEN ?2 ELSE done END";

fn finish(connection: &Connection, pull: i64, finished: &Finished) -> sql::Result<Option<i64>> {
    let (mut run, mut shown_run) = (None, None);
    if let Some(record) = &finished.record {
        run = Some(record::record_in(connection, record)?);
        // One that failed has nothing that could be explained or dismissed.
        shown_run = run.filter(|_| record.outcome.is_ok());
        run.map(|run| board::announce_run(connection, run, record)).transpose()?;
    }
    if finished.is_closed {
        post::cancel_all(connection, pull)?;
    }
    post::put(connection, pull, &finished.posts)?;
    let sql = format!(
        "UPDATE pull SET done = {DONE}, attempt = 0, problem = ?3, closed = ?4, put_off_to_ms = 0, \
         run = coalesce(?5, run), reviewed_head = coalesce(?6, reviewed_head), reviewed_as = coalesce(?7, reviewed_as), \
         {} WHERE id = ?1 RETURNING repo, number",
        ready::set(&format!("wanted > {DONE}"), "review_at_ms")
    );
    let Finished { up_to, problem, is_closed, reviewed, .. } = finished;
    let (head, key) = reviewed.as_ref().map(|ReviewKey { head, key }| (head.as_str(), key)).unzip();
    let values = params![pull, up_to, problem, is_closed, shown_run, head, key];
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (repo, number): (String, i64) = connection.query_row(&sql, values, read)?;
    let payload = serde_json::json!({ "repository": repo, "number": number, "run": run }).to_string();
    let event = NewEvent { project: None, feature: None, kind: "pull:reviewed".to_owned(), payload };
    board::announce_in(connection, &[event], finished.at_ms)?;
    process::crash_point("review-before-commit");
    Ok(run)
}
