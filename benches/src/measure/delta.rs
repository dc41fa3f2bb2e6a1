//! Telling new, resolved and still open findings apart, for 100, 1,000 and 10,000 findings in each review.
//!
//! `exact` is a second review with the same titles, the keys of both sides made anew; `reworded` one where every title
//! says the same in other words, so that places and words decide. A finding is one of either review.

use std::hint::black_box;
use std::io;
use std::num::NonZeroUsize;

use tollgate_core::delta::classify::{self, ReviewedScope};
use tollgate_core::delta::identity::{self, ComparedFinding};
use tollgate_core::delta::line_map::LineMap;
use tollgate_core::finding::{Category, LineRange, Severity, Side};
use tollgate_core::path::FilePath;

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::run;

pub(super) const MEASURE: Measure = Measure { name: "delta", take };

/// Microseconds a finding may take when its title is the same.
const EXACT_BAR: f64 = 0.2;
/// Ten times the findings may take this many times as long: n log n with room for caches.
const GROWTH_BAR: f64 = 14.0;

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, wording) in [("exact", Wording::Same), ("reworded", Wording::Other), ("one line", Wording::OneLine)] {
        let mut last = None;
        for n_findings in [100, 1_000, 10_000] {
            let cost_us = cost(setting, n_findings, wording)?;
            let each = cost_us / (2 * n_findings) as f64;
            let bar = if name == "exact" { EXACT_BAR } else { f64::INFINITY };
            let measure = format!("delta {name} {n_findings}, each");
            rows.push(Row { measure, ours: each, peer: 1.0, unit: "µs", bar });
            if let Some(last) = last.filter(|_| n_findings == 10_000) {
                let measure = format!("delta {name}, 10 × findings");
                rows.push(Row { measure, ours: cost_us, peer: last, unit: "µs", bar: GROWTH_BAR });
            }
            last = Some(cost_us);
        }
    }
    Ok(rows)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    Same,
    Other,
    /// As `Other`, but all in one line of one file.
    OneLine,
}

struct Said {
    file: usize,
    line: u32,
    title: String,
}

/// The least time of one comparison, in microseconds.
fn cost(setting: &Setting, n_findings: usize, wording: Wording) -> io::Result<f64> {
    let files: Vec<FilePath> = (0..n_findings.div_ceil(20))
        .filter_map(|index| FilePath::parse(&format!("src/module_{}/part_{index}.rs", index % 17)).ok())
        .collect();
    let prior = findings(n_findings, wording, false);
    let current = findings(n_findings, wording, true);
    let (prior, current) = (claims(&files, &prior), claims(&files, &current));
    let map = LineMap::identity();
    let compare = || {
        let joined = identity::match_findings(black_box(&prior), black_box(&current), &map);
        let delta = classify::classify(&prior, current.len(), &joined, &map, ReviewedScope::at(&|_, _| true));
        black_box(delta).still_open.len()
    };
    if compare() != n_findings {
        return Err(io::Error::other("not every finding was known again"));
    }
    let n_rounds = NonZeroUsize::new(20_000 / n_findings).map_or(1, NonZeroUsize::get);
    let mut least = f64::INFINITY;
    for _ in 0..setting.n_runs.max(3) {
        let ms = run::cpu_of(|| {
            for _ in 0..n_rounds {
                black_box(compare());
            }
        })?;
        least = least.min(ms * 1e3 / n_rounds as f64);
    }
    Ok(least)
}

fn findings(n_findings: usize, wording: Wording, is_current: bool) -> Vec<Said> {
    let said = |index: usize| {
        let (name, other) = (word(index), word(index * 7 + 3));
        let title = if wording == Wording::Same || !is_current {
            format!("Unhandled {name} rejection in the {other} call of `fetch_{index}`")
        } else {
            format!("The {other} call of `fetch_{index}` does not handle a rejected {name}")
        };
        let (file, line) =
            if wording == Wording::OneLine { (0, 1) } else { (index / 20, (index % 20) as u32 * 10 + 1) };
        Said { file, line, title }
    };
    (0..n_findings).map(said).collect()
}

fn claims<'a>(files: &'a [FilePath], findings: &'a [Said]) -> Vec<ComparedFinding<'a>> {
    let claim = |said: &'a Said| ComparedFinding {
        file: &files[said.file],
        title: &said.title,
        severity: Severity::Medium,
        category: Category::Error,
        rule: None,
        reviewer: None,
        lines: Some(LineRange::line(said.line)),
        side: Side::Right,
        evidence: "",
        reason: "",
        scope: None,
        is_answered: false,
    };
    findings.iter().map(claim).collect()
}

/// A word of a vocabulary of some two hundred.
fn word(index: usize) -> String {
    const PARTS: [&str; 15] =
        ["pro", "mise", "ca", "che", "que", "ue", "bu", "ffer", "to", "ken", "strea", "m", "lo", "ck", "er"];
    let (first, second) = (index * 31 % 15, index * 17 / 15 % 14);
    format!("{}{}", PARTS[first], PARTS[second])
}
