//! The prefilter loses no finding: selecting rules by anchors and `needs`, and skipping untouched
//! code, gives the findings of a full scan, filtered to the added lines.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tollgate_core::diff;
use tollgate_rules::catalog::{self, Example, RuleKind};
use tollgate_rules::code::{ScanInput, Scanner, grammar_of};
use tollgate_rules::lines::LineSet;
use tollgate_rules::select::Selector;

/// All examples of all rules, one text per language, so that every rule reports something.
fn corpus() -> BTreeMap<&'static str, String> {
    let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
    for rule in catalog::all().iter().filter(|rule| rule.kind() == RuleKind::Code) {
        for example in rule.bad.iter().chain(rule.good) {
            if let Example::Code { code, .. } = example {
                for language in rule.languages {
                    let text = texts.entry(language).or_default();
                    text.push_str(code);
                    text.push('\n');
                }
            }
        }
    }
    texts
}

fn file_name(language: &str) -> &'static str {
    match language {
        "Bash" => "a.sh",
        "C" => "a.c",
        "Cpp" => "a.cpp",
        "CSharp" => "a.cs",
        "Go" => "a.go",
        "Hcl" => "a.tf",
        "Java" => "a.java",
        "JavaScript" => "a.js",
        "Kotlin" => "a.kt",
        "Php" => "a.php",
        "Python" => "a.py",
        "Ruby" => "a.rb",
        "Rust" => "a.rs",
        "Tsx" => "a.tsx",
        "TypeScript" => "a.ts",
        "Yaml" => "a.yml",
        other => panic!("no file name for {other}"),
    }
}

/// A change to one file that adds some of its lines and has the others as context.
fn change(path: &str, text: &str, is_added: impl Fn(usize) -> bool) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let n_kept = (0..lines.len()).filter(|&index| !is_added(index)).count();
    let mut diff = format!("diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n");
    diff.push_str(&format!("@@ -1,{n_kept} +1,{} @@\n", lines.len()));
    for (index, line) in lines.iter().enumerate() {
        diff.push_str(&format!("{}{line}\n", if is_added(index) { '+' } else { ' ' }));
    }
    diff
}

type Places = BTreeSet<(String, u32, u32)>;

/// Each example on its own with a language of its rule, since another example may supply a needed literal.
fn examples() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rules = catalog::all().iter().filter(|rule| !rule.needs.is_empty() || rule.prefilter.is_some());
    rules.flat_map(|rule| {
        let codes = rule.bad.iter().chain(rule.good).filter_map(|example| match example {
            Example::Code { code, .. } => Some(*code),
            Example::Diff(_) => None,
        });
        codes.flat_map(|code| rule.languages.iter().map(move |language| (*language, code)))
    })
}

/// The findings of a review: rules selected by anchors and `needs`, untouched code skipped.
fn short_cut(scanner: &mut Scanner, path: &str, text: &str, diff: &str) -> Places {
    let (files, _) = diff::parse(diff.as_bytes().to_vec());
    let mut selector = Selector::new(|_| true);
    let mut rules = selector.select(&files[0], false);
    selector.confirm(&mut rules, text.as_bytes());
    let added = LineSet::added_by(&files[0]);
    let grammar = grammar_of(path).unwrap();
    let job = ScanInput { path, grammar, text, first_line: 1, added: &added, rules: &rules, exact: true };
    scanner.scan(&job).into_iter().map(|hit| (hit.rule, hit.line_start, hit.line_end)).collect()
}

/// The findings of a full scan with every rule, filtered to the added lines.
fn full_scan(scanner: &mut Scanner, language: &str, text: &str, is_added: impl Fn(usize) -> bool) -> Places {
    let path = file_name(language);
    let all = catalog::all().iter().enumerate();
    let of_language = all.filter(|(_, rule)| rule.kind() == RuleKind::Code && rule.languages.contains(&language));
    let rules: Vec<usize> = of_language.map(|(index, _)| index).collect();
    let added = LineSet::all();
    let grammar = grammar_of(path).unwrap();
    let job = ScanInput { path, grammar, text, first_line: 1, added: &added, rules: &rules, exact: true };
    let hits = scanner.scan_anchored(&job).into_iter();
    let hits = hits.filter(|(anchor, _)| is_added(*anchor as usize - 1));
    hits.map(|(_, hit)| (hit.rule, hit.line_start, hit.line_end)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_review_reports_what_a_full_scan_of_the_added_lines_reports(seed in any::<u64>(), share in 1_u64..100) {
        let mut scanner = Scanner::default();
        for (language, text) in corpus() {
            let path = file_name(language);
            let is_added = |index: usize| {
                let mixed = (index as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
                mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % 100 < share
            };
            let diff = change(path, &text, is_added);
            let short = short_cut(&mut scanner, path, &text, &diff);
            prop_assert_eq!(short, full_scan(&mut scanner, language, &text, is_added));
        }
    }
}

#[test]
fn needs_match_every_text_that_a_rule_reports() {
    let mut scanner = Scanner::default();
    for (language, text) in examples() {
        let path = file_name(language);
        let short = short_cut(&mut scanner, path, text, &change(path, text, |_| true));
        assert_eq!(short, full_scan(&mut scanner, language, text, |_| true), "{language}:\n{text}");
    }
}

/// Unusual layouts of the bad examples that occur in practice.
#[test]
fn unusual_layout_hides_no_finding() {
    let cases = [
        ("js-empty-catch", "try { f(); }\ncatch ({ message }) {\n}\n"),
        ("js-empty-catch", "try { f(); } catch(error: unknown){}\n"),
        ("js-empty-catch", "try { f() } catch\n{\n\n}\n"),
        ("js-promise-executor-async", "new Promise<Map<string, (a: A) => void>>(async (resolve) => { await f() })\n"),
        (
            "js-query-in-loop",
            "for await (const id of ids) {\n  a.push(await db\n    .findOne({ where: { id: id } }))\n}\n",
        ),
        ("js-negated-left", "if (!f(a, b) instanceof Error) g()\n"),
        ("js-negated-left", "if (!a.b['c'] in d) g()\n"),
        ("js-assignment-in-condition", "if(a.b[c] = null) f()\n"),
        ("js-error-not-thrown", "if (a)\n  new TypeError('b')\n"),
        ("js-error-not-thrown", "if (a) b(); else new Error('c');\n"),
        (
            "js-assertion-not-awaited",
            "f(() => {\n  expect(async () => { await f('('); }).rejects\n    .toThrow()\n})\n",
        ),
        ("js-return-in-finally", "try { f() } finally\n{\n  if (a) { g({}) }\n  return 1\n}\n"),
        ("js-duplicate-condition", "if (a == ')') f()\nelse if (b) g()\nelse if (a ==\n  ')') h()\n"),
        ("js-path-traversal", "res.sendFile(`${root}/${req.params.name}`)\n"),
        ("js-shell-command", "cp.exec(\n  `tar xf ${name}`)\n"),
        ("js-focused-test", "describe\n  .only('a', () => { f() })\n"),
        ("js-skipped-test", "f()\nxit('a', () => { f() })\n"),
        ("js-number-sort", "a.map(Number) // as numbers\n  .sort()\n"),
        ("ts-optional-non-null", "const a = b?.c! as D\n"),
        ("js-loop-var-closure", "for(var i = 0; i < 9; i++) {\n  setTimeout(() => f(i), 1)\n}\n"),
    ];
    let mut scanner = Scanner::default();
    for (rule, text) in cases {
        let short = short_cut(&mut scanner, "a.ts", text, &change("a.ts", text, |_| true));
        assert!(short.iter().any(|(found, ..)| found == rule), "{rule}: {text}");
    }
}

#[test]
fn needs_patterns_compile() {
    for need in catalog::all().iter().flat_map(|rule| rule.needs) {
        assert!(regex::bytes::RegexBuilder::new(need).unicode(false).build().is_ok(), "{need}");
    }
}
