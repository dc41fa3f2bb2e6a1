//! The key by which a finding is known again in a later review.
//!
//! ```text
//! fp-4d1b0c2f9a6e7385
//! ```
//!
//! It is made of the file's path and the wording of the summary, so it survives
//! when lines move or the severity changes. Equal keys are only a hint: collisions
//! can be made on purpose, so whoever joins two findings compares [`normalise`]d
//! summaries as well.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::finding::{Finding, Summary};
use crate::path::FilePath;

/// A finding's key: `fp-` and sixteen hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Makes the key of a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        Self::new(&finding.location.file, &finding.summary)
    }

    /// Makes the key of a summary in a file.
    #[must_use]
    pub fn new(file: &FilePath, summary: &Summary) -> Self {
        // A path has no line feed, so nothing can move from the path to the title.
        let text = [file.as_str(), "\n", &normalise(summary.as_str())].concat();
        Self(fnv1a(text.as_bytes()))
    }

    /// Reads `fp-` and sixteen hex digits.
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

/// Reduces a title to its words: NFKC, lower case, everything between letters and digits one space.
#[must_use]
pub fn normalise(title: &str) -> String {
    // Lower case can undo the normal form (`İ`), so it is made again afterwards.
    let folded: String = title.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    folded.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).fold(
        String::new(),
        |mut words, word| {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
            words
        },
    )
}

/// FNV-1a with 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fingerprint(file: &str, title: &str) -> Fingerprint {
        Fingerprint::new(&FilePath::parse(file).unwrap(), &Summary::parse(title).unwrap())
    }

    #[test]
    fn the_hash_is_fnv1a() {
        // Vectors published with the algorithm.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
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
}
