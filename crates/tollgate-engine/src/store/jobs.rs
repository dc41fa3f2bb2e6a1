//! All jobs as one list: reviews and replies of pull requests, posts of the outbox, and work on features.
//!
//! ```text
//! pull-12            a review or a reply for a pull request
//! post-5             a post of the outbox
//! work-3-feature-1   work on a feature of project 3
//! ```
//!
//! A job is queued, running, failed (and retried), or dead: given up until a person retries it (dead letter). Which actions a
//! feature allows is decided elsewhere; those of the others are [`Database::retry_pull`] and its neighbours.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Pause;
use tollgate_core::names;

use super::pulls::{NewPost, Priority};
use super::{Database, number, pulls, queue};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, from_row, params};

/// The stable name of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobId {
    /// A review or a reply for a pull request.
    Pull(i64),
    /// A post of the outbox.
    Post(i64),
    /// Work on a feature of a project.
    Work(i64, FeatureId),
}

impl JobId {
    /// Parses a name; `None` when it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let (kind, rest) = text.split_once('-')?;
        match kind {
            "pull" => digits(rest).map(Self::Pull),
            "post" => digits(rest).map(Self::Post),
            "work" => {
                let (project, feature) = rest.split_once('-')?;
                Some(Self::Work(digits(project)?, FeatureId::parse(feature).ok()?))
            }
            _ => None,
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pull(id) => write!(f, "pull-{id}"),
            Self::Post(id) => write!(f, "post-{id}"),
            Self::Work(project, feature) => write!(f, "work-{project}-{feature}"),
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waiting.
    Queued,
    /// Leased by a worker.
    Running,
    /// Failed, and retried automatically.
    Failed,
    /// Given up until a person retries it (dead letter).
    Dead,
}

names!(JobState {
    Queued => "queued",
    Running => "running",
    Failed => "failed",
    Dead => "dead",
});

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// Its kind: `review`, `answer`, `summary`, `implementing` and so on.
    pub kind: String,
    /// The repository at the host, or the project.
    pub place: String,
    /// The pull request by its number, or the feature by its title.
    pub subject: String,
    /// Its state.
    pub state: JobState,
    /// How many attempts there were.
    pub attempt: u32,
    /// Since when it is queued, in milliseconds since 1970.
    pub since_ms: u64,
    /// When it is due; `None` when only a person can retry it.
    pub next_ms: Option<u64>,
    /// The last problem, for people.
    pub problem: Option<String>,
    /// The worker that holds the lease.
    pub owner: Option<String>,
    /// When the lease ends without a heartbeat.
    pub until_ms: Option<u64>,
}

/// A filter of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Only in this state.
    pub state: Option<JobState>,
    /// Only of this repository or project, by its name.
    pub place: Option<String>,
    /// The maximum number of rows.
    pub limit: usize,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The reason for refusing an action on a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobRefused {
    /// There is no such job.
    #[error("no such job: `{0}`")]
    Unknown(String),
    /// The state of the job does not allow it; why, for people.
    #[error("{0}")]
    Not(String),
}

/// The result of an action on a job.
pub type Asked = Result<Result<(), JobRefused>, Failure>;

impl Database {
    /// The jobs: running first, then failed and dead, then queued, the oldest of each first.
    pub fn jobs(&self, query: &JobQuery) -> Result<Vec<Job>, Failure> {
        let sql = list();
        let place = query.place.as_ref().map(|place| place.to_lowercase());
        let (state, [now, latest]) = (query.state.map(JobState::as_str), queue::validity(query.now_ms));
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let values = params![now, latest, state, place, number(query.limit)];
            statement.query_map(values, of_row)?.collect()
        })
    }

    /// Retries a failed or dead pull request now, as if it had not failed.
    pub fn retry_pull(&self, pull: i64, now_ms: u64) -> Asked {
        let done = self.decide(move |connection| {
            let Some(found) = found(connection, pull, now_ms)? else { return unknown(&JobId::Pull(pull)) };
            if found.is_held {
                return not("a worker is running it");
            }
            match (found.problem, found.is_owed, found.is_ready) {
                (None, _, true) => not("it is queued already"),
                (None, _, false) => not("it has not failed"),
                // The review is stored; only the host did not accept it.
                (Some(_), false, true) => pulls::hasten(connection, pull, Priority::Asked).map(Ok),
                (Some(_), _, _) => pulls::retry(connection, pull, now_ms).map(Ok),
            }
        })?;
        self.notify_jobs();
        Ok(done)
    }

    /// Retries a failed or dead post now, as if it had not failed.
    pub fn retry_post(&self, post: i64, now_ms: u64) -> Asked {
        let done = self.decide(move |connection| {
            let sql = "SELECT pull, state, problem FROM post WHERE id = ?1 /* row lock */";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found: Option<(i64, String, Option<String>)> = connection.query_row(sql, [post], row).optional()?;
            let Some((pull, state, problem)) = found else { return unknown(&JobId::Post(post)) };
            if found_held(connection, pull, now_ms)? {
                return not("a worker is running its pull request");
            }
            match (state.as_str(), problem) {
                ("done", _) => return not("it was published"),
                ("cancelled", None) => return not("it was superseded by a newer post"),
                _ => {}
            }
            let sql = "UPDATE post SET state = 'due', attempt = 0, problem = NULL WHERE id = ?1";
            connection.execute(sql, [post])?;
            pulls::hasten(connection, pull, Priority::Asked).map(Ok)
        })?;
        self.notify_jobs();
        Ok(done)
    }

    /// Cancels the job of a pull request; a running worker loses its lease. A check in progress ends with the content of `ends`,
    /// which is posted anew for a known head.
    pub fn cancel_pull(&self, pull: i64, now_ms: u64, ends: Option<NewPost>) -> Asked {
        self.decide(move |connection| {
            let Some(found) = found(connection, pull, now_ms)? else { return unknown(&JobId::Pull(pull)) };
            if !found.is_owed && (found.problem.is_none() || found.is_ready) {
                return not("neither a review nor a reply is queued for it");
            }
            pulls::cancel(connection, pull, found.is_owed, ends.as_ref()).map(Ok)
        })
    }

    /// Gives up a post. A check has to end at the host, and cannot be given up.
    pub fn give_up_post(&self, post: i64, now_ms: u64) -> Asked {
        self.decide(move |connection| {
            let sql = "SELECT pull, state, kind, problem FROM post WHERE id = ?1 /* row lock */";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let found: Option<(i64, String, String, Option<String>)> =
                connection.query_row(sql, [post], row).optional()?;
            let Some((pull, state, kind, problem)) = found else { return unknown(&JobId::Post(post)) };
            if state == "done" || (state == "cancelled" && problem.is_none()) {
                return not("it was published, cancelled or superseded");
            }
            if state != "cancelled" && kind == "check" {
                return not("a check has to end, or the pull request waits for it forever");
            }
            if found_held(connection, pull, now_ms)? {
                return not("a worker is running its pull request");
            }
            connection.execute("UPDATE post SET state = 'cancelled', problem = NULL WHERE id = ?1", [post])?;
            pulls::refresh(connection, pull).map(Ok)
        })
    }
}

fn unknown<T>(id: &JobId) -> sql::Result<Result<T, JobRefused>> {
    Ok(Err(JobRefused::Unknown(id.to_string())))
}

fn not<T>(why: &str) -> sql::Result<Result<T, JobRefused>> {
    Ok(Err(JobRefused::Not(why.to_owned())))
}

/// The state of a pull request.
struct Found {
    /// True when a review or a reply is queued.
    is_owed: bool,
    /// True when anything is queued, a post at least.
    is_ready: bool,
    is_held: bool,
    problem: Option<String>,
}

fn found(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<Option<Found>> {
    let sql = format!(
        "SELECT ready_ms IS NOT NULL AS is_ready, {} AS is_leased, problem, wanted > done OR EXISTS \
           (SELECT 1 FROM told t WHERE t.pull = pull.id AND t.state = 'due') AS is_owed \
         FROM pull WHERE id = ?3 /* row lock */",
        queue::leased("pull")
    );
    let row = |row: &Row<'_>| {
        let (is_ready, is_held) = (row.get("is_ready")?, row.get("is_leased")?);
        Ok(Found { is_owed: row.get("is_owed")?, is_ready, is_held, problem: row.get("problem")? })
    };
    let [now, latest] = queue::validity(now_ms);
    connection.query_row(&sql, params![now, latest, pull], row).optional()
}

fn found_held(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<bool> {
    Ok(found(connection, pull, now_ms)?.is_some_and(|found| found.is_held))
}

/// All jobs at ?1 with the state ?3 at the place ?4, at most ?5; ?2 is that of [`queue::leased`].
fn list() -> String {
    let held = queue::leased;
    let state = |table: &str, failed: &str| {
        format!("CASE WHEN {} THEN 'running' WHEN {failed} THEN 'failed' ELSE 'queued' END", held(table))
    };
    let owner = |table: &str| {
        let held = held(table);
        format!(
            "CASE WHEN {held} THEN {table}.owner END AS owner, CASE WHEN {held} THEN {table}.lease_until_ms END AS until_ms"
        )
    };
    let failed = [Pause::AgentFailed, Pause::CommitFailed, Pause::ReviewFailed, Pause::Interrupted]
        .map(Pause::as_str)
        .join("', '");
    let pull = "p.repo AS place, p.repo_key AS place_key, CAST(p.number AS TEXT) AS subject";
    let feature = "c.name AS place, lower(c.name) AS place_key, \
                   CASE WHEN f.title = '' THEN f.first_line ELSE f.title END AS subject";
    let (of_pull, of_post, of_work) = (owner("p"), owner("p"), owner("w"));
    let (pull_state, post_state, work_state) = (
        state("p", "p.problem IS NOT NULL"),
        state("p", "t.problem IS NOT NULL OR p.troubles > 0"),
        state("w", "w.not_before_ms > ?1"),
    );
    format!(
        "SELECT * FROM (
           SELECT 'pull' AS what, p.id, CAST(NULL AS TEXT) AS feature, {pull}, {pull_state} AS state,
             CASE WHEN p.wanted > p.done THEN 'review' ELSE 'answer' END AS kind,
             CASE WHEN p.attempt > p.troubles THEN p.attempt ELSE p.troubles END AS attempt,
             p.since_ms, p.ready_ms AS next_ms, p.problem, {of_pull}
           FROM pull p WHERE p.ready_ms IS NOT NULL AND (p.wanted > p.done
             OR EXISTS (SELECT 1 FROM told o WHERE o.pull = p.id AND o.state = 'due'))
           UNION ALL SELECT 'pull', p.id, CAST(NULL AS TEXT), {pull}, 'dead', 'review', p.attempt, p.since_ms,
             CAST(NULL AS BIGINT), p.problem, CAST(NULL AS TEXT), CAST(NULL AS BIGINT)
           FROM pull p WHERE p.problem IS NOT NULL AND p.ready_ms IS NULL AND p.closed = 0
           UNION ALL SELECT 'post', t.id, CAST(NULL AS TEXT), {pull}, {post_state}, t.kind, t.attempt,
             CASE WHEN t.since_ms = 0 THEN p.since_ms ELSE t.since_ms END, p.not_before_ms,
             CASE WHEN t.problem IS NULL AND p.troubles > 0 THEN p.problem ELSE t.problem END, {of_post}
           FROM post t JOIN pull p ON p.id = t.pull WHERE t.state IN ('due', 'posting')
           UNION ALL SELECT 'post', t.id, CAST(NULL AS TEXT), {pull}, 'dead', t.kind, t.attempt, t.since_ms,
             CAST(NULL AS BIGINT), t.problem, CAST(NULL AS TEXT), CAST(NULL AS BIGINT)
           FROM post t JOIN pull p ON p.id = t.pull
           WHERE t.state = 'cancelled' AND t.problem IS NOT NULL AND p.closed = 0
           UNION ALL SELECT 'work', w.project, w.feature, {feature}, {work_state}, w.kind, f.tries + f.restarts,
             w.since_ms, w.not_before_ms, f.problem, {of_work}
           FROM work w JOIN feature f ON f.project = w.project AND f.id = w.feature JOIN project c ON c.id = w.project
           WHERE f.deleted_ms IS NULL AND c.removed_ms IS NULL
           UNION ALL SELECT 'work', f.project, f.id, {feature}, 'dead', f.pause, f.tries + f.restarts, f.since_ms,
             CAST(NULL AS BIGINT), f.problem, CAST(NULL AS TEXT), CAST(NULL AS BIGINT)
           FROM feature f JOIN project c ON c.id = f.project
           WHERE f.pause IN ('{failed}') AND f.deleted_ms IS NULL AND c.removed_ms IS NULL
         ) AS job
         WHERE (CAST(?3 AS TEXT) IS NULL OR state = ?3) AND (CAST(?4 AS TEXT) IS NULL OR place_key = ?4)
         ORDER BY CASE state WHEN 'running' THEN 0 WHEN 'dead' THEN 1 WHEN 'failed' THEN 2 ELSE 3 END, since_ms, what, id,
           feature LIMIT ?5"
    )
}

fn of_row(row: &Row<'_>) -> sql::Result<Job> {
    let (what, id, feature): (String, i64, Option<String>) = (row.get("what")?, row.get("id")?, row.get("feature")?);
    let id = match (what.as_str(), feature) {
        ("pull", _) => JobId::Pull(id),
        ("post", _) => JobId::Post(id),
        (_, feature) => {
            let feature = FeatureId::parse(&feature.unwrap_or_default());
            JobId::Work(id, feature.map_err(|error| pulls::damaged(error.to_string()))?)
        }
    };
    let (state, subject): (String, String) = (row.get("state")?, row.get("subject")?);
    let is_feature = matches!(id, JobId::Work(..));
    Ok(from_row!(row => Job {
        kind, place, attempt, since_ms, next_ms, problem, owner, until_ms;
        id,
        subject: if is_feature { subject } else { format!("#{subject}") },
        state: JobState::parse(&state).ok_or_else(|| pulls::damaged("a job is in no state"))?,
    }))
}
