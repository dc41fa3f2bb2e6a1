//! A git folder of our own, which shares with the repository only objects and branches.
//!
//! An agent can write the repository's configuration, hooks, filters and drivers; git obeys those of the folder that it
//! is told is the repository. So it is told another one, made anew for each use:
//!
//! ```text
//! config        ours: no filter, no hook, no driver, no commit graph that could lie
//! HEAD          a copy
//! refs          -> <repository>/refs
//! packed-refs   -> <repository>/packed-refs
//! shallow       -> <repository>/shallow
//! lfs           -> <repository>/lfs, when the operator has Git LFS and files are stored
//! info/         copies of exclude and attributes, for work on files only
//! ```
//!
//! Objects are named by `GIT_OBJECT_DIRECTORY`, so that relative alternates still lead where they should.

use std::io;
use std::path::Path;

use tempfile::TempDir;

use super::{Place, Settings, failure};
use crate::failure::Failure;
use crate::forge::git::Git;
use crate::tree::{self, Entry};

/// More of a list of patterns is not taken over.
const MAX_PATTERNS: u64 = 4 * 1024 * 1024;

/// Git with a folder of our own.
#[derive(Debug)]
pub(in crate::forge) struct Own {
    git: Git,
    /// Deleted when it is no longer used.
    _folder: TempDir,
}

/// Files on which git works.
#[derive(Debug, Clone, Copy)]
pub(in crate::forge) struct Tree<'a> {
    /// The top of the checkout.
    pub(in crate::forge) path: &'a Path,
    /// The index.
    pub(in crate::forge) index: &'a Path,
    /// Plain values of the repository and its operator.
    pub(in crate::forge) settings: &'a Settings,
}

impl Own {
    /// A folder for reading objects and branches. It knows no files, so no attribute of any file can hide a change.
    pub(in crate::forge) fn to_read(place: &Place) -> Result<Self, Failure> {
        let (folder, git) = make(place, true)?;
        Ok(Self { git, _folder: folder })
    }

    /// A folder for work on the files of a checkout.
    pub(in crate::forge) fn to_work(place: &Place, tree: Tree<'_>) -> Result<Self, Failure> {
        let (folder, git) = make(place, false)?;
        let failed = |error: io::Error| failure::no_scratch(folder.path(), &error);
        let info = folder.path().join("info");
        std::fs::create_dir(&info).map_err(failed)?;
        for name in ["info/exclude", "info/attributes"] {
            if let Ok(Entry::File { content, .. }) = tree::read(&place.common, name.as_bytes(), MAX_PATTERNS) {
                std::fs::write(folder.path().join(name), content).map_err(failed)?;
            }
        }
        if tree.settings.lfs_clean.is_some() {
            share_lfs(place, folder.path())?;
        }
        let git = git.in_folder(tree.path).with_variable("GIT_WORK_TREE", tree.path);
        let mut git = git.with_variable("GIT_INDEX_FILE", tree.index).with_variable("GIT_LITERAL_PATHSPECS", "1");
        for (key, value) in &tree.settings.plain {
            git = git.with_setting(key, value);
        }
        Ok(Self { git, _folder: folder })
    }

    /// Git.
    pub(in crate::forge) fn git(&self) -> &Git {
        &self.git
    }
}

fn make(place: &Place, bare: bool) -> Result<(TempDir, Git), Failure> {
    let temporary = std::env::temp_dir();
    let folder = tempfile::Builder::new().prefix("tollgate-git-").tempdir();
    let folder = folder.map_err(|error| failure::no_scratch(&temporary, &error))?;
    fill(place, folder.path(), bare).map_err(|error| failure::no_scratch(folder.path(), &error))?;
    let git = Git::new(folder.path(), place.environment.clone())
        .at_git_dir(folder.path())
        .with_variable("GIT_OBJECT_DIRECTORY", place.common.join("objects"));
    Ok((folder, git))
}

fn fill(place: &Place, folder: &Path, bare: bool) -> io::Result<()> {
    let format = if place.sha256 { "sha256" } else { "sha1" };
    let config = format!(
        "[core]\n\trepositoryFormatVersion = 1\n\tbare = {bare}\n\tlogAllRefUpdates = false\n\tcommitGraph = false\n\
         \tmultiPackIndex = false\n\tsafecrlf = false\n[extensions]\n\tobjectFormat = {format}\n[gc]\n\tauto = 0\n\
         [advice]\n\tgraftFileDeprecated = false\n"
    );
    std::fs::write(folder.join("config"), config)?;
    let head = super::pointer::read(&place.git_dir, "HEAD")?.unwrap_or_else(|| b"ref: refs/heads/main".to_vec());
    std::fs::write(folder.join("HEAD"), [&head[..], b"\n"].concat())?;
    link(&place.common.join("refs"), &folder.join("refs"))?;
    link(&place.common.join("packed-refs"), &folder.join("packed-refs"))?;
    let shallow = place.common.join("shallow");
    if shallow.exists() { link(&shallow, &folder.join("shallow")) } else { Ok(()) }
}

/// Lets Git LFS keep its objects with the repository: what it put into our folder would be deleted with it.
fn share_lfs(place: &Place, folder: &Path) -> Result<(), Failure> {
    let lfs = place.common.join("lfs");
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
