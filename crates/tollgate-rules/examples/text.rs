//! Runs the text rules over diffs, to judge their findings on real changes.
//!
//! ```sh
//! git log -p -n 200 | cargo run --release -p tollgate-rules --example text -- [--rule PART-OF-ID] [--quiet]
//! ```
//!
//! With `--quiet` only the counts are printed, and the duration of the scan without reading and parsing.
#![expect(clippy::print_stdout, reason = "this is a program")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Instant;

use tollgate_core::diff;
use tollgate_rules::text;

fn main() -> std::io::Result<()> {
    let (mut wanted, mut quiet) = (String::new(), false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--rule" => wanted = args.next().unwrap_or_default(),
            "--quiet" => quiet = true,
            other => println!("unknown: {other}"),
        }
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let n_bytes = bytes.len();
    let (files, refused) = diff::parse(bytes);
    let (mut counts, mut n_added) = (BTreeMap::<String, usize>::new(), 0);
    let start = Instant::now();
    for file in &files {
        n_added += file.n_added;
        for hit in text::scan(file, &|id| id.contains(&wanted)) {
            if !quiet {
                let side = if hit.left { "-" } else { "" };
                let message = hit.message.as_deref().unwrap_or_default();
                println!(
                    "{} {}:{side}{} {message}\n    {}",
                    hit.rule,
                    file.path(),
                    hit.line_start,
                    hit.evidence.escape_debug()
                );
            }
            *counts.entry(hit.rule).or_default() += 1;
        }
    }
    let took = start.elapsed();
    println!("\n{} files, {n_bytes} bytes, {n_added} added lines, {} refused, {took:?}", files.len(), refused.len());
    for (rule, count) in counts {
        println!("{count:6} {rule}");
    }
    Ok(())
}
