//! Instructions for each byte of a diff, counted by callgrind over the whole process.

use std::io;
use std::process::Command;

use crate::corpus;
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "diff-instructions", take };

/// Less than the other measures use, since callgrind is fifty times slower; start-up weighs more here.
const N_BYTES: usize = 20_000_000;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let dir = tempfile::tempdir()?;
    let text = corpus::diffs(setting, N_BYTES)?;
    let file = run::file_with(dir.path(), "real.diff", &text)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(setting.analyze(&file)?)
        .output()
        .map_err(|error| io::Error::other(format!("valgrind is needed: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse::<f64>().ok());
    let counted = counted.ok_or_else(|| io::Error::other(format!("callgrind said no count: {said}")))?;
    let (measure, ours) = ("diff-instructions, per byte".to_owned(), counted / text.len() as f64);
    Ok(vec![Row { measure, ours, peer: 1.0, unit: "", bar: 5.0 }])
}
