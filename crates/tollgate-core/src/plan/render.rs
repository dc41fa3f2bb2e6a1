//! Renders planned units as a patch with line numbers for a model.
//!
//! ```text
//! === modified, Rust: src/gate.rs
//! 10|impl Gate {
//! ...
//! 40|    fn open(&self) {
//! @@ -41 +41 @@
//! 41         let key = self.key();
//! 42-        self.check(key)?;
//! 42+        self.log(key);
//! 43|    }
//! ```
//!
//! A line begins with its number and a mark: removed lines (`-`) have their old number, all others the new one. Models
//! miscount lines of a plain patch, and numbers cost few tokens. Lines marked by `|` are context. In a later review, a `*`
//! in front of the number marks the lines that changed since the last one. No line of the change can imitate a header: it
//! has a number in front.

use std::fmt::Write as _;

use crate::boundary::one_line;
use crate::diff::{FileDiff, Hunk, Line, LineKind, Lines, Status};
use crate::language::Language;
use crate::plan::{Call, Piece, Unit};
use crate::visible::visible;

/// The most characters of the section behind a hunk header; git writes 80.
const MAX_SECTION: usize = 100;

/// Tells the lines that changed since the last review, by the index of their file.
pub type IsFresh<'a> = &'a dyn Fn(usize, &Line<'_>) -> bool;

/// Renders the units of a call; lines that changed since the last review are marked.
#[must_use]
pub fn render(call: &Call, files: &[FileDiff], fresh: Option<IsFresh<'_>>) -> String {
    let mut text = String::new();
    let mut last = None;
    for unit in &call.units {
        let Some(file) = files.get(unit.file) else { continue };
        if last != Some(unit.file) {
            head(&mut text, file);
        }
        last = Some(unit.file);
        write_unit(&mut text, file, unit, fresh);
    }
    text
}

/// Writes the header of a file.
pub(crate) fn head(text: &mut String, file: &FileDiff) {
    let status = match file.status {
        Status::Added => "new",
        Status::Deleted => "deleted",
        Status::Modified => "modified",
        Status::Renamed => "renamed",
        Status::Copied => "copied",
    };
    let language = Language::of_path(file.path().as_bytes());
    let (comma, language) = language.map_or(("", ""), |language| (", ", language.name()));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "=== {status}{comma}{language}: {}", one_line(&file.path().to_string()));
    let moved = matches!(file.status, Status::Renamed | Status::Copied);
    if let Some(old) = file.old_path.as_ref().filter(|_| moved) {
        let _ = writeln!(text, "=== from: {}", one_line(&old.to_string()));
    }
}

/// Writes the lines of a unit.
pub(crate) fn write_unit(text: &mut String, file: &FileDiff, unit: &Unit, fresh: Option<IsFresh<'_>>) {
    let mut shown = None;
    let is_fresh = |line: &Line<'_>| fresh.is_some_and(|fresh| fresh(unit.file, line));
    for piece in &unit.pieces {
        shown = write_piece(text, file, piece, shown, &is_fresh);
    }
}

/// Writes a piece; `shown` is the last new line before it. Returns the last new line of the piece.
fn write_piece(
    text: &mut String,
    file: &FileDiff,
    piece: &Piece,
    shown: Option<u32>,
    is_fresh: &dyn Fn(&Line<'_>) -> bool,
) -> Option<u32> {
    match piece {
        Piece::Around { first_line, text: around } => {
            if first_line.checked_sub(1) != shown && *first_line > 1 {
                text.push_str("...\n");
            }
            let mut number = *first_line;
            for line in around.split('\n') {
                let _ = writeln!(text, "{number}|{}", visible(line));
                number = number.saturating_add(1);
            }
            Some(number.saturating_sub(1))
        }
        Piece::Lines { hunk, lines, cut } => {
            let hunk = file.hunks.get(*hunk)?;
            let mut at = Position::of(hunk);
            let mut rest = file.lines(hunk);
            rest.by_ref().take(lines.start).for_each(|line| at.pass(&line));
            // Context above a hunk makes the section of its header redundant.
            let section = (shown.is_none() && lines.start == 0).then(|| file.section(hunk));
            at.write_head(text, section);
            let endings = Endings::of(file.lines(hunk));
            for line in rest.take(lines.len()) {
                if line.kind != LineKind::Context && is_fresh(&line) {
                    text.push('*');
                }
                write_line(text, &line, endings, *cut);
                at.pass(&line);
            }
            at.new.checked_sub(1)
        }
    }
}

/// A position in a hunk: the old and the new number of the next line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    old: u32,
    new: u32,
}

impl Position {
    /// The beginning of a hunk.
    pub(crate) fn of(hunk: &Hunk) -> Self {
        // Of an empty side, git names the line before it.
        let start = |start: u32, len: u32| if len == 0 { start.saturating_add(1) } else { start };
        Self { old: start(hunk.old_start, hunk.old_len), new: start(hunk.new_start, hunk.new_len) }
    }

    /// The old number of the next line.
    pub(crate) fn old_line(self) -> u32 {
        self.old
    }

    /// The new number of the next line.
    pub(crate) fn new_line(self) -> u32 {
        self.new
    }

    /// Advances behind a line.
    pub(crate) fn pass(&mut self, line: &Line<'_>) {
        self.old = line.old.map_or(self.old, |number| number.saturating_add(1));
        self.new = line.new.map_or(self.new, |number| number.saturating_add(1));
    }

    /// Writes a hunk header for this position.
    pub(crate) fn write_head(self, text: &mut String, section: Option<&[u8]>) {
        let _ = write!(text, "@@ -{} +{} @@", self.old, self.new);
        let section = String::from_utf8_lossy(section.unwrap_or_default());
        let section: String = section.trim().chars().take(MAX_SECTION).collect();
        let space = if section.is_empty() { "" } else { " " };
        let _ = writeln!(text, "{space}{}", one_line(&section));
    }
}

/// The line endings of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endings {
    /// CRLF throughout; the carriage return is not shown.
    Windows,
    /// Mixed or LF: a carriage return is shown.
    Other,
}

impl Endings {
    pub(crate) fn of(mut lines: Lines<'_>) -> Self {
        let windows = lines.all(|line| line.text.ends_with(b"\r") || !line.newline);
        if windows { Self::Windows } else { Self::Other }
    }
}

/// Writes a line of a hunk, truncated when it is too long.
pub(crate) fn write_line(text: &mut String, line: &Line<'_>, endings: Endings, cut: Option<usize>) {
    let (number, mark) = match line.kind {
        LineKind::Context => (line.new, ' '),
        LineKind::Added => (line.new, '+'),
        LineKind::Removed => (line.old, '-'),
    };
    if let Some(number) = number {
        let _ = write!(text, "{number}");
    }
    text.push(mark);
    let bytes = match endings {
        Endings::Windows => line.text.strip_suffix(b"\r").unwrap_or(line.text),
        Endings::Other => line.text,
    };
    let kept = cut.map_or(bytes, |n_bytes| &bytes[..n_bytes.min(bytes.len())]);
    text.push_str(&visible(&String::from_utf8_lossy(kept)));
    if kept.len() < bytes.len() {
        let _ = write!(text, " [cut: {} of {} bytes]", kept.len(), bytes.len());
    }
    text.push('\n');
    if !line.newline {
        text.push_str("\\ No newline at end of file\n");
    }
}
