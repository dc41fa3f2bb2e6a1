//! Whose turn it is, when there is much to do, and what it costs to find out.

use rusqlite::Connection;

use super::*;
use crate::store::open;

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
        let claims: Vec<Claim> = (0..n_at_once).map_while(|_| queue.next(10_000, Limits::default())).collect();
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
fn nobody_waits_for_ever_however_many_there_are() {
    let queue = Queue::new();
    fill(&queue, 300, "'big/r' || (n % 3), 'big/r' || (n % 3), n, 1, 1, 0, 0");
    fill(&queue, 20, "'small/r' || n, 'small/r' || n, 1, 1 + n, 1, 0, 0");
    let mut served = BTreeMap::new();
    for _ in 0..63 {
        let claim = queue.next(10_000, Limits::default()).unwrap();
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
    let mut statement = connection.prepare(&claim::lanes(Limits::default())).unwrap();
    let lanes: Vec<String> =
        statement.query_map([now_ms, i64::MAX], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    let mut first = connection.prepare(&claim::first_in_lane(&[])).unwrap();
    first.query_row(rusqlite::params![now_ms, i64::MAX, lanes[0]], |_| Ok(())).unwrap();
    statement.get_status(rusqlite::StatementStatus::VmStep) + first.get_status(rusqlite::StatementStatus::VmStep)
}

#[test]
fn what_is_done_costs_nothing_when_it_is_looked_for_what_is_owed() {
    let queue = Queue::in_file();
    fill(&queue, 10, "'o/r', 'o/r', n, 1, 1, 0, 0");
    let few = n_steps(&queue, 10_000);
    fill(&queue, 20_000, "'o/r' || (n % 50), 'o/r' || (n % 50), 100 + n, 1, 1, 1, 0");
    assert_eq!(n_steps(&queue, 10_000), few, "with 20,010 pull requests instead of 10");
}

#[test]
fn what_a_claim_costs_does_not_grow_with_what_is_owed() {
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
    let both = Limits { of_repository: Some(1), of_installation: Some(2) };
    for sql in [claim::lanes(Limits::default()), claim::lanes(both), claim::first_in_lane(&[1, 2])] {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        for at in 1..=statement.parameter_count() {
            statement.raw_bind_parameter(at, 1).unwrap();
        }
        let mut rows = statement.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>("detail").unwrap());
        }
        // What is scanned is what was found so far; a table is searched by an index.
        for step in &steps {
            let is_of_table = ["p", "h", "i", "r", "pull"].iter().any(|name| step.starts_with(&format!("SCAN {name}")));
            assert!(!is_of_table, "{steps:#?}");
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
    // Also where all there is was owed when the server last counted: it keeps to its plan until it counts again.
    let sql = "INSERT INTO pull (repo_key, repo, number, installation, lane, wanted, since_ms, ready_ms) \
               SELECT repo, repo, n, n % 5, n % 5 || ' ' || repo, 1, n, n \
               FROM (SELECT n, 'octocat/shop-' || n % 20 AS repo FROM generate_series(1, 20000) n) jobs";
    queue.place.carry_out(sql).unwrap();
    check_plans(&queue);
    queue.place.carry_out("UPDATE pull SET done = wanted, ready_ms = NULL WHERE number > 50").unwrap();
    check_plans(&queue);
}

/// Fails when the server would read anything but what is owed.
#[track_caller]
fn check_plans(queue: &Queue) {
    let connection = open::open_writer(&Location::parse(&queue.place.address()).unwrap()).unwrap();
    connection.execute_batch("ANALYZE").unwrap();
    let both = Limits { of_repository: Some(1), of_installation: Some(2) };
    for sql in [claim::lanes(Limits::default()), claim::lanes(both)] {
        // Without ANALYZE the way from one lane to the next is not told.
        let mut statement = connection.prepare(&format!("EXPLAIN (ANALYZE) {sql}")).unwrap();
        let steps = statement.query_map([10_000, i64::MAX], |row| row.get::<_, String>(0)).unwrap();
        let steps: Vec<String> = steps.collect::<crate::store::sql::Result<_>>().unwrap();
        assert!(!steps.iter().any(|step| step.contains("Seq Scan on pull")), "{steps:#?}");
        // The first lane, from lane to lane, and the first of each, in indexes that only have what is owed.
        let of_owed: Vec<&String> = steps.iter().filter(|step| step.contains(" on pull p")).collect();
        assert!(of_owed.len() >= 3, "{steps:#?}");
        for step in of_owed {
            assert!(step.contains("using pull_ready") || step.contains("using pull_queue"), "{steps:#?}");
        }
    }
}
