//! Rule selection: which code rules can match a changed file.
//!
//! A finding of an embedded rule is on a line with one of the rule's anchors, and
//! it counts only when the change added that line. A rule without an anchor on an
//! added line is therefore skipped, and a file without rules is not parsed. Once
//! the file's text is known, `needs` and the prefilter drop further rules.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use ast_grep_language::SupportLang;
use regex::bytes::{Regex, RegexBuilder};
use tollgate_core::diff::FileDiff;

use crate::catalog::{Anchor, RULES, Rule, RuleKind};
use crate::code::{grammar_of, line_around};

/// The index of an embedded rule in the table.
pub type RuleIndex = usize;

/// Selects the rules that can match, file by file.
///
/// The search for a grammar is built when the first file of that grammar is selected.
#[derive(Debug, Default)]
pub struct Selector {
    by_grammar: HashMap<&'static str, GrammarRules>,
    disabled: Vec<RuleIndex>,
    /// Compiled `needs` patterns, built on first use.
    needs: HashMap<RuleIndex, Vec<Regex>>,
}

#[derive(Debug)]
struct GrammarRules {
    always: Vec<RuleIndex>,
    /// The anchors; none contains a line break.
    anchors: Vec<Anchor>,
    /// The rule of each anchor.
    owners: Vec<RuleIndex>,
    /// An automaton for all anchors, built when there is enough text to pay for it.
    automaton: Option<Option<AhoCorasick>>,
}

/// Below this size, one search for each anchor is cheaper than an automaton for all.
const FEW_BYTES: usize = 16 * 1024;

impl Selector {
    /// Creates a selector that never selects the rules for which `enabled` is false.
    #[must_use]
    pub fn new(enabled: impl Fn(&str) -> bool) -> Self {
        let disabled = (0..RULES.len()).filter(|&index| !enabled(RULES[index].id)).collect();
        Self { disabled, ..Self::default() }
    }

    /// Selects the rules that can match the added lines of this file, in table order.
    pub fn select(&mut self, file: &FileDiff, in_test: bool) -> Vec<RuleIndex> {
        let grammar = grammar_of(&file.path().to_string());
        grammar.map(|grammar| self.select_as(file, grammar_name(grammar), in_test)).unwrap_or_default()
    }

    /// Selects the rules for the grammar with this name, which the name of the file does not show.
    pub fn select_as(&mut self, file: &FileDiff, name: &'static str, in_test: bool) -> Vec<RuleIndex> {
        let disabled = &self.disabled;
        let rules = self.by_grammar.entry(name).or_insert_with(|| GrammarRules::of(name, disabled));
        let mut selected = if file.n_added == 0 { Vec::new() } else { rules.always.clone() };
        rules.anchored(file, &mut selected);
        selected.sort_unstable();
        selected.dedup();
        selected.retain(|&index| !in_test || RULES[index].in_tests);
        selected
    }

    /// Drops the rules that cannot match this text of a file or hunk.
    pub fn confirm(&mut self, rules: &mut Vec<RuleIndex>, text: &[u8]) {
        rules.retain(|&index| {
            let needs = self.needs.entry(index).or_insert_with(|| needs_of(&RULES[index]));
            needs.iter().all(|need| need.is_match(text))
                && RULES[index].prefilter.is_none_or(|prefilter| prefilter.may_match(text))
        });
    }
}

impl GrammarRules {
    /// Collects the rules with an anchor on an added line.
    fn anchored(&mut self, file: &FileDiff, selected: &mut Vec<RuleIndex>) {
        if self.anchors.is_empty() {
            return;
        }
        let added = || file.added().map(|(_, line)| line);
        if added().map(<[u8]>::len).sum::<usize>() <= FEW_BYTES {
            let text = added().collect::<Vec<_>>().join(&b'\n');
            let stands = |anchor: &Anchor| {
                let mut found = memchr::memmem::find_iter(&text, anchor.text);
                found.any(|at| anchor.fits(line_around(&text, at)))
            };
            let owners = self.anchors.iter().zip(&self.owners);
            selected.extend(owners.filter(|(anchor, _)| stands(anchor)).map(|(_, owner)| *owner));
            return;
        }
        let anchors = &self.anchors;
        // Building fails only on more patterns than memory holds; then every rule runs.
        let texts = || anchors.iter().map(|anchor| anchor.text);
        match self.automaton.get_or_insert_with(|| AhoCorasick::new(texts()).ok()) {
            None => selected.extend(&self.owners),
            Some(automaton) => {
                let mut seen = vec![false; anchors.len()];
                for line in added() {
                    for found in automaton.find_overlapping_iter(line) {
                        let index = found.pattern().as_usize();
                        seen[index] = seen[index] || anchors[index].fits(line);
                    }
                }
                let owners = seen.iter().zip(&self.owners);
                selected.extend(owners.filter(|(seen, _)| **seen).map(|(_, owner)| *owner));
            }
        }
    }

    fn of(grammar: &str, disabled: &[RuleIndex]) -> Self {
        let (mut always, mut owners, mut anchors) = (Vec::new(), Vec::new(), Vec::new());
        for (index, rule) in RULES.iter().enumerate() {
            if rule.kind() != RuleKind::Code || !rule.languages.contains(&grammar) || disabled.contains(&index) {
                continue;
            }
            if rule.anchors.is_empty() {
                always.push(index);
            }
            for anchor in rule.anchors {
                owners.push(index);
                anchors.push(*anchor);
            }
        }
        Self { always, anchors, owners, automaton: None }
    }
}

/// Compiles the `needs` of a rule. An invalid pattern is ignored here; a test compiles all.
fn needs_of(rule: &Rule) -> Vec<Regex> {
    let compiled = rule.needs.iter().map(|need| RegexBuilder::new(need).unicode(false).build());
    compiled.filter_map(Result::ok).collect()
}

/// The name of a grammar in rule files.
#[must_use]
pub fn grammar_name(grammar: SupportLang) -> &'static str {
    match grammar {
        SupportLang::Bash => "Bash",
        SupportLang::C => "C",
        SupportLang::Cpp => "Cpp",
        SupportLang::CSharp => "CSharp",
        SupportLang::Go => "Go",
        SupportLang::Hcl => "Hcl",
        SupportLang::Java => "Java",
        SupportLang::JavaScript => "JavaScript",
        SupportLang::Kotlin => "Kotlin",
        SupportLang::Php => "Php",
        SupportLang::Python => "Python",
        SupportLang::Ruby => "Ruby",
        SupportLang::Rust => "Rust",
        SupportLang::Tsx => "Tsx",
        SupportLang::TypeScript => "TypeScript",
        SupportLang::Yaml => "Yaml",
        _ => "",
    }
}
