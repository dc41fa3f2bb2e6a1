//! What stored runs say together: figures over time, and rules by how often they speak.
//!
//! A range is cut into equal parts from its begin on; every run is in the part in which it ended. What a list counts is
//! counted here, too, so the parts add up to the list.

use tollgate_core::finding::Severity;

use super::{Database, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, Value};

/// A range has at most so many parts.
pub const MAX_PARTS: u64 = 400;
/// So many rules are told of.
const MAX_RULES: usize = 20;

/// Which runs are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Those that ended at this time or later, in milliseconds since 1970.
    pub from_ms: u64,
    /// Those that ended before this time.
    pub to_ms: u64,
    /// How long a part is.
    pub part_ms: u64,
    /// Only of this repository.
    pub repository: Option<String>,
}

impl Range {
    /// How many parts there are; the last one may be shorter. At least one, and not more than [`MAX_PARTS`].
    #[must_use]
    pub fn n_parts(&self) -> u64 {
        let length = self.to_ms.saturating_sub(self.from_ms);
        length.div_ceil(self.part_ms.max(1)).clamp(1, MAX_PARTS)
    }

    /// The same length of time right before, in one part.
    #[must_use]
    pub fn before(&self) -> Self {
        let length = self.to_ms.saturating_sub(self.from_ms);
        Self { from_ms: self.from_ms.saturating_sub(length), to_ms: self.from_ms, ..self.whole() }
    }

    /// The same in one part.
    fn whole(&self) -> Self {
        let part_ms = self.to_ms.saturating_sub(self.from_ms).max(1);
        Self { part_ms, ..self.clone() }
    }
}

/// What stored runs say together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trends {
    /// Each part of the range, in order.
    pub parts: Vec<Figures>,
    /// The whole range.
    pub whole: Figures,
    /// The same length of time before it.
    pub before: Figures,
    /// The rules that spoke most often.
    pub rules: Vec<RuleFigures>,
}

/// What the runs of some time say together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// How many runs there were.
    pub n_runs: u64,
    /// Those that were approved.
    pub n_approved: u64,
    /// Those that were commented on.
    pub n_commented: u64,
    /// Those with changes requested.
    pub n_changes_requested: u64,
    /// Those that failed.
    pub n_failed: u64,
    /// Findings that count, by severity; in the order of [`Severity::ALL`].
    pub by_severity: [u64; 6],
    /// Findings that count, by category; in the order of `Category::ALL`.
    pub by_category: [u64; 10],
    /// Findings that the runs before had, of all that were compared.
    pub n_prior: u64,
    /// Those of them that are resolved.
    pub n_resolved: u64,
    /// How long a run took, in milliseconds.
    pub took_ms: Option<Spread>,
    /// What a run cost, in US dollars, of those of which that is known.
    pub cost: Option<Spread>,
    /// What all of them cost.
    pub cost_usd: f64,
    /// Tokens read and written.
    pub n_tokens: u64,
}

/// How values are spread, by the nearest rank: both are values that occur.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Half of them are not larger.
    pub median: f64,
    /// Nine of ten are not larger.
    pub p90: f64,
}

/// What a rule said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFigures {
    /// The rule.
    pub rule: String,
    /// How many findings of it count, over all runs.
    pub n_findings: u64,
    /// How many different findings there are, by repository and fingerprint, also of those that were dismissed.
    pub n_distinct: u64,
    /// How many of them somebody dismissed or suppressed.
    pub n_dismissed: u64,
}

impl Figures {
    /// All findings that count.
    #[must_use]
    pub fn n_findings(&self) -> u64 {
        self.by_severity.iter().sum()
    }

    /// Findings of a severity that blocks.
    #[must_use]
    pub fn n_blockers(&self) -> u64 {
        Severity::ALL.iter().zip(self.by_severity).filter(|(severity, _)| severity.blocks()).map(|(_, n)| n).sum()
    }
}

impl Database {
    /// What the runs of a time say together.
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

/// Reads rows of which each begins with the number of its part.
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

/// The runs of a range: `?1` and `?2` are its ends, `?4` the repository where only one is asked about.
fn in_range(range: &Range) -> &'static str {
    match range.repository {
        None => "ended_ms >= ?1 AND ended_ms < ?2",
        Some(_) => "repository = ?4 AND ended_ms >= ?1 AND ended_ms < ?2",
    }
}

/// What the places in a statement about a range stand for.
pub(super) fn values(range: &Range, third: impl TryInto<i64>) -> Vec<Value> {
    let mut values = [number(range.from_ms), number(range.to_ms), number(third)].map(Value::Integer).to_vec();
    values.extend(range.repository.clone().map(Value::Text));
    values
}

/// The sums of each part; `?3` is how long a part is.
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

/// The median and the ninetieth of a hundred of a column, for each part; `?3` is how long a part is.
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

/// What the rules said that spoke most often; `?3` is how many are told of.
///
/// `CROSS JOIN` has SQLite go through the runs and look into the index of each; by itself it would rather go through all
/// findings there are. What was dismissed is withheld from then on, so it is asked for as well.
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
