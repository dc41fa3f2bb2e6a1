//! Parts of a file's diff that are worth a search.

use std::ops::Range;

/// A search costs about as much to start as it costs to pass over this many bytes.
const MIN_GAP: usize = 128;

/// Parts of a text, in order and apart from one another.
#[derive(Debug, Clone, Default)]
pub(super) struct MergedRanges(Vec<Range<usize>>);

impl MergedRanges {
    /// Forgets all parts.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a part behind the others, and what is between where that is little.
    pub(super) fn push(&mut self, part: Range<usize>) {
        match self.0.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if part.start < last.end + MIN_GAP => last.end = last.end.max(part.end),
            _ => self.0.push(part),
        }
    }

    /// The parts, each as it is in the text behind `start`.
    pub(super) fn behind(&self, start: usize) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().map(move |part| part.start.saturating_sub(start)..part.end.saturating_sub(start))
    }
}
