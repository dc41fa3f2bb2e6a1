//! Fairness of the queue, and the cost of a claim.

use rusqlite::Connection;

use super::*;
use crate::store::open;
use crate::store::sql::{self, Value};

/// Fills the database at once, which thousands of deliveries would take minutes for.
fn fill(queue: &Queue, n_rows: u32, row: &str) {
    let sql = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {n_rows})
         INSERT INTO pull (repo_key, repo, number, installation, wanted, done, since_ms) SELECT {row} FROM n"
    );
    queue.place.carry_out(&sql).unwrap();
    let sql = "UPDATE pull SET lane = installation || ' ' || repo_key, ready_ms = CASE WHEN wanted > done THEN 0 END";
    queue.place.carry_out(sql).unwrap();
}

/// Takes pieces of work in turn, `n_at_once` of them, until one of a repository is among them; how many that took.
fn until_it_is_the_turn_of(queue: &Queue, repo: &str, n_at_once: usize) -> usize {
    for n_done in 0.. {
        let claims: Vec<Claim> =
            (0..n_at_once).map_while(|_| queue.next(10_000, ConcurrencyLimits::default())).collect();
        for claim in claims {
            if claim.pull.repo == repo_of(repo) {
                return n_done + 1;
            }
            queue.finish(&claim, Vec::new());
            queue.database.release_pull(claim.token, 0).unwrap().unwrap();
        }
    }
    unreachable!("it is everybody's turn some time")
}

#[test]
fn a_thousand_pull_requests_of_one_delay_the_first_of_another_by_one_piece_of_work() {
    for (installation, when) in [(1, 0), (2, 0), (1, 9_000), (2, 9_000)] {
        for n_at_once in [1, 2] {
            let queue = Queue::new();
            fill(&queue, 1_000, "'big/one', 'big/one', n, 1, 1, 0, n");
            // The big one has been served for a while when the other comes.
            assert_eq!(until_it_is_the_turn_of(&queue, "big/one", n_at_once), 1);
            let what = WebhookEventKind::Pull {
                repo: repo_of("small/one"),
                number: 1,
                about: PullEvent::ReviewRequested { by: person() },
            };
            queue.deliver(installation, what, when);
            let turn = until_it_is_the_turn_of(&queue, "small/one", n_at_once);
            assert!(turn <= 2, "its turn is the {turn}th, of installation {installation} since {when}");
        }
    }
}

#[test]
fn no_lane_starves_however_many_there_are() {
    let queue = Queue::new();
    fill(&queue, 300, "'big/r' || (n % 3), 'big/r' || (n % 3), n, 1, 1, 0, 0");
    fill(&queue, 20, "'small/r' || n, 'small/r' || n, 1, 1 + n, 1, 0, 0");
    let mut served = BTreeMap::new();
    for _ in 0..63 {
        let claim = queue.next(10_000, ConcurrencyLimits::default()).unwrap();
        queue.finish(&claim, Vec::new());
        queue.database.release_pull(claim.token, 0).unwrap().unwrap();
        *served.entry(claim.pull.repo.to_string()).or_insert(0) += 1;
    }
    assert!((1..=20).all(|n| served[&format!("small/r{n}")] == 1), "{served:?}");
    assert!((0..3).all(|n| (14..=15).contains(&served[&format!("big/r{n}")])), "{served:?}");
}

/// How many steps of SQLite's machine it takes to find whose turn it is.
fn n_steps(queue: &Queue, now_ms: i64) -> i32 {
    let connection = Connection::open(queue.place.path()).unwrap();
    let mut lane = connection.prepare(&claim::next_lane(&[])).unwrap();
    let found: String = lane.query_row(rusqlite::params![now_ms, i64::MAX, "", "~"], |row| row.get(0)).unwrap();
    let mut job = connection.prepare(&format!("SELECT {}, ?3, ?4", claim::next_job(&[]))).unwrap();
    let ranges =
        rusqlite::params![now_ms, i64::MAX, 0, 0, format!("{found}\u{1}"), "1!", "1 ", format!("{found}\u{1}")];
    job.query_row(ranges, |row| row.get::<_, i64>(0)).unwrap();
    lane.get_status(rusqlite::StatementStatus::VmStep) + job.get_status(rusqlite::StatementStatus::VmStep)
}

#[test]
fn finished_jobs_cost_a_claim_nothing() {
    let queue = Queue::in_file();
    fill(&queue, 10, "'o/r', 'o/r', n, 1, 1, 0, 0");
    let few = n_steps(&queue, 10_000);
    fill(&queue, 20_000, "'o/r' || (n % 50), 'o/r' || (n % 50), 100 + n, 1, 1, 1, 0");
    assert_eq!(n_steps(&queue, 10_000), few, "with 20,010 pull requests instead of 10");
}

#[test]
fn the_cost_of_a_claim_does_not_grow_with_the_queue() {
    let queue = Queue::in_file();
    fill(&queue, 50, "'o/r' || (n % 50), 'o/r' || (n % 50), n, 1, 1, 0, 0");
    let few = n_steps(&queue, 10_000);
    fill(&queue, 48_000, "'o/r' || (n % 50), 'o/r' || (n % 50), 100 + n, 1, 1, 1, 0");
    fill(&queue, 2_000, "'o/r' || (n % 50), 'o/r' || (n % 50), 100000 + n, 1, 1, 0, 1");
    let many = n_steps(&queue, 10_000);
    assert!(many <= few + few / 10, "{many} steps with 2,050 of 50,050 owed instead of {few} with 50 of 50");
}

#[test]
fn a_claim_reads_indexes_and_never_all_there_is() {
    let queue = Queue::in_file();
    let connection = Connection::open(queue.place.path()).unwrap();
    for sql in [claim::next_lane(&[]), format!("SELECT {}", claim::next_job(&[1, 2])), claim::leased_lanes()] {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        for at in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(at, 1).unwrap();
        }
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>("detail").unwrap());
        }
        // Tables are searched by an index; only intermediate results are scanned.
        for step in &steps {
            // The index by owner has leased rows alone.
            let is_of_table = ["p", "h", "pull"].iter().any(|name| step.starts_with(&format!("SCAN {name}")));
            assert!(!is_of_table || step.ends_with("USING INDEX pull_by_owner"), "{steps:#?}");
        }
        assert!(steps.iter().any(|step| step.contains("USING") && step.contains("INDEX pull_")), "{steps:#?}");
    }
}

#[test]
fn on_a_server_a_claim_reads_only_what_is_owed() {
    let queue = Queue::new();
    if !queue.place.is_on_server() {
        // Asked again where there is one.
        return;
    }
    // Also with the statistics of a time when all rows were due: the server keeps its plan until the next ANALYZE.
    let sql = "INSERT INTO pull (repo_key, repo, number, installation, lane, wanted, since_ms, ready_ms) \
               SELECT repo, repo, n, n % 5, n % 5 || ' ' || repo, 1, n, n \
               FROM (SELECT n, 'octocat/shop-' || n % 20 AS repo FROM generate_series(1, 20000) n) jobs";
    queue.place.carry_out(sql).unwrap();
    check_plans(&queue);
    queue.place.carry_out("UPDATE pull SET done = wanted, ready_ms = NULL WHERE number > 50").unwrap();
    check_plans(&queue);
}

/// Fails when the server would read other rows than due ones.
#[track_caller]
fn check_plans(queue: &Queue) {
    let connection = open::open_writer(&Location::parse(&queue.place.address()).unwrap(), sql::connect).unwrap();
    connection.execute_batch("ANALYZE").unwrap();
    let job = format!("SELECT {}, CAST(?3 AS BIGINT), CAST(?4 AS BIGINT)", claim::next_job(&[]));
    for (sql, n_scans, ranges) in [
        (claim::next_lane(&[]), 1, vec![]),
        (job, 2, ["1 octocat/shop-3", "1!", "1 ", "1 octocat/shop-3"].map(str::to_owned).to_vec()),
    ] {
        let mut values = vec![Value::Integer(10_000), Value::Integer(i64::MAX)];
        let bounds = if n_scans == 1 {
            ["", "~"].map(|bound| Value::Text(bound.to_owned()))
        } else {
            [Value::Integer(0), Value::Integer(0)]
        };
        values.extend(bounds.into_iter().chain(ranges.into_iter().map(Value::from)));
        let mut statement = connection.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let steps = statement.query_map(&values, |row| row.get::<_, String>(0)).unwrap();
        let steps: Vec<String> = steps.collect::<crate::store::sql::Result<_>>().unwrap();
        assert!(!steps.iter().any(|step| step.contains("Seq Scan on pull")), "{steps:#?}");
        // Only indexes of due rows are read, in their order: nothing is sorted.
        let of_due: Vec<&String> = steps.iter().filter(|step| step.contains(" on pull p")).collect();
        assert_eq!(of_due.len(), n_scans, "{steps:#?}");
        for step in of_due {
            assert!(step.contains("using pull_ready") || step.contains("using pull_queue"), "{steps:#?}");
        }
        assert!(!steps.iter().any(|step| step.contains("Sort")), "{steps:#?}");
    }
}
