use super::*;
use crate::finding::{Category, FindingId, LineRange, Location, Origin, Severity, Side, Summary};
use crate::path::FilePath;
use proptest::prelude::*;

fn finding(reviewer: &str, rule: &str, severity: Severity, lines: (u32, u32), evidence: &str) -> Finding {
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Logic,
        location: Location {
            file: FilePath::parse("a.rs").unwrap(),
            lines: LineRange::new(lines.0, lines.1).unwrap(),
            side: Side::Right,
        },
        summary: Summary::parse(rule).unwrap(),
        reason: Some(format!("why {reviewer}")),
        evidence: evidence.to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin { reviewer: Some(reviewer.to_owned()), rule: Some(rule.to_owned()), rule_url: None },
        extra: serde_json::Map::new(),
    }
}

#[track_caller]
fn check(findings: Vec<Finding>, expected: &[&str]) {
    let said: Vec<String> = merge(findings)
        .iter()
        .map(|finding| {
            let lines = finding.location.lines;
            format!("{} {lines} {}", finding.severity, reviewers(finding).join("+"))
        })
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn a_finding_of_two_reviewers_ranks_before_its_equals() {
    check(
        vec![
            finding("rules", "first", Severity::High, (1, 1), "a"),
            finding("ruff", "x", Severity::Medium, (7, 8), "f( x )\n"),
            finding("rules", "y", Severity::High, (8, 8), "f( x )"),
        ],
        &["High 8 ruff+rules", "High 1 rules"],
    );
}

#[test]
fn different_findings_at_one_location_stay_separate() {
    check(
        vec![
            finding("rules", "x", Severity::Low, (1, 1), "a"),
            finding("rules", "y", Severity::Low, (1, 1), "a"),
            finding("ruff", "z", Severity::Low, (1, 1), "b"),
            finding("ruff", "x", Severity::Low, (9, 9), "a"),
        ],
        &["Low 1 rules", "Low 1 rules", "Low 1 ruff", "Low 9 ruff"],
    );
}

/// The pairs of `pairs.txt`: whether they are equivalent, and the two findings.
fn pairs() -> Vec<(bool, [Finding; 2])> {
    let text = include_str!("tests/pairs.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let remark = |reviewer: &str, line: &str| {
        let [lines, category, title, reason, evidence] = line.splitn(5, " | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
        let lines = (start.parse().unwrap(), end.parse().unwrap());
        let mut finding = finding(reviewer, title, Severity::High, lines, evidence);
        finding.category = Category::parse_exact(category).unwrap();
        finding.reason = Some(reason.to_owned());
        finding.origin.rule = None;
        finding
    };
    let pair = |pair: &[&str]| (pair[0] == "same", [remark("one", pair[1]), remark("two", pair[2])]);
    lines.chunks_exact(3).map(pair).collect()
}

#[test]
fn one_defect_of_two_models_is_merged_and_two_defects_stay_separate() {
    let (mut n_same, mut n_other, mut wrong) = (0, 0, Vec::new());
    for (same, [a, b]) in pairs() {
        let titles = format!("{} | {}", a.summary, b.summary);
        let is_one = merge(vec![a.clone(), b.clone()]).len() == 1;
        assert_eq!(is_one, merge(vec![b.clone(), a.clone()]).len() == 1, "{titles}");
        // Two remarks of one category on one quote are one finding, whatever their words: see the next test.
        let is_one_quote = a.category == b.category && a.evidence == b.evidence;
        n_same += usize::from(same);
        n_other += usize::from(!same && !is_one_quote);
        if same != is_one && !is_one_quote {
            wrong.push(format!("{}: {titles}", if same { "missed" } else { "joined" }));
        } else if same && !is_one {
            wrong.push(format!("missed: {titles}"));
        }
    }
    assert!(n_same >= 60 && n_other >= 35, "{n_same} {n_other}");
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn two_remarks_of_one_category_on_one_quote_are_one_finding_that_keeps_the_words_of_both() {
    let is_one_quote = |[a, b]: &[Finding; 2]| a.category == b.category && a.evidence == b.evidence;
    let others = pairs().into_iter().filter(|(same, pair)| !same && is_one_quote(pair));
    let (mut n_joined, mut n_separate) = (0, 0);
    for (_, [a, b]) in others {
        match &merge(vec![a.clone(), b.clone()])[..] {
            [merged] => {
                let said = format!("{}\n{}", merged.summary, merged.reason.as_deref().unwrap_or_default());
                for finding in [a, b] {
                    assert!(said.contains(finding.summary.as_str()), "{said}");
                    assert!(said.contains(finding.reason.as_deref().unwrap()), "{said}");
                }
                n_joined += 1;
            }
            _ => n_separate += 1,
        }
    }
    // Those that say the same of another name or number stay separate.
    assert_eq!((n_joined, n_separate), (19, 6));
}

/// A finding of a model, without a rule, optionally with a pass.
fn of_model(reviewer: &str, pass: Option<u64>, severity: Severity, line: u32, title: &str) -> Finding {
    let mut finding = finding(reviewer, title, severity, (line, line), "x = f(y)");
    finding.origin.rule = None;
    finding.reason = None;
    finding.extra.extend(pass.map(|pass| (PASS.to_owned(), pass.into())));
    finding
}

fn verified_by(state: &str, mut finding: Finding) -> Finding {
    finding.extra.insert(VERIFICATION.to_owned(), serde_json::json!({ "state": state }));
    finding
}

const LEAK: &str = "Connection leaks when the handler fails";

#[test]
fn passes_of_one_model_are_voices_under_one_name() {
    let merged = merge(vec![
        of_model("claude", Some(1), Severity::High, 3, LEAK),
        of_model("claude", Some(2), Severity::Medium, 3, LEAK),
        of_model("gpt", None, Severity::High, 3, "Leaking connection if the handler fails"),
    ]);
    let [finding] = &merged[..] else { panic!("{merged:?}") };
    assert_eq!(finding.extra[REVIEWERS], serde_json::json!(["claude", "gpt"]));
    assert_eq!(finding.extra[VOICES], serde_json::json!(["claude", "claude#2", "gpt"]));
    assert!(!finding.extra.contains_key(PASS));
}

#[test]
fn two_findings_of_one_pass_stay_separate_unless_they_are_equal() {
    let repeated = of_model("claude", None, Severity::High, 3, LEAK);
    let similar = of_model("claude", None, Severity::High, 3, "Leaking connection if the handler fails");
    assert_eq!(merge(vec![repeated.clone(), repeated.clone()]).len(), 1);
    assert_eq!(merge(vec![repeated, similar]).len(), 2);
}

#[test]
fn a_model_that_agrees_with_a_rule_keeps_the_rule_id() {
    let by_rule =
        finding("rules", "leak: connection is not closed when handler fails", Severity::Medium, (3, 3), "f(y)");
    let merged = merge(vec![of_model("claude", None, Severity::High, 3, LEAK), by_rule]);
    let [finding] = &merged[..] else { panic!("{merged:?}") };
    assert_eq!((finding.severity, finding.summary.as_str()), (Severity::High, LEAK));
    assert!(finding.origin.rule.is_some());
}

#[test]
fn equally_severe_findings_rank_by_voices_then_verification_then_location() {
    let said = |line: u32, reviewer: &str, title: &str| of_model(reviewer, None, Severity::High, line, title);
    let merged = merge(vec![
        verified_by("place", said(10, "a", "Unrelated remark")),
        verified_by("exact", said(20, "a", "Another thing")),
        said(30, "a", LEAK),
        said(30, "b", LEAK),
        verified_by("exact", of_model("a", None, Severity::Critical, 40, "Worst of all")),
    ]);
    let lines: Vec<u32> = merged.iter().map(|finding| finding.location.lines.start()).collect();
    assert_eq!(lines, [40, 30, 20, 10]);
}

#[track_caller]
fn check_consensus(findings: Vec<Finding>, needed: usize, expected: &str) {
    let (kept, withheld) = consensus(merge(findings), needed, &|name| name != "rules");
    let kept = kept.iter().map(|finding| voices(finding).join("+"));
    let held = withheld.iter().map(|held| format!("{}: {}", held.why.as_str(), held.why));
    assert_eq!(kept.chain(held).collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn findings_of_models_only_need_enough_voices() {
    let one = || of_model("claude", Some(1), Severity::High, 3, LEAK);
    let again = || of_model("claude", Some(2), Severity::High, 3, LEAK);
    let other = || of_model("gpt", None, Severity::High, 3, LEAK);
    check_consensus(vec![one()], 1, "claude");
    check_consensus(vec![one()], 0, "claude");
    check_consensus(vec![one()], 2, "no-consensus: 1 of 2 needed reviewers says so");
    check_consensus(vec![one(), again()], 2, "claude+claude#2");
    check_consensus(vec![one(), other()], 2, "claude+gpt");
    check_consensus(vec![one(), other()], 3, "no-consensus: 2 of 3 needed reviewers say so");
    check_consensus(vec![finding("rules", "x", Severity::High, (3, 3), "f")], 3, "rules");
}

proptest! {
    #[test]
    fn the_order_of_reviewers_does_not_matter(
        seeds in prop::collection::vec((0usize..3, 0usize..3, 0usize..6, 1u32..5, 0u32..3), 0..12),
    ) {
        let findings: Vec<Finding> = seeds
            .iter()
            .map(|&(who, rule, severity, start, len)| {
                let (name, rule) = (["rules", "ruff", "model"][who], ["x", "y", "z"][rule]);
                let mut finding = finding(name, rule, Severity::ALL[severity], (start, start + len), rule);
                // Models have no rules.
                finding.origin.rule = finding.origin.rule.filter(|_| name != "model");
                finding
            })
            .collect();
        let worst = findings.iter().map(|finding| finding.severity).max();
        let merged = merge(findings.clone());
        prop_assert_eq!(merged.first().map(|finding| finding.severity), worst);
        prop_assert!(merged.len() <= findings.len());
        let reversed: Vec<Finding> = findings.into_iter().rev().collect();
        let key = |findings: &[Finding]| -> Vec<(Severity, LineRange)> {
            findings.iter().map(|finding| (finding.severity, finding.location.lines)).collect()
        };
        prop_assert_eq!(key(&merge(reversed)), key(&merged));
    }
}
