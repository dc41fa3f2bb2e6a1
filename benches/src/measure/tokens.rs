//! Prompts for a model: the error of the estimate of their tokens, the cost of line numbers, and how
//! long planning takes.

use std::hint::black_box;
use std::io;
use std::path::Path;

use tollgate_core::diff::FileDiff;
use tollgate_core::finding::LineRange;
use tollgate_core::plan::render;
use tollgate_core::plan::{self, Enclosing, FileContext, Plan, PlanInput, PlanLimits};
use tollgate_core::{analysis, diff, tokens};
use tollgate_rules::{code, outline};

use crate::measure::{Measure, Setting};
use crate::row::Row;
use crate::{corpus, run};

pub(super) const MEASURE: Measure = Measure { name: "tokens", take };

const N_BYTES: usize = 10_000_000;
/// So many neighbouring files of the material are taken for a change.
const N_FILES: usize = 12;
/// In a part with fewer tokens, few of them are many percent.
const MIN_TOKENS: usize = 300;
/// The number of commits that are measured with the text around their hunks.
const N_COMMITS: usize = 100;
/// The longest definition that is shown as a whole, as in a review.
const MAX_LINES: u32 = 120;
const LIMITS: PlanLimits = PlanLimits { call_tokens: 8_000, total_tokens: 10_000_000, max_calls: 1_000, overhead: 0 };

fn take(setting: &Setting) -> io::Result<Vec<Row>> {
    let text = corpus::diffs(setting, N_BYTES)?;
    let n_bytes = text.len();
    let (files, _) = diff::parse(text);
    let changes: Vec<&[FileDiff]> = files.chunks(N_FILES).collect();
    let (mut ours, mut by_bytes, mut sent, mut patch) = (Vec::new(), Vec::new(), 0, 0);
    for change in &changes {
        let plan = plan_of(change);
        let n_before = sent;
        for call in &plan.calls {
            let part = render::render(call, change, None);
            let exact = count(&part);
            sent += exact;
            if exact >= MIN_TOKENS {
                ours.push(percent(tokens::estimate(part.as_bytes()), exact));
                by_bytes.push(percent(part.len() / 4, exact));
            }
        }
        // A change that is not sent as a whole cannot be compared.
        if plan.left_out.is_empty() {
            patch += count(&String::from_utf8_lossy(&diff::print(change)));
        } else {
            sent = n_before;
        }
    }
    let mut least = f64::MAX;
    for _ in 0..setting.n_runs.max(1) {
        least = least.min(run::cpu_of(|| changes.iter().for_each(|change| drop(black_box(plan_of(change)))))?);
    }
    let around = setting.corpus.as_deref().map(with_context).transpose()?;
    let row =
        |measure: &str, ours: f64, peer: f64, unit, bar| Row { measure: measure.to_owned(), ours, peer, unit, bar };
    let mut rows = vec![
        row("tokens, median error", at(&mut ours, 0.5), 1.0, "%", 2.5),
        row("tokens, 95th percentile", at(&mut ours, 0.95), 1.0, "%", 10.0),
        row("tokens, median of bytes / 4", at(&mut ours, 0.5), at(&mut by_bytes, 0.5), "%", 0.5),
        row("tokens, sent for the patch", sent as f64 / 1e3, patch as f64 / 1e3, "k", 1.25),
        row("tokens, planning 1 MB, CPU", least / (n_bytes as f64 / 1e6), 1.0, "ms", 10.0),
    ];
    rows.extend(around.map(|(sent, patch)| row("tokens, with what is around", sent, patch, "k", 1.7)));
    Ok(rows)
}

/// The tokens of some commits with what encloses their hunks, and those of their patches, in thousands.
fn with_context(dir: &Path) -> io::Result<(f64, f64)> {
    let commits = corpus::git(dir, &["log", "--no-merges", "--format=%H", &format!("-n{N_COMMITS}")])?;
    let (mut sent, mut patch) = (0, 0);
    for commit in String::from_utf8_lossy(&commits).lines() {
        let text = corpus::git(dir, &["diff-tree", "-p", "-M", "--no-commit-id", "--root", commit])?;
        let (files, _) = diff::parse(text);
        let known: Vec<Option<FileContext>> =
            files.iter().map(|file| known(dir, commit, file)).collect::<io::Result<_>>()?;
        let analysis = analysis::analyze(&files);
        let generated = |file: usize| analysis.files.get(file).is_some_and(|file| file.generated);
        let (wanted, known) = (&|file, _| !generated(file), &|file: usize| known.get(file).and_then(Option::as_ref));
        let material = PlanInput {
            files: &files,
            wanted,
            fresh: &|_, _| true,
            known,
            findings: &[],
            analysis: &analysis,
            limits: LIMITS,
        };
        let plan = plan::plan(&material);
        sent += plan.calls.iter().map(|call| count(&render::render(call, &files, None))).sum::<usize>();
        let (_, kept): (Vec<_>, Vec<_>) = files.iter().cloned().enumerate().partition(|(index, _)| generated(*index));
        let kept: Vec<FileDiff> = kept.into_iter().map(|(_, file)| file).collect();
        patch += count(&String::from_utf8_lossy(&diff::print(&kept)));
    }
    Ok((sent as f64 / 1e3, patch as f64 / 1e3))
}

/// What encloses the hunks of a file.
fn known(dir: &Path, commit: &str, file: &FileDiff) -> io::Result<Option<FileContext>> {
    let places: Vec<(u32, u32)> = plan::places(file).iter().map(|place| (place.start(), place.end())).collect();
    let Some(grammar) = code::grammar_of(&file.path().to_string()).filter(|_| !places.is_empty()) else {
        return Ok(None);
    };
    let text = corpus::git(dir, &["show", &format!("{commit}:{}", file.path())])?;
    let enclosed = outline::enclose(grammar, &String::from_utf8_lossy(&text), &places, MAX_LINES);
    let enclosing = enclosed.into_iter().map(|enclosed| {
        let enclosed = enclosed?;
        let lines = enclosed.lines.and_then(|(start, end)| LineRange::new(start, end));
        Some(Enclosing { lines, crumbs: enclosed.crumbs })
    });
    Ok(Some(FileContext::new(text, enclosing.collect())))
}

fn plan_of(files: &[FileDiff]) -> Plan {
    let analysis = analysis::analyze(files);
    let (wanted, known) = (&|_, _| true, &|_| None);
    plan::plan(&PlanInput {
        files,
        wanted,
        fresh: &|_, _| true,
        known,
        findings: &[],
        analysis: &analysis,
        limits: LIMITS,
    })
}

fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

fn percent(estimate: usize, exact: usize) -> f64 {
    100.0 * estimate.abs_diff(exact) as f64 / exact as f64
}

/// The value below which this share of the values is.
fn at(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let index = (share * values.len().saturating_sub(1) as f64).round() as usize;
    values.get(index).copied().unwrap_or(f64::NAN)
}
