//! The spine: one change, from trigger to finished review.
//!
//! What only enriches a review fails open and leaves a note; the review itself
//! fails closed: no answer is never an approval.

use std::path::PathBuf;

use tollgate_core::analysis::{self, Category};
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, Looked};
use tollgate_core::finding::{Finding, FindingId, Summary};
use tollgate_core::merge;
use tollgate_core::path::FilePath;
use tollgate_core::review::{Review, Withheld, WithheldFinding};
use tollgate_core::suppress;
use tollgate_rules::catalog;
use tollgate_rules::change::Declared;
use tollgate_rules::text::mask::mask;

use crate::config::Settings;
use crate::failure::Failure;
use crate::forge::local::{FetchOptions, Local};
use crate::reviewer::embedded;
use crate::reviewer::imported::{self, Scope};

/// Everything a review needs from outside.
pub struct World<'a> {
    /// How to review.
    pub settings: &'a Settings,
    /// Where the change is.
    pub forge: Local,
    /// What other tools found, paths relative to the repository.
    pub imported: Vec<Finding>,
    /// What other tools found and somebody suppressed there.
    pub imported_withheld: Vec<WithheldFinding>,
    /// Which of that counts.
    pub scope: Scope,
    /// What the author said of the change.
    pub declared: Declared<'a>,
    /// This very program, which scans files as a child of itself.
    pub executable: PathBuf,
    /// Is told how the review goes.
    pub events: &'a dyn Fn(Event<'_>),
}

/// How a review goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The change was read.
    Fetched {
        /// What is compared with what.
        compared: &'a str,
        /// How many files it has.
        n_files: usize,
    },
    /// So many of so many files were scanned.
    Scanned {
        /// How many are done.
        n_done: usize,
        /// How many there are.
        n_files: usize,
    },
}

/// A change and its review. A change without files has a review without findings.
#[derive(Debug)]
pub struct Reviewed {
    /// What was reviewed.
    pub change: Change,
    /// The review.
    pub review: Review,
    /// What people should know beside the findings; also in the review's notes.
    pub notes: Vec<String>,
}

/// Reviews one change, from trigger to finished review.
pub fn review_change(world: &mut World<'_>) -> Result<Reviewed, Failure> {
    let options = FetchOptions { base: world.settings.base.clone(), max_diff_bytes: world.settings.max_diff_bytes };
    let change = world.forge.fetch(&options)?;
    (world.events)(Event::Fetched { compared: &change.compared, n_files: change.files.len() });

    let asked = embedded::asks_for_paths(&change, world.declared);
    let paths = if asked { world.forge.paths_before(&change) } else { Vec::new() };
    let mut contents = world.forge.contents();
    let request = embedded::Request {
        change: &change,
        settings: world.settings,
        root: world.forge.root(),
        executable: &world.executable,
        declared: if world.declared.paths.is_empty() { world.declared.in_repository(&paths) } else { world.declared },
        progress: &|n_done, n_files| (world.events)(Event::Scanned { n_done, n_files }),
    };
    let answer = embedded::review(&request, &mut |file, max_bytes| contents.read(file, max_bytes))?;
    let imported = imported::accept(std::mem::take(&mut world.imported), &change.files, world.scope);

    let mut notes = change.notes.clone();
    notes.extend(answer.notes);
    notes.extend(unknown_rules(world.settings, &answer.user_rules));
    let findings = answer.findings.into_iter().chain(imported.findings).map(masked).collect();
    let withheld = imported.withheld.into_iter().chain(std::mem::take(&mut world.imported_withheld));
    let withheld =
        withheld.map(|withheld| WithheldFinding { finding: masked(withheld.finding), why: withheld.why }).collect();
    let accepted = accept(findings, withheld, &change, world.settings, &answer.user_rules);
    notes.extend(accepted.notes);

    let review = Review {
        title: change.title.clone(),
        reviewed: change.head.clone(),
        base: change.base.clone(),
        compared: Some(change.compared.clone()),
        files_reviewed: files_reviewed(&answer.coverage),
        findings: accepted.kept,
        withheld: accepted.withheld,
        coverage: Some(answer.coverage),
        re_review_required: false,
        notes: (!notes.is_empty()).then(|| notes.join("\n")),
        extra: serde_json::Map::new(),
    };
    Ok(Reviewed { change, review, notes })
}

/// Decides which findings count and numbers them, worst first.
fn accept(
    findings: Vec<Finding>,
    withheld: Vec<WithheldFinding>,
    change: &Change,
    settings: &Settings,
    user_rules: &[String],
) -> suppress::Suppressed {
    let is_rule = |name: &str| catalog::find(name).is_some() || user_rules.iter().any(|rule| rule == name);
    let mut is_known = findings.iter().filter_map(|finding| finding.origin.rule.clone()).collect::<Vec<_>>();
    is_known.sort();
    let is_known = |name: &str| is_rule(name) || is_known.binary_search_by(|rule| rule.as_str().cmp(name)).is_ok();
    // Documents explain the comment more often than they use it.
    let with_code = change.files.iter().filter(|file| analysis::category(file.path().as_bytes()) != Category::Docs);
    let ignores: Vec<_> = with_code.flat_map(suppress::ignores).collect();
    let mut accepted = suppress::apply(merge::merge(findings), &ignores, &settings.suppressions, &[], &is_known);
    accepted.withheld.extend(withheld);

    let (kept, mild): (Vec<_>, Vec<_>) =
        std::mem::take(&mut accepted.kept).into_iter().partition(|finding| finding.severity >= settings.floor);
    let below = |finding| WithheldFinding { finding, why: Withheld::BelowFloor };
    accepted.withheld.extend(mild.into_iter().map(below));
    accepted.kept = kept;
    for (index, finding) in accepted.kept.iter_mut().enumerate() {
        finding.id = FindingId::at(index);
    }
    // Numbered on from the last finding that counts, so that an id is good for one finding only.
    let n_kept = accepted.kept.len();
    for (index, withheld) in accepted.withheld.iter_mut().enumerate() {
        withheld.finding.id = FindingId::at(n_kept + index);
    }
    accepted
}

/// The finding without the secrets it quotes: no output ever prints one.
fn masked(mut finding: Finding) -> Finding {
    finding.evidence = mask(&finding.evidence).into_owned();
    let hide = |text: &mut Option<String>| *text = text.take().map(|text| mask(&text).into_owned());
    hide(&mut finding.reason);
    hide(&mut finding.suggestion);
    // A fix that had to be changed could not be applied any more.
    finding.fix = finding.fix.take().filter(|fix| mask(&fix.replacement) == fix.replacement);
    finding.summary = Summary::shorten(&mask(finding.summary.as_str())).0;
    finding
}

fn files_reviewed(coverage: &Coverage) -> Vec<FilePath> {
    let reviewed = coverage.hunks.iter().filter(|covered| covered.looked == Looked::Reviewed);
    let mut files: Vec<FilePath> = reviewed.map(|covered| covered.file.clone()).collect();
    files.dedup();
    files
}

/// Names in the configuration that no rule has, which is most likely a mistake.
fn unknown_rules(settings: &Settings, user_rules: &[String]) -> Vec<String> {
    let ids = || catalog::all().iter().map(|rule| rule.id).chain(user_rules.iter().map(String::as_str));
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{']);
    let unknown = settings.rules.names().filter(is_plain).filter(|name| !ids().any(|id| id == *name));
    unknown.map(|name| format!("the configuration names the rule `{name}`, and no rule is called that")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::{Category as About, Fix, LineRange, Location, Origin, Severity, Side};

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
