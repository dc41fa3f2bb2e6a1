//! Stage 4, accepted: decides which findings count, compares them with the prior review, and numbers them.
//!
//! Secrets that a finding quotes are masked here, before the finding is stored or shown.

use tollgate_core::analysis::{self, Category};
use tollgate_core::board::Compliance;
use tollgate_core::change::Change;
use tollgate_core::coverage::Coverage;
use tollgate_core::delta::convergence::LateFindings;
use tollgate_core::finding::{Finding, FindingId, Summary};
use tollgate_core::finding_key;
use tollgate_core::merge;
use tollgate_core::path::FilePath;
use tollgate_core::policy::{Decision, Policy};
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_core::suppress::{self, Dismissal, Suppressed};
use tollgate_core::verify;
use tollgate_rules::catalog;
use tollgate_rules::text::mask::KnownSecrets;

use super::models::{self, ModelResults};
use super::observe::Observed;
use super::plan::Planned;
use super::prior::{CARRIED, Inspected, MappedPrior};
use super::{ReviewRequest, SinceLast, scopes};
use crate::config::Settings;
use crate::redaction::publishable;
use crate::reviewer::imported;

/// The findings that count and all that belongs to them.
pub(super) struct Accepted {
    pub(super) findings: Vec<Finding>,
    pub(super) withheld: Vec<WithheldFinding>,
    pub(super) coverage: Coverage,
    pub(super) since: Option<SinceLast>,
    pub(super) compliance: Compliance,
    /// The rest of the results of the models: runs, statements and prompts.
    pub(super) models: ModelResults,
    pub(super) notes: Vec<String>,
}

/// Accepts the findings of all reviewers, and those of the prior review that no reviewer looked at again.
pub(super) fn accept(request: &mut ReviewRequest<'_>, planned: &Planned, observed: Observed) -> Accepted {
    let Observed { rules: answer, mut models } = observed;
    let (settings, context) = (request.settings, request.context);
    let (change, history) = (&planned.change, &planned.history);
    let (prior, here) = (history.prior.as_ref(), history.here.as_ref());
    let mut coverage = answer.coverage;
    models::mark_missed(&mut coverage, change, &models.missed);
    coverage.hunks.extend(history.coverage_of_unread.iter().cloned());
    let imported = std::mem::take(&mut request.imported);
    let mut inspected = Inspected::new(&imported.findings, history.only_fresh(), &coverage, change);
    inspected.models = std::mem::take(&mut models.places);
    let sorted = imported::accept(imported.findings, &change.files, imported.scope);

    let mut notes = planned.notes.clone();
    notes.extend(answer.notes);
    notes.append(&mut models.notes);
    let (compliance, problems) = verify::combine_criteria(request.criteria, &models.testimony);
    notes.extend(problems);
    notes.extend(unknown_rules(settings, &answer.user_rules));

    let reported = answer.findings.into_iter().chain(sorted.findings).chain(models.findings.drain(..));
    let reported: Vec<Finding> = reported.collect();
    let withheld = sorted.withheld.into_iter().chain(imported.withheld).chain(models.withheld.drain(..));
    let mut withheld: Vec<WithheldFinding> = withheld.collect();
    let is_quoting = !reported.is_empty() || !withheld.is_empty();
    let secrets = KnownSecrets::of(if is_quoting { &change.files } else { &[] });
    let masked = |finding: Finding| masked(finding, &secrets);
    let mut findings: Vec<Finding> = reported.into_iter().map(masked).map(without_key).collect();
    scopes::name_functions(request, change, &mut findings);
    for held in &mut withheld {
        held.finding = masked(held.finding.clone());
    }
    let is_model = |name: &str| {
        let is_chosen = settings.reviewers.iter().any(|chosen| chosen.name == name);
        is_chosen || [prior, here].into_iter().flatten().any(|review| review.asked(name))
    };
    let is_off = |rule: &str| {
        let runs = catalog::find(rule).is_some() || answer.user_rules.iter().any(|name| name == rule);
        !runs || !settings.rules.enabled(rule)
    };
    let is_left_out = |file: &FilePath| !settings.paths.wants(file.as_str());
    for review in [prior, here].into_iter().flatten() {
        let off = review.switched_off(&is_off, &is_left_out);
        inspected.switched_off.rules.extend(off.rules);
        inspected.switched_off.files.extend(off.files);
    }
    if let Some(prior) = prior {
        inspected.answered = prior.answered(&models.prior);
        inspected.answered.extend(prior.dismissed(&planned.dismissals));
        inspected.settled = prior.settle(request, change, &inspected, (&models.prior, &is_model));
        let carried = prior.carried(&mut findings, &inspected);
        findings.extend(carried);
    }
    if let Some(here) = here {
        let known = (&inspected, planned.dismissals.as_slice());
        let carried = here.carried_here(request, change, &mut findings, known, (&models.prior, &is_model));
        findings.extend(carried);
    }
    for review in [prior, here].into_iter().flatten() {
        let claims = review.carried_claims(change, &models.prior, (&findings, &withheld), context.is_gate());
        let doubts = review.carried_doubts(&models, &inspected, &claims);
        withheld.extend(claims);
        models.doubts.extend(doubts);
    }
    let filter = Filter {
        settings,
        policy: &planned.policy,
        user_rules: &answer.user_rules,
        is_model: &is_model,
        own_marks: context.trusts_change(),
    };
    let mut accepted = filter.apply(findings, withheld, change, &planned.dismissals);
    let late = if context.is_gate() { LateFindings::AllButGrave } else { LateFindings::Mild };
    let compare = |prior: &MappedPrior| {
        prior.compare(&mut accepted.kept, &mut accepted.withheld, &inspected.answered, (late, &is_model))
    };
    let since = prior.map(compare);
    number(&mut accepted);
    notes.extend(accepted.notes);
    Accepted { findings: accepted.kept, withheld: accepted.withheld, coverage, since, compliance, models, notes }
}

/// Decides which findings count.
struct Filter<'a> {
    settings: &'a Settings,
    policy: &'a Policy,
    /// The names of the user's rules.
    user_rules: &'a [String],
    /// True for the names of models and agents.
    is_model: &'a dyn Fn(&str) -> bool,
    /// True when marks that the change itself adds suppress findings.
    own_marks: bool,
}

impl Filter<'_> {
    /// Merges and weighs findings, and withholds the suppressed, the outvoted and the ones below the floor.
    fn apply(
        &self,
        findings: Vec<Finding>,
        withheld: Vec<WithheldFinding>,
        change: &Change,
        dismissals: &[Dismissal],
    ) -> Suppressed {
        let is_rule = |name: &str| catalog::find(name).is_some() || self.user_rules.iter().any(|rule| rule == name);
        let mut known = findings.iter().filter_map(|finding| finding.origin.rule.clone()).collect::<Vec<_>>();
        known.sort();
        let is_known = |name: &str| is_rule(name) || known.binary_search_by(|rule| rule.as_str().cmp(name)).is_ok();
        let is_docs = |path: &[u8]| analysis::category(path) == Category::Docs;
        // Documentation shows suppression comments as examples more often than it uses them.
        let with_code = change.files.iter().filter(|file| !is_docs(file.path().as_bytes()));
        let mut ignores: Vec<_> = with_code.flat_map(suppress::ignores).collect();
        ignores.retain(|ignore| self.own_marks || !ignore.added);
        let weighed = findings.into_iter().map(|finding| Finding { severity: self.policy.weigh(&finding), ..finding });
        let dismissed = suppress::dismiss(weighed.collect(), dismissals);
        let merged = merge::merge(dismissed.kept);
        let (merged, outvoted) = merge::consensus(merged, self.settings.consensus, self.is_model);
        let mut accepted = suppress::apply(merged, &ignores, &self.settings.suppressions, &is_known);
        accepted.withheld.extend(dismissed.withheld);
        accepted.notes.extend(dismissed.notes);
        accepted.withheld.extend(outvoted);
        accepted.withheld.extend(withheld);
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

/// Numbers the findings that count, then the withheld ones, so that each id names one finding.
fn number(accepted: &mut Suppressed) {
    let withheld = accepted.withheld.iter_mut().map(|withheld| &mut withheld.finding);
    for (index, finding) in accepted.kept.iter_mut().chain(withheld).enumerate() {
        finding.extra.shift_remove(CARRIED);
        finding.id = FindingId::at(index);
    }
}

/// Notes on names in the configuration that no rule has, which are most likely typing errors.
fn unknown_rules(settings: &Settings, user_rules: &[String]) -> Vec<String> {
    let ids = || catalog::all().iter().map(|rule| rule.id).chain(user_rules.iter().map(String::as_str));
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{']);
    let unknown = settings.rules.names().filter(is_plain).filter(|name| !ids().any(|id| id == *name));
    unknown.map(|name| format!("the configuration names the rule `{name}`, and no rule is called that")).collect()
}

/// A reported finding has no key yet; one that a reviewer sets could take the place of another's comment.
fn without_key(mut finding: Finding) -> Finding {
    finding.extra.shift_remove(finding_key::KEY);
    finding
}

/// Redacts the secrets that a finding quotes, so that no output prints one.
///
/// A quote without its context, `password = …`, is recognised as one of the secrets of the change.
fn masked(mut finding: Finding, secrets: &KnownSecrets) -> Finding {
    let mask = |text: &str| secrets.mask(&publishable(text)).into_owned();
    finding.evidence = mask(&finding.evidence);
    let hide = |text: &mut Option<String>| *text = text.take().map(|text| mask(&text));
    hide(&mut finding.reason);
    hide(&mut finding.suggestion);
    // A redacted fix would put the mask into the file, so the fix is dropped.
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
        let finding = masked(
            Finding {
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
            },
            &KnownSecrets::of(&[]),
        );
        assert!(!format!("{finding:?}").contains(&secret), "{finding:?}");
        assert_eq!(finding.fix, None);
    }
}
