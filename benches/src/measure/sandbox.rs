//! The start and end of a process in the sandbox of agents, over the same behind the process guard alone.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_engine::agent::{Agent, Implement, ImplementLimits, implement};
use tollgate_engine::config::{Sandbox, SandboxMode};

use crate::measure::{Measure, Setting};
use crate::row::Row;

/// What the sandbox may add, in milliseconds.
const LIMIT_MS: f64 = 15.0;

pub(super) const MEASURE: Measure = Measure { name: "sandbox", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let folder = tempfile::tempdir()?;
    let mut more = Vec::new();
    // In turn, so that a disturbance hits both.
    for _ in 0..setting.n_runs.max(21) {
        let with = run(&program, folder.path(), SandboxMode::Best)?;
        let without = run(&program, folder.path(), SandboxMode::Off)?;
        more.push(with.as_secs_f64() * 1e3 - without.as_secs_f64() * 1e3);
    }
    more.sort_by(f64::total_cmp);
    let median = more.get(more.len() / 2).copied().unwrap_or_default();
    let measure = "sandbox, over the guard".to_owned();
    Ok(vec![Row { measure, ours: median, peer: LIMIT_MS, unit: "ms", bar: 1.0 }])
}

/// The wall time of an agent that does nothing.
fn run(program: &Path, folder: &Path, mode: SandboxMode) -> io::Result<Duration> {
    let mut agent = Agent::command("nothing", vec!["true".to_owned()]);
    agent.sandbox = Sandbox { mode, ..Sandbox::default() };
    let started = Instant::now();
    let done = implement(&Implement {
        agent: &agent,
        folder,
        prompt: "",
        session: None,
        images: &[],
        binds: &[],
        state: None,
        limits: ImplementLimits::default(),
        executable: program,
        cancel: &CancellationToken::new(),
        started: &|_| {},
        heard: &|_| {},
        noted: &|_| {},
    });
    done.map_err(|failure| io::Error::other(failure.message))?;
    Ok(started.elapsed())
}
