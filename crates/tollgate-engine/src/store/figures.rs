//! Summary rows of runs for lists and trends, and their search index.
//!
//! They are derived from the run and its findings, so they are rebuilt when a database of an earlier version has none.

use crate::store::sql::{self, Connection, Row, params};
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// The schema version since which every run has a summary row.
pub(super) const SINCE: usize = 4;
/// The schema version since which summaries are by category, and names, files and words are indexed.
pub(super) const INDEXED_SINCE: usize = 7;

/// Inserts the summary row of a run; the parameters are its number, cost and tokens.
///
/// A finding of the prior run is resolved when the next run of the same subject neither has nor withholds it. Only the
/// first run after the prior one counts, so that a repeated review does not count twice.
const FIGURES: &str = "
INSERT INTO run_figures (run, repository, origin, ended_ms, took_ms, result, gate, n_critical, n_high, n_medium, n_low,
  n_nit, n_praise, n_withheld, n_new, n_prior, n_resolved, cost_usd, n_tokens, n_compliance, n_security, n_logic, n_error,
  n_type, n_test, n_perf, n_architecture, n_style, n_doc)
WITH counted AS (
  SELECT
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Critical') AS n_critical,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'High') AS n_high,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Medium') AS n_medium,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Low') AS n_low,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Nit') AS n_nit,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Praise') AS n_praise,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Compliance') AS n_compliance,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Security') AS n_security,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Logic') AS n_logic,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Error') AS n_error,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Type') AS n_type,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Test') AS n_test,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Perf') AS n_perf,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Architecture') AS n_architecture,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Style') AS n_style,
    count(*) FILTER (WHERE withheld IS NULL AND category = 'Doc') AS n_doc,
    count(*) FILTER (WHERE withheld IS NOT NULL) AS n_withheld,
    count(*) FILTER (WHERE since_last = 'new' AND severity <> 'Praise') AS n_new,
    count(*) FILTER (WHERE since_last = 'still open' AND severity <> 'Praise') AS n_still_open
  FROM finding WHERE run = ?1
), compared AS (
  SELECT run.id, count(*) FILTER (WHERE before.withheld IS NULL AND before.severity <> 'Praise') AS n_prior,
    count(*) FILTER (WHERE before.withheld IS NULL AND before.severity <> 'Praise' AND before.fingerprint IN
      (SELECT fingerprint FROM finding WHERE finding.run = ?1 AND finding.withheld IS NOT NULL)) AS n_silenced
  FROM run LEFT JOIN finding AS before ON before.run = run.prior
  WHERE run.id = ?1 AND run.prior IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM run AS other WHERE other.prior = run.prior AND other.id < run.id)
  GROUP BY run.id
)
SELECT run.id, repository,
  CASE WHEN scope = 'pipeline' THEN 'pipeline' WHEN subject LIKE 'pr %' THEN 'pull-request' ELSE 'command-line' END,
  finished_ms, CASE WHEN finished_ms > started_ms THEN finished_ms - started_ms ELSE 0 END,
  coalesce(verdict, 'FAILED'), gate, n_critical, n_high, n_medium, n_low, n_nit, n_praise, n_withheld,
  CASE WHEN prior IS NOT NULL THEN n_new END, n_prior,
  CASE WHEN n_prior < n_still_open + n_silenced THEN 0 ELSE n_prior - n_still_open - n_silenced END,
  CAST(?2 AS DOUBLE PRECISION), CAST(?3 AS BIGINT),
  n_compliance, n_security, n_logic, n_error, n_type, n_test, n_perf, n_architecture, n_style, n_doc
FROM run CROSS JOIN counted LEFT JOIN compared ON compared.id = run.id WHERE run.id = ?1";

/// Adds the names and files of a run to the indexes. The fixed order of locks avoids deadlocks between concurrent
/// writers.
const KEPT: [&str; 4] = [
    "INSERT INTO run_name (kind, name, n) SELECT 'repository', repository, 1 FROM run_figures
     WHERE run = ?1 AND length(repository) <= 500 ON CONFLICT (kind, name) DO UPDATE SET n = run_name.n + 1",
    "INSERT INTO run_name (kind, name, n) SELECT 'reviewer', name, 1 FROM run_reviewer
     WHERE run = ?1 AND length(name) <= 500 ORDER BY name ON CONFLICT (kind, name) DO UPDATE SET n = run_name.n + 1",
    "INSERT INTO run_name (kind, name, n) SELECT 'rule', rule, 1 FROM finding
     WHERE run = ?1 AND length(rule) <= 500 GROUP BY rule ORDER BY rule
     ON CONFLICT (kind, name) DO UPDATE SET n = run_name.n + 1",
    "INSERT INTO finding_file (file, n) SELECT substr(file, 1, 500), count(*) FROM finding
     WHERE run = ?1 AND withheld IS NULL GROUP BY 1 ORDER BY 1 ON CONFLICT (file) DO UPDATE SET n = finding_file.n + excluded.n",
];

/// Builds the indexes of all runs at once.
const KEPT_OF_ALL: &str = "
UPDATE run_figures SET n_compliance = c.n_compliance, n_security = c.n_security, n_logic = c.n_logic,
  n_error = c.n_error, n_type = c.n_type, n_test = c.n_test, n_perf = c.n_perf, n_architecture = c.n_architecture,
  n_style = c.n_style, n_doc = c.n_doc
FROM (SELECT run,
    count(*) FILTER (WHERE category = 'Compliance') AS n_compliance,
    count(*) FILTER (WHERE category = 'Security') AS n_security,
    count(*) FILTER (WHERE category = 'Logic') AS n_logic,
    count(*) FILTER (WHERE category = 'Error') AS n_error,
    count(*) FILTER (WHERE category = 'Type') AS n_type,
    count(*) FILTER (WHERE category = 'Test') AS n_test,
    count(*) FILTER (WHERE category = 'Perf') AS n_perf,
    count(*) FILTER (WHERE category = 'Architecture') AS n_architecture,
    count(*) FILTER (WHERE category = 'Style') AS n_style,
    count(*) FILTER (WHERE category = 'Doc') AS n_doc
  FROM finding WHERE withheld IS NULL GROUP BY run) AS c WHERE c.run = run_figures.run;
INSERT INTO run_name (kind, name, n)
  SELECT 'repository', repository, count(*) FROM run_figures WHERE length(repository) <= 500 GROUP BY repository;
INSERT INTO run_name (kind, name, n)
  SELECT 'reviewer', name, count(*) FROM run_reviewer WHERE length(name) <= 500 GROUP BY name;
INSERT INTO run_name (kind, name, n)
  SELECT 'rule', rule, count(DISTINCT run) FROM finding WHERE length(rule) <= 500 GROUP BY rule;
INSERT INTO finding_file (file, n)
  SELECT substr(file, 1, 500), count(*) FROM finding WHERE withheld IS NULL GROUP BY 1;
INSERT INTO run_search_grams (rowid, text) SELECT run, text FROM run_search;";

/// Adds the summary row and the index entries of a run.
pub(super) fn add(connection: &Connection, run: i64) -> sql::Result<()> {
    let text = add_figures(connection, run)?;
    for sql in KEPT {
        connection.execute(sql, [run])?;
    }
    // PostgreSQL maintains its trigram index itself.
    if connection.is_shared() {
        return Ok(());
    }
    connection.execute("INSERT INTO run_search_grams (rowid, text) VALUES (?1, ?2)", params![run, text])?;
    Ok(())
}

/// Adds the summary rows of all runs, in a migration.
pub(super) fn fill(connection: &Connection) -> sql::Result<()> {
    let runs: Vec<i64> = {
        let mut statement = connection.prepare("SELECT id FROM run ORDER BY id")?;
        statement.query_map((), |row| row.get(0))?.collect::<sql::Result<_>>()?
    };
    runs.into_iter().try_for_each(|run| add_figures(connection, run).map(drop))
}

/// Adds the index entries of all runs with summary rows, in a migration. Only for files, since no server is that old.
pub(super) fn index_all(connection: &Connection) -> sql::Result<()> {
    connection.execute_batch(KEPT_OF_ALL)
}

/// Adds the summary rows and index entries of all runs one by one.
#[cfg(test)]
pub(super) fn fill_anew(connection: &Connection) -> sql::Result<()> {
    let mut statement = connection.prepare("SELECT id FROM run ORDER BY id")?;
    let runs: Vec<i64> = statement.query_map((), |row| row.get(0))?.collect::<sql::Result<_>>()?;
    runs.into_iter().try_for_each(|run| add(connection, run))
}

/// Adds the summary row of a run and returns its searched text.
fn add_figures(connection: &Connection, run: i64) -> sql::Result<String> {
    let sql = "SELECT repository, subject, title, head, problem, review FROM run WHERE id = ?1";
    let (mut text, review) = connection.query_row(sql, [run], |row| Ok((searched(row)?, row.get(5)?)))?;
    let totals = ReviewerTotals::read(review);
    connection.execute(FIGURES, params![run, totals.cost_usd, totals.n_tokens])?;

    let mut reviewers = totals.names;
    let mut statement =
        connection.prepare("SELECT DISTINCT reviewer FROM finding WHERE run = ?1 AND reviewer IS NOT NULL")?;
    for name in statement.query_map([run], |row| row.get(0))? {
        reviewers.insert(name?);
    }
    for name in reviewers {
        connection.execute("INSERT INTO run_reviewer (run, name) VALUES (?1, ?2)", params![run, name])?;
    }

    let mut statement =
        connection.prepare("SELECT summary FROM finding WHERE run = ?1 AND withheld IS NULL ORDER BY id")?;
    for summary in statement.query_map([run], |row| row.get::<_, String>(0))? {
        let _ = writeln!(text, "{}", summary?);
    }
    // Lowercased in Rust, since a database may lowercase ASCII only; a NUL would end the text in C.
    let text = text.to_lowercase().replace('\0', " ");
    connection.execute("INSERT INTO run_search (run, text) VALUES (?1, ?2)", params![run, text])?;
    Ok(text)
}

/// The searched columns of a run, one per line.
fn searched(row: &Row<'_>) -> sql::Result<String> {
    let mut text = String::new();
    for column in 0..5 {
        let _ = writeln!(text, "{}", row.get::<_, Option<String>>(column)?.unwrap_or_default());
    }
    Ok(text)
}

/// The reviewers, cost and tokens in a stored review.
#[derive(Default)]
struct ReviewerTotals {
    names: BTreeSet<String>,
    /// `None` when unknown.
    cost_usd: Option<f64>,
    n_tokens: Option<i64>,
}

impl ReviewerTotals {
    fn read(review: Option<String>) -> Self {
        let review: Value = review.and_then(|review| serde_json::from_str(&review).ok()).unwrap_or_default();
        let mut totals = Self::default();
        for entry in review.get("x_reviewers").and_then(Value::as_array).into_iter().flatten() {
            totals.names.extend(entry.get("name").and_then(Value::as_str).map(str::to_owned));
            if let Some(cost) = entry.get("cost_usd").and_then(Value::as_f64) {
                totals.cost_usd = Some(totals.cost_usd.unwrap_or_default() + cost);
            }
            let tokens = |kind: &str| entry.pointer(&format!("/tokens/{kind}")).and_then(Value::as_i64);
            if let (Some(input), Some(output)) = (tokens("input"), tokens("output")) {
                let sum = input.saturating_add(output);
                totals.n_tokens = Some(totals.n_tokens.unwrap_or_default().saturating_add(sum));
            }
        }
        totals
    }
}
