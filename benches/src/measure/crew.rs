//! Scaling of workers: slow jobs, done by one, two and four workers on one PostgreSQL.
//!
//! Each worker has a database of its own, as a process has, and goes the whole way of a piece of work: it claims, gives a
//! sign of life in the middle, says that it is done, and gives the claim back.

use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_engine::store::Database;

use super::queue::{LEASE_MS, N_REPOSITORIES, claim, enqueue, finish};
use crate::measure::{Measure, Setting};
use crate::postgres::{Host, median, told};
use crate::row::{PER_SECOND, Row};

pub(super) const MEASURE: Measure = Measure { name: "crew", take };

/// How many work, and how many times the rate of one is wanted.
const CREWS: [(usize, f64); 3] = [(1, 1.0), (2, 1.8), (4, 3.5)];
/// So many jobs each does.
const N_EACH: usize = 25;
/// So long a job takes.
const SLOW: Duration = Duration::from_millis(100);

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let host = Host::find("crew")?;
    let mut rates = [const { Vec::new() }; 3];
    for round in 0..setting.n_runs.clamp(1, 5) {
        // In turns, and each is first at times.
        for place in 0..CREWS.len() {
            let index = (round + place) % CREWS.len();
            rates[index].push(rate(&host, CREWS[index].0)?);
        }
    }
    let [one, two, four] = rates.map(median);
    let row = |(n_workers, bar): (usize, f64), ours| Row {
        measure: format!("crew, {n_workers} against 1"),
        ours,
        peer: one,
        unit: PER_SECOND,
        bar,
    };
    Ok(vec![row(CREWS[1], two), row(CREWS[2], four)])
}

/// Jobs a second of so many workers.
fn rate(host: &Host, n_workers: usize) -> io::Result<f64> {
    let scratch = host.scratch()?;
    let mut databases = Vec::new();
    for _ in 0..n_workers {
        databases.push(scratch.open()?);
    }
    // One more for each, before the clock runs, so that connections and statements are there.
    enqueue(&scratch, n_workers * (N_EACH + 1), N_REPOSITORIES)?;
    let barrier = Barrier::new(n_workers + 1);
    thread::scope(|scope| {
        let barrier = &barrier;
        let work = |number: usize, database: &Database| {
            let owner = format!("worker {number}");
            let warm = one(database, &owner);
            barrier.wait();
            warm?;
            (0..N_EACH).try_for_each(|_| one(database, &owner))
        };
        let numbered = databases.iter().enumerate();
        let workers: Vec<_> = numbered.map(|(number, database)| scope.spawn(move || work(number, database))).collect();
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
        Ok((n_workers * N_EACH) as f64 / seconds)
    })
}

/// One job, the whole way.
fn one(database: &Database, owner: &str) -> io::Result<()> {
    let claim = claim(database, owner)?.ok_or_else(|| io::Error::other("there is nothing to claim"))?;
    thread::sleep(SLOW / 2);
    let beat = database.heartbeat_pull(claim.token, database.now_ms() + LEASE_MS).map_err(told)?;
    beat.map_err(io::Error::other)?;
    thread::sleep(SLOW / 2);
    finish(database, &claim)?;
    database.release_pull(claim.token, 0).map_err(told)?.map_err(io::Error::other)
}
