//! Runs the change rules over the commits of a repository, to judge their findings on real changes.
//!
//! ```sh
//! cargo run --release -p tollgate-rules --example changes -- [--rule PART-OF-ID] [--commits N] REPOSITORY…
//! ```
//!
//! Each commit except merges is one change; its subject is the declared title.
#![expect(clippy::print_stdout, reason = "this is a program")]

use std::collections::BTreeMap;
use std::process::Command;

use tollgate_core::diff;
use tollgate_rules::catalog;
use tollgate_rules::change::{self, ChangeContext};

fn main() {
    let (mut wanted, mut n_commits, mut repositories) = (String::new(), "100".to_owned(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rule" => wanted = args.next().unwrap_or_default(),
            "--commits" => n_commits = args.next().unwrap_or_default(),
            _ => repositories.push(arg),
        }
    }
    let enabled = |id: &str| id.contains(&wanted);
    let (mut counts, mut n_changes): (BTreeMap<String, usize>, usize) = (BTreeMap::new(), 0);
    for repository in &repositories {
        let log = git(repository, &["log", "--no-merges", "-n", &n_commits, "--format=%H %s"]);
        for entry in String::from_utf8_lossy(&log).lines() {
            let Some((commit, subject)) = entry.split_once(' ') else { continue };
            let text = git(repository, &["show", "--format=", "--no-color", "--no-ext-diff", "-M", commit]);
            let tree = git(repository, &["ls-tree", "-r", "--name-only", &format!("{commit}^")]);
            let paths: Vec<String> = String::from_utf8_lossy(&tree).lines().map(str::to_owned).collect();
            let (files, _) = diff::parse(text);
            n_changes += 1;
            for (file, hit) in change::scan(&files, ChangeContext::titled(subject).in_repository(&paths), &enabled) {
                let side = if hit.left { "-" } else { "+" };
                let message = catalog::find(&hit.rule).map_or("", |rule| rule.message);
                let message = hit.message.as_deref().unwrap_or(message);
                println!("{} {} {subject}\n  {file}:{side}{} {message}", hit.rule, &commit[..12], hit.line_start);
                println!("    {}", hit.evidence.replace('\n', "\n    "));
                *counts.entry(hit.rule).or_default() += 1;
            }
        }
    }
    println!("\n{n_changes} changes");
    for (rule, count) in counts {
        println!("{count:6} {rule}");
    }
}

fn git(repository: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git").arg("-C").arg(repository).args(args).output();
    output.map(|output| output.stdout).unwrap_or_default()
}
