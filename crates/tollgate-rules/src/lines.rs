//! Sets of line numbers.

use serde::{Deserialize, Serialize};
use tollgate_core::diff::FileDiff;

/// Line numbers of one file, as sorted ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineSet(Vec<(u32, u32)>);

impl LineSet {
    /// The set of all lines.
    #[must_use]
    pub fn all() -> Self {
        Self(vec![(1, u32::MAX)])
    }

    /// The lines that a change adds to a file.
    #[must_use]
    pub fn added_by(file: &FileDiff) -> Self {
        let mut set = Self::default();
        for (number, _) in file.added() {
            set.push(number);
        }
        set
    }

    /// The lines that a change removes from a file.
    #[must_use]
    pub fn removed_by(file: &FileDiff) -> Self {
        let mut set = Self::default();
        for (number, _) in file.removed() {
            set.push(number);
        }
        set
    }

    /// Adds a line; lines must be added in ascending order.
    pub fn push(&mut self, number: u32) {
        match self.0.last_mut() {
            Some((_, end)) if number <= *end => {}
            Some((_, end)) if number == end.saturating_add(1) => *end = number,
            _ => self.0.push((number, number)),
        }
    }

    /// True when the line is in the set.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.overlaps(number, number)
    }

    /// True when a line from `start` to `end` is in the set.
    #[must_use]
    pub fn overlaps(&self, start: u32, end: u32) -> bool {
        self.first_within(start, end).is_some()
    }

    /// The first line from `start` to `end` that is in the set.
    #[must_use]
    pub(crate) fn first_within(&self, start: u32, end: u32) -> Option<u32> {
        let after = self.0.partition_point(|&(_, last)| last < start);
        let &(first, _) = self.0.get(after)?;
        (first <= end).then_some(first.max(start))
    }

    /// True when every line from `start` to `end` is in the set, but for an empty last one.
    #[must_use]
    pub fn covers(&self, start: u32, end: u32) -> bool {
        self.0.iter().any(|&(first, last)| first <= start && end <= last.saturating_add(1))
    }

    /// True when the set has no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_and_gaps_stay() {
        let mut set = LineSet::default();
        for number in [2, 3, 3, 7] {
            set.push(number);
        }
        assert_eq!(set, LineSet(vec![(2, 3), (7, 7)]));
        let held: Vec<u32> = (1..9).filter(|&number| set.contains(number)).collect();
        assert_eq!(held, [2, 3, 7]);
        assert!(set.overlaps(4, 7) && !set.overlaps(4, 6) && set.overlaps(1, 100));
    }
}
