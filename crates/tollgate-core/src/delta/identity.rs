//! Decides which findings are the same: the one identity function of the program.
//!
//! Carry-over, the delta, merging of reviewers, consensus and the comparison of iterations all match two lists of findings
//! by [`match_findings`]. Three steps, each one-to-one and best first:
//!
//! 1. the same title in the same file, where the quoted code or the location agrees too, or neither side quotes any;
//! 2. the same quoted code in the same file, of the same rule or category, whatever the words;
//! 3. overlapping lines, of the same rule, or of the same category with related words (with any words where neither
//!    quotes code), or of another with similar words.
//!
//! Findings about the whole change have neither lines nor code: they match by equal or nearly equal words in one category.
//!
//! File and title alone never match two findings whose code differs: all findings of a rule share them. Similar words
//! alone never match either, and about the same code a different number, name or negation is another finding, so that a
//! new blocker cannot pass as an old one. Where a reviewer called a prior finding open or fixed, that is its answer: what it
//! reports besides is another finding, unless it is worded alike. Renamed files and moved lines are followed: code that is gone from its old
//! location and quoted elsewhere has moved, while a copy of code that still stands is another finding.
//!
//! The result does not depend on the order of the findings. The work is near n log n: everything is sorted or looked up,
//! and the last step compares each finding with at most `by_location::MAX_COMPARED` others that share its location and
//! its rarest words. [`FindingPairs::n_not_compared`] counts the comparisons beyond that.

mod agree;
mod by_location;
mod group;
mod words;

use crate::delta::line_map::{LineMap, Mapped};
use crate::finding::{Category, Finding, LineRange, Location, NOTHING_QUOTED, Severity, Side, is_about_whole_change};
use crate::fingerprint::{InFile, normalise};
use crate::path::FilePath;

use agree::{SharedCode, is_edited_form};
pub(crate) use agree::{are_worded_alike, is_same_quote};

/// The extension field with the function that encloses a finding of a rule.
pub const SCOPE: &str = "x_scope";

/// The fields of a finding that identify it across reviews.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparedFinding<'a> {
    /// The file, by its path on the finding's side.
    pub file: &'a FilePath,
    /// The title, in one line.
    pub title: &'a str,
    /// The severity.
    pub severity: Severity,
    /// The category.
    pub category: Category,
    /// The rule that found it.
    pub rule: Option<&'a str>,
    /// The reviewer that found it.
    pub reviewer: Option<&'a str>,
    /// The lines; `None` for a finding about the whole file.
    pub lines: Option<LineRange>,
    /// Before or after the change.
    pub side: Side,
    /// The code that shows it; empty when there is none.
    pub evidence: &'a str,
    /// The consequence; empty when there is none.
    pub reason: &'a str,
    /// The enclosing function; `None` when it is unknown.
    pub scope: Option<&'a str>,
    /// True for a prior finding that a reviewer gave an answer about: what else is reported about its code is another
    /// finding, unless it is worded alike.
    pub is_answered: bool,
}

impl<'a> From<&'a Finding> for ComparedFinding<'a> {
    fn from(finding: &'a Finding) -> Self {
        // A finding about the whole change has a placeholder for a place, which every other one has too.
        let is_placed = !is_about_whole_change(finding);
        let is_quoted = is_placed && finding.evidence != NOTHING_QUOTED;
        Self {
            file: &finding.location.file,
            title: finding.summary.as_str(),
            severity: finding.severity,
            category: finding.category,
            rule: finding.origin.rule.as_deref(),
            reviewer: finding.origin.reviewer.as_deref(),
            lines: is_placed.then_some(finding.location.lines),
            side: finding.location.side,
            evidence: if is_quoted { &finding.evidence } else { "" },
            reason: finding.reason.as_deref().unwrap_or_default(),
            scope: finding.extra.get(SCOPE).and_then(serde_json::Value::as_str),
            is_answered: false,
        }
    }
}

impl ComparedFinding<'_> {
    /// The location; `None` for a finding about the whole file.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        Some(Location { file: self.file.clone(), lines: self.lines?, side: self.side })
    }

    /// The current location.
    #[must_use]
    pub fn mapped(&self, map: &LineMap) -> Option<Mapped> {
        self.location().map(|location| map.locate(&location))
    }
}

/// Matched findings of two reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingPairs {
    /// Indices into the prior and the current findings, in order of the prior ones; each index occurs once.
    pub pairs: Vec<(usize, usize)>,
    /// The number of comparisons skipped because of too many candidates at one location.
    pub n_not_compared: usize,
}

/// Matches the findings of two reviews.
#[must_use]
pub fn match_findings(prior: &[ComparedFinding<'_>], current: &[ComparedFinding<'_>], map: &LineMap) -> FindingPairs {
    let mut open = Unmatched::new(prior, current, map);
    by_fingerprint(&mut open);
    if open.is_any_left() {
        by_evidence(&mut open);
    }
    let n_not_compared = if open.is_any_left() { by_location::by_location(&mut open) } else { 0 };
    if open.is_any_left() {
        by_words(&mut open);
    }
    open.pairs.sort_unstable();
    FindingPairs { pairs: open.pairs, n_not_compared }
}

/// The current lines of a prior finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The lines are untouched; the same code elsewhere is another finding.
    Untouched(LineRange),
    /// The edits are unknown; the lines are assumed to stay.
    Assumed(LineRange),
    /// The lines were replaced by these.
    Edited(LineRange),
    /// The lines are gone or unknown.
    Gone,
}

/// A finding whose lines changed is the same as one that quotes its code within this distance.
const NEAR: u32 = 3;
/// More lines than these do not locate an edited line.
const MAX_REPLACED: u32 = 30;
/// More lines than these replace a block rather than a line.
const MAX_OF_ONE_LINE: u32 = 3;

impl Place {
    fn of(claim: &ComparedFinding<'_>, map: &LineMap) -> Self {
        let Some(location) = claim.location() else { return Self::Gone };
        match map.locate(&location) {
            Mapped::At(at) if map.is_assumed() => Self::Assumed(at.lines),
            Mapped::At(at) => Self::Untouched(at.lines),
            Mapped::Gone => Self::Gone,
            Mapped::Changed => {
                let replaced = map.replaced(&location);
                let replaced = replaced.filter(|lines| lines.end() - lines.start() < MAX_REPLACED);
                replaced.map_or(Self::Gone, Self::Edited)
            }
        }
    }

    fn lines(self) -> Option<LineRange> {
        match self {
            Self::Untouched(lines) | Self::Assumed(lines) | Self::Edited(lines) => Some(lines),
            Self::Gone => None,
        }
    }

    fn overlaps(self, lines: Option<LineRange>) -> bool {
        self.lines().zip(lines).is_some_and(|(here, there)| here.overlaps(there))
    }

    /// The code that a finding here shares with a current one on overlapping lines.
    fn shared_code(self) -> SharedCode {
        match self {
            Self::Edited(lines) if lines.end() - lines.start() < MAX_OF_ONE_LINE => SharedCode::EditedLine,
            Self::Edited(_) => SharedCode::EditedBlock,
            Self::Untouched(_) | Self::Assumed(_) | Self::Gone => SharedCode::Lines,
        }
    }
}

/// The findings that are not matched yet.
struct Unmatched<'a> {
    prior: &'a [ComparedFinding<'a>],
    current: &'a [ComparedFinding<'a>],
    /// The current paths of the prior findings' files.
    paths: Vec<&'a FilePath>,
    /// The current lines of the prior findings.
    places: Vec<Place>,
    prior_left: Vec<bool>,
    current_left: Vec<bool>,
    pairs: Vec<(usize, usize)>,
}

impl<'a> Unmatched<'a> {
    fn new(prior: &'a [ComparedFinding<'a>], current: &'a [ComparedFinding<'a>], map: &'a LineMap) -> Self {
        let mut paths: Vec<&FilePath> = Vec::with_capacity(prior.len());
        for (index, claim) in prior.iter().enumerate() {
            let before = index.checked_sub(1).filter(|&before| prior[before].file == claim.file);
            let before = before.filter(|&before| prior[before].side == claim.side).map(|before| paths[before]);
            // A deleted file with a current finding exists again.
            paths.push(before.unwrap_or_else(|| map.path(claim.file, claim.side).unwrap_or(claim.file)));
        }
        Self {
            prior,
            current,
            paths,
            places: prior.iter().map(|claim| Place::of(claim, map)).collect(),
            prior_left: vec![true; prior.len()],
            current_left: vec![true; current.len()],
            pairs: Vec::with_capacity(prior.len().min(current.len())),
        }
    }

    fn pair(&mut self, prior: usize, current: usize) {
        (self.prior_left[prior], self.current_left[current]) = (false, false);
        self.pairs.push((prior, current));
    }

    /// The first line of a prior finding: the current one or, when unknown, the old one.
    fn prior_line(&self, index: usize) -> u32 {
        let lines = self.places[index].lines().or(self.prior[index].lines);
        lines.map_or(u32::MAX, LineRange::start)
    }

    /// True when equal code of two findings can be the same occurrence of it.
    fn can_be_one_occurrence(&self, i: usize, j: usize) -> bool {
        let (prior, current) = (&self.prior[i], &self.current[j]);
        match (self.places[i], current.lines) {
            // Equal code beside code that still stands is a copy of it.
            (Place::Untouched(here), Some(there)) => here.overlaps(there),
            (place, there) => place.overlaps(there) || !are_in_different_functions(prior, current),
        }
    }

    /// True when a current finding is on the lines of a prior one, as far as its code does not speak against that.
    fn is_at_its_place(&self, i: usize, j: usize) -> bool {
        let (prior, current) = (&self.prior[i], &self.current[j]);
        let is_block = self.places[i].shared_code() == SharedCode::EditedBlock;
        self.places[i].overlaps(current.lines) && (!is_block || is_edited_form(prior.evidence, current.evidence))
    }

    fn is_any_left(&self) -> bool {
        let n_pairs = self.pairs.len();
        n_pairs < self.prior.len() && n_pairs < self.current.len()
    }

    fn prior_left(&self) -> Vec<usize> {
        (0..self.prior.len()).filter(|&index| self.prior_left[index]).collect()
    }

    fn current_left(&self) -> Vec<usize> {
        (0..self.current.len()).filter(|&index| self.current_left[index]).collect()
    }
}

fn are_in_different_functions(a: &ComparedFinding<'_>, b: &ComparedFinding<'_>) -> bool {
    a.scope.zip(b.scope).is_some_and(|(a, b)| a != b)
}

/// Matches by title and file where the code or the location agrees, as many as there are on both sides.
fn by_fingerprint(open: &mut Unmatched<'_>) {
    let prior = keys(open.prior, |index| open.paths[index]);
    let current = keys(open.current, |index| open.current[index].file);
    for (prior, current) in equal_runs(&prior, &current, |key| key.0) {
        let (prior, current) = (indices(prior), indices(current));
        by_title(open, &prior, &current);
    }
}

fn keys<'a>(claims: &[ComparedFinding<'a>], path: impl Fn(usize) -> &'a FilePath) -> Vec<(u64, usize)> {
    let mut in_file: Option<(&FilePath, InFile)> = None;
    let mut keys = Vec::with_capacity(claims.len());
    for (index, claim) in claims.iter().enumerate() {
        let path = path(index);
        let known = in_file.filter(|(last, _)| *last == path).map(|(_, known)| known);
        let known = known.unwrap_or_else(|| InFile::new(path));
        in_file = Some((path, known));
        keys.push((known.fingerprint(claim.title).number(), index));
    }
    keys.sort_unstable();
    keys
}

/// Matches findings with equal hash keys after comparing their titles.
fn by_title(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    let first = open.current[current[0]];
    let is_first = |path: &FilePath, title: &str| path == first.file && title == first.title;
    let all_equal = prior.iter().all(|&i| is_first(open.paths[i], open.prior[i].title))
        && current.iter().all(|&j| is_first(open.current[j].file, open.current[j].title));
    if all_equal {
        group::pair_of_one_title(open, prior, current);
        return;
    }
    let mut prior: Vec<_> = prior.iter().map(|&i| ((open.paths[i], normalise(open.prior[i].title)), i)).collect();
    let mut current: Vec<_> =
        current.iter().map(|&j| ((open.current[j].file, normalise(open.current[j].title)), j)).collect();
    prior.sort_unstable();
    current.sort_unstable();
    for (prior, current) in equal_runs(&prior, &current, |key| &key.0) {
        group::pair_of_one_title(open, &indices(prior), &indices(current));
    }
}

/// Matches by evidence and file, with the same rule or category.
fn by_evidence(open: &mut Unmatched<'_>) {
    let quote = |file, claim: &ComparedFinding<'_>, index| {
        let evidence = without_space(claim.evidence);
        is_distinctive(&evidence).then_some(((file, evidence), index))
    };
    let prior = open.prior_left();
    let mut prior: Vec<_> = prior.into_iter().filter_map(|i| quote(open.paths[i], &open.prior[i], i)).collect();
    let current = open.current_left();
    let mut current: Vec<_> =
        current.into_iter().filter_map(|j| quote(open.current[j].file, &open.current[j], j)).collect();
    prior.sort_unstable();
    current.sort_unstable();
    for (prior, current) in equal_runs(&prior, &current, |key| &key.0) {
        group::pair_of_one_quote(open, &indices(prior), &indices(current));
    }
}

/// Matches findings without lines and code, in one file and category, by nearly equal words.
fn by_words(open: &mut Unmatched<'_>) {
    let is_bare = |claim: &ComparedFinding<'_>| claim.lines.is_none() && claim.evidence.trim().is_empty();
    let prior = open.prior_left().into_iter().filter(|&i| is_bare(&open.prior[i]));
    let mut prior: Vec<_> = prior.map(|i| ((open.paths[i], open.prior[i].category), i)).collect();
    let current = open.current_left().into_iter().filter(|&j| is_bare(&open.current[j]));
    let mut current: Vec<_> = current.map(|j| ((open.current[j].file, open.current[j].category), j)).collect();
    prior.sort_unstable();
    current.sort_unstable();
    for (prior, current) in equal_runs(&prior, &current, |key| key.0) {
        group::pair_of_near_words(open, &indices(prior), &indices(current));
    }
}

/// Strips whitespace, so that reformatting makes no difference.
pub(super) fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// False for evidence that occurs everywhere, such as `}`.
pub(super) fn is_distinctive(evidence: &str) -> bool {
    evidence.chars().filter(|character| character.is_alphanumeric()).take(4).count() == 4
}

fn indices<K>(keyed: &[(K, usize)]) -> Vec<usize> {
    keyed.iter().map(|(_, index)| *index).collect()
}

/// A run of equal keys on either side.
type Runs<'k, T> = (&'k [T], &'k [T]);

/// Merges two sorted lists and returns the runs whose keys are in both.
fn equal_runs<'k, T, K: Ord>(a: &'k [T], b: &'k [T], key: impl Fn(&'k T) -> K) -> Vec<Runs<'k, T>> {
    let mut runs = Vec::with_capacity(a.len().min(b.len()));
    let (mut i, mut j) = (0, 0);
    while let (Some(first), Some(second)) = (a.get(i), b.get(j)) {
        let (first, second) = (key(first), key(second));
        match first.cmp(&second) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                let end = |list: &'k [T], from: usize| {
                    from + list[from..].iter().take_while(|element| key(element) == first).count()
                };
                let (to_i, to_j) = (end(a, i), end(b, j));
                runs.push((&a[i..to_i], &b[j..to_j]));
                (i, j) = (to_i, to_j);
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests;
