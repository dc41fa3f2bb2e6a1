//! Reads stored runs.

use tollgate_core::coverage::CoverageCount;
use tollgate_core::finding::Severity;
use tollgate_core::names;
use tollgate_core::report::json;
use tollgate_core::review::Review;
use tollgate_core::verdict::Verdict;

use super::{Database, Subject};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, from_row, params};

/// The columns of [`run`], in order.
pub(super) const SELECT: &str = "SELECT id, repository, subject, scope, state, started_ms, finished_ms, version, head, \
     base, compared, title, verdict, gate, problem, n_added, reviewed, skipped, not_reviewed, prior, review, snapshot \
     FROM run";

/// A stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its number.
    pub id: i64,
    /// Its subject.
    pub subject: Subject,
    /// Its final state.
    pub state: State,
    /// Its start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Its end.
    pub finished_ms: u64,
    /// The version of the program.
    pub version: String,
    /// The reviewed commit; empty when the run failed before it was known.
    pub head: String,
    /// The base commit.
    pub base: String,
    /// A description of the comparison.
    pub compared: String,
    /// The title of the change.
    pub title: Option<String>,
    /// The verdict of a completed run.
    pub verdict: Option<Verdict>,
    /// The result of the gate: `open`, `closed`, `partial`.
    pub gate: Option<String>,
    /// The reason of a failure.
    pub problem: Option<String>,
    /// The number of added lines.
    pub n_added: u64,
    /// The coverage.
    pub coverage: CoverageCount,
    /// The prior run.
    pub prior: Option<i64>,
    /// The review of a completed run.
    pub review: Option<Box<Review>>,
    /// The snapshot of the change.
    pub snapshot: Option<Vec<u8>>,
}

/// The final state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Completed with a review.
    Completed,
    /// Failed without one.
    Failed,
    /// Cancelled.
    Cancelled,
}

names!(State {
    Completed => "completed",
    Failed => "failed",
    Cancelled => "cancelled",
});

/// The number of findings of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Counted findings by severity, worst first, without zeros.
    pub by_severity: Vec<(Severity, usize)>,
    /// Withheld findings.
    pub withheld: usize,
}

impl Database {
    /// A run with its review, by its number.
    pub fn review_run(&self, id: i64) -> Result<Option<Run>, Failure> {
        self.read(|connection| by_id(connection, id))
    }

    /// The newest completed runs of a subject, the newest first.
    pub(crate) fn runs_of(&self, subject: &Subject, limit: u32) -> Result<Vec<Run>, Failure> {
        let sql = format!("{SELECT} {OF_SUBJECT} LIMIT ?4");
        self.read(|connection| {
            let of = params![subject.repository, subject.name, subject.scope, limit];
            connection.prepare(&sql)?.query_map(of, run)?.collect()
        })
    }
}

/// The completed runs of a subject, the newest first.
const OF_SUBJECT: &str =
    "WHERE repository = ?1 AND subject = ?2 AND scope = ?3 AND state = 'completed' ORDER BY id DESC";

/// A run by its number.
pub(super) fn by_id(connection: &Connection, id: i64) -> sql::Result<Option<Run>> {
    connection.query_row(&format!("{SELECT} WHERE id = ?1"), [id], run).optional()
}

/// The newest completed run of a subject.
pub(super) fn last_of(connection: &Connection, subject: &Subject) -> sql::Result<Option<Run>> {
    let sql = format!("{SELECT} {OF_SUBJECT} LIMIT 1");
    connection.query_row(&sql, params![subject.repository, subject.name, subject.scope], run).optional()
}

pub(super) fn run(row: &Row<'_>) -> sql::Result<Run> {
    let text: Option<String> = row.get("review")?;
    let review = text.map(|text| json::read_stored(text.as_bytes()).map_err(|error| damaged(error.to_string())));
    let state: String = row.get("state")?;
    let state = State::parse(&state);
    let verdict: Option<String> = row.get("verdict")?;
    Ok(from_row!(row => Run {
        id, started_ms, finished_ms, version, head, base, compared, title, gate, problem, n_added, prior, snapshot;
        subject: Subject { repository: row.get("repository")?, name: row.get("subject")?, scope: row.get("scope")? },
        state: state.ok_or_else(|| damaged("a run has no state".to_owned()))?,
        verdict: verdict.as_deref().and_then(Verdict::parse),
        coverage: CoverageCount {
            reviewed: row.get("reviewed")?,
            skipped: row.get("skipped")?,
            not_reviewed: row.get("not_reviewed")?,
        },
        review: review.transpose()?.map(Box::new),
    }))
}

pub(super) fn damaged(problem: String) -> sql::Error {
    sql::Error::Damaged(problem)
}
