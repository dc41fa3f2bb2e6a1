//! The quota of reviews with models, which cost money: pushes decide when they happen, and not how often.
//!
//! After a review with models a pull request is rate limited, for twice as long each time, until it was quiet. Reviews of a
//! repository and of an author are counted for a day; beyond the quota, reviews are made without models.

use super::{Fenced, FencingToken, LeaseLost};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, OptionalExtension as _, Params, Row, params};
use crate::store::{Database, number};

/// The first pause between two reviews of a pull request with models.
const PAUSE_MS: u64 = 20_000;
pub(super) const LONGEST_PAUSE_MS: u64 = 5 * 60_000;
/// After so long without such a review the first pause applies again.
const CALM_MS: u64 = 2 * LONGEST_PAUSE_MS;
/// How long a review counts.
const DAY_MS: u64 = 24 * 60 * 60_000;

/// The daily quota of reviews with models; unlimited at `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DailyLimits {
    /// Of the pull requests of one repository.
    pub of_repository: Option<u32>,
    /// Of the pull requests of one author, in all repositories of an installation.
    pub of_author: Option<u32>,
}

/// A request for one review with models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaRequest {
    /// The author of the pull request.
    pub author: String,
    /// The daily quota.
    pub allowance: DailyLimits,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Granted, and counted.
    Granted,
    /// Rate limited until a time.
    RetryAt(u64),
    /// The quota is exhausted.
    Exhausted(SpentQuota),
}

/// The quota that is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpentQuota {
    /// The daily quota of the repository.
    Repository(u32),
    /// The daily quota of the author.
    Author(u32),
}

impl Database {
    /// Counts a review with models, if the quota allows it.
    pub fn take_quota(&self, token: FencingToken, asking: QuotaRequest) -> Fenced<Quota> {
        self.decide(move |connection| take_quota(connection, token, &asking))
    }

    /// Deletes counted reviews that no longer matter.
    pub fn prune_quota(&self, now_ms: u64) -> Result<usize, Failure> {
        let sql = "DELETE FROM asking WHERE at_ms <= ?1";
        self.write(move |connection| connection.execute(sql, [since(now_ms)]))
    }
}

fn since(now_ms: u64) -> i64 {
    number(now_ms.saturating_sub(DAY_MS))
}

fn take_quota(
    connection: &Connection,
    token: FencingToken,
    asking: &QuotaRequest,
) -> sql::Result<Result<Quota, LeaseLost>> {
    let QuotaRequest { author, allowance, now_ms } = asking;
    let sql = "SELECT repo_key, coalesce(installation, 0), asked_ms, ask_pause_ms FROM pull WHERE token = ?1 \
               /* row lock */";
    let values = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let row: Option<(String, i64, u64, u64)> = connection.prepare(sql)?.query_row([token.0], values).optional()?;
    let Some((repo_key, installation, asked_ms, pause_ms)) = row else { return Ok(Err(LeaseLost)) };
    // A time in the future was written by a wrong clock.
    let since_last = now_ms.checked_sub(asked_ms);
    let left = since_last.and_then(|since| pause_ms.checked_sub(since)).unwrap_or(0);
    if left > 0 {
        return Ok(Ok(Quota::RetryAt(now_ms + left)));
    }
    let author = author.to_lowercase();
    let of_repository = "SELECT count(*) FROM asking WHERE at_ms > ?1 AND repo_key = ?2";
    let of_author = "SELECT count(*) FROM asking WHERE at_ms > ?1 AND author = ?2 AND installation = ?3";
    let since = since(*now_ms);
    if let Some(most) = allowance.of_repository
        && count(connection, of_repository, params![since, repo_key])? >= i64::from(most)
    {
        return Ok(Ok(Quota::Exhausted(SpentQuota::Repository(most))));
    }
    if let Some(most) = allowance.of_author
        && count(connection, of_author, params![since, author, installation])? >= i64::from(most)
    {
        return Ok(Ok(Quota::Exhausted(SpentQuota::Author(most))));
    }
    let sql = "INSERT INTO asking (at_ms, repo_key, installation, author) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, params![number(*now_ms), repo_key, installation, author])?;
    let sql = "UPDATE pull SET asked_ms = ?2, ask_pause_ms = ?3 WHERE token = ?1";
    let pause_ms = next_pause_ms(since_last, pause_ms);
    connection.execute(sql, params![token.0, number(*now_ms), number(pause_ms)])?;
    Ok(Ok(Quota::Granted))
}

fn count(connection: &Connection, sql: &str, values: impl Params) -> sql::Result<i64> {
    connection.prepare(sql)?.query_row(values, |row| row.get(0))
}

/// The pause after a review with models, by the time since the one before.
fn next_pause_ms(since_last: Option<u64>, pause_ms: u64) -> u64 {
    match since_last {
        Some(since) if since < CALM_MS => pause_ms.saturating_mul(2).clamp(PAUSE_MS, LONGEST_PAUSE_MS),
        Some(_) | None => PAUSE_MS,
    }
}
