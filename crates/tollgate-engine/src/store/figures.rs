//! What lists and trends show of a run, kept beside it in small rows.
//!
//! They follow from the run and its findings, so they are made again where a memory of an earlier version has none:
//! one text serves for a run that is being stored and for all that are there already.

use std::fmt::Write as _;

use rusqlite::{Connection, Row, params};

/// The version of the schema from which on every run has figures.
pub(super) const SINCE: usize = 4;

/// Makes the figures of every run from this number on.
///
/// What a prior run had is resolved when the next run of the same line of work neither has it still nor withholds it.
/// Only the first run after the prior one tells: a review said twice resolves nothing twice.
const FIGURES: &str = "
INSERT INTO run_figures (run, repository, origin, ended_ms, took_ms, result, gate, n_critical, n_high, n_medium, n_low,
  n_nit, n_praise, n_withheld, n_new, n_prior, n_resolved, cost_usd, n_tokens)
WITH counted AS (
  SELECT run.id,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Critical') AS n_critical,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'High') AS n_high,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Medium') AS n_medium,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Low') AS n_low,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Nit') AS n_nit,
    count(*) FILTER (WHERE withheld IS NULL AND severity = 'Praise') AS n_praise,
    count(*) FILTER (WHERE withheld IS NOT NULL) AS n_withheld,
    count(*) FILTER (WHERE since_last = 'new' AND severity <> 'Praise') AS n_new,
    count(*) FILTER (WHERE since_last = 'still open' AND severity <> 'Praise') AS n_still_open
  FROM run LEFT JOIN finding ON finding.run = run.id WHERE run.id >= ?1 GROUP BY run.id
), compared AS (
  SELECT run.id, count(*) FILTER (WHERE before.withheld IS NULL AND before.severity <> 'Praise') AS n_prior,
    count(*) FILTER (WHERE before.withheld IS NULL AND before.severity <> 'Praise' AND before.fingerprint IN
      (SELECT fingerprint FROM finding AS now WHERE now.run = run.id AND now.withheld IS NOT NULL)) AS n_silenced
  FROM run LEFT JOIN finding AS before ON before.run = run.prior
  WHERE run.id >= ?1 AND run.prior IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM run AS other WHERE other.prior = run.prior AND other.id < run.id)
  GROUP BY run.id
)
SELECT run.id, repository,
  CASE WHEN scope = 'pipeline' THEN 'pipeline' WHEN subject LIKE 'pr %' THEN 'pull-request' ELSE 'command-line' END,
  finished_ms, max(0, finished_ms - started_ms), ifnull(verdict, 'FAILED'), gate,
  n_critical, n_high, n_medium, n_low, n_nit, n_praise, n_withheld,
  CASE WHEN prior IS NOT NULL THEN n_new END, n_prior, max(0, n_prior - n_still_open - n_silenced),
  (SELECT sum(asked.value ->> '$.cost_usd') FROM json_each(review, '$.x_reviewers') AS asked),
  (SELECT CAST(sum((asked.value ->> '$.tokens.input') + (asked.value ->> '$.tokens.output')) AS INTEGER)
     FROM json_each(review, '$.x_reviewers') AS asked)
FROM run JOIN counted USING (id) LEFT JOIN compared USING (id)";

/// Who took part: whoever was asked, and whoever found something.
const REVIEWERS: &str = "
INSERT OR IGNORE INTO run_reviewer (run, name)
SELECT run, reviewer FROM finding WHERE run >= ?1 AND reviewer IS NOT NULL
UNION
SELECT run.id, asked.value ->> '$.name' FROM run, json_each(review, '$.x_reviewers') AS asked
WHERE run.id >= ?1 AND typeof(asked.value ->> '$.name') = 'text'";

/// Adds the figures of the newest run, whose number this is.
pub(super) fn add(connection: &Connection, run: i64) -> rusqlite::Result<()> {
    for sql in [FIGURES, REVIEWERS] {
        connection.execute(sql, [run])?;
    }
    let mut runs =
        connection.prepare("SELECT id, repository, subject, title, head, problem FROM run WHERE id >= ?1")?;
    let mut summaries = connection.prepare("SELECT summary FROM finding WHERE run = ?1 AND withheld IS NULL")?;
    let mut insert = connection.prepare("INSERT INTO run_search (run, text) VALUES (?1, ?2)")?;
    let mut rows = runs.query([run])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let mut text = searched(row)?;
        let mut found = summaries.query([id])?;
        while let Some(row) = found.next()? {
            let _ = writeln!(text, "{}", row.get::<_, String>(0)?);
        }
        insert.execute(params![id, text.to_lowercase()])?;
    }
    Ok(())
}

/// Adds the figures of all runs, none of which has any.
pub(super) fn fill(connection: &Connection) -> rusqlite::Result<()> {
    add(connection, 0)
}

/// What of a run itself can be searched for, a line each.
fn searched(row: &Row<'_>) -> rusqlite::Result<String> {
    let mut text = String::new();
    for column in 1..=5 {
        let _ = writeln!(text, "{}", row.get::<_, Option<String>>(column)?.unwrap_or_default());
    }
    Ok(text)
}
