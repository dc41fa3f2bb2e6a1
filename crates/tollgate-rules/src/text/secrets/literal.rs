//! The other literals of a line that holds a secret.
//!
//! In `new Credentials("AKIA…", "…")` only the first value has a format; the second is the secret. A line with a
//! credential is therefore shown without its literals, except names such as `"password"` before a colon.

use std::ops::Range;

use super::heuristics::{entropy, is_random};

/// Shorter literals are left: they tell where a value stands and are no secrets.
const MIN_LITERAL: usize = 4;

/// Random words of this length are masked without quotes, too.
const MIN_WORD: usize = 20;

/// The length of an AWS secret access key.
const AWS_SECRET: usize = 40;

/// Adds the literals of a line to the ranges of its secrets; the result is ordered and does not overlap.
///
/// A secret of several lines reaches beyond the end of its line.
pub(super) fn with_literals(line: &[u8], secrets: Vec<Range<usize>>) -> Vec<Range<usize>> {
    // Both are ordered, so that a line full of secrets costs no more than its length.
    let is_free = |known: &[Range<usize>], range: &Range<usize>| {
        let next = known.partition_point(|known| known.end <= range.start);
        known.get(next).is_none_or(|known| range.end <= known.start)
    };
    let mut others: Vec<Range<usize>> = quoted(line).filter(|range| is_free(&secrets, range)).collect();
    let is_other = |word: &Range<usize>| is_free(&secrets, word) && is_free(&others, word);
    let words: Vec<Range<usize>> = random_words(line).filter(is_other).collect();
    others.extend(words);
    others.extend(secrets);
    others.sort_by_key(|range| range.start);
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(others.len());
    for range in others {
        if ranges.last().is_none_or(|last| last.end <= range.start) {
            ranges.push(range);
        }
    }
    ranges
}

/// The contents of quoted literals that are no names of members.
fn quoted(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let open = at + line.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
            let quote = line[open];
            let Some(len) = line[open + 1..].iter().position(|byte| *byte == quote) else {
                at = open + 1;
                continue;
            };
            let range = open + 1..open + 1 + len;
            at = range.end + 1;
            let after = line[at..].iter().find(|byte| **byte != b' ');
            let is_name = matches!(after, Some(b':' | b']' | b'='));
            if range.len() >= MIN_LITERAL && !is_name {
                return Some(range);
            }
        }
    })
}

fn random_words(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    words(line).filter(|word| word.len() >= MIN_WORD && is_random(&line[word.clone()]))
}

/// The values on a line that can be the secret of an AWS key.
pub(super) fn aws_secrets(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    words(line).filter(|word| {
        let value = &line[word.clone()];
        let has = |is: fn(&u8) -> bool| value.iter().any(is);
        value.len() == AWS_SECRET
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_digit)
            && entropy(value) > 4.2
    })
}

/// The runs of base64 characters.
fn words(line: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line.get(at..)?.iter().position(|byte| is_word(*byte))?;
        let len = line[start..].iter().take_while(|byte| is_word(**byte)).count();
        at = start + len;
        Some(start..at)
    })
}
