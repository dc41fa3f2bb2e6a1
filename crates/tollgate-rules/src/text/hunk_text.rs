//! The text of a hunk, and a cursor from byte offsets to added lines.
//!
//! Searching a hunk as one block is many times faster than searching it line
//! by line, so detectors find offsets first and then look up their lines.
//! Offsets are ascending, so all lookups together are linear in the hunk.

use std::ops::Range;

/// Lines with diff markers: `+` for added, `-` for removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HunkText<'a> {
    pub(crate) bytes: &'a [u8],
    /// Width of the markers; 0 for plain text, whose lines all count as added.
    pub(crate) n_marks: usize,
    /// The line number of the first line that is not removed.
    pub(crate) first: u32,
}

impl<'a> HunkText<'a> {
    /// Wraps plain text, all of it new.
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, n_marks: 0, first: 1 }
    }

    /// The line that begins at `start`, without its line feed.
    fn raw(&self, start: usize) -> &'a [u8] {
        let rest = self.bytes.get(start..).unwrap_or_default();
        &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
    }

    fn is_added(&self, raw: &[u8]) -> bool {
        let marks = raw.get(..self.n_marks).unwrap_or_default();
        self.n_marks == 0 || (marks.contains(&b'+') && !marks.contains(&b'-'))
    }

    fn is_counted(&self, raw: &[u8]) -> bool {
        let marks = raw.get(..self.n_marks).unwrap_or(raw);
        self.n_marks == 0 || !(marks.contains(&b'-') || marks.first() == Some(&b'\\'))
    }
}

/// Maps ascending offsets in a hunk to lines.
#[derive(Debug)]
pub(crate) struct LineCursor<'a> {
    body: HunkText<'a>,
    /// The current line, including its markers.
    line: Range<usize>,
    counted: usize,
    number: u32,
}

impl<'a> LineCursor<'a> {
    pub(crate) fn new(body: HunkText<'a>) -> Self {
        Self { body, line: 0..0, counted: 0, number: body.first }
    }

    /// Moves to the line at an offset, which must not precede the last one.
    ///
    /// Returns the start of the line's text in the hunk and the text; `None` when the line is not added.
    pub(crate) fn line_at(&mut self, at: usize) -> Option<(usize, &'a [u8])> {
        if at >= self.line.end {
            let bytes = self.body.bytes;
            let from = self.line.end.min(at);
            let start = memchr::memrchr(b'\n', bytes.get(from..at)?).map_or(from, |back| from + back + 1);
            self.line = start..start + self.body.raw(start).len();
        }
        let raw = self.body.bytes.get(self.line.clone())?;
        let text = raw.get(self.body.n_marks..).unwrap_or_default();
        self.body.is_added(raw).then_some((self.line.start + self.body.n_marks, text))
    }

    /// The line number of the current line.
    pub(crate) fn number(&mut self) -> u32 {
        while self.counted < self.line.start {
            let raw = self.body.raw(self.counted);
            self.number = self.number.saturating_add(u32::from(self.body.is_counted(raw)));
            self.counted += raw.len() + 1;
        }
        self.number
    }

    /// The texts of the added lines directly after the current line.
    pub(crate) fn following(&self) -> impl Iterator<Item = &'a [u8]> {
        self.following_lines().map(|(_, text)| text)
    }

    /// The added lines directly after the current line: the start of each text in the hunk, and the text.
    pub(crate) fn following_lines(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let (body, mut at) = (self.body, self.line.end + 1);
        std::iter::from_fn(move || {
            let raw = (at < body.bytes.len()).then(|| body.raw(at))?;
            let start = at + body.n_marks;
            at += raw.len() + 1;
            body.is_added(raw).then(|| (start, raw.get(body.n_marks..).unwrap_or_default()))
        })
    }

    /// The bytes of the hunk at most this far from the current line.
    pub(crate) fn around(&self, n_bytes: usize) -> &'a [u8] {
        let bytes = self.body.bytes;
        let end = self.line.end.saturating_add(n_bytes).min(bytes.len());
        bytes.get(self.line.start.saturating_sub(n_bytes)..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, needle: &str, expected: &[(u32, &str)]) {
        let mut cursor = LineCursor::new(HunkText { bytes: bytes.as_bytes(), n_marks: 1, first: 5 });
        let mut found = Vec::new();
        for (at, _) in bytes.match_indices(needle) {
            if let Some((start, line)) = cursor.line_at(at) {
                assert_eq!(&bytes.as_bytes()[start..start + line.len()], line);
                found.push((cursor.number(), std::str::from_utf8(line).unwrap()));
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn only_added_lines_are_found_and_numbered_as_after_the_change() {
        check(" x\n-x\n+x1\n\n+y\n+x2\n", "x", &[(6, "x1"), (9, "x2")]);
    }

    #[test]
    fn the_missing_newline_note_is_not_counted_as_a_line() {
        check("-x\n\\ No newline at end of file\n+x\n\\ No newline at end of file\n", "x", &[(5, "x")]);
    }

    #[test]
    fn a_line_with_several_matches_is_returned_for_each() {
        check("+xx\n+x", "x", &[(5, "xx"), (5, "xx"), (6, "x")]);
    }

    #[test]
    fn following_lines_end_with_the_block() {
        let mut cursor = LineCursor::new(HunkText { bytes: b"+a\n+b\n+c\n d\n+e", n_marks: 1, first: 1 });
        cursor.line_at(1);
        assert_eq!(cursor.following().collect::<Vec<_>>(), [b"b", b"c"]);
    }
}
