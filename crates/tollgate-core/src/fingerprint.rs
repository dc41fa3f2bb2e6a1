//! Fingerprints identify a finding across reviews.
//!
//! ```text
//! fp-4d1b0c2f9a6e7385
//! ```
//!
//! A fingerprint hashes the path and the normalized summary, so it survives moved lines and changed severities. Equal
//! fingerprints are only a hint: collisions can be forged, so code that matches two findings also compares their
//! [`normalise`]d summaries.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::finding::{Finding, Summary};
use crate::path::FilePath;

/// The fingerprint of a finding: `fp-` and sixteen hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Computes the fingerprint of a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        Self::new(&finding.location.file, &finding.summary)
    }

    /// Computes the fingerprint of a summary in a file.
    #[must_use]
    pub fn new(file: &FilePath, summary: &Summary) -> Self {
        InFile::new(file).fingerprint(summary.as_str())
    }

    /// The fingerprint as a number.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// Parses `fp-` and sixteen hex digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("fp-")?;
        let plain = digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(Self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fp-{:016x}", self.0)
    }
}

/// Computes fingerprints of many titles in one file, hashing the path only once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InFile(u64);

impl InFile {
    pub(crate) fn new(file: &FilePath) -> Self {
        // A path has no line feed, so path and title cannot be confused.
        Self(feed(fnv1a(BASIS, file.as_str().as_bytes()), b'\n'))
    }

    /// Computes the fingerprint of a title of any length.
    pub(crate) fn fingerprint(self, title: &str) -> Fingerprint {
        let of_ascii = hash_ascii(self.0, title.as_bytes());
        Fingerprint(of_ascii.unwrap_or_else(|| fnv1a(self.0, normalise(title).as_bytes())))
    }
}

/// Normalizes a title: NFKC, lower case, single spaces between words of letters and digits.
#[must_use]
pub fn normalise(title: &str) -> String {
    let mut words = String::with_capacity(title.len());
    if title.is_ascii() {
        // ASCII is already in normal form.
        push_words(&mut words, title);
        words.make_ascii_lowercase();
    } else {
        // Lowercasing can break the normal form (`İ`), so it is applied again.
        let folded: String = title.nfkc().flat_map(char::to_lowercase).nfkc().collect();
        push_words(&mut words, &folded);
    }
    words
}

fn push_words(words: &mut String, text: &str) {
    for word in text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
}

/// Letters and digits in lower case; 0 for separators; 1 for non-ASCII bytes.
const FOLDED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    loop {
        table[byte as usize] = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => byte.to_ascii_lowercase(),
            0x80.. => 1,
            _ => 0,
        };
        if byte == 255 {
            break table;
        }
        byte += 1;
    }
};

/// Computes `fnv1a(start, normalise(title))` without allocating; `None` when the title is not ASCII.
fn hash_ascii(start: u64, title: &[u8]) -> Option<u64> {
    let (mut hash, mut any, mut gap) = (start, false, false);
    for &byte in title {
        match FOLDED[usize::from(byte)] {
            0 => gap = any,
            1 => return None,
            folded => {
                if gap {
                    hash = feed(hash, b' ');
                }
                (any, gap) = (true, false);
                hash = feed(hash, folded);
            }
        }
    }
    Some(hash)
}

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// 64-bit FNV-1a, continuing from a hash.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| feed(hash, byte))
}

#[inline]
fn feed(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn fingerprint(file: &str, title: &str) -> Fingerprint {
        Fingerprint::new(&FilePath::parse(file).unwrap(), &Summary::parse(title).unwrap())
    }

    #[test]
    fn the_hash_is_fnv1a() {
        // Vectors published with the algorithm.
        assert_eq!(fnv1a(BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn titles_are_reduced_to_words_of_any_script() {
        assert_eq!(normalise("  SQL--Injection: `query()`!"), "sql injection query");
        assert_eq!(normalise("ﬁx ＡＢＣ\u{a0}Größe 漢字"), "fix abc größe 漢字");
        assert_eq!(normalise("…"), "");
        // Letters that have a lower case only once they are decomposed.
        assert_eq!(normalise("ℌİ"), normalise("HI\u{307}").to_lowercase());
        assert_eq!(normalise("ℌ"), "h");
    }

    #[test]
    fn wording_and_file_decide_and_punctuation_does_not() {
        let one = fingerprint("./src/a.rs", "Unhandled  error");
        assert_eq!(one, fingerprint("src/a.rs", "unhandled error."));
        assert_ne!(one, fingerprint("src/b.rs", "unhandled error"));
        assert_ne!(one, fingerprint("src/a.rs", "unhandled errors"));
    }

    #[test]
    fn the_written_form_is_read_back() {
        let one = fingerprint("a", "b");
        assert_eq!(Fingerprint::parse(&one.to_string()), Some(one));
        for text in ["fp-", "fp-00000000000000zz", "fp-0000000000000000f", "0000000000000000", "fp-ABCDEF0123456789"] {
            assert_eq!(Fingerprint::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_ascii_fast_path_gives_the_same_fingerprint(title in "[ -~ä\\t]{0,40}") {
            let file = FilePath::parse("src/a.rs").unwrap();
            let expected = fnv1a(BASIS, format!("src/a.rs\n{}", normalise(&title)).as_bytes());
            prop_assert_eq!(InFile::new(&file).fingerprint(&title), Fingerprint(expected));
        }
    }
}
