//! Which findings count, and under which number.

use tollgate_core::analysis::{self, Category};
use tollgate_core::change::Change;
use tollgate_core::finding::{Finding, FindingId, Summary};
use tollgate_core::merge;
use tollgate_core::policy::{Decision, Policy};
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_core::suppress::{self, Dismissal, Suppressed};
use tollgate_rules::catalog;
use tollgate_rules::text::mask::mask;

use crate::config::Settings;

/// By what it is decided.
pub(super) struct Rules<'a> {
    pub(super) settings: &'a Settings,
    pub(super) policy: &'a Policy,
    /// The names of the user's rules.
    pub(super) user: &'a [String],
    /// True for the names of models and agents.
    pub(super) is_model: &'a dyn Fn(&str) -> bool,
    /// True when marks that the change itself adds suppress findings.
    pub(super) own_marks: bool,
}

impl Rules<'_> {
    /// Decides which findings count, worst first.
    pub(super) fn accept(
        &self,
        findings: Vec<Finding>,
        withheld: Vec<WithheldFinding>,
        change: &Change,
        dismissals: &[Dismissal],
    ) -> Suppressed {
        let is_rule = |name: &str| catalog::find(name).is_some() || self.user.iter().any(|rule| rule == name);
        let mut known = findings.iter().filter_map(|finding| finding.origin.rule.clone()).collect::<Vec<_>>();
        known.sort();
        let is_known = |name: &str| is_rule(name) || known.binary_search_by(|rule| rule.as_str().cmp(name)).is_ok();
        let is_docs = |path: &[u8]| analysis::category(path) == Category::Docs;
        // Documents explain the comment more often than they use it.
        let with_code = change.files.iter().filter(|file| !is_docs(file.path().as_bytes()));
        let mut ignores: Vec<_> = with_code.flat_map(suppress::ignores).collect();
        ignores.retain(|ignore| self.own_marks || !ignore.added);
        let weighed = findings.into_iter().map(|finding| Finding { severity: self.policy.weigh(&finding), ..finding });
        let merged = merge::merge(weighed.collect());
        let (merged, outvoted) = merge::consensus(merged, self.settings.consensus, self.is_model);
        let mut accepted = suppress::apply(merged, &ignores, &self.settings.suppressions, dismissals, &is_known);
        accepted.withheld.extend(outvoted);
        accepted
            .withheld
            .extend(withheld.into_iter().map(|held| WithheldFinding { finding: masked(held.finding), why: held.why }));
        for finding in std::mem::take(&mut accepted.kept) {
            let why = match self.policy.decide(&finding, is_docs(finding.location.file.as_str().as_bytes())) {
                Decision::Counts => {
                    accepted.kept.push(finding);
                    continue;
                }
                Decision::BelowFloor => Withheld::BelowFloor,
                Decision::IgnoredArea(area) => Withheld::IgnoredArea(area),
            };
            accepted.withheld.push(WithheldFinding { finding, why });
        }
        accepted
    }
}

/// Numbers the findings that count, and on from there those that do not: an id is good for one finding only.
pub(super) fn number(accepted: &mut Suppressed) {
    let withheld = accepted.withheld.iter_mut().map(|withheld| &mut withheld.finding);
    for (index, finding) in accepted.kept.iter_mut().chain(withheld).enumerate() {
        finding.id = FindingId::at(index);
    }
}

/// The finding without the secrets it quotes: no output ever prints one.
pub(super) fn masked(mut finding: Finding) -> Finding {
    finding.evidence = mask(&finding.evidence).into_owned();
    let hide = |text: &mut Option<String>| *text = text.take().map(|text| mask(&text).into_owned());
    hide(&mut finding.reason);
    hide(&mut finding.suggestion);
    // A fix that had to be changed could not be applied any more.
    finding.fix = finding.fix.take().filter(|fix| mask(&fix.replacement) == fix.replacement);
    finding.summary = Summary::shorten(&mask(finding.summary.as_str())).0;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::{Category as About, Fix, LineRange, Location, Origin, Severity, Side};
    use tollgate_core::path::FilePath;

    #[test]
    fn a_secret_that_another_tool_quotes_is_masked_everywhere() {
        // In two pieces, so that this file does not hold one.
        let secret = ["ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"].concat();
        let quote = format!("token = \"{secret}\"");
        let lines = LineRange::line(1);
        let finding = masked(Finding {
            id: FindingId::at(0),
            severity: Severity::High,
            category: About::Security,
            location: Location { file: FilePath::parse("a.conf").unwrap(), lines, side: Side::Right },
            summary: Summary::parse(&quote).unwrap(),
            reason: Some(quote.clone()),
            evidence: quote.clone(),
            suggestion: Some(quote.clone()),
            fix: Some(Fix { lines, replacement: quote }),
            origin: Origin::default(),
            extra: serde_json::Map::new(),
        });
        assert!(!format!("{finding:?}").contains(&secret), "{finding:?}");
        assert_eq!(finding.fix, None);
    }
}
