//! Files that stall, starve or crash a parser cost only themselves.

use insta::assert_snapshot;

use crate::scratch::Scratch;
use crate::wait::wait_until;

const SLOW_RULE: &str = "id: slow
language: JavaScript
message: slow
rule:
  kind: array
  has:
    kind: array
    stopBy: end
    has:
      kind: array
      stopBy: end
      has: { kind: array, stopBy: end, has: { kind: number, stopBy: end } }
";

const ANY_STRING: &str = "id: any-string
language: Kotlin
message: string
rule: { kind: string_literal, regex: nothing-like-this }
";

/// A change with hostile files around one that a built-in rule has something to say about.
fn change(limits: &str, hostile: &[(&str, String)]) -> Scratch {
    let scratch = Scratch::on_a_branch();
    scratch.write(".tollgate.toml", &format!("[limits]\n{limits}\n"));
    scratch.write(".tollgate/rules/slow.yml", SLOW_RULE).write(".tollgate/rules/string.yml", ANY_STRING);
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-q", "-m", "set up"]);
    scratch.git(&["branch", "-f", "main", "HEAD"]);
    for (name, text) in hostile {
        scratch.write(name, text);
    }
    scratch.write("m.js", "items.forEach(async (item) => { await save(item); });\n");
    scratch
}

/// What the review says of the files it could not look at, and of the one it could.
#[track_caller]
fn outcome(scratch: &Scratch) -> String {
    let said = scratch.tollgate(&["review"]).expect(1);
    let wanted = ["not reviewed: ", "not reviewed, ", "js-async-foreach", "must be fixed"];
    let lines = said.lines().filter(|line| wanted.iter().any(|word| line.contains(word)));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

fn nested_brackets() -> String {
    format!("x = {}{};\n", "[".repeat(1000), "]".repeat(1000))
}

#[test]
fn two_kilobytes_that_stall_the_matcher_are_cut_off_by_processor_time() {
    let limits = "cpu_seconds = 1\nfile_seconds = 300";
    let scratch = change(limits, &[("a.js", nested_brackets()), ("z.js", nested_brackets())]);
    assert_snapshot!(outcome(&scratch), @"
    js-async-foreach at m.js:1
    ✖ Needs changes -- 1 major finding must be fixed before merging; 2 of 3 hunks were not reviewed
    not reviewed, 2 hunks: a.js, z.js (stalled the matcher for 1 s of processor time)
    ");
}

#[test]
fn one_file_costs_two_seconds_of_processor_time_by_default() {
    let scratch = change("file_seconds = 300", &[("a.js", nested_brackets())]);
    assert!(outcome(&scratch).contains("not reviewed: a.js (stalled the matcher for 2 s of processor time)"));
}

#[test]
fn a_scan_that_takes_too_long_is_stopped() {
    let scratch = change("cpu_seconds = 300\nfile_seconds = 4", &[("a.js", nested_brackets())]);
    assert_snapshot!(outcome(&scratch), @"
    js-async-foreach at m.js:1
    ✖ Needs changes -- 1 major finding must be fixed before merging; 1 of 2 hunks was not reviewed
    not reviewed: a.js (stalled the matcher for 4 s)
    ");
}

#[test]
fn a_parser_that_crashes_takes_nothing_with_it() {
    // Deep interpolation overflows what the grammar's scanner keeps of its state.
    let text = format!("val x = \"{}{}\"\n", "${\"".repeat(3000), "\"}".repeat(3000));
    let scratch = change("file_seconds = 300", &[("a.kt", text.clone()), ("z.kt", text)]);
    assert_snapshot!(outcome(&scratch), @"
    js-async-foreach at m.js:1
    ✖ Needs changes -- 1 major finding must be fixed before merging; 2 of 3 hunks were not reviewed
    not reviewed, 2 hunks: a.kt, z.kt (the parser crashed)
    ");
}

#[test]
fn a_file_that_needs_too_much_memory_is_cut_off() {
    // The program itself takes its part of the limit, unoptimised a good deal more than half of 128.
    let text = format!("x = [{}];\n", "a[b](c),".repeat(120_000));
    let scratch = change("memory_mib = 160\nfile_seconds = 300", &[("a.js", text)]);
    assert_snapshot!(outcome(&scratch), @"
    js-async-foreach at m.js:1
    ✖ Needs changes -- 1 major finding must be fixed before merging; 1 of 2 hunks was not reviewed
    not reviewed: a.js (needs more than 160 MiB to scan)
    ");
}

#[test]
fn a_file_that_is_too_large_is_not_scanned() {
    let scratch = change("file_bytes = 1000", &[("a.js", "call(1);\n".repeat(2000))]);
    assert_snapshot!(outcome(&scratch), @"
    js-async-foreach at m.js:1
    ✖ Needs changes -- 1 major finding must be fixed before merging; 1 of 2 hunks was not reviewed
    not reviewed: a.js (larger than 16000 bytes)
    ");
}

#[test]
fn a_rule_file_with_a_mistake_is_named() {
    let scratch = Scratch::on_a_branch();
    scratch.write(".tollgate/rules/bad.yml", "id: bad\nlanguage: JavaScript\nrule: { kind: no_such_kind }\n");
    let said = scratch.tollgate(&["review"]).expect_refused(2);
    assert!(said.contains(".tollgate/rules/bad.yml"), "{said}");
}

#[test]
fn the_same_change_gives_the_same_bytes_however_many_children_scan() {
    let scratch = Scratch::on_a_branch();
    for index in 0..40 {
        scratch.write(&format!("f{index}.js"), "items.forEach(async (item) => { await save(item); });\n");
    }
    let run =
        |jobs: &str| scratch.tollgate_with(&["review", "--format", "json"], b"", &[("TOLLGATE_LIMITS_JOBS", jobs)]);
    let one = run("1").expect(1);
    assert_eq!(one, run("4").expect(1));
    assert_eq!(one, run("4").expect(1));
}

#[test]
fn a_child_refuses_to_scan_without_limits() {
    let scratch = Scratch::folder();
    assert_eq!(scratch.tollgate(&["__scan"]).code, 2);
    assert_eq!(scratch.tollgate(&["__scan", "lots"]).code, 2);
}

/// The processes that this one started and that are still there.
#[cfg(target_os = "linux")]
fn children_of(pid: u32) -> Vec<String> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_ends_the_program_and_its_children() {
    let scratch = change("cpu_seconds = 300\nfile_seconds = 300", &[("a.js", nested_brackets())]);
    let mut child = scratch.command(&["review", "--worktree"]).spawn().unwrap();
    let is_scanner = |pid: &String| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(6).any(|word| word == b"__scan"))
    };
    let scanners = loop {
        // Children belong to the thread that started them; the program's first is enough to look at.
        let scanners: Vec<String> = children_of(child.id()).into_iter().filter(is_scanner).collect();
        if !scanners.is_empty() {
            break scanners;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        std::thread::yield_now();
    };
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "interrupted");
    assert_eq!(output.stdout, b"");
    // A killed process takes a moment to go; a surviving one would run for minutes.
    wait_until("the scanners are gone", || !scanners.iter().any(is_scanner));
}
