//! A private git directory, which shares only objects and branches with the repository.
//!
//! Agents can write the repository's configuration, hooks, filters and drivers, and git obeys those of its git
//! directory. So git gets a private one, made for each use:
//!
//! ```text
//! config        private: no filter, hook or driver, no forgeable commit graph
//! HEAD          a copy
//! refs          -> <repository>/refs
//! packed-refs   -> <repository>/packed-refs
//! shallow       -> <repository>/shallow
//! lfs           -> <repository>/lfs, when the operator has Git LFS and files are committed
//! info/         copies of exclude and attributes, for commands on files only
//! ```
//!
//! Objects are located by `GIT_OBJECT_DIRECTORY`, so that relative alternates still resolve.

use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::{GitPaths, Settings, failure};
use crate::failure::Failure;
use crate::forge::git::Git;
use crate::tree::{self, Entry};

/// The maximum size of a copied pattern file.
const MAX_PATTERNS: u64 = 4 * 1024 * 1024;

/// Git with a private git directory.
#[derive(Debug)]
pub(in crate::forge) struct PrivateGitDir {
    git: Git,
    /// Deletes the directory when dropped.
    _folder: TempDir,
}

/// The files of a checkout.
#[derive(Debug, Clone, Copy)]
pub(in crate::forge) struct WorkTree<'a> {
    /// The root of the checkout.
    pub(in crate::forge) path: &'a Path,
    /// The index.
    pub(in crate::forge) index: &'a Path,
    /// Plain values of the repository's and operator's configuration.
    pub(in crate::forge) settings: &'a Settings,
}

impl PrivateGitDir {
    /// A directory for reading objects and branches. Without files, no attribute can hide a change.
    pub(in crate::forge) fn to_read(paths: &GitPaths) -> Result<Self, Failure> {
        let (folder, git) = make(paths, true)?;
        Ok(Self { git, _folder: folder })
    }

    /// A directory for commands on the files of a checkout.
    pub(in crate::forge) fn to_work(paths: &GitPaths, tree: WorkTree<'_>) -> Result<Self, Failure> {
        let (folder, git) = make(paths, false)?;
        let failed = |error: io::Error| failure::no_scratch(folder.path(), &error);
        let info = folder.path().join("info");
        std::fs::create_dir(&info).map_err(failed)?;
        for name in ["info/exclude", "info/attributes"] {
            if let Ok(Entry::File { content, .. }) = tree::read(&paths.common, name.as_bytes(), MAX_PATTERNS) {
                std::fs::write(folder.path().join(name), content).map_err(failed)?;
            }
        }
        if tree.settings.lfs_clean.is_some() {
            share_lfs(paths, folder.path())?;
        }
        let git = git.in_folder(tree.path).with_variable("GIT_WORK_TREE", tree.path);
        let mut git = git.with_variable("GIT_INDEX_FILE", tree.index).with_variable("GIT_LITERAL_PATHSPECS", "1");
        for (key, value) in &tree.settings.plain {
            git = git.with_setting(key, value);
        }
        Ok(Self { git, _folder: folder })
    }

    /// The git wrapper.
    pub(in crate::forge) fn git(&self) -> &Git {
        &self.git
    }
}

fn make(paths: &GitPaths, bare: bool) -> Result<(TempDir, Git), Failure> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::Builder::new().prefix("tollgate-git-").tempdir();
    let folder = folder.map_err(|error| failure::no_scratch(&temporary, &error))?;
    fill(paths, folder.path(), bare).map_err(|error| failure::no_scratch(folder.path(), &error))?;
    let git = Git::new(folder.path(), paths.environment.clone())
        .at_git_dir(folder.path())
        .with_variable("GIT_OBJECT_DIRECTORY", paths.common.join("objects"));
    Ok((folder, git))
}

impl GitPaths {
    /// A configuration of our own for the repository's objects.
    pub(in crate::forge) fn config(&self, bare: bool) -> String {
        let format = if self.sha256 { "sha256" } else { "sha1" };
        format!(
            "[core]\n\trepositoryFormatVersion = 1\n\tbare = {bare}\n\tlogAllRefUpdates = false\n\
             \tcommitGraph = false\n\tmultiPackIndex = false\n\tsafecrlf = false\n[extensions]\n\
             \tobjectFormat = {format}\n[gc]\n\tauto = 0\n[advice]\n\tgraftFileDeprecated = false\n"
        )
    }
}

fn fill(paths: &GitPaths, folder: &Path, bare: bool) -> io::Result<()> {
    std::fs::write(folder.join("config"), paths.config(bare))?;
    let head = super::pointer::read(&paths.git_dir, "HEAD")?.unwrap_or_else(|| b"ref: refs/heads/main".to_vec());
    std::fs::write(folder.join("HEAD"), [&head[..], b"\n"].concat())?;
    link(&paths.common.join("refs"), &folder.join("refs"))?;
    link(&paths.common.join("packed-refs"), &folder.join("packed-refs"))?;
    let shallow = paths.common.join("shallow");
    if shallow.exists() { link(&shallow, &folder.join("shallow")) } else { Ok(()) }
}

/// Shares the LFS objects of the repository: objects in the private directory would be deleted with it.
fn share_lfs(paths: &GitPaths, folder: &Path) -> Result<(), Failure> {
    let lfs = paths.common.join("lfs");
    match std::fs::symlink_metadata(&lfs) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(failure::linked_git(&lfs)),
        Err(_) => std::fs::create_dir(&lfs).map_err(|error| failure::no_scratch(&lfs, &error))?,
    }
    link(&lfs, &folder.join("lfs")).map_err(|error| failure::no_scratch(folder, &error))
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
fn link(_to: &Path, _from: &Path) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "worktrees for agents need a Unix system"))
}
