//! `first-byte` and `re-review`: models are asked soon, and about little twice.
//!
//! `first-byte` is the time from starting the program to the first byte that reaches the model, on real branches. It is
//! wall time, since that is what a person waits for; the least of the runs counts for each branch.
//!
//! `re-review` is what later pushes of real branches cost in tokens when only what changed is sent, against sending all
//! of the change again. Every line that a push brought into the change must be sent.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tollgate_core::tokens;

use crate::measure::{Measure, Setting};
use crate::model::{Model, Noted};
use crate::row::Row;
use crate::scene;

pub(super) const FIRST_BYTE: Measure = Measure { name: "first-byte", take: first_byte };
pub(super) const RE_REVIEW: Measure = Measure { name: "re-review", take: re_review };

const N_BRANCHES: usize = 100;
const N_HISTORIES: usize = 25;
/// Branches with more pushes are cut: the last ones would outweigh all others.
const MAX_PUSHES: usize = 8;

/// A branch that was merged: where it began and its commits, the oldest first.
struct Branch {
    base: String,
    commits: Vec<String>,
}

fn branches(corpus: &Path, min_commits: usize, n_branches: usize) -> io::Result<Vec<Branch>> {
    let merges = scene::git(corpus, &["log", "--merges", "--first-parent", "--format=%P", "-n", "3000", "HEAD"])?;
    let mut branches = Vec::new();
    for parents in merges.lines() {
        let [main, tip] = parents.split(' ').collect::<Vec<_>>()[..] else { continue };
        let Ok(base) = scene::git(corpus, &["merge-base", main, tip]) else { continue };
        let base = base.trim().to_owned();
        let own = scene::git(corpus, &["rev-list", "--reverse", "--parents", &format!("{base}..{tip}")])?;
        let own: Vec<Vec<&str>> = own.lines().map(|line| line.split(' ').collect()).collect();
        // Without merges, so that all pushes leave the main branch at the same place.
        if own.len() < min_commits || own.iter().any(|commit| commit.len() != 2) {
            continue;
        }
        branches.push(Branch { base, commits: own.iter().map(|commit| commit[0].to_owned()).collect() });
        if branches.len() >= n_branches {
            break;
        }
    }
    Ok(branches)
}

/// The program, a repository and a model for it.
struct Bench<'a> {
    setting: &'a Setting,
    folder: tempfile::TempDir,
    model: Model,
}

impl<'a> Bench<'a> {
    fn new(setting: &'a Setting) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (scene::corpus(setting)?.display().to_string(), "repository");
        scene::git(folder.path(), &["clone", "-q", "--no-checkout", "--shared", &from, to])?;
        let model = Model::start()?;
        model.configure(&folder.path().join("config"), "budget.tokens = 2000000\nbudget.parallel = 1")?;
        Ok(Self { setting, folder, model })
    }

    fn repository(&self) -> std::path::PathBuf {
        self.folder.path().join("repository")
    }

    /// Reviews, and tells what the model noted and when the program was started.
    fn review(&self, args: &[&str], data: &str) -> io::Result<(Instant, Noted)> {
        let mut command = Command::new(self.setting.program()?);
        command
            .arg("-C")
            .arg(self.repository())
            .args(["review", "--reviewer", "bench", "--fail-on", "never"])
            .args(args);
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command.env("XDG_DATA_HOME", self.folder.path().join(data));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        command.status()?;
        Ok((started, self.model.noted()))
    }
}

fn first_byte(setting: &Setting) -> io::Result<Vec<Row>> {
    let bench = Bench::new(setting)?;
    let (mut ranges, mut patches) = (Vec::new(), Vec::new());
    for branch in branches(scene::corpus(setting)?, 1, N_BRANCHES)? {
        let Some(tip) = branch.commits.last() else { continue };
        let range = format!("{}..{tip}", branch.base);
        let patch = bench.folder.path().join("patch");
        std::fs::write(&patch, scene::git(&bench.repository(), &["diff", &branch.base, tip]).unwrap_or_default())?;
        let patch = patch.display().to_string();
        for (args, times) in [(&["--no-store", &range][..], &mut ranges), (&["--diff", &patch][..], &mut patches)] {
            let mut best: Option<f64> = None;
            for _ in 0..setting.n_runs.max(1) {
                let (started, noted) = bench.review(args, "data")?;
                // A branch of which nothing is to be reviewed, images for instance, is never sent.
                let Some(first) = noted.first else { break };
                let took = first.duration_since(started).as_secs_f64() * 1_000.0;
                best = Some(best.map_or(took, |best: f64| best.min(took)));
            }
            times.extend(best);
        }
    }
    let mut rows = Vec::new();
    for (name, mut times) in [("from git", ranges), ("from a patch", patches)] {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
        for (what, share, limit) in [("median", 0.5, 10.0), ("p99", 0.99, 50.0)] {
            let Some(&ours) = at(share) else { return Err(io::Error::other("no branch was sent")) };
            let measure = format!("first-byte {name}, {what} of {}", times.len());
            rows.push(Row { measure, ours, peer: limit, unit: "ms", bar: 1.0 });
        }
    }
    Ok(rows)
}

fn re_review(setting: &Setting) -> io::Result<Vec<Row>> {
    let bench = Bench::new(setting)?;
    let (mut n_pushes, mut n_lines, mut n_lost) = (0, 0, 0);
    let (mut sent, mut whole) = ([0; 2], [0; 2]);
    let count = |noted: &Noted, sums: &mut [usize; 2]| {
        for text in &noted.told {
            sums[0] += tokens::estimate(text.as_bytes());
            sums[1] += tokens::estimate(change_in(text).as_bytes());
        }
    };
    for (number, branch) in branches(scene::corpus(setting)?, 3, N_HISTORIES)?.iter().enumerate() {
        let data = format!("data{number}");
        let mut before: Option<&str> = None;
        for commit in branch.commits.iter().take(MAX_PUSHES) {
            scene::git(&bench.repository(), &["update-ref", "refs/heads/pushed", commit])?;
            let range = format!("{}...pushed", branch.base);
            let (_, part) = bench.review(&[&range, "--since-last"], &data)?;
            if let Some(before) = before {
                let (_, all) = bench.review(&[&range, "--no-store"], &data)?;
                count(&part, &mut sent);
                count(&all, &mut whole);
                n_pushes += 1;
                let (added, lost) = lost(&bench.repository(), &branch.base, before, commit, &part, &all)?;
                n_lines += added;
                n_lost += lost;
            }
            before = Some(commit);
        }
    }
    let figure = |count: usize| count as f64 / 1_000.0;
    Ok(vec![
        Row {
            measure: format!("re-review, {n_pushes} pushes, tokens"),
            ours: figure(sent[0]),
            peer: figure(whole[0]),
            unit: "k",
            bar: 0.4,
        },
        // Without the prompt around it, which services cache and which is most of a call about a small push.
        Row {
            measure: "re-review, of the change".to_owned(),
            ours: figure(sent[1]),
            peer: figure(whole[1]),
            unit: "k",
            bar: 0.4,
        },
        Row {
            measure: format!("re-review, lines lost of {n_lines}"),
            ours: n_lost as f64,
            peer: 1.0,
            unit: "lines",
            bar: 0.0,
        },
    ])
}

/// The part of a prompt that shows the change.
fn change_in(text: &str) -> &str {
    let change = text.split_once(": change]\n").map_or("", |(_, rest)| rest);
    change.split_once("\n[end ").map_or(change, |(change, _)| change)
}

/// How many lines a push added that a whole review would send, and how many of them were not sent.
fn lost(
    repository: &Path,
    base: &str,
    before: &str,
    commit: &str,
    part: &Noted,
    all: &Noted,
) -> io::Result<(usize, usize)> {
    let added = |from: &str, to: &str| -> io::Result<HashSet<String>> {
        let diff = scene::git(repository, &["diff", "--unified=0", from, to])?;
        let lines = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
        Ok(lines.map(|line| line[1..].trim().to_owned()).filter(|line| line.len() >= 8).collect())
    };
    // A line that was part of the change before, perhaps in a file of another name, was sent then.
    let (pushed, change, known) = (added(before, commit)?, added(base, commit)?, added(base, before)?);
    let (part, all) = (part.told.join("\n"), all.told.join("\n"));
    let new: Vec<&String> =
        pushed.intersection(&change).filter(|line| !known.contains(*line) && all.contains(line.as_str())).collect();
    let lost = new.iter().filter(|line| !part.contains(line.as_str())).count();
    Ok((new.len(), lost))
}
