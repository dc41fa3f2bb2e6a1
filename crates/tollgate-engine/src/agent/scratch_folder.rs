//! The temporary folder of one agent run, removed afterwards in every case.
//!
//! ```text
//! /tmp/tollgate-agent-4fq…/   random, for our eyes only
//!   tree/                     the reviewed commit without agent configuration; implementers work elsewhere
//!   home/                     an empty home, when the agent gets a key of its own
//!   tmp/                      its TMPDIR
//!   prompt, schema.json …     its inputs
//! ```
//!
//! The path is new each time, because agents remember which folders they may trust.

use std::io;
use std::path::{Path, PathBuf};

use crate::process::guard;

/// The temporary folder of a run; dropping it removes it.
#[derive(Debug)]
pub(crate) struct ScratchFolder {
    root: PathBuf,
}

impl ScratchFolder {
    /// Makes the folder and the empty folders in it.
    pub(crate) fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(guard::FOLDER_PREFIX).rand_bytes(20);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        // Resolved, so that paths in the output of an agent can be compared with it.
        let folder = builder.tempdir_in(std::env::temp_dir().canonicalize()?)?;
        let area = Self { root: folder.keep() };
        for folder in [area.tree(), area.home(), area.tmp()] {
            std::fs::create_dir(folder)?;
        }
        Ok(area)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The random part of its name, which identifies the run.
    pub(crate) fn word(&self) -> String {
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix(guard::FOLDER_PREFIX).unwrap_or(&name).to_owned()
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Writes a file beside the tree.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.root.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = guard::remove(&self.root);
    }
}

/// The disk usage of a folder.
pub(crate) fn n_bytes(folder: &Path) -> u64 {
    let mut pending = vec![folder.to_owned()];
    let mut n_bytes: u64 = 0;
    while let Some(folder) = pending.pop() {
        // Files come and go during the walk; a file that is gone uses no space.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                pending.push(entry.path());
            }
            n_bytes = n_bytes.saturating_add(on_disk(&metadata));
        }
    }
    n_bytes
}

#[cfg(unix)]
fn on_disk(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.blocks().saturating_mul(512)
}

#[cfg(not(unix))]
fn on_disk(metadata: &std::fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_new_private_and_gone_afterwards() {
        let (one, other) = (ScratchFolder::new().unwrap(), ScratchFolder::new().unwrap());
        assert_ne!(one.root(), other.root());
        assert!(one.word() != other.word() && one.word().len() == 20, "{}", one.word());
        assert!(one.tree().is_dir() && one.home().is_dir() && one.tmp().is_dir());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(one.root()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        let root = one.root().to_owned();
        drop(one);
        assert!(!root.exists());
    }

    #[test]
    fn files_anywhere_in_the_folder_count() {
        let area = ScratchFolder::new().unwrap();
        let before = n_bytes(area.root());
        std::fs::create_dir_all(area.tmp().join("a/b")).unwrap();
        std::fs::write(area.tmp().join("a/b/c"), vec![1; 300_000]).unwrap();
        assert!(n_bytes(area.root()) >= before + 300_000);
    }
}
