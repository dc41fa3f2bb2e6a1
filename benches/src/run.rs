//! Runs programs and measures their cost.
//!
//! A process can ask the system only for the sum over all its children, so each program is run by a copy of this one,
//! which has no other child and prints what that one cost.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{Usage, UsageWho, getrusage};

/// The word that makes this program run another one and meter it.
pub(crate) const METER: &str = "__meter";

/// The word that makes this program do what `tollgate analyze --diff` does.
pub(crate) const ANALYZE: &str = "__analyze";

/// What a run cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Time of the processor, in the program and in the system for it.
    pub(crate) cpu_ms: f64,
    /// The most memory the program had.
    pub(crate) peak_mb: f64,
}

/// The least cost of several runs; the least is what the work takes when nothing disturbs it.
pub(crate) fn least(n_runs: usize, command: &[&OsStr]) -> io::Result<Cost> {
    let mut best: Option<Cost> = None;
    for _ in 0..n_runs.max(1) {
        let cost = once(command, None)?;
        best = Some(match best {
            Some(best) if best.cpu_ms <= cost.cpu_ms => best,
            _ => cost,
        });
    }
    best.ok_or_else(|| io::Error::other("no run"))
}

/// The store of tollgate. Stored reviews would make every run but the first cheaper, so each measured run begins
/// with the same memory: an empty one, or a copy of this.
pub(crate) struct Memory {
    folder: tempfile::TempDir,
}

impl Memory {
    /// The memory after these reviews.
    pub(crate) fn after(reviews: &[&[&OsStr]]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        for review in reviews {
            let [program, arguments @ ..] = *review else { continue };
            Command::new(program)
                .args(arguments)
                .env("XDG_DATA_HOME", folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
        }
        Ok(Self { folder })
    }

    fn copy(&self) -> io::Result<tempfile::TempDir> {
        let copy = tempfile::tempdir()?;
        std::fs::create_dir(copy.path().join("tollgate"))?;
        let file = "tollgate/tollgate.db";
        std::fs::copy(self.folder.path().join(file), copy.path().join(file))?;
        Ok(copy)
    }
}

/// The least costs of two programs, run in turn so that a disturbance hits both.
pub(crate) fn side_by_side(n_runs: usize, ours: &[&OsStr], peer: &[&OsStr]) -> io::Result<(Cost, Cost)> {
    remembering(n_runs, (ours, None), (peer, None))
}

/// The same, with a memory for each.
pub(crate) fn remembering(
    n_runs: usize,
    (ours, memory): (&[&OsStr], Option<&Memory>),
    (peer, their_memory): (&[&OsStr], Option<&Memory>),
) -> io::Result<(Cost, Cost)> {
    let (mut best_ours, mut best_peer) = (once(ours, memory)?, once(peer, their_memory)?);
    for _ in 1..n_runs {
        let (cost_ours, cost_peer) = (once(ours, memory)?, once(peer, their_memory)?);
        if cost_ours.cpu_ms < best_ours.cpu_ms {
            best_ours = cost_ours;
        }
        if cost_peer.cpu_ms < best_peer.cpu_ms {
            best_peer = cost_peer;
        }
    }
    Ok((best_ours, best_peer))
}

fn once(command: &[&OsStr], memory: Option<&Memory>) -> io::Result<Cost> {
    let data = memory.map_or_else(tempfile::tempdir, Memory::copy)?;
    let mut meter = Command::new(std::env::current_exe()?);
    let output = meter.arg(METER).args(command).env("XDG_DATA_HOME", data.path()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut figures = text.split_whitespace().map(str::parse::<f64>);
    match (output.status.success(), figures.next(), figures.next()) {
        (true, Some(Ok(cpu_ms)), Some(Ok(peak_mb))) => Ok(Cost { cpu_ms, peak_mb }),
        _ => {
            let shown: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
            let why = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!("`{}` failed: {}", shown.join(" "), why.trim())))
        }
    }
}

/// Runs a program without its output, and prints the cost.
pub(crate) fn meter(command: &[String]) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else { return ExitCode::from(2) };
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    match (status, getrusage(UsageWho::RUSAGE_CHILDREN)) {
        // A linter that found something ends with 1: that is an answer, too.
        (Ok(status), Ok(usage)) if matches!(status.code(), Some(0 | 1)) => {
            println!("{} {}", cpu_ms(&usage), usage.max_rss() as f64 / 1024.0);
            ExitCode::SUCCESS
        }
        (status, _) => {
            eprintln!("{status:?}");
            ExitCode::from(2)
        }
    }
}

/// The processor time of this program while it does something.
pub(crate) fn cpu_of(work: impl FnOnce()) -> io::Result<f64> {
    let before = cpu_ms(&getrusage(UsageWho::RUSAGE_SELF)?);
    work();
    Ok(cpu_ms(&getrusage(UsageWho::RUSAGE_SELF)?) - before)
}

/// The processor time of the processes that some work starts and waits for, in milliseconds.
pub(crate) fn cpu_of_children(work: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let before = cpu_ms(&getrusage(UsageWho::RUSAGE_CHILDREN)?);
    work()?;
    Ok(cpu_ms(&getrusage(UsageWho::RUSAGE_CHILDREN)?) - before)
}

fn cpu_ms(usage: &Usage) -> f64 {
    let ms = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    ms(usage.user_time()) + ms(usage.system_time())
}

/// Does what `tollgate analyze --diff FILE` does, for when that program is not built.
pub(crate) fn analyze(file: &str) -> ExitCode {
    let analysis = File::open(file).and_then(|file| tollgate_core::analysis::analyze_reader(file, &|_| None));
    let Ok(analysis) = analysis else { return ExitCode::from(2) };
    let rendered = tollgate_core::analysis::render(&analysis);
    match io::stdout().lock().write_all(rendered.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}

/// Writes a text to a file of a folder and gives its path.
pub(crate) fn file_with(dir: &Path, name: &str, text: &[u8]) -> io::Result<std::path::PathBuf> {
    let path = dir.join(name);
    File::create(&path)?.write_all(text)?;
    Ok(path)
}
