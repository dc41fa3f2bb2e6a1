//! Git's unified diff, read by bytes.
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
//! The hunk header's counts decide where a hunk ends, never the look of a line.

use std::ops::Range;
use std::sync::Arc;

use crate::path::RepoPath;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The file is new.
    Added,
    /// The file is gone.
    Deleted,
    /// The file's content or mode changed.
    Modified,
    /// The file has a new path, and perhaps new content.
    Renamed,
    /// The file is a copy of another, perhaps with new content.
    Copied,
}

/// What happened to a line.
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
    /// What happened to it.
    pub kind: LineKind,
    /// Its number before the change, from 1; `None` for an added line.
    pub old: Option<u32>,
    /// Its number after the change, from 1; `None` for a removed line.
    pub new: Option<u32>,
    /// Its bytes without the diff's mark and without the line feed. A carriage return stays.
    pub text: &'a [u8],
    /// False when `\ No newline at end of file` follows.
    pub newline: bool,
}

/// One block of changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line before the change; 0 when there is none.
    pub old_start: u32,
    /// Number of lines before the change.
    pub old_len: u32,
    /// First line after the change; 0 when there is none.
    pub new_start: u32,
    /// Number of lines after the change.
    pub new_len: u32,
    /// How many versions the change merges: 1, or more in a combined diff.
    pub n_parents: u8,
    header: Range<usize>,
    body: Range<usize>,
}

/// What a diff says of one file.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// Path before the change; `None` for a new file.
    pub old_path: Option<RepoPath>,
    /// Path after the change; `None` for a deleted file.
    pub new_path: Option<RepoPath>,
    /// What happened to the file.
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
    /// The blocks of changed lines.
    pub hunks: Vec<Hunk>,
    /// Number of added lines.
    pub n_added: u32,
    /// Number of removed lines.
    pub n_removed: u32,
    text: Arc<Vec<u8>>,
}

/// A part of the input that could not be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The line of the input, from 1.
    pub line_number: u32,
    /// What was wrong, for people.
    pub problem: String,
}

impl FileDiff {
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
            rest: self.text.get(hunk.body.clone()).unwrap_or_default(),
            old: hunk.old_start,
            new: hunk.new_start,
            n_parents: usize::from(hunk.n_parents),
        }
    }

    /// What stands behind the second `@@` of a hunk's header: usually the enclosing function.
    #[must_use]
    pub fn section(&self, hunk: &Hunk) -> &[u8] {
        self.text.get(hunk.header.clone()).unwrap_or_default()
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

    /// True for a link to another repository.
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
        let (line, rest) = split_line(self.rest)?;
        let no_newline = rest.starts_with(b"\\");
        self.rest = if no_newline { split_line(rest).map_or(&[][..], |(_, rest)| rest) } else { rest };

        let marks = line.get(..self.n_parents).unwrap_or(line);
        let text = line.get(self.n_parents..).unwrap_or_default();
        let kind = if marks.contains(&b'-') {
            LineKind::Removed
        } else if marks.contains(&b'+') {
            LineKind::Added
        } else {
            LineKind::Context
        };
        let old = (kind != LineKind::Added).then_some(self.old);
        let new = (kind != LineKind::Removed).then_some(self.new);
        self.old += u32::from(old.is_some());
        self.new += u32::from(new.is_some());
        Some(Line { kind, old, new, text, newline: !no_newline })
    }
}

/// Cuts the first line off; the line feed belongs to neither part.
fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    if text.is_empty() {
        return None;
    }
    match memchr::memchr(b'\n', text) {
        Some(end) => Some((&text[..end], &text[end + 1..])),
        None => Some((text, &[])),
    }
}

/// Reads a diff. What cannot be understood is given back with its line; the rest is read all the same.
#[must_use]
pub fn parse(text: Vec<u8>) -> (Vec<FileDiff>, Vec<Refused>) {
    let mut parser = Parser { text: Arc::new(text), at: 0, line_number: 0, files: Vec::new(), refused: Vec::new() };
    parser.run();
    (parser.files, parser.refused)
}

struct Parser {
    text: Arc<Vec<u8>>,
    at: usize,
    line_number: u32,
    files: Vec<FileDiff>,
    refused: Vec<Refused>,
}

impl Parser {
    fn run(&mut self) {
        let text = Arc::clone(&self.text);
        while let Some((line, _)) = split_line(&text[self.at..]) {
            self.step(line.len());
            if let Some(names) = line.strip_prefix(b"diff --git ") {
                let (old, new) = split_names(names);
                self.files.push(FileDiff {
                    old_path: old,
                    new_path: new,
                    status: Status::Modified,
                    old_mode: None,
                    new_mode: None,
                    old_blob: None,
                    new_blob: None,
                    binary: false,
                    hunks: Vec::new(),
                    n_added: 0,
                    n_removed: 0,
                    text: Arc::clone(&text),
                });
            } else if let Some(file) = self.files.last_mut() {
                if line.starts_with(b"@@ ") {
                    self.hunk(line, &text);
                } else {
                    header_line(file, line);
                }
            }
        }
    }

    fn step(&mut self, len: usize) {
        self.at = (self.at + len + 1).min(self.text.len());
        self.line_number += 1;
    }

    fn hunk(&mut self, line: &[u8], text: &[u8]) {
        let Some(mut hunk) = hunk_header(line) else {
            let problem = "this hunk header cannot be read".to_owned();
            self.refused.push(Refused { line_number: self.line_number, problem });
            return;
        };
        let header_end = self.at - 1;
        hunk.header = header_end - hunk.header.len()..header_end;
        let start = self.at;
        let (mut old_left, mut new_left) = (hunk.old_len, hunk.new_len);
        let (mut added, mut removed) = (0, 0);
        while let Some((line, _)) = split_line(&text[self.at..]) {
            match line.first() {
                Some(b'\\') => {}
                _ if old_left == 0 && new_left == 0 => break,
                Some(b'+') if new_left > 0 => (new_left, added) = (new_left - 1, added + 1),
                Some(b'-') if old_left > 0 => (old_left, removed) = (old_left - 1, removed + 1),
                Some(b' ') | None if old_left > 0 && new_left > 0 => {
                    (old_left, new_left) = (old_left - 1, new_left - 1);
                }
                _ => break,
            }
            self.step(line.len());
        }
        hunk.body = start..self.at;
        if let Some(file) = self.files.last_mut() {
            file.n_added += added;
            file.n_removed += removed;
            file.hunks.push(hunk);
        }
    }
}

fn header_line(file: &mut FileDiff, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let mode = |digits: &str| u32::from_str_radix(digits.trim(), 8).ok();
    if let Some(digits) = text.strip_prefix("new file mode ") {
        (file.status, file.old_path, file.new_mode) = (Status::Added, None, mode(digits));
    } else if let Some(digits) = text.strip_prefix("deleted file mode ") {
        (file.status, file.new_path, file.old_mode) = (Status::Deleted, None, mode(digits));
    } else if let Some(digits) = text.strip_prefix("old mode ") {
        file.old_mode = mode(digits);
    } else if let Some(digits) = text.strip_prefix("new mode ") {
        file.new_mode = mode(digits);
    } else if let Some(path) = line.strip_prefix(b"rename from ") {
        (file.status, file.old_path) = (Status::Renamed, Some(RepoPath::from_bytes(path)));
    } else if let Some(path) = line.strip_prefix(b"rename to ") {
        file.new_path = Some(RepoPath::from_bytes(path));
    } else if let Some(blobs) = text.strip_prefix("index ") {
        let mut parts = blobs.split([' ', '.']).filter(|part| !part.is_empty());
        let real = |blob: &str| blob.bytes().any(|byte| byte != b'0').then(|| blob.to_owned());
        file.old_blob = parts.next().and_then(real);
        file.new_blob = parts.next().and_then(real);
        if let Some(digits) = parts.next() {
            (file.old_mode, file.new_mode) = (mode(digits), mode(digits));
        }
    } else if line.starts_with(b"Binary files ") || line == b"GIT binary patch" {
        file.binary = true;
    }
}

fn split_names(names: &[u8]) -> (Option<RepoPath>, Option<RepoPath>) {
    let half = names.len() / 2;
    let (old, new) = (names.get(2..half).unwrap_or_default(), names.get(half + 3..).unwrap_or_default());
    (Some(RepoPath::from_bytes(old)), Some(RepoPath::from_bytes(new)))
}

fn hunk_header(line: &[u8]) -> Option<Hunk> {
    let text = std::str::from_utf8(line).ok()?;
    let (ranges, section) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let span = |text: &str| -> Option<(u32, u32)> {
        let (start, len) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, len.parse().ok()?))
    };
    let ((old_start, old_len), (new_start, new_len)) = (span(old)?, span(new)?);
    let section = section.strip_prefix(' ').unwrap_or(section);
    Some(Hunk { old_start, old_len, new_start, new_len, n_parents: 1, header: 0..section.len(), body: 0..0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_content() {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@ fn f()\n--- a/y\n keep\n";
        let (files, refused) = parse(text.as_bytes().to_vec());
        assert_eq!(refused, []);
        assert_eq!(files[0].removed().collect::<Vec<_>>(), [(1, &b"-- a/y"[..])]);
        assert_eq!(files[0].section(&files[0].hunks[0]), b"fn f()");
    }
}
