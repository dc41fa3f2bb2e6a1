//! Fuzzes the planner and the prompt with arbitrary diffs. Properties: no panic, no call and no plan over its limits, an
//! estimate that matches the sent text, every wanted hunk sent whole or left out, and no text of the change outside of its
//! fence.
//!
//! The first twelve bytes encode the limits, the wanted hunks and their enclosing definitions; the rest is the diff.
//! Run with `RUSTC_BOOTSTRAP=1 cargo fuzz run plan -- -max_total_time=300`.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use tollgate_core::finding::{LineRange, Severity};
use tollgate_core::plan::{self, Enclosing, FileContext, Limits, PlanInput, Piece, Plan};
use tollgate_core::boundary::Boundary;
use tollgate_core::prompt::{self, AnswerForm, PromptSettings};
use tollgate_core::{analysis, diff, tokens};

fuzz_target!(|input: &[u8]| {
    let Some((&[calls, a, b, c, d, overhead, wants, start, length, crumb, first, last], text)) = input.split_first_chunk() else {
        return;
    };
    let limits = Limits {
        call_tokens: usize::from(u16::from_le_bytes([a, b])),
        total_tokens: usize::from(u16::from_le_bytes([c, d])) * 4,
        max_calls: usize::from(calls),
        overhead: usize::from(overhead),
    };
    let (files, _) = diff::parse(text.to_vec());
    let analysis = analysis::analyze(&files);
    let wanted = |file: usize, hunk: usize| wants >> ((file + hunk) % 8) & 1 == 1;
    let known: Vec<FileContext> = files
        .iter()
        .map(|file| {
            let enclosing = plan::places(file).into_iter().map(|place| {
                let start = place.start().saturating_sub(u32::from(start));
                let lines = LineRange::new(start, place.end().saturating_add(u32::from(length)));
                Some(Enclosing { lines, crumbs: vec![u32::from(crumb)] })
            });
            FileContext::new([first, b'\n', last, b'\r', b'\n'].repeat(200), enclosing.collect())
        })
        .collect();
    let known = |file: usize| known.get(file).filter(|_| crumb % 2 == 0);
    let material = PlanInput { files: &files, wanted: &wanted, fresh: &|_, _| true, known: &known, findings: &[], analysis: &analysis, limits };
    let plan = plan::plan(&material);
    hold(&files, &wanted, &plan, limits);
    write(&files, &plan, input);
});

fn hold(files: &[diff::FileDiff], wanted: &dyn Fn(usize, usize) -> bool, plan: &Plan, limits: Limits) {
    assert!(plan.calls.len() <= limits.max_calls);
    assert!(plan.calls.is_empty() || plan.tokens(limits) <= limits.total_tokens);
    let mut sent: HashMap<(usize, usize), (usize, bool)> = HashMap::new();
    for call in &plan.calls {
        let text = plan::render::render(call, files);
        assert_eq!(call.tokens, tokens::estimate(text.as_bytes()));
        assert!(call.tokens <= limits.call_tokens);
        for unit in &call.units {
            for piece in &unit.pieces {
                if let Piece::Lines { hunk, lines, cut } = piece {
                    let entry = sent.entry((unit.file, *hunk)).or_insert((0, true));
                    *entry = (entry.0 + lines.len(), entry.1 && cut.is_none());
                }
            }
        }
    }
    for (index, file) in files.iter().enumerate() {
        for hunk in 0..file.hunks.len() {
            let n_lines = file.lines(&file.hunks[hunk]).count();
            let whole = sent.get(&(index, hunk)) == Some(&(n_lines, true));
            let n_left_out = plan.left_out.iter().filter(|out| (out.file, out.hunk) == (index, hunk)).count();
            assert_eq!(n_left_out, usize::from(wanted(index, hunk) && !whole));
        }
    }
}

fn write(files: &[diff::FileDiff], plan: &Plan, input: &[u8]) {
    let boundary = Boundary::new(*b"boundary");
    let title = String::from_utf8_lossy(input);
    let setting = PromptSettings {
        system: None,
        template: None,
        title: &title,
        description: &title,
        spec: "",
        context: &[],
        effects: &[],
        focus: &[],
        ignored: &[],
        floor: Severity::Low,
        instructions: &[],
        applies: &|_, _| false,
        prior: &[],
        skipped: &[],
        boundary: &boundary,
        schema: &serde_json::Value::Null,
        answer: AnswerForm::Structured,
    };
    let prompt = prompt::write(&setting, plan, files);
    assert_eq!(prompt.parts.len(), plan.calls.len());
    for part in &prompt.parts {
        // One region: its opening and its closing line.
        assert_eq!(part.matches(boundary.as_str()).count(), 2);
    }
}
