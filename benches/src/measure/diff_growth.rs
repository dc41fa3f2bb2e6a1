//! How time and memory grow when a diff gets ten and a hundred times as large, in bytes or in files.

use std::ffi::OsStr;
use std::io;

use crate::corpus;
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run::{self, Cost};

pub(super) const MEASURE: Measure = Measure { name: "diff-growth", take };

/// Ten times the input may take this many times as long.
const TIME_BAR: f64 = 12.0;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let sizes = [600_000, 6_000_000, 60_000_000].map(|n_bytes| corpus::diffs(setting, n_bytes));
    let mut rows = self::rows(setting, "bytes", sizes)?;
    let counts = [1_000, 10_000, 100_000].map(|n_files| Ok(many_files(n_files)));
    rows.extend(self::rows(setting, "files", counts)?);
    Ok(rows)
}

/// A diff of many small files, each with another name.
fn many_files(n_files: usize) -> Vec<u8> {
    let file = |number: usize| {
        let path = format!("src/module_{}/file_{number}.rs", number % 97);
        format!(
            "diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n\
             @@ -1,4 +1,5 @@ fn main() {{\n let one = 1;\n-let two = 2;\n+let two = one + 1;\n+let three = two + 1;\n \
             println!(\"{{one}}\");\n }}\n"
        )
    };
    (0..n_files).flat_map(|number| file(number).into_bytes()).collect()
}

fn rows(setting: &Setting, what: &str, inputs: [io::Result<Vec<u8>>; 3]) -> io::Result<Vec<Row>> {
    let dir = tempfile::tempdir()?;
    let mut costs: Vec<(Cost, usize)> = Vec::new();
    for (number, input) in inputs.into_iter().enumerate() {
        let text = input?;
        let file = run::file_with(dir.path(), &format!("{number}.diff"), &text)?;
        let command = setting.analyze(&file)?;
        let command: Vec<&OsStr> = command.iter().map(AsRef::as_ref).collect();
        costs.push((run::least(setting.n_runs, &command)?, text.len()));
    }
    let [_, (ten, _), (hundred, n_bytes)] = costs[..] else { return Err(io::Error::other("three inputs")) };
    let n_mb = n_bytes as f64 / (1 << 20) as f64;
    Ok(vec![
        Row {
            measure: format!("diff-growth, {what}, CPU"),
            ours: hundred.cpu_ms,
            peer: ten.cpu_ms,
            unit: "ms",
            bar: TIME_BAR,
        },
        Row {
            measure: format!("diff-growth, {what}, memory"),
            ours: hundred.peak_mb,
            peer: 2.0 * n_mb + 32.0,
            unit: "MB",
            bar: 1.0,
        },
    ])
}
