//! Rules over files, against ast-grep's own program with the same thirty rules.
//!
//! `rules-full`: 432 whole TypeScript files, added in one commit; the same findings.
//! `rules-change`: all embedded rules on what the newest commits change in at least 200 TypeScript files, against
//! ast-grep's scan of these files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::process::Command;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::scene::{self, Scene};
use crate::{peer, run};

pub(super) const FULL: Measure = Measure { name: "rules-full", take: full };
pub(super) const CHANGE: Measure = Measure { name: "rules-change", take: change };

/// The name of the tree that holds nothing.
const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const N_FILES: usize = 432;
const N_CHANGED: usize = 200;

fn full(setting: &Setting) -> io::Result<Vec<Row>> {
    let (program, ast_grep) = (setting.program()?, peer::ast_grep()?);
    let scene = Scene::new()?;
    for (number, (_, text)) in scene::typescript(setting, N_FILES)?.into_iter().enumerate() {
        std::fs::create_dir_all(scene.path().join("src"))?;
        std::fs::write(scene.path().join(format!("src/f{number}.ts")), text)?;
    }
    scene.commit("files")?;
    scene.write_rules()?;
    let range = format!("{EMPTY}..HEAD");
    let words = ["-C".as_ref(), scene.path().as_ref(), "review".as_ref(), range.as_ref()];
    let mut ours: Vec<&OsStr> = vec![program.as_ref()];
    ours.extend::<[&OsStr; 4]>(words);
    ours.extend::<[&OsStr; 4]>(["--fail-on".as_ref(), "never".as_ref(), "--format".as_ref(), "json".as_ref()]);
    let (config, src) = (scene.path().join("sgconfig.yml"), scene.path().join("src"));
    let scan: Vec<&OsStr> = vec![
        ast_grep.as_ref(),
        "scan".as_ref(),
        "--json=compact".as_ref(),
        "-c".as_ref(),
        config.as_ref(),
        src.as_ref(),
    ];
    let (found_ours, found_peer) = (our_places(&ours)?, their_places(&scan)?);
    if found_ours != found_peer {
        let (n_ours, n_peer) = (found_ours.len(), found_peer.len());
        let odd: Vec<_> = found_ours.symmetric_difference(&found_peer).take(3).collect();
        return Err(io::Error::other(format!("not the same findings: {n_ours} and {n_peer}, such as {odd:?}")));
    }
    let (ours, peer) = run::side_by_side(setting.n_runs, &ours, &scan)?;
    let measure = format!("rules-full, {} findings, CPU", found_ours.len());
    Ok(vec![Row { measure, ours: ours.cpu_ms, peer: peer.cpu_ms, unit: "ms", bar: 1.1 }])
}

type Places = BTreeSet<(String, String, u64)>;

fn output(command: &[&OsStr]) -> io::Result<serde_json::Value> {
    let output = Command::new(command[0]).args(&command[1..]).output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&output.stderr))))
}

fn our_places(command: &[&OsStr]) -> io::Result<Places> {
    let review = output(command)?;
    let findings = review["findings"].as_array().cloned().unwrap_or_default();
    let place = |finding: &serde_json::Value| {
        let file = finding["location"]["file"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let rule = finding["x_rule"].as_str().unwrap_or_default();
        (rule.to_owned(), file.to_owned(), finding["location"]["line_start"].as_u64().unwrap_or_default())
    };
    Ok(findings.iter().map(place).collect())
}

/// A match over many lines is reported by us at its first added line, which here is its first.
fn their_places(command: &[&OsStr]) -> io::Result<Places> {
    let found = output(command)?;
    let place = |found: &serde_json::Value| {
        let file = found["file"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let rule = found["ruleId"].as_str().unwrap_or_default();
        let line = found["range"]["start"]["line"].as_u64().unwrap_or_default() + 1;
        (rule.to_owned(), file.to_owned(), line)
    };
    Ok(found.as_array().cloned().unwrap_or_default().iter().map(place).collect())
}

fn change(setting: &Setting) -> io::Result<Vec<Row>> {
    let (program, ast_grep) = (setting.program()?, peer::ast_grep()?);
    let corpus = scene::corpus(setting)?;
    let (base, changed) = large_range(corpus)?;
    // The same files for both: before and after in one repository, and the rules for the other program elsewhere.
    let (scene, rules) = (Scene::new()?, Scene::new()?);
    rules.write_rules()?;
    std::fs::create_dir_all(scene.path().join("src"))?;
    for rev in [base.as_str(), "HEAD"] {
        for (number, path) in changed.iter().enumerate() {
            if let Ok(text) = scene::git(corpus, &["show", &format!("{rev}:{path}")]) {
                std::fs::write(scene.path().join(format!("src/f{number}.ts")), text)?;
            }
        }
        scene.commit(rev)?;
    }
    let ours: Vec<&OsStr> = vec![
        program.as_ref(),
        "-C".as_ref(),
        scene.path().as_ref(),
        "review".as_ref(),
        "HEAD~1..HEAD".as_ref(),
        "--fail-on".as_ref(),
        "never".as_ref(),
    ];
    let (config, src) = (rules.path().join("sgconfig.yml"), scene.path().join("src"));
    let scan: Vec<&OsStr> = vec![ast_grep.as_ref(), "scan".as_ref(), "-c".as_ref(), config.as_ref(), src.as_ref()];
    let (ours, peer) = run::side_by_side(setting.n_runs, &ours, &scan)?;
    let measure = format!("rules-change, {} files, CPU", changed.len());
    Ok(vec![Row { measure, ours: ours.cpu_ms, peer: peer.cpu_ms, unit: "ms", bar: 0.5 }])
}

/// The newest commits that together change so many TypeScript files, and those files.
fn large_range(corpus: &std::path::Path) -> io::Result<(String, Vec<String>)> {
    for n_commits in [20, 50, 100, 200, 400] {
        let base = format!("HEAD~{n_commits}");
        let listed = scene::git(corpus, &["diff", "--name-only", "--diff-filter=AM", &base, "HEAD", "--", "*.ts"])?;
        let changed: Vec<String> = listed.lines().map(str::to_owned).collect();
        if changed.len() >= N_CHANGED {
            return Ok((base, changed));
        }
    }
    Err(io::Error::other("the corpus has too little TypeScript in its last commits"))
}
