//! Enclosing scopes: the function around a line range, and the definitions around that function.
//!
//! ```text
//! 10|impl Gate {              a crumb: the opening line of a definition too long to show
//! 40|    fn open(&self) {     the definition: shown as a whole
//! 41|        …
//! ```
//!
//! It parses untrusted input with parsers written in C, so it runs in a child process ([`crate::worker`]). It
//! compares node kinds and does not resolve names.

use ast_grep_core::Node;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_language::{LanguageExt as _, SupportLang};
use serde::{Deserialize, Serialize};

/// Maximum number of definitions; a file with more is crafted to be slow.
const MAX_DEFINITIONS: usize = 20_000;

/// Minimum length of an anonymous function that counts as a definition; the scope around a shorter one says more.
const MIN_ANONYMOUS_LINES: u32 = 10;

/// Maximum number of crumbs for one range, innermost first.
const MAX_CRUMBS: usize = 3;

/// Maximum number of characters of a definition's name.
const MAX_NAME: usize = 80;

type SyntaxNode<'t> = Node<'t, StrDoc<SupportLang>>;

/// The definitions around a line range.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EnclosingScope {
    /// The first and last line of the innermost function, or of a type outside functions, if it is short enough.
    pub lines: Option<(u32, u32)>,
    /// The lines that open the other definitions around it, outermost first.
    pub crumbs: Vec<u32>,
    /// The innermost function, or type outside functions, whatever its length.
    pub function: Option<EnclosingFunction>,
}

/// A function around a line range.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EnclosingFunction {
    /// Its name behind the names of the definitions around it: `Gate.open`.
    pub name: String,
    /// Its first and last line.
    pub lines: (u32, u32),
}

/// The kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A named function, or a block that reads like one.
    Function,
    /// An anonymous function.
    Anonymous,
    /// A container of functions: a class, a module.
    Container,
    /// A wrapper of the definition inside: decorators, `export`.
    Wrapper,
}

/// A definition.
#[derive(Debug, Clone)]
struct Definition {
    kind: Kind,
    start: u32,
    end: u32,
    /// The line with its name.
    opens: u32,
    name: String,
    /// False for a short function that only a variable names: the scope around it says more to a reader.
    is_shown: bool,
}

/// Finds the enclosing scope of each line range; `None` at the top level of the file.
///
/// A definition of more than `max_lines` lines is given by its opening line only.
#[must_use]
pub fn enclose(grammar: SupportLang, text: &str, places: &[(u32, u32)], max_lines: u32) -> Vec<Option<EnclosingScope>> {
    let definitions = definitions(grammar, text, places);
    places.iter().map(|&place| around(&definitions, place, max_lines)).collect()
}

/// Counts the parse errors of a text.
#[must_use]
pub fn errors(grammar: SupportLang, text: &str) -> usize {
    let tree = grammar.ast_grep(text);
    tree.root().dfs().filter(|node| node.is_error() || node.is_missing()).count()
}

/// Finds the enclosing scope of one line range.
fn around(definitions: &[Definition], (first, last): (u32, u32), max_lines: u32) -> Option<EnclosingScope> {
    let holds = |definition: &&Definition| definition.start <= first && last <= definition.end;
    // Tree order is outermost first.
    let mut holding: Vec<&Definition> = definitions.iter().filter(holds).collect();
    let is_function = |definition: &&&Definition| definition.kind != Kind::Container;
    let function = named(&holding);
    holding.retain(|definition| definition.is_shown);
    let Some(innermost) = holding.iter().rfind(is_function).or(holding.last()) else {
        return function.map(|function| EnclosingScope { function: Some(function), ..EnclosingScope::default() });
    };
    let is_short = innermost.end - innermost.start < max_lines;
    let lines = is_short.then_some((innermost.start, innermost.end));
    let is_outside = |definition: &&&Definition| match lines {
        Some((start, _)) => definition.opens < start,
        None => true,
    };
    let mut crumbs: Vec<u32> = holding.iter().filter(is_outside).map(|definition| definition.opens).collect();
    crumbs.dedup();
    crumbs.drain(..crumbs.len().saturating_sub(MAX_CRUMBS));
    Some(EnclosingScope { lines, crumbs, function })
}

/// The innermost function among definitions around a range, or the innermost type, with its full name.
fn named(holding: &[&Definition]) -> Option<EnclosingFunction> {
    let is_function = |definition: &&Definition| definition.kind != Kind::Container;
    let at = holding.iter().rposition(is_function).or(holding.len().checked_sub(1))?;
    let names: Vec<&str> = holding[..=at].iter().map(|definition| definition.name.as_str()).collect();
    Some(EnclosingFunction { name: names.join("."), lines: (holding[at].start, holding[at].end) })
}

/// True for a grammar whose definitions are known, so that a line outside of all of them is at the top level.
#[must_use]
pub fn has_definitions(grammar: SupportLang) -> bool {
    !names(grammar)[0].is_empty()
}

/// The first line of the statement around a definition, and the variable that it assigns to.
type Wrapper = (u32, Option<String>);

/// Collects the definitions around any of the ranges, outer ones before inner ones.
fn definitions(grammar: SupportLang, text: &str, places: &[(u32, u32)]) -> Vec<Definition> {
    let tree = grammar.ast_grep(text);
    let mut sorted: Vec<(u32, u32)> = places.to_vec();
    sorted.sort_unstable();
    let mut found = Vec::new();
    // Iterative, because trees can be deep.
    let mut pending: Vec<(SyntaxNode<'_>, Option<Wrapper>)> = vec![(tree.root(), None)];
    while let Some((node, wrapped)) = pending.pop() {
        let (start, end) = lines_of(&node);
        let first = sorted.partition_point(|&(first, _)| first < start);
        if sorted.get(first).is_none_or(|&(place, _)| place > end) {
            continue;
        }
        let (start, variable) = wrapped.unwrap_or((start, None));
        let kind = kind(grammar, &node.kind());
        let is_shown = kind != Some(Kind::Anonymous) || end - start >= MIN_ANONYMOUS_LINES;
        let is_definition = |kind: &Kind| *kind != Kind::Wrapper && (is_shown || variable.is_some());
        if let Some(kind) = kind.filter(is_definition) {
            let opens = node.field("name").map_or(start, |name| lines_of(&name).0);
            let name = name_of(&node).or_else(|| variable.clone()).unwrap_or_else(|| opening(&node));
            found.push(Definition { kind, start, end, opens, name, is_shown });
            if found.len() >= MAX_DEFINITIONS {
                break;
            }
        }
        let wrapped = (kind == Some(Kind::Wrapper)).then(|| (start, name_of(&node).or(variable)));
        pending.extend(node.children().map(|child| (child, wrapped.clone())));
    }
    // Tree order: an outer definition begins before an inner one, or ends after it.
    found.sort_by_key(|definition| (definition.start, std::cmp::Reverse(definition.end)));
    found
}

/// The name of a definition, as far as its grammar has one; a method of Go is named with its receiver.
fn name_of(node: &SyntaxNode<'_>) -> Option<String> {
    let name = ["name", "declarator", "type"].into_iter().find_map(|field| node.field(field))?;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // The declarator of C holds the parameters, too.
    let name = words(name.text().split('(').next().unwrap_or_default());
    let receiver = node.field("receiver").map(|receiver| {
        let text = receiver.text();
        let of_type = text.trim_matches(['(', ')']).rsplit(char::is_whitespace).next().unwrap_or_default();
        format!("{}.", of_type.trim_start_matches('*'))
    });
    (!name.is_empty()).then(|| receiver.unwrap_or_default().chars().chain(name.chars()).take(MAX_NAME).collect())
}

/// The first line of a definition without a name.
fn opening(node: &SyntaxNode<'_>) -> String {
    let text = node.text();
    text.lines().next().unwrap_or_default().trim().chars().take(MAX_NAME).collect()
}

fn lines_of(node: &SyntaxNode<'_>) -> (u32, u32) {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1);
    let (start, end) = (node.start_pos(), node.end_pos());
    // A node that ends with a line feed ends on the line before.
    let end_line = number(end.line()).saturating_sub(u32::from(end.byte_point().1 == 0 && end.line() > start.line()));
    (number(start.line()), end_line)
}

/// The kind of definition for a node kind of the grammar.
fn kind(grammar: SupportLang, name: &str) -> Option<Kind> {
    let groups = [Kind::Function, Kind::Anonymous, Kind::Container, Kind::Wrapper];
    let names = names(grammar);
    groups.into_iter().zip(names).find(|(_, names)| names.contains(&name)).map(|(kind, _)| kind)
}

/// The names of definitions in a grammar: functions, functions without a name, containers, wrappers.
fn names(grammar: SupportLang) -> [&'static [&'static str]; 4] {
    match grammar {
        SupportLang::Bash => [&["function_definition"], &[], &[], &[]],
        SupportLang::C => [
            &["function_definition"],
            &[],
            &["struct_specifier", "union_specifier", "enum_specifier"],
            &["type_definition"],
        ],
        SupportLang::Cpp => [
            &["function_definition"],
            &["lambda_expression"],
            &["class_specifier", "struct_specifier", "union_specifier", "enum_specifier", "namespace_definition"],
            &["type_definition", "template_declaration"],
        ],
        SupportLang::CSharp => [
            &[
                "method_declaration",
                "constructor_declaration",
                "destructor_declaration",
                "operator_declaration",
                "conversion_operator_declaration",
                "property_declaration",
                "indexer_declaration",
                "local_function_statement",
            ],
            &["lambda_expression", "anonymous_method_expression"],
            &[
                "class_declaration",
                "struct_declaration",
                "interface_declaration",
                "record_declaration",
                "enum_declaration",
                "namespace_declaration",
            ],
            &[],
        ],
        SupportLang::Go => {
            [&["function_declaration", "method_declaration"], &["func_literal"], &["type_declaration"], &[]]
        }
        SupportLang::Hcl => [&["block"], &[], &[], &[]],
        SupportLang::Java => [
            &["method_declaration", "constructor_declaration", "compact_constructor_declaration", "static_initializer"],
            &["lambda_expression"],
            &[
                "class_declaration",
                "interface_declaration",
                "enum_declaration",
                "record_declaration",
                "annotation_type_declaration",
            ],
            &[],
        ],
        SupportLang::JavaScript => [
            &["function_declaration", "generator_function_declaration", "method_definition"],
            &["arrow_function", "function_expression", "generator_function"],
            &["class_declaration", "class"],
            &["export_statement", "lexical_declaration", "variable_declaration", "variable_declarator"],
        ],
        SupportLang::Kotlin => [
            &["function_declaration", "secondary_constructor", "anonymous_initializer", "getter", "setter"],
            &["lambda_literal", "anonymous_function"],
            &["class_declaration", "object_declaration", "companion_object"],
            &[],
        ],
        SupportLang::Php => [
            &["function_definition", "method_declaration"],
            &["anonymous_function", "arrow_function"],
            &["class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"],
            &[],
        ],
        SupportLang::Python => {
            [&["function_definition"], &["lambda"], &["class_definition"], &["decorated_definition"]]
        }
        SupportLang::Ruby => {
            [&["method", "singleton_method"], &["do_block", "block"], &["class", "module", "singleton_class"], &[]]
        }
        SupportLang::Rust => [
            &["function_item", "macro_definition"],
            &["closure_expression"],
            &["impl_item", "trait_item", "struct_item", "enum_item", "union_item", "mod_item"],
            &[],
        ],
        SupportLang::TypeScript | SupportLang::Tsx => [
            &["function_declaration", "generator_function_declaration", "method_definition"],
            &["arrow_function", "function_expression", "generator_function"],
            &[
                "class_declaration",
                "abstract_class_declaration",
                "class",
                "interface_declaration",
                "enum_declaration",
                "type_alias_declaration",
                "internal_module",
            ],
            &["export_statement", "lexical_declaration", "variable_declaration", "variable_declarator"],
        ],
        _ => [&[], &[], &[], &[]],
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use ast_grep_core::Language as _;

    use super::*;
    use crate::select::grammar_name;

    /// Compares the scope of the line marked by `<-`, as `definition; crumbs`.
    #[track_caller]
    fn check(grammar: &str, text: &str, expected: &str) {
        let at = text.lines().position(|line| line.contains("<-")).unwrap() as u32 + 1;
        let lines: Vec<&str> = text.lines().collect();
        let enclosed = enclose(SupportLang::from_str(grammar).unwrap(), text, &[(at, at)], 8);
        let shown = enclosed[0].as_ref().map_or_else(
            || "nothing".to_owned(),
            |EnclosingScope { lines: definition, crumbs, .. }| {
                let definition = definition.map_or("too long".to_owned(), |(start, end)| format!("{start}-{end}"));
                let crumbs: Vec<&str> = crumbs.iter().map(|&crumb| lines[crumb as usize - 1].trim()).collect();
                format!("{definition}; {}", crumbs.join(" > "))
            },
        );
        assert_eq!(shown, expected, "{grammar}");
    }

    #[test]
    fn the_smallest_function_encloses_a_line() {
        check(
            "Rust",
            "mod m {\n    impl A {\n        fn f() {\n            g(); // <-\n        }\n    }\n}\n",
            "3-5; mod m { > impl A {",
        );
        check("Python", "class A:\n    @cached\n    def f(self):\n        return 1  # <-\n", "2-4; class A:");
        check("TypeScript", "export class A {\n  f(): void {\n    g(); // <-\n  }\n}\n", "2-4; export class A {");
        check("Tsx", "export function F() {\n  return <a/>; // <-\n}\n", "1-3; ");
        check("JavaScript", "export default {\n  f() {\n    g(); // <-\n  }\n}\n", "2-4; ");
        check("Go", "package a\n\nfunc (a A) F() {\n\tg() // <-\n}\n", "3-5; ");
        check("Java", "class A {\n  @Override\n  void f() {\n    g(); // <-\n  }\n}\n", "2-5; class A {");
        check("Kotlin", "class A {\n  fun f() {\n    g() // <-\n  }\n}\n", "2-4; class A {");
        check("C", "int f(void)\n{\n  g(); // <-\n}\n", "1-4; ");
        check("Cpp", "namespace n {\ntemplate <class T>\nvoid f() {\n  g(); // <-\n}\n}\n", "2-5; namespace n {");
        check("CSharp", "class A {\n  void F() {\n    G(); // <-\n  }\n}\n", "2-4; class A {");
        check("Php", "<?php\nclass A {\n  function f() {\n    g(); // <-\n  }\n}\n", "3-5; class A {");
        check("Ruby", "module M\n  class A\n    def f\n      g # <-\n    end\n  end\nend\n", "3-5; module M > class A");
        check("Bash", "f() {\n  g # <-\n}\n", "1-3; ");
        check("Hcl", "resource \"a\" \"b\" {\n  c = 1 # <-\n}\n", "1-3; ");
    }

    /// Compares the name of the function around the line marked by `<-`.
    #[track_caller]
    fn check_name(grammar: &str, text: &str, expected: &str) {
        let at = text.lines().position(|line| line.contains("<-")).unwrap() as u32 + 1;
        let enclosed = enclose(SupportLang::from_str(grammar).unwrap(), text, &[(at, at)], 8);
        let name = enclosed[0].as_ref().and_then(|scope| scope.function.as_ref()).map(|it| it.name.as_str());
        assert_eq!(name, Some(expected), "{grammar}");
    }

    #[test]
    fn a_function_is_named_with_the_definitions_around_it() {
        check_name(
            "Rust",
            "mod m {\n    impl A {\n        fn f() {\n            g(); // <-\n        }\n    }\n}\n",
            "m.A.f",
        );
        check_name("Python", "class A:\n    @cached\n    def f(self):\n        return 1  # <-\n", "A.f");
        check_name("TypeScript", "export class A {\n  f(): void {\n    g(); // <-\n  }\n}\n", "A.f");
        check_name("JavaScript", "const f = (a) => {\n  g(a); // <-\n};\n", "f");
        check_name("JavaScript", "export const f = function () {\n  g(); // <-\n};\n", "f");
        check_name("Go", "package a\n\nfunc (a A) F() {\n\tg() // <-\n}\n", "A.F");
        check_name("C", "static int f(void)\n{\n  g(); // <-\n}\n", "f");
        check_name("Cpp", "namespace n {\nvoid A::f() {\n  g(); // <-\n}\n}\n", "n.A::f");
        check_name("Java", "class A {\n  void f() {\n    g(); // <-\n  }\n}\n", "A.f");
        check_name("Kotlin", "class A {\n  fun f() {\n    g() // <-\n  }\n}\n", "class A {.fun f() {");
        check_name("CSharp", "class A {\n  int F() {\n    G(); // <-\n  }\n}\n", "A.F");
        check_name("Php", "<?php\nclass A {\n  function f() {\n    g(); // <-\n  }\n}\n", "A.f");
        check_name("Ruby", "module M\n  class A\n    def f\n      g # <-\n    end\n  end\nend\n", "M.A.f");
        check_name("Bash", "f() {\n  g # <-\n}\n", "f");
        check_name("Hcl", "resource \"a\" \"b\" {\n  c = 1 # <-\n}\n", "resource \"a\" \"b\" {");
        let long = format!("def f():\n{}    h()  # <-\n", "    g()\n".repeat(20));
        check_name("Python", &long, "f");
    }

    #[test]
    fn a_short_type_is_shown_where_no_function_is() {
        check("Rust", "struct A {\n    a: u8, // <-\n}\n", "1-3; ");
        let long = format!("class A {{\n{}  b = 1; // <-\n}}\n", "  a();\n".repeat(9));
        check("TypeScript", &long, "too long; class A {");
    }

    #[test]
    fn a_long_function_is_given_by_its_opening_line() {
        let text = format!(
            "impl A {{\n    fn f(\n        a: u8,\n    ) {{\n{}        h(); // <-\n    }}\n}}\n",
            "        g();\n".repeat(9)
        );
        check("Rust", &text, "too long; impl A { > fn f(");
    }

    #[test]
    fn a_short_anonymous_function_is_part_of_its_enclosing_scope() {
        check("JavaScript", "function f() {\n  a.map((b) => {\n    c(b); // <-\n  });\n}\n", "1-5; ");
        let text = "test('a', () => {\n".to_owned() + &"  b();\n".repeat(10) + "  c(); // <-\n});\n";
        check("JavaScript", &text, "too long; test('a', () => {");
    }

    #[test]
    fn top_level_lines_have_no_enclosing_scope() {
        check("Rust", "use a::b; // <-\nfn f() {}\n", "nothing");
        check("Yaml", "a:\n  b: 1 # <-\n", "nothing");
        assert_eq!(enclose(SupportLang::Rust, "fn f() {}", &[(7, 9), (0, 0)], 8), [None, None]);
    }

    #[test]
    fn errors_are_counted() {
        assert_eq!(errors(SupportLang::Rust, "fn f() {}"), 0);
        assert!(errors(SupportLang::Rust, "fn f( {}") > 0);
        assert!(errors(SupportLang::JavaScript, "f(") > 0);
    }

    #[test]
    fn node_kinds_exist_in_their_grammar() {
        let grammars = SupportLang::all_langs().iter().filter(|grammar| !grammar_name(**grammar).is_empty());
        for &grammar in grammars {
            for name in names(grammar).into_iter().flatten() {
                assert_ne!(grammar.kind_to_id(name), 0, "{grammar}: {name}");
            }
        }
    }
}
