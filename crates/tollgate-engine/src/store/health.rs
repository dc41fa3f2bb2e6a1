//! Counts of jobs and recent reviews, for metrics.
//!
//! Counted are queued, running and dead jobs and the reviews of the last hour: never whole tables.

use super::{Database, Location, Tallied, number};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row};

/// How far back reviews are recent.
const RECENT_MS: u64 = 60 * 60 * 1_000;

/// The counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Health {
    /// Jobs by kind.
    pub jobs: Vec<Jobs>,
    /// All claims ever, by kind.
    pub claims: Vec<(&'static str, u64)>,
    /// The number of the last stored review.
    pub last_run: u64,
    /// Reviews of the last hour, by result.
    pub recent: Vec<Recent>,
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// The size of the database in bytes; `None` when unknown.
    pub n_bytes: Option<u64>,
    /// Counts of this process.
    pub tallied: Tallied,
}

/// Jobs of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jobs {
    /// `review`, `reply`, `post` or `board`.
    pub kind: &'static str,
    /// Waiting.
    pub queued: u64,
    /// Leased by a worker.
    pub running: u64,
    /// Failed, and retried.
    pub failed: u64,
    /// Given up (dead letters).
    pub dead: u64,
    /// Since when the oldest is queued, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
}

/// Reviews of the last hour with one result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recent {
    /// The verdict, or `FAILED`.
    pub result: String,
    /// How many there are.
    pub n_runs: u64,
    /// Their total duration in milliseconds.
    pub took_ms: u64,
    /// Their cost in US dollars, as far as known.
    pub cost_usd: f64,
    /// Tokens read and written.
    pub n_tokens: u64,
}

impl Database {
    /// Counts the jobs at a time, in milliseconds since 1970.
    pub fn health(&self, now_ms: u64) -> Result<Health, Failure> {
        let mut health = self.read(|connection| counted(connection, now_ms))?;
        (health.engine, health.n_bytes) = match self.place() {
            Location::File(path) => ("sqlite", std::fs::metadata(path).ok().map(|about| about.len())),
            Location::Postgres(_) => {
                let sql = "SELECT pg_database_size(current_database())";
                ("postgres", self.read(|connection| connection.query_row(sql, (), |row| row.get(0))).ok())
            }
        };
        health.tallied = self.tallied();
        Ok(health)
    }
}

fn counted(connection: &Connection, now_ms: u64) -> sql::Result<Health> {
    let mut jobs = Vec::new();
    for (kind, sql) in JOBS {
        let read = |row: &Row<'_>| {
            Ok(Jobs {
                kind,
                queued: row.get(0)?,
                running: row.get(1)?,
                failed: row.get(2)?,
                dead: row.get(3)?,
                oldest_ms: row.get(4)?,
            })
        };
        jobs.push(connection.query_row(sql, [number(now_ms)], read)?);
    }
    let claimed = |name: &str| -> sql::Result<u64> {
        if connection.is_shared() {
            let sql = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM number_{name}");
            return connection.query_row(&sql, (), |row| row.get(0));
        }
        let sql = "SELECT value FROM counter WHERE name = ?1";
        Ok(connection.query_row(sql, [name], |row| row.get(0)).optional()?.unwrap_or_default())
    };
    let last_run = connection.query_row("SELECT coalesce(max(run), 0) FROM run_figures", (), |row| row.get(0))?;
    let recent = |row: &Row<'_>| {
        Ok(Recent {
            result: row.get(0)?,
            n_runs: row.get(1)?,
            took_ms: row.get(2)?,
            cost_usd: row.get(3)?,
            n_tokens: row.get(4)?,
        })
    };
    let mut statement = connection.prepare(
        "SELECT result, count(*), CAST(sum(took_ms) AS BIGINT), coalesce(sum(cost_usd), 0.0), \
         coalesce(CAST(sum(n_tokens) AS BIGINT), 0) FROM run_figures WHERE ended_ms > ?1 GROUP BY result ORDER BY result",
    )?;
    let recent = statement.query_map([number(now_ms.saturating_sub(RECENT_MS))], recent)?;
    Ok(Health {
        jobs,
        claims: vec![("pull", claimed("pull_token")?), ("board", claimed("token")?)],
        last_run,
        recent: recent.collect::<sql::Result<_>>()?,
        ..Health::default()
    })
}

/// For each kind at `?1`: queued, running, failed and dead jobs, and since when the oldest is queued.
const JOBS: [(&str, &str); 4] = [
    (
        "review",
        "SELECT count(*) FILTER (WHERE wanted > done AND problem IS NULL AND (owner IS NULL OR lease_until_ms < ?1)), \
         count(*) FILTER (WHERE owner IS NOT NULL AND lease_until_ms >= ?1), \
         count(*) FILTER (WHERE wanted > done AND problem IS NOT NULL AND (owner IS NULL OR lease_until_ms < ?1)), \
         coalesce(CAST(sum(CASE WHEN wanted <= done AND problem IS NOT NULL AND closed = 0 AND owner IS NULL \
           AND NOT EXISTS (SELECT 1 FROM post WHERE post.pull = pull.id AND post.state IN ('due', 'posting')) \
           THEN 1 ELSE 0 END) AS BIGINT), 0), \
         min(CASE WHEN wanted > done THEN since_ms END) \
         FROM pull WHERE wanted > done OR owner IS NOT NULL OR problem IS NOT NULL",
    ),
    (
        "reply",
        "SELECT count(*), 0 * count(*), 0 * count(*), 0 * count(*), min(at_ms) FROM told WHERE state = 'due' AND at_ms <= ?1",
    ),
    (
        "post",
        "SELECT count(*) FILTER (WHERE state = 'due' AND attempt = 0), count(*) FILTER (WHERE state = 'posting'), \
         count(*) FILTER (WHERE state = 'due' AND attempt > 0), \
         (SELECT count(*) FROM post JOIN pull ON pull.id = post.pull \
          WHERE post.state = 'cancelled' AND post.problem IS NOT NULL AND pull.closed = 0), \
         min(CASE WHEN since_ms <= ?1 THEN since_ms END) FROM post WHERE state IN ('due', 'posting')",
    ),
    (
        "board",
        "SELECT count(*) FILTER (WHERE owner IS NULL OR lease_until_ms < ?1), \
         count(*) FILTER (WHERE owner IS NOT NULL AND lease_until_ms >= ?1), 0 * count(*), 0 * count(*), min(since_ms) \
         FROM work",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::place::Place;

    fn jobs(kind: &'static str, n: [u64; 4], oldest_ms: Option<u64>) -> Jobs {
        let [queued, running, failed, dead] = n;
        Jobs { kind, queued, running, failed, dead, oldest_ms }
    }

    #[test]
    fn jobs_are_counted_by_kind_and_state() {
        let place = Place::new();
        let database = Database::open_at(&Location::parse(&place.address()).unwrap()).unwrap();
        let empty = database.health(50_000).unwrap();
        assert_eq!(empty.jobs, ["review", "reply", "post", "board"].map(|kind| jobs(kind, [0; 4], None)));
        let fill = "
            INSERT INTO pull (repo_key, repo, number, wanted, done, since_ms, problem, closed, owner, token, lease_until_ms)
            VALUES ('r', 'r', 1, 1, 0, 7000, NULL, 0, NULL, NULL, NULL), ('r', 'r', 2, 1, 0, 8000, NULL, 0, 'a', 1, 60000),
              ('r', 'r', 3, 1, 0, 9000, NULL, 0, 'a', 2, 40000), ('r', 'r', 4, 2, 1, 6000, 'oh', 0, NULL, NULL, NULL),
              ('r', 'r', 5, 1, 1, 1000, 'oh', 0, NULL, NULL, NULL), ('r', 'r', 6, 1, 1, 1000, 'oh', 1, NULL, NULL, NULL),
              ('r', 'r', 7, 1, 1, 1000, 'oh', 0, NULL, NULL, NULL), ('r', 'r', 8, 1, 1, 1000, NULL, 0, NULL, NULL, NULL);
            INSERT INTO told (pull, kind, comment, who, what, at_ms, state)
            VALUES (1, 'thread', 1, 'a', 'b', 3000, 'due'), (1, 'thread', 2, 'a', 'b', 2000, 'done');
            INSERT INTO post (pull, head, kind, key, body, final, state, since_ms, attempt, problem)
            VALUES (1, 'h', 'summary', 'a', '', 1, 'due', 4000, 0, NULL), (1, 'h', 'summary', 'b', '', 1, 'due', 5000, 2, 'oh'),
              (7, 'h', 'summary', 'c', '', 1, 'posting', 5000, 1, NULL), (1, 'h', 'summary', 'd', '', 1, 'cancelled', 1, 5, 'oh'),
              (1, 'h', 'summary', 'e', '', 1, 'cancelled', 1, 0, NULL), (1, 'h', 'summary', 'f', '', 1, 'done', 1, 1, NULL);
            ";
        let claims = if place.is_on_server() {
            "SELECT setval('number_pull_token', 9)"
        } else {
            "UPDATE counter SET value = 9 WHERE name = 'pull_token'"
        };
        let fill = format!("{fill} {claims}");
        database.write(move |connection| connection.execute_batch(&fill)).unwrap();
        let health = database.health(50_000).unwrap();
        let expected = [
            jobs("review", [2, 1, 1, 1], Some(6_000)),
            jobs("reply", [1, 0, 0, 0], Some(3_000)),
            jobs("post", [1, 1, 1, 1], Some(4_000)),
            jobs("board", [0; 4], None),
        ];
        assert_eq!(health.jobs, expected);
        assert_eq!(health.claims, [("pull", 9), ("board", 0)]);
        assert_eq!(health.engine, if place.is_on_server() { "postgres" } else { "sqlite" });
        assert_eq!((health.tallied.commits, health.tallied.waiting), (1, 0));
        assert!(health.n_bytes.is_some_and(|n_bytes| n_bytes > 4_096));
    }

    #[test]
    fn lost_leases_are_counted() {
        let place = Place::new();
        let database = Database::open_at(&Location::parse(&place.address()).unwrap()).unwrap();
        let token = crate::store::pulls::FencingToken(77);
        assert!(database.heartbeat_pull(token, 1).unwrap().is_err());
        assert!(database.release_pull(token, 1).unwrap().is_err());
        assert_eq!(database.tallied().too_late, 2);
    }
}
