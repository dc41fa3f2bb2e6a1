//! Attachments of a feature: transcripts and reviews beside its card.

use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tollgate_core::board::FeatureId;

use super::edit::{self, EditError};
use super::{Folder, failure};
use crate::failure::Failure;
use crate::tree::dir_handle::Found;

/// A file beside `feature.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// The review of an iteration, in Markdown.
    Review(u32),
    /// The reviewed diff of an iteration.
    Diff(u32),
    /// The transcript of an iteration.
    Output(u32),
    /// The latest transcript, at Automaker's path.
    LastOutput,
}

impl fmt::Display for Attachment {
    /// The name of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Review(n) => write!(f, "code-review-iteration-{n}.md"),
            Self::Diff(n) => write!(f, "code-review-iteration-{n}.diff"),
            Self::Output(n) => write!(f, "agent-output-iteration-{n}.md"),
            Self::LastOutput => f.write_str("agent-output.md"),
        }
    }
}

impl Folder {
    /// Writes an attachment atomically.
    pub fn write(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let handle = self.feature(id)?;
        let name = what.to_string();
        let written = edit::write(&handle, &name, bytes);
        written.map_err(|error| failure::unwritable(&handle.path().join(name), &error))
    }

    /// Appends to an attachment, without syncing.
    pub fn append(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let handle = self.feature(id)?;
        let name = what.to_string();
        let unwritable = |error: EditError| failure::unwritable(&handle.path().join(&name), &error);
        let mut file = match handle.file_to_append(&name).map_err(|error| unwritable(error.into()))? {
            Found::Is(file) => file,
            Found::Link => return Err(unwritable(EditError::Link)),
            Found::Missing | Found::Other => return Err(unwritable(EditError::NotAFile)),
        };
        file.write_all(bytes).map_err(|error| unwritable(error.into()))
    }

    /// The first `max_bytes` of an attachment, if it exists.
    pub fn head(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.part(id, what, max_bytes, |_| 0)?.map(|(_, bytes)| bytes))
    }

    /// The last `max_bytes` of an attachment, if it exists.
    pub fn tail(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.end(id, what, max_bytes)?.map(|(_, bytes)| bytes))
    }

    /// The last `max_bytes` of an attachment, and their offset.
    pub fn end(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        self.part(id, what, max_bytes, |len| len.saturating_sub(max_bytes as u64))
    }

    /// At most `max_bytes` of an attachment from an offset on, if it exists.
    pub fn after(
        &self,
        id: &FeatureId,
        what: Attachment,
        from: u64,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.part(id, what, max_bytes, |len| from.min(len))?.map(|(_, bytes)| bytes))
    }

    fn part(
        &self,
        id: &FeatureId,
        what: Attachment,
        max_bytes: usize,
        start: impl Fn(u64) -> u64,
    ) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        let handle = self.feature(id)?;
        let path = handle.path().join(what.to_string());
        let unreadable = |error: io::Error| failure::unreadable(&path, &error);
        let mut file = match handle.file(&what.to_string()).map_err(unreadable)? {
            Found::Is(file) => file,
            Found::Missing => return Ok(None),
            Found::Link => return Err(failure::broken(&path, &EditError::Link.to_string())),
            Found::Other => return Err(failure::broken(&path, &EditError::NotAFile.to_string())),
        };
        let len = file.metadata().map_err(unreadable)?.len();
        let start = start(len);
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(max_bytes as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some((start, bytes)))
    }
}
