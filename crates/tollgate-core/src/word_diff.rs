//! The word diff: pairs removed lines with the added lines that replace them, and finds the changed words of a pair.
//!
//! ```text
//! -let a = [foo](x);
//! +let a = [bar](x);
//! ```
//!
//! Long lines and large blocks are not compared, so the work is bounded.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Longer lines are not compared.
const MAX_BYTES: usize = 600;
/// Blocks with more candidate pairs than this are not matched by similarity.
const MAX_PAIRS: usize = 2_500;
/// The least similarity of two versions of one line, in percent.
const MIN_SIMILARITY: usize = 40;

/// Byte ranges of a line, in order and disjoint.
pub type Ranges = Vec<Range<usize>>;

/// Finds the changed words of a line before and after; `None` when the two lines have little in common.
#[must_use]
pub fn changed_words(old: &str, new: &str) -> Option<(Ranges, Ranges)> {
    if old.len() > MAX_BYTES || new.len() > MAX_BYTES || old == new {
        return None;
    }
    let (before, after) = (words(old), words(new));
    let (mut left, mut right, mut same) = (Marker::default(), Marker::default(), 0);
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        let (old_words, new_words) = (&before[old_range], &after[new_range]);
        if tag == DiffTag::Equal {
            same += weight(old_words);
            left.skip(old_words);
            right.skip(new_words);
        } else {
            left.mark(old_words);
            right.mark(new_words);
        }
    }
    // Two lines with little in common are two lines, not one edited line.
    let is_edit = same * 5 >= weight(&before).max(weight(&after)) * 2;
    is_edit.then_some((left.marked, right.marked))
}

/// Collects the ranges of changed words while walking a line.
#[derive(Default)]
struct Marker {
    at: usize,
    marked: Ranges,
}

impl Marker {
    fn skip(&mut self, words: &[&str]) {
        self.at += length(words);
    }

    fn mark(&mut self, words: &[&str]) {
        let end = self.at + length(words);
        match self.marked.last_mut() {
            Some(last) if last.end == self.at => last.end = end,
            _ if end > self.at => self.marked.push(self.at..end),
            _ => {}
        }
        self.at = end;
    }
}

fn length(words: &[&str]) -> usize {
    words.iter().map(|word| word.len()).sum()
}

fn weight(words: &[&str]) -> usize {
    words.iter().map(|word| word.trim().len()).sum()
}

/// Splits a line into identifiers, numbers, runs of whitespace and single punctuation characters.
fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Name,
        Blank,
        Mark,
    }
    let kind = |character: char| match character {
        '_' => Kind::Name,
        letter if letter.is_alphanumeric() => Kind::Name,
        blank if blank.is_whitespace() => Kind::Blank,
        _ => Kind::Mark,
    };
    let (mut words, mut start, mut last) = (Vec::new(), 0, None);
    for (index, character) in line.char_indices() {
        let kind = kind(character);
        if last.is_some_and(|last| last != kind || kind == Kind::Mark) {
            words.push(&line[start..index]);
            start = index;
        }
        last = Some(kind);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

/// Pairs each removed line with the added line that replaces it, as indices into both, in order.
#[must_use]
pub fn pair_lines(removed: &[&[u8]], added: &[&[u8]]) -> Vec<(usize, usize)> {
    if removed.len() == added.len() {
        return (0..removed.len()).map(|index| (index, index)).collect();
    }
    if removed.len() * added.len() > MAX_PAIRS {
        return Vec::new();
    }
    // Dynamic programming over suffixes: the best total similarity from each pair of positions on.
    let width = added.len() + 1;
    let mut best = vec![0_usize; (removed.len() + 1) * width];
    let table: Vec<usize> = removed.iter().flat_map(|old| added.iter().map(|new| similarity(old, new))).collect();
    for old in (0..removed.len()).rev() {
        for new in (0..added.len()).rev() {
            let with = match table[old * added.len() + new] {
                0 => 0,
                similar => similar + best[(old + 1) * width + new + 1],
            };
            best[old * width + new] = with.max(best[(old + 1) * width + new]).max(best[old * width + new + 1]);
        }
    }
    let (mut pairs, mut old, mut new) = (Vec::new(), 0, 0);
    while old < removed.len() && new < added.len() {
        let (here, similar) = (best[old * width + new], table[old * added.len() + new]);
        if similar > 0 && here == similar + best[(old + 1) * width + new + 1] {
            pairs.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if here == best[(old + 1) * width + new] {
            old += 1;
        } else {
            new += 1;
        }
    }
    pairs
}

/// The common prefix and suffix of two lines in percent of the longer one; 0 below [`MIN_SIMILARITY`].
fn similarity(old: &[u8], new: &[u8]) -> usize {
    let (old, new) = (old.trim_ascii(), new.trim_ascii());
    let (short, long) = (old.len().min(new.len()), old.len().max(new.len()));
    if long == 0 || long > MAX_BYTES {
        return 0;
    }
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take(short - head).take_while(|(one, other)| one == other);
    let percent = (head + tail.count()) * 100 / long;
    if percent < MIN_SIMILARITY { 0 } else { percent }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Both lines with changed words in brackets.
    fn bracketed_pair(old: &str, new: &str) -> Option<String> {
        let bracketed = |line: &str, places: &[Range<usize>]| {
            let mut text = line.to_owned();
            for place in places.iter().rev() {
                text.insert(place.end, ']');
                text.insert(place.start, '[');
            }
            text
        };
        changed_words(old, new).map(|(left, right)| format!("{} | {}", bracketed(old, &left), bracketed(new, &right)))
    }

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        for (old, new, expected) in [
            ("let a = foo(x);", "let a = bar(x);", Some("let a = [foo](x); | let a = [bar](x);")),
            ("return a", "return a + b", Some("return a | return a[ + b]")),
            ("größe = 1", "größe = 2", Some("größe = [1] | größe = [2]")),
            ("same", "same", None),
            ("return 1;", "import something_else from there;", None),
        ] {
            assert_eq!(bracketed_pair(old, new).as_deref(), expected);
        }
        assert_eq!(changed_words(&"a ".repeat(301), "a"), None);
    }

    #[test]
    fn lines_that_changed_find_each_other() {
        let lines = |text: &'static str| text.split('|').map(str::as_bytes).collect::<Vec<_>>();
        for (removed, added, expected) in [
            ("let a = 1;|let b = 2;", "x|y", vec![(0, 0), (1, 1)]),
            ("let total = 1;", "// why|let total = 2;", vec![(0, 1)]),
            ("fn one() {|gone|fn two() {", "fn one(a) {|fn two(b) {", vec![(0, 0), (2, 1)]),
            ("abc", "xyz|uvw", vec![]),
            ("", "a|b", vec![]),
        ] {
            assert_eq!(pair_lines(&lines(removed), &lines(added)), expected, "{removed} -> {added}");
        }
    }

    proptest! {
        #[test]
        fn pairs_never_cross(removed in prop::collection::vec("[ab ]{0,6}", 0..8), added in prop::collection::vec("[ab ]{0,6}", 0..8)) {
            let bytes = |lines: &'_ [String]| -> Vec<Vec<u8>> { lines.iter().map(|line| line.clone().into_bytes()).collect() };
            let (old, new) = (bytes(&removed), bytes(&added));
            let old: Vec<&[u8]> = old.iter().map(Vec::as_slice).collect();
            let new: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
            let pairs = pair_lines(&old, &new);
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert!(pairs.iter().all(|(left, right)| *left < old.len() && *right < new.len()));
        }

        #[test]
        fn unmarked_text_is_the_same_on_both_sides(old in "[a-cé =(]{0,30}", new in "[a-cé =(]{0,30}") {
            if let Some((left, right)) = changed_words(&old, &new) {
                let kept = |line: &str, places: &[Range<usize>]| {
                    let inside = |at: usize| places.iter().any(|place| place.contains(&at));
                    line.char_indices().filter(|(at, _)| !inside(*at)).map(|(_, character)| character).collect::<String>()
                };
                prop_assert_eq!(kept(&old, &left), kept(&new, &right));
            }
        }
    }
}
