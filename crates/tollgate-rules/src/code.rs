//! Code rules: syntax trees matched with ast-grep.
//!
//! The traversal replaces ast-grep's `CombinedScan`, which obeys `ast-grep-ignore`
//! comments, so that a change could suppress its own review, and which visits the
//! whole file although only the nodes on added lines matter.
//!
//! Input that stalls a matcher or overflows a parser's stack is contained by
//! [`crate::worker`] and its limits, not here.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::str::FromStr as _;

use ast_grep_config::{GlobalRules, RuleConfig, SerializableRuleConfig};
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Matcher as _, Node, NodeMatch};
use ast_grep_language::{LanguageExt as _, SupportLang};
use tollgate_core::language::Language;

use crate::catalog::{Anchor, RULES};
use crate::hit::Hit;
use crate::lines::LineSet;
use crate::select::{RuleIndex, grammar_name};
use crate::user::UserRule;

/// A match of more lines than this is reported at its anchor line only.
const MAX_LINES: u32 = 8;
/// A longer line of evidence is truncated.
const MAX_EVIDENCE_CHARS: usize = 300;

type Tree = AstGrep<StrDoc<SupportLang>>;

/// Detects the grammar of a file by its name; `None` when the language is not supported.
#[must_use]
pub fn grammar_of(path: &str) -> Option<SupportLang> {
    use ast_grep_core::Language as _;
    let grammar = SupportLang::from_path(path).or_else(|| grammar_of_name(path))?;
    (!grammar_name(grammar).is_empty()).then_some(grammar)
}

/// The grammar of a file that has no extension and a well-known name: `Rakefile`, `.bashrc`.
fn grammar_of_name(path: &str) -> Option<SupportLang> {
    let name = path.rsplit('/').next()?;
    if name.trim_start_matches('.').contains('.') {
        return None;
    }
    match Language::of_path(path.as_bytes())? {
        Language::Ruby => Some(SupportLang::Ruby),
        Language::Bash => Some(SupportLang::Bash),
        _ => None,
    }
}

/// A file, or a part of one, to scan.
#[derive(Debug)]
pub struct ScanInput<'a> {
    /// The path, for the `files` and `ignores` globs of custom rules.
    pub path: &'a str,
    /// The grammar.
    pub grammar: SupportLang,
    /// The text.
    pub text: &'a str,
    /// The line number of the text's first line in the file.
    pub first_line: u32,
    /// The lines that findings may be on.
    pub added: &'a LineSet,
    /// The embedded rules to run.
    pub rules: &'a [RuleIndex],
    /// True when the text equals the file's bytes, so that fixes apply exactly.
    pub exact: bool,
}

/// Runs code rules over files and caches the compiled rules.
#[derive(Default)]
pub struct Scanner {
    embedded: HashMap<(RuleIndex, &'static str), Option<RuleConfig<SupportLang>>>,
    user: Vec<UserRule>,
}

/// A compiled rule and its metadata.
struct CompiledRule<'a> {
    id: &'a str,
    anchors: &'a [Anchor],
    config: &'a RuleConfig<SupportLang>,
}

impl Scanner {
    /// Creates a scanner that also runs custom rules.
    #[must_use]
    pub fn new(user: Vec<UserRule>) -> Self {
        Self { embedded: HashMap::new(), user }
    }

    /// Scans one file; hits are ordered by line and rule.
    pub fn scan(&mut self, input: &ScanInput<'_>) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.scan_anchored(input).into_iter().map(|(_, hit)| hit).collect();
        hits.dedup_by(|a, b| a.rule == b.rule && a.line_start == b.line_start && a.line_end == b.line_end);
        hits
    }

    /// Scans one file; hits come with their anchor line and are not deduplicated.
    pub fn scan_anchored(&mut self, input: &ScanInput<'_>) -> Vec<(u32, Hit)> {
        let name = grammar_name(input.grammar);
        for &index in input.rules {
            self.embedded.entry((index, name)).or_insert_with(|| compile(index, name));
        }
        let embedded = input.rules.iter().filter_map(|&index| {
            let config = self.embedded.get(&(index, name))?.as_ref()?;
            Some(CompiledRule { id: RULES[index].id, anchors: RULES[index].anchors, config })
        });
        let user = self.user.iter().filter(|rule| rule.wants(input.grammar, input.path) && rule.can_match(input.text));
        let user = user.map(|rule| CompiledRule { id: rule.id(), anchors: &[], config: rule.config() });
        let rules: Vec<CompiledRule<'_>> = embedded.chain(user).collect();
        if rules.is_empty() {
            return Vec::new();
        }
        let tree = input.grammar.ast_grep(input.text);
        let mut hits = Vec::new();
        walk(&tree, input, &rules, &mut hits);
        hits.sort_by(|(_, a), (_, b)| (a.line_start, &a.rule, a.line_end).cmp(&(b.line_start, &b.rule, b.line_end)));
        hits
    }
}

/// Compiles an embedded rule. `None` cannot happen: the tests of this crate compile every rule.
pub(crate) fn try_compile(
    index: RuleIndex,
    grammar: &str,
) -> Result<RuleConfig<SupportLang>, Box<dyn std::error::Error>> {
    let rule = RULES.get(index).ok_or("no such rule")?;
    let mut value: serde_json::Map<String, serde_json::Value> = serde_json::from_str(rule.matcher)?;
    value.insert("id".to_owned(), rule.id.into());
    value.insert("language".to_owned(), SupportLang::from_str(grammar)?.to_string().into());
    let config: SerializableRuleConfig<SupportLang> = serde_json::from_value(value.into())?;
    Ok(RuleConfig::try_from(config, &GlobalRules::default())?)
}

fn compile(index: RuleIndex, grammar: &str) -> Option<RuleConfig<SupportLang>> {
    try_compile(index, grammar).ok()
}

/// Visits every node that shares a line with an added one, without recursion because trees can be deep.
fn walk(tree: &Tree, input: &ScanInput<'_>, rules: &[CompiledRule<'_>], hits: &mut Vec<(u32, Hit)>) {
    let mut by_kind: Vec<Vec<usize>> = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        for kind in rule.config.matcher.potential_kinds().iter().flatten() {
            if by_kind.len() <= kind {
                by_kind.resize(kind + 1, Vec::new());
            }
            by_kind[kind].push(index);
        }
    }
    let lines = OnceCell::new();
    let mut visit = |node: &Node<'_, StrDoc<SupportLang>>| {
        for &index in by_kind.get(usize::from(node.kind_id())).map_or(&[][..], Vec::as_slice) {
            if let Some(found) = rules[index].config.matcher.match_node(node.clone()) {
                hits.extend(hit(&found, input, &rules[index], &lines));
            }
        }
    };
    let root = tree.root();
    let (first, last) = lines_of(&root, input.first_line);
    if input.added.covers(first, last) {
        root.dfs().for_each(|node| visit(&node));
        return;
    }
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let (start, end) = lines_of(&node, input.first_line);
        if input.added.overlaps(start, end) {
            visit(&node);
            pending.extend(node.children());
        }
    }
}

fn lines_of(node: &Node<'_, StrDoc<SupportLang>>, first_line: u32) -> (u32, u32) {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX).saturating_add(first_line);
    (number(node.start_pos().line()), number(node.end_pos().line()))
}

/// Builds the hit for a match; `None` when its anchor is not on an added line.
fn hit<'t>(
    found: &NodeMatch<'_, StrDoc<SupportLang>>,
    input: &ScanInput<'t>,
    rule: &CompiledRule<'_>,
    lines: &OnceCell<Vec<&'t str>>,
) -> Option<(u32, Hit)> {
    let (start, end) = lines_of(found.get_node(), input.first_line);
    let anchor = if rule.anchors.is_empty() {
        input.added.first_within(start, end)?
    } else {
        let anchor = anchor_line(input.text, found.range(), rule.anchors, start)?;
        input.added.contains(anchor).then_some(anchor)?
    };
    let (line_start, line_end) = if end - start >= MAX_LINES { (anchor, anchor) } else { (start, end) };
    let hit = Hit {
        rule: rule.id.to_owned(),
        line_start,
        line_end,
        left: false,
        evidence: evidence(
            lines.get_or_init(|| input.text.split('\n').collect()),
            input.first_line,
            (line_start, line_end),
        ),
        fix: crate::fix::whole_lines(found, input, rule.config),
        message: None,
    };
    Some((anchor, hit))
}

/// The first line with an anchor inside the match; `None` when the match contains no anchor.
fn anchor_line(text: &str, range: std::ops::Range<usize>, anchors: &[Anchor], start: u32) -> Option<u32> {
    let bytes = text.as_bytes();
    let matched = bytes.get(range.clone())?;
    let places = anchors.iter().filter_map(|anchor| {
        let mut found = memchr::memmem::find_iter(matched, anchor.text);
        found.find(|at| anchor.fits(line_around(bytes, range.start + at)))
    });
    let n_breaks = memchr::memchr_iter(b'\n', &matched[..places.min()?]).count();
    Some(start.saturating_add(u32::try_from(n_breaks).unwrap_or(u32::MAX)))
}

/// The line of a text that contains this offset, without its line feed.
pub(crate) fn line_around(text: &[u8], at: usize) -> &[u8] {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |before| before + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |after| at + after);
    &text[start..end]
}

fn evidence(lines: &[&str], first_line: u32, (line_start, line_end): (u32, u32)) -> String {
    let skip = line_start.saturating_sub(first_line) as usize;
    let n_lines = (line_end - line_start + 1) as usize;
    let lines = lines.iter().skip(skip).take(n_lines);
    let lines = lines.map(|line| line.trim_end_matches('\r').chars().take(MAX_EVIDENCE_CHARS).collect::<String>());
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() { "(empty line)".to_owned() } else { text }
}
