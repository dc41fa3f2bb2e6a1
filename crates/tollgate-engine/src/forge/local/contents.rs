//! The full text of files after a change.

use std::path::{Path, PathBuf};

use tollgate_core::change::Content;
use tollgate_core::diff::FileDiff;

use crate::failure::Failure;
use crate::forge::git::{Blob, Blobs, Git};
use crate::tree::{self, Entry};

/// A way to the full text of files after a change.
#[derive(Debug)]
pub struct Contents {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Tree(PathBuf),
    Repository { git: Box<Git>, blobs: Option<Blobs> },
    Nowhere,
}

impl Contents {
    pub(super) fn in_tree(root: &Path) -> Self {
        Self { place: Place::Tree(root.to_owned()) }
    }

    /// The process that reads blobs is started when the first one is asked for.
    pub(super) fn in_repository(git: Git) -> Self {
        Self { place: Place::Repository { git: Box::new(git), blobs: None } }
    }

    pub(super) fn nowhere() -> Self {
        Self { place: Place::Nowhere }
    }

    /// The text of a file after the change, at most `max_bytes` of it.
    pub fn read(&mut self, file: &FileDiff, max_bytes: u64) -> Result<Content, Failure> {
        let Some(path) = &file.new_path else {
            return Ok(Content::Unknown);
        };
        match &mut self.place {
            Place::Nowhere => Ok(Content::Unknown),
            // A file that cannot be read is still known by its diff.
            Place::Tree(root) => Ok(match tree::read(root, path.as_bytes(), max_bytes) {
                Ok(Entry::File { content, .. }) => Content::Whole(content),
                Ok(Entry::TooLarge(size)) => Content::TooLarge(size),
                Ok(Entry::Link(_) | Entry::Other) | Err(_) => Content::Unknown,
            }),
            Place::Repository { git, blobs } => {
                let Some(name) = &file.new_blob else {
                    return Ok(Content::Unknown);
                };
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
