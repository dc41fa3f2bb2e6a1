//! Parses the header of a file in a diff.
//!
//! ```text
//! diff --git a/old.rs b/new.rs
//! similarity index 90%
//! rename from old.rs
//! rename to new.rs
//! index 0123456..89abcde 100644
//! --- a/old.rs
//! +++ b/new.rs
//! ```
//!
//! Also parses merges (`diff --cc`), plain `diff -u` (only the last two lines) and `Submodule x 0123456..89abcde:`. A
//! binary patch is part of the header; its lines are validated and not decoded.

use std::borrow::Cow;
use std::ops::Range;

use crate::diff::Status;
use crate::diff::file_names;
use crate::diff::hunk::end_of_line;
use crate::diff::line_feeds::Feeds;

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<'a> {
    /// Path before the change; `None` for a new file.
    pub old_path: Option<Cow<'a, [u8]>>,
    /// Path after the change; `None` for a deleted file.
    pub new_path: Option<Cow<'a, [u8]>>,
    /// Added, deleted, modified, renamed or copied.
    pub status: Status,
    /// Mode before the change.
    pub old_mode: Option<u32>,
    /// Mode after the change.
    pub new_mode: Option<u32>,
    /// Blob before the change, as written; `None` when all zeros or absent.
    pub old_blob: Option<&'a [u8]>,
    /// Blob after the change, likewise.
    pub new_blob: Option<&'a [u8]>,
    /// True when the content is not text.
    pub binary: bool,
    /// Size of the new content, if a binary patch has it whole.
    pub binary_size: Option<u64>,
    /// The byte range of the header.
    pub span: Range<usize>,
    /// True when `---` and `+++` promise a hunk.
    pub(super) promises_hunk: bool,
    /// Why the header cannot be right.
    pub(super) damage: Option<Damage>,
    /// Lines of the header.
    pub(super) n_lines: u32,
}

impl Header<'_> {
    /// True when `after` adds what this header deletes, as git writes a file that becomes a link or the other way round.
    pub(crate) fn is_other_type(&self, after: &Self) -> bool {
        let kind = |mode: Option<u32>| mode.map(|mode| mode & 0o170_000);
        self.status == Status::Deleted
            && after.status == Status::Added
            && self.old_path == after.new_path
            && kind(self.old_mode) != kind(after.new_mode)
    }

    /// The path after the change or, for a deleted file, before it.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }
}

/// Why the header of a file cannot be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// A binary patch is truncated.
    BinaryCut,
    /// The input ends inside the header, or the header names content that does not follow.
    Cut,
    /// `/dev/null` on both sides: the file exists neither before nor after the change.
    NoFile,
}

/// The raw fields of a header, before they are resolved.
#[derive(Default)]
struct ExtendedHeader<'a> {
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    blobs: Option<(&'a [u8], &'a [u8])>,
    from: Option<Cow<'a, [u8]>>,
    to: Option<Cow<'a, [u8]>>,
    status: Option<Status>,
    old_side: Option<file_names::Side<'a>>,
    new_side: Option<file_names::Side<'a>>,
    binary: bool,
    binary_size: Option<u64>,
    binary_cut: bool,
    cut: bool,
}

/// The beginnings of the id of an empty blob, in both hash functions of git.
const EMPTY_BLOBS: [&[u8]; 2] = [b"e69de29", b"473a0f4"];

impl ExtendedHeader<'_> {
    /// True when more of the header must follow, and `rest`, the input after it, has none of it.
    ///
    /// Headers without lines are complete for new modes, renames, copies, and empty files. A header of its first line alone
    /// is what git writes for a file whose time stamp changed; at the end of the input it is taken for a cut one.
    fn is_cut(&self, rest: &[u8]) -> bool {
        if self.new_side.is_some() || self.binary || self.status == Some(Status::Deleted) && self.blobs.is_some() {
            return false;
        }
        if self.old_mode.is_some() && self.new_mode.is_none() && self.status != Some(Status::Deleted)
            || self.from.is_some() != self.to.is_some()
            || self.blobs.is_some_and(|(old, new)| old != new && !is_empty_blob(new))
        {
            return true;
        }
        let is_complete =
            self.blobs.is_some() || self.from.is_some() || self.status.is_none() && self.new_mode.is_some();
        let is_last = !rest.trim_ascii().contains(&b'\n') && !rest.starts_with(b"diff --");
        !is_complete && (is_last || rest.starts_with(b"--- "))
    }
}

fn is_empty_blob(blob: &[u8]) -> bool {
    (!blob.is_empty() && blob.iter().all(|&byte| byte == b'0'))
        || EMPTY_BLOBS.iter().any(|empty| blob.starts_with(empty))
}

/// The line at `at`, without its line ending.
pub(super) fn line_at(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    without_end(&rest[..end_of_line(rest, 0)])
}

/// Strips the line feed and a carriage return: git never writes one in a header, but mail programs do.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The index of the two dots in `old..new`.
fn dots(text: &[u8]) -> Option<usize> {
    memchr::memchr(b'.', text).filter(|&dot| text.get(dot + 1) == Some(&b'.'))
}

/// Parses a header at `at`, if there is one.
pub(super) fn read(text: &[u8], at: usize) -> Option<Header<'_>> {
    match text.get(at)? {
        b'd' => {
            let next = end_of_line(text, at);
            let line = without_end(&text[at..next]);
            if let Some(names) = line.strip_prefix(b"diff --git ") {
                return Some(git(text, at..next, names));
            }
            let merged = line.strip_prefix(b"diff --cc ").or_else(|| line.strip_prefix(b"diff --combined "))?;
            Some(combined(text, at..next, merged))
        }
        b'-' => plain(text, at),
        b'S' => submodule(text, at),
        _ => None,
    }
}

fn git<'a>(text: &'a [u8], first: Range<usize>, names: &'a [u8]) -> Header<'a> {
    let (mut extended, end, n_lines) = extended_header(text, first.end);
    extended.cut = extended.is_cut(&text[end..]);
    let old_side = extended.old_side.as_ref().and_then(Option::as_deref);
    let new_side = extended.new_side.as_ref().and_then(Option::as_deref);
    let (mut old, mut new) = match (&extended.from, &extended.to) {
        (Some(from), Some(to)) => (from.clone(), to.clone()),
        _ => {
            let pair = match (&extended.old_side, &extended.new_side) {
                (Some(Some(old)), Some(Some(new))) => Some((old.clone(), new.clone())),
                _ => file_names::split(names, old_side, new_side),
            };
            let (old, new) = pair.unwrap_or((Cow::Borrowed(names), Cow::Borrowed(names)));
            let (old_prefix, new_prefix) = file_names::prefixes(&old, &new);
            (behind(old, old_prefix), behind(new, new_prefix))
        }
    };
    if old.is_empty() {
        old = new.clone();
    } else if new.is_empty() {
        new = old.clone();
    }
    resolve(extended, (old, new), first.start..end, n_lines + 1)
}

fn combined<'a>(text: &'a [u8], first: Range<usize>, merged: &'a [u8]) -> Header<'a> {
    let (extended, end, n_lines) = extended_header(text, first.end);
    let path = file_names::bare(merged);
    // A merge that takes each hunk from one of its parents has no hunks after `+++`.
    Header { promises_hunk: false, ..resolve(extended, (path.clone(), path), first.start..end, n_lines + 1) }
}

/// Parses `---` and `+++` only before a hunk, as git does, since lines of dashes are common in prose.
fn plain(text: &[u8], at: usize) -> Option<Header<'_>> {
    let old = line_at(text, at).strip_prefix(b"--- ")?;
    let second = end_of_line(text, at);
    let new = line_at(text, second).strip_prefix(b"+++ ")?;
    let end = end_of_line(text, second);
    if !text.get(end..)?.starts_with(b"@@ -") {
        return None;
    }
    let (old, new) = (file_names::side(old), file_names::side(new));
    let path = match (&old, &new) {
        (Some(old), Some(new)) => behind(new.clone(), file_names::prefixes(old, new).1),
        (Some(lone), None) | (None, Some(lone)) => behind(lone.clone(), file_names::lone_prefix(lone)),
        (None, None) => Cow::Borrowed(&b""[..]),
    };
    let extended = ExtendedHeader { old_side: Some(old), new_side: Some(new), ..ExtendedHeader::default() };
    Some(resolve(extended, (path.clone(), path), at..end, 2))
}

/// Parses the output of `git diff --submodule=log`: the line and the commits below it.
fn submodule(text: &[u8], at: usize) -> Option<Header<'_>> {
    let line = line_at(text, at).strip_prefix(b"Submodule ")?;
    let (line, note) = match line.strip_suffix(b")") {
        Some(line) => {
            let open = memchr::memmem::rfind(line, b" (")?;
            (&line[..open], &line[open + 2..])
        }
        None => (line.strip_suffix(b":").unwrap_or(line), &b""[..]),
    };
    // In `(rewind):` the colon follows the note.
    let (line, note) = match memchr::memmem::rfind(line, b" (rewind)") {
        Some(open) if note.is_empty() => (&line[..open], &b"rewind"[..]),
        _ => (line, note),
    };
    let space = memchr::memrchr(b' ', line)?;
    let (path, range) = (&line[..space], &line[space + 1..]);
    let dots = memchr::memmem::find(range, b"..")?;
    let (old, new) = (&range[..dots], range[dots + 2..].strip_prefix(b".").unwrap_or(&range[dots + 2..]));
    let is_sha = |text: &[u8]| (4..=64).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit);
    if path.is_empty() || !is_sha(old) || !is_sha(new) {
        return None;
    }
    let mut end = end_of_line(text, at);
    let mut n_lines = 1;
    while matches!(text.get(end..end + 3), Some(b"  >" | b"  <")) {
        end = end_of_line(text, end);
        n_lines += 1;
    }
    let zeros = |sha: &[u8]| sha.iter().all(|&byte| byte == b'0');
    let status = match (note == b"new submodule" || zeros(old), note == b"submodule deleted" || zeros(new)) {
        (true, false) => Status::Added,
        (false, true) => Status::Deleted,
        _ => Status::Modified,
    };
    let mode = Some(0o160_000);
    let extended = ExtendedHeader {
        old_mode: mode.filter(|_| status != Status::Added),
        new_mode: mode.filter(|_| status != Status::Deleted),
        blobs: Some((old, new)),
        status: Some(status),
        ..ExtendedHeader::default()
    };
    let path = Cow::Borrowed(path);
    Some(resolve(extended, (path.clone(), path), at..end, n_lines))
}

/// Resolves names, status and modes from all lines of a header.
fn resolve<'a>(
    extended: ExtendedHeader<'a>,
    names: file_names::Pair<'a>,
    span: Range<usize>,
    n_lines: u32,
) -> Header<'a> {
    let status = extended.status.unwrap_or(match (&extended.old_side, &extended.new_side) {
        (Some(None), Some(Some(_))) => Status::Added,
        (Some(Some(_)), Some(None)) => Status::Deleted,
        _ => Status::Modified,
    });
    let real = |blob: &'a [u8]| blob.iter().any(|&byte| byte != b'0').then_some(blob);
    Header {
        old_path: (status != Status::Added).then_some(names.0),
        new_path: (status != Status::Deleted).then_some(names.1),
        status,
        old_mode: extended.old_mode.filter(|_| status != Status::Added),
        new_mode: extended.new_mode.filter(|_| status != Status::Deleted),
        old_blob: extended.blobs.and_then(|(old, _)| real(old)),
        new_blob: extended.blobs.and_then(|(_, new)| real(new)),
        binary: extended.binary,
        binary_size: extended.binary_size,
        span,
        promises_hunk: extended.new_side.is_some() && !extended.binary,
        damage: match (&extended.old_side, &extended.new_side) {
            _ if extended.binary_cut => Some(Damage::BinaryCut),
            (Some(None), Some(None)) => Some(Damage::NoFile),
            _ => extended.cut.then_some(Damage::Cut),
        },
        n_lines,
    }
}

/// Parses all header lines after the first; returns their end and number.
fn extended_header(text: &[u8], start: usize) -> (ExtendedHeader<'_>, usize, u32) {
    let mut extended = ExtendedHeader::default();
    let (mut at, mut n_lines) = (start, 0);
    let mut feeds = Feeds::starting_at(text, start);
    while at < text.len() && extended.new_side.is_none() && !extended.binary {
        let next = feeds.next().map_or(text.len(), |feed| feed + 1);
        let line = without_end(&text[at..next]);
        if line == b"GIT binary patch" {
            let (end, n_more) = binary_patch(text, next, &mut extended);
            return (extended, end, n_lines + 1 + n_more);
        }
        if !header_line(&mut extended, line, &text[next..]) {
            break;
        }
        (at, n_lines) = (next, n_lines + 1);
    }
    (extended, at, n_lines)
}

/// Parses one line; false when it is not part of a header.
fn header_line<'a>(extended: &mut ExtendedHeader<'a>, line: &'a [u8], rest: &[u8]) -> bool {
    // The keywords are short; a vector search for the space would cost more than it saves.
    let Some(space) = line.iter().take(16).position(|&byte| byte == b' ') else { return false };
    let (word, value) = (&line[..space], &line[space + 1..]);
    match word {
        b"index" => index(extended, value),
        b"---" if rest.starts_with(b"+++ ") || rest.starts_with(b"--- ") => {
            // A merge may name the file of every parent; the first one counts.
            extended.old_side.get_or_insert(file_names::side(value));
        }
        b"+++" if extended.old_side.is_some() => extended.new_side = Some(file_names::side(value)),
        b"old" if value.starts_with(b"mode ") => extended.old_mode = mode(&value[5..]),
        b"new" if value.starts_with(b"mode ") => extended.new_mode = mode(&value[5..]),
        b"new" if value.starts_with(b"file mode ") => {
            (extended.status, extended.new_mode) = (Some(Status::Added), mode(&value[10..]));
        }
        b"deleted" if value.starts_with(b"file mode ") => {
            (extended.status, extended.old_mode) = (Some(Status::Deleted), mode(first_of(&value[10..])));
        }
        b"mode" => {
            let Some(dots) = dots(value) else { return false };
            (extended.old_mode, extended.new_mode) = (mode(first_of(&value[..dots])), mode(&value[dots + 2..]));
        }
        b"rename" | b"copy" => {
            let (side, path) = if let Some(path) = value.strip_prefix(b"from ") {
                (&mut extended.from, path)
            } else if let Some(path) = value.strip_prefix(b"to ") {
                (&mut extended.to, path)
            } else {
                return false;
            };
            *side = Some(file_names::bare(path));
            extended.status = Some(if word == b"copy" { Status::Copied } else { Status::Renamed });
        }
        b"similarity" | b"dissimilarity" => return value.starts_with(b"index "),
        b"Binary" if value.starts_with(b"files ") && value.ends_with(b" differ") => extended.binary = true,
        _ => return false,
    }
    true
}

/// Parses `0123456..89abcde 100644`, or of a merge `0123456,789abcd..ef01234`.
fn index<'a>(extended: &mut ExtendedHeader<'a>, value: &'a [u8]) {
    let (blobs, digits) = match memchr::memchr(b' ', value) {
        Some(space) => (&value[..space], Some(&value[space + 1..])),
        None => (value, None),
    };
    if let Some(dots) = dots(blobs) {
        extended.blobs = Some((first_of(&blobs[..dots]), &blobs[dots + 2..]));
    }
    if let Some(mode) = digits.and_then(mode) {
        (extended.old_mode, extended.new_mode) = (extended.old_mode.or(Some(mode)), extended.new_mode.or(Some(mode)));
    }
}

fn mode(digits: &[u8]) -> Option<u32> {
    let fits = (1..=8).contains(&digits.len()) && digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
    fits.then(|| digits.iter().fold(0, |mode, digit| mode << 3 | u32::from(digit - b'0')))
}

/// The text before the first comma: in a merge, the value of the first parent.
fn first_of(list: &[u8]) -> &[u8] {
    list.iter().position(|&byte| byte == b',').map_or(list, |comma| &list[..comma])
}

/// Skips the one or two blocks of a binary patch; returns their end and number of lines.
fn binary_patch(text: &[u8], start: usize, extended: &mut ExtendedHeader<'_>) -> (usize, u32) {
    extended.binary = true;
    let (mut at, mut n_lines) = (start, 0);
    for block in 0..2 {
        let line = line_at(text, at);
        let literal = line.strip_prefix(b"literal ");
        let Some(size) = literal.or_else(|| line.strip_prefix(b"delta ")).and_then(size) else {
            extended.binary_cut |= block == 0;
            break;
        };
        if block == 0 && literal.is_some() {
            extended.binary_size = Some(size);
        }
        (at, n_lines) = (end_of_line(text, at), n_lines + 1);
        while is_base85_line(line_at(text, at)) {
            (at, n_lines) = (end_of_line(text, at), n_lines + 1);
        }
        if !line_at(text, at).is_empty() || at == text.len() {
            extended.binary_cut = true;
            break;
        }
        (at, n_lines) = (end_of_line(text, at), n_lines + 1);
    }
    (at, n_lines)
}

fn size(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// True for a length character followed by five characters per four bytes.
fn is_base85_line(line: &[u8]) -> bool {
    let n_bytes = match line.first() {
        Some(&letter @ b'A'..=b'Z') => usize::from(letter - b'A') + 1,
        Some(&letter @ b'a'..=b'z') => usize::from(letter - b'a') + 27,
        _ => return false,
    };
    line.len() == 1 + n_bytes.div_ceil(4) * 5
}

fn behind(name: Cow<'_, [u8]>, prefix: usize) -> Cow<'_, [u8]> {
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.get(prefix..).unwrap_or_default()),
        Cow::Owned(mut name) => {
            name.drain(..prefix.min(name.len()));
            Cow::Owned(name)
        }
    }
}
