//! Files beside a feature's card: what agents said, and what the gate said of it.

use std::fmt;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use tollgate_core::board::FeatureId;

use super::edit::{self, Trouble};
use super::place::Found;
use super::{Folder, failure};
use crate::failure::Failure;

/// A file beside `feature.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attachment {
    /// What the review of an iteration says, for people.
    Review(u32),
    /// What it reviewed, as a whole.
    Diff(u32),
    /// What the agent of an iteration said.
    Output(u32),
    /// What the agent said last, where Automaker looks for it.
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
    /// Writes a file beside a feature's card, as a whole.
    pub fn write(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.feature(id)?;
        let name = what.to_string();
        let written = edit::write(&place, &name, bytes);
        written.map_err(|trouble| failure::unwritable(&place.path().join(name), &trouble))
    }

    /// Adds to a file beside a feature's card, for what is still being said. It is not made durable.
    pub fn append(&self, id: &FeatureId, what: Attachment, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.feature(id)?;
        let name = what.to_string();
        let unwritable = |trouble: Trouble| failure::unwritable(&place.path().join(&name), &trouble);
        let mut file = match place.file_to_append(&name).map_err(|error| unwritable(error.into()))? {
            Found::Is(file) => file,
            Found::Link => return Err(unwritable(Trouble::Link)),
            Found::Missing | Found::Other => return Err(unwritable(Trouble::NotAFile)),
        };
        file.write_all(bytes).map_err(|error| unwritable(error.into()))
    }

    /// The first bytes of a file beside a feature's card, `max_bytes` at most; none when there is no such file.
    pub fn head(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.part(id, what, max_bytes, |_| 0)?.map(|(_, bytes)| bytes))
    }

    /// The last bytes of a file beside a feature's card, `max_bytes` at most; none when there is no such file.
    pub fn tail(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.end(id, what, max_bytes)?.map(|(_, bytes)| bytes))
    }

    /// The same, and the place where they begin.
    pub fn end(&self, id: &FeatureId, what: Attachment, max_bytes: usize) -> Result<Option<(u64, Vec<u8>)>, Failure> {
        self.part(id, what, max_bytes, |len| len.saturating_sub(max_bytes as u64))
    }

    /// The bytes of a file beside a feature's card from a place on, `max_bytes` at most; none when there is no such file.
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
        let place = self.feature(id)?;
        let path = place.path().join(what.to_string());
        let unreadable = |error: io::Error| failure::unreadable(&path, &error);
        let mut file = match place.file(&what.to_string()).map_err(unreadable)? {
            Found::Is(file) => file,
            Found::Missing => return Ok(None),
            Found::Link => return Err(failure::broken(&path, &Trouble::Link.to_string())),
            Found::Other => return Err(failure::broken(&path, &Trouble::NotAFile.to_string())),
        };
        let len = file.metadata().map_err(unreadable)?.len();
        let start = start(len);
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(max_bytes as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some((start, bytes)))
    }
}
