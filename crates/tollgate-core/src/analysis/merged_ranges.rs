//! Sorted byte ranges in which near neighbours are merged, so that fewer searches are started.

use std::ops::Range;

/// Starting a search costs about as much as scanning this many bytes.
const MIN_GAP: usize = 128;

/// Byte ranges of a text, in order and disjoint.
#[derive(Debug, Clone, Default)]
pub(super) struct MergedRanges(Vec<Range<usize>>);

impl MergedRanges {
    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Appends a range, merging it with the last one when the gap is small.
    pub(super) fn push(&mut self, part: Range<usize>) {
        match self.0.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if part.start < last.end + MIN_GAP => last.end = last.end.max(part.end),
            _ => self.0.push(part),
        }
    }

    /// The ranges relative to `start`.
    pub(super) fn relative_to(&self, start: usize) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().map(move |part| part.start.saturating_sub(start)..part.end.saturating_sub(start))
    }
}
