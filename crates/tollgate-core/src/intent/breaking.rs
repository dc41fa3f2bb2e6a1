//! Phrases that declare a breaking change.
//!
//! ```text
//! BREAKING CHANGE: the v1 routes are gone        declared
//! this breaks old clients                        declared
//! a non-breaking change; breaking changes: none  not declared
//! ```
//!
//! This module matches plain text; [`body`](super::body) extracts it from Markdown.

use std::ops::Range;

use crate::intent::code_spans;

/// The number of characters of context in an excerpt, on each side.
const AROUND: usize = 20;
/// How many bytes on each side of a phrase are searched for a negation.
const NEAR: usize = 96;

/// A phrase about breaking changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    pub(crate) range: Range<usize>,
    /// True when the phrase is negated.
    pub(crate) negated: bool,
}

/// A fast prefilter: false when a text cannot contain a phrase.
pub(crate) fn may_hold(text: &str) -> bool {
    candidates(text.as_bytes()).next().is_some()
}

/// A prefilter for Markdown: false when no parser could find a declaration.
///
/// Examines each candidate within its line. `it breaks`, `breaking news`, `no breaking changes` and unticked boxes are ruled
/// out here, so that nearly all bodies skip the parser.
pub(crate) fn may_declare(markdown: &str) -> bool {
    let bytes = markdown.as_bytes();
    let (mut seen, mut line, mut unticked) = (0, 0, is_unticked(markdown));
    candidates(bytes).any(|at| {
        if let Some(line_break) = memchr::memrchr2(b'\n', b'\r', &bytes[seen..at]) {
            line = seen + line_break + 1;
            unticked = is_unticked(&markdown[line..]);
        }
        seen = at;
        let from = markdown.ceil_char_boundary(at.saturating_sub(NEAR).max(line));
        !unticked && !is_ruled_out(&markdown[from..at], &markdown[at..])
    })
}

/// True when a candidate cannot be a declaration, regardless of the surrounding Markdown.
fn is_ruled_out(before: &str, from: &str) -> bool {
    if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return true;
    }
    if let Some(rest) = strip_word(from, "breaking") {
        const NEXT: [&str; 4] = ["change", "changes", "api", "apis"];
        let next = rest.strip_prefix(' ').unwrap_or_default();
        let next = &next[..next.bytes().take_while(u8::is_ascii_alphabetic).count()];
        let is_other = !next.is_empty() && !NEXT.iter().any(|known| next.eq_ignore_ascii_case(known));
        let is_plain = !before.contains(['<', '&', '[', ']', '`', '\\']);
        return is_other || is_plain && (is_compound(before) || is_denied(before, false));
    }
    // Before `breaks` a plain word that is not `this`.
    let Some(before) = before.strip_suffix(' ') else { return false };
    let word = &before[before.rfind(' ').map_or(0, |space| space + 1)..];
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()) && !word.eq_ignore_ascii_case("this")
}

/// The first phrase that declares a breaking change.
pub(crate) fn find(text: &str) -> Option<Range<usize>> {
    if !may_hold(text) {
        return None;
    }
    phrases(text, &code_spans::ranges(text)).into_iter().find(|phrase| !phrase.negated).map(|phrase| phrase.range)
}

/// Every phrase outside of code, in order.
pub(crate) fn phrases(text: &str, code: &[Range<usize>]) -> Vec<Phrase> {
    let mut found: Vec<Phrase> = Vec::new();
    // Checked once per line, because a line may have thousands of phrases.
    let mut unticked = is_unticked(text);
    for range in candidates(text.as_bytes()).filter_map(|at| phrase_at(text, at)) {
        let seen = found.last().map_or(0, |last| last.range.end);
        if let Some(line_break) = text.get(seen..range.start).and_then(|between| between.rfind('\n')) {
            unticked = is_unticked(&text[seen + line_break + 1..]);
        }
        if !code_spans::overlaps(code, &range) {
            found.push(Phrase { negated: unticked || is_negated(text, &range), range });
        }
    }
    // `Breaking changes: there are no breaking changes` asks and answers.
    for index in 1..found.len() {
        let (asked, answer) = (found[index - 1].range.end, &found[index]);
        let between = &text[asked..answer.range.start];
        if answer.negated && between.starts_with([':', '?']) && between.len() <= 2 * AROUND {
            found[index - 1].negated = true;
        }
    }
    found
}

/// An excerpt of the phrase with context, on one line.
pub(crate) fn excerpt(text: &str, range: &Range<usize>) -> String {
    let start = text[..range.start].char_indices().rev().take(AROUND).last().map_or(range.start, |(at, _)| at);
    let end = text[range.end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| range.end + at);
    text[start..end].split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True for answers that deny a breaking change: `None`, `N/A`, `no.`, `nothing`.
pub(crate) fn is_none(answer: &str) -> bool {
    const WORDS: [&str; 8] = ["none", "n/a", "n.a.", "na", "no", "nope", "nil", "nothing"];
    const TWO_WORDS: [&str; 2] = ["not applicable", "not any"];
    // `None of the old routes work` is no such answer, `none that I know of` is.
    const GOES_ON: [&str; 12] =
        ["known", "expected", "identified", "that", "so", "at", "here", "in", "for", "as", "this", "intended"];
    let text = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
    if text.is_empty() {
        return answer.contains(['-', '–', '—', '/', '∅', '❌', '✗']);
    }
    let begins = |word: &&str| {
        let rest = strip_word(text, word)?;
        let next = rest.trim_start();
        let goes_on = next.starts_with(char::is_alphanumeric);
        (!goes_on || *word != "no" && GOES_ON.iter().any(|more| strip_word(next, more).is_some())).then_some(())
    };
    WORDS.iter().chain(&TWO_WORDS).any(|word| begins(word).is_some())
}

/// The offsets of `breaking` and `breaks`.
fn candidates(bytes: &[u8]) -> impl Iterator<Item = usize> {
    // Of the letters of `break` the last is by far the rarest.
    memchr::memchr2_iter(b'k', b'K', bytes).filter_map(|at| {
        let start = at.checked_sub(4)?;
        let rest = &bytes[at + 1..];
        let ends = rest.first().is_some_and(|byte| byte.eq_ignore_ascii_case(&b's'))
            || rest.get(..3).is_some_and(|end| end.eq_ignore_ascii_case(b"ing"));
        (ends && bytes[start..at].eq_ignore_ascii_case(b"brea")).then_some(start)
    })
}

/// The phrase around the word at `at`.
fn phrase_at(text: &str, at: usize) -> Option<Range<usize>> {
    if text[..at].chars().next_back().is_some_and(is_word) {
        return None;
    }
    if let Some(rest) = strip_word(&text[at..], "breaks") {
        let before = text[..at].trim_end();
        let start = before.len().checked_sub(4).filter(|_| before.len() < at)?;
        let this = before.get(start..)?.eq_ignore_ascii_case("this");
        let whole = !before[..start].chars().next_back().is_some_and(is_word);
        return (this && whole).then(|| start..text.len() - rest.len());
    }
    let rest = strip_word(&text[at..], "breaking")?;
    let next = rest.trim_start();
    let hyphen = if next.len() == rest.len() { rest.strip_prefix('-') } else { None };
    let (words, next): (&[&str], &str) = match hyphen {
        Some(next) => (&["change", "changes"], next),
        None if next.len() < rest.len() => (&["change", "changes", "api", "apis"], next),
        None => return None,
    };
    let rest = words.iter().find_map(|word| strip_word(next, word))?;
    Some(at..text.len() - rest.len())
}

/// Strips a whole word, ignoring case.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let begins = text.get(..word.len())?.eq_ignore_ascii_case(word);
    let rest = text.get(word.len()..)?;
    (begins && !rest.chars().next().is_some_and(is_word)).then_some(rest)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_negated(text: &str, phrase: &Range<usize>) -> bool {
    let breaks = text[phrase.clone()].get(..4).is_some_and(|word| word.eq_ignore_ascii_case("this"));
    let (before, after) = (&text[..phrase.start], &text[phrase.end..]);
    is_compound(before) || is_denied(before, breaks) || is_answered(after, breaks)
}

/// True for `record-breaking` and `non-breaking`, but not for `API-breaking`.
fn is_compound(before: &str) -> bool {
    const REAL: [&str; 4] = ["api", "abi", "source", "binary"];
    let Some(word) = before.strip_suffix(['-', '\u{2010}', '\u{2011}']) else { return false };
    let is_real = |real: &str| {
        let start = word.len().checked_sub(real.len());
        start.and_then(|start| word.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(real))
    };
    word.ends_with(is_word) && !REAL.iter().any(|real| is_real(real))
}

/// True after a negation: `not a breaking change`, `without introducing any breaking changes`.
fn is_denied(before: &str, breaks: bool) -> bool {
    const NEGATIONS: [&str; 16] = [
        "no", "not", "non", "never", "without", "zero", "0", "nor", "cannot", "avoid", "avoids", "avoiding", "prevent",
        "prevents", "aint", "neither",
    ];
    const CONDITIONS: [&str; 3] = ["if", "unless", "whether"];
    const FILLERS: [&str; 30] = [
        "a",
        "an",
        "any",
        "the",
        "be",
        "is",
        "are",
        "been",
        "have",
        "has",
        "having",
        "contain",
        "contains",
        "introduce",
        "introduces",
        "introducing",
        "cause",
        "causes",
        "causing",
        "include",
        "includes",
        "make",
        "makes",
        "making",
        "considered",
        "known",
        "new",
        "public",
        "strictly",
        "really",
    ];
    let from = before.ceil_char_boundary(before.len().saturating_sub(NEAR));
    for word in before[from..].split_whitespace().rev() {
        if word.ends_with(['.', ',', ';', ':', '!', '?', ')', '—', '–']) {
            return false;
        }
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is = |list: &[&str]| list.iter().any(|other| other.eq_ignore_ascii_case(word));
        let lower = word.to_ascii_lowercase();
        if is(&NEGATIONS) || lower.ends_with("n't") || lower.ends_with("n’t") || breaks && is(&CONDITIONS) {
            return true;
        }
        if !is(&FILLERS) {
            return false;
        }
    }
    false
}

/// True when a text begins with an empty box, in a list or not.
pub(crate) fn is_unticked(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t', '-', '*', '+']);
    let inside =
        text.strip_prefix('[').map(|inside| inside.trim_start_matches(|c: char| c.is_whitespace() && c != '\n'));
    let box_end = inside.and_then(|inside| inside.strip_prefix(']'));
    text.starts_with('☐') || box_end.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

/// True before a negating answer: `Breaking changes: none`, `this breaks nothing`.
fn is_answered(after: &str, breaks: bool) -> bool {
    let next = after.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | ';' | '\n'));
    if breaks {
        // `breaks down`, `breaks up` and `breaks out` mean something else.
        const NOTHING: [&str; 7] = ["nothing", "no", "none", "neither", "down", "up", "out"];
        let at_once = after.trim_start().len() == next.len();
        return at_once && NOTHING.iter().any(|word| strip_word(next, word).is_some());
    }
    let near = &next[..next.floor_char_boundary(NEAR)];
    let line = near.split('\n').next().unwrap_or_default();
    !line.is_empty() && is_none(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(find(text).map_or("", |range| &text[range]), expected, "{text:?}");
    }

    #[test]
    fn every_phrase_counts_in_any_case() {
        check("a breaking change here", "breaking change");
        check("Breaking Changes", "Breaking Changes");
        check("and this breaks clients", "this breaks");
        check("a Breaking API", "Breaking API");
        check("BREAKING CHANGE: x", "BREAKING CHANGE");
        check("BREAKING-CHANGE: x", "BREAKING-CHANGE");
        check("an API-breaking change", "breaking change");
        check("breaking\u{a0}\n change", "breaking\u{a0}\n change");
    }

    #[test]
    fn parts_of_other_words_do_not_count() {
        for text in [
            "heartbreaking change",
            "breaking changelog",
            "breaking",
            "breaks",
            "this  breakes",
            "breaking news",
            "hypothesis breaks",
            "thisbreaks",
            "groundbreaking api",
            "breakings change",
        ] {
            check(text, "");
        }
    }

    #[test]
    fn negated_phrases_do_not_count() {
        for text in [
            "a non-breaking change",
            "a non breaking change",
            "not a breaking change",
            "This is not a breaking change.",
            "there are no breaking changes",
            "without any breaking changes",
            "doesn't introduce a breaking change",
            "isn’t a breaking change",
            "Breaking changes: none",
            "Breaking changes: None.",
            "**Breaking changes?** No",
            "| Breaking change | no |",
            "Breaking changes - N/A",
            "BREAKING CHANGE: n/a",
            "Breaking changes: there are no breaking changes",
            "this breaks nothing",
            "this breaks no API",
            "tell me if this breaks",
            "this breaks down the loop",
            "a record-breaking change",
            "[ ] Breaking change",
            "- [] Breaking change",
        ] {
            check(text, "");
        }
    }

    #[test]
    fn words_that_only_look_like_a_negation_deny_nothing() {
        check("No, this is a breaking change", "breaking change");
        check("not just a breaking change", "breaking change");
        check("do not merge: breaking change", "breaking change");
        check("Breaking change: no longer reads v1", "Breaking change");
        check("Breaking changes: none of the routes work", "Breaking changes");
        check("non-breaking change and a breaking change", "breaking change");
        check("[x] Breaking change", "Breaking change");
    }

    #[test]
    fn most_bodies_are_rejected_by_the_prefilter() {
        for text in [
            "it breaks\nthe loop",
            "without breaking the tests",
            "breaking news",
            "a non-breaking change",
            "there are no breaking changes",
            "- a\n- [ ] Breaking change (this breaks things)\r\n* [ ] this breaks",
            "unbreaking change",
            "no break",
        ] {
            assert!(!may_declare(text), "{text:?}");
        }
    }

    #[test]
    fn ambiguous_bodies_pass_the_prefilter() {
        for text in [
            "breaking\nchange",
            "**breaking** change",
            "breaking <b>change</b>",
            "this\nbreaks",
            "this **breaks**",
            "[a](b)this breaks",
            "no\nbreaking change",
            "no <!-- a --> breaking change",
            "- [ ](url) breaking change",
            "- [x] Breaking change",
            "- [ ] a\n- Breaking change",
            "Breaking changes: <!-- none -->",
        ] {
            assert!(may_declare(text), "{text:?}");
        }
    }

    #[test]
    fn code_in_a_title_does_not_count() {
        check("explain `BREAKING CHANGE` footers", "");
        check("breaking `change`", "");
    }

    #[test]
    fn an_excerpt_has_about_twenty_characters_on_each_side() {
        let text = "0123456789ü123456789\u{1f642}123 breaking change\n äöü3456789012345678901234";
        let range = find(text).unwrap();
        insta::assert_snapshot!(excerpt(text, &range), @"56789ü123456789🙂123 breaking change äöü345678901234567");
        assert_eq!(excerpt("breaking change", &(0..15)), "breaking change");
    }
}
