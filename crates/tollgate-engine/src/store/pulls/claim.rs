//! Who works on a pull request, until when, and whose turn it is.
//!
//! Installations take turns, and within each its repositories, so that one with a thousand pull requests delays nobody
//! else's first by more than one piece of work.

use tollgate_core::pull::Repo;

use super::{COLUMNS, Fenced, LeaseLost, PullRow, of_row, ready, repo};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Params, Row, params};
use crate::store::{Database, number};

/// A lease that ends later than this from now was made by another clock, and does not hold.
const LONGEST_LEASE_MS: u64 = 24 * 60 * 60 * 1_000;

/// What came of giving a claim back.
type Decided = sql::Result<Result<(), LeaseLost>>;

/// The proof that a pull request was claimed, good until somebody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FencingToken(pub i64);

/// A pull request to which something is owed, and on which nobody works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in this database.
    pub pull: i64,
    /// Where it is.
    pub repo: Repo,
    /// Its number there.
    pub number: u64,
}

/// How many pull requests are worked on at once, by all machines together; as many as there is room for at `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Of one repository.
    pub of_repository: Option<u32>,
    /// Of one installation.
    pub of_installation: Option<u32>,
}

/// Somebody has room for a piece of work, whichever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextClaim {
    /// Who.
    pub owner: String,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// For how long.
    pub lease_ms: u64,
    /// How much of one kind may be worked on at once.
    pub limits: Limits,
    /// Pull requests on which this one still works, though a claim of them may have run out.
    pub except: Vec<i64>,
}

/// Somebody wants to work on a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Its number in this database.
    pub pull: i64,
    /// Who.
    pub owner: String,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// For how long.
    pub lease_ms: u64,
}

/// A pull request that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The proof.
    pub token: FencingToken,
    /// The pull request as it was then.
    pub pull: PullRow,
    /// Until when it is good without a sign of life, in milliseconds since 1970.
    pub until_ms: u64,
}

/// What a sign of life brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// How often something was asked by now.
    pub wanted: i64,
}

impl Database {
    /// Pull requests that can be claimed now, those that waited longest first; whose turn it is, [`Self::claim_next`] knows.
    pub fn pull_candidates(&self, now_ms: u64, limit: usize) -> Result<Vec<Candidate>, Failure> {
        let sql = format!(
            "SELECT p.id, p.repo, p.number FROM pull p WHERE p.ready_ms <= ?1 AND {FREE} \
             ORDER BY {PLACE}, p.id LIMIT ?3"
        );
        let latest = now_ms.saturating_add(LONGEST_LEASE_MS);
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map(params![number(now_ms), number(latest), number(limit)], |row| {
                Ok(Candidate { pull: row.get("id")?, repo: repo(row)?, number: row.get("number")? })
            })?;
            rows.collect()
        })
    }

    /// Claims the pull request whose turn it is; `None` when nothing can be claimed now.
    pub fn claim_next(&self, turn: &NextClaim) -> Result<Option<Claim>, Failure> {
        let turn = turn.clone();
        self.write_concurrent(move |connection| claim_next(connection, &turn))
    }

    /// Claims a pull request; `None` when somebody else has it, or nothing is owed to it now.
    pub fn claim_pull(&self, bid: &ClaimRequest) -> Result<Option<Claim>, Failure> {
        let bid = bid.clone();
        self.write_concurrent(move |connection| claim(connection, &bid))
    }

    /// Holds a claim for longer.
    pub fn heartbeat_pull(&self, token: FencingToken, until_ms: u64) -> Fenced<Heartbeat> {
        self.decide_concurrent(move |connection| {
            let sql = "UPDATE pull SET lease_until_ms = ?2 WHERE token = ?1 RETURNING wanted";
            let mut statement = connection.prepare(sql)?;
            let wanted = statement.query_row(params![token.0, number(until_ms)], |row| row.get(0)).optional()?;
            Ok(wanted.map(|wanted| Heartbeat { wanted }).ok_or(LeaseLost))
        })
    }

    /// True while a claim is good: nobody took it over, and its time has not run out.
    pub fn holds_pull(&self, token: FencingToken, now_ms: u64) -> Result<bool, Failure> {
        // Asked of the thread that writes: what another has written meanwhile counts.
        self.write_concurrent(move |connection| {
            let sql = "SELECT 1 FROM pull WHERE token = ?1 AND lease_until_ms >= ?2";
            connection.prepare(sql)?.exists(params![token.0, number(now_ms)])
        })
    }

    /// Gives a claim back; nothing of the pull request is done before a time.
    pub fn release_pull(&self, token: FencingToken, not_before_ms: u64) -> Fenced<()> {
        self.decide_concurrent(move |connection| {
            let set = "not_before_ms = ?2, problem = CASE WHEN troubles > 0 THEN NULL ELSE problem END, troubles = 0";
            let_go(connection, set, params![token.0, number(not_before_ms)])
        })
    }

    /// Gives a claim back because the host is in trouble; nothing is done before a time.
    pub fn release_after_failure(&self, token: FencingToken, problem: &str, not_before_ms: u64) -> Fenced<()> {
        let problem = problem.to_owned();
        self.decide_concurrent(move |connection| {
            let set = "not_before_ms = ?2, troubles = troubles + 1, problem = ?3";
            let_go(connection, set, params![token.0, number(not_before_ms), problem])
        })
    }

    /// Gives back all claims of somebody who is gone, and says how many there were.
    pub fn release_pulls_of(&self, owner: &str) -> Result<usize, Failure> {
        let owner = owner.to_owned();
        self.write(move |connection| {
            let sql = "UPDATE pull SET owner = NULL, token = NULL, lease_until_ms = NULL WHERE owner = ?1";
            connection.execute(sql, [owner])
        })
    }

    /// Who holds claims now.
    pub fn pull_owners(&self) -> Result<Vec<String>, Failure> {
        let sql = "SELECT DISTINCT owner FROM pull WHERE owner IS NOT NULL ORDER BY owner";
        self.read(|connection| connection.prepare(sql)?.query_map((), |row| row.get(0))?.collect())
    }

    /// How many pull requests are owed something.
    pub fn n_due_pulls(&self, now_ms: u64) -> Result<usize, Failure> {
        let sql = "SELECT count(*) FROM pull WHERE ready_ms <= ?1";
        self.read(|connection| connection.query_row(sql, [number(now_ms)], |row| row.get(0)))
    }
}

/// What nobody holds at ?1; a lease beyond ?2 does not hold.
const FREE: &str = "(p.lease_until_ms IS NULL OR p.lease_until_ms < ?1 OR p.lease_until_ms > ?2)";

/// What somebody holds at ?1.
const HELD: &str = "h.owner IS NOT NULL AND h.lease_until_ms >= ?1 AND h.lease_until_ms <= ?2";

/// The place in a lane: by age, of which each step of priority is worth an hour.
const PLACE: &str = "(p.since_ms - 3600000 * p.priority)";

/// What comes next in the index of what is owed. No other index has this order: one that also has what is done would be read
/// through from one lane to the next.
const NEXT: &str = "ORDER BY p.lane, p.ready_ms LIMIT 1";

/// So many lanes are looked at for one claim.
const MAX_LANES: i64 = 64;

/// A lane in which something can be claimed.
struct Lane {
    name: String,
    repo_key: String,
    installation: i64,
}

/// The lanes in which something can be claimed at ?1, those first whose installation, and which themselves, were served
/// longest ago.
///
/// Goes from one lane to the next in the index, however long each is: what it costs grows with the number of
/// repositories to which something is owed. A lane is named after its installation and repository, so no row is read.
pub(super) fn lanes(limits: Limits) -> String {
    let mut room = String::new();
    if let Some(most) = limits.of_repository {
        room = format!(" AND (SELECT count(*) FROM pull h WHERE {HELD} AND h.repo_key = f.repo_key) < {most}");
    }
    if let Some(most) = limits.of_installation {
        let of = "coalesce(h.installation, 0) = f.installation";
        room = format!("{room} AND (SELECT count(*) FROM pull h WHERE {HELD} AND {of}) < {most}");
    }
    format!(
        "WITH RECURSIVE known (lane) AS (
           SELECT (SELECT p.lane FROM pull p WHERE p.ready_ms IS NOT NULL AND p.lane >= '' {NEXT})
           UNION ALL
           SELECT (SELECT p.lane FROM pull p WHERE p.ready_ms IS NOT NULL AND p.lane > known.lane {NEXT})
           FROM known WHERE known.lane IS NOT NULL
         ), first (lane, repo_key, installation, ready_ms) AS MATERIALIZED (
           SELECT known.lane, substr(known.lane, instr(known.lane, ' ') + 1),
             CASE WHEN instr(known.lane, ' ') > 1
               THEN CAST(substr(known.lane, 1, instr(known.lane, ' ') - 1) AS BIGINT) ELSE 0 END,
             (SELECT p.ready_ms FROM pull p WHERE p.lane = known.lane AND p.ready_ms <= ?1 AND {FREE}
              ORDER BY p.ready_ms LIMIT 1)
           FROM known WHERE known.lane IS NOT NULL
         )
         SELECT f.lane, f.repo_key, f.installation FROM first f WHERE f.ready_ms IS NOT NULL{room}
         ORDER BY (SELECT max(i.taken) FROM pull i WHERE coalesce(i.installation, 0) = f.installation),
           (SELECT max(r.taken) FROM pull r WHERE r.lane = f.lane), f.ready_ms, f.lane LIMIT {MAX_LANES}"
    )
}

/// What is first in the lane ?3 and can be claimed at ?1. What another claims at this moment is passed over.
pub(super) fn first_in_lane(except: &[i64]) -> String {
    let except: Vec<String> = except.iter().map(i64::to_string).collect();
    let except = if except.is_empty() { String::new() } else { format!(" AND p.id NOT IN ({})", except.join(", ")) };
    format!(
        "SELECT p.id FROM pull p INDEXED BY pull_queue WHERE p.lane = ?3 AND p.ready_ms <= ?1 AND {FREE}{except} \
         ORDER BY {PLACE}, p.id LIMIT 1 /* lock */"
    )
}

fn claim_next(connection: &Connection, turn: &NextClaim) -> sql::Result<Option<Claim>> {
    let (now, latest) = (number(turn.now_ms), number(turn.now_ms.saturating_add(LONGEST_LEASE_MS)));
    let mut statement = connection.prepare(&lanes(turn.limits))?;
    let rows = statement.query_map(params![now, latest], |row| {
        Ok(Lane { name: row.get("lane")?, repo_key: row.get("repo_key")?, installation: row.get("installation")? })
    })?;
    let first = first_in_lane(&turn.except);
    for lane in rows.collect::<sql::Result<Vec<Lane>>>()? {
        if !has_room(connection, &lane, turn.limits, (now, latest))? {
            continue;
        }
        let until_ms = turn.now_ms.saturating_add(turn.lease_ms);
        let values = params![now, latest, lane.name, turn.owner, number(until_ms)];
        let taken = take(connection, &first, values, until_ms)?;
        if taken.is_some() {
            return Ok(taken);
        }
    }
    Ok(None)
}

/// Whether one more of a lane may be worked on. Whoever asks goes through a gate, one at a time.
fn has_room(connection: &Connection, lane: &Lane, limits: Limits, at: (i64, i64)) -> sql::Result<bool> {
    if let Some(most) = limits.of_installation {
        pass_gate(connection, &format!("installation {}", lane.installation))?;
        let sql = format!("SELECT count(*) FROM pull h WHERE {HELD} AND coalesce(h.installation, 0) = ?3");
        let n_held: i64 = connection.query_row(&sql, params![at.0, at.1, lane.installation], |row| row.get(0))?;
        if n_held >= i64::from(most) {
            return Ok(false);
        }
    }
    if let Some(most) = limits.of_repository {
        pass_gate(connection, &format!("repository {}", lane.repo_key))?;
        let sql = format!("SELECT count(*) FROM pull h WHERE {HELD} AND h.repo_key = ?3");
        let n_held: i64 = connection.query_row(&sql, params![at.0, at.1, lane.repo_key], |row| row.get(0))?;
        if n_held >= i64::from(most) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn pass_gate(connection: &Connection, name: &str) -> sql::Result<()> {
    connection.execute("INSERT INTO pull_gate (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
    connection.query_row("SELECT name FROM pull_gate WHERE name = ?1 /* row lock */", [name], |_| Ok(()))
}

fn claim(connection: &Connection, bid: &ClaimRequest) -> sql::Result<Option<Claim>> {
    let (now, latest) = (number(bid.now_ms), number(bid.now_ms.saturating_add(LONGEST_LEASE_MS)));
    let this = format!("SELECT p.id FROM pull p WHERE p.id = ?3 AND p.ready_ms <= ?1 AND {FREE} /* row lock */");
    let until_ms = bid.now_ms.saturating_add(bid.lease_ms);
    take(connection, &this, params![now, latest, bid.pull, bid.owner, number(until_ms)], until_ms)
}

/// Claims what a query finds, for the owner ?4 until ?5.
fn take(connection: &Connection, which: &str, values: impl Params, until_ms: u64) -> sql::Result<Option<Claim>> {
    // The token grows with every claim, so it is also the time of the turn.
    let sql = format!(
        "UPDATE pull SET owner = ?4, token = drawn.token, taken = drawn.token, lease_until_ms = ?5 \
         FROM (SELECT {} AS token) drawn WHERE pull.id = ({which}) RETURNING {COLUMNS}, taken",
        connection.draw_number("pull_token")?
    );
    let read = |row: &Row<'_>| Ok(Claim { token: FencingToken(row.get("taken")?), pull: of_row(row)?, until_ms });
    connection.query_row(&sql, values, read).optional()
}

/// Gives back the claim of the token ?1, with what is known by now.
pub(super) fn let_go(connection: &Connection, set: &str, values: impl Params) -> Decided {
    let sql = format!(
        "UPDATE pull SET owner = NULL, token = NULL, lease_until_ms = NULL, {set} WHERE token = ?1 RETURNING id"
    );
    let Some(pull) = connection.query_row(&sql, values, |row| row.get(0)).optional()? else {
        return Ok(Err(LeaseLost));
    };
    ready::refresh(connection, pull).map(Ok)
}

/// The pull request that a token claims; `None` for who comes too late.
pub(super) fn claimed(connection: &Connection, token: FencingToken) -> sql::Result<Option<i64>> {
    let sql = "SELECT id FROM pull WHERE token = ?1 /* row lock */";
    connection.prepare(sql)?.query_row([token.0], |row| row.get(0)).optional()
}
