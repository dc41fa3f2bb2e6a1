//! The queue on PostgreSQL: claiming and finishing jobs of pull requests, beside a bare loop over
//! `FOR UPDATE SKIP LOCKED` with as many connections on the same server.
//!
//! The loop takes a row, marks it and commits. Ours chooses whose turn it is, commits the claim, and commits the end of
//! the work with its event: two commits that wait for the disk, where the loop has one.

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::{Claim, Finished, Limits, NextClaim};

use crate::measure::{Measure, Setting};
use crate::postgres::{Host, Scratch, client, median, told};
use crate::row::{PER_SECOND, Row};

pub(super) const MEASURE: Measure = Measure { name: "queue", take };

/// How many take work at once, how many jobs there are for them, and what part of the loop's rate is wanted.
const CREWS: [(usize, usize, f64); 3] = [(1, 200, 0.1), (4, 600, 0.1), (16, 1_600, 0.08)];
/// So many each has done before the clock runs, so that connections and statements are there.
const N_WARM: usize = 4;
/// The work is spread over so many repositories of so many installations.
const N_REPOSITORIES: usize = 20;
const N_INSTALLATIONS: usize = 5;
/// How long a claim holds.
pub(super) const LEASE_MS: u64 = 60_000;

/// A worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Threads with a database each, as processes have.
    Apart,
    /// Threads of one process.
    Together,
    /// The bare loop.
    Bare,
}

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let host = Host::find("queue")?;
    let mut rows = Vec::new();
    for (n_workers, n_jobs, bar) in CREWS {
        let mut rates = [const { Vec::new() }; 3];
        for round in 0..setting.n_runs.clamp(1, 5) {
            // In turns, and each is first at times.
            for place in 0..3 {
                let who = [Who::Apart, Who::Together, Who::Bare][(round + place) % 3];
                let seconds = match who {
                    Who::Apart => ours(&host, n_workers, n_jobs, false)?,
                    Who::Together => ours(&host, n_workers, n_jobs, true)?,
                    Who::Bare => bare(&host, n_workers, n_jobs)?,
                };
                rates[who as usize].push(n_jobs as f64 / seconds);
            }
        }
        let [apart, together, peer] = rates.map(median);
        let row = |measure, ours, bar| Row { measure, ours, peer, unit: PER_SECOND, bar };
        rows.push(row(format!("queue, {n_workers} apart"), apart, bar));
        if n_workers > 1 {
            rows.push(row(format!("queue, {n_workers} in one process"), together, 0.0));
        }
    }
    Ok(rows)
}

/// Seconds in which so many workers do so many jobs.
fn ours(host: &Host, n_workers: usize, n_jobs: usize, is_one: bool) -> io::Result<f64> {
    let scratch = host.scratch()?;
    let first = scratch.open()?;
    owe(&scratch, n_workers * N_WARM + n_jobs)?;
    let others = if is_one { 0 } else { n_workers - 1 };
    let mut databases = vec![first];
    for _ in 0..others {
        databases.push(scratch.open()?);
    }
    let (n_done, barrier) = (AtomicUsize::new(0), Barrier::new(n_workers + 1));
    thread::scope(|scope| {
        let (databases, n_done, barrier) = (&databases, &n_done, &barrier);
        let work = |number: usize| {
            let database = &databases[number % databases.len()];
            let owner = format!("worker {number}");
            let warm = (0..N_WARM).try_for_each(|_| one(database, &owner).map(drop));
            barrier.wait();
            warm?;
            while n_done.load(Ordering::Relaxed) < n_jobs {
                if one(database, &owner)? {
                    n_done.fetch_add(1, Ordering::Relaxed);
                } else {
                    // The last ones are in the hands of others.
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Ok::<_, io::Error>(())
        };
        let workers: Vec<_> = (0..n_workers).map(|number| scope.spawn(move || work(number))).collect();
        barrier.wait();
        let begun = Instant::now();
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker panicked"))??;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let n_left = databases[0].n_due_pulls(databases[0].now_ms()).map_err(told)?;
        if n_left > 0 {
            return Err(io::Error::other(format!("{n_left} jobs were not done")));
        }
        Ok(seconds)
    })
}

/// Claims the next job and finishes it; false when the queue is empty.
fn one(database: &Database, owner: &str) -> io::Result<bool> {
    let Some(claim) = claim(database, owner)? else { return Ok(false) };
    finish(database, &claim)?;
    Ok(true)
}

/// Claims the next job.
pub(super) fn claim(database: &Database, owner: &str) -> io::Result<Option<Claim>> {
    let (owner, now_ms, limits) = (owner.to_owned(), database.now_ms(), Limits::default());
    database.claim_next(&NextClaim { owner, now_ms, lease_ms: LEASE_MS, limits, except: Vec::new() }).map_err(told)
}

/// Finishes a job.
pub(super) fn finish(database: &Database, claim: &Claim) -> io::Result<()> {
    let (record, reviewed, posts, problem) = (None, None, Vec::new(), None);
    let (up_to, at_ms) = (claim.pull.wanted, database.now_ms());
    let finished = Finished { up_to, record, reviewed, posts, is_closed: false, problem, at_ms };
    database.finish_review(claim.token, finished).map_err(told)?.map_err(io::Error::other).map(drop)
}

/// Enqueues a review of so many pull requests.
pub(super) fn owe(scratch: &Scratch<'_>, n_jobs: usize) -> io::Result<()> {
    scratch.batch(&format!(
        "INSERT INTO pull (repo_key, repo, number, installation, lane, wanted, since_ms, review_at_ms, ready_ms) \
         SELECT repo, repo, n, installation, installation || ' ' || repo, 1, n, n, n \
         FROM (SELECT n, n % {N_INSTALLATIONS} + 1 AS installation, 'octocat/shop-' || n % {N_REPOSITORIES} AS repo \
               FROM generate_series(1, {n_jobs}) n) jobs; ANALYZE"
    ))
}

/// The same of the bare loop.
fn bare(host: &Host, n_workers: usize, n_jobs: usize) -> io::Result<f64> {
    let scratch = host.scratch()?;
    let n_all = n_workers * N_WARM + n_jobs;
    scratch.batch(&format!(
        "CREATE TABLE job (id BIGINT PRIMARY KEY, state BIGINT NOT NULL DEFAULT 0, what TEXT NOT NULL); \
         CREATE INDEX job_due ON job (id) WHERE state = 0; \
         INSERT INTO job (id, what) SELECT n, 'octocat/shop-' || n FROM generate_series(1, {n_all}) n; ANALYZE"
    ))?;
    host.runtime().block_on(async {
        let mut workers = JoinSet::new();
        let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(n_workers + 1));
        for _ in 0..n_workers {
            let (address, barrier) = (scratch.address.clone(), std::sync::Arc::clone(&barrier));
            workers.spawn(async move {
                let client = client(&address).await?;
                let sql = "SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
                let take = client.prepare(sql).await.map_err(io::Error::other)?;
                let mark = client.prepare("UPDATE job SET state = 1 WHERE id = $1").await.map_err(io::Error::other)?;
                let one = async || {
                    client.batch_execute("BEGIN").await?;
                    let row = client.query_opt(&take, &[]).await?;
                    if let Some(row) = &row {
                        client.execute(&mark, &[&row.get::<_, i64>(0)]).await?;
                    }
                    client.batch_execute("COMMIT").await?;
                    Ok::<_, tokio_postgres::Error>(row.is_some())
                };
                for _ in 0..N_WARM {
                    one().await.map_err(io::Error::other)?;
                }
                barrier.wait().await;
                while one().await.map_err(io::Error::other)? {}
                Ok::<_, io::Error>(())
            });
        }
        barrier.wait().await;
        let begun = Instant::now();
        while let Some(ended) = workers.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        Ok(begun.elapsed().as_secs_f64())
    })
}
