//! Findings of several reviewers as one list.
//!
//! What two reviewers say of the same place is one finding that names both. It
//! keeps the worse severity and is ranked before findings of one reviewer that
//! are as severe: agreement is the best sign that a finding is right.

use std::cmp::Reverse;

use serde_json::Value;

use crate::finding::Finding;

/// The extension field that names all reviewers of a joined finding.
pub const REVIEWERS: &str = "x_reviewers";

/// Joins equal findings and puts the list in order: worst first, then agreed ones, then by place.
#[must_use]
pub fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut findings = findings;
    findings.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    // Ordered by file and first line, so an equal one is among the last few; the bound keeps this linear.
    for finding in findings {
        let near = merged.iter_mut().rev().take(WINDOW).find(|known| is_same(known, &finding));
        match near {
            Some(known) => join(known, finding),
            None => merged.push(finding),
        }
    }
    merged.sort_by(|a, b| {
        let rank = |finding: &Finding| (Reverse(finding.severity), Reverse(n_reviewers(finding)));
        rank(a).cmp(&rank(b)).then_with(|| place(a).cmp(&place(b)))
    });
    merged
}

/// How far back an equal finding is looked for.
const WINDOW: usize = 32;

type Place<'a> = (&'a crate::finding::Location, Option<&'a str>, &'a str, Option<&'a str>);

fn place(finding: &Finding) -> Place<'_> {
    let origin = &finding.origin;
    (&finding.location, origin.rule.as_deref(), finding.summary.as_str(), origin.reviewer.as_deref())
}

/// True when two findings say the same of the same place.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let (here, there) = (&a.location, &b.location);
    let near = here.file == there.file && here.side == there.side && here.lines.overlaps(there.lines);
    if !near {
        return false;
    }
    let same_rule = a.origin.rule.is_some() && a.origin.rule == b.origin.rule;
    if a.origin.reviewer == b.origin.reviewer {
        return same_rule && here == there;
    }
    same_rule || (a.category == b.category && a.evidence.split_whitespace().eq(b.evidence.split_whitespace()))
}

fn join(known: &mut Finding, other: Finding) {
    let mut names = reviewers(known);
    names.extend(reviewers(&other));
    names.sort();
    names.dedup();
    // The worse one leads; its severity needs its reason.
    if other.severity > known.severity {
        let led = std::mem::replace(known, other);
        fill(known, led);
    } else {
        fill(known, other);
    }
    if names.len() > 1 {
        known.extra.insert(REVIEWERS.to_owned(), names.into());
    }
}

fn fill(known: &mut Finding, other: Finding) {
    known.reason = known.reason.take().or(other.reason);
    if known.fix.is_none() && known.suggestion.is_none() {
        known.fix = other.fix;
        known.suggestion = other.suggestion;
    }
}

fn reviewers(finding: &Finding) -> Vec<String> {
    match finding.extra.get(REVIEWERS) {
        Some(Value::Array(names)) => names.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        _ => finding.origin.reviewer.iter().cloned().collect(),
    }
}

fn n_reviewers(finding: &Finding) -> usize {
    reviewers(finding).len().max(1)
}

#[cfg(test)]
mod tests {
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
    fn what_two_reviewers_say_is_one_finding_ranked_before_its_equals() {
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
    fn different_remarks_about_one_place_stay_apart() {
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

    proptest! {
        #[test]
        fn the_order_of_reviewers_does_not_matter(
            seeds in prop::collection::vec((0usize..3, 0usize..3, 0usize..6, 1u32..5, 0u32..3), 0..12),
        ) {
            let findings: Vec<Finding> = seeds
                .iter()
                .map(|&(who, rule, severity, start, len)| {
                    let (who, rule) = (["rules", "ruff", "model"][who], ["x", "y", "z"][rule]);
                    finding(who, rule, Severity::ALL[severity], (start, start + len), rule)
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
}
