//! The prior review of the same line of work, and the delta to it.
//!
//! The store returns the prior review, its findings are mapped to the lines
//! where they are now, and findings at lines that no reviewer looked at again
//! are carried over: they are still open, not resolved.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use tollgate_core::change::Change;
use tollgate_core::coverage::{self, Coverage, CoveredHunk, HunkStatus};
use tollgate_core::delta::classify::{ReviewedScope, classify};
use tollgate_core::delta::convergence::{HoldReason, LateFindings, hold_back};
use tollgate_core::delta::identity::{ComparedFinding, match_findings};
use tollgate_core::delta::line_map::{LineMap, Mapped};
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::delta::unseen::{self, UnseenLines};
use tollgate_core::finding::{Finding, LineRange, Location, Side};
use tollgate_core::finding_key::FindingKey;
use tollgate_core::path::FilePath;
use tollgate_core::report::head_state::BlockerDelta;
use tollgate_core::report::json;
use tollgate_core::report::summary::Since;
use tollgate_core::review::{Doubt, Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::{Dismissal, Occurrence};
use tollgate_rules::catalog::{self, RuleKind};
use tollgate_rules::change::is_per_line;
use tollgate_rules::hit::REVIEWER;

use crate::failure::Failure;
use crate::store::{Run, Store, Subject};

mod here;
mod settle;
mod stored;
mod unsettled;

#[cfg(test)]
pub(super) use settle::PriorItem;
pub(super) use settle::{CARRIED, PriorKey, Settled};
pub(crate) use stored::MovedDelta;

/// For a smaller change, comparing all files is as fast as finding out which of them are known.
const MIN_LINES: usize = 1_000;

/// The extension field of a review that lists the models and agents with their calls, tokens and cost.
pub(super) const REVIEWERS: &str = "x_reviewers";

/// The prior review of the same line of work, as it is stored.
#[derive(Debug)]
pub(super) struct PriorReview {
    run: i64,
    review: Review,
    then: Snapshot,
    /// The files that it did not review completely, by their paths then.
    unfinished: HashSet<FilePath>,
    /// Its findings that an earlier review of the very state of now resolved, by their indices.
    resolved_now: HashSet<usize>,
}

/// The prior review, with its lines mapped onto the change as it is now.
#[derive(Debug)]
pub(super) struct MappedPrior {
    pub(super) run: i64,
    review: Review,
    map: LineMap,
    /// The lines that it has not seen.
    fresh: UnseenLines,
    /// The files that it did not review completely.
    unfinished: HashSet<FilePath>,
    /// Its findings that an earlier review of this very state resolved, by their indices.
    resolved_now: HashSet<usize>,
    /// True for the last review of this very state.
    is_here: bool,
}

/// The delta between a review and the prior one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceLast {
    /// The number of the prior review in the memory.
    pub run: i64,
    /// The commit that was reviewed then.
    pub head: Sha,
    /// Findings that are new, by their index in the review.
    pub new: Vec<usize>,
    /// Findings that were there before, by their index in the review.
    pub still_open: Vec<usize>,
    /// Findings of then that are resolved.
    pub resolved: Vec<Finding>,
    /// How many remarks were held back, because the prior review passed their lines.
    pub n_held_back: usize,
    /// How many findings of then do not count any more, because they were suppressed or the floor rose.
    pub n_withheld: usize,
    /// Those of them that are suppressed now.
    pub dismissed: Vec<WithheldFinding>,
    /// How many lines of the change the prior review had not seen.
    pub n_fresh: usize,
    /// How many lines were added since.
    pub n_added: usize,
    /// How many lines were removed since.
    pub n_removed: usize,
}

impl SinceLast {
    /// The delta as JSON, with the findings of the review by their ids.
    pub(super) fn to_json(&self, review: &Review) -> Value {
        let of = |indices: &[usize]| -> Vec<&Finding> {
            indices.iter().filter_map(|&index| review.findings.get(index)).collect()
        };
        let (new, still_open) = (of(&self.new), of(&self.still_open));
        let severity = |finding: &&Finding| finding.severity;
        let of_resolved = self.resolved.iter().map(|finding| finding.severity);
        let delta = BlockerDelta::of(new.iter().map(severity), of_resolved, still_open.iter().map(severity));
        let delta = delta.dismissing(self.dismissed.iter().map(|held| held.finding.severity));
        let ids = |findings: &[&Finding]| findings.iter().map(|finding| finding.id.to_string()).collect::<Vec<_>>();
        let value = |finding: &Finding| json::finding_value(finding, json::Form::Short);
        let resolved = self.resolved.iter().map(value);
        let dismissed = self.dismissed.iter().map(|held| value(&held.finding));
        json!({
            "head": self.head.as_str(),
            "new": ids(&new),
            "still_open": ids(&still_open),
            "resolved": resolved.collect::<Vec<_>>(),
            "dismissed": dismissed.collect::<Vec<_>>(),
            "withheld": self.n_withheld,
            "held_back": self.n_held_back,
            "fresh": self.n_fresh,
            "added": self.n_added,
            "removed": self.n_removed,
            "verdict_update": delta.name(),
        })
    }

    /// The delta as reports take it.
    pub fn for_report(&self) -> Since<'_> {
        Since {
            head: &self.head,
            new: &self.new,
            resolved: &self.resolved,
            dismissed: &self.dismissed,
            still_open: &self.still_open,
            n_added: self.n_added,
            n_removed: self.n_removed,
            held_back: self.n_held_back,
            had_findings: self.had_findings(),
        }
    }

    /// True when the prior review had findings, so that there is something to compare with.
    pub(crate) fn had_findings(&self) -> bool {
        self.n_withheld > 0 || !self.still_open.is_empty() || !self.resolved.is_empty()
    }
}

/// The lines and files that this review inspected.
#[derive(Debug, Clone)]
pub(super) struct Inspected {
    /// True when only fresh lines were.
    pub(super) only_fresh: bool,
    /// The hunks, and whether each was reviewed.
    pub(super) coverage: Coverage,
    /// The other tools whose findings were imported.
    pub(super) imported: HashSet<String>,
    /// The lines that each model or agent reviewed, by name.
    pub(super) models: HashMap<String, Vec<Location>>,
    /// What became of findings of models, by their indices in the prior review, if they are not reported again.
    pub(super) settled: HashMap<usize, Settled>,
    /// The prior findings that a reviewer called open or fixed, by their indices.
    pub(super) answered: HashSet<usize>,
    /// The files that were not fetched, since the prior review has seen them.
    pub(super) unread: HashSet<FilePath>,
    /// The findings of prior reviews that the settings keep every reviewer away from.
    pub(super) switched_off: SwitchedOff,
}

/// The rules that did not run and the files that were left out because of the settings. What they would find is not known.
#[derive(Debug, Clone, Default)]
pub(super) struct SwitchedOff {
    pub(super) rules: HashSet<String>,
    pub(super) files: HashSet<FilePath>,
}

impl Inspected {
    pub(super) fn new(imported: &[Finding], only_fresh: bool, coverage: &Coverage, change: &Change) -> Self {
        let imported = imported.iter().filter_map(|finding| finding.origin.reviewer.clone()).collect();
        let (coverage, models, settled) = (coverage.clone(), HashMap::new(), HashMap::new());
        let (answered, unread) = (HashSet::new(), known_paths(change));
        let switched_off = SwitchedOff::default();
        Self { only_fresh, coverage, imported, models, settled, answered, unread, switched_off }
    }
}

impl PriorReview {
    /// Loads the prior review of another state of the change.
    pub(super) fn before(
        store: &Store,
        subject: &Subject,
        change: &Change,
        now: &Snapshot,
    ) -> Result<Option<Self>, Failure> {
        let (head, now) = (change.head.as_str(), now.to_bytes());
        let Some(mut prior) = store.last_before(subject, head, &now)?.and_then(Self::of_run) else { return Ok(None) };
        if prior.review.findings.is_empty() {
            return Ok(Some(prior));
        }
        let runs = store.runs_at(subject, head, &now)?;
        let reviews: Vec<&Review> = runs.iter().filter_map(|run| run.review.as_deref()).collect();
        let findings = prior.review.findings.iter().enumerate();
        prior.resolved_now = findings.filter(|(_, it)| is_resolved_in(it, &reviews)).map(|(index, _)| index).collect();
        Ok(Some(prior))
    }

    /// Loads the last review of this very state of the change.
    pub(super) fn here(
        store: &Store,
        subject: &Subject,
        change: &Change,
        now: &Snapshot,
    ) -> Result<Option<Self>, Failure> {
        let runs = store.runs_at(subject, change.head.as_str(), &now.to_bytes())?;
        Ok(runs.into_iter().find_map(Self::of_run))
    }

    /// The number of the stored run.
    pub(super) fn run(&self) -> i64 {
        self.run
    }

    /// Loads the prior review, of any state of the change.
    pub(super) fn last(store: &Store, subject: &Subject) -> Result<Option<Self>, Failure> {
        Ok(store.last_of(subject)?.and_then(Self::of_run))
    }

    /// `None` for a run without a snapshot, which cannot be compared with.
    fn of_run(run: Run) -> Option<Self> {
        let then = Snapshot::from_bytes(&run.snapshot?).ok()?;
        let review = *run.review?;
        let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        // An answer that nothing settled says nothing about its hunks: they are reviewed again.
        let is_settled = review.unsettled_because().is_empty();
        let open = hunks.filter(|hunk| !is_settled || matches!(hunk.status, HunkStatus::NotReviewed(_)));
        let unfinished = open.map(|hunk| hunk.file.clone()).collect();
        Some(Self { run: run.id, review, then, unfinished, resolved_now: HashSet::new() })
    }

    /// The base that it compared with.
    pub(super) fn base(&self) -> &Sha {
        &self.review.base
    }

    /// True when skipping the files it has seen saves time, and when none of its findings depends on several files, so
    /// that a later review may look at some files alone.
    pub(super) fn is_worth_knowing(&self) -> bool {
        if self.then.n_lines() < MIN_LINES {
            return false;
        }
        let mut rules = self.review.findings.iter().filter_map(|finding| finding.origin.rule.as_deref());
        rules.all(|rule| !is_about_the_change(rule) || is_per_line(rule))
    }

    /// True when this model or agent was asked.
    pub(super) fn asked(&self, reviewer: &str) -> bool {
        asked(&self.review, reviewer)
    }

    /// True when it reviewed a file with this content completely.
    pub(super) fn knows(&self, old: Option<&FilePath>, new: Option<&FilePath>, blob: Option<&str>) -> bool {
        let is_finished = new.or(old).is_some_and(|path| !self.unfinished.contains(path));
        is_finished && self.then.has(old, new, blob)
    }

    /// Completes the snapshot of a change with the files that were not fetched.
    pub(super) fn complete(&self, now: Snapshot, change: &Change) -> Snapshot {
        if change.known.is_empty() {
            return now;
        }
        let known = known_paths(change);
        now.with(&self.then, |path| known.contains(path))
    }

    /// Its coverage of the files that were not fetched this time.
    pub(super) fn coverage_of_known(&self, change: &Change) -> Vec<CoveredHunk> {
        let known = known_paths(change);
        let hunks = self.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        let covered = hunks.filter(|hunk| known.contains(&hunk.file)).map(|hunk| match hunk.status {
            HunkStatus::Reviewed => {
                CoveredHunk { status: HunkStatus::unchanged_since(&self.review.reviewed), ..hunk.clone() }
            }
            HunkStatus::Skipped(_) | HunkStatus::NotReviewed(_) => hunk.clone(),
        });
        covered.collect()
    }

    /// Why lines are not reviewed again, for people.
    pub(super) fn unchanged_because(&self) -> String {
        coverage::unchanged_since(&self.review.reviewed)
    }

    /// Maps its lines onto the change as it is now.
    pub(super) fn mapped_onto(self, now: &Snapshot) -> MappedPrior {
        let Self { run, review, then, unfinished, resolved_now } = self;
        let map = LineMap::between(&then, now);
        let unfinished = unfinished.iter().filter_map(|file| map.path(file, Side::Right)).cloned().collect();
        let fresh = unseen::unseen_lines(&then, now);
        MappedPrior { run, fresh, review, map, unfinished, resolved_now, is_here: false }
    }
}

/// True when the newest of these reviews of one state that knows a finding lists it as resolved.
fn is_resolved_in(finding: &Finding, reviews: &[&Review]) -> bool {
    let is_it = |other: &Finding| {
        FindingKey::of(other).fingerprint() == FindingKey::of(finding).fingerprint()
            && other.evidence == finding.evidence
    };
    let known = reviews.iter().find_map(|review| {
        let is_open = review.findings.iter().any(is_it);
        let since = SinceLast::stored(review);
        let is_same = |then: &Finding| is_it(then) && then.location == finding.location;
        let is_resolved = since.is_some_and(|since| since.resolved.iter().any(is_same));
        (is_open || is_resolved).then_some(!is_open)
    });
    known.unwrap_or(false)
}

/// True when this model or agent was asked in a review.
fn asked(review: &Review, reviewer: &str) -> bool {
    let asked = review.extra.get(REVIEWERS).and_then(Value::as_array).into_iter().flatten();
    asked.filter_map(|asked| asked["name"].as_str()).any(|name| name == reviewer)
}

/// True for a rule that looks at the change as a whole.
pub(super) fn is_about_the_change(rule: &str) -> bool {
    catalog::find(rule).is_some_and(|rule| rule.kind() == RuleKind::Change)
}

fn known_paths(change: &Change) -> HashSet<FilePath> {
    change.known.iter().map(|file| FilePath::of_repo_path(file.path())).collect()
}

impl MappedPrior {
    pub(super) fn head(&self) -> &Sha {
        &self.review.reviewed
    }

    /// True when the prior review has not seen one of these lines, or did not review the file completely.
    pub(super) fn is_fresh(&self, file: &FilePath, lines: LineRange, side: Side) -> bool {
        self.fresh.touches(file, lines, side) || self.unfinished.contains(file)
    }

    /// True when this line itself changed since the prior review.
    pub(super) fn is_new_line(&self, file: &FilePath, line_number: u32, side: Side) -> bool {
        self.fresh.is_new(file, line_number, side)
    }

    /// True when this model or agent was asked.
    pub(super) fn asked(&self, reviewer: &str) -> bool {
        asked(&self.review, reviewer)
    }

    /// True when a model or agent has not seen one of these lines.
    pub(super) fn is_new_to(&self, reviewer: &str, file: &FilePath, lines: LineRange, side: Side) -> bool {
        !self.asked(reviewer) || self.is_fresh(file, lines, side)
    }

    /// The prior findings that are still open and not reported again, at their current lines.
    ///
    /// Those of models are settled by what reviewers say about them; the others are open where no reviewer inspected their
    /// lines again. A blocker that a model reports again about untouched code stays one: other words do not downgrade it.
    pub(super) fn carried(&self, found: &mut [Finding], inspected: &Inspected) -> Vec<Finding> {
        let is_reviewed = |claim: &ComparedFinding<'_>, mapped: &Mapped| self.is_reviewed(claim, mapped, inspected);
        let prior = &self.carryable();
        let (then, now) = (with_answers(prior, &inspected.answered), compared(&*found));
        let joined = match_findings(&then, &now, &self.map);
        let settled = classify(&then, now.len(), &joined, &self.map, ReviewedScope::at(&is_reviewed));
        let is_untouched =
            |claim: &ComparedFinding<'_>| claim.mapped(&self.map).is_some_and(|mapped| !is_reviewed(claim, &mapped));
        let reported: HashSet<usize> = joined.pairs.iter().map(|(index, _)| *index).collect();
        let untouched = joined.pairs.into_iter().filter(|(index, _)| is_untouched(&then[*index])).collect::<Vec<_>>();
        for (then, now) in untouched {
            keep_blocking(&prior[then], &mut found[now]);
        }
        let said_open = (0..prior.len()).filter(|index| !reported.contains(index)).filter_map(|index| match inspected
            .settled
            .get(&index)?
        {
            Settled::Open(open) => Some((**open).clone()),
            Settled::Resolved => None,
        });
        let open = settled.still_open.into_iter().filter(|open| open.current.is_none());
        let open = open.filter(|open| !inspected.settled.contains_key(&open.prior)).map(|open| {
            let mut carried = moved(&prior[open.prior], open.at);
            if open.prior >= self.review.findings.len() {
                // It is weighed again, and no late remark on lines that the prior review passed.
                carried.extra.insert(settle::CARRIED.to_owned(), Value::Null);
            }
            carried
        });
        said_open.chain(open).collect()
    }

    /// The current path of a file of the prior review.
    pub(super) fn path<'a>(&'a self, file: &'a FilePath) -> Option<&'a FilePath> {
        self.map.path(file, Side::Right)
    }

    /// A finding of the prior review at its current lines, if they are untouched.
    pub(super) fn occurrence(&self, finding: &Finding) -> Option<Occurrence> {
        let Mapped::At(location) = self.map.locate(&finding.location) else { return None };
        Some(Occurrence(moved(finding, Some(location))))
    }

    /// The findings of the prior review, counted or suppressed.
    pub(super) fn found(&self) -> impl Iterator<Item = &Finding> {
        self.review.findings.iter().chain(self.suppressed())
    }

    /// The suppressed findings of the prior review.
    fn suppressed(&self) -> impl Iterator<Item = &Finding> {
        let suppressed = self.review.withheld.iter().filter(|held| matches!(held.why, Withheld::Suppressed { .. }));
        suppressed.map(|held| &held.finding)
    }

    /// The findings that are carried over and dismissed, by their indices: a person gave the answer about them.
    pub(super) fn dismissed(&self, dismissals: &[Dismissal]) -> Vec<usize> {
        let is_dismissed =
            |finding: &Finding| dismissals.iter().any(|one| one.file == finding.location.file && one.covers(finding));
        let findings = self.carryable();
        (0..findings.len()).filter(|&index| is_dismissed(&findings[index])).collect()
    }

    /// The findings of the prior review that this dismissal suppressed.
    pub(super) fn dismissed_by(&self, dismissal: &Dismissal) -> impl Iterator<Item = &Finding> {
        let by = dismissal.suppressor();
        let is_by = move |why: &Withheld| matches!(why, Withheld::Suppressed { kind, .. } if *kind == by);
        self.review.withheld.iter().filter(move |held| is_by(&held.why)).map(|held| &held.finding)
    }

    /// The findings that are carried over: those that counted, then those that a dismissal, the consensus or the
    /// profile withheld.
    /// The latter are weighed again, so that every later verdict names them, or counts them once the dismissal is gone.
    fn carryable(&self) -> Vec<Finding> {
        let withheld = self.review.withheld.iter().filter(|held| is_weighed_again(held));
        let withheld = withheld.map(|held| held.finding.clone());
        self.review.findings.iter().cloned().chain(withheld).collect()
    }

    /// The rules and files of findings that the settings have switched off.
    pub(super) fn switched_off(
        &self,
        is_off: &dyn Fn(&str) -> bool,
        is_left_out: &dyn Fn(&FilePath) -> bool,
    ) -> SwitchedOff {
        let findings = self.carryable();
        let rules = findings.iter().filter(|finding| finding.origin.reviewer.as_deref() == Some(REVIEWER));
        let rules = rules.filter_map(|finding| finding.origin.rule.clone()).filter(|rule| is_off(rule)).collect();
        let files = findings.iter().filter_map(|finding| self.map.path(&finding.location.file, finding.location.side));
        SwitchedOff { rules, files: files.filter(|file| is_left_out(file)).cloned().collect() }
    }

    /// True when the reviewer that made a finding inspected its lines again.
    fn is_reviewed(&self, claim: &ComparedFinding<'_>, mapped: &Mapped, inspected: &Inspected) -> bool {
        let is_off = |rule: &str| inspected.switched_off.rules.contains(rule);
        let file = self.map.path(claim.file, claim.side).unwrap_or(claim.file);
        if inspected.switched_off.files.contains(file) || claim.rule.is_some_and(is_off) {
            return false;
        }
        if let Some(places) = claim.reviewer.and_then(|name| inspected.models.get(name)) {
            let Mapped::At(location) = mapped else {
                return self.inspected_all_of(claim, inspected);
            };
            // Models are not deterministic: silence about unchanged lines does not mean that the finding was fixed.
            return self.is_fresh(&location.file, location.lines, location.side)
                && places.iter().any(|place| is_part(place, location));
        }
        if claim.reviewer != Some(REVIEWER) {
            return claim.reviewer.is_some_and(|name| inspected.imported.contains(name));
        }
        let Mapped::At(location) = mapped else {
            return self.inspected_all_of(claim, inspected);
        };
        // Rules about the change as a whole see every fetched file.
        if claim.rule.is_some_and(is_about_the_change) {
            return !inspected.unread.contains(&location.file);
        }
        let fresh = self.is_fresh(&location.file, location.lines, location.side);
        (fresh || !inspected.only_fresh) && was_reviewed(&inspected.coverage, location)
    }

    /// True when the file of a finding was reviewed completely. Only then is a finding whose lines are gone resolved.
    fn inspected_all_of(&self, claim: &ComparedFinding<'_>, inspected: &Inspected) -> bool {
        let file = self.map.path(claim.file, claim.side).unwrap_or(claim.file);
        let mut hunks = inspected.coverage.hunks.iter().filter(|hunk| hunk.file == *file);
        !inspected.switched_off.files.contains(file)
            && !hunks.any(|hunk| matches!(hunk.status, HunkStatus::NotReviewed(_)))
    }

    /// Sorts findings into new, still open and resolved, and holds back remarks on lines that the prior review passed.
    pub(super) fn compare(
        &self,
        kept: &mut Vec<Finding>,
        withheld: &mut Vec<WithheldFinding>,
        answered: &HashSet<usize>,
        (late, is_model): (LateFindings, &dyn Fn(&str) -> bool),
    ) -> SinceLast {
        let prior = &self.review.findings;
        let then = with_answers(prior, answered);
        let held = self.held_back(&then, kept, withheld, (late, is_model));
        let n_held_back = held.len();
        for (index, why) in held.into_iter().rev() {
            let finding = kept.remove(index);
            withheld.push(WithheldFinding { finding, why: Withheld::HeldBack(why) });
        }
        let pairs = with_carried(self.pairs(&then, kept, withheld), kept, withheld);
        self.keep_keys(&pairs, kept, withheld);
        let joined: HashSet<usize> = pairs.iter().map(|(prior, _)| *prior).collect();
        let still_open: HashSet<usize> = pairs.iter().map(|(_, current)| *current).collect();
        let (still_open, new): (Vec<usize>, Vec<usize>) = (0..kept.len()).partition(|index| still_open.contains(index));
        let resolved = prior.iter().enumerate().filter(|(index, _)| !joined.contains(index));
        let (n_added, n_removed) = self.fresh.since_last();
        SinceLast {
            run: self.run,
            head: self.head().clone(),
            new,
            resolved: resolved.map(|(_, finding)| finding.clone()).collect(),
            n_withheld: pairs.iter().filter(|(_, current)| *current >= kept.len()).count(),
            dismissed: suppressed(pairs.iter().map(|(_, current)| *current), kept.len(), withheld),
            still_open,
            n_held_back,
            n_fresh: self.fresh.n_lines(),
            n_added,
            n_removed,
        }
    }

    /// Gives findings that are worded differently this time the keys of their comments.
    fn keep_keys(&self, pairs: &[(usize, usize)], kept: &mut [Finding], withheld: &mut [WithheldFinding]) {
        let keys = FindingKey::all(&self.review.findings);
        let mut now: Vec<&mut Finding> =
            kept.iter_mut().chain(withheld.iter_mut().map(|held| &mut held.finding)).collect();
        for &(then, current) in pairs {
            keys[then].keep(now[current]);
        }
    }

    /// Pairs prior findings with current ones, whether these count or not.
    fn pairs(
        &self,
        then: &[ComparedFinding<'_>],
        kept: &[Finding],
        withheld: &[WithheldFinding],
    ) -> Vec<(usize, usize)> {
        let now = kept.iter().chain(withheld.iter().map(|withheld| &withheld.finding));
        match_findings(then, &compared(now), &self.map).pairs
    }

    /// New findings that contradict the prior review or are about lines that it passed, with the reason.
    fn held_back(
        &self,
        then: &[ComparedFinding<'_>],
        kept: &[Finding],
        withheld: &[WithheldFinding],
        (late, is_model): (LateFindings, &dyn Fn(&str) -> bool),
    ) -> Vec<(usize, String)> {
        let pairs = self.pairs(then, kept, withheld);
        let known: HashSet<usize> = pairs.into_iter().map(|(_, current)| current).collect();
        // A reviewer that was not asked then has not passed any lines.
        let was_there = |finding: &Finding| match finding.origin.reviewer.as_deref() {
            None | Some(REVIEWER) => true,
            Some(name) => asked(&self.review, name) || !is_model(name),
        };
        let is_carried = |finding: &Finding| finding.extra.contains_key(settle::CARRIED);
        let is_new = |index: &usize| !known.contains(index) && was_there(&kept[*index]) && !is_carried(&kept[*index]);
        let new: Vec<usize> = (0..kept.len()).filter(is_new).collect();
        let coverage = self.review.coverage.as_ref();
        let passed =
            |location: &Location| coverage.is_some() && !self.is_fresh(&location.file, location.lines, location.side);
        let prior = &self.review.findings;
        let words = |why| match why {
            HoldReason::Passed => format!("the review of {} passed these lines", self.head().short()),
            HoldReason::Contradicts(index) => {
                format!("it would undo {} of the review of {}", prior[index].id, self.head().short())
            }
        };
        let held = hold_back(prior, kept, &new, &self.map, (late, &passed));
        held.into_iter().map(|(index, why)| (index, words(why))).collect()
    }
}

/// True for a withheld finding that is carried over.
fn is_weighed_again(held: &WithheldFinding) -> bool {
    match &held.why {
        Withheld::Suppressed { kind, .. } => matches!(kind, Suppressor::Dismissal { .. }),
        Withheld::NoConsensus { .. } | Withheld::BelowFloor | Withheld::IgnoredArea(_) => true,
        _ => false,
    }
}

/// The pairs with the carried findings at the prior ones that they are, wherever their code is now.
fn with_carried(
    mut pairs: Vec<(usize, usize)>,
    kept: &mut [Finding],
    withheld: &mut [WithheldFinding],
) -> Vec<(usize, usize)> {
    let now = kept.iter_mut().chain(withheld.iter_mut().map(|held| &mut held.finding));
    for (current, finding) in now.enumerate() {
        let index = finding.extra.shift_remove(settle::CARRIED).and_then(|index| index.as_u64());
        if let Some(then) = index.and_then(|index| usize::try_from(index).ok()) {
            pairs.retain(|pair| pair.0 != then && pair.1 != current);
            pairs.push((then, current));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// The suppressed ones of paired findings; their indices count the withheld findings after the kept ones.
fn suppressed(
    paired: impl Iterator<Item = usize>,
    n_kept: usize,
    withheld: &[WithheldFinding],
) -> Vec<WithheldFinding> {
    let held = paired.filter_map(|current| withheld.get(current.checked_sub(n_kept)?));
    held.filter(|held| matches!(held.why, Withheld::Suppressed { .. })).cloned().collect()
}

fn is_part(place: &Location, of: &Location) -> bool {
    place.file == of.file && place.side == of.side && place.lines.overlaps(of.lines)
}

/// True when a reviewer looked at the hunk that holds these lines.
fn was_reviewed(coverage: &Coverage, location: &Location) -> bool {
    let mut hunks = coverage.hunks.iter().filter(|hunk| hunk.file == location.file);
    hunks.any(|hunk| {
        hunk.status == HunkStatus::Reviewed && hunk.lines.is_none_or(|lines| lines.overlaps(location.lines))
    })
}

/// Keeps the severity of a model's blocker. The severity of a rule is a setting, and may be lowered.
fn keep_blocking(prior: &Finding, found: &mut Finding) {
    let is_model = prior.origin.rule.is_none() && found.origin.rule.is_none();
    if is_model && prior.severity.blocks() {
        found.severity = found.severity.max(prior.severity);
    }
}

fn compared<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Vec<ComparedFinding<'a>> {
    findings.into_iter().map(ComparedFinding::from).collect()
}

/// The prior findings as they are compared, with those that a reviewer gave an answer about.
fn with_answers<'a>(findings: &'a [Finding], answered: &HashSet<usize>) -> Vec<ComparedFinding<'a>> {
    let claims = compared(findings).into_iter().enumerate();
    claims.map(|(index, claim)| ComparedFinding { is_answered: answered.contains(&index), ..claim }).collect()
}

fn moved(finding: &Finding, at: Option<Location>) -> Finding {
    let mut finding = finding.clone();
    if let Some(location) = at {
        // A fix names line numbers as well; once they have moved it cannot be applied.
        finding.fix = finding.fix.filter(|_| location == finding.location);
        finding.location = location;
    }
    finding
}
