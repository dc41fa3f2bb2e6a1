//! The memory and the wake-ups of an idle `tollgate serve`, and how soon it is ready: without features, and with 10,000.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::board::{Desk, Server};
use crate::measure::{Measure, Setting};
use crate::postgres::Host;
use crate::row::Row;

pub(super) const MEASURE: Measure = Measure { name: "idle", take };

const N_FEATURES: usize = 10_000;
const DIFF_BYTES: usize = 4_000;
/// Megabytes of memory.
const LIMIT_MB: f64 = 40.0;
const LIMIT_MS: f64 = 300.0;
/// The most wake-ups a second, of all threads together, and how long they are counted.
const WAKES: f64 = 2.0;
const COUNTED: Duration = Duration::from_secs(20);
/// Not a rate of work: fewer are better.
const WAKE_UPS: &str = "wakes/s";
/// With 10,000 features the server may take so many times as long to be ready as without.
const READY_BAR: f64 = 1.5;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let (empty, full) = (Desk::new()?, Desk::new()?);
    empty.add_project(&program)?;
    full.fill(N_FEATURES, DIFF_BYTES)?;
    full.add_project(&program)?;
    let (mut ready, mut ready_full, mut version) = (f64::MAX, f64::MAX, f64::MAX);
    // In turns, so that a disturbance hits all.
    for _ in 0..setting.n_runs.max(1) {
        ready = ready.min(Server::start(&empty, &program)?.ready.as_secs_f64() * 1e3);
        ready_full = ready_full.min(Server::start(&full, &program)?.ready.as_secs_f64() * 1e3);
        version = version.min(wall_of_version(&full, &program)?);
    }
    let memory = |desk: &Desk| Ok::<_, io::Error>(Server::start(desk, &program)?.at_rest()?.memory_mb);
    let row = |measure: &str, ours, peer, unit, bar| Row { measure: measure.to_owned(), ours, peer, unit, bar };
    let mut rows = vec![
        row("idle, memory, 0", memory(&empty)?, LIMIT_MB, "MB", 1.0),
        row("idle, memory, 10,000", memory(&full)?, LIMIT_MB, "MB", 1.0),
        row("idle, wake-ups, 10,000", wakes(&Server::start(&full, &program)?)?, WAKES, WAKE_UPS, 1.0),
        row("idle, ready, 10,000", ready_full, LIMIT_MS, "ms", 1.0),
        row("idle, ready, 10,000 against 0", ready_full, ready, "ms", READY_BAR),
        // No bar of its own: what of it is only starting a program.
        row("idle, ready, against --version", ready_full, version, "ms", f64::INFINITY),
    ];
    // Left out where there is no PostgreSQL.
    if let Ok(host) = Host::find("idle") {
        let scratch = host.scratch()?;
        let database = ["--database", &scratch.address];
        empty.run(&program, &[&["project", "add", "."], &database[..]].concat())?;
        let server = Server::start_with(&empty, &program, &database)?;
        rows.push(row("idle, wake-ups, 0, on PostgreSQL", wakes(&server)?, WAKES, WAKE_UPS, 1.0));
    }
    Ok(rows)
}

/// Wake-ups of all threads a second, once the server is at rest.
fn wakes(server: &Server) -> io::Result<f64> {
    server.at_rest()?;
    let before = server.n_wakes()?;
    std::thread::sleep(COUNTED);
    // A thread that ended takes its count along.
    Ok(server.n_wakes()?.saturating_sub(before) as f64 / COUNTED.as_secs_f64())
}

fn wall_of_version(desk: &Desk, program: &Path) -> io::Result<f64> {
    let begun = Instant::now();
    desk.run(program, &["--version"])?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
