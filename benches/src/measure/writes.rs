//! Durable writes of many at once: committed together, against one commit for each, on the same disk.

use std::io;
use std::path::Path;
use std::time::Instant;

use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::NewEvent;
use tollgate_engine::store::{Database, Location};

use crate::measure::{Measure, Setting};
use crate::row::Row;

pub(super) const MEASURE: Measure = Measure { name: "writes", take };

/// The bar: time of a write with group commit, as a part of that without.
const BAR: f64 = 0.16;
/// So many write at once, each waiting for its last write before the next.
const N_WRITERS: usize = 64;
/// So many writes each makes when they are committed together.
const N_TOGETHER: usize = 40;
/// The same when each is committed alone, which takes long.
const N_ALONE: usize = 6;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    // Beside this program is a disk; temporary files may be in memory, where nothing is durable.
    let folder = tempfile::tempdir_in(std::env::current_exe()?.parent().unwrap_or(Path::new(".")))?;
    let (mut ours, mut peer) = (f64::MAX, f64::MAX);
    // In turns, since a disk has its moods.
    for run in 0..setting.n_runs.max(1) {
        let file = |name: &str| folder.path().join(format!("{name}-{run}.db"));
        ours = ours.min(time_of_one(&Database::open(&file("together")).map_err(told)?, N_TOGETHER)?);
        peer =
            peer.min(time_of_one(&Database::open_batched(&Location::File(file("alone")), 1).map_err(told)?, N_ALONE)?);
    }
    let measure = format!("writes, {N_WRITERS} at once");
    Ok(vec![Row { measure, ours: 1e6 * ours, peer: 1e6 * peer, unit: "µs", bar: BAR }])
}

/// Seconds for each of many writes.
fn time_of_one(database: &Database, n_each: usize) -> io::Result<f64> {
    let write = || -> Result<(), Failure> {
        for _ in 0..n_each {
            let (kind, payload) = ("bench".to_owned(), "x".repeat(200));
            database.announce(NewEvent { project: None, feature: None, kind, payload }, 0)?;
        }
        Ok(())
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..N_WRITERS).map(|_| scope.spawn(write)).collect();
        let ended = writers
            .into_iter()
            .map(|writer| writer.join().map_err(|_| io::Error::other("a writer panicked"))?.map_err(told));
        ended.collect::<io::Result<()>>()
    })?;
    Ok(start.elapsed().as_secs_f64() / (N_WRITERS * n_each) as f64)
}

fn told(failure: Failure) -> io::Error {
    io::Error::other(failure)
}
