//! Failing pull requests, for the operator of the server.

use tollgate_core::pull::Repo;

use super::{PostKind, damaged, repo};
use crate::failure::Failure;
use crate::store::jobs::JobId;
use crate::store::sql::{self, Row};
use crate::store::{Database, number};

/// A failing pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingPull {
    /// The job that can be retried.
    pub job: JobId,
    /// The repository at the host.
    pub repo: Repo,
    /// Its number at the host.
    pub number: u64,
    /// The kind of post that was given up (dead letter); `None` when the review itself fails.
    pub given_up: Option<PostKind>,
    /// The problem.
    pub problem: String,
    /// Since when the job is queued, in milliseconds since 1970.
    pub since_ms: u64,
    /// When it is retried; `None` when only a person can retry it.
    pub next_ms: Option<u64>,
}

impl FailingPull {
    /// The problem, for people.
    pub fn in_words(&self) -> String {
        match self.given_up {
            Some(kind) => format!("the {} was given up: {}", kind.as_str(), self.problem),
            None => self.problem.clone(),
        }
    }
}

impl Database {
    /// Failing open pull requests, newest first.
    pub fn failing_pulls(&self, limit: usize) -> Result<Vec<FailingPull>, Failure> {
        let sql = "SELECT id, repo, number, CAST(NULL AS TEXT) AS kind, problem, since_ms, CASE \
                     WHEN wanted > done AND not_before_ms < review_at_ms THEN review_at_ms WHEN wanted > done THEN not_before_ms \
                     WHEN EXISTS (SELECT 1 FROM post t WHERE t.pull = p.id AND t.state IN ('due', 'posting')) \
                       THEN not_before_ms END AS next_ms \
                   FROM pull p WHERE problem IS NOT NULL AND closed = 0 \
                   UNION ALL SELECT t.id, repo, number, kind, t.problem, t.since_ms, CAST(NULL AS BIGINT) \
                   FROM post t JOIN pull ON pull.id = t.pull \
                   WHERE t.state = 'cancelled' AND t.problem IS NOT NULL AND closed = 0 \
                   ORDER BY since_ms DESC, repo, number LIMIT ?1";
        self.read(|connection| connection.prepare(sql)?.query_map([number(limit)], of_row)?.collect())
    }
}

fn of_row(row: &Row<'_>) -> sql::Result<FailingPull> {
    let kind: Option<String> = row.get("kind")?;
    let given_up =
        kind.map(|kind| PostKind::parse(&kind).ok_or_else(|| damaged("a post is of no kind"))).transpose()?;
    let id = row.get("id")?;
    Ok(FailingPull {
        job: if given_up.is_some() { JobId::Post(id) } else { JobId::Pull(id) },
        repo: repo(row)?,
        number: row.get("number")?,
        given_up,
        problem: row.get("problem")?,
        since_ms: row.get("since_ms")?,
        next_ms: row.get("next_ms")?,
    })
}
