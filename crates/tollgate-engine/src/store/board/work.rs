//! The work that is owed to features: who does it, until when, and which processes run for it.
//!
//! A feature that is owed work has one row. Whoever does the work claims the row for a while and gets a token; who comes
//! with another token than the row has is too late, whatever was done meanwhile. Rows come and go with
//! [`transition`](super::transition); nothing here changes what is owed.

use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{State, Work};

use super::{damaged, id};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, params};
use crate::store::{Database, number};

/// A lease that ends later than this from now was made by another clock, and does not hold.
const LONGEST_LEASE_MS: u64 = 24 * 60 * 60 * 1_000;

/// The proof that work was claimed, good until somebody else claims it or nothing is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FencingToken(pub i64);

/// Work that nobody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// What is owed.
    pub work: Work,
    /// What the feature depends on.
    pub dependencies: Vec<String>,
    /// True when the file of the feature cannot be read.
    pub is_broken: bool,
}

/// Somebody wants to do a piece of work.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// What is to be done; when something else is owed by now, there is nothing to claim.
    pub work: Work,
    /// Who wants to do it.
    pub owner: String,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// For how long.
    pub lease_ms: u64,
    /// How much of the kind may be done at once.
    pub room: Option<ConcurrencyLimit>,
}

/// How much may be done at once.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    /// What counts.
    pub works: Vec<Work>,
    /// How many, in all projects and processes.
    pub most: usize,
}

/// A piece of work that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// What is to be done.
    pub work: Work,
    /// Which try at it: the same number when the same is claimed again after a crash, never given to anything else.
    pub attempt: i64,
    /// Since when it has been owed, in milliseconds since 1970.
    pub since_ms: u64,
    /// The proof.
    pub token: FencingToken,
}

/// A process that may still run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The claim for which it was started.
    pub token: FencingToken,
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// How it can be found again, as whoever started it wrote it down.
    pub mark: String,
}

impl Database {
    /// Work that can be claimed now, most urgent first, then the longest owed.
    pub fn candidates(&self, works: &[Work], now_ms: u64, limit: usize) -> Result<Vec<Candidate>, Failure> {
        let sql = format!(
            "SELECT w.project, w.feature, w.kind, f.dependencies, f.broken IS NOT NULL FROM work w \
             JOIN feature f ON f.project = w.project AND f.id = w.feature JOIN project p ON p.id = w.project \
             WHERE w.kind IN ({}) AND {FREE} AND f.deleted_ms IS NULL AND p.removed_ms IS NULL \
             ORDER BY f.priority, w.since_ms, w.attempt LIMIT ?3",
            words(works)
        );
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let latest = now_ms.saturating_add(LONGEST_LEASE_MS);
            statement.query_map(params![number(now_ms), number(latest), number(limit)], candidate)?.collect()
        })
    }

    /// Claims work; `None` when somebody else has it, something else is owed, or there is no room.
    pub fn claim(&self, bid: &ClaimRequest) -> Result<Option<Claim>, Failure> {
        let bid = bid.clone();
        if bid.room.is_some() {
            // What is counted must not change meanwhile.
            return self.write(move |connection| claim(connection, &bid));
        }
        self.write_concurrent(move |connection| claim(connection, &bid))
    }

    /// Holds a claim for longer; false when it is another's by now, or nothing is owed.
    pub fn heartbeat(&self, token: FencingToken, until_ms: u64) -> Result<bool, Failure> {
        self.write_concurrent(move |connection| {
            let sql = "UPDATE work SET lease_until_ms = ?2 WHERE token = ?1";
            Ok(connection.execute(sql, params![token.0, number(until_ms)])? > 0)
        })
    }

    /// Gives a claim back, to be claimed again not before a time; false when it is another's by now.
    pub fn release(&self, token: FencingToken, not_before_ms: u64) -> Result<bool, Failure> {
        self.write_concurrent(move |connection| {
            let sql = "UPDATE work SET owner = NULL, token = NULL, lease_until_ms = NULL, not_before_ms = ?2 \
                       WHERE token = ?1";
            Ok(connection.execute(sql, params![token.0, number(not_before_ms)])? > 0)
        })
    }

    /// Gives back all claims of somebody who is gone, and says how many there were.
    pub fn release_owner(&self, owner: &str) -> Result<usize, Failure> {
        let owner = owner.to_owned();
        self.write(move |connection| {
            let sql = "UPDATE work SET owner = NULL, token = NULL, lease_until_ms = NULL WHERE owner = ?1";
            connection.execute(sql, [owner])
        })
    }

    /// How much is owed, by kind.
    pub fn work_counts(&self) -> Result<Vec<(Work, usize)>, Failure> {
        let sql = "SELECT w.kind, count(*) FROM work w JOIN project p ON p.id = w.project \
                   WHERE p.removed_ms IS NULL GROUP BY w.kind ORDER BY w.kind";
        let read = |row: &Row<'_>| {
            let word: String = row.get(0)?;
            let work = Work::parse(&word).ok_or_else(|| damaged(format!("`{word}` is no work")))?;
            Ok((work, row.get(1)?))
        };
        self.read(|connection| connection.prepare(sql)?.query_map((), read)?.collect())
    }

    /// Who holds claims now.
    pub fn owners(&self) -> Result<Vec<String>, Failure> {
        let sql = "SELECT DISTINCT owner FROM work WHERE owner IS NOT NULL ORDER BY owner";
        self.read(|connection| connection.prepare(sql)?.query_map((), |row| row.get(0))?.collect())
    }

    /// Remembers a process that runs for a claim; false when the claim is another's by now, and it must not run.
    pub fn record_process(&self, token: FencingToken, mark: &str) -> Result<bool, Failure> {
        let mark = mark.to_owned();
        self.write_concurrent(move |connection| {
            let sql = "INSERT INTO process (token, project, feature, mark) \
                       SELECT token, project, feature, ?2 FROM work WHERE token = ?1 \
                       ON CONFLICT (token) DO UPDATE SET mark = excluded.mark";
            Ok(connection.execute(sql, params![token.0, mark])? > 0)
        })
    }

    /// Forgets the process of a claim, once its end was seen.
    pub fn forget_process(&self, token: FencingToken) -> Result<(), Failure> {
        self.write_concurrent(move |connection| {
            connection.execute("DELETE FROM process WHERE token = ?1", [token.0]).map(|_| ())
        })
    }

    /// All processes whose end nobody has seen, also those of work that is owed no more.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, Failure> {
        let sql = "SELECT token, project, feature, mark FROM process ORDER BY token";
        self.read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let read = |row: &Row<'_>| {
                Ok(ProcessRow {
                    token: FencingToken(row.get(0)?),
                    project: row.get(1)?,
                    feature: id(row.get(2)?)?,
                    mark: row.get(3)?,
                })
            };
            statement.query_map((), read)?.collect()
        })
    }
}

/// Work that can be claimed at ?1; a lease beyond ?2 does not hold.
const FREE: &str =
    "w.not_before_ms <= ?1 AND (w.lease_until_ms IS NULL OR w.lease_until_ms < ?1 OR w.lease_until_ms > ?2)";

fn words(works: &[Work]) -> String {
    let words: Vec<String> = works.iter().map(|work| format!("'{}'", work.as_str())).collect();
    words.join(", ")
}

fn claim(connection: &Connection, bid: &ClaimRequest) -> sql::Result<Option<Claim>> {
    let (now, latest) = (number(bid.now_ms), number(bid.now_ms.saturating_add(LONGEST_LEASE_MS)));
    if let Some(room) = &bid.room {
        let sql = format!(
            "SELECT count(*) FROM work WHERE kind IN ({}) AND lease_until_ms BETWEEN ?1 AND ?2",
            words(&room.works)
        );
        let n_busy: usize = connection.query_row(&sql, params![now, latest], |row| row.get(0))?;
        if n_busy >= room.most {
            return Ok(None);
        }
    }
    let sql = format!(
        "SELECT w.attempt, w.since_ms FROM work w JOIN feature f ON f.project = w.project AND f.id = w.feature \
         JOIN project p ON p.id = w.project WHERE w.project = ?3 AND w.feature = ?4 AND w.kind = ?5 AND {FREE} \
         AND f.deleted_ms IS NULL AND p.removed_ms IS NULL /* row lock w */"
    );
    let values = params![now, latest, bid.project, bid.feature.as_str(), bid.work.as_str()];
    let found = connection.query_row(&sql, values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((attempt, since_ms)) = found else { return Ok(None) };
    let token = FencingToken(connection.next_number("token")?);
    let until = number(bid.now_ms.saturating_add(bid.lease_ms));
    connection.execute(
        "UPDATE work SET owner = ?3, token = ?4, lease_until_ms = ?5 WHERE project = ?1 AND feature = ?2",
        params![bid.project, bid.feature.as_str(), bid.owner, token.0, until],
    )?;
    Ok(Some(Claim { project: bid.project, feature: bid.feature.clone(), work: bid.work, attempt, since_ms, token }))
}

fn candidate(row: &Row<'_>) -> sql::Result<Candidate> {
    let (work, dependencies): (String, String) = (row.get(2)?, row.get(3)?);
    Ok(Candidate {
        project: row.get(0)?,
        feature: id(row.get(1)?)?,
        work: Work::parse(&work).ok_or_else(|| damaged(format!("`{work}` is no work")))?,
        dependencies: super::strings(&dependencies)?,
        is_broken: row.get(4)?,
    })
}

/// The token with which the work of a feature is claimed.
pub(super) fn token(connection: &Connection, project: i64, feature: &FeatureId) -> sql::Result<Option<FencingToken>> {
    let sql = "SELECT token FROM work WHERE project = ?1 AND feature = ?2";
    let token: Option<Option<i64>> =
        connection.query_row(sql, params![project, feature.as_str()], |row| row.get(0)).optional()?;
    Ok(token.flatten().map(FencingToken))
}

/// How the work of a feature changes with its state.
pub(super) struct Settling<'a> {
    pub(super) project: i64,
    pub(super) feature: &'a FeatureId,
    pub(super) before: Option<&'a State>,
    pub(super) after: &'a State,
    pub(super) at_ms: u64,
    /// True when whoever has claimed it goes on with it.
    pub(super) keep: bool,
    /// True when it is given back although the same is owed.
    pub(super) release: bool,
    pub(super) not_before_ms: Option<u64>,
}

/// Makes the row of a feature say what is owed to it.
pub(super) fn settle(connection: &Connection, settling: &Settling<'_>) -> sql::Result<()> {
    let Settling { project, feature, before, after, at_ms, .. } = *settling;
    if after.work == Work::Nothing {
        connection
            .execute("DELETE FROM work WHERE project = ?1 AND feature = ?2", params![project, feature.as_str()])?;
        return Ok(());
    }
    let is_same = before.is_some_and(|before| is_same(before, after));
    if is_same {
        if settling.release || settling.not_before_ms.is_some() {
            connection.execute(
                "UPDATE work SET owner = NULL, token = NULL, lease_until_ms = NULL, not_before_ms = ?3 \
                 WHERE project = ?1 AND feature = ?2",
                params![project, feature.as_str(), number(settling.not_before_ms.unwrap_or(0))],
            )?;
        }
        return Ok(());
    }
    let attempt = connection.next_number("attempt")?;
    let change = if settling.keep { "" } else { ", owner = NULL, token = NULL, lease_until_ms = NULL" };
    connection.execute(
        &format!(
            "INSERT INTO work (project, feature, kind, attempt, since_ms, not_before_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (project, feature) DO UPDATE SET kind = excluded.kind, attempt = excluded.attempt, \
             since_ms = excluded.since_ms, not_before_ms = excluded.not_before_ms{change}"
        ),
        params![
            project,
            feature.as_str(),
            after.work.as_str(),
            attempt,
            number(at_ms),
            number(settling.not_before_ms.unwrap_or(0))
        ],
    )?;
    Ok(())
}

/// True when the very same is owed as before.
fn is_same(before: &State, after: &State) -> bool {
    let what = |state: &State| (state.work, state.iteration, state.tries, state.restarts, state.hook_failed);
    what(before) == what(after) && before.commit == after.commit && before.status == after.status
}
