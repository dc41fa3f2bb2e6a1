//! The job queue: leases, heartbeats, fencing tokens and backoff, the same for both kinds of job.
//!
//! Two tables are queues: `work` has a row for each feature of the board that needs work, `pull` one for each pull
//! request. In both a row is a job, and the same columns hold its lease:
//!
//! ```text
//! owner, token, lease_until_ms   the worker that holds the lease, its fencing token and the end of the lease
//! not_before_ms                  no claim before this time: the backoff after a failure
//! ```
//!
//! A worker claims a job for some seconds and extends the lease by heartbeats. Every claim draws a higher fencing token,
//! and every later write of the worker names its token: once another worker has claimed the job, the write is refused with
//! [`LeaseLost`]. A dead worker therefore costs the rest of its lease and nothing else. Times are those of the database
//! where several machines share it.
//!
//! What a job is, which one comes next and how it ends is the business of [`super::board`] and [`super::pulls`].

use super::sql::{self, Connection, OptionalExtension as _, Row, ToSql, params};
use super::{Database, number};
use crate::failure::Failure;

/// A lease that ends later than this from now was written by a wrong clock and is ignored.
const LONGEST_LEASE_MS: u64 = 24 * 60 * 60 * 1_000;

/// Proves that a job was claimed; it is valid until the job is claimed again, released or over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FencingToken(pub i64);

/// The lease is gone: another worker has claimed the job, or the job was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease was lost: another worker has claimed the job, or it was cancelled")]
pub struct LeaseLost;

/// The result of a write that only the holder of a lease may make.
pub type Fenced<T> = Result<Result<T, LeaseLost>, Failure>;

/// A worker asks for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The name of the worker.
    pub owner: String,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// How long the lease lasts without a heartbeat.
    pub lease_ms: u64,
}

impl LeaseRequest {
    /// When the lease ends without a heartbeat, in milliseconds since 1970.
    #[must_use]
    pub fn until_ms(&self) -> u64 {
        self.now_ms.saturating_add(self.lease_ms)
    }
}

/// A table whose rows are jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// Work on features of the board.
    Features,
    /// Pull requests to be reviewed, answered or posted to.
    Pulls,
}

impl Queue {
    fn table(self) -> &'static str {
        match self {
            Self::Features => "work",
            Self::Pulls => "pull",
        }
    }

    /// The counter that fencing tokens are drawn from.
    fn tokens(self) -> &'static str {
        match self {
            Self::Features => "token",
            Self::Pulls => "pull_token",
        }
    }

    /// Claims the job that `job` selects and reads `columns` of it.
    ///
    /// `job` is a condition on the table; its own parameters begin at ?5, and ?1 and ?2 are those of [`free`].
    pub(super) fn claim<T>(
        self,
        connection: &Connection,
        lease: &LeaseRequest,
        (job, columns): (&str, &str),
        values: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>, FencingToken) -> sql::Result<T>,
    ) -> sql::Result<Option<T>> {
        let table = self.table();
        let sql = format!(
            "UPDATE {table} SET owner = ?3, token = drawn.next_token, lease_until_ms = ?4 \
             FROM (SELECT {} AS next_token) drawn WHERE {job} RETURNING {columns}, token",
            connection.draw_number(self.tokens())?
        );
        let [now, latest] = validity(lease.now_ms);
        let until = number(lease.until_ms());
        let mut all: Vec<&dyn ToSql> = vec![&now, &latest, &lease.owner, &until];
        all.extend(values);
        let token = |row: &Row<'_>| row.get("token").map(FencingToken);
        connection.query_row(&sql, all.as_slice(), |row| read(row, token(row)?)).optional()
    }

    /// Extends a lease and reads one column of its job; `None` when the lease is lost.
    pub(super) fn heartbeat(
        self,
        connection: &Connection,
        token: FencingToken,
        until_ms: u64,
        column: &str,
    ) -> sql::Result<Option<i64>> {
        let sql = format!("UPDATE {} SET lease_until_ms = ?2 WHERE token = ?1 RETURNING {column}", self.table());
        connection.query_row(&sql, params![token.0, number(until_ms)], |row| row.get(0)).optional()
    }

    /// Releases the lease of the token ?1 with other changes to the job, and reads one column of it.
    pub(super) fn release(
        self,
        connection: &Connection,
        set: &str,
        values: &[&dyn ToSql],
        column: &str,
    ) -> sql::Result<Option<i64>> {
        let sql = format!("UPDATE {} SET {RELEASED}, {set} WHERE token = ?1 RETURNING {column}", self.table());
        connection.query_row(&sql, values, |row| row.get(0)).optional()
    }
}

/// The columns of a lease once it is released.
pub(super) const RELEASED: &str = "owner = NULL, token = NULL, lease_until_ms = NULL";

/// The condition that no lease holds a row at ?1; a lease that ends after ?2 is ignored.
pub(super) fn free(row: &str) -> String {
    format!("({row}.lease_until_ms IS NULL OR {row}.lease_until_ms < ?1 OR {row}.lease_until_ms > ?2)")
}

/// The condition that a lease holds a row at ?1; a lease that ends after ?2 is ignored.
pub(super) fn leased(row: &str) -> String {
    format!("({row}.owner IS NOT NULL AND {row}.lease_until_ms >= ?1 AND {row}.lease_until_ms <= ?2)")
}

/// The parameters ?1 and ?2 of [`free`] and [`leased`].
pub(super) fn validity(now_ms: u64) -> [i64; 2] {
    [number(now_ms), number(now_ms.saturating_add(LONGEST_LEASE_MS))]
}

impl Database {
    /// The workers that hold leases.
    pub fn lease_owners(&self, queue: Queue) -> Result<Vec<String>, Failure> {
        let table = queue.table();
        let sql = format!("SELECT DISTINCT owner FROM {table} WHERE owner IS NOT NULL ORDER BY owner");
        self.read(|connection| connection.prepare(&sql)?.query_map((), |row| row.get(0))?.collect())
    }

    /// When the next job can be claimed, in milliseconds since 1970: when it is due, or when the lease ends that holds it.
    ///
    /// A time that has passed is that of a job that waits for something else, such as a concurrency limit.
    pub fn next_due_ms(&self, queue: Queue, now_ms: u64) -> Result<Option<u64>, Failure> {
        let sql = match queue {
            Queue::Features => format!(
                "SELECT min(CASE WHEN {} THEN w.lease_until_ms + 1 ELSE w.not_before_ms END) FROM work w \
                 JOIN feature f ON f.project = w.project AND f.id = w.feature JOIN project p ON p.id = w.project \
                 WHERE f.deleted_ms IS NULL AND p.removed_ms IS NULL",
                leased("w")
            ),
            Queue::Pulls => format!(
                "SELECT min(CASE WHEN {} THEN p.lease_until_ms + 1 ELSE p.ready_ms END) FROM pull p \
                 WHERE p.ready_ms IS NOT NULL",
                leased("p")
            ),
        };
        self.read(|connection| connection.query_row(&sql, validity(now_ms), |row| row.get(0)))
    }

    /// Releases all leases of a worker that ended, and says how many there were.
    pub fn release_owner(&self, queue: Queue, owner: &str) -> Result<usize, Failure> {
        let (owner, table) = (owner.to_owned(), queue.table());
        let sql = format!("UPDATE {table} SET {RELEASED} WHERE owner = ?1");
        self.write(move |connection| connection.execute(&sql, [owner]))
    }
}
