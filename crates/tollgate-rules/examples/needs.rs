//! Verifies on real files that the `needs` patterns of a rule never hide a finding, and counts the parses they save.
//!
//! ```sh
//! git ls-files | cargo run --release -p tollgate-rules --example needs
//! ```
//!
//! Prints for each rule its findings, the files with one of its anchors, and the files left to parse. A finding in a
//! file that the prefilter dropped is printed as `LOST`; there must be none.
#![expect(clippy::print_stdout, reason = "this is a program")]

use std::collections::BTreeMap;

use tollgate_rules::catalog::{self, Rule};
use tollgate_rules::code::{ScanInput, Scanner, grammar_of};
use tollgate_rules::lines::LineSet;
use tollgate_rules::select::{Selector, grammar_name};

/// Longer files are mostly generated.
const MAX_BYTES: usize = 300_000;

#[derive(Default)]
struct Counts {
    n_findings: usize,
    n_anchored: usize,
    n_left: usize,
}

fn main() {
    let (mut selector, mut scanner) = (Selector::new(|_| true), Scanner::default());
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let added = LineSet::all();
    for path in std::io::stdin().lines().map_while(Result::ok) {
        let Some((grammar, bytes)) = grammar_of(&path).zip(std::fs::read(&path).ok()) else { continue };
        if bytes.len() > MAX_BYTES {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        let is_anchored = |rule: &Rule| {
            let has_needs = !rule.needs.is_empty() || rule.prefilter.is_some();
            let stands = || rule.anchors.iter().any(|anchor| text.contains(anchor.text));
            has_needs && rule.languages.contains(&grammar_name(grammar)) && stands()
        };
        let all = catalog::all();
        let rules: Vec<usize> = (0..all.len()).filter(|&index| is_anchored(&all[index])).collect();
        let mut left = rules.clone();
        selector.confirm(&mut left, &bytes);
        rules.iter().for_each(|&index| counts.entry(all[index].id).or_default().n_anchored += 1);
        left.iter().for_each(|&index| counts.entry(all[index].id).or_default().n_left += 1);
        let job =
            ScanInput { path: &path, grammar, text: &text, first_line: 1, added: &added, rules: &rules, exact: false };
        for (_, hit) in scanner.scan_anchored(&job) {
            let Some(index) = rules.iter().find(|&&index| all[index].id == hit.rule) else { continue };
            counts.entry(all[*index].id).or_default().n_findings += 1;
            if !left.contains(index) {
                println!("LOST {} {path}:{}\n{}", hit.rule, hit.line_start, hit.evidence);
            }
        }
    }
    for (rule, Counts { n_findings, n_anchored, n_left }) in counts {
        println!("{n_findings:6} findings {n_anchored:6} anchored {n_left:6} left {rule}");
    }
}
