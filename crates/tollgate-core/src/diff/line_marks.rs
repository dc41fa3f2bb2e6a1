//! Vectorized count of the diff markers of lines.
//!
//! ```text
//!  context
//! -removed
//! +added
//! ```
//!
//! The kind of the next line is unpredictable, and a mispredicted branch costs more time than the line. Vector instructions
//! count the markers of a whole block without branches.

use wide::u8x16;

use crate::diff::line_feeds::Feeds;

/// The block size. A sum over a block must fit in a byte.
pub(crate) const BLOCK: usize = 128;

/// The number of lines per marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Lines with `+`.
    pub(crate) n_added: u32,
    /// Lines with `-`.
    pub(crate) n_removed: u32,
    /// Lines with a space.
    pub(crate) n_context: u32,
    /// Other lines: bare line feeds, `\ No newline`, and lines outside of a hunk.
    pub(crate) n_other: u32,
}

impl Marks {
    /// Counts the markers after the line feeds in the first [`BLOCK`] bytes; the last byte counts only as a marker. `None`
    /// when the text is shorter.
    #[inline]
    pub(crate) fn of_block(text: &[u8]) -> Option<Self> {
        let block = text.first_chunk::<{ BLOCK + 1 }>()?;
        let (lines, marks) = (block[..BLOCK].as_chunks::<16>().0, block[1..].as_chunks::<16>().0);
        let [mut feeds, mut added, mut removed, mut context] = [u8x16::ZERO; 4];
        for (line, mark) in lines.iter().zip(marks) {
            let feed = u8x16::from(*line).simd_eq(u8x16::splat(b'\n'));
            let mark = u8x16::from(*mark) & feed;
            // A matching lane is 255, which is -1.
            feeds -= feed;
            added -= mark.simd_eq(u8x16::splat(b'+'));
            removed -= mark.simd_eq(u8x16::splat(b'-'));
            context -= mark.simd_eq(u8x16::splat(b' '));
        }
        let [n_feeds, n_added, n_removed, n_context] = [feeds, added, removed, context].map(sum);
        Some(Self { n_added, n_removed, n_context, n_other: n_feeds - n_added - n_removed - n_context })
    }

    /// Counts the markers after all line feeds of a text; nothing follows its last byte.
    pub(crate) fn of_text(text: &[u8]) -> Self {
        let mut marks = Self::default();
        let mut rest = text;
        while let Some(block) = Self::of_block(rest) {
            marks.n_added += block.n_added;
            marks.n_removed += block.n_removed;
            marks.n_context += block.n_context;
            marks.n_other += block.n_other;
            rest = &rest[BLOCK..];
        }
        for mark in Feeds::new(rest).filter_map(|feed| rest.get(feed + 1)) {
            *match mark {
                b'+' => &mut marks.n_added,
                b'-' => &mut marks.n_removed,
                b' ' => &mut marks.n_context,
                _ => &mut marks.n_other,
            } += 1;
        }
        marks
    }
}

/// The sum of all lanes, which must be less than 256.
#[inline]
fn sum(lanes: u8x16) -> u32 {
    let lanes = u128::from_le_bytes(lanes.to_array());
    // The halves are added lane by lane; the highest lane of the product is the sum.
    let halves = (lanes as u64) + ((lanes >> 64) as u64);
    (halves.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_mark_is_counted(text in prop::collection::vec(prop::sample::select(&b"\n\n\n+- \\x"[..]), 0..600)) {
            let n_with = |wanted: fn(u8) -> bool| {
                text.windows(2).filter(|pair| pair[0] == b'\n' && wanted(pair[1])).count() as u32
            };
            let expected = Marks {
                n_added: n_with(|mark| mark == b'+'),
                n_removed: n_with(|mark| mark == b'-'),
                n_context: n_with(|mark| mark == b' '),
                n_other: n_with(|mark| !b"+- ".contains(&mark)),
            };
            prop_assert_eq!(Marks::of_text(&text), expected);
        }
    }

    #[test]
    fn a_block_of_line_feeds_does_not_overflow() {
        assert_eq!(Marks::of_text(&[b'\n'; 1000]), Marks { n_other: 999, ..Marks::default() });
        assert_eq!(Marks::of_text(&b"\n+".repeat(500)), Marks { n_added: 500, ..Marks::default() });
    }
}
