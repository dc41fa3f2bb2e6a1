//! Stored runs as a list shows them: searched, filtered, in order and in parts.
//!
//! A part begins after a run that was shown before, so what is stored meanwhile moves nothing. What is asked about a
//! finding is asked about one and the same finding, and only those that count are looked at.

use tollgate_core::board::FeatureId;
use tollgate_core::coverage::CoverageCount;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::Gate;
use tollgate_core::verdict::Verdict;

use super::row::{self, Counts, Run};
use super::search::{self, Engine};
use super::{Database, Subject, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, Value, params};

/// So many names are offered to choose from.
const MAX_NAMES: usize = 200;

/// Where a run came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Somebody called the program.
    CommandLine,
    /// A feature was at the gate.
    Pipeline,
    /// A pull request was opened or changed.
    PullRequest,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::CommandLine, Self::Pipeline, Self::PullRequest];

    /// The word that is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandLine => "command-line",
            Self::Pipeline => "pipeline",
            Self::PullRequest => "pull-request",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == word)
    }
}

/// In which order runs are listed. Of those that are equal the newest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The newest first.
    #[default]
    Newest,
    /// Those with the most findings first.
    Findings,
    /// Those that took longest first.
    Longest,
    /// Those that cost most first.
    Dearest,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Newest, Self::Findings, Self::Longest, Self::Dearest];

    /// The word in addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Findings => "findings",
            Self::Longest => "longest",
            Self::Dearest => "dearest",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }

    /// What grows in the order, in SQL.
    fn key(self) -> &'static str {
        match self {
            Self::Newest => "run",
            Self::Findings => "n_critical + n_high + n_medium + n_low + n_nit",
            Self::Longest => "took_ms",
            Self::Dearest => "coalesce(cost_usd, -1)",
        }
    }
}

/// Which runs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only of this repository.
    pub repository: Option<String>,
    /// Only those with all of these words in title, branch, commit or the summary of a finding, whatever their case.
    /// Where none of them has three characters, only the 10,000 newest runs are looked through.
    pub text: Option<String>,
    /// Only those that ended so.
    pub result: Option<ResultFilter>,
    /// Only those of which the gate said this.
    pub gate: Option<Gate>,
    /// Only those that came from there.
    pub origin: Option<Origin>,
    /// Only those in which this reviewer took part.
    pub reviewer: Option<String>,
    /// Only those with a finding of this rule.
    pub rule: Option<String>,
    /// Only those with a finding of this category.
    pub category: Option<Category>,
    /// Only those with a finding of this severity.
    pub severity: Option<Severity>,
    /// Only those with a finding in a file whose path has this text in it.
    pub file: Option<String>,
    /// Only those that ended at this time or later, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Only those that ended before this time.
    pub to_ms: Option<u64>,
    /// Only those that were stored after the run with this number.
    pub newer_than: Option<i64>,
    /// In which order.
    pub order: Order,
    /// Only those that come after this one in the order.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// How a run ended, as a list is filtered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFilter {
    /// With this verdict.
    Verdict(Verdict),
    /// Without a review.
    Failed,
}

impl ResultFilter {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Verdict(Verdict::Approved),
        Self::Verdict(Verdict::Commented),
        Self::Verdict(Verdict::ChangesRequested),
        Self::Failed,
    ];

    /// The word that is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verdict(verdict) => verdict.as_str(),
            Self::Failed => "FAILED",
        }
    }

    /// Reads the word, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.as_str().eq_ignore_ascii_case(word))
    }
}

/// A run as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// What it was about.
    pub subject: Subject,
    /// Where it came from.
    pub origin: Origin,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// How long it took.
    pub took_ms: u64,
    /// The commit that was reviewed; empty when it is not known.
    pub head: String,
    /// The title of the change.
    pub title: Option<String>,
    /// The verdict; `None` when there is no review.
    pub verdict: Option<Verdict>,
    /// What the gate said.
    pub gate: Option<Gate>,
    /// Why there is no review.
    pub problem: Option<String>,
    /// What was found.
    pub counts: Counts,
    /// What was looked at.
    pub coverage: CoverageCount,
    /// How many findings are new since the run before; `None` when there is none.
    pub n_new: Option<u64>,
    /// How many findings of the run before are resolved; `None` when an earlier run told already.
    pub n_resolved: Option<u64>,
    /// US dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// Tokens read and written; `None` when no model was asked.
    pub n_tokens: Option<u64>,
    /// Who took part, by name.
    pub reviewers: Vec<String>,
    /// The feature it was a review of.
    pub feature: Option<OfFeature>,
}

/// The feature that a run was a review of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfFeature {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The title of the feature.
    pub title: String,
    /// The iteration.
    pub iteration: u32,
}

/// Names to choose from, each with how many runs it stands for, the most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Repositories.
    pub repositories: Vec<(String, u64)>,
    /// Reviewers.
    pub reviewers: Vec<(String, u64)>,
    /// Rules.
    pub rules: Vec<(String, u64)>,
}

impl Database {
    /// Runs as a list shows them, and how many there are in all, wherever it begins and however many it wants.
    pub fn runs(&self, query: &RunQuery) -> Result<(Vec<Listed>, u64), Failure> {
        self.read(|connection| {
            let which = Which::of(Engine::of(connection), query);
            let total = total(connection, &which)?;
            Ok((listed(connection, query, which)?, total))
        })
    }

    /// A run by its number, with what a list shows of it.
    pub fn run(&self, id: i64) -> Result<Option<(Run, Listed)>, Failure> {
        self.read(|connection| {
            let Some(run) = row::by_id(connection, id)? else { return Ok(None) };
            let mut which = Which::default();
            which.add("run = ?", Some(id));
            let query = RunQuery { limit: 1, ..RunQuery::default() };
            Ok(listed(connection, &query, which)?.pop().map(|listed| (run, listed)))
        })
    }

    /// The newest completed run of a subject.
    pub fn last_run_of(&self, subject: &Subject) -> Result<Option<Run>, Failure> {
        self.read(|connection| row::last_of(connection, subject))
    }

    /// The number of the newest run; 0 when there is none.
    pub fn newest_run(&self) -> Result<i64, Failure> {
        self.read(|connection| {
            connection.query_row("SELECT coalesce(max(run), 0) FROM run_figures", (), |row| row.get(0))
        })
    }

    /// Names to choose from in a filter.
    pub fn run_names(&self) -> Result<Names, Failure> {
        self.read(|connection| {
            let names = |kind: &str| -> sql::Result<Vec<(String, u64)>> {
                let mut statement = connection.prepare(NAMES)?;
                let rows =
                    statement.query_map(params![kind, number(MAX_NAMES)], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            };
            Ok(Names { repositories: names("repository")?, reviewers: names("reviewer")?, rules: names("rule")? })
        })
    }
}

/// The most frequent names of a kind.
pub(super) const NAMES: &str = "SELECT name, n FROM run_name WHERE kind = ?1 ORDER BY n DESC, name LIMIT ?2";

/// The conditions of a question with the values they name, in order.
#[derive(Default)]
pub(super) struct Which {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Which {
    pub(super) fn of(engine: Engine, query: &RunQuery) -> Self {
        let mut which = Self::default();
        which.add("repository = ?", query.repository.clone());
        which.add("result = ?", query.result.map(ResultFilter::as_str).map(str::to_owned));
        which.add("gate = ?", query.gate.map(Gate::as_str).map(str::to_owned));
        which.add("origin = ?", query.origin.map(Origin::as_str).map(str::to_owned));
        which.add("run IN (SELECT run FROM run_reviewer WHERE name = ?)", query.reviewer.clone());
        which.add("ended_ms >= ?", query.from_ms.map(number));
        which.add("ended_ms < ?", query.to_ms.map(number));
        which.add("run > ?", query.newer_than);
        for (condition, value) in query.text.iter().flat_map(|text| search::conditions(engine, text)) {
            which.add(&condition, Some(value));
        }
        which.add_finding(engine, query);
        which
    }

    /// Adds a condition, in which `?` is the place of the value.
    fn add(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.conditions.push(condition.replace('?', &format!("?{}", self.values.len())));
        }
    }

    /// One and the same finding fits everything that is asked about findings.
    fn add_finding(&mut self, engine: Engine, query: &RunQuery) {
        let n_before = self.conditions.len();
        self.add("rule = ?", query.rule.clone());
        self.add("category = ?", query.category.map(Category::as_str).map(str::to_owned));
        self.add("severity = ?", query.severity.map(Severity::as_str).map(str::to_owned));
        let place = match engine {
            Engine::Sqlite => "instr",
            Engine::Postgres => "strpos",
        };
        // As it is in the index: SQLite compares a bare `substr` in another way, and would go through all findings.
        let file =
            format!("CAST(substr(file, 1, 500) AS TEXT) IN (SELECT file FROM finding_file WHERE {place}(file, ?) > 0)");
        self.add(&file, query.file.clone());
        let about = self.conditions.split_off(n_before);
        if !about.is_empty() {
            let about = about.join(" AND ");
            self.conditions.push(format!("run IN (SELECT run FROM finding WHERE withheld IS NULL AND {about})"));
        }
    }

    fn sql(&self) -> String {
        if self.conditions.is_empty() { "1 = 1".to_owned() } else { self.conditions.join(" AND ") }
    }

    /// How many runs fit.
    pub(super) fn total(&self) -> (String, &Vec<Value>) {
        (format!("SELECT count(*) FROM run_figures WHERE {}", self.sql()), &self.values)
    }

    /// The part of the list that is asked for.
    pub(super) fn part(mut self, query: &RunQuery) -> (String, Vec<Value>) {
        let key = query.order.key();
        self.add(&format!("({key}, run) < (SELECT {key}, run FROM run_figures WHERE run = ?)"), query.after);
        self.values.push(Value::Integer(number(query.limit)));
        let sql = format!(
            "SELECT figures.run, run.repository, subject, scope, origin, ended_ms, took_ms, head, title, verdict, \
             figures.gate, problem, n_critical, n_high, n_medium, n_low, n_nit, n_praise, n_withheld, reviewed, skipped, \
             not_reviewed, n_new, n_resolved, cost_usd, n_tokens \
             FROM (SELECT * FROM run_figures WHERE {} ORDER BY {key} DESC, run DESC LIMIT ?{}) AS figures \
             JOIN run ON run.id = figures.run ORDER BY {} DESC, figures.run DESC",
            self.sql(),
            self.values.len(),
            if key == "run" { "figures.run" } else { key },
        );
        (sql, self.values)
    }
}

fn total(connection: &Connection, which: &Which) -> sql::Result<u64> {
    let (sql, values) = which.total();
    connection.query_row(&sql, values, |row| row.get(0))
}

fn listed(connection: &Connection, query: &RunQuery, which: Which) -> sql::Result<Vec<Listed>> {
    let (sql, values) = which.part(query);
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(&values, of_row)?;
    let mut all: Vec<Listed> = rows.collect::<sql::Result<_>>()?;
    for listed in &mut all {
        listed.reviewers = reviewers(connection, listed.id)?;
        listed.feature = feature(connection, listed.id)?;
    }
    Ok(all)
}

/// Who took part in a run.
pub(super) const REVIEWERS: &str = "SELECT name FROM run_reviewer WHERE run = ?1 ORDER BY name";

fn reviewers(connection: &Connection, run: i64) -> sql::Result<Vec<String>> {
    let mut statement = connection.prepare(REVIEWERS)?;
    statement.query_map([run], |row| row.get(0))?.collect()
}

/// The feature of a run.
pub(super) const FEATURE: &str = "SELECT iteration.project, iteration.feature, feature.title, iteration.number \
     FROM iteration JOIN feature ON feature.project = iteration.project AND feature.id = iteration.feature \
     JOIN project ON project.id = iteration.project WHERE run = ?1 AND deleted_ms IS NULL AND removed_ms IS NULL";

fn feature(connection: &Connection, run: i64) -> sql::Result<Option<OfFeature>> {
    let mut statement = connection.prepare(FEATURE)?;
    let read = |row: &Row<'_>| {
        let name: String = row.get(1)?;
        let feature = FeatureId::parse(&name).map_err(|error| row::damaged(format!("`{name}`: {error}")))?;
        Ok(OfFeature { project: row.get(0)?, feature, title: row.get(2)?, iteration: row.get(3)? })
    };
    statement.query_row(params![run], read).optional()
}

fn of_row(row: &Row<'_>) -> sql::Result<Listed> {
    let origin: String = row.get(4)?;
    let verdict: Option<String> = row.get(9)?;
    let gate: Option<String> = row.get(10)?;
    let mut counts = Counts { by_severity: Vec::new(), withheld: row.get(18)? };
    for (column, severity) in (12..).zip(Severity::ALL) {
        let n: usize = row.get(column)?;
        if n > 0 {
            counts.by_severity.push((severity, n));
        }
    }
    Ok(Listed {
        id: row.get(0)?,
        subject: Subject { repository: row.get(1)?, name: row.get(2)?, scope: row.get(3)? },
        origin: Origin::parse(&origin).ok_or_else(|| row::damaged(format!("`{origin}` is no origin")))?,
        ended_ms: row.get(5)?,
        took_ms: row.get(6)?,
        head: row.get(7)?,
        title: row.get(8)?,
        verdict: verdict.as_deref().and_then(Verdict::parse),
        gate: gate.as_deref().and_then(Gate::parse),
        problem: row.get(11)?,
        counts,
        coverage: CoverageCount { reviewed: row.get(19)?, skipped: row.get(20)?, not_reviewed: row.get(21)? },
        n_new: row.get(22)?,
        n_resolved: row.get(23)?,
        cost_usd: row.get(24)?,
        n_tokens: row.get(25)?,
        reviewers: Vec::new(),
        feature: None,
    })
}
