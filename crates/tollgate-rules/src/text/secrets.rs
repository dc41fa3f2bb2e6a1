//! Secret scanning of added lines.
//!
//! One pass of a multi-literal search finds the candidates, which are then
//! checked by length, alphabet, checksum or entropy. Keys in a provider's format
//! are recognised by [`format`], all others by the name they are assigned to
//! ([`assignment`], [`vendor`]).
//!
//! No secret leaves this module: evidence is masked.

mod assignment;
mod checksum;
mod format;
mod heuristics;
mod pem;
mod vendor;

use std::ops::Range;
use std::sync::LazyLock;

use assignment::Owner;

use crate::hit::Hit;
use crate::text::file_class::FileClass;
use crate::text::hunk_text::{HunkText, LineCursor};
use crate::text::literals::Literals;
use crate::text::{File, mask};

pub(crate) use assignment::is_words;
pub(crate) use heuristics::is_placeholder;

/// In longer lines, which are generated code, only provider formats are searched.
const MAX_LINE: usize = 4096;

/// The rule for provider keys in tests and documents, where values are usually fake.
const IN_TEST: &str = "secret-in-test";

const PRIVATE_KEY: &str = "secret-private-key";

/// A secret on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    rule: &'static str,
    what: &'static str,
    range: Range<usize>,
    confidence: Confidence,
}

/// Confidence that a value is a secret, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Confidence {
    /// By its name and heuristics on its value.
    Heuristic,
    /// By a provider's format.
    Format,
    /// By a checksum.
    Checksum,
}

/// The meaning of a literal of the search.
#[derive(Debug, Clone, Copy)]
enum Clue {
    Format(&'static format::Format),
    Word,
    OpenAi,
    Url,
    Pem,
    /// A conflict marker, found in the same pass.
    Conflict,
}

struct Search {
    literals: Literals,
    clues: Vec<Clue>,
}

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let mut clues: Vec<(&str, Clue)> = Vec::new();
    clues.extend(format::FORMATS.iter().map(|format| (format.prefix, Clue::Format(format))));
    clues.extend(assignment::WORDS.iter().map(|word| (*word, Clue::Word)));
    clues.extend([(format::OPENAI_MARK, Clue::OpenAi), (pem::MARK, Clue::Pem)]);
    clues.extend(assignment::SCHEMES.iter().map(|scheme| (*scheme, Clue::Url)));
    clues.extend(["<<<<<<< ", ">>>>>>> "].map(|mark| (mark, Clue::Conflict)));
    Search {
        literals: Literals::new(clues.iter().map(|(literal, _)| *literal)),
        clues: clues.iter().map(|(_, clue)| *clue).collect(),
    }
});

/// Runs the secret rules on one file.
pub(crate) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    for body in file.hunk_texts() {
        let class = || *file.class();
        let conflict = each(body, &class, |line, secrets| {
            for secret in secrets {
                let rule = rule_in(class(), secret);
                if let Some(rule) = rule.filter(|rule| file.enabled(rule)) {
                    hits.push(hit(rule, line, secret, secrets));
                }
            }
        });
        file.may_conflict.set(file.may_conflict.get() || conflict);
    }
}

/// The rule that reports a secret in a file of this class, if any.
fn rule_in(class: FileClass, secret: &Secret) -> Option<&'static str> {
    let made_up = class.test || class.prose;
    match secret.confidence {
        Confidence::Checksum => Some(secret.rule),
        Confidence::Format if made_up => Some(IN_TEST),
        Confidence::Format => Some(secret.rule),
        Confidence::Heuristic if class.ci && secret.range.len() < 20 => None,
        Confidence::Heuristic => (!made_up && !class.generated).then_some(secret.rule),
    }
}

fn hit(rule: &str, line: Line<'_>, secret: &Secret, all: &[Secret]) -> Hit {
    let ranges: Vec<Range<usize>> = all.iter().map(|secret| secret.range.clone()).collect();
    let message = match rule {
        IN_TEST => Some(format!("{} in a test, example or document", secret.what)),
        "secret-generic-assignment" | "secret-url-password" => None,
        _ => Some(format!("{} in source code", secret.what)),
    };
    Hit {
        rule: rule.to_owned(),
        line_start: line.number,
        line_end: line.number,
        left: false,
        evidence: mask::around(line.text, &ranges),
        fix: None,
        message,
    }
}

/// The ranges of all secrets in plain text, ordered and not overlapping.
pub(crate) fn in_text(text: &[u8]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let class = || FileClass { config: true, ..FileClass::default() };
    each(HunkText::plain(text), &class, |line, secrets| {
        for secret in secrets {
            let mut range = line.start + secret.range.start..line.start + secret.range.end;
            if secret.rule == PRIVATE_KEY {
                let rest = &text[range.start..];
                range.end = range.start + memchr::memmem::find(rest, b"-----END").unwrap_or(rest.len());
            }
            if ranges.last().is_none_or(|last| last.end <= range.start) {
                ranges.push(range);
            }
        }
    });
    ranges
}

/// An added line with secrets.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: u32,
    /// The start of the text in the hunk.
    start: usize,
    text: &'a [u8],
}

/// Calls `visit` with each added line that has secrets, and its secrets, ordered and not overlapping.
///
/// Returns whether conflict markers were found.
fn each<'a>(body: HunkText<'a>, class: &dyn Fn() -> FileClass, mut visit: impl FnMut(Line<'a>, &[Secret])) -> bool {
    let search = &*SEARCH;
    let mut cursor = LineCursor::new(body);
    let mut open: Option<Line<'a>> = None;
    let mut secrets: Vec<Secret> = Vec::new();
    let mut conflict = false;
    search.literals.each(body.bytes, |clue, at| {
        conflict |= matches!(search.clues[clue], Clue::Conflict);
        let Some((start, text)) = cursor.line_at(at) else {
            return;
        };
        let Some(secret) = at.checked_sub(start).and_then(|at| check(search.clues[clue], text, at, class, &cursor))
        else {
            return;
        };
        if let Some(line) = open.filter(|line| line.start != start) {
            visit(line, &secrets);
            secrets.clear();
        }
        open = Some(Line { number: cursor.number(), start, text });
        join(&mut secrets, secret);
    });
    if let Some(line) = open {
        visit(line, &secrets);
    }
    conflict
}

/// Adds a secret; of two that overlap, the one with higher confidence stays.
fn join(secrets: &mut Vec<Secret>, secret: Secret) {
    while let Some(last) = secrets.last() {
        if last.range.end <= secret.range.start {
            break;
        }
        if last.confidence >= secret.confidence {
            return;
        }
        secrets.pop();
    }
    secrets.push(secret);
}

fn check(clue: Clue, line: &[u8], at: usize, class: &dyn Fn() -> FileClass, cursor: &LineCursor<'_>) -> Option<Secret> {
    let short = line.len() <= MAX_LINE;
    let secret = |rule, what, confidence| move |range| Secret { rule, what, range, confidence };
    match clue {
        Clue::Format(format) => {
            let confidence = match format.rule {
                _ if format.proven => Confidence::Checksum,
                "secret-jwt" => Confidence::Heuristic,
                _ => Confidence::Format,
            };
            format.find(line, at).map(secret(format.rule, format.what, confidence))
        }
        Clue::OpenAi => format::openai(line, at).map(secret("secret-openai-key", "OpenAI API key", Confidence::Format)),
        Clue::Pem => {
            let range = pem::find(line, at, cursor.following());
            range.map(secret(PRIVATE_KEY, "private key", Confidence::Format))
        }
        Clue::Url if short => {
            let range = assignment::url_password(line, at + 1);
            range.map(secret("secret-url-password", "password in an address", Confidence::Heuristic))
        }
        Clue::Word if short => assignment::find(line, at, class()).map(|found| match found.owner {
            Owner::Aws => secret("secret-aws-key", "AWS secret access key", Confidence::Format)(found.range),
            Owner::Vendor(vendor) => secret(vendor.rule, vendor.what, Confidence::Format)(found.range),
            Owner::Unknown => secret("secret-generic-assignment", "secret", Confidence::Heuristic)(found.range),
        }),
        Clue::Url | Clue::Word | Clue::Conflict => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clues_are_few_enough_for_simd() {
        assert!(SEARCH.clues.len() <= 64, "{}", SEARCH.clues.len());
    }
}
