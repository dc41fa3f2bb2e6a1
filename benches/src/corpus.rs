//! The material: real diffs, from a repository or from the sources of our own dependencies.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::Setting;

/// How many bytes of diffs the large measures use.
pub(crate) const N_BYTES: usize = 60_000_000;

/// Real diffs, cut or repeated to at least `n_bytes` at the end of a file.
pub(crate) fn diffs(setting: &Setting, n_bytes: usize) -> io::Result<Vec<u8>> {
    let once = match &setting.corpus {
        Some(dir) => of_repository(dir, n_bytes)?,
        None => of_dependencies()?,
    };
    if once.is_empty() {
        return Err(io::Error::other("the corpus has no diffs"));
    }
    let mut text = Vec::with_capacity(n_bytes + once.len());
    while text.len() < n_bytes {
        text.extend_from_slice(&once);
    }
    Ok(cut(text, n_bytes))
}

/// Cuts a diff before the first file that begins behind `n_bytes`.
pub(crate) fn cut(mut text: Vec<u8>, n_bytes: usize) -> Vec<u8> {
    const MARK: &[u8] = b"\ndiff --git ";
    let from = n_bytes.min(text.len());
    if let Some(at) = text[from..].windows(MARK.len()).position(|window| window == MARK) {
        text.truncate(from + at + 1);
    }
    text
}

/// What the newest commits of a repository changed.
fn of_repository(dir: &Path, n_bytes: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut n_commits = 1000;
    // The history is asked for more and more until there is enough, or no more.
    loop {
        let more = git(dir, &["log", "-p", "--no-merges", "--format=", "-M", &format!("-n{n_commits}")])?;
        if more.len() >= n_bytes || more.len() == text.len() {
            return Ok(more);
        }
        (text, n_commits) = (more, n_commits * 4);
    }
}

/// What differs between neighbouring sources of the crates we are built from.
fn of_dependencies() -> io::Result<Vec<u8>> {
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("a"))?;
    fs::create_dir(dir.path().join("b"))?;
    for (ending, paths) in sources()? {
        for (number, pair) in paths.chunks_exact(2).enumerate() {
            for (side, path) in ["a", "b"].iter().zip(pair) {
                fs::copy(path, dir.path().join(side).join(format!("{number}.{ending}")))?;
            }
        }
    }
    git(dir.path(), &["diff", "--no-index", "--no-prefix", "--text", "a", "b"])
}

fn sources() -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut found = BTreeMap::<String, Vec<PathBuf>>::new();
    let mut folders = crate_folders()?;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let path = entry.path();
            if metadata.is_dir() && entry.file_name() != "target" {
                folders.push(path);
            } else if (1..200_000).contains(&metadata.len())
                && let Some(ending @ ("rs" | "toml" | "md" | "c" | "h" | "js" | "json" | "txt" | "scm")) =
                    path.extension().and_then(|ending| ending.to_str())
            {
                found.entry(ending.to_owned()).or_default().push(path);
            }
        }
    }
    found.values_mut().for_each(|paths| paths.sort());
    Ok(found)
}

fn crate_folders() -> io::Result<Vec<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let version = Command::new(&cargo).arg("-vV").output()?.stdout;
    let version = String::from_utf8_lossy(&version);
    // Crates for other systems are not on a machine that never asked for them.
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", host, "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let manifests = packages.iter().filter_map(|package| package["manifest_path"].as_str());
    Ok(manifests.filter_map(|manifest| Path::new(manifest).parent()).map(Path::to_owned).collect())
}

/// What git prints.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    Ok(Command::new("git").current_dir(dir).env("GIT_CONFIG_NOSYSTEM", "1").args(arguments).output()?.stdout)
}
