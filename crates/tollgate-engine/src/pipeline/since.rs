//! What became of the findings of the last review.
//!
//! The last review of the same line of work is recalled, its findings are
//! followed to where their lines are now, and those that nobody looked at
//! again are carried over: they are still open, not resolved.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use tollgate_core::change::Change;
use tollgate_core::coverage::{Coverage, CoveredHunk, HunkStatus};
use tollgate_core::delta::classify::{ReviewedScope, classify};
use tollgate_core::delta::convergence::{HoldReason, LateFindings, hold_back};
use tollgate_core::delta::identity::{ComparedFinding, join};
use tollgate_core::delta::line_map::{LineMap, Mapped};
use tollgate_core::delta::snapshot::Snapshot;
use tollgate_core::delta::unseen::{self, UnseenLines};
use tollgate_core::finding::{Finding, LineRange, Location, Side};
use tollgate_core::path::FilePath;
use tollgate_core::report::json;
use tollgate_core::report::summary::Since;
use tollgate_core::review::{Review, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::verdict;
use tollgate_rules::catalog::{self, RuleKind};
use tollgate_rules::change::is_per_line;
use tollgate_rules::hit::REVIEWER;

use crate::failure::Failure;
use crate::store::{Run, Store, Subject};

/// A smaller change is compared in full about as fast as it is asked which of its files are known.
const MIN_LINES: usize = 1_000;

/// The extension field of a review that says which models and agents were asked, and what that took.
pub(super) const REVIEWERS: &str = "x_reviewers";

/// The last review of the same line of work, as it is stored.
#[derive(Debug)]
pub(super) struct Recalled {
    run: i64,
    review: Review,
    then: Snapshot,
    /// The files that it should have looked at in full and did not, by their paths then.
    unfinished: HashSet<FilePath>,
}

/// The last review of the same line of work, seen from the change as it is now.
#[derive(Debug)]
pub(super) struct Last {
    pub(super) run: i64,
    review: Review,
    map: LineMap,
    /// What it did not see.
    fresh: UnseenLines,
    /// The files that it should have looked at in full and did not.
    unfinished: HashSet<FilePath>,
}

/// What changed since the last review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceLast {
    /// The number of the last review in the memory.
    pub run: i64,
    /// The commit that was reviewed then.
    pub head: Sha,
    /// Findings that are new, by their index in the review.
    pub new: Vec<usize>,
    /// Findings that were there before, by their index in the review.
    pub still_open: Vec<usize>,
    /// Findings of then that are resolved.
    pub resolved: Vec<Finding>,
    /// How many remarks were held back, because the last review passed their lines.
    pub n_held_back: usize,
    /// How many findings of then do not count any more, because somebody suppressed them or the floor rose.
    pub n_withheld: usize,
    /// How many lines of the change the last review had not seen.
    pub n_fresh: usize,
}

impl SinceLast {
    /// What changed as JSON, findings of the review by their ids.
    pub(super) fn to_json(&self, review: &Review) -> Value {
        let of = |indices: &[usize]| -> Vec<&Finding> {
            indices.iter().filter_map(|&index| review.findings.get(index)).collect()
        };
        let (new, still_open) = (of(&self.new), of(&self.still_open));
        let severity = |finding: &&Finding| finding.severity;
        let resolved: Vec<&Finding> = self.resolved.iter().collect();
        let update =
            verdict::update(new.iter().map(severity), resolved.iter().map(severity), still_open.iter().map(severity));
        let ids = |findings: &[&Finding]| findings.iter().map(|finding| finding.id.to_string()).collect::<Vec<_>>();
        let resolved = resolved.iter().map(|finding| json::finding_value(finding, json::Form::Short));
        json!({
            "head": self.head.as_str(),
            "new": ids(&new),
            "still_open": ids(&still_open),
            "resolved": resolved.collect::<Vec<_>>(),
            "held_back": self.n_held_back,
            "verdict_update": update.as_str(),
        })
    }

    /// The same, for reports.
    #[must_use]
    pub fn told(&self) -> Since<'_> {
        Since {
            head: &self.head,
            new: &self.new,
            resolved: &self.resolved,
            still_open: &self.still_open,
            n_fresh: self.n_fresh,
            held_back: self.n_held_back,
        }
    }

    /// True when the last review had findings, so that there is something to compare with.
    #[must_use]
    pub fn had_findings(&self) -> bool {
        self.n_withheld > 0 || !self.still_open.is_empty() || !self.resolved.is_empty()
    }
}

/// What was looked at this time.
#[derive(Debug)]
pub(super) struct LookedAt {
    /// Whether only fresh lines were.
    pub(super) only_fresh: bool,
    /// The hunks.
    pub(super) coverage: Coverage,
    /// The other tools whose findings were taken in.
    pub(super) imported: HashSet<String>,
    /// What each model or agent looked at, by name.
    pub(super) models: HashMap<String, Vec<Location>>,
    /// The files that were not read, since the last review knows them.
    pub(super) unread: HashSet<FilePath>,
}

impl LookedAt {
    pub(super) fn of(imported: &[Finding], only_fresh: bool, coverage: &Coverage, change: &Change) -> Self {
        let imported = imported.iter().filter_map(|finding| finding.origin.reviewer.clone()).collect();
        let (coverage, models) = (coverage.clone(), HashMap::new());
        Self { only_fresh, coverage, imported, models, unread: known_paths(change) }
    }
}

impl Recalled {
    /// Recalls the last review in another state than this one.
    pub(super) fn before(
        store: &Store,
        subject: &Subject,
        change: &Change,
        now: &Snapshot,
    ) -> Result<Option<Self>, Failure> {
        let run = store.last_before(subject, change.head.as_str(), &now.to_bytes())?;
        Ok(run.and_then(Self::of_run))
    }

    /// Recalls the last review, whatever its state.
    pub(super) fn last(store: &Store, subject: &Subject) -> Result<Option<Self>, Failure> {
        Ok(store.last_of(subject)?.and_then(Self::of_run))
    }

    /// `None` for a run that cannot be compared with: one whose state was not kept.
    fn of_run(run: Run) -> Option<Self> {
        let then = Snapshot::from_bytes(&run.snapshot?).ok()?;
        let review = *run.review?;
        let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        let open = hunks.filter(|hunk| matches!(hunk.status, HunkStatus::NotReviewed(_)));
        let unfinished = open.map(|hunk| hunk.file.clone()).collect();
        Some(Self { run: run.id, review, then, unfinished })
    }

    /// What it compared with.
    pub(super) fn base(&self) -> &Sha {
        &self.review.base
    }

    /// True when leaving out what it knows spares more than asking what that is, and nothing it said depends on more
    /// than one file, so that a later review may look at some files alone.
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

    /// True when it looked at a file with this content, as far as it meant to.
    pub(super) fn knows(&self, old: Option<&FilePath>, new: Option<&FilePath>, blob: Option<&str>) -> bool {
        let is_finished = new.or(old).is_some_and(|path| !self.unfinished.contains(path));
        is_finished && self.then.has(old, new, blob)
    }

    /// The snapshot of a change of which some files were not read, since they are known.
    pub(super) fn complete(&self, now: Snapshot, change: &Change) -> Snapshot {
        if change.known.is_empty() {
            return now;
        }
        let known = known_paths(change);
        now.with(&self.then, |path| known.contains(path))
    }

    /// What it looked at in the files that were not read this time.
    pub(super) fn coverage_of_known(&self, change: &Change) -> Vec<CoveredHunk> {
        let known = known_paths(change);
        let hunks = self.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        let covered = hunks.filter(|hunk| known.contains(&hunk.file)).map(|hunk| match hunk.status {
            HunkStatus::Reviewed => CoveredHunk { status: HunkStatus::Skipped(self.otherwise()), ..hunk.clone() },
            HunkStatus::Skipped(_) | HunkStatus::NotReviewed(_) => hunk.clone(),
        });
        covered.collect()
    }

    /// Why something is not looked at again, for people.
    pub(super) fn otherwise(&self) -> String {
        format!("unchanged since the review of {}", self.review.reviewed.short())
    }

    /// The same, seen from the change as it is now.
    pub(super) fn seen_from(self, now: &Snapshot) -> Last {
        let Self { run, review, then, unfinished } = self;
        let map = LineMap::between(&then, now);
        let unfinished = unfinished.iter().filter_map(|file| map.path(file, Side::Right)).cloned().collect();
        Last { run, fresh: unseen::unseen_lines(&then, now), review, map, unfinished }
    }
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

impl Last {
    pub(super) fn head(&self) -> &Sha {
        &self.review.reviewed
    }

    /// True when the last review has not seen one of these lines, or should have looked at the file and did not.
    pub(super) fn is_fresh(&self, file: &FilePath, lines: LineRange, side: Side) -> bool {
        self.fresh.touches(file, lines, side) || self.unfinished.contains(file)
    }

    /// True when this model or agent was asked.
    pub(super) fn asked(&self, reviewer: &str) -> bool {
        asked(&self.review, reviewer)
    }

    /// True when a model or agent has not seen one of these lines.
    pub(super) fn is_new_to(&self, reviewer: &str, file: &FilePath, lines: LineRange, side: Side) -> bool {
        !self.asked(reviewer) || self.is_fresh(file, lines, side)
    }

    /// The findings of then that can still be there, where they are now.
    pub(super) fn open(&self) -> Vec<Finding> {
        let located = self.review.findings.iter().filter_map(|finding| match self.map.locate(&finding.location) {
            Mapped::At(at) => Some(moved(finding, Some(at))),
            _ => None,
        });
        located.collect()
    }

    /// The findings of then that nobody looked at again, where they are now.
    pub(super) fn carried(&self, found: &[Finding], looked_at: &LookedAt) -> Vec<Finding> {
        let is_reviewed = |claim: &ComparedFinding<'_>, mapped: &Mapped| self.is_reviewed(claim, mapped, looked_at);
        let mut carried = Vec::new();
        let mut doubtful = Vec::new();
        for finding in &self.review.findings {
            match self.map.locate(&finding.location) {
                // By its place and not by its title: the same mistake elsewhere in the file is another one.
                Mapped::At(at) if !is_reviewed(&ComparedFinding::from(finding), &Mapped::At(at.clone())) => {
                    if !found.iter().any(|found| says_the_same(found, finding, &at)) {
                        carried.push(moved(finding, Some(at)));
                    }
                }
                _ => doubtful.push(finding),
            }
        }
        let then: Vec<ComparedFinding<'_>> = doubtful.iter().copied().map(ComparedFinding::from).collect();
        let now: Vec<ComparedFinding<'_>> = found.iter().map(ComparedFinding::from).collect();
        let joined = join(&then, &now, &self.map);
        let settled = classify(&then, now.len(), &joined, &self.map, ReviewedScope::at(&is_reviewed));
        let open = settled.still_open.into_iter().filter(|open| open.current.is_none());
        carried.extend(open.map(|open| moved(doubtful[open.prior], open.at)));
        carried
    }

    /// Where a file of then is now.
    pub(super) fn path<'a>(&'a self, file: &'a FilePath) -> Option<&'a FilePath> {
        self.map.path(file, Side::Right)
    }

    /// What was found then, whether it counted or was suppressed.
    pub(super) fn found(&self) -> impl Iterator<Item = &Finding> {
        let suppressed = self.review.withheld.iter().filter(|held| matches!(held.why, Withheld::Suppressed { .. }));
        self.review.findings.iter().chain(suppressed.map(|held| &held.finding))
    }

    /// True when whoever made a finding looked at its place again.
    fn is_reviewed(&self, claim: &ComparedFinding<'_>, mapped: &Mapped, looked_at: &LookedAt) -> bool {
        if let Some(places) = claim.reviewer.and_then(|name| looked_at.models.get(name)) {
            let Mapped::At(location) = mapped else {
                return self.looked_at_all_of(claim, looked_at);
            };
            // That it says nothing of the same lines this time does not mean that anything was done about them.
            return self.is_fresh(&location.file, location.lines, location.side)
                && places.iter().any(|place| is_part(place, location));
        }
        if claim.reviewer != Some(REVIEWER) {
            return claim.reviewer.is_some_and(|name| looked_at.imported.contains(name));
        }
        let Mapped::At(location) = mapped else {
            return self.looked_at_all_of(claim, looked_at);
        };
        // Rules about the change as a whole see all of it that was read.
        if claim.rule.is_some_and(is_about_the_change) {
            return !looked_at.unread.contains(&location.file);
        }
        let fresh = self.is_fresh(&location.file, location.lines, location.side);
        (fresh || !looked_at.only_fresh) && was_reviewed(&looked_at.coverage, location)
    }

    /// True when all that a finding's file is now was looked at. Only then is it known whether lines of it were changed
    /// for the better.
    fn looked_at_all_of(&self, claim: &ComparedFinding<'_>, looked_at: &LookedAt) -> bool {
        let file = self.map.path(claim.file, claim.side).unwrap_or(claim.file);
        let mut hunks = looked_at.coverage.hunks.iter().filter(|hunk| hunk.file == *file);
        !hunks.any(|hunk| matches!(hunk.status, HunkStatus::NotReviewed(_)))
    }

    /// Puts the findings that count in their classes. What the last review passed is held back.
    pub(super) fn compare(
        &self,
        kept: &mut Vec<Finding>,
        withheld: &mut Vec<WithheldFinding>,
        (late, is_model): (LateFindings, &dyn Fn(&str) -> bool),
    ) -> SinceLast {
        let prior = &self.review.findings;
        let then: Vec<ComparedFinding<'_>> = prior.iter().map(ComparedFinding::from).collect();
        let held = self.held_back(&then, kept, withheld, (late, is_model));
        let n_held_back = held.len();
        for (index, why) in held.into_iter().rev() {
            let finding = kept.remove(index);
            withheld.push(WithheldFinding { finding, why: Withheld::HeldBack(why) });
        }
        let pairs = self.pairs(&then, kept, withheld);
        let joined: HashSet<usize> = pairs.iter().map(|(prior, _)| *prior).collect();
        let still_open: HashSet<usize> = pairs.iter().map(|(_, current)| *current).collect();
        let (still_open, new): (Vec<usize>, Vec<usize>) = (0..kept.len()).partition(|index| still_open.contains(index));
        let resolved = prior.iter().enumerate().filter(|(index, _)| !joined.contains(index));
        SinceLast {
            run: self.run,
            head: self.head().clone(),
            new,
            resolved: resolved.map(|(_, finding)| finding.clone()).collect(),
            n_withheld: pairs.iter().filter(|(_, current)| *current >= kept.len()).count(),
            still_open,
            n_held_back,
            n_fresh: self.fresh.n_lines(),
        }
    }

    /// The findings of then among those of now, whether these count or not.
    fn pairs(
        &self,
        then: &[ComparedFinding<'_>],
        kept: &[Finding],
        withheld: &[WithheldFinding],
    ) -> Vec<(usize, usize)> {
        let now = kept.iter().chain(withheld.iter().map(|withheld| &withheld.finding));
        let now: Vec<ComparedFinding<'_>> = now.map(ComparedFinding::from).collect();
        join(then, &now, &self.map).pairs
    }

    /// New remarks that contradict the last review or that it passed over, with the reason.
    fn held_back(
        &self,
        then: &[ComparedFinding<'_>],
        kept: &[Finding],
        withheld: &[WithheldFinding],
        (late, is_model): (LateFindings, &dyn Fn(&str) -> bool),
    ) -> Vec<(usize, String)> {
        let pairs = self.pairs(then, kept, withheld);
        let known: HashSet<usize> = pairs.into_iter().map(|(_, current)| current).collect();
        // Whoever was not asked then has passed nothing.
        let was_there = |finding: &Finding| match finding.origin.reviewer.as_deref() {
            None | Some(REVIEWER) => true,
            Some(name) => asked(&self.review, name) || !is_model(name),
        };
        let is_new = |index: &usize| !known.contains(index) && was_there(&kept[*index]);
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

/// True when a finding says of a place what an earlier one said of it.
fn says_the_same(found: &Finding, earlier: &Finding, at: &Location) -> bool {
    let here = &found.location;
    here.file == at.file
        && here.side == at.side
        && here.lines.overlaps(at.lines)
        && found.summary == earlier.summary
        && found.origin.rule == earlier.origin.rule
}

fn moved(finding: &Finding, at: Option<Location>) -> Finding {
    let mut finding = finding.clone();
    if let Some(location) = at {
        // A fix names lines, too; once they have moved it cannot be trusted.
        finding.fix = finding.fix.filter(|_| location == finding.location);
        finding.location = location;
    }
    finding
}
