//! Runs the code rules over whole files, to judge their findings on real code.
//!
//! ```sh
//! cargo run --release -p tollgate-rules --example scan -- [--rule PART-OF-ID] PATH…
//! ```
//!
//! There are no time limits: a file that stalls a matcher stalls this program.
#![expect(clippy::print_stdout, reason = "this is a program")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tollgate_rules::catalog;
use tollgate_rules::code::{ScanInput, Scanner, grammar_of};
use tollgate_rules::lines::LineSet;
use tollgate_rules::select::grammar_name;

fn main() {
    let mut wanted = String::new();
    let mut files = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--rule" {
            wanted = args.next().unwrap_or_default();
        } else {
            collect(Path::new(&arg), &mut files);
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut scanner, mut n_files, mut n_bytes) = (Scanner::default(), 0, 0);
    for file in &files {
        let path = file.to_string_lossy();
        let (Some(grammar), Ok(text)) = (grammar_of(&path), std::fs::read_to_string(file)) else { continue };
        if text.len() > 1 << 20 {
            continue;
        }
        (n_files, n_bytes) = (n_files + 1, n_bytes + text.len());
        let rules: Vec<usize> = catalog::all()
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.id.contains(&wanted) && rule.languages.contains(&grammar_name(grammar)))
            .filter(|(_, rule)| rule.anchors.is_empty() || rule.anchors.iter().any(|anchor| text.contains(anchor.text)))
            .map(|(index, _)| index)
            .collect();
        let added = LineSet::all();
        let job =
            ScanInput { path: &path, grammar, text: &text, first_line: 1, added: &added, rules: &rules, exact: true };
        for hit in scanner.scan(&job) {
            println!("{} {path}:{}\n    {}", hit.rule, hit.line_start, hit.evidence.replace('\n', "\n    "));
            if let Some((_, _, fix)) = &hit.fix {
                println!("  fix:\n    {}", fix.replace('\n', "\n    "));
            }
            *counts.entry(hit.rule).or_default() += 1;
        }
    }
    println!("\n{n_files} files, {n_bytes} bytes");
    for (rule, count) in counts {
        println!("{count:6} {rule}");
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        entries.sort();
        for entry in entries.iter().filter(|entry| !entry.is_symlink()) {
            collect(entry, files);
        }
    } else {
        files.push(path.to_owned());
    }
}
