//! Redaction: masks the secrets in a text.
//!
//! ```text
//! token = "9f8T…(16 characters)"
//! ```
//!
//! The visible characters identify the secret and are too few to use it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use tollgate_core::diff::{self, FileDiff};

use crate::text::secrets;

/// Maximum length of evidence, in characters.
const MAX_CHARS: usize = 200;

/// Characters of a masked secret that stay visible.
const KEPT: usize = 4;

/// Shorter secrets could be part of an ordinary word.
const MIN_KNOWN: usize = 8;

/// Maximum number of known secrets.
const MAX_KNOWN: usize = 10_000;

/// Masks every secret that the rules recognise in a text, including fake ones in tests.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let found = secrets::in_text(text.as_bytes()).masked;
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replace(text.as_bytes(), &found))
}

/// Masks the secrets in the files of a change, for display.
#[must_use]
pub fn mask_files(files: &[FileDiff]) -> Vec<FileDiff> {
    // A secret is masked wherever it is repeated, also where nothing tells that it is one.
    let known = KnownSecrets::of(files);
    diff::redact(files, &|text| joined(secrets::in_text(text).masked, known.find(text)))
}

/// Two lists of ranges as one that is ordered and does not overlap.
fn joined(mut ranges: Vec<Range<usize>>, more: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.extend(more);
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| last.end > range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

/// Masks every secret in a text by the same number of `*`, so that byte offsets stay valid.
#[must_use]
pub fn mask_same_length(mut text: Vec<u8>) -> Vec<u8> {
    for range in secrets::in_text(&text).masked {
        let kept = if range.len() >= 4 * KEPT { KEPT } else { 0 };
        let secret = text.get_mut(range).unwrap_or_default();
        secret.iter_mut().skip(kept).filter(|byte| **byte != b'\n').for_each(|byte| *byte = b'*');
    }
    text
}

/// The secrets in the lines of a change, to mask them in the output of other tools.
///
/// Many secrets are recognised only by their context, `password = "…"`, which the output of a tool does not repeat.
#[derive(Debug)]
pub struct KnownSecrets(Option<AhoCorasick>);

impl KnownSecrets {
    /// Finds the secrets of a change.
    #[must_use]
    pub fn of(files: &[FileDiff]) -> Self {
        let mut known = BTreeSet::new();
        for file in files {
            let lines = file.hunks.iter().flat_map(|hunk| file.lines(hunk)).map(|line| line.text);
            let text = lines.collect::<Vec<_>>().join(&b'\n');
            for range in secrets::in_text(&text).secrets {
                // A private key has several lines.
                let lines = text[range].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
                known.extend(lines.filter(|line| line.len() >= MIN_KNOWN).map(<[u8]>::to_vec));
            }
        }
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(known.iter().take(MAX_KNOWN));
        Self(search.ok().filter(|_| !known.is_empty()))
    }

    fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.0.iter().flat_map(|search| search.find_iter(text)).map(|found| found.range()).collect()
    }

    /// True when a text holds a known secret.
    #[must_use]
    pub fn are_in(&self, text: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|search| search.is_match(text))
    }

    /// Masks every known secret in a text.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text.as_bytes());
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replace(text.as_bytes(), &found)) }
    }
}

/// The part of a line around the secret that begins at `first`, with these ranges masked.
pub(crate) fn around(line: &[u8], masked: &[Range<usize>], first: usize) -> String {
    let masked = replace(line, masked);
    let masked = masked.trim();
    if masked.chars().count() <= MAX_CHARS {
        return masked.to_owned();
    }
    let n_before = String::from_utf8_lossy(&line[..first.min(line.len())]).chars().count();
    let skip = n_before.saturating_sub(MAX_CHARS / 2);
    masked.chars().skip(skip).take(MAX_CHARS).collect::<String>().trim().to_owned()
}

/// Masks the ranges, which are ordered and do not overlap.
fn replace(text: &[u8], ranges: &[Range<usize>]) -> String {
    let (mut masked, mut at) = (String::new(), 0);
    for range in ranges {
        if range.is_empty() {
            continue;
        }
        let (Some(before), Some(secret)) = (text.get(at..range.start), text.get(range.clone())) else {
            continue;
        };
        masked.push_str(&String::from_utf8_lossy(before));
        masked.push_str(&masked_secret(&String::from_utf8_lossy(secret)));
        at = range.end;
    }
    masked.push_str(&String::from_utf8_lossy(text.get(at..).unwrap_or_default()));
    masked
}

/// Formats a secret as its first characters and its length; a short secret shows fewer characters.
fn masked_secret(secret: &str) -> String {
    let n_chars = secret.chars().count();
    let n_shown = match n_chars {
        0..8 => 0,
        8..16 => 1,
        _ => 4,
    };
    let head: String = secret.chars().take(n_shown).collect();
    format!("{head}…({n_chars} characters)")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn every_secret_in_a_text_is_masked() {
        let text = "a = 1\ntoken = \"9f8Tq2LmWz7Rk4Yb\"; url = \"ftp://bob:kX9mQ2vLp@files.acme.io/\"\nb = 2";
        assert_snapshot!(mask(text), @r#"
        a = 1
        token = "9f8T…(16 characters)"; url = "ftp://bob:k…(9 characters)@files.acme.io/"
        b = 2
        "#);
    }

    #[test]
    fn the_body_of_a_private_key_is_masked_to_its_end() {
        let body = "MIIEpAIBAAKCAQEAx9Kd02mVqLz7Rk4YbXc3NpWt8sHjGfEuQaZvB1n5Oi6Ty0Ue";
        let text = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}\n-----END RSA PRIVATE KEY-----\nafter");
        let masked = mask(&text);
        assert!(!masked.contains("x9Kd02mV") && masked.ends_with("-----END RSA PRIVATE KEY-----\nafter"), "{masked}");
    }

    #[test]
    fn masking_can_keep_the_length() {
        let text = "a = 1\ntoken = \"9f8Tq2LmWz7Rk4Yb\";\nb = 2";
        let covered = mask_same_length(text.as_bytes().to_vec());
        assert_eq!(String::from_utf8_lossy(&covered), "a = 1\ntoken = \"9f8T************\";\nb = 2");
        assert_eq!(covered.len(), text.len());
    }

    #[test]
    fn known_secrets_are_masked_without_their_context() {
        let body = "MIIEpAIBAAKCAQEAx9Kd02mVqLz7Rk4YbXc3NpWt8sHjGfEuQaZvB1n5Oi6Ty0Ue";
        let text = format!(
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,4 @@\n+password = \"kX9mQ2vLp7RtW4nZ\"\n\
             +-----BEGIN RSA PRIVATE KEY-----\n+{body}\n+-----END RSA PRIVATE KEY-----\n"
        );
        let (files, _) = tollgate_core::diff::parse(text.into_bytes());
        let known = KnownSecrets::of(&files);
        assert_eq!(known.mask("kX9mQ2vLp7RtW4nZ in a"), "kX9m…(16 characters) in a");
        assert_eq!(known.mask(body), "MIIE…(64 characters)");
        assert!(matches!(known.mask("password in a"), Cow::Borrowed(_)));
        assert!(matches!(KnownSecrets::of(&[]).mask(body), Cow::Borrowed(_)));
    }

    #[test]
    fn text_without_secrets_is_not_copied() {
        assert!(matches!(mask("password = read()"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_line_is_truncated_around_its_secret() {
        let line = format!("{} token=abcdefgh {}", "x".repeat(1000), "y".repeat(1000));
        let at = line.find("abcdefgh").unwrap();
        let secret = at..at + 8;
        let shown = around(line.as_bytes(), std::slice::from_ref(&secret), at);
        assert!(shown.contains("token=a…(8 characters)") && shown.chars().count() <= MAX_CHARS, "{shown}");
    }
}
