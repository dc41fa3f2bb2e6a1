//! A directory handle: file operations that cannot leave the directory.
//!
//! Every name is a single path component, and symbolic links are never followed, so that no planted link leads
//! elsewhere.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant, SystemTime};

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::{DirHandle, like};
#[cfg(unix)]
pub(crate) use unix::{DirHandle, like};

/// The pause between attempts to lock a directory.
const PAUSE: Duration = Duration::from_millis(2);

/// The result of opening a name.
#[derive(Debug)]
pub(crate) enum Found<T> {
    /// It exists with the requested type.
    Is(T),
    /// It does not exist.
    Missing,
    /// A symbolic link.
    Link,
    /// It has another type.
    Other,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Folder,
    Link,
    Other,
}

/// A fingerprint of a file's metadata, to detect changes without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The modification time in nanoseconds since 1970.
    modified: i128,
    /// The inode change time, which programs cannot set.
    changed: i128,
    len: u64,
    inode: u64,
}

impl Stamp {
    /// True when the file was written so recently that another write may leave the same stamp, or that the writer may
    /// not be done.
    pub fn is_fresh(&self, now: SystemTime, within: Duration) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        let age = i128::try_from(now).unwrap_or(i128::MAX) - self.modified;
        (0..=i128::try_from(within.as_nanos()).unwrap_or(i128::MAX)).contains(&age)
    }

    /// The modification time.
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

impl fmt::Display for Stamp {
    /// The stamp in one word, to be stored and compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}", self.modified, self.changed, self.len, self.inode)
    }
}

#[cfg(unix)]
const NANOS: i128 = 1_000_000_000;

/// A file's content with its metadata.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: Stamp,
    pub(crate) metadata: Metadata,
}

/// Reads a regular file, or returns its size if it exceeds `max_bytes`.
pub(crate) fn read(file: &File, max_bytes: usize) -> io::Result<Result<Content, u64>> {
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(max_bytes) + 1);
    // The file can grow meanwhile, so its size is not trusted.
    file.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max_bytes {
        return Ok(Err(metadata.len().max(bytes.len() as u64)));
    }
    Ok(Ok(Content { bytes, stamp: Stamp::of(&metadata), metadata }))
}

/// A process-wide lock, where directories cannot be locked.
fn alone(patience: Duration) -> Option<MutexGuard<'static, ()>> {
    static WRITER: Mutex<()> = Mutex::new(());
    let start = Instant::now();
    loop {
        match WRITER.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fallback_lock_admits_one_writer_at_a_time() {
        let guard = alone(Duration::ZERO);
        assert!(guard.is_some() && alone(Duration::ZERO).is_none());
        drop(guard);
        assert!(alone(Duration::ZERO).is_some());
    }

    #[test]
    fn a_stamp_is_fresh_for_a_while_and_never_ahead_of_the_clock() {
        let stamp = Stamp { modified: 5_000_000_000, changed: 1, len: 2, inode: 3 };
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!([4, 5, 6, 7].map(|now| stamp.is_fresh(at(now), Duration::from_secs(1))), [false, true, true, false]);
        assert_eq!((stamp.modified(), stamp.to_string().as_str()), (at(5), "5000000000-1-2-3"));
    }
}
