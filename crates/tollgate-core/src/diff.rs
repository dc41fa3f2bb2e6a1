//! Parser for git's unified diff, working on bytes.
//!
//! ```text
//! diff --git a/src/a.rs b/src/a.rs
//! index 0123456..89abcde 100644
//! --- a/src/a.rs
//! +++ b/src/a.rs
//! @@ -1,2 +1,2 @@ fn main() {
//!  context
//! -removed
//! +added
//! ```
//!
//! The counts of the hunk header determine the end of a hunk, never the look of a line. Merges (`diff --cc`), binary
//! patches, submodules, plain `diff -u`, mails of `git format-patch` and the output of `git log -p` are supported, too.
//! Content and names are bytes of any encoding; nothing is decoded, applied or looked up.
//!
//! [`parse`] builds a tree; [`Events`] streams over the input without allocating.

mod event;
mod file_names;
mod header;
pub(crate) mod hunk;
pub(crate) mod line_feeds;
pub(crate) mod line_marks;
pub(crate) mod mail;
mod print;
mod redact;
pub mod rows;

use std::ops::Range;
use std::sync::Arc;

use crate::path::RepoPath;

pub(crate) use event::Resume;
pub use event::{COLOURED, DiffEvent, Events, HunkEvent};
pub use header::Header;
pub use hunk::HunkHead;
pub use mail::files_in_text;
pub use print::print;
pub use redact::redact;

/// The status of a file in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The file is new.
    Added,
    /// The file is deleted.
    Deleted,
    /// The file's content or mode changed.
    Modified,
    /// The file has a new path, and possibly new content.
    Renamed,
    /// The file is a copy of another, possibly with new content.
    Copied,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Context,
    /// Only after the change.
    Added,
    /// Only before the change.
    Removed,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Added, removed or context.
    pub kind: LineKind,
    /// Its number before the change, from 1; `None` for an added line. In a merge, its number in the first parent.
    pub old: Option<u32>,
    /// Its number after the change, from 1; `None` for a removed line.
    pub new: Option<u32>,
    /// Its bytes without the diff marker and the line feed. A carriage return is kept.
    pub text: &'a [u8],
    /// False when `\ No newline at end of file` follows.
    pub newline: bool,
}

/// One block of changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line before the change (in a merge: in the first parent); 0 when there is none.
    pub old_start: u32,
    /// Number of lines before the change.
    pub old_len: u32,
    /// First line after the change; 0 when there is none.
    pub new_start: u32,
    /// Number of lines after the change.
    pub new_len: u32,
    /// The number of parents: 1, or more in a combined diff.
    pub n_parents: u8,
    has_bare_blanks: bool,
    between: Span,
    head: Span,
    section: Span,
    body: Span,
}

/// One file of a diff.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// Path before the change; `None` for a new file.
    pub old_path: Option<RepoPath>,
    /// Path after the change; `None` for a deleted file.
    pub new_path: Option<RepoPath>,
    /// Added, deleted, modified, renamed or copied.
    pub status: Status,
    /// Mode before the change, e.g. `0o100644`.
    pub old_mode: Option<u32>,
    /// Mode after the change.
    pub new_mode: Option<u32>,
    /// Blob before the change, as the `index` line has it; `None` when all zeros or absent.
    pub old_blob: Option<String>,
    /// Blob after the change, likewise.
    pub new_blob: Option<String>,
    /// True when the content is not text.
    pub binary: bool,
    /// Size of the new content, when it is binary and the diff has it whole.
    pub binary_size: Option<u64>,
    /// The blocks of changed lines.
    pub hunks: Vec<Hunk>,
    /// Number of added lines.
    pub n_added: u32,
    /// Number of removed lines.
    pub n_removed: u32,
    before: Span,
    header: Span,
    after: Span,
    text: Arc<Vec<u8>>,
}

/// A part of the input that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The line of the input, from 1.
    pub line_number: u32,
    /// A human-readable message.
    pub problem: String,
}

impl FileDiff {
    /// A file without lines, known only by its paths.
    #[must_use]
    pub fn named(old_path: Option<RepoPath>, new_path: Option<RepoPath>, status: Status) -> Self {
        Self {
            old_path,
            new_path,
            status,
            old_mode: None,
            new_mode: None,
            old_blob: None,
            new_blob: None,
            binary: false,
            binary_size: None,
            hunks: Vec::new(),
            n_added: 0,
            n_removed: 0,
            before: Span::default(),
            header: Span::default(),
            after: Span::default(),
            text: Arc::default(),
        }
    }

    /// The path after the change or, for a deleted file, before it.
    #[must_use]
    pub fn path(&self) -> &RepoPath {
        static NOWHERE: std::sync::LazyLock<RepoPath> = std::sync::LazyLock::new(|| RepoPath::from_bytes(b""));
        self.new_path.as_ref().or(self.old_path.as_ref()).unwrap_or(&NOWHERE)
    }

    /// The lines of one of this file's hunks.
    #[must_use]
    pub fn lines<'a>(&'a self, hunk: &Hunk) -> Lines<'a> {
        Lines {
            rest: hunk.body.of(&self.text),
            old: hunk.old_start,
            new: hunk.new_start,
            n_parents: usize::from(hunk.n_parents),
        }
    }

    /// The bytes of a hunk as in the diff, with the marker of every line.
    ///
    /// For searches that are faster over one block than line by line.
    #[must_use]
    pub fn body(&self, hunk: &Hunk) -> &[u8] {
        hunk.body.of(&self.text)
    }

    /// The text after the second `@@` of a hunk's header: usually the enclosing function.
    #[must_use]
    pub fn section(&self, hunk: &Hunk) -> &[u8] {
        let section = hunk.section.of(&self.text);
        section.strip_prefix(b" ").unwrap_or(section)
    }

    /// Every added line with its number after the change.
    pub fn added(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let lines = self.hunks.iter().flat_map(|hunk| self.lines(hunk));
        lines.filter(|line| line.kind == LineKind::Added).filter_map(|line| Some((line.new?, line.text)))
    }

    /// Every removed line with its number before the change.
    pub fn removed(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let lines = self.hunks.iter().flat_map(|hunk| self.lines(hunk));
        lines.filter(|line| line.kind == LineKind::Removed).filter_map(|line| Some((line.old?, line.text)))
    }

    /// True for a submodule.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        self.new_mode == Some(0o160_000) || self.old_mode == Some(0o160_000)
    }
}

/// The lines of a hunk, in order.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    old: u32,
    new: u32,
    n_parents: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        self.next_with_marks().map(|(_, line)| line)
    }
}

impl<'a> Lines<'a> {
    /// The lines after a hunk header, regardless of its counts.
    pub(crate) fn new(head: &HunkHead<'_>, body: &'a [u8]) -> Self {
        Self { rest: body, old: head.old_start, new: head.new_start, n_parents: usize::from(head.n_parents) }
    }

    fn next_with_marks(&mut self) -> Option<(&'a [u8], Line<'a>)> {
        let (line, rest) = split_line(self.rest)?;
        let no_newline = rest.starts_with(b"\\");
        self.rest = rest;
        // Git writes one `\ No newline` marker; further ones are skipped as well.
        while self.rest.starts_with(b"\\") {
            self.rest = split_line(self.rest).map_or(&[][..], |(_, rest)| rest);
        }

        let (marks, text) = line.split_at(self.n_parents.min(line.len()));
        let kind = if marks.contains(&b'-') {
            LineKind::Removed
        } else if marks.contains(&b'+') {
            LineKind::Added
        } else {
            LineKind::Context
        };
        // In a merge, `old` counts the lines of the first parent: its removed lines and those it shares with the result.
        let in_first = match kind {
            LineKind::Removed => marks.first() == Some(&b'-'),
            LineKind::Added | LineKind::Context => marks.first() != Some(&b'+'),
        };
        let old = in_first.then_some(self.old);
        let new = (kind != LineKind::Removed).then_some(self.new);
        self.old = self.old.saturating_add(u32::from(old.is_some()));
        self.new = self.new.saturating_add(u32::from(new.is_some()));
        Some((marks, Line { kind, old, new, text, newline: !no_newline }))
    }
}

impl<'a> HunkEvent<'a> {
    /// The lines of this hunk.
    #[must_use]
    pub fn lines(&self) -> Lines<'a> {
        Lines::new(&self.head, self.body)
    }
}

/// Splits off the first line; the line feed belongs to neither part.
fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    match memchr::memchr(b'\n', text) {
        Some(end) => Some((&text[..end], &text[end + 1..])),
        None => Some((text, &[])),
    }
}

/// Larger inputs are refused as a whole, because offsets are stored in 32 bits.
pub const MAX_BYTES: usize = u32::MAX as usize;

/// Parses a diff. Malformed parts are returned with their line; everything else is parsed nevertheless.
#[must_use]
pub fn parse(text: Vec<u8>) -> (Vec<FileDiff>, Vec<Refused>) {
    if text.len() >= MAX_BYTES {
        let problem = format!("expected less than 4 GiB, found {} bytes", text.len());
        return (Vec::new(), vec![Refused { line_number: 1, problem }]);
    }
    let text = Arc::new(text);
    let (mut files, mut refused) = (Vec::<FileDiff>::new(), Vec::new());
    let mut end = 0;
    for event in Events::new(&text) {
        match event {
            DiffEvent::File(header) => {
                let between = Span::new(&(end..header.span.start));
                let start = std::mem::replace(&mut end, header.span.end);
                let file = FileDiff::of_header(&header, between, &text);
                match files.last_mut() {
                    Some(before) if start == header.span.start && before.is_other_type(&file) => {
                        before.change_type(file);
                        end = start;
                    }
                    _ => files.push(file),
                }
            }
            DiffEvent::Hunk(hunk) => {
                let between = Span::new(&(end..hunk.span.start));
                end = hunk.span.end;
                if let Some(file) = files.last_mut() {
                    file.push(&hunk, between);
                }
            }
            DiffEvent::Refused(problem) => refused.push(problem),
        }
    }
    if let Some(file) = files.last_mut() {
        file.after = Span::new(&(end..text.len()));
    }
    (files, refused)
}

/// A byte range of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn new(range: &Range<usize>) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: narrow(range.start), end: narrow(range.end) }
    }

    fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl FileDiff {
    fn of_header(header: &Header<'_>, before: Span, text: &Arc<Vec<u8>>) -> Self {
        let path = |path: &Option<std::borrow::Cow<'_, [u8]>>| path.as_deref().map(RepoPath::from_bytes);
        let blob = |blob: Option<&[u8]>| blob.map(|blob| String::from_utf8_lossy(blob).into_owned());
        Self {
            old_path: path(&header.old_path),
            new_path: path(&header.new_path),
            status: header.status,
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            old_blob: blob(header.old_blob),
            new_blob: blob(header.new_blob),
            binary: header.binary,
            binary_size: header.binary_size,
            hunks: Vec::new(),
            n_added: 0,
            n_removed: 0,
            before,
            header: Span::new(&header.span),
            after: Span::default(),
            text: Arc::clone(text),
        }
    }

    /// True when `after` adds what this file deletes, as git writes a file that becomes a link or the other way round.
    fn is_other_type(&self, after: &Self) -> bool {
        let kind = |mode: Option<u32>| mode.map(|mode| mode & 0o170_000);
        self.status == Status::Deleted
            && after.status == Status::Added
            && self.old_path == after.new_path
            && kind(self.old_mode) != kind(after.new_mode)
    }

    /// Turns a deleted file into one of another type; the header of the new one is part of the text between hunks.
    fn change_type(&mut self, after: Self) {
        (self.new_path, self.new_mode, self.new_blob) = (after.new_path, after.new_mode, after.new_blob);
        (self.status, self.binary) = (Status::Modified, self.binary || after.binary);
        self.binary_size = after.binary_size;
    }

    /// The section of the input about this file, from its header to its last hunk.
    pub(crate) fn text(&self) -> &[u8] {
        let end = self.hunks.last().map_or(self.header.end, |hunk| hunk.body.end);
        Span { start: self.header.start, end }.of(&self.text)
    }

    /// The range of the hunks in [`Self::text`].
    pub(crate) fn hunks_range(&self) -> Range<usize> {
        let start = self.hunks.first().map_or(self.header.end, |hunk| hunk.head.start);
        (start - self.header.start) as usize..self.text().len()
    }

    /// For each hunk, a range in [`Self::text`] that covers its added lines.
    pub(crate) fn added_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let start = self.header.start;
        self.hunks.iter().map(move |hunk| (hunk.body.start - start) as usize..(hunk.body.end - start) as usize)
    }

    fn push(&mut self, hunk: &HunkEvent<'_>, between: Span) {
        let HunkEvent { head, span, .. } = hunk;
        let body_start = span.end - hunk.body.len();
        let head_end = span.start + header::without_end(&self.text[span.start..body_start]).len();
        self.n_added = self.n_added.saturating_add(hunk.n_added);
        self.n_removed = self.n_removed.saturating_add(hunk.n_removed);
        self.hunks.push(Hunk {
            old_start: head.old_start,
            old_len: head.old_len,
            new_start: head.new_start,
            new_len: head.new_len,
            n_parents: head.n_parents,
            has_bare_blanks: hunk.has_bare_blanks,
            between,
            head: Span::new(&(span.start..body_start)),
            section: Span::new(&(head_end - head.section.len()..head_end)),
            body: Span::new(&(body_start..span.end)),
        });
    }
}

#[cfg(test)]
mod tests;
