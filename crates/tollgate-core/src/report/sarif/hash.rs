//! `primaryLocationLineHash`, by which GitHub tracks an alert.
//!
//! A 64 bit rolling hash over the hundred characters from the start of a line that are neither space nor tab, with every
//! line break a line feed. Equal hashes in one file are numbered: `c129715d7a2bc9a3:1`.

use std::collections::HashMap;

const WINDOW: usize = 100;
const FACTOR: u64 = 37;
const END_OF_FILE: u16 = 0xffff;

/// Computes the hash of every line; the first line's is at index 0.
pub(super) fn line_hashes(text: &str) -> Vec<String> {
    let mut hasher = Hasher::default();
    // GitHub's implementation counts UTF-16 units.
    for unit in text.encode_utf16() {
        hasher.character(unit);
    }
    hasher.character(END_OF_FILE);
    for _ in 0..WINDOW {
        hasher.flush();
        hasher.push(0);
    }
    hasher.hashes
}

struct Hasher {
    window: [u16; WINDOW],
    /// True where a line starts whose hash is not yet known.
    starts: [bool; WINDOW],
    index: usize,
    hash: u64,
    first_factor: u64,
    at_line_start: bool,
    after_return: bool,
    seen: HashMap<u64, u32>,
    hashes: Vec<String>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            window: [0; WINDOW],
            starts: [false; WINDOW],
            index: 0,
            hash: 0,
            first_factor: (0..WINDOW).fold(1, |factor: u64, _| factor.wrapping_mul(FACTOR)),
            at_line_start: true,
            after_return: false,
            seen: HashMap::new(),
            hashes: Vec::new(),
        }
    }
}

impl Hasher {
    fn character(&mut self, unit: u16) {
        let (space, tab, feed, carriage_return) = (0x20, 0x09, 0x0a, 0x0d);
        let skipped = unit == space || unit == tab || (self.after_return && unit == feed);
        self.after_return = !skipped && unit == carriage_return;
        if skipped {
            return;
        }
        let unit = if unit == carriage_return { feed } else { unit };
        self.flush();
        if self.at_line_start {
            self.starts[self.index] = true;
        }
        self.at_line_start = unit == feed;
        self.push(unit);
    }

    fn push(&mut self, unit: u16) {
        let leaving = std::mem::replace(&mut self.window[self.index], unit);
        let leaving = self.first_factor.wrapping_mul(u64::from(leaving));
        self.hash = self.hash.wrapping_mul(FACTOR).wrapping_add(u64::from(unit)).wrapping_sub(leaving);
        self.index = (self.index + 1) % WINDOW;
    }

    /// Emits the hash of the line that started one window ago.
    fn flush(&mut self) {
        if std::mem::take(&mut self.starts[self.index]) {
            let count = self.seen.entry(self.hash).or_default();
            *count += 1;
            self.hashes.push(format!("{:x}:{count}", self.hash));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(line_hashes(text), expected, "{text:?}");
    }

    #[test]
    fn the_hashes_are_those_that_github_computes() {
        check("", &["c129715d7a2bc9a3:1"]);
        let four = ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"];
        check(" a\nb\n  \t\tc\n d", &four);
        let seven = [
            "e9496ae3ebfced30:1",
            "fb7c023a8b9ccb3f:1",
            "ce8ba1a563dcdaca:1",
            "e20e36e16fcb0cc8:1",
            "b3edc88f2938467e:1",
            "c8e28b0b4002a3a0:1",
            "c129715d7a2bc9a3:1",
        ];
        check(" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n", &seven);
        check(" hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r", &seven);
        check(" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n", &seven);
    }

    #[test]
    fn equal_lines_far_from_the_end_are_counted() {
        let hashes = line_hashes(&"x\n".repeat(200));
        assert_eq!(hashes.len(), 201);
        assert!(hashes[0].ends_with(":1") && hashes[1].ends_with(":2"));
        assert_eq!(hashes[0].split(':').next(), hashes[99].split(':').next());
    }
}
