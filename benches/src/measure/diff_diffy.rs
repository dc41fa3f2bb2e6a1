//! Our library against diffy, over the same 60 MB of real diffs in memory.

use std::hint::black_box;
use std::io;

use diffy::patch_set::{ParseOptions, PatchSet};
use tollgate_core::{analysis, diff};

use crate::corpus;
use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "diff-diffy", take };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let text = corpus::diffs(setting, corpus::N_BYTES)?;
    let n_files = diff::parse(text.clone()).0.len();
    let n_read = PatchSet::parse_bytes(&text, ParseOptions::gitdiff()).filter(Result::is_ok).count();
    if n_read != n_files {
        return Err(io::Error::other(format!("diffy reads {n_read} of {n_files} files, so the times say nothing")));
    }
    let (mut analyze, mut parse, mut diffy) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..setting.n_runs.max(1) {
        analyze = analyze.min(run::cpu_of(|| drop(black_box(analysis::analyze_bytes(&text))))?);
        let copy = text.clone();
        parse = parse.min(run::cpu_of(|| drop(black_box(diff::parse(copy))))?);
        diffy = diffy.min(run::cpu_of(|| {
            let patches = PatchSet::parse_bytes(&text, ParseOptions::gitdiff());
            black_box(patches.map(|patch| patch.is_ok()).filter(|&ok| ok).count());
        })?);
    }
    let row = |measure: &str, ours: f64| Row { measure: measure.to_owned(), ours, peer: diffy, unit: "ms", bar: 0.4 };
    Ok(vec![row("diff-diffy, parse", parse), row("diff-diffy, analyze_bytes", analyze)])
}
