//! Cache eviction: keeps the cache of partial clones below its maximum size.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{failure, folder, lock};
use crate::failure::Failure;
use crate::forge::git::{Environment, Git, Watching};
use crate::process;

/// The default maximum size of the cache.
pub const DEFAULT_MAX_BYTES: u64 = 10 << 30;
/// Repositories with more packs are repacked.
const MAX_PACKS: usize = 50;
/// The time limit of a repack.
const WALL: Duration = Duration::from_secs(300);
/// The maximum number of files counted.
const MAX_ENTRIES: usize = 200_000;

/// The result of an eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Eviction {
    /// The number of evicted repositories.
    pub n_removed: usize,
    /// The number of repacked repositories.
    pub n_packed: usize,
    /// The size of the cache afterwards, in bytes.
    pub n_bytes: u64,
}

/// A repository in the cache.
struct CachedRepository {
    path: PathBuf,
    used: SystemTime,
    n_bytes: u64,
}

/// Evicts the least recently used repositories until the cache fits its maximum size, and repacks the others.
/// Repositories in use are skipped. For idle times.
pub fn evict(cache_root: &Path, max_bytes: u64, git: &Environment) -> Result<Eviction, Failure> {
    let mut kept = Vec::new();
    let entries = match std::fs::read_dir(cache_root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Eviction::default()),
        Err(error) => return Err(failure::no_cache(cache_root, &error)),
    };
    for entry in entries.flatten().take(MAX_ENTRIES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if folder::is_left_behind(&entry) {
            let _ = std::fs::remove_dir_all(path);
            process::crash_point("mirror-half-deleted");
        } else if name.ends_with(".git") {
            let used = std::fs::metadata(path.with_extension("use")).and_then(|file| file.modified());
            let n_bytes = size(&path);
            kept.push(CachedRepository { path, used: used.unwrap_or(SystemTime::UNIX_EPOCH), n_bytes });
        }
    }
    kept.sort_by_key(|kept| kept.used);
    let mut tidied = Eviction { n_bytes: kept.iter().map(|kept| kept.n_bytes).sum(), ..Eviction::default() };
    for kept in kept {
        if tidied.n_bytes > max_bytes {
            if remove(&kept.path)? {
                tidied.n_removed += 1;
                tidied.n_bytes = tidied.n_bytes.saturating_sub(kept.n_bytes);
            }
        } else if n_packs(&kept.path) > MAX_PACKS && pack(&kept.path, git)? {
            tidied.n_packed += 1;
        }
    }
    Ok(tidied)
}

/// Evicts a repository that is not in use.
fn remove(path: &Path) -> Result<bool, Failure> {
    let Some(_nobody_else) = lock::try_take(&path.with_extension("use"))? else {
        return Ok(false);
    };
    let root = path.parent().unwrap_or(path);
    folder::move_away(root, path).map_err(|error| failure::no_cache(path, &error))?;
    Ok(true)
}

/// Repacks a repository unless a fetch is running. Concurrent readers are not disturbed.
fn pack(path: &Path, environment: &Environment) -> Result<bool, Failure> {
    let Some(_one_at_a_time) = lock::try_take(&path.with_extension("fetch"))? else {
        return Ok(false);
    };
    let environment = Environment { home: None, config_home: None, repository: Vec::new(), ..environment.clone() };
    let git = Git::new(path, environment).at_git_dir(path);
    let args = ["repack", "-a", "-d", "--quiet", "--no-write-bitmap-index"];
    git.watch(&args, b"", Watching { wall: WALL, stop: &mut || false })?;
    let args = ["pack-refs", "--all"];
    git.watch(&args, b"", Watching { wall: WALL, stop: &mut || false })?;
    Ok(true)
}

fn n_packs(path: &Path) -> usize {
    let entries = std::fs::read_dir(path.join("objects/pack")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".pack")).count()
}

/// The size of the files below a directory.
fn size(folder: &Path) -> u64 {
    let (mut n_bytes, mut n_entries) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            n_entries += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => n_bytes += entry.metadata().map_or(0, |file| file.len()),
                Err(_) => {}
            }
            if n_entries >= MAX_ENTRIES {
                return n_bytes;
            }
        }
    }
    n_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sorted names in a directory.
    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn make(cache: &Path, name: &str) {
        std::fs::create_dir_all(cache.join(name)).unwrap();
        std::fs::write(cache.join(name).join("file"), [0; 1000]).unwrap();
    }

    #[test]
    fn a_half_deleted_repository_is_deleted_and_one_being_made_is_kept() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["a.git", "old-1/x/objects", "old-2", "new-3/objects"] {
            make(cache.path(), name);
        }
        let tidied = evict(cache.path(), 10_000, &Environment::default()).unwrap();
        assert_eq!((tidied.n_removed, tidied.n_bytes), (0, 1000));
        assert_eq!(names(cache.path()), ["a.git", "new-3", "old-2"]);
    }

    #[test]
    fn a_cache_that_is_too_large_loses_whole_repositories() {
        let cache = tempfile::tempdir().unwrap();
        ["a.git", "b.git"].iter().for_each(|name| make(cache.path(), name));
        let now = SystemTime::now();
        for (name, used) in [("a.use", now), ("b.use", now - WALL)] {
            std::fs::File::create(cache.path().join(name)).unwrap().set_modified(used).unwrap();
        }
        let tidied = evict(cache.path(), 1_500, &Environment::default()).unwrap();
        assert_eq!((tidied.n_removed, tidied.n_bytes), (1, 1000));
        assert_eq!(names(cache.path()), ["a.git", "a.use", "b.use"]);
    }
}
