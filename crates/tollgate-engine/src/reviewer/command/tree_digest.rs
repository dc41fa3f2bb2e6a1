//! The digest of a tree, to detect afterwards whether an agent changed it.
//!
//! Names, kinds, permissions, contents and the targets of links count; times do not. Contents are read in chunks and never
//! beyond a limit, because an agent may have written files of any size.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The digests of a tree's entries, by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeDigest(BTreeMap<PathBuf, Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder(u32),
    File(u32, [u8; 32]),
    Link(PathBuf),
    Other(u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct DigestLimits {
    pub(super) n_entries: usize,
    pub(super) n_bytes: u64,
}

impl DigestLimits {
    /// More than any tree that can be reviewed.
    pub(super) const MAX: Self = Self { n_entries: 2_000_000, n_bytes: 64 << 30 };
}

/// The most changes that a description names.
const MAX_NAMED: usize = 5;

impl TreeDigest {
    /// Digests everything below a folder; `None` when it exceeds the limits.
    pub(super) fn of(root: &Path, bounds: DigestLimits) -> io::Result<Option<Self>> {
        let mut entries = BTreeMap::new();
        let mut left = bounds.n_bytes;
        let mut pending = vec![PathBuf::new()];
        while let Some(folder) = pending.pop() {
            let listed = match std::fs::read_dir(root.join(&folder)) {
                Ok(listed) => listed,
                // The permissions of an unreadable folder have changed, which its own entry shows.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error),
            };
            for entry in listed {
                let entry = entry?;
                let (path, metadata) = (folder.join(entry.file_name()), entry.metadata()?);
                let mode = mode(&metadata);
                let kind = metadata.file_type();
                let sealed = if kind.is_dir() {
                    pending.push(path.clone());
                    Entry::Folder(mode)
                } else if kind.is_symlink() {
                    Entry::Link(std::fs::read_link(entry.path())?)
                } else if kind.is_file() {
                    let Some(digest) = digest(&entry.path(), &mut left)? else {
                        return Ok(None);
                    };
                    Entry::File(mode, digest)
                } else {
                    Entry::Other(mode)
                };
                entries.insert(path, sealed);
                if entries.len() > bounds.n_entries {
                    return Ok(None);
                }
            }
        }
        Ok(Some(Self(entries)))
    }

    /// The changes to another digest, by path.
    pub(super) fn changes(&self, after: &Self) -> Vec<(TreeChange, PathBuf)> {
        let gone = self.0.keys().filter(|path| !after.0.contains_key(*path)).map(|path| (TreeChange::Deleted, path));
        let others = after.0.iter().filter_map(|(path, entry)| match self.0.get(path) {
            None => Some((TreeChange::New, path)),
            Some(before) if before != entry => Some((TreeChange::Changed, path)),
            Some(_) => None,
        });
        let mut changes: Vec<_> = gone.chain(others).map(|(change, path)| (change, path.clone())).collect();
        changes.sort_by(|a, b| a.1.cmp(&b.1));
        changes
    }
}

/// The change of an entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeChange {
    New,
    Changed,
    Deleted,
}

/// Describes changes: "wrote `a.rs`, changed `b.rs`, deleted `c.rs` and 3 more".
pub(super) fn describe(changes: &[(TreeChange, PathBuf)]) -> String {
    let named: Vec<String> = changes
        .iter()
        .take(MAX_NAMED)
        .map(|(change, path)| {
            let verb = match change {
                TreeChange::New => "wrote",
                TreeChange::Changed => "changed",
                TreeChange::Deleted => "deleted",
            };
            format!("{verb} `{}`", tollgate_core::visible::visible(&path.to_string_lossy()))
        })
        .collect();
    let n_more = changes.len().saturating_sub(MAX_NAMED);
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// The digest of a file's content, subtracted from the bytes left; `None` when it exceeds them.
fn digest(path: &Path, left: &mut u64) -> io::Result<Option<[u8; 32]>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Some([0; 32])),
        Err(error) => return Err(error),
    };
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(hasher.finalize().into())),
            Ok(n_bytes) => {
                let Some(rest) = left.checked_sub(n_bytes as u64) else {
                    return Ok(None);
                };
                *left = rest;
                hasher.update(&buffer[..n_bytes]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn mode(metadata: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode()
}

#[cfg(not(unix))]
fn mode(metadata: &std::fs::Metadata) -> u32 {
    metadata.permissions().readonly().into()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Describes the effect of a deed on a small tree.
    fn changes(deed: &dyn Fn(&Path)) -> String {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("folder/file"), "text").unwrap();
        symlink("folder", at("link")).unwrap();
        let before = TreeDigest::of(root.path(), DigestLimits::MAX).unwrap().unwrap();
        deed(root.path());
        let after = TreeDigest::of(root.path(), DigestLimits::MAX).unwrap().unwrap();
        describe(&before.changes(&after))
    }

    #[track_caller]
    fn check(deed: &dyn Fn(&Path), expected: &str) {
        assert_eq!(changes(deed), expected);
    }

    #[test]
    fn every_kind_of_change_is_seen_and_named() {
        check(&|_| {}, "");
        check(&|root| std::fs::write(root.join("folder/new"), "").unwrap(), "wrote `folder/new`");
        check(&|root| std::fs::create_dir(root.join("new")).unwrap(), "wrote `new`");
        check(&|root| std::fs::write(root.join("folder/file"), "Text").unwrap(), "changed `folder/file`");
        check(&|root| std::fs::remove_file(root.join("folder/file")).unwrap(), "deleted `folder/file`");
        check(
            &|root| {
                std::fs::set_permissions(root.join("folder/file"), std::fs::Permissions::from_mode(0o755)).unwrap();
            },
            "changed `folder/file`",
        );
        check(
            &|root| {
                std::fs::remove_file(root.join("link")).unwrap();
                symlink("/etc", root.join("link")).unwrap();
            },
            "changed `link`",
        );
    }

    #[test]
    fn reading_alone_is_no_change() {
        check(&|root| drop(std::fs::read(root.join("folder/file")).unwrap()), "");
    }

    #[test]
    fn many_changes_are_counted_and_names_made_visible() {
        let deed = |root: &Path| {
            for name in ["a\u{1b}[2J", "b", "c", "d", "e", "f", "g"] {
                std::fs::write(root.join(name), "").unwrap();
            }
        };
        check(&deed, "wrote `a\\u{1b}[2J`, wrote `b`, wrote `c`, wrote `d`, wrote `e` and 2 more");
    }

    #[test]
    fn files_beyond_the_limits_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), vec![0; 1000]).unwrap();
        std::fs::write(root.path().join("b"), "").unwrap();
        let seal = |n_entries, n_bytes| TreeDigest::of(root.path(), DigestLimits { n_entries, n_bytes }).unwrap();
        assert!(seal(2, 1000).is_some());
        assert_eq!(seal(2, 999), None);
        assert_eq!(seal(1, 1000), None);
    }

    #[test]
    fn a_named_pipe_does_not_block() {
        let mkfifo = |root: &Path| {
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        check(&mkfifo, "wrote `pipe`");
    }
}
