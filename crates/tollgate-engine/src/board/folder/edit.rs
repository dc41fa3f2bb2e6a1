//! Lock-free editing of a file that other programs write as well.
//!
//! The new version is written to a temporary file and synced, then both are exchanged atomically. The exchanged-out
//! version is checked: if it is not the one that was read, another program wrote in between; its version is restored
//! at once, and the edit is applied to it. So no write is lost, neither ours nor that of a program that renames over
//! the file or truncates and rewrites it.
//!
//! ```text
//! .tollgate-<hash read>-<hash written>-<process>-<number>     the temporary file
//! ```
//!
//! A program that read the file before our write and writes after it still reverts our edit; the watcher notices that,
//! and the edit is repeated.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};
use tollgate_core::board::document::MAX_BYTES;
use tollgate_core::board::{Document, DocumentError};

use crate::tree::dir_handle::{self, Content, DirHandle, Found, Stamp};

/// The prefix of temporary files.
pub(super) const PREFIX: &str = ".tollgate-";
/// How long a file may be incomplete before it counts as broken.
pub(super) const HALF_WRITTEN: Duration = Duration::from_secs(1);
/// How long an edit is retried against concurrent writers.
const PATIENCE: Duration = Duration::from_secs(10);
/// After this many attempts the file is synced after the exchange instead of before, to win against a fast writer.
const CALM_TRIES: u32 = 8;
/// The maximum number of restores; each means another concurrent write.
const MAX_RETURNS: u32 = 64;
/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(1);

/// Why a file cannot be read or written.
#[derive(Debug)]
pub(super) enum EditError {
    Missing,
    Link,
    NotAFile,
    TooLarge(u64),
    Broken(DocumentError),
    OtherId(String),
    Refused(DocumentError),
    Contended,
    Busy,
    Io(io::Error),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::Link => f.write_str("it is a symbolic link, which is not followed"),
            Self::NotAFile => f.write_str("it is not a plain file"),
            Self::TooLarge(len) => write!(f, "it has {len} bytes, and {MAX_BYTES} are the most"),
            Self::Broken(error) => write!(f, "{error}"),
            Self::OtherId(id) => write!(f, "its `id` is `{id}`, which is not the name of its folder"),
            Self::Refused(error) => write!(f, "what was to be written is refused: {error}"),
            Self::Contended => f.write_str("another program writes it without end"),
            Self::Busy => f.write_str("another process holds it"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for EditError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A document read from a file.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) document: Document,
    pub(super) hash: [u8; 32],
    pub(super) stamp: Stamp,
    metadata: std::fs::Metadata,
}

/// How a new version replaces the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplaceMode {
    /// By an atomic exchange, where supported.
    Exchange,
    /// By renaming over the old one.
    #[cfg(test)]
    Rename,
}

/// An edit of a document; repeated after a concurrent write.
pub(super) type Edit<'a> = &'a dyn Fn(&mut Document) -> Result<(), EditError>;

/// Reads a document. A fresh file that cannot be parsed is given time to become complete.
pub(super) fn load(handle: &DirHandle, name: &str, patience: Duration) -> Result<Loaded, EditError> {
    let start = Instant::now();
    loop {
        let content = content(handle, name)?;
        match Document::parse(&content.bytes) {
            Ok(document) => {
                let Content { bytes, stamp, metadata } = content;
                return Ok(Loaded { document, hash: hash(&bytes), stamp, metadata });
            }
            Err(error) => {
                let is_fresh = content.stamp.is_fresh(SystemTime::now(), HALF_WRITTEN);
                if !is_fresh || start.elapsed() > patience {
                    return Err(EditError::Broken(error));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// The bytes of a regular file.
pub(super) fn content(handle: &DirHandle, name: &str) -> Result<Content, EditError> {
    match handle.file(name)? {
        Found::Is(file) => dir_handle::read(&file, MAX_BYTES)?.map_err(EditError::TooLarge),
        Found::Missing => Err(EditError::Missing),
        Found::Link => Err(EditError::Link),
        Found::Other => Err(EditError::NotAFile),
    }
}

/// Edits the document in a file. Broken files are left as they are, and unchanged ones are not written.
pub(super) fn update(handle: &DirHandle, name: &str, edit: Edit<'_>, way: ReplaceMode) -> Result<Loaded, EditError> {
    let _guard = handle.hold(PATIENCE)?.ok_or(EditError::Busy)?;
    let start = Instant::now();
    let mut carried: Option<(Document, Document)> = None;
    for n_tries in 0.. {
        let before = load(handle, name, PATIENCE)?;
        let mut after = before.document.clone();
        if let Some((base, theirs)) = &carried {
            after.adopt(base, theirs);
        }
        edit(&mut after)?;
        if after == before.document {
            return Ok(before);
        }
        let durable = n_tries < CALM_TRIES;
        let mut temp = TempFile::write(handle, &before, &after, durable)?;
        if handle.stamp(None, name) == Some(before.stamp) {
            match put(&mut temp, name, &before, &after, way)? {
                ReplaceResult::Done(stamp) => {
                    if !durable && let Found::Is(file) = handle.file(name)? {
                        file.sync_all()?;
                    }
                    let hash = hash(after.as_str().as_bytes());
                    return Ok(Loaded { document: after, hash, stamp, metadata: before.metadata });
                }
                ReplaceResult::Beaten(theirs) => carried = theirs.or(carried),
            }
        }
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    Err(EditError::Contended)
}

/// Creates a document; false when the file exists.
pub(super) fn create(handle: &DirHandle, name: &str, document: &Document) -> Result<bool, EditError> {
    let _guard = handle.hold(PATIENCE)?.ok_or(EditError::Busy)?;
    let mut temp = TempFile::named(handle, "file")?;
    temp.fill(document.as_str().as_bytes(), None, true)?;
    let is_new = handle.move_new(&temp.name, handle, name)?;
    temp.is_ours = !is_new;
    handle.sync()?;
    Ok(is_new)
}

/// Writes a file atomically.
pub(super) fn write(handle: &DirHandle, name: &str, bytes: &[u8]) -> Result<(), EditError> {
    let _guard = handle.hold(PATIENCE)?.ok_or(EditError::Busy)?;
    let mut temp = TempFile::named(handle, "file")?;
    temp.fill(bytes, None, true)?;
    handle.rename(&temp.name, name)?;
    temp.is_ours = false;
    handle.sync()?;
    Ok(())
}

pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The prefix of a hash in file names.
pub(super) fn short(hash: &[u8; 32]) -> String {
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The result of an attempt to replace a file.
enum ReplaceResult {
    /// Replaced.
    Done(Stamp),
    /// Another program wrote first, and its version was restored. If it also overwrote our version, the version it
    /// could have read and the one it had written.
    Beaten(Option<(Document, Document)>),
}

fn put(
    temp: &mut TempFile<'_>,
    name: &str,
    before: &Loaded,
    after: &Document,
    way: ReplaceMode,
) -> Result<ReplaceResult, EditError> {
    let handle = temp.handle;
    if way != ReplaceMode::Exchange || !handle.exchange(&temp.name, name)? {
        handle.rename(&temp.name, name)?;
        temp.is_ours = false;
        handle.sync()?;
        return Ok(ReplaceResult::Done(handle.stamp(None, name).unwrap_or(before.stamp)));
    }
    // From here on the temporary file may hold another program's version.
    temp.is_ours = false;
    let stamp = handle.stamp(None, name).unwrap_or(before.stamp);
    let out = content(handle, &temp.name);
    let is_expected = |out: &Content| out.bytes == before.document.as_str().as_bytes();
    if let Some(out) = out.as_ref().ok().filter(|out| is_expected(out)) {
        handle.sync()?;
        // Another program may have begun to write into the old file during the exchange.
        if handle.stamp(None, &temp.name) == Some(out.stamp) {
            temp.is_ours = true;
            return Ok(ReplaceResult::Done(stamp));
        }
    }
    put_back(temp, name, after, out.ok())
}

/// Restores exchanged-out versions until ours comes out.
fn put_back(
    temp: &mut TempFile<'_>,
    name: &str,
    after: &Document,
    theirs: Option<Content>,
) -> Result<ReplaceResult, EditError> {
    let handle = temp.handle;
    let mut put_in = Some(after.as_str().as_bytes().to_vec());
    let mut coming = theirs.map(|out| out.bytes);
    let mut carried = None;
    for _ in 0..MAX_RETURNS {
        if !handle.exchange(&temp.name, name)? {
            break;
        }
        let out = content(handle, &temp.name).ok().map(|out| out.bytes);
        if out == put_in {
            temp.is_ours = out.is_some();
            break;
        }
        // The other program overwrote our version, perhaps without having seen its own last one.
        let known = coming.as_deref().and_then(|bytes| Document::parse(bytes).ok());
        carried = carried.or(known.map(|theirs| (after.clone(), theirs)));
        put_in = std::mem::replace(&mut coming, out);
    }
    handle.sync()?;
    Ok(ReplaceResult::Beaten(carried))
}

/// A temporary file, deleted when dropped.
struct TempFile<'a> {
    handle: &'a DirHandle,
    name: String,
    file: std::fs::File,
    is_ours: bool,
}

impl<'a> TempFile<'a> {
    fn write(handle: &'a DirHandle, before: &Loaded, after: &Document, durable: bool) -> io::Result<Self> {
        let bytes = after.as_str().as_bytes();
        let mut temp = Self::named(handle, &format!("{}-{}", short(&before.hash), short(&hash(bytes))))?;
        temp.fill(bytes, Some(&before.metadata), durable)?;
        Ok(temp)
    }

    fn named(handle: &'a DirHandle, what: &str) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{what}-{:x}-{number:x}", std::process::id());
            match handle.new_file(&name) {
                Ok(file) => return Ok(Self { handle, name, file, is_ours: true }),
                // Left by a process with the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, bytes: &[u8], old: Option<&std::fs::Metadata>, durable: bool) -> io::Result<()> {
        if let Some(old) = old {
            dir_handle::like(&self.file, old)?;
        }
        self.file.write_all(bytes)?;
        if durable { self.file.sync_all() } else { Ok(()) }
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // Leftovers are deleted when the project is opened next.
            let _ = self.handle.remove(&self.name);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
