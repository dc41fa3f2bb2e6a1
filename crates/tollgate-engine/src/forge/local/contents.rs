//! Reads the full text of files after a change.

use std::path::{Path, PathBuf};

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use tollgate_core::change::Content;
use tollgate_core::diff::FileDiff;

use crate::failure::Failure;
use crate::forge::git::{Blob, Blobs, Git};
use crate::tree::{self, Entry};

/// Access to the full text of files after a change.
#[derive(Debug)]
pub struct Contents {
    source: ContentSource,
}

#[derive(Debug)]
enum ContentSource {
    Tree(PathBuf),
    Repository { git: Box<Git>, blobs: Option<Blobs>, root: Option<PathBuf> },
    Nowhere,
}

impl Contents {
    pub(super) fn in_tree(root: &Path) -> Self {
        Self { source: ContentSource::Tree(root.to_owned()) }
    }

    /// `git cat-file` starts lazily, with the first blob that is not in the working tree.
    pub(super) fn in_repository(git: Git, root: Option<&Path>) -> Self {
        Self { source: ContentSource::Repository { git: Box::new(git), blobs: None, root: root.map(Path::to_owned) } }
    }

    pub(super) fn nowhere() -> Self {
        Self { source: ContentSource::Nowhere }
    }

    /// The text of a file after the change, unless it is larger than `max_bytes`.
    pub fn read(&mut self, file: &FileDiff, max_bytes: u64) -> Result<Content, Failure> {
        let Some(path) = &file.new_path else {
            return Ok(Content::Unknown);
        };
        match &mut self.source {
            ContentSource::Nowhere => Ok(Content::Unknown),
            // An unreadable file can still be reviewed by its diff.
            ContentSource::Tree(root) => Ok(match tree::read(root, path.as_bytes(), max_bytes) {
                Ok(Entry::File { content, .. }) => Content::Whole(content),
                Ok(Entry::TooLarge(size)) => Content::TooLarge(size),
                Ok(Entry::Link(_) | Entry::Other) | Err(_) => Content::Unknown,
            }),
            ContentSource::Repository { git, blobs, root } => {
                let Some(name) = &file.new_blob else {
                    return Ok(Content::Unknown);
                };
                let here = root.as_deref().map(|root| tree::read(root, path.as_bytes(), max_bytes));
                if let Some(Ok(Entry::File { content, .. })) = here
                    && blob_name(&content, name.len()).as_ref() == Some(name)
                {
                    return Ok(Content::Whole(content));
                }
                let blobs = match blobs {
                    Some(blobs) => blobs,
                    None => blobs.insert(git.blobs()?),
                };
                Ok(match blobs.read(name, max_bytes)? {
                    Blob::Whole(content) => Content::Whole(content),
                    Blob::TooLarge(size) => Content::TooLarge(size),
                    Blob::Missing => Content::Unknown,
                })
            }
        }
    }
}

/// The git name of a blob, for a hash with this many digits.
fn blob_name(content: &[u8], n_digits: usize) -> Option<String> {
    let head = format!("blob {}\0", content.len());
    match n_digits {
        40 => Some(hex(&Sha1::new().chain_update(head).chain_update(content).finalize())),
        64 => Some(hex(&Sha256::new().chain_update(head).chain_update(content).finalize())),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_named_as_git_names_them() {
        assert_eq!(blob_name(b"", 40).as_deref(), Some("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"));
        let sha256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(blob_name(b"", 64).as_deref(), Some(sha256));
        assert_eq!(blob_name(b"", 7), None);
    }
}
