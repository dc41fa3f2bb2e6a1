//! The queue of work on features: claims, leases, and the processes that run for them.
//!
//! A feature that needs work has one row, its job. Rows come and go with [`transition`](super::transition); claims, heartbeats
//! and releases only change the lease ([`queue`](crate::store::queue)).

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{State, Work};

use super::{damaged, id};
use crate::failure::Failure;
use crate::store::queue::{self, FencingToken, LeaseRequest, Queue, RELEASED};
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, params};
use crate::store::{Database, number};

/// A job whose lease is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The kind of work.
    pub work: Work,
    /// The features that have to be done first.
    pub dependencies: Vec<String>,
    /// True when the file of the feature cannot be read.
    pub is_broken: bool,
}

/// A worker asks for the lease of a job.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The kind of work; if the feature needs another by now, there is nothing to claim.
    pub work: Work,
    /// The worker, and for how long.
    pub lease: LeaseRequest,
    /// How many jobs of the kind may run at once.
    pub limit: Option<ConcurrencyLimit>,
}

/// A concurrency limit.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    /// The kinds of work that count together.
    pub works: Vec<Work>,
    /// The most running jobs, in all projects and processes.
    pub most: usize,
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The kind of work.
    pub work: Work,
    /// The number of the attempt: the same after a crash, and never used for another job.
    pub attempt: i64,
    /// Since when it is queued, in milliseconds since 1970.
    pub since_ms: u64,
    /// The fencing token of the lease.
    pub token: FencingToken,
}

/// A process that may still run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The lease for which it was started.
    pub token: FencingToken,
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// Identifies the process, also after a restart.
    pub mark: String,
}

impl Database {
    /// Jobs that can be claimed now: by priority, then by age.
    pub fn candidates(&self, works: &[Work], now_ms: u64, limit: usize) -> Result<Vec<Candidate>, Failure> {
        let sql = format!(
            "SELECT w.project, w.feature, w.kind, f.dependencies, f.broken IS NOT NULL FROM work w \
             JOIN feature f ON f.project = w.project AND f.id = w.feature JOIN project p ON p.id = w.project \
             WHERE w.kind IN ({}) AND w.not_before_ms <= ?1 AND {} AND f.deleted_ms IS NULL AND p.removed_ms IS NULL \
             ORDER BY f.priority, w.since_ms, w.attempt LIMIT ?3",
            words(works),
            queue::free("w")
        );
        self.read(|connection| {
            let [now, latest] = queue::validity(now_ms);
            connection.prepare(&sql)?.query_map(params![now, latest, number(limit)], candidate)?.collect()
        })
    }

    /// Claims a job; `None` when another worker holds its lease, the feature needs other work by now, or the limit is
    /// reached.
    pub fn claim(&self, request: &ClaimRequest) -> Result<Option<Claim>, Failure> {
        let request = request.clone();
        if request.limit.is_some() {
            // The running jobs are counted first, and no other worker may claim one in between.
            return self.write(move |connection| claim(connection, &request));
        }
        self.write_concurrent(move |connection| claim(connection, &request))
    }

    /// Extends a lease (heartbeat); false when it is lost.
    pub fn heartbeat(&self, token: FencingToken, until_ms: u64) -> Result<bool, Failure> {
        self.write_concurrent(move |connection| {
            Ok(Queue::Features.heartbeat(connection, token, until_ms, "attempt")?.is_some())
        })
    }

    /// Releases a lease; the job is not claimed again before a time. False when the lease is lost.
    pub fn release(&self, token: FencingToken, not_before_ms: u64) -> Result<bool, Failure> {
        self.write_concurrent(move |connection| {
            let values = params![token.0, number(not_before_ms)];
            Ok(Queue::Features.release(connection, "not_before_ms = ?2", values, "attempt")?.is_some())
        })
    }

    /// How many jobs there are, by kind.
    pub fn work_counts(&self) -> Result<Vec<(Work, usize)>, Failure> {
        let sql = "SELECT w.kind, count(*) FROM work w JOIN project p ON p.id = w.project \
                   WHERE p.removed_ms IS NULL GROUP BY w.kind ORDER BY w.kind";
        let read = |row: &Row<'_>| {
            let word: String = row.get(0)?;
            let work = Work::parse(&word).ok_or_else(|| damaged(format!("`{word}` is no work")))?;
            Ok((work, row.get(1)?))
        };
        self.read(|connection| connection.prepare(sql)?.query_map((), read)?.collect())
    }

    /// Records a process that runs for a lease; false when the lease is lost, and it must not run.
    pub fn record_process(&self, token: FencingToken, mark: &str) -> Result<bool, Failure> {
        let mark = mark.to_owned();
        self.write_concurrent(move |connection| {
            let sql = "INSERT INTO process (token, project, feature, mark) \
                       SELECT token, project, feature, ?2 FROM work WHERE token = ?1 \
                       ON CONFLICT (token) DO UPDATE SET mark = excluded.mark";
            Ok(connection.execute(sql, params![token.0, mark])? > 0)
        })
    }

    /// Deletes the record of a process that has ended.
    pub fn forget_process(&self, token: FencingToken) -> Result<(), Failure> {
        self.write_concurrent(move |connection| {
            connection.execute("DELETE FROM process WHERE token = ?1", [token.0]).map(|_| ())
        })
    }

    /// All processes whose end was not recorded, also those of finished jobs.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, Failure> {
        let sql = "SELECT token, project, feature, mark FROM process ORDER BY token";
        self.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let read = |row: &Row<'_>| {
                Ok(ProcessRow {
                    token: FencingToken(row.get(0)?),
                    project: row.get(1)?,
                    feature: id(row.get(2)?)?,
                    mark: row.get(3)?,
                })
            };
            statement.query_map((), read)?.collect()
        })
    }
}

fn words(works: &[Work]) -> String {
    let words: Vec<String> = works.iter().map(|work| format!("'{}'", work.as_str())).collect();
    words.join(", ")
}

fn claim(connection: &Connection, request: &ClaimRequest) -> sql::Result<Option<Claim>> {
    let ClaimRequest { project, feature, work, lease, limit } = request;
    if let Some(limit) = limit {
        let sql =
            format!("SELECT count(*) FROM work w WHERE w.kind IN ({}) AND {}", words(&limit.works), queue::leased("w"));
        let n_running: usize = connection.query_row(&sql, queue::validity(lease.now_ms), |row| row.get(0))?;
        if n_running >= limit.most {
            return Ok(None);
        }
    }
    let job = format!(
        "work.project = ?5 AND work.feature = ?6 AND work.kind = ?7 AND work.not_before_ms <= ?1 AND {} AND EXISTS \
         (SELECT 1 FROM feature f JOIN project p ON p.id = f.project WHERE f.project = ?5 AND f.id = ?6 \
          AND f.deleted_ms IS NULL AND p.removed_ms IS NULL)",
        queue::free("work")
    );
    let values = params![project, feature.as_str(), work.as_str()];
    Queue::Features.claim(connection, lease, (&job, "attempt, since_ms"), values, |row, token| {
        let (attempt, since_ms) = (row.get("attempt")?, row.get("since_ms")?);
        Ok(Claim { project: *project, feature: feature.clone(), work: *work, attempt, since_ms, token })
    })
}

fn candidate(row: &Row<'_>) -> sql::Result<Candidate> {
    let (work, dependencies): (String, String) = (row.get(2)?, row.get(3)?);
    Ok(Candidate {
        project: row.get(0)?,
        feature: id(row.get(1)?)?,
        work: Work::parse(&work).ok_or_else(|| damaged(format!("`{work}` is no work")))?,
        dependencies: super::strings(&dependencies)?,
        is_broken: row.get(4)?,
    })
}

/// The fencing token of the lease on a feature.
pub(super) fn token(connection: &Connection, project: i64, feature: &FeatureId) -> sql::Result<Option<FencingToken>> {
    let sql = "SELECT token FROM work WHERE project = ?1 AND feature = ?2";
    let token: Option<Option<i64>> =
        connection.query_row(sql, params![project, feature.as_str()], |row| row.get(0)).optional()?;
    Ok(token.flatten().map(FencingToken))
}

/// A change of the job of a feature, with its state.
pub(super) struct Settling<'a> {
    pub(super) project: i64,
    pub(super) feature: &'a FeatureId,
    pub(super) before: Option<&'a State>,
    pub(super) after: &'a State,
    pub(super) at_ms: u64,
    /// True when the worker keeps its lease for the next job.
    pub(super) keep: bool,
    /// True when the lease is released although the job is the same.
    pub(super) release: bool,
    pub(super) not_before_ms: Option<u64>,
}

/// Updates the job of a feature after a transition.
pub(super) fn settle(connection: &Connection, settling: &Settling<'_>) -> sql::Result<()> {
    let Settling { project, feature, before, after, at_ms, .. } = *settling;
    if after.work == Work::Nothing {
        connection
            .execute("DELETE FROM work WHERE project = ?1 AND feature = ?2", params![project, feature.as_str()])?;
        return Ok(());
    }
    let is_same = before.is_some_and(|before| is_same(before, after));
    if is_same {
        if settling.release || settling.not_before_ms.is_some() {
            connection.execute(
                &format!("UPDATE work SET {RELEASED}, not_before_ms = ?3 WHERE project = ?1 AND feature = ?2"),
                params![project, feature.as_str(), number(settling.not_before_ms.unwrap_or(0))],
            )?;
        }
        return Ok(());
    }
    let attempt = connection.next_number("attempt")?;
    let change = if settling.keep { String::new() } else { format!(", {RELEASED}") };
    connection.execute(
        &format!(
            "INSERT INTO work (project, feature, kind, attempt, since_ms, not_before_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (project, feature) DO UPDATE SET kind = excluded.kind, attempt = excluded.attempt, \
             since_ms = excluded.since_ms, not_before_ms = excluded.not_before_ms{change}"
        ),
        params![
            project,
            feature.as_str(),
            after.work.as_str(),
            attempt,
            number(at_ms),
            number(settling.not_before_ms.unwrap_or(0))
        ],
    )?;
    Ok(())
}

/// True when the job is the same as before.
fn is_same(before: &State, after: &State) -> bool {
    let what = |state: &State| (state.work, state.iteration, state.tries, state.restarts, state.hook_failed);
    what(before) == what(after) && before.commit == after.commit && before.status == after.status
}
