//! The text of a changed file and the definitions that enclose its hunks.

use crate::diff::Hunk;
use crate::finding::LineRange;

/// Larger definitions are not sent as context.
const MAX_LINES: u32 = 400;

/// The most opening lines of outer definitions above a hunk.
const MAX_CRUMBS: usize = 4;

/// The definitions that enclose a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enclosing {
    /// The innermost definition, when it is short.
    pub lines: Option<LineRange>,
    /// The opening lines of the outer definitions, outermost first: `impl Gate {`.
    pub crumbs: Vec<u32>,
}

/// The text of a file and the definitions around its hunks.
#[derive(Debug, Clone)]
pub struct FileContext {
    text: Vec<u8>,
    /// The byte offsets of lines.
    starts: Vec<usize>,
    /// The definitions around the first and the last change of each hunk.
    enclosing: Vec<Option<Enclosing>>,
}

/// The context of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extent {
    /// The first line.
    pub(super) start: u32,
    /// The last line.
    pub(super) end: u32,
    /// Lines above the first.
    pub(super) crumbs: Vec<u32>,
}

impl FileContext {
    /// Takes the text after the change, secrets masked, and the definitions around its [`places`](super::places).
    #[must_use]
    pub fn new(text: Vec<u8>, enclosing: Vec<Option<Enclosing>>) -> Self {
        let starts = [0].into_iter().chain(memchr::memchr_iter(b'\n', &text).map(|feed| feed + 1));
        let starts = starts.filter(|&start| start < text.len()).collect();
        Self { text, starts, enclosing }
    }

    /// The lines of the definitions that the hunks are in.
    #[must_use]
    pub fn definitions(&self) -> Vec<LineRange> {
        let mut lines: Vec<LineRange> =
            self.enclosing.iter().flatten().filter_map(|enclosing| enclosing.lines).collect();
        lines.dedup();
        lines
    }

    /// The lines from `first` to `last`, as far as they exist, with a line feed between them.
    pub(super) fn lines(&self, first: u32, last: u32) -> Option<String> {
        let start = *self.starts.get(first.checked_sub(1)? as usize)?;
        let end = self.starts.get(last as usize).map_or(self.text.len(), |next| next - 1);
        let text = self.text.get(start..end)?;
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        Some(String::from_utf8_lossy(text).replace("\r\n", "\n").trim_end_matches('\r').to_owned())
    }

    /// The context of the hunk with this index, if it is known.
    pub(super) fn extent(&self, index: usize, hunk: &Hunk) -> Option<Extent> {
        let [first, last] = [2 * index, 2 * index + 1].map(|at| self.enclosing.get(at).and_then(Option::as_ref));
        let (own_start, own_end) = span(hunk);
        let mut extent = Extent { start: own_start, end: own_end, crumbs: Vec::new() };
        for enclosing in [first, last].into_iter().flatten() {
            if let Some(lines) = enclosing.lines.filter(|lines| lines.end() - lines.start() < MAX_LINES) {
                extent.start = extent.start.min(lines.start());
                extent.end = extent.end.max(lines.end());
            }
            extent.crumbs.extend(enclosing.crumbs.iter().rev().take(MAX_CRUMBS));
        }
        extent.end = extent.end.min(u32::try_from(self.starts.len()).unwrap_or(u32::MAX));
        extent.crumbs.retain(|&crumb| crumb < extent.start);
        extent.crumbs.sort_unstable();
        extent.crumbs.dedup();
        (first.is_some() || last.is_some()).then_some(extent)
    }
}

/// The first and the last new line of a hunk; the last precedes the first in a pure removal.
pub(super) fn span(hunk: &Hunk) -> (u32, u32) {
    if hunk.new_len == 0 {
        return (hunk.new_start.saturating_add(1), hunk.new_start);
    }
    (hunk.new_start, hunk.new_start.saturating_add(hunk.new_len - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, first: u32, last: u32, expected: Option<&str>) {
        let known = FileContext::new(text.as_bytes().to_vec(), Vec::new());
        assert_eq!(known.lines(first, last).as_deref(), expected);
    }

    #[test]
    fn lines_are_cut_out_as_far_as_they_exist() {
        check("a\nb\nc\n", 2, 3, Some("b\nc"));
        check("a\nb\nc", 3, 9, Some("c"));
        check("a\r\nb\r\n", 1, 2, Some("a\nb"));
        check("a\n\nb", 2, 2, Some(""));
        check("a\n", 2, 2, None);
        check("a\n", 0, 1, None);
        check("", 1, 1, None);
    }
}
