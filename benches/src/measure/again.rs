//! `again`: the second push of a branch against the first, on real branches.
//!
//! A branch is what a merge of the corpus brought in. Its first push is all but its last commit, the second all of it.
//! Both are reviewed against where the branch left the main branch, the second with `--since-last`: unchanged parts in
//! between is neither compared nor scanned again.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run::{self, Memory};
use crate::scene;

pub(super) const MEASURE: Measure = Measure { name: "again", take };

const N_BRANCHES: usize = 12;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let program = setting.program()?;
    let corpus = scene::corpus(setting)?;
    let folder = tempfile::tempdir()?;
    let shared = folder.path().join("repository");
    let (from, to) = (corpus.display().to_string(), shared.display().to_string());
    scene::git(folder.path(), &["clone", "-q", "--no-checkout", "--shared", &from, &to])?;
    let branches = branches(corpus)?;
    let (mut first, mut second, mut whole) = (0.0, 0.0, 0.0);
    for branch in &branches {
        let range = format!("{}...pushed", branch.base);
        let review: Vec<&OsStr> = [
            program.as_os_str(),
            "-C".as_ref(),
            shared.as_ref(),
            "review".as_ref(),
            range.as_ref(),
            "--fail-on".as_ref(),
            "never".as_ref(),
        ]
        .to_vec();
        let push = |commit: &str| scene::git(&shared, &["update-ref", "refs/heads/pushed", commit]);
        // The file is there before the first push, as it is on all days but the first.
        push(&branch.base)?;
        let before = Memory::after(&[&review])?;
        push(&branch.first)?;
        let cost = run::remembering(setting.n_runs, (&review, Some(&before)), (&review, Some(&before)))?.0;
        first += cost.cpu_ms;
        let between = Memory::after(&[&review])?;
        push(&branch.second)?;
        let again: Vec<&OsStr> = review.iter().copied().chain(["--since-last".as_ref()]).collect();
        let forgetful: Vec<&OsStr> = review.iter().copied().chain(["--no-store".as_ref()]).collect();
        let (cost, without) = run::remembering(setting.n_runs, (&again, Some(&between)), (&forgetful, None))?;
        second += cost.cpu_ms;
        whole += without.cpu_ms;
    }
    let measure = format!("again, {} branches, CPU", branches.len());
    // How much of the second push the store saves, independently of the first one.
    let spared = "again, against no memory, CPU".to_owned();
    Ok(vec![
        Row { measure, ours: second, peer: first, unit: "ms", bar: 0.5 },
        Row { measure: spared, ours: second, peer: whole, unit: "ms", bar: f64::INFINITY },
    ])
}

struct Branch {
    base: String,
    first: String,
    second: String,
}

/// The newest branches that were merged with at least two commits of their own.
fn branches(corpus: &Path) -> io::Result<Vec<Branch>> {
    let merges = scene::git(corpus, &["log", "--merges", "--first-parent", "--format=%P", "-n", "2000", "HEAD"])?;
    let mut branches = Vec::new();
    for parents in merges.lines() {
        let [main, tip] = parents.split(' ').collect::<Vec<_>>()[..] else { continue };
        let Ok(base) = scene::git(corpus, &["merge-base", main, tip]) else { continue };
        let base = base.trim().to_owned();
        // Without merges, so that both pushes leave the main branch at the same place.
        let own = scene::git(corpus, &["rev-list", "--parents", &format!("{base}..{tip}")])?;
        let own: Vec<Vec<&str>> = own.lines().map(|line| line.split(' ').collect()).collect();
        let [second, first, ..] = &own[..] else { continue };
        if own.iter().any(|commit| commit.len() != 2) {
            continue;
        }
        let (second, first) = (second[0], first[0]);
        if scene::git(corpus, &["diff", "--name-only", &base, first, "--", "*.ts", "*.tsx", "*.js"])?.is_empty() {
            continue;
        }
        branches.push(Branch { base, first: first.to_owned(), second: second.to_owned() });
        if branches.len() >= N_BRANCHES {
            break;
        }
    }
    Ok(branches)
}
