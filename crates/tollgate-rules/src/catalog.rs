//! The embedded rules as data.
//!
//! Each rule is one file below `rules/`. The build script compiles them into a
//! static table, so that only rules that can match cost anything at run time.

use tollgate_core::finding::{Category, Severity};

use crate::prefilter::Prefilter;

/// An embedded rule.
#[derive(Debug)]
pub struct Rule {
    /// The rule id, also the name of its file.
    pub id: &'static str,
    /// The grammars a code rule runs on; empty for text and change rules.
    pub languages: &'static [&'static str],
    /// How much its findings matter.
    pub severity: Severity,
    /// The category of its findings.
    pub category: Category,
    /// The defect, in one line.
    pub message: &'static str,
    /// The consequence and the remedy.
    pub why: &'static str,
    /// Literals of which one is on the line of every finding; empty when there are none.
    pub anchors: &'static [Anchor],
    /// Regular expressions, each of which matches somewhere in every file with a finding of the rule.
    pub needs: &'static [&'static str],
    /// A check of the file's text before it is parsed.
    pub prefilter: Option<Prefilter>,
    /// False when findings in test files would be noise.
    pub in_tests: bool,
    /// The detector function; empty for code rules.
    pub detector: &'static str,
    /// References such as CWE numbers.
    pub references: &'static [&'static str],
    /// The ast-grep rule as a JSON object without id and language.
    pub(crate) matcher: &'static str,
    /// Code or changes it must report.
    pub bad: &'static [Example],
    /// Code or changes it must not report.
    pub good: &'static [Example],
}

/// A literal on the line of a finding, with further conditions on that line.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// The literal, inside the match.
    pub text: &'static str,
    /// Literals that must also be on the line.
    pub with: &'static [&'static str],
    /// Literals that must not be on the line.
    pub without: &'static [&'static str],
}

impl Anchor {
    /// True when a line with the anchor's text also meets its other conditions.
    pub(crate) fn fits(&self, line: &[u8]) -> bool {
        let has = |text: &&str| memchr::memmem::find(line, text.as_bytes()).is_some();
        self.with.iter().all(has) && !self.without.iter().any(has)
    }
}

/// An example in a rule's file, which is also its test.
#[derive(Debug, Clone, Copy)]
pub enum Example {
    /// A file, all of its lines new.
    Code {
        /// The path, when the rule depends on it.
        path: Option<&'static str>,
        /// The content; a comment line with `^` marks the line above it.
        code: &'static str,
    },
    /// A change, as a unified diff.
    Diff(&'static str),
}

/// The input of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The syntax tree of a changed file.
    Code,
    /// The added lines as text.
    Text,
    /// The lines that the change adds and removes.
    Change,
}

impl Rule {
    /// The input that the rule scans.
    #[must_use]
    pub fn kind(&self) -> RuleKind {
        match self.detector.split_once('/') {
            Some(("text", _)) => RuleKind::Text,
            Some(_) => RuleKind::Change,
            None => RuleKind::Code,
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// All embedded rules, ordered by folder and name.
#[must_use]
pub fn all() -> &'static [Rule] {
    RULES
}

/// The rule with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The rule id most similar to this text, for "did you mean" hints.
#[must_use]
pub fn nearest(id: &str) -> Option<&'static str> {
    let near = RULES.iter().map(|rule| (strsim::jaro_winkler(id, rule.id), rule.id));
    near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id)
}
