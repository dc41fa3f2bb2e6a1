use std::collections::HashMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::finding::{Category, FindingId, Location, Origin, Severity, Side, Summary};
use crate::path::FilePath;
use crate::plan::render::render;
use crate::tokens::estimate;
use crate::{analysis, diff};

const PLENTY: PlanLimits = PlanLimits { call_tokens: 8_000, total_tokens: 100_000, max_calls: 10, overhead: 500 };

fn parse(text: &str) -> Vec<FileDiff> {
    let (files, refused) = diff::parse(text.as_bytes().to_vec());
    assert_eq!(refused, []);
    files
}

fn modified(path: &str, hunks: &str) -> String {
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks}")
}

/// A hunk that adds these lines behind a line.
fn adds(at: u32, lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("@@ -{at},0 +{},{} @@\n{body}", at + 1, lines.len())
}

fn finding(file: &str, line: u32, severity: Severity) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Security,
        location: Location { file: FilePath::parse(file).unwrap(), lines: LineRange::line(line), side: Side::Right },
        summary: Summary::parse("A rule said so").unwrap(),
        reason: None,
        evidence: "a".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin::default(),
        extra: serde_json::Map::new(),
    }
}

/// Plans everything.
fn plan_of(files: &[FileDiff], known: &HashMap<usize, FileContext>, findings: &[Finding], limits: PlanLimits) -> Plan {
    let analysis = analysis::analyze(files);
    let known = |file: usize| known.get(&file);
    let plan = plan(&PlanInput {
        files,
        wanted: &|_, _| true,
        fresh: &|_, _| true,
        known: &known,
        findings,
        analysis: &analysis,
        limits,
    });
    hold(files, &|_, _| true, &|_, _| true, &plan, limits);
    plan
}

/// The plan in readable form.
fn show(files: &[FileDiff], plan: &Plan) -> String {
    let mut text = String::new();
    for call in &plan.calls {
        let _ = writeln!(text, "call of {} tokens\n{}", call.tokens, render(call, files, None));
    }
    for LeftOut { file, hunk, why } in &plan.left_out {
        let _ = writeln!(text, "left out: {} hunk {hunk}, {why}", files[*file].path());
    }
    text
}

/// The laws of every plan.
#[track_caller]
fn hold(
    files: &[FileDiff],
    wanted: &dyn Fn(usize, usize) -> bool,
    fresh: &dyn Fn(usize, &Line<'_>) -> bool,
    plan: &Plan,
    limits: PlanLimits,
) {
    let mut sent: HashMap<(usize, usize), (Vec<bool>, bool)> = HashMap::new();
    for call in &plan.calls {
        assert!(!call.units.is_empty(), "a call of nothing");
        assert_eq!(call.tokens, estimate(render(call, files, None).as_bytes()), "the estimate is that of what is sent");
        assert!(call.tokens <= limits.call_tokens, "a call of {} tokens", call.tokens);
        for (file, piece) in call.units.iter().flat_map(|unit| unit.pieces.iter().map(|piece| (unit.file, piece))) {
            let Piece::Lines { hunk, lines, cut } = piece else { continue };
            let n_lines = files[file].lines(&files[file].hunks[*hunk]).count();
            let entry = sent.entry((file, *hunk)).or_insert_with(|| (vec![false; n_lines], true));
            for line in &mut entry.0[lines.clone()] {
                assert!(!std::mem::replace(line, true), "a line is sent twice");
            }
            entry.1 &= cut.is_none();
        }
    }
    assert!(plan.calls.len() <= limits.max_calls);
    assert!(plan.calls.is_empty() || plan.tokens(limits) <= limits.total_tokens, "over the budget");
    for (file_index, file) in files.iter().enumerate() {
        for hunk in 0..file.hunks.len() {
            let n_left_out = plan.left_out.iter().filter(|out| (out.file, out.hunk) == (file_index, hunk)).count();
            let lines = sent.get(&(file_index, hunk));
            let is_changed = |line: &Line<'_>| line.kind != LineKind::Context;
            let changed = || file.lines(&file.hunks[hunk]).filter(is_changed);
            let all = changed().all(|line| fresh(file_index, &line)) || !changed().any(|line| fresh(file_index, &line));
            let needed = |line: &Line<'_>| all || is_changed(line) && fresh(file_index, line);
            let needed: Vec<bool> = file.lines(&file.hunks[hunk]).map(|line| needed(&line)).collect();
            let whole = lines.is_some_and(|(lines, uncut)| {
                *uncut && lines.iter().zip(&needed).all(|(&sent, &needed)| sent || !needed)
            });
            let expected = usize::from(wanted(file_index, hunk) && !whole);
            // Where only lines around the new ones are missing, it may be said as well.
            let is_in_parts = !all && lines.is_some_and(|(lines, _)| lines.iter().any(|&sent| !sent));
            let said = n_left_out == expected || n_left_out == 1 && is_in_parts;
            assert!(said, "{}, hunk {hunk}: {n_left_out} times", file.path());
            assert!(wanted(file_index, hunk) || lines.is_none(), "an unwanted hunk is sent");
        }
    }
}

#[test]
fn a_small_change_is_one_call_in_the_order_of_paths() {
    let text = modified("src/b.rs", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n") + &modified("src/a.py", &adds(4, &["x = 1"]));
    let files = parse(&text);
    assert_snapshot!(show(&files, &plan_of(&files, &HashMap::new(), &[], PLENTY)), @r"
    call of 54 tokens
    === modified, Python: src/a.py
    @@ -5 +5 @@
    5+x = 1
    === modified, Rust: src/b.rs
    @@ -1 +1 @@
    1 a
    2-b
    2+c
    ");
}

const SOURCE: &str = "class Gate {\n  key = 1;\n\n  open(user) {\n    log(user);\n    const key = this.key;\n    \
    if (user) {\n      go(key);\n    }\n  }\n\n  close() {\n    stop();\n  }\n}\n";

/// The source, with what encloses the changes of each hunk: lines of a method of the class.
fn within(methods: &[(u32, u32)]) -> HashMap<usize, FileContext> {
    let enclosing =
        methods.iter().map(|&(start, end)| Enclosing { lines: LineRange::new(start, end), crumbs: vec![1] });
    let enclosing = enclosing.flat_map(|enclosing| [Some(enclosing.clone()), Some(enclosing)]);
    HashMap::from([(0, FileContext::new(SOURCE.as_bytes().to_vec(), enclosing.collect()))])
}

#[test]
fn the_enclosing_definition_is_sent_as_context() {
    let files =
        parse(&modified("a.ts", "@@ -7,1 +7,1 @@ class Gate {\n-    if (user && user.ok) {\n+    if (user) {\n"));
    let known = within(&[(4, 10)]);
    assert_snapshot!(show(&files, &plan_of(&files, &known, &[], PLENTY)), @r"
    call of 74 tokens
    === modified, TypeScript: a.ts
    1|class Gate {
    ...
    4|  open(user) {
    5|    log(user);
    6|    const key = this.key;
    @@ -7 +7 @@
    7-    if (user && user.ok) {
    7+    if (user) {
    8|      go(key);
    9|    }
    10|  }
    ");
}

#[test]
fn hunks_of_one_definition_are_sent_together() {
    let hunks = "@@ -5,0 +5 @@\n+    log(user);\n@@ -7 +8 @@\n-      stay(key);\n+      go(key);\n";
    let files = parse(&modified("a.ts", hunks));
    let known = within(&[(4, 10), (4, 10)]);
    assert_snapshot!(show(&files, &plan_of(&files, &known, &[], PLENTY)), @r"
    call of 78 tokens
    === modified, TypeScript: a.ts
    1|class Gate {
    ...
    4|  open(user) {
    @@ -6 +5 @@
    5+    log(user);
    6|    const key = this.key;
    7|    if (user) {
    @@ -7 +8 @@
    7-      stay(key);
    8+      go(key);
    9|    }
    10|  }
    ");
}

#[test]
fn context_is_dropped_before_a_hunk() {
    let hunks = "@@ -5,0 +5 @@\n+    log(user);\n@@ -12 +13 @@\n-    start();\n+    stop();\n";
    let files = parse(&modified("a.ts", hunks));
    let known = within(&[(4, 10), (12, 14)]);
    let limits = PlanLimits { call_tokens: 90, ..PLENTY };
    let plan = plan_of(&files, &known, &[], PlanLimits { max_calls: 1, ..limits });
    assert_snapshot!(show(&files, &plan), @r"
    call of 82 tokens
    === modified, TypeScript: a.ts
    1|class Gate {
    ...
    4|  open(user) {
    @@ -6 +5 @@
    5+    log(user);
    6|    const key = this.key;
    7|    if (user) {
    8|      go(key);
    9|    }
    10|  }
    @@ -12 +13 @@
    12-    start();
    13+    stop();
    ");
}

#[test]
fn hunks_with_rule_findings_come_first_over_the_budget() {
    let hunk = adds(0, &["alpha beta gamma delta epsilon zeta"; 8]);
    let text: String = ["a.rs", "b.rs", "c.rs", "d.rs"].map(|path| modified(path, &hunk)).concat();
    let files = parse(&text);
    let limits = PlanLimits { call_tokens: 200, total_tokens: 300, max_calls: 9, overhead: 20 };
    let plan = plan_of(&files, &HashMap::new(), &[finding("c.rs", 3, Severity::High)], limits);
    let sent: Vec<_> =
        plan.calls.iter().flat_map(Call::hunks).map(|(file, _)| files[file].path().to_string()).collect();
    assert_eq!(sent, ["a.rs", "c.rs"], "in the order of paths");
    let why: Vec<_> = plan.left_out.iter().map(|out| format!("{}: {}", files[out.file].path(), out.why)).collect();
    assert_snapshot!(why.join("\n"), @r"
    b.rs: over the budget of 300 tokens
    d.rs: over the budget of 300 tokens
    ");
}

/// Which of these files is sent when only one can be.
#[track_caller]
fn check_first(files: &[(&str, &str)], expected: &str) {
    let text: String = files.iter().map(|(path, hunk)| modified(path, hunk)).collect();
    let files = parse(&text);
    let plan = plan_of(&files, &HashMap::new(), &[], PlanLimits { call_tokens: 120, max_calls: 1, ..PLENTY });
    let sent: Vec<_> =
        plan.calls.iter().flat_map(Call::hunks).map(|(file, _)| files[file].path().to_string()).collect();
    assert_eq!(sent, [expected]);
}

#[test]
fn risk_decides_what_is_sent_first() {
    let lines = |text: &str| adds(0, &[text; 7]);
    let plain = lines("alpha(beta, gamma, delta, 1)");
    check_first(&[("src/a.rs", &plain), ("src/auth/b.rs", &plain)], "src/auth/b.rs");
    check_first(&[("README.md", &plain), ("src/a.rs", &plain)], "src/a.rs");
    let guard = "@@ -1,7 +0,0 @@\n".to_owned() + &"-    if (!valid) return 1;\n".repeat(7);
    // Fewer tokens for as many lines: only the guards tell why it comes second.
    let other = "@@ -1,7 +0,0 @@\n".to_owned() + &"-    alpha = beta1;\n".repeat(7);
    check_first(&[("src/a.rs", &other), ("src/b.rs", &guard)], "src/b.rs");
}

#[test]
fn a_hunk_larger_than_a_call_is_divided_between_lines() {
    let lines = ["let total = items.iter().map(price).sum();"; 100];
    let files = parse(&modified("a.rs", &adds(0, &lines)));
    let plan = plan_of(&files, &HashMap::new(), &[], PlanLimits { call_tokens: 500, ..PLENTY });
    assert_eq!(plan.left_out, []);
    assert!((3..=6).contains(&plan.calls.len()), "{}", plan.calls.len());
}

#[test]
fn a_hunk_over_the_budget_is_sent_in_part_and_left_out_with_a_reason() {
    let lines = ["let total = items.iter().map(price).sum();"; 100];
    let files = parse(&modified("a.rs", &adds(0, &lines)));
    let limits = PlanLimits { call_tokens: 500, max_calls: 2, ..PLENTY };
    let plan = plan_of(&files, &HashMap::new(), &[], limits);
    assert_eq!(plan.calls.len(), 2);
    assert_snapshot!(plan.left_out[0].why, @"only its first 72 lines were sent; the rest is over the limit of 2 calls");
}

#[test]
fn a_line_over_the_call_limit_is_truncated_with_a_reason() {
    let long = "x".repeat(1 << 20);
    let files = parse(&modified("a.min.js", &adds(0, &["var a;", &long, "var b;"])));
    let plan = plan_of(&files, &HashMap::new(), &[], PLENTY);
    assert_snapshot!(plan.left_out[0].why, @"line 2 has 1,048,576 bytes and was cut");
    let text = render(&plan.calls[0], &files, None);
    assert!(text.contains("of 1048576 bytes]\n") && text.contains("var a;"), "{}", text.len());
}

#[test]
fn a_partly_seen_hunk_is_sent_around_its_new_lines() {
    let lines: Vec<String> = (1..=60).map(|number| format!("line {number}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let files = parse(&modified("a.rs", &adds(0, &lines)));
    let analysis = analysis::analyze(&files);
    let fresh = |_: usize, line: &Line<'_>| line.new == Some(30);
    let (wanted, known) = (|_: usize, _: usize| true, |_: usize| None);
    let material = PlanInput {
        files: &files,
        wanted: &wanted,
        fresh: &fresh,
        known: &known,
        findings: &[],
        analysis: &analysis,
        limits: PLENTY,
    };
    let plan = plan(&material);
    hold(&files, &wanted, &fresh, &plan, PLENTY);
    let text = render(&plan.calls[0], &files, None);
    assert!(text.contains("20+line 20\n") && text.contains("40+line 40\n"), "{text}");
    assert!(!text.contains("line 19\n") && !text.contains("line 41\n"), "{text}");
}

#[test]
fn calls_that_are_too_small_send_nothing() {
    let files = parse(&modified("a.rs", &adds(0, &["a"])));
    let plan = plan_of(&files, &HashMap::new(), &[], PlanLimits { call_tokens: 20, ..PLENTY });
    assert_eq!(plan.calls, []);
    assert_snapshot!(plan.left_out[0].why, @"a call of 20 tokens is too small for it");
}

#[test]
fn places_are_the_first_and_the_last_change_of_each_hunk() {
    let files = parse(&modified("a.rs", "@@ -3,4 +3,4 @@\n a\n-b\n+c\n d\n+e\n-f\n@@ -20,2 +20,1 @@\n a\n-b\n"));
    let places: Vec<String> = places(&files[0]).iter().map(ToString::to_string).collect();
    assert_eq!(places, ["4", "7", "21", "21"]);
    let new = "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n";
    assert_eq!(super::places(&parse(new)[0]), []);
}

/// Lines of a hunk, each with what happened to it, and whether the hunk is wanted.
type Drawn = (Vec<(u8, String)>, bool);

fn hunk_strategy() -> impl Strategy<Value = Drawn> {
    let line = (0..3_u8, prop_oneof!["[a-z(){};= ]{0,60}", "(if|return) [a-z]{1,20}", "\\PC{0,30}"]);
    (prop::collection::vec(line, 1..40), any::<bool>())
}

/// Files with different paths.
fn change_strategy() -> impl Strategy<Value = Vec<(String, Vec<Drawn>)>> {
    let file = ("[a-e]/[a-z]{1,6}\\.(rs|py|md|ts)", prop::collection::vec(hunk_strategy(), 1..5));
    prop::collection::vec(file, 1..8).prop_map(|mut files| {
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files.dedup_by(|a, b| a.0 == b.0);
        files
    })
}

fn write_file(path: &str, hunks: &[Drawn]) -> String {
    let (mut old, mut new, mut text) = (1, 1, String::new());
    for (lines, _) in hunks {
        let n_of = |other: u8| lines.iter().filter(|(kind, _)| *kind != other).count();
        let (n_old, n_new) = (n_of(1), n_of(2));
        let start = |at: usize, n_lines: usize| if n_lines == 0 { at - 1 } else { at };
        let _ = writeln!(text, "@@ -{},{n_old} +{},{n_new} @@ fn f() {{", start(old, n_old), start(new, n_new));
        for (kind, line) in lines {
            let _ = writeln!(text, "{}{}", [" ", "+", "-"][usize::from(*kind)], line.replace(['\n', '\r'], ""));
        }
        (old, new) = (old + n_old + 10, new + n_new + 10);
    }
    modified(path, &text)
}

proptest! {
    #[test]
    fn every_wanted_hunk_is_sent_whole_or_left_out(
        change in change_strategy(),
        call_tokens in 0..600_usize,
        total_tokens in 0..3_000_usize,
        max_calls in 0..6_usize,
        overhead in 0..100_usize,
        enclosing in prop::collection::vec(prop::option::of((1..60_u32, 0..40_u32, 1..60_u32)), 40),
        seed in any::<u64>(),
        seen in 0..4_u32,
    ) {
        let limits = PlanLimits { call_tokens, total_tokens, max_calls, overhead };
        let mut texts: Vec<String> = change.iter().map(|(path, hunks)| write_file(path, hunks)).collect();
        let wants: HashMap<&str, Vec<bool>> =
            change.iter().map(|(path, hunks)| (path.as_str(), hunks.iter().map(|hunk| hunk.1).collect())).collect();
        let enclosing: Vec<_> = enclosing.into_iter().map(|entry| entry.map(|(start, more, crumb)| {
            Enclosing { lines: LineRange::new(start, start + more), crumbs: vec![crumb] }
        })).collect();
        let known = FileContext::new("alpha beta\n".repeat(80).into_bytes(), enclosing);
        let mut shown = Vec::new();
        for turn in 0..2 {
            let files = parse(&texts.concat());
            let analysis = analysis::analyze(&files);
            let wanted = |file: usize, hunk: usize| wants[files[file].path().to_string().as_str()][hunk];
            let known = |file: usize| (files[file].path().as_bytes()[0] < b'd').then_some(&known);
            // Blocks of lines that were seen before, so that hunks are new in parts.
            let fresh = |_: usize, line: &Line<'_>| seen == 0 || (line.new.or(line.old).unwrap_or(0) / 12).is_multiple_of(seen + 1);
            let material = PlanInput {
                files: &files,
                wanted: &wanted,
                fresh: &fresh,
                known: &known,
                findings: &[],
                analysis: &analysis,
                limits,
            };
            let plan = plan(&material);
            hold(&files, &wanted, &fresh, &plan, limits);
            shown.push(show(&files, &plan));
            let middle = seed as usize % texts.len();
            if turn == 0 { texts.rotate_left(middle) }
        }
        prop_assert_eq!(&shown[0], &shown[1], "the order of files must not matter");
    }
}
