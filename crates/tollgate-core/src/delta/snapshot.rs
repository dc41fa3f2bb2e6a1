//! Snapshot of a reviewed change: its lines as hashes, without text.
//!
//! A stored review keeps a snapshot of its patch, so that a later review can tell which lines were seen already even when
//! the old commits are gone: amended, rebased, or never committed. Lines are stored as hashes, because they may contain
//! secrets. A reader of the store can test guesses against a hash, so a snapshot is as confidential as the store.
//!
//! ```text
//! 1                       version, one byte
//! n_files, then each:     numbers are LEB128
//!   new path, old path, blob     length + 1 and bytes; 0 for none
//!   n_right, then each:   (line number − the one before) × 2 + added, 16 bytes of hash
//!   n_left, then each:    line number − the one before, 16 bytes of hash
//! ```
//!
//! The hash is the first half of SHA-256. Lines that the last review passed are not reviewed again, so an author with two
//! lines of one hash could have the harmless one reviewed and then swap it: a 64-bit or non-cryptographic hash would be a
//! way past the gate.

use sha2::{Digest as _, Sha256};

use crate::diff::{FileDiff, LineKind};
use crate::path::FilePath;

const VERSION: u8 = 1;

/// The lines of a change, as hashes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    pub(super) files: Vec<FileSnapshot>,
}

/// The lines of one file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileSnapshot {
    pub(super) new_path: Option<FilePath>,
    pub(super) old_path: Option<FilePath>,
    /// The blob id after the change, as far as the diff has it.
    pub(super) blob: Option<String>,
    /// Context and added lines, by their numbers after the change.
    pub(super) right: Vec<SeenLine>,
    /// Removed lines, by their numbers before the change.
    pub(super) left: Vec<SeenLine>,
}

/// One line of the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenLine {
    pub(super) number: u32,
    pub(super) hash: u128,
    /// True for added and removed lines, false for context.
    pub(super) changed: bool,
}

/// Why bytes are not a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The snapshot has an unknown version.
    #[error("unknown snapshot version {0}")]
    Version(u8),
    /// The bytes are truncated or invalid at this offset.
    #[error("damaged snapshot at byte {0}")]
    Damaged(usize),
}

impl Snapshot {
    /// Takes a snapshot of a change.
    #[must_use]
    pub fn of(files: &[FileDiff]) -> Self {
        Self { files: files.iter().map(FileSnapshot::of).collect() }
    }

    /// True when a file had this blob after the change, so that its part of a patch against the same base is equal.
    /// A deleted file has neither a path nor content.
    #[must_use]
    pub fn has(&self, old_path: Option<&FilePath>, new_path: Option<&FilePath>, blob: Option<&str>) -> bool {
        let key = (old_path, new_path, blob);
        self.files.iter().any(|file| (file.old_path.as_ref(), file.new_path.as_ref(), file.blob.as_deref()) == key)
    }

    /// Adds files of an earlier snapshot, in patch order.
    #[must_use]
    pub fn with(mut self, earlier: &Self, is_wanted: impl Fn(&FilePath) -> bool) -> Self {
        let wanted = earlier.files.iter().filter(|file| file.path().is_some_and(&is_wanted));
        self.files.extend(wanted.cloned());
        self.files.sort_by(|a, b| a.path().cmp(&b.path()));
        self
    }

    /// The number of added lines.
    #[must_use]
    pub fn n_added(&self) -> usize {
        self.files.iter().flat_map(|file| &file.right).filter(|line| line.changed).count()
    }

    /// The number of lines.
    #[must_use]
    pub fn n_lines(&self) -> usize {
        self.files.iter().map(|file| file.right.len() + file.left.len()).sum()
    }

    /// Encodes the snapshot for the store.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        push_number(&mut out, self.files.len() as u64);
        for file in &self.files {
            push_text(&mut out, file.new_path.as_ref().map(FilePath::as_str));
            push_text(&mut out, file.old_path.as_ref().map(FilePath::as_str));
            push_text(&mut out, file.blob.as_deref());
            push_lines(&mut out, &file.right, |step, changed| step * 2 + u64::from(changed));
            push_lines(&mut out, &file.left, |step, _| step);
        }
        out
    }

    /// Decodes the output of [`Snapshot::to_bytes`]; other bytes are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut input = Input { bytes, at: 0 };
        match input.take(1)? {
            [VERSION] => {}
            [version, ..] => return Err(SnapshotError::Version(*version)),
            [] => return Err(input.damaged()),
        }
        let n_files = input.number()?;
        let mut files = Vec::new();
        for _ in 0..n_files {
            let (new_path, old_path, blob) = (input.path()?, input.path()?, input.text()?.map(str::to_owned));
            let right = input.lines(|code| (code / 2, code % 2 == 1))?;
            let left = input.lines(|code| (code, true))?;
            files.push(FileSnapshot { new_path, old_path, blob, right, left });
        }
        if input.at == bytes.len() { Ok(Self { files }) } else { Err(input.damaged()) }
    }
}

impl FileSnapshot {
    fn path(&self) -> Option<&FilePath> {
        self.new_path.as_ref().or(self.old_path.as_ref())
    }

    pub(super) fn of(file: &FileDiff) -> Self {
        let mut snapshot = Self {
            new_path: file.new_path.as_ref().map(FilePath::of_repo_path),
            old_path: file.old_path.as_ref().map(FilePath::of_repo_path),
            blob: file.new_blob.clone(),
            right: Vec::with_capacity(file.n_added as usize),
            left: Vec::with_capacity(file.n_removed as usize),
        };
        for line in file.hunks.iter().flat_map(|hunk| file.lines(hunk)) {
            let hash = hash(line.text, line.newline);
            match (line.kind, line.new, line.old) {
                (LineKind::Removed, _, Some(number)) => {
                    snapshot.left.push(SeenLine { number, hash, changed: true });
                }
                (kind, Some(number), _) => {
                    snapshot.right.push(SeenLine { number, hash, changed: kind == LineKind::Added });
                }
                (_, None, _) => {}
            }
        }
        // A malformed diff may have any line numbers; the code below relies on increasing ones.
        for lines in [&mut snapshot.right, &mut snapshot.left] {
            lines.sort_by_key(|line| line.number);
            lines.dedup_by_key(|line| line.number);
        }
        snapshot
    }
}

fn hash(text: &[u8], newline: bool) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update(text);
    if newline {
        hasher.update(b"\n");
    }
    let digest = hasher.finalize();
    digest.iter().take(16).fold(0, |hash, &byte| hash << 8 | u128::from(byte))
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn push_text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => push_number(out, 0),
        Some(text) => {
            push_number(out, text.len() as u64 + 1);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

fn push_lines(out: &mut Vec<u8>, lines: &[SeenLine], code: impl Fn(u64, bool) -> u64) {
    push_number(out, lines.len() as u64);
    let mut last = 0;
    for line in lines {
        push_number(out, code(u64::from(line.number - last), line.changed));
        out.extend_from_slice(&line.hash.to_le_bytes());
        last = line.number;
    }
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn damaged(&self) -> SnapshotError {
        SnapshotError::Damaged(self.at)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], SnapshotError> {
        let end = self.at.checked_add(len);
        let part = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(self.damaged())?;
        self.at += len;
        Ok(part)
    }

    fn number(&mut self) -> Result<u64, SnapshotError> {
        let mut number = 0u64;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged())
    }

    fn text(&mut self) -> Result<Option<&'a str>, SnapshotError> {
        let Some(len) = self.number()?.checked_sub(1) else { return Ok(None) };
        let text = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        std::str::from_utf8(text).map(Some).map_err(|_| self.damaged())
    }

    fn path(&mut self) -> Result<Option<FilePath>, SnapshotError> {
        let text = self.text()?;
        text.map(|text| FilePath::parse(text).map_err(|_| self.damaged())).transpose()
    }

    fn lines(&mut self, decode: impl Fn(u64) -> (u64, bool)) -> Result<Vec<SeenLine>, SnapshotError> {
        let n_lines = self.number()?;
        // A line takes at least 17 bytes, so a larger count is invalid and nothing is reserved for it.
        let n_lines = usize::try_from(n_lines).ok().filter(|n_lines| *n_lines <= (self.bytes.len() - self.at) / 17);
        let n_lines = n_lines.ok_or(self.damaged())?;
        let mut lines = Vec::with_capacity(n_lines);
        let mut last = 0u32;
        for _ in 0..n_lines {
            let (step, changed) = decode(self.number()?);
            let number = u32::try_from(step).ok().and_then(|step| last.checked_add(step)).ok_or(self.damaged())?;
            if number <= last && !lines.is_empty() {
                return Err(self.damaged());
            }
            let hash = self.take(16)?.try_into().map(u128::from_le_bytes).map_err(|_| self.damaged())?;
            lines.push(SeenLine { number, hash, changed });
            last = number;
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diff;

    const DIFF: &str = "diff --git a/a.rs b/b.rs\nsimilarity index 50%\nrename from a.rs\nrename to b.rs\n\
        index 0123456..89abcde 100644\n--- a/a.rs\n+++ b/b.rs\n@@ -9,3 +9,3 @@\n one\n-two\n+password = hunter2\n three\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\nindex 0123456..0000000\n--- a/gone\n+++ /dev/null\n\
        @@ -1 +0,0 @@\n-last\n\\ No newline at end of file\n";

    fn snapshot() -> Snapshot {
        Snapshot::of(&diff::parse(DIFF.into()).0)
    }

    #[test]
    fn a_snapshot_has_every_line_by_number_and_no_text() {
        let snapshot = snapshot();
        assert_eq!(snapshot.n_lines(), 5);
        let numbers = |lines: &[SeenLine]| lines.iter().map(|line| (line.number, line.changed)).collect::<Vec<_>>();
        assert_eq!(numbers(&snapshot.files[0].right), [(9, false), (10, true), (11, false)]);
        assert_eq!(numbers(&snapshot.files[0].left), [(10, true)]);
        assert_eq!(snapshot.files[1].new_path, None);
        let bytes = snapshot.to_bytes();
        assert!(memchr::memmem::find(&bytes, b"hunter2").is_none());
        assert_eq!(Snapshot::from_bytes(&bytes), Ok(snapshot));
    }

    #[test]
    fn the_end_of_a_file_without_a_line_feed_is_another_line() {
        assert_ne!(hash(b"last", true), hash(b"last", false));
    }

    #[test]
    fn other_versions_and_cut_bytes_are_refused() {
        let bytes = snapshot().to_bytes();
        assert_eq!(Snapshot::from_bytes(&[2]), Err(SnapshotError::Version(2)));
        for end in 0..bytes.len() {
            assert!(Snapshot::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        assert!(Snapshot::from_bytes(&[bytes, vec![0]].concat()).is_err());
        assert!(Snapshot::from_bytes(&[1, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_err());
    }

    fn line() -> impl Strategy<Value = SeenLine> {
        (any::<u32>(), any::<u128>(), any::<bool>()).prop_map(|(number, hash, changed)| SeenLine {
            number,
            hash,
            changed,
        })
    }

    fn lines(all_changed: bool) -> impl Strategy<Value = Vec<SeenLine>> {
        prop::collection::vec(line(), 0..20).prop_map(move |mut lines| {
            lines.sort_by_key(|line| line.number);
            lines.dedup_by_key(|line| line.number);
            lines.iter_mut().for_each(|line| line.changed |= all_changed);
            lines
        })
    }

    proptest! {
        #[test]
        fn encoding_round_trips(right in lines(false), left in lines(true), path in "[a-z]{1,9}") {
            let path = FilePath::parse(&path).ok();
            let file = FileSnapshot { new_path: path, old_path: None, blob: Some(String::new()), right, left };
            let snapshot = Snapshot { files: vec![file.clone(), FileSnapshot::default(), file] };
            prop_assert_eq!(Snapshot::from_bytes(&snapshot.to_bytes()), Ok(snapshot));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Snapshot::from_bytes(&bytes);
            let _ = Snapshot::from_bytes(&[&[1, 1][..], &bytes].concat());
        }

        #[test]
        fn no_damage_makes_it_panic(at in 0usize..400, value: u8) {
            let mut bytes = snapshot().to_bytes();
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok(read) = Snapshot::from_bytes(&bytes) {
                let _ = read.to_bytes();
            }
        }
    }
}
