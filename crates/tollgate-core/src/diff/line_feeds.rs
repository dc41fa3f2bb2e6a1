//! Vectorized search for line feeds, 64 bytes at a time.
//!
//! Starting a search per line costs more than a usual line of thirty or forty bytes; a bit mask of all line feeds of a
//! block does not.

use wide::u8x16;

const BLOCK: usize = 64;

/// An iterator over the offsets of line feeds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feeds<'a> {
    text: &'a [u8],
    block: usize,
    mask: u64,
}

impl<'a> Feeds<'a> {
    /// Starts at the beginning of the text. The search is lazy.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self::starting_at(text, 0)
    }

    /// Starts at an offset.
    pub(crate) fn starting_at(text: &'a [u8], start: usize) -> Self {
        Self { text, block: start, mask: first_mask(text.get(start..).unwrap_or_default()) }
    }
}

impl Iterator for Feeds<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.block += BLOCK;
            self.mask = first_mask(self.text.get(self.block..)?);
        }
        let bit = self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(self.block + bit)
    }
}

/// The bit mask of the line feeds in the first block, lowest bit first.
#[inline]
fn first_mask(text: &[u8]) -> u64 {
    match text.first_chunk::<BLOCK>() {
        Some(block) => mask(block),
        None => {
            let mut block = [0; BLOCK];
            block[..text.len()].copy_from_slice(text);
            mask(&block)
        }
    }
}

#[inline]
fn mask(block: &[u8; BLOCK]) -> u64 {
    let (parts, _) = block.as_chunks::<16>();
    let feed = u8x16::splat(b'\n');
    let bits = |part: usize| u64::from(u8x16::from(parts[part]).simd_eq(feed).to_bitmask());
    bits(0) | bits(1) << 16 | bits(2) << 32 | bits(3) << 48
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_line_feed_is_found(text in prop::collection::vec(prop::sample::select(&b"\n\nab"[..]), 0..300)) {
            let expected: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').collect();
            prop_assert_eq!(Feeds::new(&text).collect::<Vec<_>>(), &expected[..]);
            let start = text.len() / 3;
            let behind: Vec<usize> = expected.into_iter().filter(|&at| at >= start).collect();
            prop_assert_eq!(Feeds::starting_at(&text, start).collect::<Vec<_>>(), behind);
        }
    }

    #[test]
    fn long_lines_are_passed_over() {
        let text = [vec![b'x'; 1000], vec![b'\n'], vec![b'y'; 100]].concat();
        assert_eq!(Feeds::new(&text).collect::<Vec<_>>(), [1000]);
    }
}
