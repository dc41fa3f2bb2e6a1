//! Git worktrees: the directories in which agents work, one per feature.
//!
//! They are created and removed by our own code in git's layout, because `git worktree` runs the repository's hooks
//! and filters. Git writes the files through a private git directory ([`crate::forge::project`]).
//!
//! ```text
//! <project>/.worktrees/user-auth/                   the files
//! <project>/.worktrees/user-auth/.git               gitdir: <project>/.git/worktrees/user-auth
//! <project>/.git/worktrees/user-auth/               HEAD, index, gitdir, commondir
//! ```
//!
//! The main checkout is never touched, and uncommitted work is never deleted. Git LFS files are pointers in a new
//! worktree: nothing is downloaded.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::forge::project::pointer::{self, Head};
use crate::forge::project::private_git_dir::WorkTree;
use crate::forge::project::{Branch, GitPaths, PrivateGitDir, Project, Settings, check_entry, failure};

pub(in crate::forge) mod changed;
mod ensure;
mod lent;
mod lock;
mod main_checkout;
mod put_back;
mod quarantine;
mod remove;

pub use lent::LentGit;
pub use main_checkout::MainCheckout;
pub use put_back::PutBack;
pub use remove::Removed;

/// The maximum number of worktrees.
const MAX_WORKTREES: usize = 10_000;
/// The lock reason of an entry whose files are incomplete.
const MAKING: &[u8] = b"tollgate is making this worktree";

/// The working directory of an agent.
#[derive(Debug, Clone)]
pub struct Worktree {
    path: PathBuf,
    branch: Branch,
    git_dir: PathBuf,
    paths: GitPaths,
}

/// A worktree in git's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeInfo {
    /// The path of its files, even when they are gone.
    pub path: PathBuf,
    /// Its branch; `None` when detached.
    pub branch: Option<String>,
    /// False when the directory is gone.
    pub exists: bool,
    /// True when it is locked or still being made.
    pub locked: bool,
}

/// The repository's entry of a worktree.
#[derive(Debug)]
struct WorktreeRecord {
    git_dir: PathBuf,
    checkout: Option<PathBuf>,
    head: Head,
    lock: Option<Vec<u8>>,
}

impl Worktree {
    /// The canonical root of its files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its branch.
    #[must_use]
    pub fn branch(&self) -> &Branch {
        &self.branch
    }

    /// Its git directory, inside the repository's.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(in crate::forge) fn paths(&self) -> &GitPaths {
        &self.paths
    }

    /// Verifies the worktree, before each use: no symbolic link in its path, its `.git` points to its entry and back,
    /// its `HEAD` is its branch, and it is not the main checkout.
    pub fn verify(&self) -> Result<(), Failure> {
        self.check().map_err(|problem| failure::not_the_worktree(&self.path, &problem))?;
        let unreadable = |error: io::Error| failure::not_the_worktree(&self.path, &error.to_string());
        match pointer::head(&self.git_dir).map_err(unreadable)? {
            Head::Branch(name) if name == self.branch.as_str() => Ok(()),
            Head::Branch(name) => {
                let found = format!("the branch `{}`", tollgate_core::visible::visible(&name));
                Err(failure::other_branch(&self.path, &found, self.branch.as_str()))
            }
            Head::Other => Err(failure::other_branch(&self.path, "no branch", self.branch.as_str())),
        }
    }

    fn check(&self) -> Result<(), String> {
        let is_folder = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder(&self.path) {
            return Err("it is not a folder".to_owned());
        }
        if self.path.canonicalize().ok().as_deref() != Some(&self.path) {
            return Err("a link is on the way to it".to_owned());
        }
        if self.paths.root.starts_with(&self.path) || self.paths.common.starts_with(&self.path) {
            return Err("it holds the main checkout".to_owned());
        }
        let named = pointer::git_dir_of(&self.path).map_err(|error| format!("its `.git` cannot be read: {error}"))?;
        let is_entry = self.git_dir.parent() == Some(&self.paths.common.join("worktrees")) && is_folder(&self.git_dir);
        if !is_entry || named.and_then(|named| named.canonicalize().ok()).as_deref() != Some(&self.git_dir) {
            return Err("its `.git` leads elsewhere".to_owned());
        }
        check_entry(&self.paths.common, &self.git_dir, &self.path)
    }

    /// False when no commit hook can exist: the default hook directory has none, and `core.hooksPath` is not set.
    pub(crate) fn may_have_hooks(&self) -> Result<bool, Failure> {
        let hooks = self.paths.common.join("hooks");
        if ["pre-commit", "commit-msg"].iter().any(|name| hooks.join(name).symlink_metadata().is_ok()) {
            return Ok(true);
        }
        Ok(!self.paths.values("^core\\.hookspath$")?.is_empty())
    }

    /// The number of changed, deleted or new files that are not committed. Ignored files do not count.
    ///
    /// The worktree's own index is not used, since it can be set to hide changes.
    pub fn uncommitted(&self) -> Result<usize, Failure> {
        self.verify()?;
        let scratch = tempfile::tempdir().map_err(|error| failure::no_scratch(&std::env::temp_dir(), &error))?;
        let index = scratch.path().join("index");
        let settings = Settings::read(&self.paths)?;
        let own =
            PrivateGitDir::to_work(&self.paths, WorkTree { path: &self.path, index: &index, settings: &settings })?;
        let tip = self.paths.tip(&self.branch)?;
        changed::load(own.git(), tip.as_ref(), &changed::sparse(self)?)?;
        let changed = changed::look(own.git())?;
        Ok(changed.removed.len()
            + changed.written.len()
            + changed.nested.len()
            + changed::n_submodules(self, own.git())?)
    }
}

impl Project {
    /// Lists the worktrees except the main checkout.
    pub fn worktrees(&self) -> Result<Vec<WorktreeInfo>, Failure> {
        let known = known(self.paths())?;
        let listed = known.into_iter().filter_map(|known| {
            let path = known.checkout?;
            let branch = match known.head {
                Head::Branch(name) => Some(name),
                Head::Other => None,
            };
            Some(WorktreeInfo { exists: path.is_dir(), path, branch, locked: known.lock.is_some() })
        });
        Ok(listed.collect())
    }

    /// The worktree of a branch, if it exists and is valid.
    pub fn worktree(&self, branch: &Branch) -> Result<Option<Worktree>, Failure> {
        let is_it = |known: &WorktreeRecord| matches!(&known.head, Head::Branch(name) if name == branch.as_str());
        let Some(known) = known(self.paths())?.into_iter().find(is_it) else {
            return Ok(None);
        };
        let Some(path) = known.checkout.as_deref().and_then(|path| path.canonicalize().ok()) else {
            return Ok(None);
        };
        if known.lock.as_deref() == Some(MAKING) {
            return Ok(None);
        }
        let worktree = Worktree { path, branch: branch.clone(), git_dir: known.git_dir, paths: self.paths().clone() };
        worktree.verify()?;
        Ok(Some(worktree))
    }
}

/// Reads the repository's worktree entries.
fn known(paths: &GitPaths) -> Result<Vec<WorktreeRecord>, Failure> {
    let folder = paths.common.join("worktrees");
    let failed = |error: io::Error| failure::no_worktree(&folder, &error);
    if std::fs::symlink_metadata(&folder).is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(failure::linked_git(&folder));
    }
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut all = Vec::new();
    for entry in entries.take(MAX_WORKTREES) {
        let entry = entry.map_err(failed)?;
        // Git's entries are directories, not links to them.
        if !entry.file_type().map_err(failed)?.is_dir() {
            continue;
        }
        let git_dir = entry.path();
        let checkout = pointer::checkout_of(&git_dir).map_err(failed)?;
        let head = pointer::head(&git_dir).map_err(failed)?;
        let lock = pointer::read(&git_dir, "locked").map_err(failed)?;
        all.push(WorktreeRecord { git_dir, checkout, head, lock });
    }
    all.sort_by(|a, b| a.git_dir.cmp(&b.git_dir));
    Ok(all)
}
