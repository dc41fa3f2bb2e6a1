//! The private index that gate commits are made from, and the index of the worktree.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::failure::Failure;
use crate::forge::project::failure;
use crate::forge::worktree::Worktree;

/// A lock file older than this was left by a process that has ended: the agent and its children are gone.
const STALE: Duration = Duration::from_secs(10);
/// How long to wait for a younger lock file.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// The path of the index. A full index is reused; that of a sparse checkout is made anew.
pub(super) fn index_path(scratch: &Path, whole: bool) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| failure::no_scratch(scratch, &error);
    std::fs::create_dir_all(scratch).map_err(failed)?;
    let index = scratch.join(if whole { "index" } else { "index-sparse" });
    if !whole {
        forget(&index).map_err(failed)?;
    }
    // Left by a process that was killed: only one process at a time works here.
    forget(&index.with_added_extension("lock")).map_err(failed)?;
    Ok(index.canonicalize().unwrap_or(index))
}

/// Copies the index for hooks.
pub(super) fn copy(index: &Path) -> Result<PathBuf, Failure> {
    let copy = index.with_added_extension("staged");
    let failed = |error: io::Error| failure::no_scratch(&copy, &error);
    forget(&copy).map_err(failed)?;
    std::fs::copy(index, &copy).map_err(failed)?;
    Ok(copy)
}

/// Replaces the index of the worktree with that of the commit, so that `git status` is clean there.
///
/// A failure is ignored, since the next commit repeats it. An agent that was killed during a git command leaves a
/// stale `index.lock` behind, which is removed here.
pub(super) fn hand_over(index: &Path, worktree: &Worktree) {
    let lock = worktree.git_dir().join("index.lock");
    wait_for(&lock);
    let _ = std::fs::remove_file(&lock);
    let copy = || -> io::Result<()> {
        let mut from = std::fs::File::open(index)?;
        // `create_new` fails on an existing file, also on a symbolic link.
        let mut to = OpenOptions::new().write(true).create_new(true).open(&lock)?;
        let done = io::copy(&mut from, &mut to).and_then(|_| std::fs::rename(&lock, worktree.git_dir().join("index")));
        if done.is_err() {
            let _ = std::fs::remove_file(&lock);
        }
        done
    };
    let _ = copy();
}

/// Waits until a lock file is gone or stale.
fn wait_for(lock: &Path) {
    let deadline = Instant::now() + PATIENCE;
    let is_held = || {
        let modified = std::fs::symlink_metadata(lock).and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| SystemTime::now().duration_since(modified).is_ok_and(|age| age < STALE))
    };
    while is_held() && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
}

fn forget(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
