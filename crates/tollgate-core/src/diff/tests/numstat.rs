//! Compares our counts on real sources with those of `git apply --numstat`.
//!
//! The sources are those of our dependencies, which are present on every machine that can run the tests.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::super::*;

/// The number of compared files per side.
const N_PAIRS: usize = 400;

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO")).args(arguments).output().expect("cargo runs the tests, so it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The folders of our dependencies; those for other platforms may be missing.
fn crate_folders() -> Vec<PathBuf> {
    let version = String::from_utf8(cargo(&["-vV"])).expect("cargo writes text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo says for which system it is");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = ["metadata", "--format-version", "1", "--offline", "--filter-platform", host, "--manifest-path"];
    let output = cargo(&[&arguments[..], &[manifest]].concat());
    let metadata: serde_json::Value = serde_json::from_slice(&output).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let manifests = packages.iter().filter_map(|package| package["manifest_path"].as_str());
    manifests.filter_map(|manifest| Path::new(manifest).parent()).map(Path::to_owned).collect()
}

/// Sources of moderate size by extension, so that similar files are compared.
fn sources() -> BTreeMap<String, Vec<PathBuf>> {
    let mut found = BTreeMap::<String, Vec<PathBuf>>::new();
    let mut folders = crate_folders();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() && entry.file_name() != "target" {
                folders.push(path);
            } else if (1..60_000).contains(&metadata.len())
                && let Some(ending) = path.extension().and_then(|ending| ending.to_str())
            {
                found.entry(ending.to_owned()).or_default().push(path);
            }
        }
    }
    found.values_mut().for_each(|paths| paths.sort());
    found
}

/// Writes pairs of sources as `a/<number>` and `b/<number>`; returns their number.
fn lay_out(dir: &Path) -> usize {
    for side in ["a", "b"] {
        fs::create_dir(dir.join(side)).expect("a folder in a temporary folder");
    }
    let mut n_pairs = 0;
    for (ending, paths) in sources() {
        // Neighbours in the sorted list are often two versions of one file.
        for pair in paths.chunks_exact(2).take(N_PAIRS / 4) {
            for (side, path) in ["a", "b"].iter().zip(pair) {
                let to = dir.join(side).join(format!("{n_pairs}.{ending}"));
                fs::copy(path, to).expect("a copy in a temporary folder");
            }
            n_pairs += 1;
        }
    }
    n_pairs
}

#[test]
fn counts_equal_those_of_git_apply_on_real_sources() {
    let dir = TempDir::new().expect("a temporary folder");
    let n_pairs = lay_out(dir.path());
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).env("GIT_CEILING_DIRECTORIES", dir.path()).args(arguments);
        command
    };
    let diff = git(&["diff", "--no-index", "--no-prefix", "--binary", "a", "b"]).output().expect("the tests need git");
    let mut apply = git(&["apply", "--numstat", "-z", "-p1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tests need git");
    let mut stdin = apply.stdin.take().expect("a pipe");
    let text = diff.stdout.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&text));
    let theirs = apply.wait_with_output().expect("git apply ends").stdout;
    writer.join().expect("the writer ends").expect("git apply reads all");

    let (files, refused) = parse(diff.stdout);
    assert_eq!(refused, []);
    let ours = files.iter().map(|file| {
        let counts = if file.binary { "-\t-".to_owned() } else { format!("{}\t{}", file.n_added, file.n_removed) };
        format!("{counts}\t{}", file.path())
    });
    let theirs = theirs.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    let theirs: Vec<_> = theirs.map(|entry| String::from_utf8_lossy(entry).into_owned()).collect();
    assert_eq!(ours.collect::<Vec<_>>(), theirs);
    assert!(files.len() >= 300, "only {} of {n_pairs} pairs differ", files.len());
}
