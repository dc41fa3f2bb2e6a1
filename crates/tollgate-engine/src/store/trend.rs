//! Trends: figures of stored runs over time, and the most frequent rules.
//!
//! A range is divided into equal parts; a run belongs to the part in which it ended. The same rows as in lists are
//! counted, so the parts add up.

use tollgate_core::finding::Severity;

use super::{Database, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, Value};

/// The maximum number of parts of a range.
pub const MAX_PARTS: u64 = 400;
/// The maximum number of rules.
const MAX_RULES: usize = 20;

/// A time range of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Its start, in milliseconds since 1970.
    pub from_ms: u64,
    /// Its end, exclusive.
    pub to_ms: u64,
    /// The length of a part.
    pub part_ms: u64,
    /// Matches this repository.
    pub repository: Option<String>,
}

impl Range {
    /// The number of parts, from one to [`MAX_PARTS`]; the last one may be shorter.
    #[must_use]
    pub fn n_parts(&self) -> u64 {
        let length = self.to_ms.saturating_sub(self.from_ms);
        length.div_ceil(self.part_ms.max(1)).clamp(1, MAX_PARTS)
    }

    /// The range of the same length right before, in one part.
    #[must_use]
    pub fn before(&self) -> Self {
        let length = self.to_ms.saturating_sub(self.from_ms);
        Self { from_ms: self.from_ms.saturating_sub(length), to_ms: self.from_ms, ..self.whole() }
    }

    /// The range in one part.
    fn whole(&self) -> Self {
        let part_ms = self.to_ms.saturating_sub(self.from_ms).max(1);
        Self { part_ms, ..self.clone() }
    }
}

/// The trends of a range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trends {
    /// Each part of the range, in order.
    pub parts: Vec<Figures>,
    /// The whole range.
    pub whole: Figures,
    /// The range of the same length before it.
    pub before: Figures,
    /// The most frequent rules.
    pub rules: Vec<RuleFigures>,
}

/// The figures of the runs in a time range.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// The number of runs.
    pub n_runs: u64,
    /// Approved runs.
    pub n_approved: u64,
    /// Commented runs.
    pub n_commented: u64,
    /// Runs with changes requested.
    pub n_changes_requested: u64,
    /// Failed runs.
    pub n_failed: u64,
    /// Counted findings by severity, in the order of [`Severity::ALL`].
    pub by_severity: [u64; 6],
    /// Counted findings by category, in the order of `Category::ALL`.
    pub by_category: [u64; 10],
    /// Findings of the prior runs that were compared.
    pub n_prior: u64,
    /// The resolved ones of them.
    pub n_resolved: u64,
    /// The duration of runs, in milliseconds.
    pub took_ms: Option<Spread>,
    /// The cost of runs in US dollars, where known.
    pub cost: Option<Spread>,
    /// The total cost.
    pub cost_usd: f64,
    /// Tokens read and written.
    pub n_tokens: u64,
}

/// The median and the 90th percentile, by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
}

/// The figures of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFigures {
    /// The rule.
    pub rule: String,
    /// The number of counted findings, over all runs.
    pub n_findings: u64,
    /// The number of distinct findings by repository and fingerprint, including dismissed ones.
    pub n_distinct: u64,
    /// The number of dismissed or suppressed ones.
    pub n_dismissed: u64,
}

impl Figures {
    /// All counted findings.
    #[must_use]
    pub fn n_findings(&self) -> u64 {
        self.by_severity.iter().sum()
    }

    /// Findings of a blocking severity.
    #[must_use]
    pub fn n_blockers(&self) -> u64 {
        Severity::ALL.iter().zip(self.by_severity).filter(|(severity, _)| severity.blocks()).map(|(_, n)| n).sum()
    }
}

impl Database {
    /// The trends of a range.
    pub fn trends(&self, range: &Range) -> Result<Trends, Failure> {
        self.read(|connection| {
            let one = |range: &Range| figures(connection, range).map(|mut parts| parts.pop().unwrap_or_default());
            Ok(Trends {
                parts: figures(connection, range)?,
                whole: one(&range.whole())?,
                before: one(&range.before())?,
                rules: rules(connection, range)?,
            })
        })
    }
}

fn figures(connection: &Connection, range: &Range) -> sql::Result<Vec<Figures>> {
    let mut parts = vec![Figures::default(); usize::try_from(range.n_parts()).unwrap_or_default()];
    each(connection, &sums(range), range, &mut parts, |row, part| {
        *part = sums_of(row)?;
        Ok(())
    })?;
    each(connection, &spread(range, "took_ms"), range, &mut parts, |row, part| {
        part.took_ms = Some(Spread { median: row.get(1)?, p90: row.get(2)? });
        Ok(())
    })?;
    each(connection, &spread(range, "cost_usd"), range, &mut parts, |row, part| {
        part.cost = Some(Spread { median: row.get(1)?, p90: row.get(2)? });
        Ok(())
    })?;
    Ok(parts)
}

/// Reads rows that begin with the number of their part.
fn each(
    connection: &Connection,
    sql: &str,
    range: &Range,
    parts: &mut [Figures],
    mut read: impl FnMut(&Row<'_>, &mut Figures) -> sql::Result<()>,
) -> sql::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(&values(range, range.part_ms.max(1)))?;
    while let Some(row) = rows.next()? {
        if let Some(part) = parts.get_mut(row.get::<_, usize>(0)?) {
            read(&row, part)?;
        }
    }
    Ok(())
}

/// The SQL condition of a range: `?1` and `?2` are its ends, `?4` the repository, if any.
fn in_range(range: &Range) -> &'static str {
    match range.repository {
        None => "ended_ms >= ?1 AND ended_ms < ?2",
        Some(_) => "repository = ?4 AND ended_ms >= ?1 AND ended_ms < ?2",
    }
}

/// The values of a range's parameters.
pub(super) fn values(range: &Range, third: impl TryInto<i64>) -> Vec<Value> {
    let mut values = [number(range.from_ms), number(range.to_ms), number(third)].map(Value::Integer).to_vec();
    values.extend(range.repository.clone().map(Value::Text));
    values
}

/// The query for the sums of each part; `?3` is the length of a part.
pub(super) fn sums(range: &Range) -> String {
    let columns = [
        "n_critical",
        "n_high",
        "n_medium",
        "n_low",
        "n_nit",
        "n_praise",
        "n_compliance",
        "n_security",
        "n_logic",
        "n_error",
        "n_type",
        "n_test",
        "n_perf",
        "n_architecture",
        "n_style",
        "n_doc",
        "n_prior",
        "n_resolved",
        "n_tokens",
    ];
    let columns = columns.map(|column| format!("coalesce(CAST(sum({column}) AS BIGINT), 0)")).join(", ");
    format!(
        "SELECT (ended_ms - ?1) / ?3, count(*), count(*) FILTER (WHERE result = 'APPROVED'), \
         count(*) FILTER (WHERE result = 'COMMENTED'), count(*) FILTER (WHERE result = 'CHANGES_REQUESTED'), \
         count(*) FILTER (WHERE result = 'FAILED'), coalesce(sum(cost_usd), 0.0), {columns} \
         FROM run_figures WHERE {} GROUP BY 1",
        in_range(range)
    )
}

fn sums_of(row: &Row<'_>) -> sql::Result<Figures> {
    let mut sums = [0; 19];
    for (column, n) in (7..).zip(&mut sums) {
        *n = row.get(column)?;
    }
    let [c, h, m, l, n, p, by_category @ .., n_prior, n_resolved, n_tokens] = sums;
    Ok(Figures {
        n_runs: row.get(1)?,
        n_approved: row.get(2)?,
        n_commented: row.get(3)?,
        n_changes_requested: row.get(4)?,
        n_failed: row.get(5)?,
        cost_usd: row.get(6)?,
        by_severity: [c, h, m, l, n, p],
        by_category,
        n_prior,
        n_resolved,
        n_tokens,
        ..Figures::default()
    })
}

/// The query for median and 90th percentile of a column by part; `?3` is the length of a part.
pub(super) fn spread(range: &Range, column: &str) -> String {
    format!(
        "WITH ranked AS (SELECT (ended_ms - ?1) / ?3 AS part, {column} AS value, \
         row_number() OVER (PARTITION BY (ended_ms - ?1) / ?3 ORDER BY {column}) AS rank, \
         count(*) OVER (PARTITION BY (ended_ms - ?1) / ?3) AS n \
         FROM run_figures WHERE {} AND {column} IS NOT NULL) \
         SELECT part, CAST(max(value) FILTER (WHERE rank = (n + 1) / 2) AS DOUBLE PRECISION), \
         CAST(max(value) FILTER (WHERE rank = (9 * n + 9) / 10) AS DOUBLE PRECISION) FROM ranked GROUP BY part",
        in_range(range)
    )
}

/// The query for the most frequent rules; `?3` is their number.
///
/// `CROSS JOIN` makes SQLite iterate over the runs and use the index of findings; otherwise it would scan all
/// findings. Dismissed findings are withheld later, so they are included.
pub(super) fn most_frequent(range: &Range) -> String {
    format!(
        "WITH seen AS (SELECT repository, rule, fingerprint, count(*) FILTER (WHERE withheld IS NULL) AS n, \
         max(CASE WHEN withheld IS NOT NULL THEN 1 ELSE 0 END) AS is_suppressed \
         FROM run_figures CROSS JOIN finding WHERE finding.run = run_figures.run AND {} \
         AND rule IS NOT NULL AND (withheld IS NULL OR withheld = 'suppressed') GROUP BY 1, 2, 3) \
         SELECT rule, CAST(sum(n) AS BIGINT), count(*), CAST(sum(CASE WHEN is_suppressed <> 0 OR EXISTS \
         (SELECT 1 FROM dismissal WHERE dismissal.repository = seen.repository \
         AND dismissal.fingerprint = seen.fingerprint AND withdrawn_ms IS NULL) THEN 1 ELSE 0 END) AS BIGINT) \
         FROM seen GROUP BY rule ORDER BY 2 DESC, rule LIMIT ?3",
        in_range(range)
    )
}

fn rules(connection: &Connection, range: &Range) -> sql::Result<Vec<RuleFigures>> {
    let read = |row: &Row<'_>| {
        Ok(RuleFigures {
            rule: row.get(0)?,
            n_findings: row.get(1)?,
            n_distinct: row.get(2)?,
            n_dismissed: row.get(3)?,
        })
    };
    let mut statement = connection.prepare(&most_frequent(range))?;
    statement.query_map(&values(range, MAX_RULES), read)?.collect()
}
