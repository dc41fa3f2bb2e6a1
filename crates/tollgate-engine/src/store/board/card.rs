//! Cards: features as the board lists them, without their texts and diffs.

use std::collections::HashMap;

use rusqlite::types::Value;
use tollgate_core::board::machine::{Review, State, Status};
use tollgate_core::board::{DOES_NOT_COUNT, FeatureId, Outcome};

use super::feature::Facts;
use super::{damaged, id, state};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, Statement, params};
use crate::store::{Database, number};

/// A feature as the board lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Its id.
    pub id: FeatureId,
    /// Its revision.
    pub rev: u64,
    /// Its state.
    pub state: State,
    /// Title, first line of the description, priority, dependencies.
    pub facts: Facts,
    /// Its branch.
    pub branch: Option<String>,
    /// The last error, for people.
    pub problem: Option<String>,
    /// The error of its file.
    pub broken: Option<String>,
    /// True when a worker holds the lease of its job.
    pub is_claimed: bool,
    /// Its incomplete dependencies, in the order of its file.
    pub blocked_by: Vec<Blocker>,
    /// The outcomes of its reviews, one per iteration.
    pub pips: Vec<Outcome>,
    /// True when the last review approved and left an acceptance criterion unclear.
    pub is_unchecked: bool,
    /// True when a blocker of the last review is suppressed, for example by a dismissal.
    pub is_blocker_suppressed: bool,
    /// The findings of the last review.
    pub counts: Counts,
    /// The delta of the last review; `None` for the first.
    pub progress: Option<Progress>,
    /// Its cost, in US dollars.
    pub cost_usd: f64,
    /// The number of tokens used.
    pub n_tokens: u64,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// When its column, job or pause last changed.
    pub since_ms: u64,
}

impl Card {
    /// True when a person approved it against its last review.
    pub fn is_approved_by_hand(&self) -> bool {
        let is_against = self.pips.last().is_some_and(|last| *last != Outcome::Approved);
        is_against && self.state.review == Review::Approved
    }

    /// A card with defaults.
    pub fn new(id: FeatureId, state: State, facts: Facts) -> Self {
        Self {
            id,
            rev: 1,
            state,
            facts,
            branch: None,
            problem: None,
            broken: None,
            is_claimed: false,
            blocked_by: Vec::new(),
            pips: Vec::new(),
            is_unchecked: false,
            is_blocker_suppressed: false,
            counts: Counts::default(),
            progress: None,
            cost_usd: 0.0,
            n_tokens: 0,
            created_ms: 0,
            updated_ms: 0,
            since_ms: 0,
        }
    }
}

/// An incomplete dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// Its id.
    pub id: FeatureId,
    /// Its title, which may be empty.
    pub title: String,
}

/// The number of remarks of a review, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Critical.
    pub critical: u32,
    /// High.
    pub high: u32,
    /// Medium.
    pub medium: u32,
    /// Low.
    pub low: u32,
    /// Nit.
    pub nit: u32,
    /// Late findings, which do not count.
    pub late: u32,
}

/// The delta of two reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// The number of new remarks.
    pub n_new: u32,
    /// The number of resolved remarks.
    pub n_resolved: u32,
}

/// The lane of a card in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Its job is running.
    Running,
    /// It waits for a person.
    NeedsYou,
    /// Its job is queued.
    Queued,
}

/// The order of cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Oldest first.
    #[default]
    Age,
    /// By priority, then oldest first: the order in which workers take them.
    Urgency,
    /// The most recently moved first.
    Recent,
}

/// A filter of cards.
#[derive(Debug, Clone, Default)]
pub struct CardFilter {
    /// Matches this feature.
    pub id: Option<FeatureId>,
    /// Matches this column.
    pub status: Option<Status>,
    /// Excludes these columns.
    pub outside: Vec<Status>,
    /// Matches this lane.
    pub lane: Option<Lane>,
    /// Matches this text in title, first line or id, ignoring case.
    pub text: Option<String>,
    /// Matches this priority.
    pub priority: Option<u32>,
    /// Matches this category.
    pub category: Option<String>,
    /// Matches features that wait for a person.
    pub needs_person: bool,
    /// The order.
    pub order: Order,
    /// The maximum number.
    pub limit: usize,
    /// The last card of the previous page.
    pub after: Option<FeatureId>,
}

impl Database {
    /// The matching cards.
    pub fn cards(&self, project: i64, filter: &CardFilter) -> Result<Vec<Card>, Failure> {
        self.read(|connection| cards(connection, project, filter))
    }

    /// The number of matching cards, on all pages.
    pub fn n_cards(&self, project: i64, filter: &CardFilter) -> Result<usize, Failure> {
        let Conditions { sql, values } = Conditions::of(project, filter);
        let sql = format!("SELECT count(*) {FROM} WHERE {sql}");
        self.read(|connection| connection.query_row(&sql, &values, |row| row.get(0)))
    }

    /// The number of features per column.
    pub fn column_counts(&self, project: i64) -> Result<Vec<(Status, usize)>, Failure> {
        let sql = "SELECT status, count(*) FROM feature WHERE project = ?1 AND deleted_ms IS NULL GROUP BY status";
        self.read(|connection| {
            let read = |row: &Row<'_>| Ok((Status::parse(&row.get::<_, String>(0)?), row.get(1)?));
            connection.prepare(sql)?.query_map([project], read)?.collect()
        })
    }

    /// The number of matching features per column and lane.
    pub fn lane_counts(&self, project: i64, filter: &CardFilter) -> Result<Vec<(Status, Lane, usize)>, Failure> {
        let Conditions { sql, values } = Conditions::of(project, filter);
        let (running, needs_you) = (Lane::Running.condition(), Lane::NeedsYou.condition());
        let sql = format!(
            "SELECT f.status, CASE WHEN {running} THEN 0 WHEN {needs_you} THEN 1 ELSE 2 END AS lane, count(*) {FROM} \
             WHERE {sql} GROUP BY f.status, lane ORDER BY f.status, lane"
        );
        let read = |row: &Row<'_>| {
            let lane = match row.get::<_, u8>(1)? {
                0 => Lane::Running,
                1 => Lane::NeedsYou,
                _ => Lane::Queued,
            };
            Ok((Status::parse(&row.get::<_, String>(0)?), lane, row.get(2)?))
        };
        self.read(|connection| connection.prepare(&sql)?.query_map(&values, read)?.collect())
    }

    /// The sorted categories of a project, at most `limit`.
    pub fn categories(&self, project: i64, limit: usize) -> Result<Vec<String>, Failure> {
        let sql = "SELECT DISTINCT category FROM feature \
                   WHERE project = ?1 AND deleted_ms IS NULL AND category IS NOT NULL ORDER BY category LIMIT ?2";
        self.read(|connection| {
            connection.prepare(sql)?.query_map(params![project, number(limit)], |row| row.get(0))?.collect()
        })
    }

    /// The columns of these features, if they exist.
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

const FROM: &str = "FROM feature f LEFT JOIN work w ON w.project = f.project AND w.feature = f.id";

fn select() -> String {
    let columns: Vec<String> = state::COLUMNS.split(", ").map(|column| format!("f.{column}")).collect();
    format!(
        "SELECT {}, f.id, f.rev, f.title, f.first_line, f.priority, f.dependencies, f.category, f.model, f.skip_tests, \
         f.branch, f.problem, f.broken, f.cost_usd, f.n_tokens, f.created_ms, f.updated_ms, f.since_ms, \
         w.token IS NOT NULL {FROM}",
        columns.join(", ")
    )
}

fn cards(connection: &Connection, project: i64, filter: &CardFilter) -> sql::Result<Vec<Card>> {
    let Conditions { mut sql, mut values } = Conditions::of(project, filter);
    if let Some(after) = &filter.after {
        values.push(Value::Text(after.to_string()));
        let (key, is_after) = filter.order.key();
        let place = key.replace("f.", "");
        sql.push_str(&format!(
            " AND ({key}) {is_after} (SELECT {place} FROM feature WHERE project = ?1 AND id = ?{})",
            values.len()
        ));
    }
    values.push(Value::Integer(number(filter.limit)));
    let sql = format!("{} WHERE {sql} ORDER BY {} LIMIT ?{}", select(), filter.order.sql(), values.len());
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(&values)?;
    let mut loader = CardLoader::new(connection, project)?;
    let mut cards = Vec::new();
    while let Some(row) = rows.next()? {
        cards.push(loader.fill(of_row(&row)?)?);
    }
    Ok(cards)
}

impl Order {
    /// The sort key, and the operator for later cards.
    fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::Age => ("f.created_ms, f.id", ">"),
            Self::Urgency => ("f.priority, f.created_ms, f.id", ">"),
            Self::Recent => ("f.since_ms, f.id", "<"),
        }
    }

    fn sql(self) -> &'static str {
        match self {
            Self::Age => "f.created_ms, f.id",
            Self::Urgency => "f.priority, f.created_ms, f.id",
            Self::Recent => "f.since_ms DESC, f.id DESC",
        }
    }
}

impl Lane {
    /// The SQL condition of the lane.
    fn condition(self) -> &'static str {
        match self {
            Self::Running => "(f.work <> 'nothing' AND w.token IS NOT NULL)",
            Self::NeedsYou => "f.work = 'nothing'",
            Self::Queued => "(f.work <> 'nothing' AND w.token IS NULL)",
        }
    }
}

/// The SQL conditions of a filter, with the values of their parameters. Unused filters are omitted, so that indexes
/// can be used.
struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    fn of(project: i64, filter: &CardFilter) -> Self {
        let sql = "f.project = ?1 AND f.deleted_ms IS NULL".to_owned();
        let mut conditions = Self { sql, values: vec![Value::Integer(project)] };
        if let Some(status) = &filter.status {
            conditions.add("f.status = ?", Value::Text(status.to_string()));
        }
        for status in &filter.outside {
            conditions.add("f.status <> ?", Value::Text(status.to_string()));
        }
        if let Some(id) = &filter.id {
            conditions.add("f.id = ?", Value::Text(id.to_string()));
        }
        if let Some(text) = &filter.text {
            conditions.add("0 < instr(f.search, ?)", Value::Text(text.to_lowercase()));
        }
        if let Some(priority) = filter.priority {
            conditions.add("f.priority = ?", Value::Integer(i64::from(priority)));
        }
        if let Some(category) = &filter.category {
            conditions.add("f.category = ?", Value::Text(category.clone()));
        }
        if let Some(lane) = filter.lane {
            conditions.sql.push_str(" AND ");
            conditions.sql.push_str(lane.condition());
        }
        if filter.needs_person {
            conditions
                .sql
                .push_str(" AND (f.pause IS NOT NULL OR f.broken IS NOT NULL OR f.status = 'waiting_approval')");
        }
        conditions
    }

    fn add(&mut self, condition: &str, value: Value) {
        self.values.push(value);
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replace('?', &format!("?{}", self.values.len())));
    }
}

/// Adds reviews and dependencies to cards.
struct CardLoader<'a> {
    project: i64,
    reviews: Statement<'a>,
    last: Statement<'a>,
    others: Statement<'a>,
    /// A cache of dependencies, which many cards may share.
    known: HashMap<FeatureId, Option<Blocker>>,
}

impl<'a> CardLoader<'a> {
    fn new(connection: &'a Connection, project: i64) -> sql::Result<Self> {
        let reviews = connection.prepare(
            "SELECT number, outcome, n_critical, n_high, n_medium, n_low, n_nit, n_late, n_new, n_resolved \
             FROM iteration WHERE project = ?1 AND feature = ?2 ORDER BY id",
        )?;
        // The record is JSON without blanks, and quotes in texts are escaped in it: these are the answer to a criterion and
        // the note about a suppressed blocker.
        let last = connection.prepare(&format!(
            "SELECT overridden IS NULL AND record LIKE '%\"met\":\"unclear\"%', record LIKE '%\"{DOES_NOT_COUNT}%' \
             FROM iteration WHERE project = ?1 AND feature = ?2 ORDER BY id DESC LIMIT 1",
        ))?;
        let others = connection
            .prepare("SELECT status, title FROM feature WHERE project = ?1 AND id = ?2 AND deleted_ms IS NULL")?;
        Ok(Self { project, reviews, last, others, known: HashMap::new() })
    }

    fn fill(&mut self, mut card: Card) -> sql::Result<Card> {
        if card.state.iteration > 0 {
            self.add_reviews(&mut card)?;
        }
        if card.pips.last() == Some(&Outcome::Approved) {
            let mut rows = self.last.query(params![self.project, card.id.as_str()])?;
            if let Some(row) = rows.next()? {
                (card.is_unchecked, card.is_blocker_suppressed) = (row.get(0)?, row.get(1)?);
            }
        }
        for name in &card.facts.dependencies {
            // An invalid id blocks nothing, like a missing feature.
            let Ok(id) = FeatureId::parse(name) else { continue };
            if let Some(blocker) = self.blocker(&id)? {
                card.blocked_by.push(blocker);
            }
        }
        Ok(card)
    }

    fn blocker(&mut self, id: &FeatureId) -> sql::Result<Option<Blocker>> {
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        let mut rows = self.others.query(params![self.project, id.as_str()])?;
        let found = match rows.next()? {
            Some(row) if !Status::parse(&row.get::<_, String>(0)?).is_done() => {
                Some(Blocker { id: id.clone(), title: row.get(1)? })
            }
            Some(_) | None => None,
        };
        self.known.insert(id.clone(), found.clone());
        Ok(found)
    }

    fn add_reviews(&mut self, card: &mut Card) -> sql::Result<()> {
        let mut rows = self.reviews.query(params![self.project, card.id.as_str()])?;
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
                late: row.get(7)?,
            };
            let (n_new, n_resolved): (Option<u32>, Option<u32>) = (row.get(8)?, row.get(9)?);
            card.progress = n_new.zip(n_resolved).map(|(n_new, n_resolved)| Progress { n_new, n_resolved });
        }
        Ok(())
    }
}

fn of_row(row: &Row<'_>) -> sql::Result<Card> {
    let dependencies: String = row.get(18)?;
    let facts = Facts {
        title: row.get(15)?,
        first_line: row.get(16)?,
        priority: row.get(17)?,
        dependencies: super::strings(&dependencies)?,
        category: row.get(19)?,
        model: row.get(20)?,
        skip_tests: row.get(21)?,
    };
    Ok(Card {
        rev: row.get(14)?,
        branch: row.get(22)?,
        problem: row.get(23)?,
        broken: row.get(24)?,
        cost_usd: row.get(25)?,
        n_tokens: row.get(26)?,
        created_ms: row.get(27)?,
        updated_ms: row.get(28)?,
        since_ms: row.get(29)?,
        is_claimed: row.get(30)?,
        ..Card::new(id(row.get(13)?)?, state::of_row(row)?, facts)
    })
}
