//! Refuses files that would need a clean filter which is not run.
//!
//! `*.psd filter=lfs` in `.gitattributes` asks for one. Only Git LFS is run, and only as the operator configured it.

use std::path::Path;

use crate::failure::Failure;
use crate::forge::git::Git;
use crate::forge::project::{Settings, failure};
use crate::forge::worktree::changed;
use crate::tree::{self, Entry};

/// The first bytes of a Git LFS pointer file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Pointers are smaller than this.
const MAX_POINTER: u64 = 1024;

/// Refuses changed files whose filter is not run.
pub(super) fn refuse(git: &Git, settings: &Settings, paths: &[Vec<u8>], tree: &Path) -> Result<(), Failure> {
    let answer = changed::feed(git, &["check-attr", "-z", "--stdin", "filter"], paths)?;
    let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
    let mut refused: Vec<(&[u8], String)> = Vec::new();
    for field in fields.chunks_exact(3) {
        let (path, filter) = (field[0], String::from_utf8_lossy(field[2]).into_owned());
        if is_refused(settings, &filter) && !(filter == "lfs" && is_pointer(tree, path)) {
            refused.push((path, filter));
        }
    }
    let Some((path, filter)) = refused.first() else {
        return Ok(());
    };
    let path = tollgate_core::visible::visible(&String::from_utf8_lossy(path)).into_owned();
    Err(failure::filtered(&path, refused.len() - 1, &tollgate_core::visible::visible(filter)))
}

fn is_refused(settings: &Settings, filter: &str) -> bool {
    match filter {
        "lfs" => settings.lfs_clean.is_none(),
        // Git itself stores such a file unfiltered when no program is configured.
        name => settings.filters.contains(name),
    }
}

fn is_pointer(root: &Path, path: &[u8]) -> bool {
    match tree::read(root, path, MAX_POINTER) {
        Ok(Entry::File { content, .. }) => content.starts_with(POINTER),
        Ok(Entry::Link(_)) => true,
        Ok(Entry::TooLarge(_) | Entry::Other) | Err(_) => false,
    }
}
