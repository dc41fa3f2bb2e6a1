//! The job queue on PostgreSQL: claiming and finishing jobs of pull requests, beside a bare loop over
//! `FOR UPDATE SKIP LOCKED` with as many connections on the same server.
//!
//! The loop takes a row, marks it and commits. Ours finishes a job with its event, chooses the next lane fairly and claims
//! its first job, in one transaction, as a worker does for a job without posts.

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tollgate_engine::store::Database;
use tollgate_engine::store::pulls::{Claim, ConcurrencyLimits, Finished, LeaseRequest, NextClaim};

use crate::measure::{Measure, Setting};
use crate::postgres::{Host, Scratch, client, median, told};
use crate::row::{PER_SECOND, Row};

pub(super) const MEASURE: Measure = Measure { name: "queue", take };

/// How many take work at once, how many jobs there are for them, and what part of the loop's rate is wanted.
const WORKERS: [(usize, usize, f64); 3] = [(1, 200, 0.5), (4, 600, 0.5), (16, 1_600, 0.4)];
/// With so many waiting repositories one worker does as many jobs a second as with [`N_REPOSITORIES`], or nearly.
const WAITING: [usize; 2] = [1_000, 4_000];
const WAITING_BAR: f64 = 0.8;
/// So many each has done before the clock runs, so that connections and statements are there.
const N_WARM: usize = 4;
/// The work is spread over so many repositories of so many installations.
pub(super) const N_REPOSITORIES: usize = 20;
const N_INSTALLATIONS: usize = 5;
/// How long a claim holds.
pub(super) const LEASE_MS: u64 = 60_000;

/// The workers.
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
    for (n_workers, n_jobs, bar) in WORKERS {
        let mut rates = [const { Vec::new() }; 3];
        for round in 0..setting.n_runs.clamp(1, 5) {
            // In turns, and each is first at times.
            for place in 0..3 {
                let who = [Who::Apart, Who::Together, Who::Bare][(round + place) % 3];
                let seconds = match who {
                    Who::Apart => ours(&host, n_workers, n_jobs, N_REPOSITORIES, false)?,
                    Who::Together => ours(&host, n_workers, n_jobs, N_REPOSITORIES, true)?,
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
    let mut rates = [const { Vec::new() }; 3];
    for round in 0..setting.n_runs.clamp(1, 5) {
        for place in 0..3 {
            let index = (round + place) % 3;
            let n_repositories = [N_REPOSITORIES, WAITING[0], WAITING[1]][index];
            let n_jobs = 200;
            rates[index].push(n_jobs as f64 / ours(&host, 1, n_jobs, n_repositories, true)?);
        }
    }
    let [few, more, most] = rates.map(median);
    for (n_repositories, ours) in WAITING.into_iter().zip([more, most]) {
        let measure = format!("queue, {n_repositories} waiting repositories against {N_REPOSITORIES}");
        rows.push(Row { measure, ours, peer: few, unit: PER_SECOND, bar: WAITING_BAR });
    }
    Ok(rows)
}

/// Seconds in which so many workers do so many jobs.
fn ours(host: &Host, n_workers: usize, n_jobs: usize, n_repositories: usize, is_one: bool) -> io::Result<f64> {
    let scratch = host.scratch()?;
    let first = scratch.open()?;
    let n_done_in_all = n_workers * N_WARM + n_jobs;
    // Every repository has a job waiting until the end, where there are more of them than jobs.
    let n_enqueued = if n_repositories > n_done_in_all { n_repositories + n_done_in_all } else { n_done_in_all };
    enqueue(&scratch, n_enqueued, n_repositories)?;
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
            let mut next = None;
            let warm = (0..N_WARM).try_for_each(|_| one(database, &owner, &mut next).map(drop));
            barrier.wait();
            warm?;
            while n_done.load(Ordering::Relaxed) < n_jobs {
                if one(database, &owner, &mut next)? {
                    n_done.fetch_add(1, Ordering::Relaxed);
                } else {
                    // The last ones are in the hands of others.
                    thread::sleep(Duration::from_millis(1));
                }
            }
            // The job that was claimed with the end of the last one.
            next.map(|next| finish(database, &next)).transpose().map(drop)
        };
        let workers: Vec<_> = (0..n_workers).map(|number| scope.spawn(move || work(number))).collect();
        barrier.wait();
        let begun = Instant::now();
        for worker in workers {
            worker.join().map_err(|_| io::Error::other("a worker panicked"))??;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let n_left = databases[0].n_due_pulls(databases[0].now_ms()).map_err(told)?;
        if n_left > n_enqueued - n_done_in_all {
            return Err(io::Error::other(format!("{n_left} jobs were not done")));
        }
        Ok(seconds)
    })
}

/// Finishes a job and claims the next in the same transaction, as a worker does; false when there is none.
fn one(database: &Database, owner: &str, next: &mut Option<Claim>) -> io::Result<bool> {
    let Some(claim) = next.take().map_or_else(|| claim(database, owner), |claim| Ok(Some(claim)))? else {
        return Ok(false);
    };
    let finished = database.finish_and_claim(claim.token, finished(database, &claim), request(database, owner));
    *next = finished.map_err(told)?.map_err(io::Error::other)?.next;
    Ok(true)
}

/// Claims the next job.
pub(super) fn claim(database: &Database, owner: &str) -> io::Result<Option<Claim>> {
    database.claim_next(&request(database, owner)).map_err(told)
}

fn request(database: &Database, owner: &str) -> NextClaim {
    let lease = LeaseRequest { owner: owner.to_owned(), now_ms: database.now_ms(), lease_ms: LEASE_MS };
    NextClaim { lease, limits: ConcurrencyLimits::default(), except: Vec::new() }
}

/// Finishes a job.
pub(super) fn finish(database: &Database, claim: &Claim) -> io::Result<()> {
    let finished = finished(database, claim);
    database.finish_review(claim.token, finished).map_err(told)?.map_err(io::Error::other).map(drop)
}

fn finished(database: &Database, claim: &Claim) -> Finished {
    let (record, reviewed, posts, problem) = (None, None, Vec::new(), None);
    Finished { up_to: claim.pull.wanted, record, reviewed, posts, is_closed: false, problem, at_ms: database.now_ms() }
}

/// Enqueues reviews of so many pull requests.
pub(super) fn enqueue(scratch: &Scratch<'_>, n_jobs: usize, n_repositories: usize) -> io::Result<()> {
    scratch.batch(&format!(
        "INSERT INTO pull (repo_key, repo, number, installation, lane, wanted, since_ms, review_at_ms, ready_ms) \
         SELECT repo, repo, n, installation, installation || ' ' || repo, 1, n, n, n \
         FROM (SELECT n, n % {N_INSTALLATIONS} + 1 AS installation, 'octocat/shop-' || n % {n_repositories} AS repo \
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
