//! The key of a finding on a pull request: which comment is about which finding.
//!
//! ```text
//! fp-0123456789abcdef-89abcdef       its fingerprint, and a hash of the code it is about
//! fp-0123456789abcdef-89abcdef.2     the second that says the same of the same code in one file
//! ```
//!
//! The fingerprint alone is the same for every place in a file where a rule matches, and each place has its comment.
//! Line numbers are no part of a key, since they move with every push.

use std::collections::HashMap;
use std::fmt;

use crate::finding::{Finding, FindingId};
use crate::fingerprint::Fingerprint;

/// The key of a finding on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    fingerprint: Fingerprint,
    evidence: u32,
    /// Which of those that are alike, from 1.
    number: u32,
}

impl Key {
    /// The key of a finding that is the only one of its kind.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        Self { fingerprint: Fingerprint::of(finding), evidence: hash(&finding.evidence), number: 1 }
    }

    /// The keys of the findings of a review, in order; no two are equal.
    #[must_use]
    pub fn all(findings: &[Finding]) -> Vec<Self> {
        Self::numbered(findings, |_| false)
    }

    /// The same, but of those that are alike the ones that are new come last: what is there already has its comment,
    /// and keeps its key.
    #[must_use]
    pub fn numbered(findings: &[Finding], is_new: impl Fn(usize) -> bool) -> Vec<Self> {
        let mut keys: Vec<Self> = findings.iter().map(Self::of).collect();
        let (new, known): (Vec<usize>, Vec<usize>) = (0..keys.len()).partition(|index| is_new(*index));
        let mut seen: HashMap<Self, u32> = HashMap::new();
        for index in known.into_iter().chain(new) {
            let number = seen.entry(keys[index]).or_default();
            *number += 1;
            keys[index].number = *number;
        }
        keys
    }

    /// Reads a key as it is written.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (head, tail) = text.split_at_checked(19)?;
        let (evidence, number) = match tail.strip_prefix('-')?.split_once('.') {
            None => (&tail[1..], 1),
            Some((evidence, number)) => (evidence, number.parse().ok().filter(|number| *number > 1)?),
        };
        let plain = evidence.len() == 8;
        let evidence = u32::from_str_radix(evidence, 16).ok().filter(|_| plain)?;
        let key = Self { fingerprint: Fingerprint::parse(head)?, evidence, number };
        (key.to_string() == text).then_some(key)
    }

    /// The key by which a finding is known in a later review.
    #[must_use]
    pub fn fingerprint(self) -> Fingerprint {
        self.fingerprint
    }

    /// The finding that somebody names: `F003`, a key, or a fingerprint, unless that is one of several.
    ///
    /// The key of an older comment may be about code that was quoted in other words since; then its fingerprint tells.
    #[must_use]
    pub fn find(findings: &[Finding], id: &str) -> Option<usize> {
        if let Some(id) = FindingId::parse(id) {
            return findings.iter().position(|finding| finding.id == id);
        }
        let key = Self::parse(id);
        let exact = key.and_then(|key| Self::all(findings).iter().position(|other| *other == key));
        exact.or_else(|| match *Self::alike(findings, key.map(Self::fingerprint).or(Fingerprint::parse(id))?) {
            [index] => Some(index),
            _ => None,
        })
    }

    /// The findings that have a fingerprint, by their index.
    #[must_use]
    pub fn alike(findings: &[Finding], fingerprint: Fingerprint) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..findings.len()).collect();
        indices.retain(|index| Fingerprint::of(&findings[*index]) == fingerprint);
        indices
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.fingerprint, self.evidence)?;
        if self.number > 1 { write!(f, ".{}", self.number) } else { Ok(()) }
    }
}

/// FNV-1a over the words of a text, however they are spaced.
fn hash(evidence: &str) -> u32 {
    let feed = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let words = evidence.split_whitespace();
    words.fold(0x811c_9dc5, |hash, word| feed(word.bytes().fold(hash, feed), b' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::sample::finding;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        for text in ["fp-0123456789abcdef-01234567", "fp-0123456789abcdef-01234567.2"] {
            assert_eq!(Key::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "fp-0123456789abcdef",
            "fp-0123456789abcdef-",
            "fp-0123456789abcdef-0123456",
            "fp-0123456789abcdef-+1234567",
            "fp-0123456789abcdef-01234567.1",
            "fp-0123456789abcdef-01234567.02",
            "fp-0123456789abcdeé-01234567",
        ] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn places_that_differ_in_their_code_have_keys_of_their_own_that_survive_moves() {
        let (one, two) = (finding("a.rs:3", "High", "eval(a)"), finding("a.rs:9", "High", "eval(b)"));
        let keys = Key::all(&[one.clone(), two.clone()]);
        assert_ne!(keys[0], keys[1]);
        assert_eq!(keys[0].fingerprint(), keys[1].fingerprint());
        let moved = finding("a.rs:70", "Low", "  eval(a)\n");
        assert_eq!(Key::all(&[two, moved]), [keys[1], keys[0]]);
    }

    #[test]
    fn equal_findings_are_numbered() {
        let alike = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        let keys = Key::all(&alike);
        assert_eq!(keys[1].to_string(), format!("{}.2", keys[0]));
        let keys = |new: usize| Key::numbered(&alike, |index| index == new);
        assert_eq!(keys(0), [keys(1)[1], keys(1)[0]]);
        assert_eq!(keys(1), Key::all(&alike));
    }

    #[test]
    fn a_finding_is_found_by_number_key_and_fingerprint() {
        let mut findings = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        findings[1].id = FindingId::at(1);
        let keys = Key::all(&findings);
        assert_eq!(Key::find(&findings, "F002"), Some(1));
        assert_eq!(Key::find(&findings, "F003"), None);
        assert_eq!(Key::find(&findings, &keys[1].to_string()), Some(1));
        assert_eq!(Key::find(&findings, "fp-0000000000000000"), None);
        assert_eq!(Key::find(&findings, "fp-0000000000000000-00000000"), None);
        assert_eq!(Key::find(&findings, "x"), None);
    }

    #[test]
    fn a_fingerprint_names_a_finding_where_it_is_the_only_one() {
        let findings = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        let fingerprint = Fingerprint::of(&findings[0]).to_string();
        let reworded = format!("{fingerprint}-00000000");
        assert_eq!(Key::find(&findings, &fingerprint), None);
        assert_eq!(Key::find(&findings, &reworded), None);
        assert_eq!(Key::find(&findings[..1], &fingerprint), Some(0));
        assert_eq!(Key::find(&findings[..1], &reworded), Some(0));
    }
}
