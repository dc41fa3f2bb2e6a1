//! What is owed, as one list: reviews and answers of pull requests, posts, and the work on features.
//!
//! ```text
//! pull-12            a review or an answer that a pull request is owed
//! post-5             something that is to be seen on a pull request
//! work-3-feature-1   the work that a feature of project 3 is owed
//! ```
//!
//! It is queued, running, failed (and tried again by itself), or dead: given up until somebody asks. Nothing here decides
//! what may happen to a feature; what may happen to the others, [`Database::retry_pull`] and its neighbours do.

use std::fmt;

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Pause;

use super::pulls::{NewPost, Priority};
use super::{Database, number, pulls};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, params};

/// A lease that ends later than this from now was made by another clock, and does not hold.
const LONGEST_LEASE_MS: u64 = 24 * 60 * 60 * 1_000;

/// The name of a job, which it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobId {
    /// A review or an answer that a pull request is owed.
    Pull(i64),
    /// Something that is to be seen on a pull request.
    Post(i64),
    /// The work that a feature of a project is owed.
    Work(i64, FeatureId),
}

impl JobId {
    /// Reads a name; `None` when it is none.
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

/// How it stands with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It waits for its turn.
    Queued,
    /// Somebody works on it.
    Running,
    /// It failed, and is tried again by itself.
    Failed,
    /// It was given up, until somebody asks for it.
    Dead,
}

impl JobState {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Failed, Self::Dead];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }

    /// The state that a word means.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Something that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// What is to be done, in a word: `review`, `answer`, `summary`, `implementing` and so on.
    pub kind: String,
    /// The repository at the host, or the project.
    pub place: String,
    /// The pull request by its number, or the feature by its title.
    pub subject: String,
    /// How it stands.
    pub state: JobState,
    /// How often it was tried.
    pub attempt: u32,
    /// Since when it has been owed, in milliseconds since 1970.
    pub since_ms: u64,
    /// From when on it can be done; `None` when nobody does it before somebody asks.
    pub next_ms: Option<u64>,
    /// What went wrong last, for people.
    pub problem: Option<String>,
    /// Who works on it.
    pub owner: Option<String>,
    /// Until when that holds without a sign of life.
    pub until_ms: Option<u64>,
}

/// Which jobs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Only in this state.
    pub state: Option<JobState>,
    /// Only of this repository or project, by its name.
    pub place: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// Why nothing was done about a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobRefused {
    /// There is no such job.
    #[error("there is no job `{0}`")]
    Unknown(String),
    /// Not as it is now; why, for people.
    #[error("{0}")]
    Not(String),
}

/// What comes of something that is asked of a job.
pub type Asked = Result<Result<(), JobRefused>, Failure>;

impl Database {
    /// What is owed: what runs first, then what failed or was given up, then what waits, the oldest of each first.
    pub fn jobs(&self, query: &JobQuery) -> Result<Vec<Job>, Failure> {
        let sql = list();
        let place = query.place.as_ref().map(|place| place.to_lowercase());
        let (state, latest) = (query.state.map(JobState::as_str), query.now_ms.saturating_add(LONGEST_LEASE_MS));
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let values = params![number(query.now_ms), number(latest), state, place, number(query.limit)];
            statement.query_map(values, of_row)?.collect()
        })
    }

    /// Has a pull request looked at now that was given up or waits after a failure, as if nothing had failed.
    pub fn retry_pull(&self, pull: i64, now_ms: u64) -> Asked {
        self.decide(move |connection| {
            let Some(found) = found(connection, pull, now_ms)? else { return unknown(&JobId::Pull(pull)) };
            if found.is_held {
                return not("somebody works on it");
            }
            match (found.problem, found.is_owed, found.is_ready) {
                (None, _, true) => not("it waits for its turn already"),
                (None, _, false) => not("nothing of it was given up"),
                // What is to be said is known; only the host did not take it.
                (Some(_), false, true) => pulls::hasten(connection, pull, Priority::Asked).map(Ok),
                (Some(_), _, _) => pulls::retry(connection, pull, now_ms).map(Ok),
            }
        })
    }

    /// Has something posted that was given up or waits after a failure, as if nothing had failed.
    pub fn retry_post(&self, post: i64, now_ms: u64) -> Asked {
        self.decide(move |connection| {
            let sql = "SELECT pull, state, problem FROM post WHERE id = ?1 /* row lock */";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found: Option<(i64, String, Option<String>)> = connection.query_row(sql, [post], row).optional()?;
            let Some((pull, state, problem)) = found else { return unknown(&JobId::Post(post)) };
            if found_held(connection, pull, now_ms)? {
                return not("somebody works on its pull request");
            }
            match (state.as_str(), problem) {
                ("done", _) => return not("it was posted"),
                ("cancelled", None) => return not("it is not to be posted any more: something newer is"),
                _ => {}
            }
            let sql = "UPDATE post SET state = 'due', attempt = 0, problem = NULL WHERE id = ?1";
            connection.execute(sql, [post])?;
            pulls::hasten(connection, pull, Priority::Asked).map(Ok)
        })
    }

    /// Ends what a pull request is owed; whoever works on it finds that it is not theirs any more. A check that has begun
    /// ends with what `ends` says, which is said anew for a head that is known.
    pub fn cancel_pull(&self, pull: i64, now_ms: u64, ends: Option<NewPost>) -> Asked {
        self.decide(move |connection| {
            let Some(found) = found(connection, pull, now_ms)? else { return unknown(&JobId::Pull(pull)) };
            if !found.is_owed && (found.problem.is_none() || found.is_ready) {
                return not("neither a review nor an answer is owed to it");
            }
            pulls::cancel(connection, pull, found.is_owed, ends.as_ref()).map(Ok)
        })
    }

    /// Ends the tries to post something. A check has to end at the host, and cannot be given up like this.
    pub fn give_up_post(&self, post: i64, now_ms: u64) -> Asked {
        self.decide(move |connection| {
            let sql = "SELECT pull, state, kind, problem FROM post WHERE id = ?1 /* row lock */";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let found: Option<(i64, String, String, Option<String>)> =
                connection.query_row(sql, [post], row).optional()?;
            let Some((pull, state, kind, problem)) = found else { return unknown(&JobId::Post(post)) };
            if state == "done" || (state == "cancelled" && problem.is_none()) {
                return not("it is not to be posted any more");
            }
            if state != "cancelled" && kind == "check" {
                return not("a check has to end, or the pull request waits for it for ever");
            }
            if found_held(connection, pull, now_ms)? {
                return not("somebody works on its pull request");
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

/// How it stands with a pull request.
struct Found {
    /// True when a review or an answer is owed.
    is_owed: bool,
    /// True when anything is, a post at least.
    is_ready: bool,
    is_held: bool,
    problem: Option<String>,
}

fn found(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<Option<Found>> {
    let sql = "SELECT ready_ms, lease_until_ms, problem, CASE WHEN wanted > done OR EXISTS \
                 (SELECT 1 FROM told t WHERE t.pull = pull.id AND t.state = 'due') THEN 1 ELSE 0 END \
               FROM pull WHERE id = ?1 /* row lock */";
    let latest = now_ms.saturating_add(LONGEST_LEASE_MS);
    let row = |row: &Row<'_>| {
        let (ready_ms, until_ms): (Option<i64>, Option<u64>) = (row.get(0)?, row.get(1)?);
        let is_held = until_ms.is_some_and(|until| until >= now_ms && until <= latest);
        Ok(Found { is_owed: row.get(3)?, is_ready: ready_ms.is_some(), is_held, problem: row.get(2)? })
    };
    connection.query_row(sql, [pull], row).optional()
}

fn found_held(connection: &Connection, pull: i64, now_ms: u64) -> sql::Result<bool> {
    Ok(found(connection, pull, now_ms)?.is_some_and(|found| found.is_held))
}

/// All jobs at ?1, of the state ?3 and the place ?4, at most ?5; a lease beyond ?2 does not hold.
fn list() -> String {
    let held = |table: &str| format!("{table}.lease_until_ms >= ?1 AND {table}.lease_until_ms <= ?2");
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
    Ok(Job {
        id,
        kind: row.get("kind")?,
        place: row.get("place")?,
        subject: if is_feature { subject } else { format!("#{subject}") },
        state: JobState::parse(&state).ok_or_else(|| pulls::damaged("a job is in no state"))?,
        attempt: row.get("attempt")?,
        since_ms: row.get("since_ms")?,
        next_ms: row.get("next_ms")?,
        problem: row.get("problem")?,
        owner: row.get("owner")?,
        until_ms: row.get("until_ms")?,
    })
}
