//! Reads a patch from a file, standard input or memory.
//!
//! A patch is read in chunks, and no more of it than the limit for diffs is in memory. A damaged patch, one that names paths
//! that no checkout may write, and text that is no patch are errors: nothing of them is reviewed.

use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_core::change::Change;
use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_core::diff;
use tollgate_core::path::FilePath;

use super::{FetchOptions, danger, read_diff};
use crate::failure::{self, Failure};
use crate::forge::limits::Collector;

/// The maximum size of a patch.
const MAX_PATCH: u64 = 1 << 30;
/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Where a patch is read from. It can be read once.
#[derive(Clone)]
pub struct PatchSource(Arc<Mutex<dyn Read + Send>>);

impl PatchSource {
    /// A patch that comes from a reader.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(reader)))
    }

    /// A patch in memory.
    #[must_use]
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self::new(Cursor::new(bytes))
    }
}

impl std::fmt::Debug for PatchSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PatchSource")
    }
}

impl PartialEq for PatchSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PatchSource {}

/// Reads the change of a patch.
pub(super) fn read(name: &str, source: &PatchSource, options: &FetchOptions) -> Result<Change, Failure> {
    let mut collector = Collector::new(options.max_diff_bytes);
    let is_blank = collect(name, source, &mut collector)?;
    let collected = collector.finish();
    let in_text = diff::files_in_text(&collected.diff);
    let (mut change, refused) = read_diff(collected, options);
    if let Some(refused) = refused.first() {
        return Err(failure::broken_diff(name, refused));
    }
    if let Some((path, danger)) = change.files.iter().find_map(danger) {
        return Err(failure::dangerous_path(name, &path.to_string(), danger));
    }
    if change.is_empty() && !is_blank {
        return Err(failure::not_a_patch(name));
    }
    let in_text = in_text.iter().map(|path| CoveredHunk {
        file: FilePath::of_repo_path(path),
        lines: None,
        status: HunkStatus::NotReviewed(IN_TEXT.to_owned()),
    });
    change.left_out.extend(in_text);
    change.compared = format!("the patch {name}");
    Ok(change)
}

const IN_TEXT: &str = "its diff is in the text of the mail, where `git am` would apply it";

/// Reads a patch to its end; returns whether it holds nothing but white space.
fn collect(name: &str, source: &PatchSource, collector: &mut Collector) -> Result<bool, Failure> {
    let mut reader = source.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut buffer = vec![0; CHUNK];
    let (mut is_blank, mut n_bytes) = (true, 0u64);
    loop {
        let chunk = match reader.read(&mut buffer) {
            Ok(0) => return Ok(is_blank),
            Ok(n_read) => &buffer[..n_read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failure::unreadable_patch(name, &error)),
        };
        n_bytes += chunk.len() as u64;
        if n_bytes > MAX_PATCH {
            return Err(failure::patch_too_large(name, MAX_PATCH));
        }
        is_blank = is_blank && chunk.iter().all(u8::is_ascii_whitespace);
        collector.take(chunk);
    }
}
