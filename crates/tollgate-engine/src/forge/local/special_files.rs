//! Refuses pipes, sockets and devices where git would read a file of a work tree, and wait forever.
//!
//! Git skips special files, except `.gitignore` and `.gitattributes`, which it opens in every folder.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::ATTRIBUTES;
use crate::failure::{self, Failure};

/// The number of entries that are looked at; a time limit stops git in a larger work tree.
const MAX_ENTRIES: usize = 50_000;
/// The files that git opens in every folder.
const READ_BY_GIT: [&str; 2] = [".gitignore", ATTRIBUTES];

/// Fails when a file that git opens in a work tree is special. Folders are visited level by level, links are not followed.
pub(super) fn refuse(root: &Path) -> Result<(), Failure> {
    let mut folders: VecDeque<PathBuf> = VecDeque::from([root.to_owned()]);
    let mut n_entries = 0;
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            n_entries += 1;
            if n_entries > MAX_ENTRIES {
                return Ok(());
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" {
                folders.push_back(entry.path());
            } else if !kind.is_dir()
                && !kind.is_file()
                && !kind.is_symlink()
                && READ_BY_GIT.iter().any(|read| name == **read)
            {
                return Err(failure::special_file(&entry.path()));
            }
        }
    }
    Ok(())
}
