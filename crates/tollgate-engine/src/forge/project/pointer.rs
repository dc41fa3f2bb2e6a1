//! The files with which a checkout and its git directory point at each other.
//!
//! ```text
//! <worktree>/.git                      gitdir: /repo/.git/worktrees/user-auth
//! /repo/.git/worktrees/<name>/gitdir   /repo/.worktrees/user-auth/.git
//! /repo/.git/worktrees/<name>/HEAD     ref: refs/heads/feature/user-auth
//! ```
//!
//! Agents can write all of them, so links are not followed and each is verified against the other.

use std::io;
use std::path::{Path, PathBuf};

use crate::forge::git::path_of;
use crate::tree::{self, Entry};

/// The maximum size of such a file.
const MAX_BYTES: u64 = 16 * 1024;

/// The content of `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::forge) enum Head {
    /// A branch.
    Branch(String),
    /// A detached commit, or something invalid.
    Other,
}

/// Reads a small regular file without its trailing line break; `None` when it is missing.
pub(in crate::forge) fn read(folder: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    match tree::read(folder, name.as_bytes(), MAX_BYTES) {
        Ok(Entry::File { mut content, .. }) => {
            while content.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                content.pop();
            }
            Ok(Some(content))
        }
        Ok(Entry::TooLarge(_) | Entry::Link(_) | Entry::Other) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The git directory in the `.git` file of a checkout, unverified.
pub(in crate::forge) fn git_dir_of(checkout: &Path) -> io::Result<Option<PathBuf>> {
    let text = read(checkout, ".git")?;
    Ok(text.as_deref().and_then(|text| text.strip_prefix(b"gitdir: ")).map(|path| checkout.join(path_of(path))))
}

/// The checkout in the `gitdir` file of a worktree entry, unverified.
pub(in crate::forge) fn checkout_of(git_dir: &Path) -> io::Result<Option<PathBuf>> {
    let text = read(git_dir, "gitdir")?;
    let file = text.as_deref().map(|path| git_dir.join(path_of(path)));
    Ok(file.filter(|file| file.ends_with(".git")).and_then(|file| file.parent().map(Path::to_owned)))
}

/// Reads the `HEAD` of a git directory.
pub(in crate::forge) fn head(git_dir: &Path) -> io::Result<Head> {
    head_at(git_dir, "HEAD")
}

/// Reads a `HEAD` by its path below a folder; no link on the way is followed.
pub(in crate::forge) fn head_at(folder: &Path, path: &str) -> io::Result<Head> {
    let text = read(folder, path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let name = text.strip_prefix("ref:").map(str::trim).and_then(|name| name.strip_prefix("refs/heads/"));
    Ok(name.map_or(Head::Other, |name| Head::Branch(name.to_owned())))
}

/// True when both paths exist and are the same after resolving links.
pub(in crate::forge) fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Converts a path into bytes.
#[cfg(unix)]
pub(in crate::forge) fn bytes_of(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
pub(in crate::forge) fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}
