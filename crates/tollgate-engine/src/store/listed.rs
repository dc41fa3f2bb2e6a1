//! Lists stored runs: full-text search, filters, sort orders and pagination.
//!
//! Pagination is by key, so that new runs do not shift pages. Filters on findings apply to one and the same finding,
//! and withheld findings are ignored.

use tollgate_core::board::FeatureId;
use tollgate_core::coverage::CoverageCount;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::Gate;
use tollgate_core::names;
use tollgate_core::report::head_state::{GATE_RESULT, HeadState, LabelCounts};
use tollgate_core::review::Review;
use tollgate_core::verdict::Verdict;

use super::row::{self, Counts, Run};
use super::search::{self, Engine};
use super::{Database, Subject, board, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, Value, params};

/// The maximum number of names in a filter.
const MAX_NAMES: usize = 200;

/// The origin of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    CommandLine,
    /// A feature at the gate.
    Pipeline,
    /// A pull request.
    PullRequest,
}

names!(Origin {
    CommandLine => "command-line",
    Pipeline => "pipeline",
    PullRequest => "pull-request",
});

/// The sort order of runs. Ties are sorted newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Newest first.
    #[default]
    Newest,
    /// Most findings first.
    Findings,
    /// Longest first.
    Longest,
    /// Most expensive first.
    Dearest,
}

names!(Order {
    Newest => "newest",
    Findings => "findings",
    Longest => "longest",
    Dearest => "dearest",
});

impl Order {
    /// The sort key, in SQL.
    fn key(self) -> &'static str {
        match self {
            Self::Newest => "run",
            Self::Findings => "n_critical + n_high + n_medium + n_low + n_nit",
            Self::Longest => "took_ms",
            Self::Dearest => "coalesce(cost_usd, -1)",
        }
    }
}

/// A query of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Matches this repository.
    pub repository: Option<String>,
    /// Matches all of these words in title, branch, commit or the summary of a finding, ignoring case. If no word has
    /// three characters, only the 10,000 newest runs are searched.
    pub text: Option<String>,
    /// Matches this result.
    pub result: Option<ResultFilter>,
    /// Matches this gate.
    pub gate: Option<Gate>,
    /// Matches this origin.
    pub origin: Option<Origin>,
    /// Matches runs with this reviewer.
    pub reviewer: Option<String>,
    /// Matches runs with a finding of this rule.
    pub rule: Option<String>,
    /// Matches runs with a finding of this category.
    pub category: Option<Category>,
    /// Matches runs with a finding of this severity.
    pub severity: Option<Severity>,
    /// Matches runs with a finding in a file whose path contains this text.
    pub file: Option<String>,
    /// Matches runs that ended at this time or later, in milliseconds since 1970.
    pub from_ms: Option<u64>,
    /// Matches runs that ended before this time.
    pub to_ms: Option<u64>,
    /// Matches runs stored after the run with this number.
    pub newer_than: Option<i64>,
    /// The sort order.
    pub order: Order,
    /// The last run of the previous page.
    pub after: Option<i64>,
    /// The maximum number.
    pub limit: usize,
}

/// The result of a run, as a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFilter {
    /// This verdict.
    Verdict(Verdict),
    /// No review.
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

    /// The stored word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verdict(verdict) => verdict.as_str(),
            Self::Failed => "FAILED",
        }
    }

    /// Parses the word, ignoring case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.as_str().eq_ignore_ascii_case(word))
    }
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// Its subject.
    pub subject: Subject,
    /// Its origin.
    pub origin: Origin,
    /// Its end, in milliseconds since 1970.
    pub ended_ms: u64,
    /// Its duration.
    pub took_ms: u64,
    /// The reviewed commit; empty when unknown.
    pub head: String,
    /// The title of the change.
    pub title: Option<String>,
    /// The verdict; `None` when there is no review.
    pub verdict: Option<Verdict>,
    /// The result of the gate.
    pub gate: Option<Gate>,
    /// The state of the head; `None` when there is no review.
    pub state: Option<HeadState>,
    /// The reason why there is no review.
    pub problem: Option<String>,
    /// The findings.
    pub counts: Counts,
    /// The coverage.
    pub coverage: CoverageCount,
    /// The number of findings that are new since the prior run; `None` without one.
    pub n_new: Option<u64>,
    /// The number of resolved findings of the prior run; `None` when an earlier run counted them.
    pub n_resolved: Option<u64>,
    /// The cost in US dollars, if known.
    pub cost_usd: Option<f64>,
    /// The tokens read and written; `None` without models.
    pub n_tokens: Option<u64>,
    /// The names of the reviewers.
    pub reviewers: Vec<String>,
    /// The reviewed feature.
    pub feature: Option<OfFeature>,
}

/// The feature of a run.
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

/// The names for filters with their number of runs, the most frequent first.
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
    /// The matching runs of a page, and their total number.
    pub fn runs(&self, query: &RunQuery) -> Result<(Vec<Listed>, u64), Failure> {
        self.read(|connection| {
            let which = RunConditions::of(Engine::of(connection), query);
            let total = total(connection, &which)?;
            Ok((listed(connection, query, which)?, total))
        })
    }

    /// A run by its number, with its list entry.
    pub fn run(&self, id: i64) -> Result<Option<(Run, Listed)>, Failure> {
        self.read(|connection| {
            let Some(run) = row::by_id(connection, id)? else { return Ok(None) };
            let mut which = RunConditions::default();
            which.add("run = ?", Some(id));
            let query = RunQuery { limit: 1, ..RunQuery::default() };
            Ok(listed(connection, &query, which)?.pop().map(|listed| (run, listed)))
        })
    }

    /// The newest completed run of a subject.
    pub(crate) fn last_run_of(&self, subject: &Subject) -> Result<Option<Run>, Failure> {
        self.read(|connection| row::last_of(connection, subject))
    }

    /// The number of the newest run; 0 when there is none.
    pub fn newest_run(&self) -> Result<i64, Failure> {
        self.read(|connection| {
            connection.query_row("SELECT coalesce(max(run), 0) FROM run_figures", (), |row| row.get(0))
        })
    }

    /// The names for filters.
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

/// The SQL conditions of a query, with the values of their parameters.
#[derive(Default)]
pub(super) struct RunConditions {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl RunConditions {
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

    /// Adds a condition with a value for its `?`.
    fn add(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.conditions.push(condition.replace('?', &format!("?{}", self.values.len())));
        }
    }

    /// All filters on findings apply to one finding.
    fn add_finding(&mut self, engine: Engine, query: &RunQuery) {
        let n_before = self.conditions.len();
        self.add("rule = ?", query.rule.clone());
        self.add("category = ?", query.category.map(Category::as_str).map(str::to_owned));
        self.add("severity = ?", query.severity.map(Severity::as_str).map(str::to_owned));
        let place = match engine {
            Engine::Sqlite => "instr",
            Engine::Postgres => "strpos",
        };
        // Written as in the index: SQLite would not use it for a bare `substr`.
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

    /// The query for the total number.
    pub(super) fn total(&self) -> (String, &Vec<Value>) {
        (format!("SELECT count(*) FROM run_figures WHERE {}", self.sql()), &self.values)
    }

    /// The query for a page.
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

fn total(connection: &Connection, which: &RunConditions) -> sql::Result<u64> {
    let (sql, values) = which.total();
    connection.query_row(&sql, values, |row| row.get(0))
}

fn listed(connection: &Connection, query: &RunQuery, which: RunConditions) -> sql::Result<Vec<Listed>> {
    let (sql, values) = which.part(query);
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(&values, of_row)?;
    let mut all: Vec<Listed> = rows.collect::<sql::Result<_>>()?;
    for listed in &mut all {
        listed.reviewers = reviewers(connection, listed.id)?;
        listed.feature = feature(connection, listed.id)?;
        if let Some(review) = row::by_id(connection, listed.id)?.and_then(|run| run.review) {
            let state = state(connection, listed, &review)?;
            if review.extra.contains_key(GATE_RESULT) {
                listed.counts = counts_at_gate(&review, state.counts(), &listed.counts);
            }
            listed.state = Some(state);
        }
    }
    Ok(all)
}

/// The state of a run's head, computed from its review and a person's approval against it.
fn state(connection: &Connection, listed: &Listed, review: &Review) -> sql::Result<HeadState> {
    let state = HeadState::stored(review, listed.gate);
    Ok(match board::override_of_run(connection, listed.id)? {
        Some(by) => state.overridden(&by),
        None => state,
    })
}

/// The counts of a review at the gate of the board, which also counts unmet criteria and some withheld findings.
fn counts_at_gate(review: &Review, counts: LabelCounts, stored: &Counts) -> Counts {
    let held: Vec<Severity> =
        review.withheld.iter().filter(|held| held.counts_at_gate()).map(|held| held.finding.severity).collect();
    let all = review.findings.iter().map(|finding| finding.severity).chain(held.iter().copied());
    let n_nits = all.filter(|severity| *severity == Severity::Nit).count();
    let n_praise = |(severity, n): &(Severity, usize)| (*severity == Severity::Praise).then_some(*n);
    let mut by_severity: Vec<(Severity, usize)> = counts.by_severity().to_vec();
    if let Some((_, n_low)) = by_severity.last_mut() {
        *n_low = n_low.saturating_sub(n_nits);
    }
    by_severity.push((Severity::Nit, n_nits));
    by_severity.push((Severity::Praise, stored.by_severity.iter().find_map(n_praise).unwrap_or_default()));
    by_severity.retain(|(_, n)| *n > 0);
    Counts { by_severity, withheld: stored.withheld.saturating_sub(held.len()) }
}

/// The reviewers of a run.
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
        state: None,
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
