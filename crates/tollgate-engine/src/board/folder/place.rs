//! A folder that is held open, and what can be done in it without ever leaving it.
//!
//! Every name is one step; links are never followed, so that nothing which other programs put there leads elsewhere.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::time::{Duration, SystemTime};

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use portable::{Place, like};
#[cfg(unix)]
pub(super) use unix::{Place, like};

/// What is at a name.
#[derive(Debug)]
pub(super) enum Found<T> {
    /// What was asked for.
    Is(T),
    /// Nothing.
    Missing,
    /// A symbolic link.
    Link,
    /// Something of another kind.
    Other,
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// How a file can be told from what it was, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Nanoseconds since 1970.
    modified: i128,
    /// The same for its name and rights, which nobody can set back.
    changed: i128,
    len: u64,
    inode: u64,
}

impl Stamp {
    /// True when it was written so short a time ago that it may be written again without a trace in the stamp, or that
    /// whoever writes it may not be done.
    pub(super) fn is_fresh(&self, now: SystemTime, within: Duration) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let age = i128::try_from(now).unwrap_or(i128::MAX) - self.modified;
        (0..=i128::try_from(within.as_nanos()).unwrap_or(i128::MAX)).contains(&age)
    }

    /// When it was last written.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        let nanos = u64::try_from(self.modified).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
    }

    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            modified: i128::from(metadata.mtime()) * NANOS + i128::from(metadata.mtime_nsec()),
            changed: i128::from(metadata.ctime()) * NANOS + i128::from(metadata.ctime_nsec()),
            len: metadata.len(),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let modified = modified.and_then(|time| i128::try_from(time.as_nanos()).ok()).unwrap_or(0);
        Self { modified, changed: modified, len: metadata.len(), inode: 0 }
    }
}

#[cfg(unix)]
const NANOS: i128 = 1_000_000_000;

/// A file that was read, and what was known of it before.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
    pub(super) metadata: Metadata,
}

/// The content of a plain file, or its size when that is more than `max_bytes`.
pub(super) fn read(file: &File, max_bytes: usize) -> io::Result<Result<Content, u64>> {
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(max_bytes) + 1);
    // The file can grow while it is read, so its size is not trusted.
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max_bytes {
        return Ok(Err(metadata.len().max(bytes.len() as u64)));
    }
    Ok(Ok(Content { bytes, stamp: Stamp::of(&metadata), metadata }))
}
