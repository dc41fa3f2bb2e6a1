//! Stored reviews: comparison with one another, and export to files.

use tollgate_core::delta::classify::{self, Delta, ReviewedScope, classify};
use tollgate_core::delta::identity::{ComparedFinding, match_findings};
use tollgate_core::delta::line_map::LineMap;
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::delta::unseen;
use tollgate_core::diff::FileDiff;
use tollgate_core::finding::{Finding, Severity};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::path::FilePath;
use tollgate_core::report::{self, sarif};
use tollgate_core::review::{Review, Withheld};
use tollgate_rules::catalog;
use tollgate_rules::hit::REVIEWER;

use crate::failure::Failure;
use crate::store::{Database, Listed, Run};

/// A stored review with its context.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredReview {
    /// The run.
    pub run: Run,
    /// Its row in lists.
    pub listed: Listed,
    /// The delta to its prior review, if there was one.
    pub since: Option<Since>,
    /// The newest run of the same line of work, when that is another one.
    pub last: Option<i64>,
    /// True when the newest run supersedes this one.
    pub is_outdated: bool,
}

/// The delta between two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Since {
    /// The earlier run.
    pub prior: Run,
    /// New, resolved, still open; without praise.
    pub delta: Delta,
    /// Findings of the earlier run that are suppressed now, by their index: they are not resolved.
    pub dismissed: Vec<usize>,
}

impl Since {
    fn of(prior: Run, run: &Run) -> Self {
        let mut delta = compare(&prior, run);
        let of = |run: &Run| run.review.as_ref().map_or_else(Vec::new, |review| review.findings.clone());
        let (before, now) = (of(&prior), of(run));
        let is_remark = |findings: &[Finding], index: usize| {
            findings.get(index).is_some_and(|finding| finding.severity != Severity::Praise)
        };
        delta.new.retain(|&index| is_remark(&now, index));
        delta.still_open.retain(|open| is_remark(&before, open.prior));
        let withheld = run.review.iter().flat_map(|review| &review.withheld);
        let suppressed: Vec<Fingerprint> = withheld
            .filter(|held| matches!(held.why, Withheld::Suppressed { .. }))
            .map(|held| Fingerprint::of(&held.finding))
            .collect();
        let is_suppressed =
            |index: &usize| before.get(*index).is_some_and(|finding| suppressed.contains(&Fingerprint::of(finding)));
        let resolved = std::mem::take(&mut delta.resolved).into_iter().filter(|&index| is_remark(&before, index));
        let (dismissed, resolved) = resolved.partition(is_suppressed);
        delta.resolved = resolved;
        Self { prior, delta, dismissed }
    }
}

/// A run by its number, compared with the one before it.
pub fn recall(database: &Database, id: i64) -> Result<Option<StoredReview>, Failure> {
    let Some((run, listed)) = database.run(id)? else { return Ok(None) };
    let prior = run.prior.map(|prior| database.run(prior)).transpose()?.flatten();
    let since = prior.map(|(prior, _)| Since::of(prior, &run));
    let last = database.last_run_of(&run.subject)?.filter(|last| last.id != run.id);
    let is_outdated = last.as_ref().is_some_and(|last| last.id > run.id && is_outdated(&run, last));
    Ok(Some(StoredReview { run, listed, since, last: last.map(|last| last.id), is_outdated }))
}

/// The reviewers of a run. The rules review every change, also where they find nothing.
pub fn reviewers(listed: &Listed) -> Vec<String> {
    let rules = listed.state.is_some().then(|| REVIEWER.to_owned());
    let mut names: Vec<String> = listed.reviewers.iter().cloned().chain(rules).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The rules that a review names, as SARIF describes them.
pub fn rules_in(review: &Review) -> Vec<sarif::Rule> {
    let named = review.findings.iter().chain(review.withheld.iter().map(|held| &held.finding));
    let mut ids: Vec<&str> = named.filter_map(|finding| finding.origin.rule.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules = ids.into_iter().filter_map(catalog::find);
    rules
        .map(|rule| sarif::Rule {
            id: rule.id.to_owned(),
            short: rule.message.to_owned(),
            full: rule.why.to_owned(),
            help: format!("{} `tollgate rules show {}` has examples.", rule.why, rule.id),
        })
        .collect()
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// For people, and read back by tollgate.
    Markdown,
    /// For programs.
    Json,
    /// For code scanning.
    Sarif,
    /// One page that needs nothing else.
    Html,
}

/// Renders a review as a file. Only the HTML page contains lines of the change, as far as they are given.
pub fn export(review: &Review, files: &[FileDiff], gate: Option<Gate>, form: Export) -> String {
    match form {
        Export::Markdown => report::markdown::write(review),
        Export::Json => report::json::write(review, report::json::Options { gate, ..Default::default() }),
        Export::Sarif => {
            let (version, rules) = (Some(env!("CARGO_PKG_VERSION")), &rules_in(review)[..]);
            sarif::write(review, sarif::Options { version, rules, ..Default::default() })
        }
        Export::Html => report::html::write(review, files, gate),
    }
}

/// Compares the findings of two runs.
///
/// A review includes the findings it carried over, so a finding that is missing in the later one is resolved.
pub fn compare(earlier: &Run, later: &Run) -> Delta {
    let map = match snapshots(earlier, later) {
        Some((then, now)) => LineMap::between(&then, &now),
        None => LineMap::identity(),
    };
    let (prior, current) = (claims(earlier), claims(later));
    let joined = match_findings(&prior, &current, &map);
    classify(&prior, current.len(), &joined, &map, ReviewedScope::at(&|_, _| true))
}

/// The findings of a run that count.
pub fn claims(run: &Run) -> Vec<ComparedFinding<'_>> {
    findings(run).iter().map(ComparedFinding::from).collect()
}

/// True when a later run shows that a review no longer speaks for the change.
pub fn is_outdated(run: &Run, last: &Run) -> bool {
    let (Some(review), Some((then, now))) = (&run.review, snapshots(run, last)) else {
        return false;
    };
    let resolved = compare(run, last).resolved;
    let fixed: Vec<Severity> = resolved.iter().map(|&index| review.findings[index].severity).collect();
    let fresh = unseen::unseen_lines(&then, &now);
    let changed: Vec<FilePath> = fresh.files().cloned().collect();
    let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    // What a rule skipped was in its scope, too.
    let scope: Vec<FilePath> = hunks.map(|hunk| hunk.file.clone()).chain(review.files_reviewed.clone()).collect();
    classify::re_review_required(classify::Since {
        fixed: &fixed,
        n_added: fresh.n_added() as u64,
        changed: &changed,
        scope: &scope,
    })
}

fn findings(run: &Run) -> &[Finding] {
    run.review.as_ref().map_or(&[], |review| &review.findings)
}

fn snapshots(earlier: &Run, later: &Run) -> Option<(Snapshot, Snapshot)> {
    let read = |run: &Run| Snapshot::from_bytes(run.snapshot.as_deref()?).ok();
    read(earlier).zip(read(later))
}
