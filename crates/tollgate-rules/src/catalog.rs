//! The embedded rules as data.
//!
//! Each rule is one file below `rules/`; the build turns them into a static
//! table, so that listing them is free and a run pays only for the rules that
//! can match.

use tollgate_core::finding::{Category, Severity};

use crate::prefilter::Prefilter;

/// An embedded rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name, also the name of its file.
    pub id: &'static str,
    /// The grammars a code rule runs on; empty for text and change rules.
    pub languages: &'static [&'static str],
    /// How much its findings matter.
    pub severity: Severity,
    /// What its findings are about.
    pub category: Category,
    /// What is wrong, in one line.
    pub message: &'static str,
    /// Why it matters and what to do.
    pub why: &'static str,
    /// One of these is on the line that a finding belongs to; empty when there is none.
    pub anchors: &'static [Anchor],
    /// Regular expressions, each of which matches somewhere in every file that the rule has a finding in.
    pub needs: &'static [&'static str],
    /// What else such a file shows.
    pub prefilter: Option<Prefilter>,
    /// False when findings in test files would be noise.
    pub in_tests: bool,
    /// The function that finds it; empty for code rules.
    pub detector: &'static str,
    /// Where to read more: CWE numbers and the like.
    pub references: &'static [&'static str],
    /// The ast-grep rule as a JSON object without id and language.
    pub(crate) matcher: &'static str,
    /// Code or changes it must report.
    pub bad: &'static [Example],
    /// Code or changes it must not report.
    pub good: &'static [Example],
}

/// What the line that a finding belongs to looks like.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// Stands on the line, inside the match.
    pub text: &'static str,
    /// All of these stand on the line, too.
    pub with: &'static [&'static str],
    /// None of these does.
    pub without: &'static [&'static str],
}

impl Anchor {
    /// True when a line that has the anchor's text has what else it needs.
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
        /// Its path, when that matters.
        path: Option<&'static str>,
        /// Its content; a comment line with `^` marks the line above it.
        code: &'static str,
    },
    /// A change, as a unified diff.
    Diff(&'static str),
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    /// The syntax tree of a changed file.
    Code,
    /// The added lines as text.
    Text,
    /// What the change adds and removes.
    Change,
}

impl Rule {
    /// What the rule looks at.
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

/// The rule of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The rule whose name is nearest to this one, if any is near.
#[must_use]
pub fn nearest(id: &str) -> Option<&'static str> {
    let near = RULES.iter().map(|rule| (strsim::jaro_winkler(id, rule.id), rule.id));
    near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id)
}
