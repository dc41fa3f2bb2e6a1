//! Pull requests with which something is the matter, for whoever runs the server.

use tollgate_core::pull::Repo;

use super::{PostKind, damaged, repo};
use crate::failure::Failure;
use crate::store::jobs::JobId;
use crate::store::sql::{self, Row};
use crate::store::{Database, number};

/// Something is the matter with a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingPull {
    /// What can be tried again.
    pub job: JobId,
    /// Where it is.
    pub repo: Repo,
    /// Its number there.
    pub number: u64,
    /// What was given up because the host did not take it; `None` when the work as a whole does not get on.
    pub given_up: Option<PostKind>,
    /// What went wrong, in the words in which it was told.
    pub problem: String,
    /// Since when it has been owed, in milliseconds since 1970.
    pub since_ms: u64,
    /// When it is tried again; `None` when nobody tries before somebody asks.
    pub next_ms: Option<u64>,
}

impl FailingPull {
    /// What is the matter, for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.given_up {
            Some(kind) => format!("the {} was given up: {}", kind.as_str(), self.problem),
            None => self.problem.clone(),
        }
    }
}

impl Database {
    /// Open pull requests with which something is the matter, the newest first.
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
