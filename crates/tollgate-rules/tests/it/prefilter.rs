//! The short cuts change nothing: selecting rules by anchors and leaving out untouched code
//! gives what a full scan gives, filtered to the added lines.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tollgate_core::diff;
use tollgate_rules::catalog::{self, Example, Kind};
use tollgate_rules::code::{Job, Scanner, grammar_of};
use tollgate_rules::lines::LineSet;
use tollgate_rules::select::Selector;

/// All examples of all rules, one text per language: real enough to make every rule speak.
fn corpus() -> BTreeMap<&'static str, String> {
    let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
    for rule in catalog::all().iter().filter(|rule| rule.kind() == Kind::Code) {
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

/// What a review reports: rules selected by anchors, untouched code left out.
fn short_cut(path: &str, text: &str, diff: &str) -> Places {
    let (files, _) = diff::parse(diff.as_bytes().to_vec());
    let rules = Selector::new(|_| true).select(&files[0], false);
    let added = LineSet::added_by(&files[0]);
    let grammar = grammar_of(path).unwrap();
    let job = Job { path, grammar, text, first_line: 1, added: &added, rules: &rules, exact: true };
    Scanner::default().scan(&job).into_iter().map(|hit| (hit.rule, hit.line_start, hit.line_end)).collect()
}

/// What a full scan with every rule finds, filtered to the lines that are added.
fn full_scan(language: &str, path: &str, text: &str, is_added: impl Fn(usize) -> bool) -> Places {
    let all = catalog::all().iter().enumerate();
    let of_language = all.filter(|(_, rule)| rule.kind() == Kind::Code && rule.languages.contains(&language));
    let rules: Vec<usize> = of_language.map(|(index, _)| index).collect();
    let added = LineSet::all();
    let grammar = grammar_of(path).unwrap();
    let job = Job { path, grammar, text, first_line: 1, added: &added, rules: &rules, exact: true };
    let hits = Scanner::default().scan_anchored(&job).into_iter();
    let hits = hits.filter(|(anchor, _)| is_added(*anchor as usize - 1));
    hits.map(|(_, hit)| (hit.rule, hit.line_start, hit.line_end)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_review_reports_what_a_full_scan_of_the_added_lines_reports(seed in any::<u64>(), share in 1_u64..100) {
        for (language, text) in corpus() {
            let path = file_name(language);
            let is_added = |index: usize| {
                let mixed = (index as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
                mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % 100 < share
            };
            let diff = change(path, &text, is_added);
            prop_assert_eq!(short_cut(path, &text, &diff), full_scan(language, path, &text, is_added));
        }
    }
}
