//! Secret scanning of added lines.
//!
//! One pass of a multi-literal search finds the candidates, which are then
//! checked by length, alphabet, checksum or entropy. Keys in a provider's format
//! are recognised by [`mod@format`] and [`providers`], private keys by [`pem`] and [`key_file`], all others by the name they are assigned to
//! ([`assignment`], [`vendor`]).
//!
//! No secret leaves this module: evidence is masked.

mod assignment;
mod checksum;
mod format;
mod heuristics;
mod key_file;
mod literal;
mod pem;
mod providers;
mod vendor;

use std::ops::Range;
use std::sync::LazyLock;

use assignment::Owner;

use crate::hit::Hit;
use crate::text::file_class::FileClass;
use crate::text::hunk_text::{HunkText, LineCursor};
use crate::text::literals::Literals;
use crate::text::{File, key_store, mask};

pub(crate) use assignment::is_words;
pub(crate) use heuristics::is_placeholder;

/// In longer lines, which are generated code, only provider formats are searched.
const MAX_LINE: usize = 4096;

/// The rule for provider keys in tests and documents, where values are usually fake.
const IN_TEST: &str = "secret-in-test";

const PRIVATE_KEY: &str = "secret-private-key";
const AWS_ID: &str = "secret-aws-key-id";

/// Lines after an AWS key id in which its secret is looked for.
const N_AWS_LINES: usize = 3;

/// How far the members of a JSON Web Key are from one another.
const JWK_BYTES: usize = 4096;

/// A secret on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Secret {
    rule: &'static str,
    what: &'static str,
    range: Range<usize>,
    confidence: Confidence,
    /// The text before which a secret of several lines ends.
    until: Option<&'static [u8]>,
}

/// Confidence that a value is a secret, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Confidence {
    /// By its name and heuristics on its value.
    Heuristic,
    /// By a provider's format.
    Format,
    /// By its structure, of which no byte is missing.
    Whole,
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
    PemBase64,
    Putty,
    Jwk,
    Header,
    /// A conflict marker, found in the same pass.
    Conflict,
}

/// Literals in groups that are few enough for a SIMD search each.
struct Search {
    /// Each group with the index of its first clue.
    groups: Vec<(usize, Literals)>,
    clues: Vec<Clue>,
}

/// The most literals of one search.
const GROUP: usize = 64;

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let mut clues: Vec<(&str, Clue)> = Vec::new();
    clues.extend(format::FORMATS.iter().map(|format| (format.prefix, Clue::Format(format))));
    clues.extend(assignment::WORDS.iter().map(|word| (*word, Clue::Word)));
    clues.extend([(format::OPENAI_MARK, Clue::OpenAi), (pem::MARK, Clue::Pem)]);
    clues.extend(assignment::SCHEMES.iter().map(|scheme| (*scheme, Clue::Url)));
    clues.extend(["<<<<<<< ", ">>>>>>> "].map(|mark| (mark, Clue::Conflict)));
    // Literals of one group hide one another where they overlap, so these begin a group of their own.
    let mut others: Vec<(&str, Clue)> = vec![(pem::MARK_BASE64, Clue::PemBase64), (key_file::PUTTY_MARK, Clue::Putty)];
    others.extend(key_file::JWK_MARKS.iter().map(|mark| (*mark, Clue::Jwk)));
    others.extend(assignment::HEADERS.iter().map(|mark| (*mark, Clue::Header)));
    others.extend(assignment::RARE_WORDS.iter().map(|word| (*word, Clue::Word)));
    others.extend(providers::PROVIDERS.iter().map(|format| (format.prefix, Clue::Format(format))));
    let mut n_before = 0;
    let groups = clues.chunks(GROUP).chain(others.chunks(GROUP)).map(|group| {
        let literals = Literals::new(group.iter().map(|(literal, _)| *literal));
        n_before += group.len();
        (n_before - group.len(), literals)
    });
    Search { groups: groups.collect(), clues: clues.iter().chain(&others).map(|(_, clue)| *clue).collect() }
});

impl Search {
    /// Calls `visit` with each clue and its offset, in the order of the text.
    fn each(&self, text: &[u8], mut visit: impl FnMut(Clue, usize)) {
        let Some(((_, first), others)) = self.groups.split_first() else {
            return;
        };
        let mut rare: Vec<(usize, usize)> = Vec::new();
        for (n_before, literals) in others {
            literals.each(text, |index, at| rare.push((at, n_before + index)));
        }
        rare.sort_unstable();
        let mut rare = rare.into_iter().peekable();
        let mut tell = |index: usize, at: usize| {
            if let Some(clue) = self.clues.get(index) {
                visit(*clue, at);
            }
        };
        first.each(text, |index, at| {
            while let Some((at, index)) = rare.next_if(|(before, _)| *before < at) {
                tell(index, at);
            }
            tell(index, at);
        });
        rare.for_each(|(at, index)| tell(index, at));
    }
}

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

/// Runs the secret rules on the content of a binary file: key stores, and the text in it.
///
/// Git calls text in UTF-16 binary, so it is read as such. Of other content, only what has a structure is reported:
/// names and values are not where a program expects them.
pub(crate) fn scan_binary(file: &File<'_>, content: &[u8], hits: &mut Vec<Hit>) {
    let class = || FileClass { generated: true, ..*file.class() };
    let push = |hits: &mut Vec<Hit>, secret: &Secret, evidence: String| {
        if let Some(rule) = rule_in(class(), secret).filter(|rule| file.enabled(rule)) {
            let line = Line { number: 1, start: 0, text: b"" };
            hits.push(Hit { evidence, ..hit(rule, line, secret, &[]) });
        }
    };
    if let Some(what) = key_store::find(content) {
        let name = String::from_utf8_lossy(file.path().rsplit(|byte| *byte == b'/').next().unwrap_or_default());
        let secret = secret_of(PRIVATE_KEY, what, Confidence::Whole, 0..0);
        push(hits, &secret, format!("binary file {name}"));
        return;
    }
    let utf16 = utf16_text(content);
    let text = utf16.as_deref().unwrap_or(content);
    let mut n_hits = 0;
    each(HunkText::plain(text), &class, |line, secrets| {
        for secret in secrets.iter().filter(|secret| secret.confidence > Confidence::Format || utf16.is_some()) {
            n_hits += 1;
            if n_hits <= MAX_BINARY_HITS {
                let evidence = hit(secret.rule, line, secret, secrets).evidence;
                push(hits, secret, visible_part(&evidence));
            }
        }
    });
}

/// The most secrets of a binary file that are reported.
const MAX_BINARY_HITS: usize = 20;

/// Evidence from a binary file without bytes that are no text.
fn visible_part(evidence: &str) -> String {
    let text: String = evidence.chars().filter(|it| !it.is_control() && *it != '\u{fffd}').collect();
    if text.trim().is_empty() { "binary file".to_owned() } else { text.trim().to_owned() }
}

/// The text of a file in UTF-16 with a byte order mark, as UTF-8.
fn utf16_text(content: &[u8]) -> Option<Vec<u8>> {
    let (rest, is_little) = match content {
        [0xff, 0xfe, rest @ ..] => (rest, true),
        [0xfe, 0xff, rest @ ..] => (rest, false),
        _ => return None,
    };
    let unit = |pair: [u8; 2]| if is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) };
    let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|it| it.unwrap_or('\u{fffd}')).collect::<String>().into_bytes())
}

/// The rule that reports a secret in a file of this class, if any.
fn rule_in(class: FileClass, secret: &Secret) -> Option<&'static str> {
    let made_up = class.test || class.prose;
    match secret.confidence {
        Confidence::Checksum => Some(secret.rule),
        // The name of a file does not make a key harmless; only tests and the documentation have keys of their own.
        Confidence::Whole if class.sample_folder || (class.test && class.code) => Some(IN_TEST),
        Confidence::Whole => Some(secret.rule),
        Confidence::Format if made_up => Some(IN_TEST),
        Confidence::Format => Some(secret.rule),
        Confidence::Heuristic if class.ci && secret.range.len() < 20 => None,
        Confidence::Heuristic => (!made_up && !class.generated).then_some(secret.rule),
    }
}

fn hit(rule: &str, line: Line<'_>, secret: &Secret, all: &[Secret]) -> Hit {
    let ranges = literal::with_literals(line.text, all.iter().map(|secret| secret.range.clone()).collect());
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
        evidence: mask::around(line.text, &ranges, secret.range.start),
        fix: None,
        message,
    }
}

/// The secrets of a text for masking.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The ranges to mask, ordered and not overlapping: the secrets and the other literals of their lines.
    pub(crate) masked: Vec<Range<usize>>,
    /// The secrets alone.
    pub(crate) secrets: Vec<Range<usize>>,
}

/// Finds all secrets in plain text.
pub(crate) fn in_text(text: &[u8]) -> Found {
    let mut found = Found::default();
    let class = || FileClass { config: true, ..FileClass::default() };
    let push = |ranges: &mut Vec<Range<usize>>, range: Range<usize>| {
        if ranges.last().is_none_or(|last| last.end <= range.start) {
            ranges.push(range);
        }
    };
    each(HunkText::plain(text), &class, |line, secrets| {
        let mut ranges = Vec::new();
        for secret in secrets {
            let mut range = secret.range.clone();
            if let Some(mark) = secret.until {
                let rest = text.get(line.start + range.start..).unwrap_or_default();
                range.end = range.start + memchr::memmem::find(rest, mark).unwrap_or(rest.len());
            }
            push(&mut found.secrets, line.start + range.start..line.start + range.end);
            ranges.push(range);
        }
        for range in literal::with_literals(line.text, ranges) {
            push(&mut found.masked, line.start + range.start..line.start + range.end);
        }
    });
    found
}

/// An added line with secrets.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: u32,
    /// The start of the text in the hunk.
    start: usize,
    text: &'a [u8],
}

/// The added lines with secrets that were found and not yet visited.
#[derive(Default)]
struct Open<'a>(Vec<(Line<'a>, Vec<Secret>)>);

impl<'a> Open<'a> {
    fn add(&mut self, line: Line<'a>, secret: Secret) {
        match self.0.iter_mut().find(|(open, _)| open.start == line.start) {
            Some((_, secrets)) => secrets.push(secret),
            None => self.0.push((line, vec![secret])),
        }
    }

    /// Visits the lines before an offset.
    fn close(&mut self, before: usize, visit: &mut impl FnMut(Line<'a>, &[Secret])) {
        if self.0.iter().all(|(line, _)| line.start >= before) {
            return;
        }
        self.0.sort_by_key(|(line, _)| line.start);
        let n_closed = self.0.iter().take_while(|(line, _)| line.start < before).count();
        for (line, secrets) in self.0.drain(..n_closed) {
            visit(line, &ordered(secrets));
        }
    }
}

/// Calls `visit` with each added line that has secrets, and its secrets, ordered and not overlapping.
///
/// Returns whether conflict markers were found.
fn each<'a>(body: HunkText<'a>, class: &dyn Fn() -> FileClass, mut visit: impl FnMut(Line<'a>, &[Secret])) -> bool {
    let mut cursor = LineCursor::new(body);
    let mut open = Open::default();
    let (mut conflict, mut last_id) = (false, None);
    SEARCH.each(body.bytes, |clue, at| {
        conflict |= matches!(clue, Clue::Conflict);
        let Some((start, text)) = cursor.line_at(at) else {
            return;
        };
        let Some(secret) = at.checked_sub(start).and_then(|at| check(clue, text, at, class, &cursor)) else {
            return;
        };
        open.close(start, &mut visit);
        let number = cursor.number();
        // Once for a line, however many ids it has.
        if secret.rule == AWS_ID && last_id.replace(start) != Some(start) {
            let following = cursor.following_lines().take(N_AWS_LINES);
            for (number, (start, text)) in (number..).zip(std::iter::once((start, text)).chain(following)) {
                for range in literal::aws_secrets(text) {
                    let line = Line { number, start, text };
                    open.add(line, secret_of("secret-aws-key", "AWS secret access key", Confidence::Format, range));
                }
            }
        }
        open.add(Line { number, start, text }, secret);
    });
    open.close(usize::MAX, &mut visit);
    conflict
}

/// Orders the secrets of a line; of two that overlap, the one with higher confidence stays.
fn ordered(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| secret.range.start);
    let mut secrets: Vec<Secret> = Vec::with_capacity(found.len());
    'found: for secret in found {
        while let Some(last) = secrets.last().filter(|last| last.range.end > secret.range.start) {
            if last.confidence >= secret.confidence {
                continue 'found;
            }
            secrets.pop();
        }
        secrets.push(secret);
    }
    secrets
}

fn secret_of(rule: &'static str, what: &'static str, confidence: Confidence, range: Range<usize>) -> Secret {
    Secret { rule, what, range, confidence, until: None }
}

fn check(clue: Clue, line: &[u8], at: usize, class: &dyn Fn() -> FileClass, cursor: &LineCursor<'_>) -> Option<Secret> {
    let short = line.len() <= MAX_LINE;
    let secret = |rule, what, confidence| move |range| secret_of(rule, what, confidence, range);
    let private = |key: pem::PrivateKey, until| Secret {
        until,
        ..secret_of(
            PRIVATE_KEY,
            "private key",
            if key.whole { Confidence::Whole } else { Confidence::Format },
            key.range,
        )
    };
    match clue {
        Clue::Format(format) => {
            let range = format.find(line, at)?;
            let confidence = match format.rule {
                _ if format.is_proven(&line[range.clone()]) => Confidence::Checksum,
                "secret-jwt" => Confidence::Heuristic,
                _ => Confidence::Format,
            };
            Some(secret_of(format.rule, format.what, confidence, range))
        }
        Clue::OpenAi => format::openai(line, at).map(secret("secret-openai-key", "OpenAI API key", Confidence::Format)),
        Clue::Pem => pem::find(line, at, cursor.following()).map(|key| private(key, Some(b"-----END"))),
        Clue::PemBase64 => pem::find_base64(line, at).map(|key| private(key, None)),
        Clue::Putty => {
            let range = key_file::putty(line, at, cursor.following())?;
            Some(private(pem::PrivateKey { range, whole: true }, Some(b"Private-MAC:")))
        }
        Clue::Jwk => {
            let range = key_file::jwk(line, at, cursor.around(JWK_BYTES))?;
            Some(private(pem::PrivateKey { range, whole: true }, None))
        }
        Clue::Url if short => {
            let range = assignment::url_password(line, at + 1);
            range.map(secret("secret-url-password", "password in an address", Confidence::Heuristic))
        }
        Clue::Header if short => {
            let range = assignment::header_value(line, at);
            range.map(secret("secret-generic-assignment", "secret", Confidence::Heuristic))
        }
        Clue::Word if short => assignment::find(line, at, class()).map(|found| match found.owner {
            Owner::Aws => secret("secret-aws-key", "AWS secret access key", Confidence::Format)(found.range),
            Owner::Vendor(vendor) => secret(vendor.rule, vendor.what, Confidence::Format)(found.range),
            Owner::Unknown => secret("secret-generic-assignment", "secret", Confidence::Heuristic)(found.range),
        }),
        Clue::Url | Clue::Word | Clue::Header | Clue::Conflict => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clues_are_few_enough_for_simd() {
        assert!(SEARCH.groups.len() <= 3, "{}", SEARCH.clues.len());
        assert!(SEARCH.groups.iter().all(|(_, literals)| matches!(literals, Literals::Packed(_))));
    }
}
