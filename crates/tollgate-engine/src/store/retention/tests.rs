//! Which rows are deleted and which are kept.

use super::*;
use crate::store::place::Place;
use crate::store::{Location, open};

const NOW: u64 = 1_000 * DAY_MS;

struct Filled {
    place: Place,
    database: Database,
    connection: Connection,
}

impl Filled {
    fn new() -> Self {
        let place = Place::new();
        let location = Location::parse(&place.address()).unwrap();
        let database = Database::open_at(&location).unwrap();
        Self { connection: open::open(&location).unwrap(), place, database }
    }

    /// A blob literal of the engine.
    fn bytes(&self, digits: &str) -> String {
        if self.place.is_on_server() { format!("CAST('\\x{digits}' AS BYTEA)") } else { format!("x'{digits}'") }
    }

    fn sql(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    /// Inserts this many rows, `n` being the number of each.
    fn many(&self, n_rows: usize, into: &str, values: &str) {
        self.sql(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {n_rows}) \
             INSERT INTO {into} SELECT {values} FROM n"
        ));
    }

    /// A run of a day, with two findings.
    fn run(&self, id: i64, subject: &str, scope: &str, day: u64, prior: &str) {
        let (ended, none) = (day * DAY_MS, self.bytes("00"));
        self.sql(&format!(
            "INSERT INTO run (id, repository, subject, scope, state, started_ms, finished_ms, version, head, base, compared, \
               n_added, reviewed, skipped, not_reviewed, prior, review, snapshot_key) \
             VALUES ({id}, 'r', '{subject}', '{scope}', 'completed', 0, {ended}, '0', 'h', 'b', 'c', 1, 1, 0, 0, {prior}, \
               '{{}}', {none}); \
             INSERT INTO finding (run, id, fingerprint, file, line_start, line_end, severity, category, summary) \
             VALUES ({id}, 'F001', 'fp', 'a', 1, 1, 'High', 'Bug', 's'), ({id}, 'F002', 'fq', 'a', 1, 1, 'Low', 'Bug', 's'); \
             INSERT INTO run_figures (run, repository, origin, ended_ms, took_ms, result, n_critical, n_high, n_medium, n_low, \
               n_nit, n_praise, n_withheld) \
             VALUES ({id}, 'r', 'command-line', {ended}, 1, 'COMMENTED', 0, 1, 0, 1, 0, 0, 0)"
        ));
    }

    fn count(&self, what: &str) -> usize {
        self.connection.query_row(&format!("SELECT count(*) FROM {what}"), (), |row| row.get(0)).unwrap()
    }

    fn runs(&self) -> Vec<i64> {
        let mut statement = self.connection.prepare("SELECT id FROM run ORDER BY id").unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().collect::<sql::Result<_>>().unwrap()
    }

    fn forget(&self, kept: Retention) -> Forgotten {
        self.database.forget(&kept, NOW, || true).unwrap()
    }
}

/// Deletes only the named kinds.
fn kept() -> Retention {
    Retention { reviews: 0, diffs: 0, deliveries: 0, events: 0, pulls: 0 }
}

#[test]
fn writers_are_served_between_batches() {
    let filled = Filled::new();
    filled.many(2_300, "delivery (guid, event, received_ms)", "'old' || n, 'push', n");
    filled.sql(&format!("INSERT INTO delivery VALUES ('young', 'push', {})", NOW - 3 * DAY_MS + 1));
    let (mut left, mut n_written) = (vec![filled.count("delivery")], 0);
    let gone = filled
        .database
        .forget(&Retention { deliveries: 3, ..kept() }, NOW, || {
            n_written += 1;
            let sql = "INSERT INTO counter (name, value) VALUES (?1, 1)";
            let name = format!("writer {n_written}");
            filled.database.write(move |connection| connection.execute(sql, [name.clone()])).unwrap();
            left.push(filled.count("delivery"));
            true
        })
        .unwrap();
    assert_eq!(gone, Forgotten { n_deliveries: 2_300, ..Forgotten::default() });
    assert_eq!(left, [2_301, 1_801, 1_301, 801, 301], "never more than some hundreds in one write");
    assert_eq!((n_written, filled.count("counter WHERE name LIKE 'writer%'")), (4, 4));
    assert_eq!(filled.count("delivery WHERE guid = 'young'"), 1);
}

#[test]
fn a_shutdown_does_not_wait_for_retention() {
    let filled = Filled::new();
    filled.many(2_000, "event (seq, at_ms, kind, payload)", "n, n, 'x', '{}'");
    let gone = filled.database.forget(&Retention { events: 1, ..kept() }, NOW, || false).unwrap();
    assert_eq!((gone.n_events, filled.count("event")), (500, 1_500));
    assert_eq!(filled.forget(kept()), Forgotten::default(), "for ever is for ever");
    assert_eq!(filled.forget(Retention { events: 1, ..kept() }).n_events, 1_500);
}

#[test]
fn old_reviews_are_deleted_unless_in_use() {
    let filled = Filled::new();
    filled.run(1, "branch a", "branch", 100, "NULL");
    filled.run(2, "branch a", "branch", 200, "1");
    filled.run(3, "branch a", "branch", 990, "2");
    // The last run of its subject, however old.
    filled.run(4, "branch b", "branch", 100, "NULL");
    // Open and closed pull requests.
    filled.run(5, "pr 1", "pull", 100, "NULL");
    filled.run(6, "pr 2", "pull", 100, "NULL");
    filled.run(7, "pr 1", "pull", 100, "NULL");
    filled.sql("INSERT INTO pull (repo_key, repo, number, run, closed) VALUES ('o/r', 'o/r', 1, 7, 0), ('o/r', 'o/r', 2, 6, 1)");
    // Runs that a feature refers to.
    filled.run(8, "branch c", "branch", 100, "NULL");
    filled.run(9, "branch c", "branch", 101, "8");
    feature(&filled, "login", "backlog");
    filled.sql("INSERT INTO iteration (project, feature, number, outcome, outdated, n_critical, n_high, n_medium, n_low, n_nit, \
                run, stored_ms, record) VALUES (1, 'login', 1, 'approved', 0, 0, 0, 0, 0, 0, 8, 0, '{}')");
    let gone = filled.forget(Retention { reviews: 30, ..kept() });
    assert_eq!((gone.n_reviews, filled.runs()), (4, vec![3, 4, 7, 8, 9]));
    assert_eq!((filled.count("finding"), filled.count("run_figures")), (10, 5));
    assert_eq!(filled.count("run WHERE prior IS NOT NULL"), 1, "what is gone is not pointed to");
    assert_eq!(filled.count("pull WHERE run IS NULL"), 1);
    let forgot = |run| filled.database.forgot_run(run).unwrap();
    assert_eq!([0, 1, 3, 6, 9, 10, -1].map(forgot), [false, true, false, true, false, false, false]);
    assert_eq!(filled.forget(Retention { reviews: 30, ..kept() }).n_reviews, 0);
}

#[test]
fn many_reviews_in_use_do_not_hide_others() {
    let filled = Filled::new();
    for id in 1..=120 {
        filled.run(id, &format!("branch {id}"), "branch", 100, "NULL");
    }
    filled.run(121, "pr 1", "pull", 101, "NULL");
    assert_eq!(filled.forget(Retention { reviews: 30, ..kept() }).n_reviews, 1);
    assert_eq!(filled.runs().len(), 120);
}

fn feature(filled: &Filled, id: &str, status: &str) {
    filled.sql(&format!(
        "INSERT INTO project (id, path, name, added_ms) VALUES (1, 'p', 'p', 0) ON CONFLICT DO NOTHING; \
         INSERT INTO feature (project, id, rev, projected_rev, status, work, iteration, round, review, tries, restarts, \
           hook_failed, committed, stale, stepped, title, first_line, search, priority, dependencies, cost_usd, n_tokens, \
           created_ms, updated_ms) \
         VALUES (1, '{id}', 1, 1, '{status}', 'nothing', 1, 1, 'approved', 0, 0, 0, 0, 0, 0, 't', 't', 't', 2, '[]', 0, 0, 0, 0)"
    ));
}

#[test]
fn diffs_of_finished_features_are_deleted_and_shared_blobs_kept() {
    let filled = Filled::new();
    feature(&filled, "over", "completed");
    feature(&filled, "going", "in_progress");
    let [one, two, three] = ["01", "02", "03"].map(|digits| filled.bytes(digits));
    filled.sql(&format!("INSERT INTO blob VALUES ({one}, {one}), ({two}, {two}), ({three}, {three})"));
    let iteration = |feature: &str, diff: &str, delta: &str, day: u64| {
        filled.sql(&format!(
            "INSERT INTO iteration (project, feature, number, outcome, outdated, n_critical, n_high, n_medium, n_low, n_nit, \
             diff, delta, stored_ms, record) VALUES (1, '{feature}', 1, 'approved', 0, 0, 0, 0, 0, 0, {diff}, {delta}, {}, '{{}}')",
            day * DAY_MS
        ));
    };
    iteration("over", &one, &two, 100);
    iteration("over", &three, "NULL", 999);
    iteration("going", &one, "NULL", 100);
    let gone = filled.forget(Retention { diffs: 30, ..kept() });
    assert_eq!(gone, Forgotten { n_diffs: 1, ..Forgotten::default() });
    assert_eq!((filled.count("iteration"), filled.count("iteration WHERE diff IS NULL")), (3, 1));
    assert_eq!((filled.count("blob"), filled.count(&format!("blob WHERE hash = {two}"))), (2, 0));
    // Other stored rows are immutable.
    for sql in [&format!("diff = {three}"), "diff = NULL, record = 'x'", "number = 2"] {
        assert!(filled.connection.execute(&format!("UPDATE iteration SET {sql}"), ()).is_err(), "{sql}");
    }
    filled.run(1, "branch a", "branch", 1, "NULL");
    for sql in ["prior = 1", "review = 'x'", "prior = NULL, title = 'x'"] {
        assert!(filled.connection.execute(&format!("UPDATE run SET {sql}"), ()).is_err(), "{sql}");
    }
}

#[test]
fn closed_pull_requests_are_deleted_with_their_rows() {
    let filled = Filled::new();
    let into = "pull (repo_key, repo, number, closed, since_ms, ready_ms)";
    filled.many(250, into, "'o/r', 'o/r', n, CASE WHEN n > 10 THEN 1 ELSE 0 END, n, CASE WHEN n > 240 THEN 0 END");
    filled.sql(
        "INSERT INTO post (pull, head, kind, key, body, final, state, since_ms, attempt) \
                SELECT id, 'h', 'summary', '', 'b', 1, 'done', 0, 1 FROM pull",
    );
    filled.sql(
        "INSERT INTO told (pull, kind, comment, who, what, at_ms, state) \
                SELECT id, 'conversation', 1, 'ann', '\"help\"', 0, 'done' FROM pull",
    );
    let mut n_pieces = 1;
    let gone = filled
        .database
        .forget(&Retention { pulls: 30, ..kept() }, NOW, || {
            n_pieces += 1;
            true
        })
        .unwrap();
    assert_eq!((gone.n_pulls, n_pieces), (230, 3));
    let left = ["pull", "post", "told"].map(|table| filled.count(table));
    assert_eq!(left, [20, 20, 20], "open and queued ones are kept");
}
