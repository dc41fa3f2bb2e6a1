//! Editing a file that other programs write too, without a lock that they would know of.
//!
//! The new version is written beside the file and made durable, then the two are exchanged in one step. What came out
//! of the exchange is looked at: if it is not what was read, somebody wrote in between; they are put back at once, and
//! the edit is applied to their version. So neither we nor a program that renames its files over ours, nor one that
//! empties the file and writes it anew, loses what it wrote.
//!
//! ```text
//! .tollgate-<what was read>-<what is written>-<process>-<number>     the name beside it, hashes first
//! ```
//!
//! A program that read the file before our write and writes after it still undoes our edit; whoever wants it to last
//! watches the file and edits it again.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};
use tollgate_core::board::document::MAX_BYTES;
use tollgate_core::board::{Document, DocumentError};

use super::place::{self, Content, Found, Place, Stamp};

/// What the names of our files on their way begin with.
pub(super) const PREFIX: &str = ".tollgate-";
/// How long a file may be half written before it is broken.
pub(super) const HALF_WRITTEN: Duration = Duration::from_secs(1);
/// How long an edit is tried against others who write.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many tries are made durable before the exchange; against those who write without end, it is done after it.
const CALM_TRIES: u32 = 8;
/// How often what came out of an exchange is put back; each time somebody else must have written in between.
const MAX_RETURNS: u32 = 64;
/// The pause before something is looked at again.
const PAUSE: Duration = Duration::from_millis(1);

/// Why a file cannot be read or written.
#[derive(Debug)]
pub(super) enum Trouble {
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

impl fmt::Display for Trouble {
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

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A document as it is in a file.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) document: Document,
    pub(super) hash: [u8; 32],
    pub(super) stamp: Stamp,
    metadata: std::fs::Metadata,
}

/// How a new version takes the place of the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By exchange, where that can be done.
    Exchange,
    /// By renaming over the old one.
    #[cfg(test)]
    Rename,
}

/// What is done to a document; done again when somebody else wrote meanwhile.
pub(super) type Edit<'a> = &'a dyn Fn(&mut Document) -> Result<(), Trouble>;

/// Reads a document. One that cannot be read and was written just now is given time to become whole.
pub(super) fn load(place: &Place, name: &str, patience: Duration) -> Result<Loaded, Trouble> {
    let start = Instant::now();
    loop {
        let content = content(place, name)?;
        match Document::parse(&content.bytes) {
            Ok(document) => {
                let Content { bytes, stamp, metadata } = content;
                return Ok(Loaded { document, hash: hash(&bytes), stamp, metadata });
            }
            Err(error) => {
                let is_fresh = content.stamp.is_fresh(SystemTime::now(), HALF_WRITTEN);
                if !is_fresh || start.elapsed() > patience {
                    return Err(Trouble::Broken(error));
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// The bytes of a plain file.
pub(super) fn content(place: &Place, name: &str) -> Result<Content, Trouble> {
    match place.file(name)? {
        Found::Is(file) => place::read(&file, MAX_BYTES)?.map_err(Trouble::TooLarge),
        Found::Missing => Err(Trouble::Missing),
        Found::Link => Err(Trouble::Link),
        Found::Other => Err(Trouble::NotAFile),
    }
}

/// Edits the document in a file. One that is broken is left as it is, and so is one in which nothing changes.
pub(super) fn update(place: &Place, name: &str, edit: Edit<'_>, way: Way) -> Result<Loaded, Trouble> {
    let _guard = place.hold(PATIENCE)?.ok_or(Trouble::Busy)?;
    let start = Instant::now();
    let mut carried: Option<(Document, Document)> = None;
    for n_tries in 0.. {
        let before = load(place, name, PATIENCE)?;
        let mut after = before.document.clone();
        if let Some((base, theirs)) = &carried {
            after.adopt(base, theirs);
        }
        edit(&mut after)?;
        if after == before.document {
            return Ok(before);
        }
        let durable = n_tries < CALM_TRIES;
        let mut temp = Temp::write(place, &before, &after, durable)?;
        if place.stamp(None, name) == Some(before.stamp) {
            match put(&mut temp, name, &before, &after, way)? {
                Put::Done(stamp) => {
                    if !durable && let Found::Is(file) = place.file(name)? {
                        file.sync_all()?;
                    }
                    let hash = hash(after.as_str().as_bytes());
                    return Ok(Loaded { document: after, hash, stamp, metadata: before.metadata });
                }
                Put::Beaten(theirs) => carried = theirs.or(carried),
            }
        }
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    Err(Trouble::Contended)
}

/// Makes a document where there is none; false when there is one.
pub(super) fn create(place: &Place, name: &str, document: &Document) -> Result<bool, Trouble> {
    let _guard = place.hold(PATIENCE)?.ok_or(Trouble::Busy)?;
    let mut temp = Temp::named(place, "file")?;
    temp.fill(document.as_str().as_bytes(), None, true)?;
    let is_new = place.move_new(&temp.name, place, name)?;
    temp.is_ours = !is_new;
    place.sync()?;
    Ok(is_new)
}

/// Writes a file as a whole: whoever reads it sees the old one or the new one.
pub(super) fn write(place: &Place, name: &str, bytes: &[u8]) -> Result<(), Trouble> {
    let _guard = place.hold(PATIENCE)?.ok_or(Trouble::Busy)?;
    let mut temp = Temp::named(place, "file")?;
    temp.fill(bytes, None, true)?;
    place.rename(&temp.name, name)?;
    temp.is_ours = false;
    place.sync()?;
    Ok(())
}

pub(super) fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The beginning of a hash, as it stands in names.
pub(super) fn short(hash: &[u8; 32]) -> String {
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What came of a try to put a new version in place.
enum Put {
    /// It is there.
    Done(Stamp),
    /// Somebody wrote before us and was put back; perhaps they also wrote something over our version, which did not have
    /// what they had written before: then what they could have read, and what they had written.
    Beaten(Option<(Document, Document)>),
}

fn put(temp: &mut Temp<'_>, name: &str, before: &Loaded, after: &Document, way: Way) -> Result<Put, Trouble> {
    let place = temp.place;
    if way != Way::Exchange || !place.exchange(&temp.name, name)? {
        place.rename(&temp.name, name)?;
        temp.is_ours = false;
        place.sync()?;
        return Ok(Put::Done(place.stamp(None, name).unwrap_or(before.stamp)));
    }
    // From here on the name beside may be that of somebody's work.
    temp.is_ours = false;
    let stamp = place.stamp(None, name).unwrap_or(before.stamp);
    let out = content(place, &temp.name);
    let is_expected = |out: &Content| out.bytes == before.document.as_str().as_bytes();
    if let Some(out) = out.as_ref().ok().filter(|out| is_expected(out)) {
        place.sync()?;
        // Somebody may have begun to write into the old file just when it was exchanged.
        if place.stamp(None, &temp.name) == Some(out.stamp) {
            temp.is_ours = true;
            return Ok(Put::Done(stamp));
        }
    }
    put_back(temp, name, after, out.ok())
}

/// Puts back what came out, and what comes out then, until it is what we put in.
fn put_back(temp: &mut Temp<'_>, name: &str, after: &Document, theirs: Option<Content>) -> Result<Put, Trouble> {
    let place = temp.place;
    let mut put_in = Some(after.as_str().as_bytes().to_vec());
    let mut coming = theirs.map(|out| out.bytes);
    let mut carried = None;
    for _ in 0..MAX_RETURNS {
        if !place.exchange(&temp.name, name)? {
            break;
        }
        let out = content(place, &temp.name).ok().map(|out| out.bytes);
        if out == put_in {
            temp.is_ours = out.is_some();
            break;
        }
        // They wrote over our version, perhaps without having seen their own last one.
        let known = coming.as_deref().and_then(|bytes| Document::parse(bytes).ok());
        carried = carried.or(known.map(|theirs| (after.clone(), theirs)));
        put_in = std::mem::replace(&mut coming, out);
    }
    place.sync()?;
    Ok(Put::Beaten(carried))
}

/// A file of ours on its way, removed if it does not arrive.
struct Temp<'a> {
    place: &'a Place,
    name: String,
    file: std::fs::File,
    is_ours: bool,
}

impl<'a> Temp<'a> {
    fn write(place: &'a Place, before: &Loaded, after: &Document, durable: bool) -> io::Result<Self> {
        let bytes = after.as_str().as_bytes();
        let mut temp = Self::named(place, &format!("{}-{}", short(&before.hash), short(&hash(bytes))))?;
        temp.fill(bytes, Some(&before.metadata), durable)?;
        Ok(temp)
    }

    fn named(place: &'a Place, what: &str) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{PREFIX}{what}-{:x}-{number:x}", std::process::id());
            match place.new_file(&name) {
                Ok(file) => return Ok(Self { place, name, file, is_ours: true }),
                // Left by a process that had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, bytes: &[u8], old: Option<&std::fs::Metadata>, durable: bool) -> io::Result<()> {
        if let Some(old) = old {
            place::like(&self.file, old)?;
        }
        self.file.write_all(bytes)?;
        if durable { self.file.sync_all() } else { Ok(()) }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.is_ours {
            // What stays is swept when the project is opened next.
            let _ = self.place.remove(&self.name);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
