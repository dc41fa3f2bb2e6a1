//! The end of a job: with a review, without one, postponed or failed.

use tollgate_core::sha::Sha;

use super::claim::{Claim, NextClaim, claim_next, claimed, release};
use super::post::{self, NewPost};
use super::{Fenced, FencingToken, LeaseLost, ready};
use crate::process;
use crate::store::board::NewEvent;
use crate::store::record::{self, RunRecord};
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, params};
use crate::store::{Database, board, number};

/// A finished job.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The request up to which it is carried out.
    pub up_to: i64,
    /// The review, if there is one.
    pub record: Option<Box<RunRecord>>,
    /// The key of the review, when the same review need not be made again.
    pub reviewed: Option<ReviewKey>,
    /// The posts to publish.
    pub posts: Vec<NewPost>,
    /// True when the pull request is closed: earlier posts are cancelled.
    pub is_closed: bool,
    /// The problem, for people.
    pub problem: Option<String>,
    /// Now, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Identifies a review by all its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewKey {
    /// The head commit.
    pub head: Sha,
    /// A hash of everything on which the review depends.
    pub key: String,
}

/// The result of [`Database::finish_and_claim`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedJob {
    /// The number of the stored run.
    pub run: Option<i64>,
    /// True when the lease was released; otherwise something else is due, such as posts.
    pub is_released: bool,
    /// The next job.
    pub next: Option<Claim>,
}

/// The lease of a job of which nothing is due any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfDone {
    KeepLease,
    Release,
}

impl Database {
    /// Stores a finished review with its posts and the counter of requests; returns the number of the run.
    pub fn finish_review(&self, token: FencingToken, finished: Finished) -> Fenced<Option<i64>> {
        self.decide_concurrent(move |connection| {
            Ok(finish(connection, token, &finished, IfDone::KeepLease)?.map(|(run, _)| run))
        })
    }

    /// Stores a finished review, and if nothing else of the pull request is due, releases the lease and claims the next job
    /// in the same transaction: a worker commits once for each job.
    pub fn finish_and_claim(&self, token: FencingToken, finished: Finished, next: NextClaim) -> Fenced<FinishedJob> {
        let rotation = self.rotation();
        self.decide_concurrent(move |connection| {
            let (run, is_released) = match finish(connection, token, &finished, IfDone::Release)? {
                Ok(finished) => finished,
                Err(lost) => return Ok(Err(lost)),
            };
            let next = if is_released { claim_next(connection, &next, &rotation)? } else { None };
            Ok(Ok(FinishedJob { run, is_released, next }))
        })
    }

    /// Records the head commit; posts about other commits are superseded, and their checks end.
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

    /// Postpones the review, together with all requests until then, and releases the lease.
    pub fn put_off_review(&self, token: FencingToken, review_at_ms: u64) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let set = "review_at_ms = ?2, put_off_to_ms = ?2";
            release(connection, set, params![token.0, number(review_at_ms)])
        })
    }

    /// Schedules a retry of a failed review, and releases the lease.
    pub fn fail_review(&self, token: FencingToken, problem: &str, review_at_ms: u64) -> Fenced<()> {
        let problem = problem.to_owned();
        self.decide_concurrent(move |connection| {
            let set = "review_at_ms = ?2, attempt = attempt + 1, problem = ?3";
            release(connection, set, params![token.0, number(review_at_ms), problem])
        })
    }
}

/// The new counter, in SQL; it never moves back and never beyond the last request.
const DONE: &str = "CASE WHEN ?2 > wanted THEN wanted WHEN ?2 > done THEN ?2 ELSE done END";

fn finish(
    connection: &Connection,
    token: FencingToken,
    finished: &Finished,
    if_done: IfDone,
) -> sql::Result<Result<(Option<i64>, bool), LeaseLost>> {
    let (mut run, mut shown_run) = (None, None);
    // Stored before the lease is verified: a refusal undoes it.
    if let Some(record) = &finished.record {
        run = Some(record::record_in(connection, record)?);
        // A failed review has no findings that could be explained or dismissed.
        shown_run = run.filter(|_| record.outcome.is_ok());
        run.map(|run| board::announce_run(connection, run, record)).transpose()?;
    }
    // Posts change when the pull request is due, and with it its priority: then that is computed after they are stored.
    let has_posts = finished.is_closed || !finished.posts.is_empty();
    let wants = format!("wanted > {DONE}");
    let ready = if has_posts { String::new() } else { format!(", {}", ready::set(&wants, "review_at_ms")) };
    let mut release = String::new();
    if if_done == IfDone::Release && !has_posts {
        let ready = ready::ready(&wants, "review_at_ms");
        for column in ["owner", "token", "lease_until_ms"] {
            release += &format!("{column} = CASE WHEN {ready} IS NULL THEN NULL ELSE {column} END, ");
        }
        release += "troubles = 0, ";
    }
    let sql = format!(
        "UPDATE pull SET {release}done = {DONE}, attempt = 0, problem = ?3, closed = ?4, put_off_to_ms = 0, \
         run = coalesce(?5, run), reviewed_head = coalesce(?6, reviewed_head), reviewed_as = coalesce(?7, reviewed_as){ready} \
         WHERE token = ?1 RETURNING id, repo, number, owner IS NULL"
    );
    let Finished { up_to, problem, is_closed, reviewed, posts, .. } = finished;
    let (head, key) = reviewed.as_ref().map(|ReviewKey { head, key }| (head.as_str(), key)).unzip();
    let values = params![token.0, up_to, problem, is_closed, shown_run, head, key];
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let updated: Option<(i64, String, i64, bool)> = connection.query_row(&sql, values, read).optional()?;
    let Some((pull, repo, number, is_released)) = updated else { return Ok(Err(LeaseLost)) };
    if *is_closed {
        post::cancel_all(connection, pull)?;
    }
    post::put(connection, pull, posts)?;
    if has_posts {
        ready::refresh(connection, pull)?;
    }
    let payload = serde_json::json!({ "repository": repo, "number": number, "run": run }).to_string();
    let event = NewEvent { project: None, feature: None, kind: "pull:reviewed".to_owned(), payload };
    board::announce_in(connection, &[event], finished.at_ms)?;
    process::crash_point("review-before-commit");
    Ok(Ok((run, is_released)))
}
