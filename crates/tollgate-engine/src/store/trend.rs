//! What stored runs say together: figures over time, and rules by how often they speak.
//!
//! A range is cut into equal parts from its begin on; every run is in the part in which it ended. What a list counts is
//! counted here, too, so the parts add up to the list.

use rusqlite::{Connection, Row, named_params};
use tollgate_core::finding::{Category, Severity};

use super::{Database, number, row};
use crate::failure::Failure;

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
    /// Findings that count, by category; in the order of [`Category::ALL`].
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

/// The runs of a range. Where their findings are asked for, `CROSS JOIN` has SQLite go through the runs and look into the
/// index of each; by itself it would rather go through all findings there are.
const IN_RANGE: &str = "ended_ms >= :from AND ended_ms < :to AND (:repository IS NULL OR repository = :repository)";

fn figures(connection: &Connection, range: &Range) -> rusqlite::Result<Vec<Figures>> {
    let mut parts = vec![Figures::default(); usize::try_from(range.n_parts()).unwrap_or_default()];
    let sums = format!(
        "SELECT (ended_ms - :from) / :part, count(*), sum(result = 'APPROVED'), sum(result = 'COMMENTED'), \
         sum(result = 'CHANGES_REQUESTED'), sum(result = 'FAILED'), sum(n_critical), sum(n_high), sum(n_medium), \
         sum(n_low), sum(n_nit), sum(n_praise), ifnull(sum(n_prior), 0), ifnull(sum(n_resolved), 0), total(cost_usd), \
         ifnull(sum(n_tokens), 0) FROM run_figures WHERE {IN_RANGE} GROUP BY 1"
    );
    each(connection, &sums, range, &mut parts, |row, part| {
        let by_category = part.by_category;
        *part = sums_of(row)?;
        part.by_category = by_category;
        Ok(())
    })?;
    let categories = format!(
        "SELECT (ended_ms - :from) / :part, category, count(*) FROM run_figures CROSS JOIN finding USING (run) \
         WHERE {IN_RANGE} AND withheld IS NULL GROUP BY 1, 2"
    );
    each(connection, &categories, range, &mut parts, |row, part| {
        let word: String = row.get(1)?;
        let index = Category::ALL.iter().position(|category| category.as_str() == word);
        let index = index.ok_or_else(|| row::damaged(format!("`{word}` is no category")))?;
        part.by_category[index] = row.get(2)?;
        Ok(())
    })?;
    each(connection, &spread("took_ms"), range, &mut parts, |row, part| {
        part.took_ms = Some(Spread { median: row.get(1)?, p90: row.get(2)? });
        Ok(())
    })?;
    each(connection, &spread("cost_usd"), range, &mut parts, |row, part| {
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
    mut read: impl FnMut(&Row<'_>, &mut Figures) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(named_params! {
        ":from": number(range.from_ms),
        ":to": number(range.to_ms),
        ":part": number(range.part_ms.max(1)),
        ":repository": range.repository,
    })?;
    while let Some(row) = rows.next()? {
        if let Some(part) = parts.get_mut(row.get::<_, usize>(0)?) {
            read(row, part)?;
        }
    }
    Ok(())
}

fn sums_of(row: &Row<'_>) -> rusqlite::Result<Figures> {
    let mut by_severity = [0; 6];
    for (column, n) in (6..).zip(&mut by_severity) {
        *n = row.get(column)?;
    }
    Ok(Figures {
        n_runs: row.get(1)?,
        n_approved: row.get(2)?,
        n_commented: row.get(3)?,
        n_changes_requested: row.get(4)?,
        n_failed: row.get(5)?,
        by_severity,
        n_prior: row.get(12)?,
        n_resolved: row.get(13)?,
        cost_usd: row.get(14)?,
        n_tokens: row.get(15)?,
        ..Figures::default()
    })
}

/// The median and the ninetieth of a hundred of a column, for each part.
fn spread(column: &str) -> String {
    format!(
        "WITH ranked AS (SELECT (ended_ms - :from) / :part AS part, {column} AS value, \
         row_number() OVER (PARTITION BY (ended_ms - :from) / :part ORDER BY {column}) AS rank, \
         count(*) OVER (PARTITION BY (ended_ms - :from) / :part) AS n \
         FROM run_figures WHERE {IN_RANGE} AND {column} IS NOT NULL) \
         SELECT part, CAST(max(value) FILTER (WHERE rank = (n + 1) / 2) AS REAL), \
         CAST(max(value) FILTER (WHERE rank = (9 * n + 9) / 10) AS REAL) FROM ranked GROUP BY part"
    )
}

fn rules(connection: &Connection, range: &Range) -> rusqlite::Result<Vec<RuleFigures>> {
    // What was dismissed is withheld from then on, so it is asked for as well.
    let sql = format!(
        "WITH seen AS (SELECT repository, rule, fingerprint, count(*) FILTER (WHERE withheld IS NULL) AS n, \
         max(withheld IS NOT NULL) AS is_suppressed FROM run_figures CROSS JOIN finding USING (run) \
         WHERE {IN_RANGE} AND rule IS NOT NULL AND (withheld IS NULL OR withheld = 'suppressed') GROUP BY 1, 2, 3) \
         SELECT rule, sum(n), count(*), sum(is_suppressed OR EXISTS (SELECT 1 FROM dismissal \
         WHERE dismissal.repository = seen.repository AND dismissal.fingerprint = seen.fingerprint \
         AND withdrawn_ms IS NULL)) FROM seen GROUP BY rule ORDER BY 2 DESC, rule LIMIT :most"
    );
    let values = named_params! {
        ":from": number(range.from_ms),
        ":to": number(range.to_ms),
        ":repository": range.repository,
        ":most": number(MAX_RULES),
    };
    let read = |row: &Row<'_>| {
        Ok(RuleFigures {
            rule: row.get(0)?,
            n_findings: row.get(1)?,
            n_distinct: row.get(2)?,
            n_dismissed: row.get(3)?,
        })
    };
    connection.prepare(&sql)?.query_map(values, read)?.collect()
}
