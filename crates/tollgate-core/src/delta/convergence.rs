//! Convergence: findings that later reviews hold back, so that iterations come to an end.
//!
//! Two kinds are held back and counted: new minor findings on lines that an earlier review passed, and suggestions to undo
//! an earlier suggestion. A Critical is never held back, except at a gate, where only blockers of compliance or security
//! may come late.

use std::collections::HashMap;

use crate::delta::identity::{is_distinctive, without_space};
use crate::delta::line_map::LineMap;
use crate::finding::{Category, Finding, Location, Severity};
use crate::path::FilePath;

/// Why a finding is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// The finding is late ([`LateFindings`]): an earlier review passed these lines.
    Passed,
    /// The finding asks to undo the suggestion of this prior finding.
    Contradicts(usize),
}

/// Which new findings on lines that an earlier review passed are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateFindings {
    /// Minor ones; a person reads the rest.
    Mild,
    /// All except blockers of compliance or security, so that a gate does not reject work for something that it could have
    /// reported before.
    AllButGrave,
}

impl LateFindings {
    fn holds(self, finding: &Finding) -> bool {
        match self {
            Self::Mild => matches!(finding.severity, Severity::Low | Severity::Nit),
            Self::AllButGrave => {
                let is_grave = matches!(finding.category, Category::Compliance | Category::Security);
                !(is_grave && finding.severity.blocks())
            }
        }
    }
}

/// Finds the new findings to hold back.
///
/// `new` are indices into `current`; `passed` is true for lines that an earlier review covered without a finding. The
/// prior findings may be those of all earlier reviews of the change.
#[must_use]
pub fn hold_back(
    prior: &[Finding],
    current: &[Finding],
    new: &[usize],
    map: &LineMap,
    (late, passed): (LateFindings, &dyn Fn(&Location) -> bool),
) -> Vec<(usize, HoldReason)> {
    let prior_suggestions = prior_suggestions(prior, map);
    let mut held_back = Vec::new();
    for (index, finding) in new.iter().filter_map(|&index| Some((index, current.get(index)?))) {
        if finding.severity == Severity::Praise {
            continue;
        }
        if late == LateFindings::AllButGrave && late.holds(finding) && passed(&finding.location) {
            held_back.push((index, HoldReason::Passed));
            continue;
        }
        if finding.severity == Severity::Critical {
            continue;
        }
        let found = without_space(&finding.evidence);
        let undone = suggested(finding)
            .find_map(|suggested| prior_suggestions.get(&(&finding.location.file, found.clone(), suggested)));
        match undone {
            Some(&undone) => held_back.push((index, HoldReason::Contradicts(undone))),
            None if late.holds(finding) && passed(&finding.location) => held_back.push((index, HoldReason::Passed)),
            None => {}
        }
    }
    held_back
}

/// Earlier suggestions: the file, the suggested code, and the code it should replace.
type PriorSuggestions<'a> = HashMap<(&'a FilePath, String, String), usize>;

fn prior_suggestions<'a>(prior: &'a [Finding], map: &'a LineMap) -> PriorSuggestions<'a> {
    let mut prior_suggestions = PriorSuggestions::new();
    for (index, finding) in prior.iter().enumerate() {
        let location = &finding.location;
        let Some(file) = map.path(&location.file, location.side) else { continue };
        let replaced = without_space(&finding.evidence);
        for suggested in suggested(finding).filter(|_| is_distinctive(&replaced)) {
            prior_suggestions.entry((file, suggested, replaced.clone())).or_insert(index);
        }
    }
    prior_suggestions
}

/// The code that a finding suggests: its fix, its suggestion, or the code block in it.
fn suggested(finding: &Finding) -> impl Iterator<Item = String> {
    let fix = finding.fix.as_ref().map(|fix| without_space(&fix.replacement));
    let suggestion = finding.suggestion.as_deref().map(without_space);
    let fenced = finding.suggestion.as_deref().and_then(fenced).map(without_space);
    [fix, suggestion, fenced].into_iter().flatten().filter(|suggested| is_distinctive(suggested))
}

/// The first code block of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, block) = text.split_once("```")?;
    let (_, code) = block.split_once('\n')?;
    code.split_once("```").map(|(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Category, FindingId, Fix, LineRange, Origin, Side, Summary};

    fn finding(severity: Severity, evidence: &str, suggestion: &str) -> Finding {
        Finding {
            id: FindingId::at(0),
            severity,
            category: Category::Style,
            location: Location { file: FilePath::parse("a.rs").unwrap(), lines: LineRange::line(7), side: Side::Right },
            summary: Summary::parse("title").unwrap(),
            reason: None,
            evidence: evidence.to_owned(),
            suggestion: Some(suggestion.to_owned()).filter(|text| !text.is_empty()),
            fix: None,
            origin: Origin::default(),
            extra: serde_json::Map::new(),
        }
    }

    #[track_caller]
    fn check(prior: &Finding, current: &Finding, passed: bool, expected: Option<HoldReason>) {
        let (then, now) = (std::slice::from_ref(prior), std::slice::from_ref(current));
        let held_back = hold_back(then, now, &[0], &LineMap::identity(), (LateFindings::Mild, &|_| passed));
        assert_eq!(held_back.first().map(|held_back| held_back.1), expected);
    }

    #[test]
    fn minor_findings_on_passed_lines_are_held_back() {
        let prior = finding(Severity::High, "something()", "");
        for severity in Severity::ALL {
            let mild = matches!(severity, Severity::Low | Severity::Nit);
            check(&prior, &finding(severity, "other()", ""), true, mild.then_some(HoldReason::Passed));
            check(&prior, &finding(severity, "other()", ""), false, None);
        }
    }

    #[test]
    fn advice_to_undo_earlier_advice_is_held_back() {
        let prior = finding(Severity::Medium, "for x in list.iter()", "for x in &list");
        let back = finding(Severity::High, "for x in  &list", "for x in list .iter()");
        check(&prior, &back, false, Some(HoldReason::Contradicts(0)));
        let fenced = finding(Severity::Medium, "for x in &list", "Write this:\n```rust\nfor x in list.iter()\n```\n");
        check(&prior, &fenced, false, Some(HoldReason::Contradicts(0)));
        let fix = Fix { lines: LineRange::line(7), replacement: "    for x in list.iter()".to_owned() };
        let fix = Finding { fix: Some(fix), suggestion: None, ..back.clone() };
        check(&prior, &fix, false, Some(HoldReason::Contradicts(0)));
        let elsewhere = Location { file: FilePath::parse("b.rs").unwrap(), ..back.location.clone() };
        check(&prior, &Finding { location: elsewhere, ..back.clone() }, false, None);
        check(&prior, &finding(Severity::Medium, "for x in &list", "for y in &list"), false, None);
        check(&prior, &finding(Severity::Medium, "for x in list", "for x in list.iter()"), false, None);
    }

    #[test]
    fn a_critical_is_never_held_back() {
        let prior = finding(Severity::Medium, "verify(token)", "trust(token)");
        check(&prior, &finding(Severity::Critical, "trust(token)", "verify(token)"), true, None);
    }

    #[test]
    fn at_a_gate_only_compliance_and_security_blockers_may_come_late() {
        use Severity::{Critical, High, Medium, Nit};
        for (category, severity, expected) in [
            (Category::Logic, Critical, true),
            (Category::Test, High, true),
            (Category::Security, Medium, true),
            (Category::Compliance, Nit, true),
            (Category::Security, Critical, false),
            (Category::Compliance, High, false),
        ] {
            let late = [Finding { category, ..finding(severity, "other()", "") }];
            let held_back = |passed: bool| {
                hold_back(&[], &late, &[0], &LineMap::identity(), (LateFindings::AllButGrave, &|_| passed)).len() == 1
            };
            assert_eq!(held_back(true), expected, "{category} {severity}");
            assert!(!held_back(false), "{category} {severity}");
        }
    }

    #[test]
    fn only_new_findings_are_held_back() {
        let findings = [finding(Severity::Nit, "other()", "")];
        assert_eq!(hold_back(&[], &findings, &[], &LineMap::identity(), (LateFindings::Mild, &|_| true)), []);
        assert_eq!(hold_back(&[], &findings, &[5], &LineMap::identity(), (LateFindings::Mild, &|_| true)), []);
    }
}
