//! What a later review does not say, so that reviews come to an end.
//!
//! Two things are held back and counted: new remarks of little weight on lines that an earlier review looked at and
//! passed, and advice to undo what an earlier review asked for. A Critical is never held back, unless at a gate, where
//! only grave remarks may come late.

use std::collections::HashMap;

use crate::delta::identity::{is_telling, without_space};
use crate::delta::line_map::LineMap;
use crate::finding::{Category, Finding, Location, Severity};
use crate::path::FilePath;

/// Why a finding is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// It is one that comes too late ([`Late`]), and an earlier review passed these lines.
    Passed,
    /// It asks to undo what this prior finding asked for.
    Contradicts(usize),
}

/// Which new remarks on lines that an earlier review passed are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateFindings {
    /// Those of little weight: a person reads the rest.
    Mild,
    /// All but grave ones, so that a gate does not send work back for what it could have said before. Grave is a blocker
    /// of compliance or security.
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
/// `new` are indices into `current`; `passed` tells whether an earlier review looked at lines of the current state and
/// found nothing there. The prior findings may be those of all earlier reviews of the change.
#[must_use]
pub fn hold_back(
    prior: &[Finding],
    current: &[Finding],
    new: &[usize],
    map: &LineMap,
    (late, passed): (LateFindings, &dyn Fn(&Location) -> bool),
) -> Vec<(usize, HoldReason)> {
    let asked = asked(prior, map);
    let mut held = Vec::new();
    for (index, finding) in new.iter().filter_map(|&index| Some((index, current.get(index)?))) {
        if finding.severity == Severity::Praise {
            continue;
        }
        if late == LateFindings::AllButGrave && late.holds(finding) && passed(&finding.location) {
            held.push((index, HoldReason::Passed));
            continue;
        }
        if finding.severity == Severity::Critical {
            continue;
        }
        let found = without_space(&finding.evidence);
        let undone = wanted(finding).find_map(|wanted| asked.get(&(&finding.location.file, found.clone(), wanted)));
        match undone {
            Some(&undone) => held.push((index, HoldReason::Contradicts(undone))),
            None if late.holds(finding) && passed(&finding.location) => held.push((index, HoldReason::Passed)),
            None => {}
        }
    }
    held
}

/// A file, what an earlier review wanted there, and what it wanted that to replace.
type PriorSuggestions<'a> = HashMap<(&'a FilePath, String, String), usize>;

fn asked<'a>(prior: &'a [Finding], map: &'a LineMap) -> PriorSuggestions<'a> {
    let mut asked = PriorSuggestions::new();
    for (index, finding) in prior.iter().enumerate() {
        let location = &finding.location;
        let Some(file) = map.path(&location.file, location.side) else { continue };
        let replaced = without_space(&finding.evidence);
        for wanted in wanted(finding).filter(|_| is_telling(&replaced)) {
            asked.entry((file, wanted, replaced.clone())).or_insert(index);
        }
    }
    asked
}

/// The code that a finding wants to see: its fix, and its suggestion, or the code in it.
fn wanted(finding: &Finding) -> impl Iterator<Item = String> {
    let fix = finding.fix.as_ref().map(|fix| without_space(&fix.replacement));
    let suggestion = finding.suggestion.as_deref().map(without_space);
    let fenced = finding.suggestion.as_deref().and_then(fenced).map(without_space);
    [fix, suggestion, fenced].into_iter().flatten().filter(|wanted| is_telling(wanted))
}

/// The first block of code of a text.
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
        let held = hold_back(then, now, &[0], &LineMap::identity(), (LateFindings::Mild, &|_| passed));
        assert_eq!(held.first().map(|held| held.1), expected);
    }

    #[test]
    fn mild_remarks_on_lines_that_were_passed_are_held_back() {
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
    fn at_a_gate_only_grave_remarks_may_come_late() {
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
            let held = |passed: bool| {
                hold_back(&[], &late, &[0], &LineMap::identity(), (LateFindings::AllButGrave, &|_| passed)).len() == 1
            };
            assert_eq!(held(true), expected, "{category} {severity}");
            assert!(!held(false), "{category} {severity}");
        }
    }

    #[test]
    fn only_new_findings_are_held_back() {
        let findings = [finding(Severity::Nit, "other()", "")];
        assert_eq!(hold_back(&[], &findings, &[], &LineMap::identity(), (LateFindings::Mild, &|_| true)), []);
        assert_eq!(hold_back(&[], &findings, &[5], &LineMap::identity(), (LateFindings::Mild, &|_| true)), []);
    }
}
