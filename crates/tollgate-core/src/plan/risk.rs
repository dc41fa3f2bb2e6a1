//! Scores the risk of leaving a hunk out.
//!
//! The score has no unit and compares hunks of one change. It grows with the changed lines, so that the score per token
//! does not prefer small hunks, and with signs of danger.

use std::collections::HashMap;

use crate::analysis::{Analysis, Category, RiskKind};
use crate::diff::{FileDiff, Hunk, LineKind};
use crate::finding::{Finding, LineRange, Severity, Side};
use crate::path::FilePath;

/// More changed lines than this add nothing.
const MAX_CHANGED: u64 = 200;

/// The score of one sign of danger, in changed lines of source.
const SIGN: u64 = 20;

/// More removed guards than this add nothing.
const MAX_GUARDS: u64 = 4;

/// Words in paths of security-relevant code.
const PATH_WORDS: [&[u8]; 16] = [
    b"auth",
    b"login",
    b"session",
    b"token",
    b"passw",
    b"secret",
    b"crypt",
    b"permission",
    b"access",
    b"admin",
    b"sql",
    b"migrat",
    b"payment",
    b"billing",
    b"security",
    b"sanitiz",
];

/// Words on removed lines that suggest a removed check.
const GUARD_WORDS: [&[u8]; 18] = [
    b"if ",
    b"if(",
    b"return",
    b"throw",
    b"raise",
    b"assert",
    b"check",
    b"valid",
    b"verify",
    b"ensure",
    b"require",
    b"auth",
    b"permission",
    b"escape",
    b"sanitiz",
    b"limit",
    b"catch",
    b"lock",
];

/// Findings and analysis of the change, by path.
pub(super) struct Risks<'a> {
    findings: HashMap<FilePath, Vec<&'a Finding>>,
    kinds: HashMap<&'a [u8], Vec<(RiskKind, Option<u32>)>>,
    categories: HashMap<&'a [u8], Category>,
    has_tests: bool,
}

impl<'a> Risks<'a> {
    pub(super) fn new(findings: &'a [Finding], analysis: &'a Analysis) -> Self {
        let mut by_file: HashMap<FilePath, Vec<&Finding>> = HashMap::new();
        for finding in findings {
            by_file.entry(finding.location.file.clone()).or_default().push(finding);
        }
        let mut kinds: HashMap<&[u8], Vec<_>> = HashMap::new();
        for risk in &analysis.risks {
            kinds.entry(risk.path.as_bytes()).or_default().push((risk.kind, risk.line));
        }
        let categories = analysis.files.iter().map(|file| (file.path.as_bytes(), file.category)).collect();
        let has_tests = analysis.files.iter().any(|file| file.category == Category::Test);
        Self { findings: by_file, kinds, categories, has_tests }
    }

    /// The score of a hunk; at least 1.
    pub(super) fn of(&self, file: &FileDiff, hunk: &Hunk) -> u64 {
        let path = file.path().as_bytes();
        let category = self.categories.get(path).copied().unwrap_or(Category::Source);
        let (mut n_changed, mut n_guards) = (0, 0);
        for line in file.lines(hunk) {
            n_changed += u64::from(line.kind != LineKind::Context);
            n_guards += u64::from(line.kind == LineKind::Removed && has_word(line.text, &GUARD_WORDS));
        }
        let code = matches!(category, Category::Source | Category::Infra);
        let mut signs = self.said(file, hunk) + self.kinds_of(path, hunk);
        if code {
            signs += 2 * u64::from(has_word(path, &PATH_WORDS)) + n_guards.min(MAX_GUARDS);
            signs += u64::from(category == Category::Source && !self.has_tests);
        }
        1 + worth(category) * n_changed.min(MAX_CHANGED) / 4 + SIGN * signs
    }

    /// The weight of rule findings on the lines of a hunk.
    fn said(&self, file: &FileDiff, hunk: &Hunk) -> u64 {
        let of_side = |path: Option<&_>, side: Side, start: u32, len: u32| {
            let findings = path.and_then(|path| self.findings.get(&FilePath::of_repo_path(path)));
            let lines = LineRange::new(start, start.saturating_add(len).saturating_sub(1));
            let on_it = move |finding: &&&Finding| {
                finding.location.side == side && lines.is_some_and(|lines| lines.overlaps(finding.location.lines))
            };
            findings.into_iter().flatten().filter(on_it).map(|finding| weight(finding.severity)).sum::<u64>()
        };
        of_side(file.new_path.as_ref(), Side::Right, hunk.new_start, hunk.new_len)
            + of_side(file.old_path.as_ref(), Side::Left, hunk.old_start, hunk.old_len)
    }

    /// The weight of risk signals of the file: doubled in this hunk.
    fn kinds_of(&self, path: &[u8], hunk: &Hunk) -> u64 {
        let lines = LineRange::new(hunk.new_start, hunk.new_start.saturating_add(hunk.new_len).saturating_sub(1));
        let kinds = self.kinds.get(path).map_or(&[][..], Vec::as_slice);
        let here = |line: Option<u32>| line.zip(lines).is_some_and(|(line, lines)| lines.contains(line));
        kinds.iter().map(|&(kind, line)| if here(line) { 2 * sign(kind) } else { sign(kind) }).sum()
    }
}

fn worth(category: Category) -> u64 {
    match category {
        Category::Source => 4,
        Category::Infra => 3,
        Category::Config | Category::Test => 2,
        Category::Docs => 1,
    }
}

fn sign(kind: RiskKind) -> u64 {
    match kind {
        RiskKind::Auth | RiskKind::Crypto | RiskKind::Sql | RiskKind::Migration | RiskKind::CiPermissions => 2,
        RiskKind::PublicApiRemoved | RiskKind::DeletedTests | RiskKind::Dependencies => 1,
        RiskKind::LargeFile => 0,
    }
}

fn weight(severity: Severity) -> u64 {
    match severity {
        Severity::Critical => 8,
        Severity::High => 6,
        Severity::Medium => 3,
        Severity::Low => 1,
        Severity::Nit | Severity::Praise => 0,
    }
}

/// True when one of the words, in lower case, stands in the text, in any case.
fn has_word(text: &[u8], words: &[&[u8]]) -> bool {
    /// The rest of a longer line is not searched.
    const MAX_BYTES: usize = 400;
    let text = text[..text.len().min(MAX_BYTES)].to_ascii_lowercase();
    words.iter().any(|word| memchr::memmem::find(&text, word).is_some())
}
