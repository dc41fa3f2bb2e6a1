//! Features as a board shows them: many at once, without their texts and diffs.

use rusqlite::{Connection, Row, Statement, params};
use tollgate_core::board::machine::{State, Status};
use tollgate_core::board::{FeatureId, Outcome};

use super::feature::Facts;
use super::{damaged, id, state};
use crate::failure::Failure;
use crate::store::{Database, number};

/// A feature as a board shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Its name.
    pub id: FeatureId,
    /// Counts its changes.
    pub rev: u64,
    /// Where it is.
    pub state: State,
    /// Title, first line of the description, priority, dependencies.
    pub facts: Facts,
    /// The branch on which it is made.
    pub branch: Option<String>,
    /// What went wrong last, for people.
    pub problem: Option<String>,
    /// Why its file cannot be read.
    pub broken: Option<String>,
    /// How its reviews ended, in the order of their numbers; of two with one number the later one.
    pub pips: Vec<Outcome>,
    /// What the last review found.
    pub counts: Counts,
    /// What it has cost, in US dollars.
    pub cost_usd: f64,
    /// How many tokens it took.
    pub n_tokens: u64,
    /// When it was added, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
}

/// How many remarks a review has, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Critical ones.
    pub critical: u32,
    /// Of high severity.
    pub high: u32,
    /// Of medium severity.
    pub medium: u32,
    /// Of low severity.
    pub low: u32,
    /// Trifles.
    pub nit: u32,
}

/// Which features are asked for, oldest first.
#[derive(Debug, Clone, Default)]
pub struct CardFilter {
    /// Only those in this column.
    pub status: Option<Status>,
    /// Only those with this text in title, first line or name, whatever its case.
    pub text: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Only those after this one.
    pub after: Option<FeatureId>,
}

impl Database {
    /// Features as a board shows them, oldest first.
    pub fn cards(&self, project: i64, filter: &CardFilter) -> Result<Vec<Card>, Failure> {
        self.read(|connection| cards(connection, project, filter))
    }

    /// How many features fit a question, wherever it begins and however many it wants.
    pub fn n_cards(&self, project: i64, filter: &CardFilter) -> Result<usize, Failure> {
        let (status, text) = conditions(filter);
        let sql =
            format!("SELECT count(*) FROM feature WHERE project = ?1 AND deleted_ms IS NULL AND {status} AND {text}");
        let values = params![project, filter.status.as_ref().map(Status::to_string), lower(filter)];
        self.read(|connection| connection.query_row(&sql, values, |row| row.get(0)))
    }

    /// How many features are in each column.
    pub fn column_counts(&self, project: i64) -> Result<Vec<(Status, usize)>, Failure> {
        let sql = "SELECT status, count(*) FROM feature WHERE project = ?1 AND deleted_ms IS NULL GROUP BY status";
        self.read(|connection| {
            let read = |row: &Row<'_>| Ok((Status::parse(&row.get::<_, String>(0)?), row.get(1)?));
            connection.prepare(sql)?.query_map([project], read)?.collect()
        })
    }

    /// The columns in which these features are, for those that are there.
    pub fn statuses(&self, project: i64, features: &[FeatureId]) -> Result<Vec<(FeatureId, Status)>, Failure> {
        self.read(|connection| {
            let sql = "SELECT status FROM feature WHERE project = ?1 AND id = ?2 AND deleted_ms IS NULL";
            let mut statement = connection.prepare(sql)?;
            let mut found = Vec::new();
            for feature in features {
                let mut rows = statement.query(params![project, feature.as_str()])?;
                if let Some(row) = rows.next()? {
                    found.push((feature.clone(), Status::parse(&row.get::<_, String>(0)?)));
                }
            }
            Ok(found)
        })
    }
}

fn cards(connection: &Connection, project: i64, filter: &CardFilter) -> rusqlite::Result<Vec<Card>> {
    let (status, text) = conditions(filter);
    let after = match filter.after {
        Some(_) => "(created_ms, id) > (SELECT created_ms, id FROM feature WHERE project = ?1 AND id = ?4)",
        None => "?4 IS NULL",
    };
    let sql = format!(
        "SELECT {}, id, rev, title, first_line, priority, dependencies, branch, problem, broken, cost_usd, n_tokens, \
         created_ms, updated_ms FROM feature WHERE project = ?1 AND deleted_ms IS NULL AND {status} AND {text} AND {after} \
         ORDER BY created_ms, id LIMIT ?5",
        state::COLUMNS
    );
    let mut reviews = connection.prepare(
        "SELECT number, outcome, n_critical, n_high, n_medium, n_low, n_nit FROM iteration \
         WHERE project = ?1 AND feature = ?2 ORDER BY id",
    )?;
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![
        project,
        filter.status.as_ref().map(Status::to_string),
        lower(filter),
        filter.after.as_ref().map(FeatureId::as_str),
        number(filter.limit)
    ])?;
    let mut cards = Vec::new();
    while let Some(row) = rows.next()? {
        let mut card = of_row(row)?;
        if card.state.iteration > 0 {
            add_reviews(&mut reviews, project, &mut card)?;
        }
        cards.push(card);
    }
    Ok(cards)
}

/// What the column (?2) and the text (?3) have to be.
fn conditions(filter: &CardFilter) -> (&'static str, &'static str) {
    let status = if filter.status.is_some() { "status = ?2" } else { "?2 IS NULL" };
    let text = if filter.text.is_some() { "instr(search, ?3) > 0" } else { "?3 IS NULL" };
    (status, text)
}

fn lower(filter: &CardFilter) -> Option<String> {
    filter.text.as_ref().map(|text| text.to_lowercase())
}

fn add_reviews(reviews: &mut Statement<'_>, project: i64, card: &mut Card) -> rusqlite::Result<()> {
    let mut rows = reviews.query(params![project, card.id.as_str()])?;
    let mut last_number = None;
    while let Some(row) = rows.next()? {
        let (number, word): (u32, String) = (row.get(0)?, row.get(1)?);
        let outcome = Outcome::parse(&word).ok_or_else(|| damaged(format!("`{word}` is no outcome")))?;
        if last_number == Some(number) {
            card.pips.pop();
        }
        card.pips.push(outcome);
        last_number = Some(number);
        card.counts = Counts {
            critical: row.get(2)?,
            high: row.get(3)?,
            medium: row.get(4)?,
            low: row.get(5)?,
            nit: row.get(6)?,
        };
    }
    Ok(())
}

fn of_row(row: &Row<'_>) -> rusqlite::Result<Card> {
    let dependencies: String = row.get(18)?;
    Ok(Card {
        state: state::of_row(row)?,
        id: id(row.get(13)?)?,
        rev: row.get(14)?,
        facts: Facts {
            title: row.get(15)?,
            first_line: row.get(16)?,
            priority: row.get(17)?,
            dependencies: super::strings(&dependencies)?,
        },
        branch: row.get(19)?,
        problem: row.get(20)?,
        broken: row.get(21)?,
        pips: Vec::new(),
        counts: Counts::default(),
        cost_usd: row.get(22)?,
        n_tokens: row.get(23)?,
        created_ms: row.get(24)?,
        updated_ms: row.get(25)?,
    })
}
