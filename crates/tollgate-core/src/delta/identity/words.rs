//! Similarity of the words of two findings.
//!
//! One defect is worded differently each time, and two defects of one line alike. So the words of each title are searched
//! in the other's title *and* reason. Words of the quoted code tell the location of a finding, not its subject, and have a
//! low weight; so have words that are common in findings.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::delta::identity::ComparedFinding;
use crate::delta::title_words::{TitleWords, stem};

/// Titles of this similarity can differ only in their negation.
const ALMOST_EQUAL: f64 = 0.85;
/// The most bytes of a reason that are compared.
const MAX_REASON: usize = 1000;

/// The words of a finding, prepared for comparison.
#[derive(Debug)]
pub(super) struct FindingWords {
    title: TitleWords,
    about: BTreeSet<String>,
    /// The stems of the title and the reason.
    pub(super) all: BTreeSet<String>,
    code: BTreeSet<String>,
    /// False when there is nothing but a title.
    pub(super) has_reason: bool,
}

impl FindingWords {
    pub(super) fn of(claim: &ComparedFinding<'_>) -> Self {
        let title = TitleWords::read(claim.title);
        let about = stems(&title);
        let mut all = stems(&TitleWords::read(head(claim.reason)));
        all.extend(about.iter().cloned());
        let code = stems(&TitleWords::read(&format!("`{}`", head(claim.evidence).replace('`', " "))));
        Self { title, about, all, code, has_reason: !claim.reason.trim().is_empty() }
    }

    /// True when two titles are about different things: other numbers, other names, or a negation that is the only
    /// difference.
    pub(super) fn are_unrelated(&self, other: &Self) -> bool {
        let is_denied = self.title.differ_in_negation(&other.title) && self.title_only(other) >= ALMOST_EQUAL;
        is_denied || self.title.are_unrelated(&other.title)
    }

    /// True when two titles say the same of different numbers or names, or the opposite of the same.
    pub(super) fn differ_in_one_detail(&self, other: &Self) -> bool {
        self.title.contradict(&other.title) && self.title.has_frame_of(&other.title)
    }

    /// The similarity from 0 to 1: the mean of the mutual title coverage and the cosine similarity.
    pub(super) fn score(&self, other: &Self) -> f64 {
        let titles = f64::midpoint(self.covered(&other.all, other), other.covered(&self.all, self));
        f64::midpoint(titles, self.in_common(other))
    }

    /// The cosine similarity of all words.
    fn in_common(&self, other: &Self) -> f64 {
        let square = |stem: &String| self.weight(other, stem).powi(2);
        let total = |said: &Self| said.all.iter().map(square).sum::<f64>();
        let shared: f64 = self.all.iter().filter(|stem| has(&other.all, stem)).map(square).sum();
        let length = (total(self) * total(other)).sqrt();
        if length > 0.0 { (shared / length).min(1.0) } else { 0.0 }
    }

    fn title_only(&self, other: &Self) -> f64 {
        f64::midpoint(self.covered(&other.about, other), other.covered(&self.about, self))
    }

    /// The share of this title that is among the stems.
    fn covered(&self, stems: &BTreeSet<String>, other: &Self) -> f64 {
        let total: f64 = self.about.iter().map(|stem| self.weight(other, stem)).sum();
        let shared = self.about.iter().filter(|stem| has(stems, stem)).map(|stem| self.weight(other, stem));
        if total > 0.0 { shared.sum::<f64>() / total } else { 0.0 }
    }

    fn weight(&self, other: &Self, stem: &str) -> f64 {
        weight(stem, self.code.contains(stem) || other.code.contains(stem))
    }
}

/// True when the stems contain a stem or a longer or shorter form of it: `compar` and `comparis`.
fn has(stems: &BTreeSet<String>, stem: &str) -> bool {
    const LONG: usize = 5;
    if stems.contains(stem) {
        return true;
    }
    let Some(head) = stem.get(..LONG) else { return false };
    let alike = |other: &String| other.starts_with(stem) || stem.starts_with(other.as_str());
    stems.range(head.to_owned()..).take_while(|other| other.starts_with(head)).any(alike)
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(MAX_REASON);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Synonyms; the first stands for all.
const SYNONYMS: &[&[&str]] = &[
    &["null", "none", "nil", "undefined", "nullpointer", "dereference"],
    &["concatenate", "interpolate", "concat", "spliced"],
    &["error", "exception", "failure", "fail", "throw", "raise", "rejection", "reject"],
    &["panic", "crash", "abort"],
    &["array", "list"],
    &["credential", "secret"],
    &["file", "path"],
    &["leak", "unclosed", "close"],
    &["verify", "validate", "validation", "verification", "check"],
    &["authorization", "authorisation", "permission", "guard", "authorize"],
    &["disable", "off", "skip"],
    &["swallow", "hide", "ignore", "suppress"],
    &["hash", "digest"],
    &["loop", "iterate", "iteration"],
    &["assert", "assertion"],
    &["documentation", "docstring", "doc"],
    &["escape", "sanitize", "unsanitized", "unescaped"],
];

/// Words that are common in findings.
const FREQUENT: &[&str] = &[
    "allow",
    "avoid",
    "cause",
    "change",
    "code",
    "create",
    "data",
    "error",
    "function",
    "handle",
    "input",
    "issue",
    "lead",
    "method",
    "miss",
    "mention",
    "potential",
    "return",
    "risk",
    "security",
    "check",
    "type",
    "use",
    "user",
    "value",
    "vulnerability",
    "vulnerable",
    "test",
    "add",
    "new",
    "query",
    "request",
    "call",
    "file",
];
/// Stop words.
const EMPTY: &[&str] = &[
    "instead", "rather", "each", "every", "time", "never", "always", "only", "also", "here", "wrong", "possibly",
    "properly", "directly", "overly", "use", "make", "run",
];
const FREQUENT_WEIGHT: f64 = 0.5;
const CODE_WEIGHT: f64 = 0.4;

fn weight(stem: &str, in_code: bool) -> f64 {
    static STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| FREQUENT.iter().map(|word| canonical(word)).collect());
    let weight: f64 = if STEMS.contains(stem) { FREQUENT_WEIGHT } else { 1.0 };
    if in_code { weight.min(CODE_WEIGHT) } else { weight }
}

fn stems(words: &TitleWords) -> BTreeSet<String> {
    static NOTHING: LazyLock<BTreeSet<String>> = LazyLock::new(|| EMPTY.iter().map(|word| canonical(word)).collect());
    words.stems.iter().map(|stem| canonical_stem(stem)).filter(|stem| !NOTHING.contains(stem)).collect()
}

fn canonical(word: &str) -> String {
    canonical_stem(&stem(word))
}

/// The canonical stem of a group of synonyms.
fn canonical_stem(stemmed: &str) -> String {
    static MEANT: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let group = |words: &&[&str]| -> Vec<(String, String)> {
            let first = shorter(&stem(words[0])).to_owned();
            words.iter().map(|word| (shorter(&stem(word)).to_owned(), first.clone())).collect()
        };
        SYNONYMS.iter().flat_map(group).collect()
    });
    let stemmed = shorter(stemmed);
    MEANT.get(stemmed).map_or_else(|| stemmed.to_owned(), Clone::clone)
}

/// Strips the last letter in which the stems of `verify`, `verified` and `verification` differ.
fn shorter(stem: &str) -> &str {
    stem.strip_suffix(['i', 'y', 'e']).filter(|rest| rest.len() >= 4).unwrap_or(stem)
}
