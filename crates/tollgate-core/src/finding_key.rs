//! The key of a finding on a pull request; links inline comments to findings (idempotency key).
//!
//! ```text
//! fp-0123456789abcdef-89abcdef       the fingerprint and a hash of the evidence
//! fp-0123456789abcdef-89abcdef.2     the second equal finding in one file
//! f-3c1e07d2                         the short id of a key, for people
//! ```
//!
//! The fingerprint alone is the same for every match of a rule in a file, and each match has its own comment. Line
//! numbers are not part of a key, since they move with every push. A finding that a later review words differently keeps
//! the key of its first report in [`KEY`], so that it has one comment. `F001` is the place of a finding in the list of one
//! review, so a comment that stays shows the short id, which names the same finding after every push.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::Value;

use crate::finding::{Finding, FindingId};
use crate::fingerprint::Fingerprint;

/// The extension field with the key of a finding that an earlier review reported in other words.
pub const KEY: &str = "x_key";

/// The beginning of a short id.
const SHORT: &str = "f-";

/// The key of a finding on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FindingKey {
    fingerprint: Fingerprint,
    evidence: u32,
    /// The number among equal findings, from 1.
    number: u32,
}

impl FindingKey {
    /// The key of a finding without equal ones.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        let kept = finding.extra.get(KEY).and_then(Value::as_str).and_then(Self::parse);
        kept.unwrap_or_else(|| Self {
            fingerprint: Fingerprint::of(finding),
            evidence: hash(&finding.evidence),
            number: 1,
        })
    }

    /// The key of a finding with this fingerprint and evidence.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, evidence: &str) -> Self {
        Self { fingerprint, evidence: hash(evidence), number: 1 }
    }

    /// The key of the first of equal findings.
    #[must_use]
    pub fn without_number(self) -> Self {
        Self { number: 1, ..self }
    }

    /// Gives a finding the key of the same finding in an earlier review.
    pub fn keep(self, finding: &mut Finding) {
        let own = Self::of(finding);
        if (own.fingerprint, own.evidence) != (self.fingerprint, self.evidence) {
            finding.extra.insert(KEY.to_owned(), self.to_string().into());
        }
    }

    /// The keys of the findings of a review, in order and unique.
    #[must_use]
    pub fn all(findings: &[Finding]) -> Vec<Self> {
        Self::numbered(findings, |_| false)
    }

    /// The same, but new findings are numbered last among equal ones: a finding with a comment keeps its key.
    #[must_use]
    pub fn numbered(findings: &[Finding], is_new: impl Fn(usize) -> bool) -> Vec<Self> {
        let mut keys: Vec<Self> = findings.iter().map(Self::of).collect();
        let rank = |index: &usize| (!findings[*index].extra.contains_key(KEY), is_new(*index));
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(rank);
        let (mut used, mut next) = (HashSet::new(), HashMap::<(Fingerprint, u32), u32>::new());
        for index in order {
            let key = &mut keys[index];
            let next = next.entry((key.fingerprint, key.evidence)).or_insert(1);
            while !used.insert(*key) {
                *next += 1;
                key.number = *next;
            }
        }
        keys
    }

    /// Parses a key.
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

    /// The fingerprint across reviews.
    #[must_use]
    pub fn fingerprint(self) -> Fingerprint {
        self.fingerprint
    }

    /// The short id, which stays the same while the finding is reported: `f-3c1e07d2`.
    #[must_use]
    pub fn short(self) -> String {
        let mixed = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        format!("{SHORT}{:08x}", self.to_string().bytes().fold(0x811c_9dc5, mixed))
    }

    /// True for the form of a short id.
    #[must_use]
    pub fn is_short(id: &str) -> bool {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        id.strip_prefix(SHORT).is_some_and(|digits| digits.len() == 8 && digits.bytes().all(is_digit))
    }

    /// Finds a finding by its id (`F003`), short id, key, or unique fingerprint.
    ///
    /// The evidence may have changed since an older comment; then the fingerprint of its key decides.
    #[must_use]
    pub fn find(findings: &[Finding], id: &str) -> Option<usize> {
        if let Some(id) = FindingId::parse(id) {
            return findings.iter().position(|finding| finding.id == id);
        }
        if Self::is_short(id) {
            let keys = Self::all(findings);
            let mut found = keys.iter().enumerate().filter(|(_, key)| key.short() == id);
            return found.next().filter(|_| found.next().is_none()).map(|(index, _)| index);
        }
        let key = Self::parse(id);
        let exact = key.and_then(|key| Self::all(findings).iter().position(|other| *other == key));
        exact.or_else(|| match *Self::alike(findings, key.map(Self::fingerprint).or(Fingerprint::parse(id))?) {
            [index] => Some(index),
            _ => None,
        })
    }

    /// The indices of the findings with a fingerprint.
    #[must_use]
    pub fn alike(findings: &[Finding], fingerprint: Fingerprint) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..findings.len()).collect();
        let is_alike = |finding| [Fingerprint::of(finding), Self::of(finding).fingerprint].contains(&fingerprint);
        indices.retain(|index| is_alike(&findings[*index]));
        indices
    }
}

impl fmt::Display for FindingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}", self.fingerprint, self.evidence)?;
        if self.number > 1 { write!(f, ".{}", self.number) } else { Ok(()) }
    }
}

/// FNV-1a over the words of a text, independent of white space.
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
    fn keys_round_trip_as_text() {
        for text in ["fp-0123456789abcdef-01234567", "fp-0123456789abcdef-01234567.2"] {
            assert_eq!(FindingKey::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
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
            assert_eq!(FindingKey::parse(text), None, "{text}");
        }
    }

    #[test]
    fn keys_differ_by_evidence_and_survive_moved_lines() {
        let (one, two) = (finding("a.rs:3", "High", "eval(a)"), finding("a.rs:9", "High", "eval(b)"));
        let keys = FindingKey::all(&[one.clone(), two.clone()]);
        assert_ne!(keys[0], keys[1]);
        assert_eq!(keys[0].fingerprint(), keys[1].fingerprint());
        let moved = finding("a.rs:70", "Low", "  eval(a)\n");
        assert_eq!(FindingKey::all(&[two, moved]), [keys[1], keys[0]]);
    }

    #[test]
    fn equal_findings_are_numbered() {
        let alike = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        let keys = FindingKey::all(&alike);
        assert_eq!(keys[1].to_string(), format!("{}.2", keys[0]));
        let keys = |new: usize| FindingKey::numbered(&alike, |index| index == new);
        assert_eq!(keys(0), [keys(1)[1], keys(1)[0]]);
        assert_eq!(keys(1), FindingKey::all(&alike));
    }

    #[test]
    fn a_reworded_finding_keeps_its_key() {
        let first = finding("a.rs:3", "High", "eval(a)");
        let mut again = Finding { summary: crate::finding::Summary::parse("Other words").unwrap(), ..first.clone() };
        let keys = FindingKey::all(std::slice::from_ref(&first));
        assert_ne!(FindingKey::of(&again), keys[0]);
        keys[0].keep(&mut again);
        assert_eq!(FindingKey::of(&again), keys[0]);
        assert_eq!(FindingKey::find(std::slice::from_ref(&again), &keys[0].to_string()), Some(0));
        assert_eq!(FindingKey::find(std::slice::from_ref(&again), &Fingerprint::of(&first).to_string()), Some(0));
        // Another finding with the words of then gets a key of its own.
        let keys = FindingKey::all(&[first, again]);
        assert_eq!(keys[0].to_string(), format!("{}.2", keys[1]));
    }

    #[test]
    fn a_finding_is_found_by_number_key_and_fingerprint() {
        let mut findings = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        findings[1].id = FindingId::at(1);
        let keys = FindingKey::all(&findings);
        assert_eq!(FindingKey::find(&findings, "F002"), Some(1));
        assert_eq!(FindingKey::find(&findings, "F003"), None);
        assert_eq!(FindingKey::find(&findings, &keys[1].to_string()), Some(1));
        assert_eq!(FindingKey::find(&findings, &keys[1].short()), Some(1));
        assert!(FindingKey::is_short(&keys[1].short()) && keys[0].short() != keys[1].short());
        assert_eq!(FindingKey::find(&findings, "f-00000000"), None);
        assert_eq!(FindingKey::find(&findings, "fp-0000000000000000"), None);
        assert_eq!(FindingKey::find(&findings, "fp-0000000000000000-00000000"), None);
        assert_eq!(FindingKey::find(&findings, "x"), None);
    }

    #[test]
    fn a_fingerprint_names_a_finding_where_it_is_the_only_one() {
        let findings = ["a.rs:3", "a.rs:9"].map(|place| finding(place, "High", "eval(a)"));
        let fingerprint = Fingerprint::of(&findings[0]).to_string();
        let reworded = format!("{fingerprint}-00000000");
        assert_eq!(FindingKey::find(&findings, &fingerprint), None);
        assert_eq!(FindingKey::find(&findings, &reworded), None);
        assert_eq!(FindingKey::find(&findings[..1], &fingerprint), Some(0));
        assert_eq!(FindingKey::find(&findings[..1], &reworded), Some(0));
    }
}
