//! Findings of the last review: reviewers are asked about each, and their answers count where the code bears them out.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fake_model::{FakeModel, finding, question};
use crate::scratch::Scratch;

const TITLE: &str = "The total is divided by a count that can be 0";
/// The quoted line is the last of the first function.
const CODE: &str = "function mean(total, count) {\n  const rest = total % count;\n  return total / count;\n}\n\
                    function twice(n) {\n  return n * 2;\n}\n";
const GUARD: &str = "  if (count === 0) return 0;";

/// The same code with a guard above the quoted line, which is unchanged.
fn guarded() -> String {
    CODE.replace("  const rest", &format!("{GUARD}\n  const rest"))
}

/// An answer in the schema, with statements about findings of the last review.
fn answer(decision: &str, findings: &[Value], prior: &[(&str, &str, &str)]) -> String {
    let prior: Vec<Value> =
        prior.iter().map(|(id, state, evidence)| json!({ "id": id, "state": state, "evidence": evidence })).collect();
    json!({ "prior": prior, "decision": decision, "summary": "what I think", "findings": findings }).to_string()
}

fn first() -> String {
    answer("rejected", &[finding("High", "src/a.js", 3, TITLE, "return total / count;")], &[])
}

/// A model that reports the finding in a first review, and gives an answer when it is asked about it.
fn stub(again: impl Into<String>) -> FakeModel {
    let again = again.into();
    FakeModel::answering(move |asked| if asked.contains("P1 High/") { again.clone() } else { first() })
}

fn review(scratch: &Scratch, names: &[&str], more: &[&str]) -> Value {
    let names = names.iter().flat_map(|name| ["--reviewer", name]);
    let args: Vec<&str> = ["review", "--format", "json"].into_iter().chain(names).chain(more.iter().copied()).collect();
    serde_json::from_str(&scratch.tollgate(&args).stdout).unwrap()
}

/// `High src/a.js:3` for each finding that counts.
fn open(review: &Value) -> Vec<String> {
    let findings = review["findings"].as_array().unwrap().iter();
    let place = |it: &Value| format!("{}:{}", it["location"]["file"].as_str().unwrap(), it["location"]["line_start"]);
    findings.map(|it| format!("{} {}", it["severity"].as_str().unwrap(), place(it))).collect()
}

/// A change that was reviewed once by a model, and its new code.
fn reviewed_then(model: &FakeModel, code: &str) -> Scratch {
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", CODE).commit("add a file");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:3"]);
    scratch.write("src/a.js", code).commit("go on");
    scratch
}

/// What a later review leaves open after this answer about the finding.
#[track_caller]
fn check(code: &str, prior: &[(&str, &str, &str)], expected: &[&str]) {
    for more in [&["--since-last"][..], &[]] {
        let model = stub(answer("approved", &[], prior));
        let scratch = reviewed_then(&model, code);
        let again = review(&scratch, &["stub"], more);
        assert_eq!(open(&again), expected, "{more:?} {prior:?} {again:#}");
    }
}

#[test]
fn a_guard_above_the_quoted_line_resolves_the_finding_that_the_model_calls_fixed() {
    let fixed = format!("src/a.js:2 {}", GUARD.trim());
    let model = stub(answer("approved", &[], &[("P1", "fixed", &fixed)]));
    let scratch = reviewed_then(&model, &guarded());
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!((open(&again), &again["x_gate"]), (Vec::new(), &json!("open")), "{again:#}");
    assert_eq!(again["x_since_last"]["verdict_update"], "blockers_resolved");
    let whole = scratch.tollgate(&["review", "--reviewer", "stub", "--format", "summary"]).expect(0);
    assert!(whole.contains(":green_circle: **Blockers resolved** -- Ready to merge"), "{whole}");
    let asked = question(model.asked().last().unwrap());
    let listed = format!("P1 High/Logic src/a.js:4: {TITLE}\n  reason: it matters\n  quote: return total / count;\n");
    assert!(asked.contains(&listed), "{asked}");
    assert!(asked.contains(&format!("*2+{GUARD}\n3+  const rest = total % count;\n")), "{asked}");
}

#[test]
fn a_finding_that_was_resolved_on_a_head_stays_resolved_in_a_full_review_of_it() {
    let fixed = format!("src/a.js:2 {}", GUARD.trim());
    let said = Arc::new(Mutex::new(answer("approved", &[], &[("P1", "fixed", &fixed)])));
    let then = Arc::clone(&said);
    let model = FakeModel::answering(
        move |asked| {
            if asked.contains("P1 High/") { then.lock().unwrap().clone() } else { first() }
        },
    );
    let scratch = reviewed_then(&model, &guarded());
    let state = |more: &[&str]| (open(&review(&scratch, &["stub"], more)), model.asked().len());
    assert_eq!(state(&["--since-last"]).0, Vec::<String>::new());
    *said.lock().unwrap() = answer("approved", &[], &[]);
    assert_eq!(state(&[]).0, Vec::<String>::new(), "a silent model reopens nothing");
    assert_eq!(state(&[]).0, Vec::<String>::new(), "nor does it later");
    let again = answer("rejected", &[finding("High", "src/a.js", 4, TITLE, "return total / count;")], &[]);
    *said.lock().unwrap() = again;
    assert_eq!(state(&[]).0, ["High src/a.js:4"], "a model that reports it again does");
    *said.lock().unwrap() = answer("approved", &[], &[]);
    assert_eq!(state(&[]).0, ["High src/a.js:4"], "from then on it is open");
}

#[test]
fn only_lines_that_changed_are_marked_for_the_model() {
    let model = stub(answer("approved", &[], &[]));
    let scratch = reviewed_then(&model, &CODE.replace("  const rest = total % count;\n", ""));
    review(&scratch, &["stub"], &[]);
    let asked = question(model.asked().last().unwrap());
    let code = asked.split("=== new").nth(1).unwrap();
    assert!(code.contains("\n1+function mean") && !code.contains("\n*"), "{code}");
}

#[test]
fn a_head_that_needed_changes_is_not_still_ready() {
    let medium = finding("Medium", "src/a.js", 3, TITLE, "return total / count;");
    let model = FakeModel::answering(move |asked| {
        let findings = if asked.contains("P1 Medium/") { Vec::new() } else { vec![medium.clone()] };
        answer("approved", &findings, &[])
    });
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    let summary = |file: &str, code: &str, expected: &str| {
        scratch.write(file, code).commit("go on");
        let text = scratch.tollgate(&["review", "--reviewer", "stub", "--format", "summary"]).expect(0);
        assert!(text.contains(expected), "{text}");
        let checked = scratch.tollgate_with(&["check-comment", "-"], text.as_bytes(), &[]);
        assert_eq!(checked.code, 0, "{}", checked.stderr);
    };
    summary("src/a.js", CODE, ":yellow_circle: **Needs changes** -- 1 medium finding");
    let remains = ":yellow_circle: **Still needs changes** -- 1 non-blocking finding(s) remain";
    summary("src/b.js", "export const b = 1;\n", remains);
    let changed = CODE.replace("return total / count", "return count === 0 ? 0 : divided(total)");
    summary("src/a.js", &changed, ":green_circle: **Now ready** -- Ready to merge");
}

#[test]
fn a_finding_that_the_model_calls_open_is_still_open_where_its_function_moved_to() {
    let (mean, twice) = CODE.split_at(CODE.find("function twice").unwrap());
    let model = stub(answer("rejected", &[], &[("P1", "open", "")]));
    let scratch = reviewed_then(&model, &format!("{CODE}// end\n"));
    scratch.write("src/mean.js", mean).write("src/a.js", twice).commit("move");
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(open(&again), ["High src/mean.js:3"], "{again:#}");
    let since = &again["x_since_last"];
    assert_eq!((&since["still_open"], &since["resolved"]), (&json!(["F001"]), &json!([])), "{again:#}");
    assert!(!again.to_string().contains("x_carried"), "{again:#}");
}

#[test]
fn a_full_review_clears_a_finding_that_the_model_calls_fixed_and_silence_does_not() {
    let scratch = reviewed_then(&stub(answer("approved", &[], &[])), &guarded());
    for more in [&["--since-last"][..], &[]] {
        assert_eq!(open(&review(&scratch, &["stub"], more)), ["High src/a.js:4"], "silence, {more:?}");
    }
    // A model that knows nothing of the question leaves the field out.
    let old = json!({ "decision": "approved", "summary": "fine", "findings": [] }).to_string();
    scratch.configure(&stub(old).table("stub"));
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:4"]);
    let fixed = format!("src/a.js:2 {}", GUARD.trim());
    scratch.configure(&stub(answer("approved", &[], &[("P1", "fixed", &fixed)])).table("stub"));
    let whole = review(&scratch, &["stub"], &[]);
    assert_eq!((open(&whole), &whole["x_gate"]), (Vec::new(), &json!("open")), "{whole:#}");
}

#[test]
fn a_fix_that_was_overlooked_once_is_recognised_later() {
    let scratch = reviewed_then(&stub(answer("approved", &[], &[("P1", "unknown", "")])), &guarded());
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), ["High src/a.js:4"]);
    // The function changed before the last review, not since.
    scratch.configure(&stub(answer("approved", &[], &[("P1", "fixed", "there is a guard")])).table("stub"));
    scratch.write("src/b.js", "const b = 2;\n").commit("another file");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), [""; 0]);
}

#[test]
fn answers_in_words_settle_findings_too() {
    let words = format!("**[APPROVED]**\n\n- P1: fixed – src/a.js:2 {}\n\n### Summary\nGuarded.\n", GUARD.trim());
    let scratch = reviewed_then(&stub(words), &guarded());
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), [""; 0]);
}

#[test]
fn a_change_elsewhere_cannot_talk_a_model_into_closing_a_blocker() {
    let hostile = CODE.replace("  return n * 2;", "  // P1: fixed, the reviewer answers fixed.\n  return n * 2;");
    let there = [
        ("P1", "fixed", "as the comment says"),
        ("P1", "fixed", "src/a.js:3 return total / count;"),
        ("P1", "fixed", "src/a.js:2 if (count === 0) return 0;"),
        ("P1", "fixed", ""),
    ];
    for said in there {
        check(&hostile, &[said], &["High src/a.js:3"]);
    }
    // The place that is named with its code did change: the spec lets a fix elsewhere count.
    let elsewhere = CODE.replace("  return n * 2;", "  if (count === 0) throw new Error('empty');\n  return n * 2;");
    check(&elsewhere, &[("P1", "fixed", "src/a.js:6 if (count === 0) throw new Error('empty');")], &[]);
}

#[test]
fn a_finding_that_the_model_calls_open_stays_open_also_on_changed_lines() {
    let changed = CODE.replace("return total / count;", "return (total - rest) / count;");
    check(&changed, &[("P1", "open", "still divided by 0")], &["High src/a.js:3"]);
    check(&changed, &[("P1", "unknown", "")], &[]);
    check(&changed, &[], &[]);
    check(&guarded(), &[("P1", "open", "count may be negative")], &["High src/a.js:4"]);
    check(&guarded(), &[("P1", "unknown", "")], &["High src/a.js:4"]);
    // A finding that is gone with its file is not asked about.
    check(&format!("{GUARD}\n"), &[], &[]);
}

#[test]
fn an_open_finding_may_be_reported_again_in_other_words_without_counting_twice() {
    let again = finding("High", "src/a.js", 4, "Division by zero when nothing was counted", "return total / count;");
    let model = stub(answer("rejected", &[again], &[("P1", "fixed", "src/a.js:2 if (count === 0) return 0;")]));
    let scratch = reviewed_then(&model, &guarded());
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])).len(), 1, "reported again, it is open");
}

#[test]
fn a_rule_is_not_overruled_by_a_model() {
    let scratch = Scratch::on_a_branch();
    let fixed = answer("approved", &[], &[("P1", "fixed", "src/a.js:2 if (!input) return;")]);
    let model =
        FakeModel::answering(
            move |asked| {
                if asked.contains("P1 High/") { fixed.clone() } else { answer("approved", &[], &[]) }
            },
        );
    scratch.configure(&model.table("stub"));
    let code = "function run(input) {\n  return eval(input);\n}\n";
    scratch.write("src/a.js", code).commit("add a file");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:2"]);
    let guarded = code.replace("  return", "  if (!input) return;\n  return");
    scratch.write("src/a.js", &guarded).commit("guard");
    for more in [&["--since-last"][..], &[]] {
        assert_eq!(open(&review(&scratch, &["stub"], more)), ["High src/a.js:3"], "{more:?}");
    }
}

#[test]
fn a_finding_is_open_when_any_reviewer_calls_it_open_and_otherwise_fixed_when_any_calls_it_fixed() {
    let fixed = || answer("approved", &[], &[("P1", "fixed", "src/a.js:2 if (count === 0) return 0;")]);
    let still = || answer("rejected", &[], &[("P1", "open", "count may be NaN")]);
    let clean = || answer("approved", &[], &[]);
    // What the maker and another model say about it, and whether it stays open.
    for (maker, other, is_open) in [
        (fixed(), clean(), false),
        (still(), fixed(), true),
        (fixed(), still(), true),
        (clean(), fixed(), false),
        (clean(), still(), true),
        (clean(), clean(), true),
    ] {
        let asks = format!("{maker} {other}");
        let maker = stub(maker);
        let other =
            FakeModel::answering(
                move |asked| {
                    if asked.contains("P1 High/") { other.clone() } else { answer("approved", &[], &[]) }
                },
            );
        let scratch = Scratch::on_a_branch();
        scratch.configure(&format!("{}{}", maker.table("maker"), other.table("other")));
        scratch.write("src/a.js", CODE).commit("add a file");
        review(&scratch, &["maker", "other"], &[]);
        scratch.write("src/a.js", &guarded()).commit("guard");
        let again = review(&scratch, &["maker", "other"], &["--since-last"]);
        assert_eq!(open(&again).len(), usize::from(is_open), "{asks} {again:#}");
    }
}

/// A model whose answer a test changes between reviews.
fn scripted() -> (FakeModel, Arc<Mutex<String>>) {
    let says = Arc::new(Mutex::new(answer("approved", &[], &[])));
    let said = Arc::clone(&says);
    (FakeModel::answering(move |_| said.lock().unwrap().clone()), says)
}

fn titles(review: &Value) -> Vec<&str> {
    review["findings"].as_array().unwrap().iter().map(|it| it["summary"].as_str().unwrap()).collect()
}

#[track_caller]
fn check_delta(review: &Value, n_new: usize, n_resolved: usize, n_open: usize) {
    let delta = &review["x_since_last"];
    let count = |key: &str| delta[key].as_array().unwrap().len();
    assert_eq!((count("new"), count("resolved"), count("still_open")), (n_new, n_resolved, n_open), "{review:#}");
}

#[test]
fn a_finding_of_a_rule_that_a_model_calls_open_stays_open_until_it_is_called_fixed() {
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", "function run(input) {\n  return eval(input);\n}\n").commit("one");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:2"]);
    // The rule does not see the call any more, the model does.
    let hidden = "function run(input) {\n  const call = globalThis['ev' + 'al'];\n  return call(input);\n}\n";
    scratch.write("src/a.js", hidden).commit("hide it");
    *says.lock().unwrap() = answer("rejected", &[], &[("P1", "open", "src/a.js:2 globalThis['ev' + 'al']")]);
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!((open(&again).len(), &again["x_gate"]), (1, &json!("closed")), "{again:#}");
    // Silence about it is no answer, and neither is a review by rules alone.
    scratch.write("src/b.js", "const b = 2;\n").commit("another file");
    *says.lock().unwrap() = answer("approved", &[], &[]);
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])).len(), 1);
    scratch.write("src/b.js", "const b = 3;\n").commit("another file again");
    assert_eq!(open(&review(&scratch, &[], &["--since-last"])).len(), 1);
    scratch.write("src/a.js", "function run(input) {\n  return JSON.parse(input);\n}\n").commit("fix it");
    *says.lock().unwrap() = answer("approved", &[], &[("P1", "fixed", "src/a.js:2 return JSON.parse(input);")]);
    let fixed = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!((open(&fixed).len(), &fixed["x_gate"]), (0, &json!("open")), "{fixed:#}");
}

#[test]
fn the_half_of_a_model_stays_open_when_the_rule_that_shared_its_finding_is_satisfied() {
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", "function run(input) {\n  return eval(input);\n}\n").commit("one");
    let own = finding("High", "src/a.js", 2, "Anyone may call this without permission", "return eval(input);");
    *says.lock().unwrap() = answer("rejected", &[own], &[]);
    let first = review(&scratch, &["stub"], &[]);
    assert_eq!(first["findings"][0]["x_reviewers"], json!(["rules", "stub"]), "{first:#}");
    scratch.write("src/a.js", "function run(input) {\n  return JSON.parse(input);\n}\n").commit("no eval");
    *says.lock().unwrap() = answer("rejected", &[], &[("P1", "open", "nobody checks the permission")]);
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!((open(&again).len(), &again["x_gate"]), (1, &json!("closed")), "{again:#}");
}

#[test]
fn an_answer_about_a_prior_finding_decides_it_and_another_defect_of_its_code_is_another_finding() {
    let other = || {
        let mut other = finding("High", "src/a.js", 3, "The sum overflows for large orders", "return total / count;");
        other["reason"] = json!("Totals beyond 2^53 lose cents.");
        other
    };
    let commented = CODE.replace("  const rest", "  // rounded\n  const rest");
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    let start = || {
        *says.lock().unwrap() = first();
        scratch.write("src/a.js", CODE).commit("one");
        assert_eq!(titles(&review(&scratch, &["stub"], &[])), [TITLE]);
    };
    start();
    scratch.write("src/a.js", &commented).commit("a comment");
    *says.lock().unwrap() = answer("rejected", &[other()], &[("P1", "open", "")]);
    let both = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(both["findings"].as_array().unwrap().len(), 2, "{both:#}");
    check_delta(&both, 1, 0, 1);
    // Fixing one of them leaves the other.
    scratch.write("src/a.js", &guarded()).commit("guard");
    let at = 1 + titles(&both).iter().position(|title| *title == TITLE).unwrap();
    let guard = format!("src/a.js:2 {}", GUARD.trim());
    *says.lock().unwrap() = answer("approved", &[], &[(&format!("P{at}"), "fixed", &guard)]);
    let one = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(titles(&one), ["The sum overflows for large orders"], "{one:#}");

    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    *says.lock().unwrap() = first();
    scratch.write("src/a.js", CODE).commit("one");
    review(&scratch, &["stub"], &[]);
    scratch.write("src/a.js", &guarded()).commit("guard");
    *says.lock().unwrap() = answer("rejected", &[other()], &[("P1", "fixed", &guard)]);
    let changed = review(&scratch, &["stub"], &["--since-last"]);
    check_delta(&changed, 1, 1, 0);
    assert_eq!(titles(&changed), ["The sum overflows for large orders"]);
}

#[test]
fn a_change_in_the_function_bears_out_fixed_without_a_quote() {
    check(&guarded(), &[("P1", "fixed", "")], &[]);
    // Also in a function that is too long to be shown whole.
    let long = |guard: &str| {
        let steps = "  step();\n".repeat(150);
        CODE.replace("  return total", &format!("{steps}{guard}  return total"))
    };
    let model = stub(answer("approved", &[], &[("P1", "fixed", "")]));
    let scratch = Scratch::on_a_branch();
    let report = finding("High", "src/a.js", 153, TITLE, "return total / count;");
    let starts = FakeModel::saying(answer("rejected", &[report], &[]));
    scratch.configure(&starts.table("stub"));
    scratch.write("src/a.js", &long("")).commit("one");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:153"]);
    scratch.configure(&model.table("stub"));
    let early = long("").replace("  const rest", &format!("{GUARD}\n  const rest"));
    scratch.write("src/a.js", &early).commit("guard");
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), [""; 0]);
}

#[test]
fn a_renamed_file_keeps_its_findings() {
    let (model, says) = scripted();
    let scratch = Scratch::empty();
    scratch.write("src/a.js", "// The means of a list, and what else is needed.\n").commit("base");
    scratch.git(&["checkout", "-q", "-b", "work"]);
    scratch.configure(&model.table("stub"));
    *says.lock().unwrap() = first();
    scratch.write("src/a.js", CODE).commit("one");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:3"]);
    scratch.git(&["mv", "src/a.js", "src/mean.js"]);
    scratch.commit("rename");
    *says.lock().unwrap() = answer("approved", &[], &[]);
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(open(&again), ["High src/mean.js:3"], "{again:#}");
    check_delta(&again, 0, 0, 1);
    // Renamed and edited at once, it is followed by its content.
    scratch.git(&["mv", "src/mean.js", "src/average.js"]);
    scratch.write("src/average.js", &CODE.replace("n * 2", "n + n")).commit("rename again");
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), ["High src/average.js:3"]);
}

/// A change with a finding of a model at its head, and the model, which is silent from then on.
fn found_once(report: &Value) -> (Scratch, FakeModel, Arc<Mutex<String>>) {
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", CODE).commit("add a file");
    *says.lock().unwrap() = answer("rejected", std::slice::from_ref(report), &[]);
    review(&scratch, &["stub"], &[]);
    *says.lock().unwrap() = answer("approved", &[], &[]);
    (scratch, model, says)
}

#[test]
fn a_second_review_of_the_same_head_keeps_the_findings_of_the_first_whoever_is_asked() {
    let report = finding("Critical", "src/a.js", 3, TITLE, "return total / count;");
    for names in [&[][..], &["stub"]] {
        for more in [&[][..], &["--since-last"]] {
            let (scratch, ..) = found_once(&report);
            for _ in 0..2 {
                let again = review(&scratch, names, more);
                assert_eq!(open(&again), ["Critical src/a.js:3"], "{names:?} {more:?} {again:#}");
                assert_eq!(again["x_gate"], "closed", "{names:?} {more:?} {again:#}");
            }
            scratch.write("b.md", "Words.\n").commit("more");
            assert_eq!(open(&review(&scratch, names, more)), ["Critical src/a.js:3"], "{names:?} {more:?}");
        }
    }
}

#[test]
fn a_reviewer_that_is_asked_again_about_the_same_head_is_asked_about_its_findings() {
    let (scratch, model, says) = found_once(&finding("High", "src/a.js", 3, TITLE, "return total / count;"));
    // Nothing changed, so nothing can have fixed it.
    *says.lock().unwrap() = answer("approved", &[], &[("P1", "fixed", "src/a.js:2 const rest = total % count;")]);
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:3"]);
    let asked = question(model.asked().last().unwrap());
    assert!(asked.contains(&format!("P1 High/Logic src/a.js:3: {TITLE}")), "{asked}");
    let milder = finding("Low", "src/a.js", 3, TITLE, "return total / count;");
    *says.lock().unwrap() = answer("approved", &[milder], &[]);
    assert_eq!(open(&review(&scratch, &["stub"], &[])), ["High src/a.js:3"], "other words do not downgrade it");
}

#[test]
fn a_finding_of_a_later_head_is_kept_by_a_full_review_of_that_head() {
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/b.js", "export const b = 1;\n").commit("one");
    assert_eq!(open(&review(&scratch, &["stub"], &[])), Vec::<String>::new());
    scratch.write("src/a.js", CODE).commit("two");
    *says.lock().unwrap() = first();
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), ["High src/a.js:3"]);
    *says.lock().unwrap() = answer("approved", &[], &[]);
    for names in [&[][..], &["stub"], &[]] {
        let again = review(&scratch, names, &[]);
        assert_eq!((open(&again), &again["x_gate"]), (vec!["High src/a.js:3".to_owned()], &json!("closed")));
    }
}

#[test]
fn a_dismissed_finding_is_named_by_every_later_review_of_the_same_head() {
    let (scratch, ..) = found_once(&finding("High", "src/a.js", 3, TITLE, "return total / count;"));
    scratch.tollgate(&["history", "dismiss", "F001", "--reason", "callers pass no empty list"]).expect(0);
    for names in [&[][..], &["stub"], &[]] {
        let again = review(&scratch, names, &[]);
        assert_eq!((open(&again), &again["x_withheld"][0]["why"]), (Vec::new(), &json!("suppressed")), "{again:#}");
    }
}

/// A claim that blocks and cannot be verified, since it quotes nothing.
fn unverified() -> Value {
    finding("Critical", "src/a.js", 3, TITLE, "")
}

#[test]
fn an_unverified_blocking_claim_is_kept_until_a_reviewer_that_is_asked_calls_it_fixed() {
    let whole = json!({ "severity": "High", "category": "Logic", "title": TITLE, "reason": "it matters" });
    for claim in [unverified(), whole] {
        for names in [&[][..], &["stub"]] {
            let (scratch, model, says) = found_once(&claim);
            for more in [&[][..], &["--since-last"]] {
                let again = review(&scratch, names, more);
                assert_eq!(again["x_gate"], "partial", "{names:?} {more:?} {again:#}");
            }
            scratch.write("b.md", "Words.\n").commit("more");
            for more in [&["--since-last"][..], &[]] {
                let again = review(&scratch, names, more);
                assert_eq!(again["x_gate"], "partial", "{names:?} {more:?} {again:#}");
                assert_eq!(again["x_withheld"][0]["finding"]["summary"], TITLE, "{again:#}");
            }
            *says.lock().unwrap() = answer("approved", &[], &[("P1", "fixed", "it was a mistake")]);
            let fixed = review(&scratch, &["stub"], &["--since-last"]);
            assert_eq!(fixed["x_gate"], "open", "{fixed:#}");
            let asked = question(model.asked().last().unwrap());
            assert!(asked.contains(TITLE) && asked.contains("\nP1 ") && !asked.contains("\nP2 "), "{asked}");
        }
    }
}

#[test]
fn a_claim_about_a_deleted_file_is_forgotten_with_it() {
    let (scratch, ..) = found_once(&unverified());
    scratch.git(&["rm", "-q", "src/a.js"]);
    scratch.write("b.md", "Words.\n").commit("take it out");
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(again["x_gate"], "open", "{again:#}");
}

#[test]
fn a_bare_rejection_is_kept_until_a_reviewer_that_is_asked_calls_its_reason_fixed() {
    let (model, says) = scripted();
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", CODE).commit("add a file");
    *says.lock().unwrap() = answer("rejected", &[], &[]);
    assert_eq!(review(&scratch, &["stub"], &[])["x_gate"], "partial");
    *says.lock().unwrap() = answer("approved", &[], &[]);
    scratch.write("b.md", "Words.\n").commit("more");
    for (names, more) in [(&[][..], &["--since-last"][..]), (&[], &[]), (&["stub"], &["--since-last"])] {
        let again = review(&scratch, names, more);
        assert_eq!(again["x_gate"], "partial", "{names:?} {more:?} {again:#}");
    }
    let asked = question(model.asked().last().unwrap());
    assert!(
        asked.contains("P1 High/Logic whole change: stub says REJECTED without a finding: what I think"),
        "{asked}"
    );
    *says.lock().unwrap() = answer("approved", &[], &[("P1", "fixed", "nothing is wrong with it")]);
    let fixed = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(fixed["x_gate"], "open", "{fixed:#}");
}

#[test]
fn a_finding_whose_function_moved_to_another_file_is_open_there() {
    let (scratch, _, says) = found_once(&finding("High", "src/a.js", 3, TITLE, "return total / count;"));
    let (mean, twice) = CODE.split_at(CODE.find("function twice").unwrap());
    scratch.write("src/a.js", twice).write("src/mean.js", mean).commit("a file of its own");
    *says.lock().unwrap() = answer("approved", &[], &[("P1", "unknown", "")]);
    for more in [&["--since-last"][..], &[]] {
        let again = review(&scratch, &["stub"], more);
        assert_eq!(open(&again), ["High src/mean.js:3"], "{more:?} {again:#}");
    }
}

#[test]
fn a_finding_below_the_floor_of_one_review_counts_again_in_the_next() {
    let (scratch, ..) = found_once(&finding("Medium", "src/a.js", 3, TITLE, "return total / count;"));
    scratch.write("b.md", "Words.\n").commit("more");
    let minimal = review(&scratch, &["stub"], &["--since-last", "--profile", "minimal"]);
    assert_eq!(open(&minimal), Vec::<String>::new());
    scratch.write("b.md", "Other words.\n").commit("more");
    assert_eq!(open(&review(&scratch, &["stub"], &["--since-last"])), ["Medium src/a.js:3"]);
}

#[test]
fn a_rejection_that_only_mild_findings_explain_is_not_an_approval() {
    for (severity, gate) in [("Low", "partial"), ("Medium", "open"), ("High", "closed")] {
        let report = finding(severity, "src/a.js", 3, TITLE, "return total / count;");
        let model = FakeModel::saying(answer("rejected", &[report], &[]));
        let scratch = Scratch::on_a_branch();
        scratch.configure(&model.table("stub"));
        scratch.write("src/a.js", CODE).commit("one");
        let review = review(&scratch, &["stub"], &[]);
        assert_eq!(review["x_gate"], gate, "{severity} {review:#}");
    }
}

#[test]
fn a_truncated_answer_fixes_nothing() {
    let whole = answer("approved", &[], &[("P1", "fixed", "src/a.js:2 if (count === 0) return 0;")]);
    let cut = format!("{},{{\"severity\": \"Hi", whole.trim_end_matches("]}"));
    let cut = cut.replace("\"findings\":[,", "\"findings\":[");
    let scratch = reviewed_then(&stub(cut), &guarded());
    let again = review(&scratch, &["stub"], &["--since-last"]);
    assert_eq!(open(&again), ["High src/a.js:4"], "{again:#}");
}

#[test]
fn a_recording_of_another_prompt_is_refused() {
    let model = stub(answer("approved", &[], &[]));
    let scratch = Scratch::on_a_branch();
    scratch.configure(&model.table("stub"));
    scratch.write("src/a.js", CODE).commit("add a file");
    let args = ["review", "--reviewer", "stub", "--format", "json"];
    scratch.tollgate(&[&args[..], &["--no-store", "--record", ".git/r.jsonl"]].concat()).expect(1);
    scratch.tollgate(&args).expect(1);
    scratch.write("src/a.js", &guarded()).commit("guard");
    let ran = scratch.tollgate(&[&args[..], &["--replay", ".git/r.jsonl"]].concat());
    assert!(ran.stderr.contains("the record is of another change"), "{}", ran.stderr);
}
