//! Whose turn it is, when there is much to do, and what it costs to find out.

use rusqlite::Connection;

use super::*;

/// Fills the database at once, which thousands of deliveries would take minutes for.
fn fill(queue: &Queue, n_rows: u32, row: &str) {
    let sql = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {n_rows})
         INSERT INTO pull (repo_key, repo, number, installation, wanted, done, since_ms) SELECT {row} FROM n"
    );
    Connection::open(queue.database.path()).unwrap().execute(&sql, []).unwrap();
}

/// Takes pieces of work in turn, `n_at_once` of them, until one of a repository is among them; how many that took.
fn until_it_is_the_turn_of(queue: &Queue, repo: &str, n_at_once: usize) -> usize {
    for n_done in 0.. {
        let candidates = queue.database.pull_candidates(10_000, n_at_once).unwrap();
        for candidate in candidates {
            let claim = queue.bid(candidate.pull, 10_000).unwrap();
            if candidate.repo == repo_of(repo) {
                return n_done + 1;
            }
            queue.finish(&claim, Vec::new());
            queue.database.let_go_of_pull(claim.token, 0).unwrap().unwrap();
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
            let what = What::Pull { repo: repo_of("small/one"), number: 1, about: About::Again { by: person() } };
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
        let candidate = queue.database.pull_candidates(10_000, 1).unwrap().remove(0);
        let claim = queue.bid(candidate.pull, 10_000).unwrap();
        queue.finish(&claim, Vec::new());
        queue.database.let_go_of_pull(claim.token, 0).unwrap().unwrap();
        *served.entry(candidate.repo.to_string()).or_insert(0) += 1;
    }
    assert!((1..=20).all(|n| served[&format!("small/r{n}")] == 1), "{served:?}");
    assert!((0..3).all(|n| (14..=15).contains(&served[&format!("big/r{n}")])), "{served:?}");
}

/// How many steps of SQLite's machine it takes to find whose turn it is.
fn n_steps(queue: &Queue, now_ms: i64) -> i32 {
    let connection = Connection::open(queue.database.path()).unwrap();
    let mut statement = connection.prepare(&claim::candidates()).unwrap();
    let n_found = statement.query_map([now_ms, i64::MAX, 64], |_| Ok(())).unwrap().count();
    assert_eq!(n_found, 10);
    statement.get_status(rusqlite::StatementStatus::VmStep)
}

#[test]
fn what_is_done_costs_nothing_when_it_is_looked_for_what_is_owed() {
    let queue = Queue::new();
    fill(&queue, 10, "'o/r', 'o/r', n, 1, 1, 0, 0");
    let few = n_steps(&queue, 10_000);
    fill(&queue, 20_000, "'o/r' || (n % 50), 'o/r' || (n % 50), 100 + n, 1, 1, 1, 0");
    assert_eq!(n_steps(&queue, 10_000), few, "with 20,010 pull requests instead of 10");
}
