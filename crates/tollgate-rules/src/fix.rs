//! Autofix: the fix of a rule as a replacement of whole lines.
//!
//! A fix is offered only if the fixed text has no more parse errors than before
//! and the rule no longer matches at that position.

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, NodeMatch};
use ast_grep_language::{LanguageExt as _, SupportLang};

use crate::code::ScanInput;

/// Computes the first and last line to replace and the replacement.
pub(crate) fn whole_lines(
    found: &NodeMatch<'_, StrDoc<SupportLang>>,
    input: &ScanInput<'_>,
    config: &RuleConfig<SupportLang>,
) -> Option<(u32, u32, String)> {
    let fixer = config.fixer.first()?;
    if !input.exact {
        return None;
    }
    let edit = found.make_edit(&config.matcher, fixer);
    let (from, to) = (edit.position, edit.position.checked_add(edit.deleted_length)?);
    let inserted = String::from_utf8(edit.inserted_text).ok()?;
    let (before, after) = (input.text.get(..from)?, input.text.get(to..)?);
    let fixed = format!("{before}{inserted}{after}");
    if !is_safe(&fixed, from, input, config) {
        return None;
    }

    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = after.find('\n').map_or(input.text.len(), |at| to + at);
    let text = format!("{}{inserted}{}", input.text.get(line_start..from)?, input.text.get(to..line_end)?);
    let number = |at: usize| -> Option<u32> {
        let breaks = memchr::memchr_iter(b'\n', input.text.as_bytes().get(..at)?).count();
        input.first_line.checked_add(u32::try_from(breaks).ok()?)
    };
    let text = text.strip_suffix('\r').map(str::to_owned).unwrap_or(text);
    Some((number(from)?, number(to)?, text))
}

fn is_safe(fixed: &str, at: usize, input: &ScanInput<'_>, config: &RuleConfig<SupportLang>) -> bool {
    let (old, new) = (input.grammar.ast_grep(input.text), input.grammar.ast_grep(fixed));
    let still = new.root().dfs().any(|node| node.range().start == at && config.matcher.match_node(node).is_some());
    !still && n_errors(&new) <= n_errors(&old)
}

fn n_errors(tree: &AstGrep<StrDoc<SupportLang>>) -> usize {
    tree.root().dfs().filter(|node| node.is_error() || node.is_missing()).count()
}
