//! Text rules: linear scans over added lines.
//!
//! Each detector scans the lines that a change adds to one file. They run in
//! process, so they must be linear in the input, without nested parsing or
//! backtracking. Without a candidate, the cost is about one pass of a SIMD
//! literal search.

mod base64;
mod bulk;
mod conflict;
mod dockerfile;
mod file_class;
mod hidden;
mod hunk_text;
pub mod injection;
mod key_store;
mod licence;
mod literals;
pub mod mask;
mod secrets;
mod sql;
mod statement;

use std::cell::{Cell, OnceCell};

use tollgate_core::diff::FileDiff;

use crate::hit::Hit;
use crate::text::file_class::FileClass;
use crate::text::hunk_text::HunkText;

/// Runs the enabled text rules on one file of the change.
#[must_use]
pub fn scan(file: &FileDiff, enabled: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    run(&DETECTORS, file, enabled)
}

/// Runs the rules for secrets, hidden characters and size, which apply to generated and vendored files, too.
#[must_use]
pub fn scan_unread(file: &FileDiff, enabled: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    run(&IN_EVERY_FILE, file, enabled)
}

/// Finds private keys and secrets in the content of a binary file.
#[must_use]
pub fn scan_binary(file: &FileDiff, content: &[u8], enabled: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    let file = File { diff: file, enabled, class: OnceCell::new(), may_conflict: Cell::new(false) };
    let mut hits = Vec::new();
    secrets::scan_binary(&file, content, &mut hits);
    hits
}

fn run(detectors: &[Detector], file: &FileDiff, enabled: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    let file = File { diff: file, enabled, class: OnceCell::new(), may_conflict: Cell::new(false) };
    let mut hits = Vec::new();
    for scan in detectors {
        scan(&file, &mut hits);
    }
    hits.sort_by(|a, b| (a.left, a.line_start, &a.rule).cmp(&(b.left, b.line_start, &b.rule)));
    hits
}

type Detector = fn(&File<'_>, &mut Vec<Hit>);

/// In this order: the secret scan also finds the candidates for conflict markers.
const DETECTORS: [Detector; 8] = [
    secrets::scan,
    conflict::scan,
    hidden::scan,
    bulk::scan,
    licence::scan,
    dockerfile::scan,
    sql::scan,
    injection::scan,
];

/// The detectors that no name of a file switches off.
const IN_EVERY_FILE: [Detector; 3] = [secrets::scan, hidden::scan, bulk::scan];

/// Maximum length of evidence, in characters.
const MAX_EVIDENCE: usize = 200;

/// A file of the change, with cached properties for the detectors.
struct File<'a> {
    diff: &'a FileDiff,
    enabled: &'a dyn Fn(&str) -> bool,
    class: OnceCell<FileClass>,
    /// Set by the secret scan, which searches for conflict markers in the same pass.
    may_conflict: Cell<bool>,
}

impl File<'_> {
    fn enabled(&self, rule: &str) -> bool {
        (self.enabled)(rule)
    }

    /// Builds a hit on a line; secrets in its evidence are masked.
    fn hit(&self, rule: &str, number: Option<u32>, text: &[u8]) -> Hit {
        let number = number.unwrap_or(1).max(1);
        let head = &text[..text.len().min(MAX_EVIDENCE * 4)];
        let text = String::from_utf8_lossy(head);
        let evidence: String = mask::mask(text.trim()).chars().take(MAX_EVIDENCE).collect();
        let evidence = if evidence.is_empty() { "(empty line)".to_owned() } else { evidence };
        Hit {
            rule: rule.to_owned(),
            line_start: number,
            line_end: number,
            left: false,
            evidence,
            fix: None,
            message: None,
        }
    }

    fn path(&self) -> &[u8] {
        self.diff.path().as_bytes()
    }

    /// The class of the file, computed on first use.
    fn class(&self) -> &FileClass {
        self.class.get_or_init(|| FileClass::of(self.path()))
    }

    fn hunk_texts(&self) -> impl Iterator<Item = HunkText<'_>> {
        self.diff.hunks.iter().map(|hunk| HunkText {
            bytes: self.diff.body(hunk),
            n_marks: usize::from(hunk.n_parents),
            first: hunk.new_start,
        })
    }
}
