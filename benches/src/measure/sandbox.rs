//! The sandbox of agents, over the process guard alone: the start and end of a process, and the processor time of a build.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tollgate_engine::agent::{Agent, Implement, ImplementLimits, implement};
use tollgate_engine::config::{Sandbox, SandboxMode};

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run::cpu_of_children;

/// What the sandbox may add, in milliseconds.
const LIMIT_MS: f64 = 15.0;
/// The number of functions that are built.
const N_FUNCTIONS: usize = 1_500;

pub(super) const MEASURE: Measure = Measure { name: "sandbox", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let folder = tempfile::tempdir()?;
    let mut more = Vec::new();
    // In turn, so that a disturbance hits both.
    for _ in 0..setting.n_runs.max(21) {
        let with = run(&program, folder.path(), SandboxMode::Best, &["true"])?;
        let without = run(&program, folder.path(), SandboxMode::Off, &["true"])?;
        more.push(with.as_secs_f64() * 1e3 - without.as_secs_f64() * 1e3);
    }
    more.sort_by(f64::total_cmp);
    let median = more.get(more.len() / 2).copied().unwrap_or_default();
    let measure = "sandbox, over the guard".to_owned();
    Ok(vec![
        Row { measure, ours: median, peer: LIMIT_MS, unit: "ms", bar: 1.0 },
        build(&program, folder.path(), setting.n_runs.max(5))?,
    ])
}

/// The processor time of a build, the least of some runs.
fn build(program: &Path, folder: &Path, n_runs: usize) -> io::Result<Row> {
    let mut text = String::new();
    for number in 0..N_FUNCTIONS {
        let _ = writeln!(text, "pub fn f{number}(x: &str) -> String {{ format!(\"{{x}} {{}}\", x.len() + {number}) }}");
    }
    std::fs::write(folder.join("lib.rs"), text)?;
    let command = ["rustc", "--edition=2021", "--crate-type=lib", "-Copt-level=1", "--out-dir=out", "lib.rs"];
    let cpu = |mode| cpu_of_children(|| run(program, folder, mode, &command).map(drop));
    let (mut with, mut without) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..n_runs {
        with = with.min(cpu(SandboxMode::Best)?);
        without = without.min(cpu(SandboxMode::Off)?);
    }
    Ok(Row { measure: "sandbox, CPU of a build".to_owned(), ours: with, peer: without, unit: "ms", bar: 1.03 })
}

/// The wall time of a command in the place of an agent.
fn run(program: &Path, folder: &Path, mode: SandboxMode, command: &[&str]) -> io::Result<Duration> {
    let mut agent = Agent::command("bench", command.iter().map(|&word| word.to_owned()).collect());
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
