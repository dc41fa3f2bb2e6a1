//! Change analysis: the category, language and size of each file, and the risky areas it touches.
//!
//! Everything is derived from the diff alone. A risk says that the change touches a sensitive area, not that it is wrong.
//!
//! ```text
//! source  Rust     +3  -1  src/a.rs
//! 1 file, +3 -1
//! Risks
//!   auth  src/a.rs:10
//! ```

mod category;
mod declaration;
mod generated;
pub mod json;
mod keywords;
mod merged_ranges;
mod output_folder;
mod path_parts;
mod risk;
mod stream;
mod text;

use std::ops::Range;

use memchr::memmem;

use crate::analysis::merged_ranges::MergedRanges;
use crate::analysis::path_parts::PathParts;
use crate::diff::hunk;
use crate::diff::line_marks::Marks;
use crate::diff::{DiffEvent, Events, FileDiff, Header, HunkEvent, HunkHead, LineKind, Lines, Refused, Status};
use crate::language::Language;
use crate::path::RepoPath;

pub use category::{Category, category};
pub use generated::{is_generated, was_generated};
pub use output_folder::manifests_of_output;
pub use risk::{Risk, RiskKind};
pub use stream::{Analyzer, analyze_reader};
pub use text::render;

/// The result of analyzing a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    /// The files, in the order of the diff.
    pub files: Vec<AnalyzedFile>,
    /// Risky areas, in the order of the files; at most one per kind and file.
    pub risks: Vec<Risk>,
    /// Parts of the diff that could not be parsed.
    pub refused: Vec<Refused>,
}

/// One file of the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalyzedFile {
    /// The path after the change or, for a deleted file, before it.
    pub path: RepoPath,
    /// The path before the change, if it differs.
    pub old_path: Option<RepoPath>,
    /// Added, deleted, modified, renamed or copied.
    pub status: Status,
    /// The role of the file, derived from its path.
    pub category: Category,
    /// The language, detected by the file name.
    pub language: Option<Language>,
    /// Number of added lines.
    pub n_added: u32,
    /// Number of removed lines.
    pub n_removed: u32,
    /// True when the content is not text.
    pub binary: bool,
    /// True for generated files: lock files, vendored and compiled code.
    pub generated: bool,
}

/// Looks up whether the repository says that a path is generated, by attribute or manifest; `None` where it does not say.
pub type GeneratedAttribute<'a> = &'a dyn Fn(&[u8]) -> Option<bool>;

/// The lookup for a repository without attributes.
const NO_ATTRIBUTE: GeneratedAttribute<'static> = &|_| None;

/// Analyzes a parsed diff.
#[must_use]
pub fn analyze(files: &[FileDiff]) -> Analysis {
    analyze_with(files, NO_ATTRIBUTE)
}

/// Analyzes a parsed diff of a repository with a `linguist-generated` attribute.
#[must_use]
pub fn analyze_with(files: &[FileDiff], attribute: GeneratedAttribute<'_>) -> Analysis {
    let mut analysis = Analysis::default();
    let mut added = MergedRanges::default();
    for file in files {
        added.clear();
        file.added_ranges().for_each(|range| added.push(range));
        analysis.take(&section_of(file, &added), attribute);
    }
    analysis
}

fn section_of<'a>(file: &'a FileDiff, added: &'a MergedRanges) -> FileSection<'a> {
    FileSection {
        path: file.path().as_bytes(),
        old_path: file.old_path.as_ref().map(RepoPath::as_bytes),
        status: file.status,
        binary: file.binary,
        binary_size: file.binary_size,
        n_added: file.n_added,
        n_removed: file.n_removed,
        text: file.text(),
        hunks: file.hunks_range(),
        added,
    }
}

/// Analyzes a diff in one pass, without keeping its lines. The result equals that of [`analyze`] for the same bytes.
#[must_use]
pub fn analyze_bytes(text: &[u8]) -> Analysis {
    Analyzer::new(NO_ATTRIBUTE).finish(text)
}

/// A file whose hunks are still being read.
struct OpenFile<'a> {
    header: Header<'a>,
    n_added: u32,
    n_removed: u32,
    hunks: Option<Range<usize>>,
}

impl<'a> OpenFile<'a> {
    fn new(header: Header<'a>) -> Self {
        Self { header, n_added: 0, n_removed: 0, hunks: None }
    }

    fn take(&mut self, hunk: &HunkEvent<'_>, added: &mut MergedRanges) {
        let start = self.header.span.start;
        added.push(hunk.added.start - start..hunk.added.end - start);
        self.n_added = self.n_added.saturating_add(hunk.n_added);
        self.n_removed = self.n_removed.saturating_add(hunk.n_removed);
        self.hunks.get_or_insert(hunk.span.clone()).end = hunk.span.end;
    }

    /// True when the next header makes this file one of another type.
    fn is_followed_by_other_type(&self, next: &Header<'_>) -> bool {
        let end = self.hunks.as_ref().map_or(self.header.span.end, |hunks| hunks.end);
        end == next.span.start && self.header.is_other_type(next)
    }

    fn change_type(&mut self, after: Header<'a>) {
        let header = &mut self.header;
        (header.new_path, header.status) = (after.new_path, Status::Modified);
        (header.binary, header.binary_size) = (header.binary || after.binary, after.binary_size);
    }

    fn section<'p>(&'p self, text: &'p [u8], added: &'p MergedRanges) -> FileSection<'p> {
        let start = self.header.span.start;
        let hunks = self.hunks.clone().unwrap_or(self.header.span.end..self.header.span.end);
        FileSection {
            path: self.header.path(),
            old_path: self.header.old_path.as_deref(),
            status: self.header.status,
            binary: self.header.binary,
            binary_size: self.header.binary_size,
            n_added: self.n_added,
            n_removed: self.n_removed,
            text: &text[start..hunks.end],
            hunks: hunks.start - start..hunks.end - start,
            added,
        }
    }
}

/// The section of a diff about one file: its header fields and its bytes.
///
/// Lines are not stored but parsed again on demand, which few files need.
struct FileSection<'a> {
    path: &'a [u8],
    old_path: Option<&'a [u8]>,
    status: Status,
    binary: bool,
    binary_size: Option<u64>,
    n_added: u32,
    n_removed: u32,
    /// From the first line of the header to the last line of the last hunk.
    text: &'a [u8],
    /// The range of the hunks in `text`.
    hunks: Range<usize>,
    /// The ranges of the added lines in `text`.
    added: &'a MergedRanges,
}

impl<'a> FileSection<'a> {
    /// The bytes of all hunks, headers included.
    fn hunk_bytes(&self) -> &'a [u8] {
        self.text.get(self.hunks.clone()).unwrap_or_default()
    }

    /// The range of each hunk's body in the hunk bytes, and its lines.
    fn hunk_lines(&self) -> impl Iterator<Item = (Range<usize>, Lines<'a>)> {
        let start = self.hunks.start;
        Events::new(self.text).filter_map(move |event| match event {
            DiffEvent::Hunk(hunk) => {
                let body = hunk.span.end - hunk.body.len()..hunk.span.end;
                Some((body.start - start..body.end - start, hunk.lines()))
            }
            DiffEvent::File(_) | DiffEvent::Refused(_) => None,
        })
    }

    /// The header of the first hunk and the bytes after it.
    fn first_hunk(&self) -> Option<(HunkHead<'a>, &'a [u8])> {
        hunk_at(self.hunk_bytes(), 0)
    }

    /// The number of the line at an offset of the hunk bytes: after the change or, for a removed line, before it.
    fn line_number_at(&self, at: usize) -> Option<u32> {
        let hunks = self.hunk_bytes();
        // No line of a hunk's body begins with `@`, so the last such line before the offset is its header.
        let mut ats = memchr::memrchr_iter(b'@', hunks.get(..at)?);
        let start = ats.find(|&at| at > 0 && hunks[at - 1] == b'\n').unwrap_or(0);
        let (head, rest) = hunk_at(hunks, start)?;
        let body_start = hunks.len() - rest.len();
        if head.n_parents > 1 {
            let n_before = memchr::memchr_iter(b'\n', hunks.get(body_start..at)?).count();
            let line = Lines::new(&head, rest).nth(n_before)?;
            return line.new.or(line.old);
        }
        Some(last_line_number(&head, hunks.get(body_start - 1..=at)?))
    }

    /// The number of the first changed line.
    fn first_changed_line(&self) -> Option<u32> {
        let (head, rest) = self.first_hunk()?;
        let line = Lines::new(&head, rest).find(|line| line.kind != LineKind::Context)?;
        line.new.or(line.old)
    }
}

/// The number of the last line in a prefix of a hunk's body; `lines` begins with the line feed of the hunk's header.
fn last_line_number(head: &HunkHead<'_>, lines: &[u8]) -> u32 {
    let Marks { n_added, n_removed, n_context, n_other } = Marks::of_text(lines);
    // Bare line feeds are context lines, too; `\ No newline` markers are not lines.
    let n_remarks = if n_other == 0 { 0 } else { memmem::find_iter(lines, "\n\\").count() };
    let n_context = n_context + n_other.saturating_sub(u32::try_from(n_remarks).unwrap_or(u32::MAX));
    let last = memchr::memrchr(b'\n', lines).and_then(|feed| lines.get(feed + 1));
    let (start, n_lines) = if last == Some(&b'-') { (head.old_start, n_removed) } else { (head.new_start, n_added) };
    start.saturating_add(n_lines).saturating_add(n_context).saturating_sub(1)
}

/// Parses the header of the hunk at an offset; returns it with the bytes after it.
fn hunk_at(hunks: &[u8], start: usize) -> Option<(HunkHead<'_>, &[u8])> {
    let text = hunks.get(start..)?;
    let feed = memchr::memchr(b'\n', text)?;
    let line = text[..feed].strip_suffix(b"\r").unwrap_or(&text[..feed]);
    Some((hunk::head(line)?, &text[feed + 1..]))
}

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Number of files.
    pub n_files: u64,
    /// Number of added lines.
    pub n_added: u64,
    /// Number of removed lines.
    pub n_removed: u64,
}

impl Analysis {
    /// The size of the change.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.files.iter().fold(Totals::default(), |totals, file| Totals {
            n_files: totals.n_files + 1,
            n_added: totals.n_added + u64::from(file.n_added),
            n_removed: totals.n_removed + u64::from(file.n_removed),
        })
    }

    fn take(&mut self, part: &FileSection<'_>, attribute: GeneratedAttribute<'_>) {
        let name = PathParts::new(part.path);
        let language = Language::of_path(part.path);
        let generated = attribute(part.path).unwrap_or_else(|| generated::is_generated_section(part, &name));
        let file = AnalyzedFile {
            path: RepoPath::from_bytes(part.path),
            old_path: part.old_path.filter(|&old| old != part.path).map(RepoPath::from_bytes),
            status: part.status,
            category: category::of_name(&name, language),
            language,
            n_added: part.n_added,
            n_removed: part.n_removed,
            binary: part.binary,
            generated,
        };
        risk::find(part, &name, &file, &mut self.risks);
        self.files.push(file);
    }
}

#[cfg(test)]
mod tests;
