//! The list of a board: cold, from the files of a project that was never seen; warm, as a client of the server gets it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use tollgate_engine::board::folder::{DEFAULT_NAME, Folder};

use crate::board::{Desk, Server};
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "board-list", take };

/// Reading and checking all files may take so many times what only parsing them takes.
const FILES_BAR: f64 = 1.0;
/// Taking in a feature may take this part of making one file durable.
const TAKEN_BAR: f64 = 0.5;
/// Bytes of a diff in the files of many features, and of few.
const DIFF_BYTES: usize = 4_000;
const LONG_DIFF_BYTES: usize = 200_000;
/// The list of 2,000 features may take so long, and have so many bytes.
const LIMIT_MS: f64 = 100.0;
const LIMIT_MIB: f64 = 1.0;
const N_LISTS: usize = 100;
const N_DURABLE: usize = 50;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let mut rows = Vec::new();
    for n_features in [1_000, 10_000] {
        rows.extend(cold(setting, &program, n_features)?);
    }
    rows.extend(warm(&program)?);
    Ok(rows)
}

fn cold(setting: &Setting, program: &Path, n_features: usize) -> io::Result<[Row; 2]> {
    let desk = Desk::new()?;
    desk.fill(n_features, DIFF_BYTES)?;
    let (mut ours, mut peer) = (f64::MAX, f64::MAX);
    // Two or three runs are enough of so much work.
    for _ in 0..setting.n_runs.clamp(1, 3) {
        let mut parsed = Ok(0);
        peer = peer.min(run::cpu_of(|| parsed = parse(&desk.features()))?);
        let mut held = 0;
        let folder = Folder::open(&desk.path("project"), DEFAULT_NAME).map_err(io::Error::other)?;
        let mut visited = Ok(());
        ours = ours.min(run::cpu_of(|| visited = folder.visit(&mut |found| held += usize::from(found.is_ok())))?);
        visited.map_err(io::Error::other)?;
        if (parsed?, held) != (n_features, n_features) {
            return Err(io::Error::other("features are missing"));
        }
    }
    let durable = durable(&desk)?;
    let taken = desk.add_project(program)?.as_secs_f64() * 1e6 / n_features as f64;
    let named = |what: &str| format!("board-list, {what}, {n_features}");
    Ok([
        Row { measure: named("files"), ours, peer, unit: "ms", bar: FILES_BAR },
        Row { measure: named("taken in"), ours: taken, peer: durable, unit: "µs", bar: TAKEN_BAR },
    ])
}

/// Reads all cards with nothing but a parser.
fn parse(features: &Path) -> io::Result<usize> {
    let mut n_read = 0;
    for entry in fs::read_dir(features)? {
        let bytes = fs::read(entry?.path().join("feature.json"))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        n_read += usize::from(value.get("id").is_some());
    }
    Ok(n_read)
}

/// Microseconds for making one small file durable.
fn durable(desk: &Desk) -> io::Result<f64> {
    let begun = Instant::now();
    for number in 0..N_DURABLE {
        let mut file = File::create(desk.path(&format!("data/{number}")))?;
        file.write_all(&[b'x'; DIFF_BYTES])?;
        file.sync_all()?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / N_DURABLE as f64)
}

fn warm(program: &Path) -> io::Result<[Row; 3]> {
    const N_FEATURES: usize = 2_000;
    let desk = Desk::new()?;
    desk.fill(N_FEATURES, LONG_DIFF_BYTES)?;
    desk.add_project(program)?;
    let server = Server::start(&desk, program)?;
    server.at_rest()?;
    let mut client = server.client()?;
    let before = server.figures()?.cpu_ms;
    let (mut times, mut n_bytes) = (Vec::new(), 0);
    for _ in 0..N_LISTS {
        let (mut n_listed, mut after, mut ms) = (0, String::new(), 0.0);
        n_bytes = 0;
        loop {
            let begun = Instant::now();
            let answer = client.get(&format!("/api/projects/1/features?limit=1000{after}"))?;
            ms += begun.elapsed().as_secs_f64() * 1e3;
            n_bytes += answer.body.len();
            let page = answer.json()?;
            n_listed += page["features"].as_array().map_or(0, Vec::len);
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        times.push(ms);
        if n_listed != N_FEATURES {
            return Err(io::Error::other(format!("{n_listed} features were listed")));
        }
    }
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100 - 1];
    let cpu = (server.figures()?.cpu_ms - before) / N_LISTS as f64;
    Ok([
        Row { measure: "board-list, HTTP, 2,000, CPU".to_owned(), ours: cpu, peer: LIMIT_MS, unit: "ms", bar: 1.0 },
        Row { measure: "board-list, HTTP, 2,000, p99".to_owned(), ours: p99, peer: LIMIT_MS, unit: "ms", bar: 1.0 },
        Row {
            measure: "board-list, HTTP, 2,000, body".to_owned(),
            ours: n_bytes as f64 / f64::from(1 << 20),
            peer: LIMIT_MIB,
            unit: "MiB",
            bar: 1.0,
        },
    ])
}
