//! Who works on a pull request, until when, and whose turn it is.
//!
//! Installations take turns, and within each its repositories, so that one with a thousand pull requests delays nobody
//! else's first by more than one piece of work.

use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::pull::Repo;

use super::{Fenced, PullRow, TooLate, by_id, repo};
use crate::failure::Failure;
use crate::store::{Database, number};

/// A lease that ends later than this from now was made by another clock, and does not hold.
const LONGEST_LEASE_MS: u64 = 24 * 60 * 60 * 1_000;

/// The proof that a pull request was claimed, good until somebody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub i64);

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

/// Somebody wants to work on a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bid {
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
    pub token: Token,
    /// The pull request as it was then.
    pub pull: PullRow,
    /// Until when it is good without a sign of life, in milliseconds since 1970.
    pub until_ms: u64,
}

/// What a sign of life brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// How often something was asked by now.
    pub wanted: i64,
}

impl Database {
    /// Pull requests that can be claimed now, in the order in which it is their turn.
    pub fn pull_candidates(&self, now_ms: u64, limit: usize) -> Result<Vec<Candidate>, Failure> {
        let sql = candidates();
        let latest = now_ms.saturating_add(LONGEST_LEASE_MS);
        self.read(|connection| {
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map(params![number(now_ms), number(latest), number(limit)], |row| {
                Ok(Candidate { pull: row.get("id")?, repo: repo(row)?, number: row.get("number")? })
            })?;
            rows.collect()
        })
    }

    /// Claims a pull request; `None` when somebody else has it, or nothing is owed to it now.
    pub fn claim_pull(&self, bid: &Bid) -> Result<Option<Claim>, Failure> {
        let bid = bid.clone();
        self.write(move |connection| claim(connection, &bid))
    }

    /// Holds a claim for longer.
    pub fn beat_pull(&self, token: Token, until_ms: u64) -> Fenced<Beat> {
        self.write(move |connection| {
            let sql = "UPDATE pull SET lease_until_ms = ?2 WHERE token = ?1 RETURNING wanted";
            let mut statement = connection.prepare(sql)?;
            let wanted = statement.query_row(params![token.0, number(until_ms)], |row| row.get(0)).optional()?;
            Ok(wanted.map(|wanted| Beat { wanted }).ok_or(TooLate))
        })
    }

    /// True while a claim is good: nobody took it over, and its time has not run out.
    pub fn holds_pull(&self, token: Token, now_ms: u64) -> Result<bool, Failure> {
        // Asked of the thread that writes: what another has written meanwhile counts.
        self.write(move |connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM pull WHERE token = ?1 AND lease_until_ms >= ?2)";
            connection.prepare(sql)?.query_row(params![token.0, number(now_ms)], |row| row.get(0))
        })
    }

    /// Gives a claim back; nothing of the pull request is done before a time.
    pub fn let_go_of_pull(&self, token: Token, not_before_ms: u64) -> Fenced<()> {
        self.decide(move |connection| {
            let sql = "UPDATE pull SET owner = NULL, token = NULL, lease_until_ms = NULL, not_before_ms = ?2, \
                       problem = iif(troubles > 0, NULL, problem), troubles = 0 WHERE token = ?1";
            let n_rows = connection.execute(sql, params![token.0, number(not_before_ms)])?;
            Ok(if n_rows > 0 { Ok(()) } else { Err(TooLate) })
        })
    }

    /// Gives a claim back because the host is in trouble; nothing is done before a time.
    pub fn note_trouble(&self, token: Token, problem: &str, not_before_ms: u64) -> Fenced<()> {
        let problem = problem.to_owned();
        self.decide(move |connection| {
            let sql = "UPDATE pull SET owner = NULL, token = NULL, lease_until_ms = NULL, not_before_ms = ?2, \
                       troubles = troubles + 1, problem = ?3 WHERE token = ?1";
            let n_rows = connection.execute(sql, params![token.0, number(not_before_ms), problem])?;
            Ok(if n_rows > 0 { Ok(()) } else { Err(TooLate) })
        })
    }

    /// Gives back all claims of somebody who is gone, and says how many there were.
    pub fn let_go_of_pulls_of(&self, owner: &str) -> Result<usize, Failure> {
        let owner = owner.to_owned();
        self.write(move |connection| {
            let sql = "UPDATE pull SET owner = NULL, token = NULL, lease_until_ms = NULL WHERE owner = ?1";
            connection.execute(sql, [owner])
        })
    }

    /// Who holds claims now.
    pub fn pull_owners(&self) -> Result<Vec<String>, Failure> {
        let sql = "SELECT DISTINCT owner FROM pull WHERE owner IS NOT NULL ORDER BY owner";
        self.read(|connection| connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect())
    }

    /// How many pull requests are owed something.
    pub fn n_pulls_owed(&self, now_ms: u64) -> Result<usize, Failure> {
        let sql = format!("SELECT count(*) FROM ({OWED})");
        self.read(|connection| connection.query_row(&sql, [number(now_ms)], |row| row.get(0)))
    }
}

/// What can be claimed at ?1; a lease beyond ?2 does not hold.
const FREE: &str =
    "p.not_before_ms <= ?1 AND (p.lease_until_ms IS NULL OR p.lease_until_ms < ?1 OR p.lease_until_ms > ?2)";

/// To what something is owed at ?1. Left to itself, SQLite goes through all there ever was to have it in order.
const OWED: &str = "SELECT id FROM pull INDEXED BY pull_owed WHERE wanted > done AND review_at_ms <= ?1 \
                    UNION SELECT pull FROM told WHERE state = 'due' \
                    UNION SELECT pull FROM post WHERE state IN ('due', 'posting')";

/// The same of one pull request, which need not wait until all the others are known.
const IS_OWED: &str = "p.wanted > p.done AND p.review_at_ms <= ?1 \
                       OR EXISTS (SELECT 1 FROM told WHERE pull = p.id AND state = 'due') \
                       OR EXISTS (SELECT 1 FROM post WHERE pull = p.id AND state IN ('due', 'posting'))";

/// What can be claimed at ?1, ?3 of it at most, in the order in which it is its turn.
pub(super) fn candidates() -> String {
    format!(
        "WITH free AS (
           SELECT p.id, p.repo, p.number, p.since_ms, p.repo_key, ifnull(p.installation, 0) AS installation,
             ifnull(r.taken, 0) AS repo_taken, ifnull(i.taken, 0) AS taken
           FROM pull p LEFT JOIN pull_turn r ON r.name = 'repository ' || p.repo_key
             LEFT JOIN pull_turn i ON i.name = 'installation ' || ifnull(p.installation, 0)
           WHERE {FREE} AND p.id IN ({OWED})
         ), queued AS (
           SELECT *, row_number() OVER (PARTITION BY installation, repo_key ORDER BY since_ms, id) AS place FROM free
         ), ranked AS (
           SELECT *, row_number() OVER (PARTITION BY installation ORDER BY place, repo_taken, since_ms, id) AS rank
           FROM queued
         )
         SELECT id, repo, number FROM ranked ORDER BY rank, taken, since_ms, id LIMIT ?3"
    )
}

fn claim(connection: &Connection, bid: &Bid) -> rusqlite::Result<Option<Claim>> {
    let (now, latest) = (number(bid.now_ms), number(bid.now_ms.saturating_add(LONGEST_LEASE_MS)));
    let sql = format!("SELECT 1 FROM pull p WHERE p.id = ?3 AND {FREE} AND ({IS_OWED})");
    if !connection.prepare(&sql)?.exists(params![now, latest, bid.pull])? {
        return Ok(None);
    }
    let token = Token(next_token(connection)?);
    let until_ms = bid.now_ms.saturating_add(bid.lease_ms);
    let sql = "UPDATE pull SET owner = ?2, token = ?3, lease_until_ms = ?4 WHERE id = ?1";
    connection.execute(sql, params![bid.pull, bid.owner, token.0, number(until_ms)])?;
    // The token grows with every claim, so it is also the time of the turn.
    let sql = "INSERT INTO pull_turn (name, taken) SELECT 'repository ' || repo_key, ?2 FROM pull WHERE id = ?1 \
               UNION ALL SELECT 'installation ' || ifnull(installation, 0), ?2 FROM pull WHERE id = ?1 \
               ON CONFLICT (name) DO UPDATE SET taken = excluded.taken";
    connection.execute(sql, params![bid.pull, token.0])?;
    Ok(by_id(connection, bid.pull)?.map(|pull| Claim { token, pull, until_ms }))
}

fn next_token(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "UPDATE counter SET value = value + 1 WHERE name = 'pull_token' RETURNING value";
    connection.query_row(sql, [], |row| row.get(0))
}

/// The pull request that a token claims; `None` for who comes too late.
pub(super) fn claimed(connection: &Connection, token: Token) -> rusqlite::Result<Option<i64>> {
    connection.prepare("SELECT id FROM pull WHERE token = ?1")?.query_row([token.0], |row| row.get(0)).optional()
}
