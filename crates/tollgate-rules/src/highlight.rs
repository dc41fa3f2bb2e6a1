//! Syntax highlighting: classifies the tokens of a file as keywords, strings, comments, names.
//!
//! ```text
//! let name = "x"; // why
//! kkk             cccccc
//!            sss
//! ```
//!
//! Uses the tree-sitter highlight queries of the grammars, without embedded languages; colours are chosen by style
//! sheets. It parses untrusted input with parsers written in C, so it runs in a child process ([`crate::worker`]).

use std::collections::HashMap;

use ast_grep_language::{LanguageExt as _, SupportLang};
use serde::{Deserialize, Serialize};
use tree_sitter_highlight::{Highlight, HighlightConfiguration, HighlightEvent};

/// Maximum number of spans; the rest of the text stays plain.
const MAX_SPANS: usize = 400_000;

/// The class of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    /// A keyword.
    #[serde(rename = "k")]
    Keyword,
    /// A string, a character, a regular expression.
    #[serde(rename = "s")]
    String,
    /// An escape sequence in a string.
    #[serde(rename = "e")]
    Escape,
    /// A comment.
    #[serde(rename = "c")]
    Comment,
    /// A number or a named constant.
    #[serde(rename = "n")]
    Constant,
    /// The name of a type or a module.
    #[serde(rename = "t")]
    Type,
    /// The name of a function or a macro.
    #[serde(rename = "f")]
    Function,
    /// The name of a field, a key or an attribute.
    #[serde(rename = "p")]
    Property,
}

impl Class {
    /// The letter for this class in messages and style sheets.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::Keyword => "k",
            Self::String => "s",
            Self::Escape => "e",
            Self::Comment => "c",
            Self::Constant => "n",
            Self::Type => "t",
            Self::Function => "f",
            Self::Property => "p",
        }
    }
}

/// A token: its start and end in the text, in bytes, and its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span(pub u32, pub u32, pub Class);

/// Maps the capture names of the queries to classes; `None` is plain text, also inside a classified node.
const NAMES: [(&str, Option<Class>); 35] = [
    ("attribute", Some(Class::Property)),
    ("boolean", Some(Class::Constant)),
    ("character", Some(Class::String)),
    ("comment", Some(Class::Comment)),
    ("conditional", Some(Class::Keyword)),
    ("constant", Some(Class::Constant)),
    ("constructor", Some(Class::Type)),
    ("delimiter", None),
    ("embedded", None),
    ("escape", Some(Class::Escape)),
    ("exception", Some(Class::Keyword)),
    ("float", Some(Class::Constant)),
    ("function", Some(Class::Function)),
    ("include", Some(Class::Keyword)),
    ("keyword", Some(Class::Keyword)),
    ("label", Some(Class::Property)),
    ("module", Some(Class::Type)),
    ("namespace", Some(Class::Type)),
    ("none", None),
    ("number", Some(Class::Constant)),
    ("operator", None),
    ("parameter", None),
    ("property", Some(Class::Property)),
    ("punctuation", None),
    ("repeat", Some(Class::Keyword)),
    ("string", Some(Class::String)),
    ("string.escape", Some(Class::Escape)),
    ("string.special", Some(Class::String)),
    ("tag", Some(Class::Keyword)),
    ("type", Some(Class::Type)),
    ("type.builtin", Some(Class::Type)),
    ("variable", None),
    ("variable.builtin", Some(Class::Keyword)),
    ("variable.member", Some(Class::Property)),
    ("variable.parameter", None),
];

/// Overrides the grammar's own query, whose last pattern captures every name as a variable.
const GO_CALLS: &str = "
(function_declaration name: (identifier) @function)
(method_declaration name: (field_identifier) @function)
(call_expression function: (identifier) @function)
(call_expression function: (selector_expression field: (field_identifier) @function))
";

/// Captures method calls as functions; the grammar's own query captures them as attributes.
const PYTHON_CALLS: &str = "(call function: (attribute attribute: (identifier) @function))";

/// Highlights texts and caches the compiled queries.
#[derive(Default)]
pub(crate) struct Highlighter {
    known: HashMap<&'static str, Option<HighlightConfiguration>>,
    highlighter: Option<tree_sitter_highlight::Highlighter>,
}

impl Highlighter {
    /// Classifies the tokens of a text, ordered and not overlapping; `None` when the grammar has no query.
    pub(crate) fn highlight(&mut self, grammar: SupportLang, text: &str) -> Option<Vec<Span>> {
        let name = crate::select::grammar_name(grammar);
        let configuration = self.known.entry(name).or_insert_with(|| configure(grammar)).as_ref()?;
        let highlighter = self.highlighter.get_or_insert_with(tree_sitter_highlight::Highlighter::new);
        let events = highlighter.highlight(configuration, text.as_bytes(), None, None, |_| None).ok()?;
        let (mut spans, mut open): (Vec<Span>, Vec<Option<Class>>) = (Vec::new(), Vec::new());
        for event in events {
            match event.ok()? {
                HighlightEvent::HighlightStart(Highlight(index)) => {
                    open.push(NAMES.get(index).and_then(|(_, class)| *class));
                }
                HighlightEvent::HighlightEnd => drop(open.pop()),
                HighlightEvent::Source { start, end } => {
                    if let Some(class) = open.last().copied().flatten() {
                        push(&mut spans, start, end, class);
                    }
                }
            }
            if spans.len() >= MAX_SPANS {
                break;
            }
        }
        Some(spans)
    }
}

/// Adds a span, or extends the last one.
fn push(spans: &mut Vec<Span>, start: usize, end: usize, class: Class) {
    let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else { return };
    match spans.last_mut() {
        Some(last) if last.1 == start && last.2 == class => last.1 = end,
        Some(last) if last.1 > start => {}
        _ if start < end => spans.push(Span(start, end, class)),
        _ => {}
    }
}

fn configure(grammar: SupportLang) -> Option<HighlightConfiguration> {
    let (highlights, locals) = queries(grammar)?;
    let name = crate::select::grammar_name(grammar);
    let mut configuration =
        HighlightConfiguration::new(grammar.get_ts_language(), name, &highlights, "", locals).ok()?;
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    configuration.configure(&names);
    Some(configuration)
}

/// The highlight and locals queries of a grammar. A later pattern wins.
fn queries(grammar: SupportLang) -> Option<(String, &'static str)> {
    let plain = |query: &str| Some((query.to_owned(), ""));
    match grammar {
        SupportLang::Bash => plain(tree_sitter_bash::HIGHLIGHT_QUERY),
        SupportLang::C => plain(tree_sitter_c::HIGHLIGHT_QUERY),
        SupportLang::Cpp => {
            Some((format!("{}\n{}", tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY), ""))
        }
        SupportLang::CSharp => plain(tree_sitter_c_sharp::HIGHLIGHTS_QUERY),
        SupportLang::Go => plain(&format!("{}\n{GO_CALLS}", tree_sitter_go::HIGHLIGHTS_QUERY)),
        SupportLang::Java => plain(tree_sitter_java::HIGHLIGHTS_QUERY),
        SupportLang::JavaScript => {
            let (own, jsx) = (tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_javascript::JSX_HIGHLIGHT_QUERY);
            Some((format!("{own}\n{jsx}"), tree_sitter_javascript::LOCALS_QUERY))
        }
        SupportLang::Kotlin => plain(tree_sitter_kotlin_sg::HIGHLIGHTS_QUERY),
        SupportLang::Php => plain(tree_sitter_php::HIGHLIGHTS_QUERY),
        SupportLang::Python => plain(&format!("{}\n{PYTHON_CALLS}", tree_sitter_python::HIGHLIGHTS_QUERY)),
        SupportLang::Ruby => Some((tree_sitter_ruby::HIGHLIGHTS_QUERY.to_owned(), tree_sitter_ruby::LOCALS_QUERY)),
        SupportLang::Rust => plain(tree_sitter_rust::HIGHLIGHTS_QUERY),
        SupportLang::TypeScript => Some((typescript(""), tree_sitter_typescript::LOCALS_QUERY)),
        SupportLang::Tsx => {
            Some((typescript(tree_sitter_javascript::JSX_HIGHLIGHT_QUERY), tree_sitter_typescript::LOCALS_QUERY))
        }
        SupportLang::Yaml => plain(tree_sitter_yaml::HIGHLIGHTS_QUERY),
        _ => None,
    }
}

/// Combines the queries of JavaScript and TypeScript: the latter covers only the additions.
fn typescript(more: &str) -> String {
    let (base, own) = (tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_typescript::HIGHLIGHTS_QUERY);
    format!("{base}\n{more}\n{own}")
}

#[cfg(test)]
mod tests {
    use std::sync::{LazyLock, Mutex, PoisonError};

    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    /// The text with the letter of its class below each character.
    fn annotated(grammar: SupportLang, text: &str) -> String {
        let spans = Highlighter::default().highlight(grammar, text).unwrap();
        let mut letters = vec![" "; text.len()];
        for Span(start, end, class) in spans {
            letters[start as usize..end as usize].fill(class.letter());
        }
        let mut at = 0;
        let mut lines = Vec::new();
        for line in text.split('\n') {
            lines.push(line.to_owned());
            lines.push(letters[at..at + line.len()].concat().trim_end().to_owned());
            at += line.len() + 1;
        }
        lines.join("\n")
    }

    #[test]
    fn tokens_are_classified_by_the_grammar() {
        assert_snapshot!(annotated(SupportLang::Rust, "// why\nfn name(a: u8) -> String { format!(\"{a}\\n\", 1) }"), @r#"
        // why
        cccccc
        fn name(a: u8) -> String { format!("{a}\n", 1) }
        kk ffff    tt     tttttt   fffffff ssssees  n
        "#);
        assert_snapshot!(annotated(SupportLang::TypeScript, "export const a: Name = `x${b.c(1)}y`; // z"), @"
        export const a: Name = `x${b.c(1)}y`; // z
        kkkkkk kkkkk    tttt   ss    f n  ss  cccc
        ");
        assert_snapshot!(annotated(SupportLang::Python, "def f(x=None):\n    return self.g(\"a\") # c"), @r#"
        def f(x=None):
        kkk f   nnnn
            return self.g("a") # c
            kkkkkk      f sss  ccc
        "#);
        assert_snapshot!(annotated(SupportLang::Go, "func (a *A) F(x int) { y.g(h(x)) }"), @"
        func (a *A) F(x int) { y.g(h(x)) }
        kkkk     t  f   ttt      f f
        ");
        assert_snapshot!(annotated(SupportLang::Ruby, "def f(x)\n  y = x\n  puts y, :z\nend"), @"
        def f(x)
        kkk f
          y = x

          puts y, :z
          ffff    ss
        end
        kkk
        ");
    }

    #[test]
    fn every_grammar_but_one_has_a_query_that_compiles() {
        let without: Vec<_> = SupportLang::all_langs()
            .iter()
            .filter(|grammar| !crate::select::grammar_name(**grammar).is_empty())
            .filter(|grammar| configure(**grammar).is_none())
            .collect();
        assert_eq!(format!("{without:?}"), "[Hcl]");
    }

    /// Compiling the queries takes longer than all cases.
    static HIGHLIGHTER: LazyLock<Mutex<Highlighter>> = LazyLock::new(Mutex::default);

    proptest! {
        #[test]
        fn spans_are_in_order_and_apart_and_inside(text in "[a-z(){}\"'/*#\\n é`$]{0,200}") {
            let mut highlighter = HIGHLIGHTER.lock().unwrap_or_else(PoisonError::into_inner);
            for grammar in [SupportLang::Rust, SupportLang::Tsx, SupportLang::Bash] {
                let mut end = 0;
                for Span(start, next, _) in highlighter.highlight(grammar, &text).unwrap() {
                    prop_assert!(end <= start && start < next);
                    prop_assert!(text.get(start as usize..next as usize).is_some(), "not between characters");
                    end = next;
                }
                prop_assert!(end as usize <= text.len());
            }
        }
    }
}
