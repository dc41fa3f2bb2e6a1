//! Claims of pull requests: fairness by lanes, priority within a lane, concurrency limits.
//!
//! Every repository of an installation is a lane. Installations take turns, and within each its lanes: the next claim
//! goes to the next installation in the order of names that has a due job, and there to the next such lane, round robin.
//! A repository with a thousand due pull requests therefore delays the first one of another by one job. How far the round
//! has come is kept in memory, for each process on its own ([`Rotation`]), so a claim neither reads nor locks anything but
//! the due job itself, however many lanes are waiting.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{COLUMNS, PullRow, of_row, ready};
use crate::failure::Failure;
use crate::store::queue::{self, Fenced, FencingToken, LeaseLost, LeaseRequest, Queue};
use crate::store::sql::{self, Connection, OptionalExtension as _, Row, ToSql, params};
use crate::store::{Database, number};

/// How many jobs may run at once on all machines together; unlimited at `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConcurrencyLimits {
    /// Of one repository.
    pub of_repository: Option<u32>,
    /// Of one installation.
    pub of_installation: Option<u32>,
}

/// A worker asks for the next job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextClaim {
    /// The worker, and for how long.
    pub lease: LeaseRequest,
    /// How many jobs may run at once.
    pub limits: ConcurrencyLimits,
    /// Pull requests that this worker still has in hand, although their lease may have expired.
    pub except: Vec<i64>,
}

/// A claimed pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The fencing token of the lease.
    pub token: FencingToken,
    /// The pull request at the time of the claim.
    pub pull: PullRow,
    /// When the lease ends without a heartbeat, in milliseconds since 1970.
    pub until_ms: u64,
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// How many requests there are by now: a review of fewer is superseded.
    pub wanted: i64,
}

impl Database {
    /// Claims the next job; `None` when no job can be claimed now.
    pub fn claim_next(&self, request: &NextClaim) -> Result<Option<Claim>, Failure> {
        let (request, rotation) = (request.clone(), self.rotation());
        self.write_concurrent(move |connection| claim_next(connection, &request, &rotation))
    }

    /// Extends a lease (heartbeat).
    pub fn heartbeat_pull(&self, token: FencingToken, until_ms: u64) -> Fenced<Heartbeat> {
        self.decide_concurrent(move |connection| {
            let wanted = Queue::Pulls.heartbeat(connection, token, until_ms, "wanted")?;
            Ok(wanted.map(|wanted| Heartbeat { wanted }).ok_or(LeaseLost))
        })
    }

    /// True while a lease is valid: it was not lost, and it has not expired.
    pub fn holds_pull(&self, token: FencingToken, now_ms: u64) -> Result<bool, Failure> {
        // On the writing connection, which sees everything that was committed before.
        self.write_concurrent(move |connection| {
            let sql = "SELECT 1 FROM pull WHERE token = ?1 AND lease_until_ms >= ?2";
            connection.prepare(sql)?.exists(params![token.0, number(now_ms)])
        })
    }

    /// Releases a lease; the pull request is not claimed again before a time.
    pub fn release_pull(&self, token: FencingToken, not_before_ms: u64) -> Fenced<()> {
        self.decide_concurrent(move |connection| release(connection, RELEASE, params![token.0, number(not_before_ms)]))
    }

    /// Releases a lease and claims the next job, in one transaction.
    pub fn release_and_claim(&self, token: FencingToken, not_before_ms: u64, next: NextClaim) -> Fenced<Option<Claim>> {
        let rotation = self.rotation();
        self.decide_concurrent(move |connection| {
            let values = params![token.0, number(not_before_ms)];
            match release(connection, RELEASE, values)? {
                Ok(()) => claim_next(connection, &next, &rotation).map(Ok),
                Err(lost) => Ok(Err(lost)),
            }
        })
    }

    /// Releases a lease because the host failed; the job is retried, but not before a time.
    pub fn release_after_failure(&self, token: FencingToken, problem: &str, not_before_ms: u64) -> Fenced<()> {
        let problem = problem.to_owned();
        self.decide_concurrent(move |connection| {
            let set = "not_before_ms = ?2, troubles = troubles + 1, problem = ?3";
            release(connection, set, params![token.0, number(not_before_ms), problem])
        })
    }

    /// How many pull requests are due.
    pub fn n_due_pulls(&self, now_ms: u64) -> Result<usize, Failure> {
        let sql = "SELECT count(*) FROM pull WHERE ready_ms <= ?1";
        self.read(|connection| connection.query_row(sql, [number(now_ms)], |row| row.get(0)))
    }
}

/// The changes of a release: the host works again, and no claim before ?2.
const RELEASE: &str = "not_before_ms = ?2, problem = CASE WHEN troubles > 0 THEN NULL ELSE problem END, troubles = 0";

/// The rank within a lane: by age, where each step of priority is worth an hour.
pub(super) const RANK: &str = "(p.since_ms - 3600000 * p.priority)";

/// The name of a lane: the installation, a space and the repository, so that lanes sort by installation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lane(String);

/// Sorts after every lane.
const END: &str = "~";

impl Lane {
    fn installation(&self) -> &str {
        self.0.split_once(' ').map_or("0", |(installation, _)| installation)
    }

    fn repository(&self) -> &str {
        self.0.split_once(' ').map_or(self.0.as_str(), |(_, repository)| repository)
    }

    /// Sorts directly after the lane: no name contains such a character.
    fn end(&self) -> String {
        format!("{}\u{1}", self.0)
    }
}

/// The bounds between which the lanes of an installation sort: `!` follows the space.
fn bounds(installation: &str) -> (String, String) {
    (format!("{installation} "), format!("{installation}!"))
}

/// How far the round robin has come, in this process.
#[derive(Debug, Default)]
pub(in crate::store) struct Rotation(Mutex<Position>);

#[derive(Debug, Default)]
struct Position {
    /// The installation that was served last.
    installation: Option<String>,
    /// The lane of each installation that was served last.
    lanes: BTreeMap<String, Lane>,
    /// The installation that is expected to be next: its lanes had a due job at the last claim.
    next: Option<String>,
}

/// So many installations are remembered; then the round starts anew within each.
const MAX_INSTALLATIONS: usize = 10_000;

impl Rotation {
    fn position(&self) -> MutexGuard<'_, Position> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the lanes of the installations begin that follow the one served last.
    fn start(&self) -> String {
        self.position().installation.as_deref().map(|last| bounds(last).1).unwrap_or_default()
    }

    /// The lanes of an installation in turn: those after the one served last, then the others.
    fn ranges(&self, installation: &str) -> [(String, String); 2] {
        let (begin, end) = bounds(installation);
        let next = self.position().lanes.get(installation).map_or_else(|| begin.clone(), Lane::end);
        [(next.clone(), end), (begin, next)]
    }

    /// The installation that is expected to be next, once.
    fn take_next(&self) -> Option<String> {
        self.position().next.take()
    }

    fn served(&self, lane: Lane, next: Option<Lane>) {
        let mut position = self.position();
        position.next = next.map(|next| next.installation().to_owned());
        if position.lanes.len() >= MAX_INSTALLATIONS {
            position.lanes.clear();
        }
        position.installation = Some(lane.installation().to_owned());
        position.lanes.insert(lane.installation().to_owned(), lane);
    }
}

/// The first lane from ?3 on and before ?4 with a job that can be claimed at ?1.
pub(super) fn next_lane(except: &[i64]) -> String {
    format!(
        "SELECT p.lane FROM pull p INDEXED BY pull_ready WHERE p.lane >= ?3 AND p.lane < ?4 AND p.ready_ms <= ?1 AND {}{} \
         ORDER BY p.lane, p.ready_ms LIMIT 1",
        queue::free("p"),
        not_in(except)
    )
}

/// The first job that can be claimed at ?1 in the lanes from ?5 on and before ?6, else from ?7 on and before ?8. Rows that
/// another worker claims at this moment are skipped.
pub(super) fn next_job(except: &[i64]) -> String {
    let (free, except) = (queue::free("p"), not_in(except));
    let first = |begin, end| {
        format!(
            "(SELECT p.id FROM pull p INDEXED BY pull_queue WHERE p.lane >= {begin} AND p.lane < {end} \
             AND p.ready_ms <= ?1 AND {free}{except} ORDER BY p.lane, {RANK}, p.id LIMIT 1 /* lock */)"
        )
    };
    format!("coalesce({}, {})", first("?5", "?6"), first("?7", "?8"))
}

fn not_in(except: &[i64]) -> String {
    let except: Vec<String> = except.iter().map(i64::to_string).collect();
    if except.is_empty() { String::new() } else { format!(" AND p.id NOT IN ({})", except.join(", ")) }
}

pub(super) fn claim_next(
    connection: &Connection,
    request: &NextClaim,
    rotation: &Rotation,
) -> sql::Result<Option<Claim>> {
    let running = Running::count(connection, request)?;
    if running.is_none()
        && let Some(installation) = rotation.take_next()
        && let Some(taken) = take(connection, request, rotation.ranges(&installation))?
    {
        return Ok(Some(taken.served(rotation)));
    }
    let start = rotation.start();
    for (mut begin, end) in [(start.clone(), END), (String::new(), start.as_str())] {
        while let Some(lane) = find_lane(connection, request, (&begin, end))? {
            let installation = lane.installation();
            begin = bounds(installation).1;
            let ranges = rotation.ranges(installation);
            let claimed = match &running {
                None => take(connection, request, ranges)?,
                Some(running) if running.of_installation(installation) => None,
                Some(running) => take_within_limits(connection, request, ranges, running)?,
            };
            if let Some(taken) = claimed {
                return Ok(Some(taken.served(rotation)));
            }
        }
    }
    Ok(None)
}

fn find_lane(connection: &Connection, request: &NextClaim, (begin, end): (&str, &str)) -> sql::Result<Option<Lane>> {
    let [now, latest] = queue::validity(request.lease.now_ms);
    let values = params![now, latest, begin, end];
    connection.query_row(&next_lane(&request.except), values, |row| row.get(0).map(Lane)).optional()
}

/// A claim with its lane, and the first due lane of the installation that follows.
struct Taken {
    claim: Claim,
    lane: Lane,
    next: Option<Lane>,
}

impl Taken {
    fn served(self, rotation: &Rotation) -> Claim {
        rotation.served(self.lane, self.next);
        self.claim
    }
}

/// Claims the first job in two ranges of lanes.
fn take(
    connection: &Connection,
    request: &NextClaim,
    [first, second]: [(String, String); 2],
) -> sql::Result<Option<Taken>> {
    let next = |begin| {
        format!(
            "(SELECT p.lane FROM pull p WHERE p.lane >= {begin} AND p.ready_ms <= ?1 AND {} \
             ORDER BY p.lane, p.ready_ms LIMIT 1)",
            queue::free("p")
        )
    };
    let job = format!("pull.id = {}", next_job(&request.except));
    let columns = format!("{COLUMNS}, lane, coalesce({}, {}) AS next_lane", next("?9"), next("''"));
    let after = bounds(Lane(second.0.clone()).installation()).1;
    let values = params![first.0, first.1, second.0, second.1, after];
    Queue::Pulls.claim(connection, &request.lease, (&job, &columns), values, |row, token| {
        let claim = Claim { token, pull: of_row(row)?, until_ms: request.lease.until_ms() };
        let next: Option<String> = row.get("next_lane")?;
        Ok(Taken { claim, lane: Lane(row.get("lane")?), next: next.map(Lane) })
    })
}

/// Claims the first job in a lane whose repository is below its limit.
fn take_within_limits(
    connection: &Connection,
    request: &NextClaim,
    ranges: [(String, String); 2],
    running: &Running,
) -> sql::Result<Option<Taken>> {
    for (mut begin, end) in ranges {
        while let Some(lane) = find_lane(connection, request, (&begin, &end))? {
            begin = lane.end();
            if running.of_lane(&lane) || !has_room(connection, &lane, request)? {
                continue;
            }
            let only = (lane.0.clone(), lane.end());
            let claimed = take(connection, request, [only.clone(), only])?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
    }
    Ok(None)
}

/// How many valid leases there are in each lane at ?1.
pub(super) fn leased_lanes() -> String {
    format!("SELECT p.lane, count(*) FROM pull p INDEXED BY pull_by_owner WHERE {} GROUP BY p.lane", queue::leased("p"))
}

/// How many jobs are running, as of the beginning of a claim: lanes at their limit are skipped without locking anything.
struct Running {
    limits: ConcurrencyLimits,
    lanes: Vec<(Lane, u32)>,
}

impl Running {
    /// Counts the valid leases, where there are limits.
    fn count(connection: &Connection, request: &NextClaim) -> sql::Result<Option<Self>> {
        let limits = request.limits;
        if limits == ConcurrencyLimits::default() {
            return Ok(None);
        }
        let read = |row: &Row<'_>| Ok((Lane(row.get(0)?), row.get(1)?));
        let rows = connection.prepare(&leased_lanes())?.query_map(queue::validity(request.lease.now_ms), read)?;
        Ok(Some(Self { limits, lanes: rows.collect::<sql::Result<_>>()? }))
    }

    /// True when an installation has as many running jobs as it may.
    fn of_installation(&self, installation: &str) -> bool {
        let count = |(lane, n): &(Lane, u32)| if lane.installation() == installation { *n } else { 0 };
        self.limits.of_installation.is_some_and(|most| self.lanes.iter().map(count).sum::<u32>() >= most)
    }

    /// True when the repository of a lane has as many running jobs as it may.
    fn of_lane(&self, lane: &Lane) -> bool {
        let count = |(other, n): &(Lane, u32)| if other.repository() == lane.repository() { *n } else { 0 };
        self.limits.of_repository.is_some_and(|most| self.lanes.iter().map(count).sum::<u32>() >= most)
    }
}

/// True when one more job of a lane may run. Workers that ask this of the same lane wait for one another, so that two
/// never count the same jobs.
fn has_room(connection: &Connection, lane: &Lane, request: &NextClaim) -> sql::Result<bool> {
    let [now, latest] = queue::validity(request.lease.now_ms);
    let is_below = |most: Option<u32>, gate: String, of: &str, value: &dyn ToSql| -> sql::Result<bool> {
        let Some(most) = most else { return Ok(true) };
        pass_gate(connection, &gate)?;
        let sql = format!("SELECT count(*) FROM pull h WHERE {} AND {of} = ?3", queue::leased("h"));
        let n_running: i64 = connection.query_row(&sql, params![now, latest, value], |row| row.get(0))?;
        Ok(n_running < i64::from(most))
    };
    let (installation, repository) = (lane.installation(), lane.repository());
    let number: i64 = installation.parse().unwrap_or(0);
    let ConcurrencyLimits { of_installation, of_repository } = request.limits;
    let of = "coalesce(h.installation, 0)";
    Ok(is_below(of_installation, format!("installation {installation}"), of, &number)?
        && is_below(of_repository, format!("repository {repository}"), "h.repo_key", &repository)?)
}

fn pass_gate(connection: &Connection, name: &str) -> sql::Result<()> {
    connection.execute("INSERT INTO pull_gate (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
    connection.query_row("SELECT name FROM pull_gate WHERE name = ?1 /* row lock */", [name], |_| Ok(()))
}

/// Releases the lease of the token ?1 with other changes to the pull request.
pub(super) fn release(connection: &Connection, set: &str, values: &[&dyn ToSql]) -> sql::Result<Result<(), LeaseLost>> {
    let Some(pull) = Queue::Pulls.release(connection, set, values, "id")? else { return Ok(Err(LeaseLost)) };
    ready::refresh(connection, pull).map(Ok)
}

/// Locks the pull request that a token has leased; `None` when the lease is lost.
pub(super) fn claimed(connection: &Connection, token: FencingToken) -> sql::Result<Option<i64>> {
    let sql = "SELECT id FROM pull WHERE token = ?1 /* row lock */";
    connection.prepare(sql)?.query_row([token.0], |row| row.get(0)).optional()
}
