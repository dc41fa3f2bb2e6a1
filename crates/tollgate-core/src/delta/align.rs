//! Line diff: aligns the equal elements of two sequences.
//!
//! Lines are interned as numbers. Lines that are unique on both sides are anchors (patience diff); the blocks between two
//! anchors are aligned by a longest common subsequence when that is cheap, and by counting occurrences otherwise. The
//! work is near n log n for any input: at most [`MAX_DEPTH`] rounds of sorting, and [`MAX_CELLS`] cells per block. Moved
//! blocks are not followed.

use std::collections::HashMap;

/// Blocks of no more cells than this are aligned exactly.
const MAX_CELLS: usize = 1 << 16;
/// The most rounds of searching anchors between anchors.
const MAX_DEPTH: u32 = 24;

/// Returns index pairs of equal elements, increasing on both sides.
pub(super) fn align(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut pending = vec![Block { a: (0, a.len()), b: (0, b.len()), depth: 0 }];
    while let Some(block) = pending.pop() {
        let Some(block) = block.trimmed(a, b, &mut pairs) else { continue };
        let (left, right) = (&a[block.a.0..block.a.1], &b[block.b.0..block.b.1]);
        let matched = if left.len().saturating_mul(right.len()) <= MAX_CELLS {
            longest_common(left, right)
        } else {
            let anchors = rising(unique(left, right));
            if !anchors.is_empty() && block.depth < MAX_DEPTH {
                block.split(&anchors, &mut pairs, &mut pending);
                continue;
            }
            rising(occurrences(left, right))
        };
        pairs.extend(matched.into_iter().map(|(i, j)| (block.a.0 + i, block.b.0 + j)));
    }
    pairs.sort_unstable();
    pairs
}

/// A block of both sequences, ends excluded.
#[derive(Clone, Copy)]
struct Block {
    a: (usize, usize),
    b: (usize, usize),
    depth: u32,
}

impl Block {
    /// Matches the common prefix and suffix; `None` when one side is used up.
    fn trimmed(mut self, a: &[u32], b: &[u32], pairs: &mut Vec<(usize, usize)>) -> Option<Self> {
        while self.a.0 < self.a.1 && self.b.0 < self.b.1 && a[self.a.0] == b[self.b.0] {
            pairs.push((self.a.0, self.b.0));
            (self.a.0, self.b.0) = (self.a.0 + 1, self.b.0 + 1);
        }
        while self.a.0 < self.a.1 && self.b.0 < self.b.1 && a[self.a.1 - 1] == b[self.b.1 - 1] {
            (self.a.1, self.b.1) = (self.a.1 - 1, self.b.1 - 1);
            pairs.push((self.a.1, self.b.1));
        }
        (self.a.0 < self.a.1 && self.b.0 < self.b.1).then_some(self)
    }

    fn split(self, anchors: &[(usize, usize)], pairs: &mut Vec<(usize, usize)>, pending: &mut Vec<Self>) {
        let (mut from_a, mut from_b) = (self.a.0, self.b.0);
        let depth = self.depth + 1;
        for &(i, j) in anchors {
            let (i, j) = (self.a.0 + i, self.b.0 + j);
            pairs.push((i, j));
            pending.push(Self { a: (from_a, i), b: (from_b, j), depth });
            (from_a, from_b) = (i + 1, j + 1);
        }
        pending.push(Self { a: (from_a, self.a.1), b: (from_b, self.b.1), depth });
    }
}

/// Elements that are unique on both sides, in the order of the first.
fn unique(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    /// The number of occurrences of an element on a side, and the last index.
    #[derive(Default)]
    struct Seen {
        in_a: u32,
        in_b: u32,
        at: usize,
    }
    let mut seen: HashMap<u32, Seen> = HashMap::with_capacity(b.len());
    for (j, element) in b.iter().enumerate() {
        let entry = seen.entry(*element).or_default();
        (entry.in_b, entry.at) = (entry.in_b.saturating_add(1), j);
    }
    for element in a {
        if let Some(entry) = seen.get_mut(element) {
            entry.in_a = entry.in_a.saturating_add(1);
        }
    }
    let place = |(i, element): (usize, &u32)| {
        let entry = seen.get(element)?;
        (entry.in_a == 1 && entry.in_b == 1).then_some((i, entry.at))
    };
    a.iter().enumerate().filter_map(place).collect()
}

/// Pairs the first occurrence with the first, the second with the second, and so on.
fn occurrences(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut places: HashMap<u32, (usize, Vec<usize>)> = HashMap::new();
    for (j, element) in b.iter().enumerate() {
        places.entry(*element).or_default().1.push(j);
    }
    let next = |(i, element): (usize, &u32)| {
        let (n_used, places) = places.get_mut(element)?;
        let place = places.get(*n_used).copied()?;
        *n_used += 1;
        Some((i, place))
    };
    a.iter().enumerate().filter_map(next).collect()
}

/// A longest subsequence that is increasing on the second side.
fn rising(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // The last pair of the best row of each length, and each pair's predecessor in its row.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(index) = at {
        row.push(pairs[index]);
        at = before[index];
    }
    row.reverse();
    row
}

/// A longest common subsequence, by the full table.
fn longest_common(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    // Lengths from each cell to the end; a block has at most 65,536 cells, so they fit in 16 bits.
    let mut table = vec![0u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i * width + j] = if a[i] == b[j] {
                table[(i + 1) * width + j + 1].saturating_add(1)
            } else {
                table[(i + 1) * width + j].max(table[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expected: &str) {
        let numbers = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        let pairs = align(&numbers(a), &numbers(b));
        let common: String = pairs.iter().map(|&(i, _)| a.chars().nth(i).unwrap()).collect();
        assert_eq!(common, expected, "{pairs:?}");
    }

    #[test]
    fn common_elements_are_matched_in_order() {
        check("abc", "abc", "abc");
        check("", "abc", "");
        check("abcd", "abxd", "abd");
        check("abcabc", "abc", "abc");
        check("xaybzc", "abc", "abc");
        check("ab", "ba", "b");
    }

    #[test]
    fn long_sequences_are_matched_by_their_anchors() {
        let a: Vec<u32> = (0..5_000).collect();
        let mut b = a.clone();
        b.splice(2_000..2_010, 10_000..10_020);
        b.insert(0, 99_999);
        let pairs = align(&a, &b);
        assert_eq!(pairs.len(), 4_990);
        assert!(pairs.iter().all(|&(i, j)| j == if i < 2_000 { i + 1 } else { i + 11 }));
    }

    #[test]
    fn a_hundred_thousand_equal_lines_are_aligned() {
        let mut a = vec![7; 100_000];
        let mut b = vec![7; 100_001];
        (a[50_000], b[50_000]) = (1, 2);
        (a[0], b[100_000]) = (3, 4);
        // Without anchors each line is matched by its occurrence count.
        assert_eq!(align(&a, &b).len(), 99_998);
    }

    #[test]
    fn anchors_that_hide_behind_each_other_end_the_search() {
        // Every round finds one anchor and leaves the rest to the next.
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for i in 0..20_000u32 {
            a.extend([1_000_000 + i, i]);
            b.extend([2_000_000 + i, i, i + 1]);
        }
        assert!(align(&a, &b).len() >= 10_000);
    }

    proptest! {
        #[test]
        fn pairs_are_equal_increasing_and_maximal(
            a in prop::collection::vec(0u32..6, 0..40),
            b in prop::collection::vec(0u32..6, 0..40),
        ) {
            let pairs = align(&a, &b);
            prop_assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert_eq!(pairs.len(), longest_common(&a, &b).len());
        }

        #[test]
        fn large_blocks_give_increasing_pairs_of_equals(
            a in prop::collection::vec(0u32..400, 300..900),
            b in prop::collection::vec(0u32..400, 300..900),
        ) {
            let pairs = align(&a, &b);
            prop_assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        }
    }
}
