//! Tests that lists, searches and trends use indexes, however many runs there are.
//!
//! [`statements`] has every statement of them; each engine explains its plan (EXPLAIN).

use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::Gate;
use tollgate_core::verdict::Verdict;

use crate::store::listed::{self, RunConditions};
use crate::store::place::Place;
use crate::store::search::Engine;
use crate::store::sql::{self, Connection, Value};
use crate::store::{self, Order, Origin, Range, ResultFilter, RunQuery, trend};

/// A statement with its parameters.
pub(super) struct Statement {
    /// Its purpose.
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Every filter of a list, alone and in combination.
fn filters() -> Vec<(&'static str, RunQuery)> {
    let all = RunQuery::default;
    vec![
        ("nothing", all()),
        ("repository", RunQuery { repository: text("example.com/o/r-1"), ..all() }),
        ("a word", RunQuery { text: text("summary"), ..all() }),
        ("words", RunQuery { text: text("summary 7 title"), ..all() }),
        ("a short word", RunQuery { text: text("7"), ..all() }),
        ("verdict", RunQuery { result: Some(ResultFilter::Verdict(Verdict::Approved)), ..all() }),
        ("failed", RunQuery { result: Some(ResultFilter::Failed), ..all() }),
        ("gate", RunQuery { gate: Some(Gate::Closed), ..all() }),
        ("origin", RunQuery { origin: Some(Origin::PullRequest), ..all() }),
        ("reviewer", RunQuery { reviewer: text("rules"), ..all() }),
        ("rule", RunQuery { rule: text("rule-3"), ..all() }),
        ("category", RunQuery { category: Some(Category::Perf), ..all() }),
        ("severity", RunQuery { severity: Some(Severity::High), ..all() }),
        ("file", RunQuery { file: text("file-3"), ..all() }),
        ("from", RunQuery { from_ms: Some(1_900_000), ..all() }),
        ("to", RunQuery { to_ms: Some(100_000), ..all() }),
        ("newer than", RunQuery { newer_than: Some(1_990), ..all() }),
        (
            "one finding",
            RunQuery {
                rule: text("rule-3"),
                category: Some(Category::Perf),
                severity: Some(Severity::High),
                file: text("file-3"),
                ..all()
            },
        ),
        (
            "everything",
            RunQuery {
                repository: text("example.com/o/r-1"),
                text: text("summary"),
                result: Some(ResultFilter::Failed),
                gate: Some(Gate::Open),
                origin: Some(Origin::Pipeline),
                reviewer: text("rules"),
                severity: Some(Severity::High),
                from_ms: Some(1),
                to_ms: Some(2_000_000),
                newer_than: Some(5),
                ..all()
            },
        ),
    ]
}

/// Every statement of lists, searches and trends.
pub(super) fn statements(engine: Engine) -> Vec<Statement> {
    let mut all = Vec::new();
    let mut add = |name: String, sql: String, values: Vec<Value>| all.push(Statement { name, sql, values });
    for (filter, query) in filters() {
        let which = RunConditions::of(engine, &query);
        let (sql, values) = which.total();
        add(format!("total: {filter}"), sql, values.clone());
        for order in Order::ALL {
            for after in [None, Some(1_000)] {
                let query = RunQuery { order, after, limit: 50, ..query.clone() };
                let (sql, values) = RunConditions::of(engine, &query).part(&query);
                add(format!("list: {filter}, {} first, after {after:?}", order.as_str()), sql, values);
            }
        }
    }
    add("who took part".to_owned(), listed::REVIEWERS.to_owned(), vec![Value::Integer(7)]);
    add("the feature".to_owned(), listed::FEATURE.to_owned(), vec![Value::Integer(7)]);
    let rule = vec![Value::Text("rule".to_owned()), Value::Integer(200)];
    add("names".to_owned(), listed::NAMES.to_owned(), rule);
    for repository in [None, text("example.com/o/r-1")] {
        let range = Range { from_ms: 1_000_000, to_ms: 1_100_000, part_ms: 10_000, repository };
        let of = if range.repository.is_some() { "a repository" } else { "all" };
        add(format!("trend of {of}: sums"), trend::sums(&range), trend::values(&range, 10_000));
        for column in ["took_ms", "cost_usd"] {
            let sql = trend::spread(&range, column);
            add(format!("trend of {of}: {column}"), sql, trend::values(&range, 10_000));
        }
        add(format!("trend of {of}: rules"), trend::most_frequent(&range), trend::values(&range, 20));
    }
    all
}

/// Inserts 2,000 runs with 20,000 findings into an empty store.
pub(super) const FILL: &str = "
INSERT INTO run (repository, subject, scope, state, started_ms, finished_ms, version, head, base, compared, title, verdict,
  gate, n_added, reviewed, skipped, not_reviewed, review, snapshot_key)
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
SELECT 'example.com/o/r-' || (n % 50), 'branch work-' || (n % 97), 'branch', 'completed', n * 1000 - 7, n * 1000, '0.1.0',
  'abc', 'def', '', 'title ' || n, CASE n % 3 WHEN 0 THEN 'APPROVED' WHEN 1 THEN 'COMMENTED' ELSE 'CHANGES_REQUESTED' END,
  CASE n % 2 WHEN 0 THEN 'open' ELSE 'closed' END, 1, 1, 0, 0, '{}', '' FROM n;
INSERT INTO finding (run, id, fingerprint, file, line_start, line_end, severity, category, rule, reviewer, summary)
WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 9)
SELECT run.id, 'F' || n, run.id || '-' || n, 'src/file-' || (n * run.id % 300) || '.rs', 1, 1,
  CASE n % 3 WHEN 0 THEN 'High' WHEN 1 THEN 'Low' ELSE 'Medium' END, CASE n % 2 WHEN 0 THEN 'Perf' ELSE 'Logic' END,
  'rule-' || (n * run.id % 60), 'rules', 'summary ' || (n * run.id % 100) FROM run CROSS JOIN n;";

/// A filled store, and a connection to it.
fn filled(place: Place) -> (Place, Connection) {
    let connection = store::open::open(&store::Location::parse(&place.address()).unwrap()).unwrap();
    // An empty blob is written differently by each engine.
    let fill = if place.is_on_server() { FILL.to_owned() } else { FILL.replace("'{}', ''", "'{}', x''") };
    connection.execute_batch(&format!("BEGIN; {fill} COMMIT; BEGIN")).unwrap();
    store::figures::fill_anew(&connection).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    (place, connection)
}

/// The plan of SQLite, a step each.
fn plan(connection: &Connection, statement: &Statement) -> Vec<String> {
    let sql = format!("EXPLAIN QUERY PLAN {}", statement.sql);
    let mut prepared = connection.prepare(&sql).unwrap_or_else(|error| panic!("{}: {error}", statement.name));
    let rows = prepared.query_map(&statement.values, |row| row.get(3)).unwrap();
    rows.collect::<sql::Result<_>>().unwrap()
}

/// The steps of a plan that scan a large table.
fn scans<'a>(plan: &'a [String], name: &str) -> Vec<&'a String> {
    const LARGE: [&str; 5] = ["run", "run_figures", "run_search", "run_reviewer", "finding"];
    // A list without a filter, or with a range, is read in its order up to the end of the requested page.
    let ranges = ["nothing", "from", "to", "newer than", "a short word"];
    let is_range = ranges.iter().any(|range| name.starts_with(&format!("list: {range}, ")));
    let in_list = plan.iter().take_while(|step| *step != "SCAN figures");
    let is_in_order = !in_list.clone().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
    let is_bad = |step: &&String| {
        let mut words = step.split(' ');
        let is_scan = words.next() == Some("SCAN") && words.next().is_some_and(|of| of == "s" || LARGE.contains(&of));
        let is_part = is_range && is_in_order && step.starts_with("SCAN run_figures");
        // The total is counted in the smallest index.
        let is_total = name == "total: nothing" && step.contains("USING COVERING INDEX");
        is_scan && !is_total && !is_part
    };
    plan.iter().filter(is_bad).collect()
}

#[test]
fn lists_searches_and_trends_read_no_table_from_end_to_end() {
    let (_place, connection) = filled(Place::file());
    let mut bad = String::new();
    for analyzed in [false, true] {
        if analyzed {
            connection.execute_batch("ANALYZE").unwrap();
        }
        for statement in statements(Engine::Sqlite) {
            let plan = plan(&connection, &statement);
            if !scans(&plan, &statement.name).is_empty() {
                bad += &format!("{} (analyzed: {analyzed})\n  {}\n", statement.name, plan.join("\n  "));
            }
        }
    }
    assert_eq!(bad, "");
}

#[test]
fn a_table_that_is_read_from_end_to_end_would_be_seen() {
    let (_place, connection) = filled(Place::file());
    for sql in [
        "SELECT run FROM run_figures WHERE n_nit > 3",
        "SELECT run FROM run_search AS s WHERE instr(s.text, 'x') > 0",
        "SELECT run FROM finding WHERE summary = 'x'",
        "SELECT count(DISTINCT run) FROM finding GROUP BY rule",
    ] {
        let statement = Statement { name: "list".to_owned(), sql: sql.to_owned(), values: Vec::new() };
        assert_eq!(scans(&plan(&connection, &statement), "list").len(), 1, "{sql}");
    }
}

#[test]
fn every_statement_can_be_carried_out() {
    let (_place, connection) = filled(Place::new());
    for statement in statements(Engine::of(&connection)) {
        let mut prepared = connection.prepare(&statement.sql).unwrap();
        let mut rows = prepared.query(&statement.values).unwrap();
        while rows.next().unwrap_or_else(|error| panic!("{}: {error}", statement.name)).is_some() {}
    }
}

/// The steps in which PostgreSQL scans a table although it was told to avoid that: an index is missing.
fn server_scans(connection: &Connection, statement: &Statement) -> Vec<String> {
    let mut prepared = connection.prepare(&format!("EXPLAIN {}", statement.sql)).unwrap();
    let rows = prepared.query_map(&statement.values, |row| row.get::<_, String>(0)).unwrap();
    let steps: Vec<String> = rows.collect::<sql::Result<_>>().unwrap();
    const LARGE: [&str; 5] = ["run", "run_figures", "run_search", "run_reviewer", "finding"];
    let is_bad = |step: &String| {
        let of = step.split("Seq Scan on ").nth(1).and_then(|rest| rest.split(' ').next());
        of.is_some_and(|of| LARGE.contains(&of))
    };
    if steps.iter().any(is_bad) { steps } else { Vec::new() }
}

#[test]
fn on_a_server_there_is_an_index_for_every_statement_too() {
    let place = Place::new();
    if !place.is_on_server() {
        // This test runs again where there is a server.
        return;
    }
    let (_place, connection) = filled(place);
    connection.execute_batch("ANALYZE; SET enable_seqscan = off").unwrap();
    let mut bad = String::new();
    for statement in statements(Engine::Postgres) {
        let steps = server_scans(&connection, &statement);
        if !steps.is_empty() {
            bad += &format!("{}\n  {}\n", statement.name, steps.join("\n  "));
        }
    }
    assert_eq!(bad, "");
    let unseen = Statement {
        name: String::new(),
        sql: "SELECT run FROM finding WHERE summary = 'x'".to_owned(),
        values: Vec::new(),
    };
    assert!(!server_scans(&connection, &unseen).is_empty(), "what has no index is seen");
}
