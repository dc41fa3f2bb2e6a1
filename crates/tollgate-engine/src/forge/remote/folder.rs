//! The directory of a repository in the cache.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::failure;
use crate::failure::Failure;
use crate::process;

/// The maximum length of the readable part of a name.
const MAX_READABLE: usize = 80;
/// Temporary files older than this belong to a dead process; a live one touches its files all the time.
const STALE: Duration = Duration::from_secs(900);
/// The maximum number of directory entries read.
const MAX_ENTRIES: usize = 100_000;
/// The maximum depth of references.
const MAX_DEPTH: usize = 4;

/// The configuration of each repository. It has no URL, which is passed to each fetch.
const CONFIG: &str = "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n\tlogAllRefUpdates = false\n\
     \tcommitGraph = false\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\tpromisor = true\n\
     \tpartialCloneFilter = blob:none\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
     [advice]\n\tgraftFileDeprecated = false\n";

/// The prefixes of directories that are being made or deleted.
const NEW: &str = "new-";
const OLD: &str = "old-";
/// The name of a repository inside a directory that is being deleted.
const MOVED: &str = "x";

/// The directory of a repository.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
    path: PathBuf,
    name: String,
}

impl Folder {
    /// The directory of a key, in a cache that is created if missing.
    pub(super) fn of(root: &Path, key: &str) -> Result<Self, Failure> {
        make_private(root).map_err(|error| failure::no_cache(root, &error))?;
        let name = name_of(key);
        Ok(Self { root: root.to_owned(), path: root.join(format!("{name}.git")), name })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The shared lock file of readers.
    pub(super) fn in_use(&self) -> PathBuf {
        self.root.join(format!("{}.use", self.name))
    }

    /// The exclusive lock file of the fetcher.
    pub(super) fn fetching(&self) -> PathBuf {
        self.root.join(format!("{}.fetch", self.name))
    }

    /// Creates the repository if it is missing.
    pub(super) fn ensure(&self) -> Result<(), Failure> {
        if self.path.join("HEAD").is_file() && self.path.join("config").is_file() {
            return Ok(());
        }
        let make = || -> io::Result<()> {
            if self.path.exists() {
                self.move_away()?;
            }
            let new = tempfile::Builder::new().prefix(NEW).tempdir_in(&self.root)?;
            for folder in ["objects/pack", "objects/info", "refs/tollgate"] {
                std::fs::create_dir_all(new.path().join(folder))?;
            }
            std::fs::write(new.path().join("config"), CONFIG)?;
            std::fs::write(new.path().join("HEAD"), "ref: refs/heads/none\n")?;
            match std::fs::rename(new.keep(), &self.path) {
                // Another process created it first.
                Err(_) if self.path.join("HEAD").is_file() => Ok(()),
                renamed => renamed,
            }
        };
        make().map_err(|error| failure::no_cache(&self.path, &error))
    }

    /// Deletes the repository.
    pub(super) fn discard(&self) -> Result<(), Failure> {
        self.move_away().map_err(|error| failure::no_cache(&self.path, &error))
    }

    fn move_away(&self) -> io::Result<()> {
        move_away(&self.root, &self.path)
    }

    /// Deletes temporary files of killed processes. The caller holds the fetch lock; files of an orphaned git process
    /// that still runs are too young to be deleted.
    pub(super) fn sweep(&self) {
        sweep_files(&self.path.join("objects/pack"), 0, &|name| name.starts_with("tmp_"));
        sweep_files(&self.path, 0, &|name| name.ends_with(".lock"));
        sweep_files(&self.path.join("refs"), MAX_DEPTH, &|name| name.ends_with(".lock"));
    }

    /// The size of incomplete packs.
    pub(super) fn unfinished(&self) -> u64 {
        let entries = std::fs::read_dir(self.path.join("objects/pack")).into_iter().flatten().flatten();
        let unfinished = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("tmp_pack"));
        unfinished.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
    }

    /// Deletes incomplete packs begun after `since`: those of a killed process.
    pub(super) fn remove_unfinished(&self, since: SystemTime) {
        for entry in std::fs::read_dir(self.path.join("objects/pack")).into_iter().flatten().flatten() {
            let is_newer = entry.metadata().and_then(|file| file.modified()).is_ok_and(|at| at >= since);
            if is_newer && entry.file_name().to_string_lossy().starts_with("tmp_") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Renames a repository and then deletes it, so that no process ever sees half of one.
pub(super) fn move_away(root: &Path, path: &Path) -> io::Result<()> {
    let old = tempfile::Builder::new().prefix(OLD).tempdir_in(root)?;
    std::fs::rename(path, old.path().join(MOVED))?;
    process::crash_point("mirror-half-deleted");
    // The rest is deleted by the next eviction.
    let _ = old.close();
    Ok(())
}

/// True for leftovers of creating or deleting a repository. A renamed repository can always be deleted, however young.
pub(super) fn is_left_behind(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let is_moved = name.starts_with(OLD) && entry.path().join(MOVED).exists();
    is_moved || ((name.starts_with(NEW) || name.starts_with(OLD)) && is_stale(entry))
}

/// The file name of a key: readable and unique.
fn name_of(key: &str) -> String {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "._".contains(it);
    let readable: String = key.chars().take(MAX_READABLE).map(|it| if is_plain(it) { it } else { '-' }).collect();
    format!("{}-{}", readable.trim_start_matches(['.', '-']), hash(key))
}

/// The first 20 hex digits of a hash.
pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text).iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

fn sweep_files(folder: &Path, depth: usize, is_meant: &dyn Fn(&str) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            sweep_files(&entry.path(), depth - 1, is_meant);
        } else if kind.is_file() && is_meant(&entry.file_name().to_string_lossy()) && is_stale(&entry) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// True for files that were not modified for long.
fn is_stale(entry: &std::fs::DirEntry) -> bool {
    let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > STALE)
}

/// Creates a directory that only its owner can read: it may hold private code.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_directory_in_the_cache() {
        let keys = ["github.com/a/b", "github.com/a-b", "github.com-a/b", "../../x", "", ".", "a/\0", "A", "a", "ä"];
        let mut names: Vec<String> = keys.iter().map(|key| name_of(key)).collect();
        assert!(names[0].starts_with("github.com-a-b-"), "{names:?}");
        for name in &names {
            assert!(!name.starts_with('.') && !name.contains(['/', '\0']) && name.len() < 120, "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), keys.len());
    }

    #[test]
    fn a_half_made_repository_is_recreated() {
        let cache = tempfile::tempdir().unwrap();
        let folder = Folder::of(cache.path(), "k").unwrap();
        std::fs::create_dir_all(folder.path().join("objects")).unwrap();
        folder.ensure().unwrap();
        assert!(folder.path().join("config").is_file());
        let left: Vec<_> = std::fs::read_dir(cache.path()).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn leftovers_are_deleted_only_when_they_are_old() {
        let cache = tempfile::tempdir().unwrap();
        let folder = Folder::of(cache.path(), "k").unwrap();
        folder.ensure().unwrap();
        let names = ["objects/pack/tmp_pack_1", "refs/tollgate/1.lock", "packed-refs.lock"];
        for name in names {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let keep = folder.path().join("objects/pack/pack-1.pack");
        std::fs::write(&keep, "x").unwrap();
        let left = |folder: &Folder| names.iter().filter(|name| folder.path().join(name).exists()).count();
        folder.sweep();
        assert_eq!(left(&folder), 3);
        let old = SystemTime::now() - 2 * STALE;
        for path in names.iter().map(|name| folder.path().join(name)).chain([keep.clone()]) {
            std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        folder.sweep();
        assert_eq!(left(&folder), 0);
        assert!(keep.exists());
    }
}
