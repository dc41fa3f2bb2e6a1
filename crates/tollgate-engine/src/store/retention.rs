//! Retention: deletes old rows in small batches, so that writers do not wait.
//!
//! ```text
//! reviews     runs with their findings and summaries, unless a feature or an open pull request refers to them, or
//!             the next run of their subject will be compared with them
//! diffs       of features that are completed or deleted
//! deliveries  and posts; summaries of open pull requests are kept, since they are edited
//! events      the event log
//! pulls       closed pull requests with their bot commands and posts
//! ```
//!
//! Each batch is one transaction; the caller decides after each whether to continue. Several processes may run it at
//! once. Immutable rows are deleted concurrently with other writes.

use super::{Database, number};
use crate::config::Retention;
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, WriteMode, params};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// The batch size of small rows.
const AT_ONCE: usize = 500;
/// The batch size of runs, which have findings.
const RUNS_AT_ONCE: usize = 50;
/// The batch size of diffs, and of pull requests with their rows.
const FEW_AT_ONCE: usize = 100;

/// The number of deleted rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Runs.
    pub n_reviews: usize,
    /// Iterations whose diffs were deleted.
    pub n_diffs: usize,
    /// Deliveries.
    pub n_deliveries: usize,
    /// Posts.
    pub n_posts: usize,
    /// Events.
    pub n_events: usize,
    /// Closed pull requests.
    pub n_pulls: usize,
}

/// The progress of a sweep: a time, and a number at that time.
type Cursor = (i64, i64);

impl Database {
    /// Deletes rows that are older than their retention, in batches. After each batch `goes_on` is called.
    pub fn forget(
        &self,
        kept: &Retention,
        now_ms: u64,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Forgotten, Failure> {
        let mut gone = Forgotten::default();
        let before = |days: u64| (days > 0).then(|| number(now_ms.saturating_sub(days.saturating_mul(DAY_MS))));
        if let Some(before) = before(kept.events) {
            gone.n_events = self.forget_rows(WriteMode::Concurrent, EVENTS, before, &mut goes_on)?;
        }
        if let Some(before) = before(kept.deliveries) {
            gone.n_deliveries = self.forget_rows(WriteMode::Concurrent, DELIVERIES, before, &mut goes_on)?;
            gone.n_posts = self.forget_rows(WriteMode::Exclusive, POSTS, before, &mut goes_on)?;
        }
        if let Some(before) = before(kept.pulls) {
            gone.n_pulls =
                self.sweep(WriteMode::Exclusive, move |connection, _| pulls(connection, before), &mut goes_on)?;
        }
        if let Some(before) = before(kept.reviews) {
            let one = move |connection: &Connection, from| runs(connection, before, from);
            gone.n_reviews = self.sweep(WriteMode::Exclusive, one, &mut goes_on)?;
        }
        if let Some(before) = before(kept.diffs) {
            let one = move |connection: &Connection, from| diffs(connection, before, from);
            gone.n_diffs = self.sweep(WriteMode::Exclusive, one, &mut goes_on)?;
        }
        Ok(gone)
    }

    /// True when a review with this number existed and was deleted.
    pub fn forgot_run(&self, run: i64) -> Result<bool, Failure> {
        // Numbers are assigned once, in order.
        let sql = "SELECT CASE WHEN EXISTS (SELECT 1 FROM run WHERE id = ?1) THEN 0 \
                   WHEN EXISTS (SELECT 1 FROM run WHERE id > ?1) THEN 1 ELSE 0 END";
        self.read(|connection| connection.query_row(sql, [run], |row| row.get(0)))
            .map(|is_gone: bool| is_gone && run > 0)
    }

    /// Deletes rows by one statement per batch.
    fn forget_rows(
        &self,
        with: WriteMode,
        sql: &'static str,
        before: i64,
        goes_on: &mut impl FnMut() -> bool,
    ) -> Result<usize, Failure> {
        let one = move |connection: &Connection, _: Cursor| {
            let n_gone = connection.execute(sql, params![before, number(AT_ONCE)])?;
            Ok((n_gone, (n_gone >= AT_ONCE).then_some((0, 0))))
        };
        self.sweep(with, one, goes_on)
    }

    /// Deletes batch by batch; each returns the number of deleted rows, and the cursor if there may be more.
    fn sweep(
        &self,
        with: WriteMode,
        one: impl Fn(&Connection, Cursor) -> sql::Result<(usize, Option<Cursor>)> + Clone + Send + 'static,
        goes_on: &mut impl FnMut() -> bool,
    ) -> Result<usize, Failure> {
        let (mut n_gone, mut from) = (0, (i64::MIN, 0));
        loop {
            let one = one.clone();
            let piece = move |connection: &Connection| one(connection, from);
            let (n, next) = match with {
                WriteMode::Exclusive => self.write(piece)?,
                WriteMode::Concurrent => self.write_concurrent(piece)?,
            };
            n_gone += n;
            match next {
                Some(next) if goes_on() => from = next,
                Some(_) | None => return Ok(n_gone),
            }
        }
    }
}

const EVENTS: &str = "DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)";
const DELIVERIES: &str = "DELETE FROM delivery WHERE guid IN \
    (SELECT guid FROM delivery WHERE received_ms < ?1 ORDER BY received_ms LIMIT ?2)";
/// Summaries are kept, because each push edits them.
const POSTS: &str = "DELETE FROM post WHERE id IN (SELECT t.id FROM post t JOIN pull p ON p.id = t.pull \
    WHERE t.state IN ('done', 'cancelled') AND t.since_ms < ?1 AND t.kind <> 'summary' AND t.final <> 0 \
    AND p.owner IS NULL AND p.wanted = p.done ORDER BY t.since_ms LIMIT ?2)";

/// Deletes closed and idle pull requests with their rows.
fn pulls(connection: &Connection, before: i64) -> sql::Result<(usize, Option<Cursor>)> {
    let sql = "SELECT id FROM pull WHERE closed = 1 AND since_ms < ?1 AND ready_ms IS NULL AND owner IS NULL \
               ORDER BY since_ms LIMIT ?2";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(params![before, number(FEW_AT_ONCE)], |row| row.get(0))?;
    let old: Vec<i64> = rows.collect::<sql::Result<_>>()?;
    for pull in &old {
        connection.execute("DELETE FROM told WHERE pull = ?1", [pull])?;
        connection.execute("DELETE FROM post WHERE pull = ?1", [pull])?;
        connection.execute("DELETE FROM pull WHERE id = ?1", [pull])?;
    }
    Ok((old.len(), (old.len() >= FEW_AT_ONCE).then_some((0, 0))))
}

/// Selects runs in use: a feature or an open pull request refers to them, or they are the prior run of the next one.
/// For a pull request that is the run it refers to.
const IS_NEEDED: &str = "SELECT 1 FROM run r WHERE r.id = ?1 AND (\
      EXISTS (SELECT 1 FROM iteration i WHERE i.run = r.id) \
      OR EXISTS (SELECT 1 FROM pull p WHERE p.run = r.id AND p.closed = 0) \
      OR r.scope <> 'pull' AND r.state = 'completed' AND r.id = (SELECT max(n.id) FROM run n \
        WHERE n.repository = r.repository AND n.subject = r.subject AND n.scope = r.scope AND n.state = 'completed'))";

/// Deletes runs with their findings and summaries.
fn runs(connection: &Connection, before: i64, from: Cursor) -> sql::Result<(usize, Option<Cursor>)> {
    let old = page(connection, OLD_RUNS, before, from, RUNS_AT_ONCE)?;
    let mut n_gone = 0;
    for (_, run) in &old {
        if connection.prepare(IS_NEEDED)?.exists([run])? {
            continue;
        }
        connection.execute("UPDATE pull SET run = NULL WHERE run = ?1", [run])?;
        connection.execute("UPDATE run SET prior = NULL WHERE prior = ?1", [run])?;
        n_gone += connection.execute("DELETE FROM run WHERE id = ?1", [run])?;
    }
    Ok((n_gone, old.last().copied().filter(|_| old.len() >= RUNS_AT_ONCE)))
}

const OLD_RUNS: &str = "SELECT ended_ms, run FROM run_figures WHERE ended_ms < ?1 AND (ended_ms, run) > (?2, ?3) \
                        ORDER BY ended_ms, run LIMIT ?4";
const OLD_DIFFS: &str = "SELECT stored_ms, id FROM iteration WHERE diff IS NOT NULL AND stored_ms < ?1 \
                         AND (stored_ms, id) > (?2, ?3) ORDER BY stored_ms, id LIMIT ?4";

fn page(connection: &Connection, sql: &str, before: i64, from: Cursor, most: usize) -> sql::Result<Vec<Cursor>> {
    let mut statement = connection.prepare(sql)?;
    let values = params![before, from.0, from.1, number(most)];
    statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Deletes the diffs of completed or deleted features, and unreferenced blobs.
fn diffs(connection: &Connection, before: i64, from: Cursor) -> sql::Result<(usize, Option<Cursor>)> {
    let old = page(connection, OLD_DIFFS, before, from, FEW_AT_ONCE)?;
    let is_over = "SELECT i.diff, i.delta FROM iteration i JOIN feature f ON f.project = i.project AND f.id = i.feature \
                   WHERE i.id = ?1 AND (f.status = 'completed' OR f.deleted_ms IS NOT NULL)";
    let unused = "DELETE FROM blob WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM iteration WHERE diff = ?1) \
                  AND NOT EXISTS (SELECT 1 FROM iteration WHERE delta = ?1)";
    let mut n_gone = 0;
    for (_, iteration) in &old {
        let texts = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?]);
        let found: Option<[Option<Vec<u8>>; 2]> = connection.query_row(is_over, [iteration], texts).optional()?;
        let Some(texts) = found else { continue };
        n_gone += connection.execute("UPDATE iteration SET diff = NULL, delta = NULL WHERE id = ?1", [iteration])?;
        for hash in texts.into_iter().flatten() {
            connection.execute(unused, [hash])?;
        }
    }
    Ok((n_gone, old.last().copied().filter(|_| old.len() >= FEW_AT_ONCE)))
}

#[cfg(test)]
mod tests;
