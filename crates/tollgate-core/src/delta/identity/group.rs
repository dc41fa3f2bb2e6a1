//! Pairs findings within a group of one title or one quote.
//!
//! Of two equal findings one may be fixed; the question is which. Those with the same evidence, severity and side are
//! paired first, then those on the nearest lines. Findings at untouched lines are only paired with those on the same lines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::delta::identity::agree::{ReadFinding, SharedCode, are_kin};
use crate::delta::identity::{ComparedFinding, NEAR, Place, Unmatched, equal_runs, indices, without_space};
use crate::finding::{Category, Severity, Side};

/// Groups up to this number of pairs are compared pair by pair.
const MAX_COMPARED: usize = 256;

/// Pairs findings of one title whose code or location agrees, or that quote no code.
pub(super) fn pair_of_one_title(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    let quoted = |claim: &ComparedFinding<'_>| Some(without_space(claim.evidence)).filter(|quote| !quote.is_empty());
    pair_where(open, prior, current, |claim| Some((claim.severity, claim.side, quoted(claim)?)));
    pair_where(open, prior, current, quoted);
    pair_overlapping(open, prior, current);
    let bare = |claim: &ComparedFinding<'_>| claim.evidence.trim().is_empty().then_some((claim.severity, claim.side));
    pair_anywhere(open, prior, current, bare);
    pair_anywhere(open, prior, current, |claim| bare(claim).map(|_| ()));
}

/// Pairs findings of one quote that are of one rule or category, those with the most words in common first.
pub(super) fn pair_of_one_quote(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    if prior.len().saturating_mul(current.len()) > MAX_COMPARED {
        pair_where(open, prior, current, |claim| claim.rule.map(str::to_owned));
        pair_where(open, prior, current, |claim| {
            (claim.rule.is_none() && !claim.is_answered).then_some(claim.category)
        });
        return;
    }
    let of_prior: Vec<ReadFinding<'_>> = prior.iter().map(|&i| ReadFinding::of(open.prior[i])).collect();
    let of_current: Vec<ReadFinding<'_>> = current.iter().map(|&j| ReadFinding::of(open.current[j])).collect();
    let mut scored = Vec::new();
    for (&i, one) in prior.iter().zip(&of_prior) {
        for (&j, other) in current.iter().zip(&of_current) {
            if are_kin(&one.claim, &other.claim) && open.can_be_one_occurrence(i, j) {
                let score = one.agrees(other, SharedCode::Quote);
                scored.extend(score.map(|score| Scored::new(open, (i, j), score)));
            }
        }
    }
    pair_best(open, scored);
}

/// Pairs findings without lines and code whose words are nearly equal, the most similar first.
pub(super) fn pair_of_near_words(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    if prior.len().saturating_mul(current.len()) > MAX_COMPARED {
        return;
    }
    let of_current: Vec<ReadFinding<'_>> = current.iter().map(|&j| ReadFinding::of(open.current[j])).collect();
    let mut scored = Vec::new();
    for &i in prior {
        let one = ReadFinding::of(open.prior[i]);
        for (&j, other) in current.iter().zip(&of_current) {
            let score = one.is_nearly_worded_as(other);
            scored.extend(score.map(|score| Scored::new(open, (i, j), score)));
        }
    }
    pair_best(open, scored);
}

/// Pairs findings whose lines overlap, nearest first.
fn pair_overlapping(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    let prior: Vec<usize> = prior.iter().copied().filter(|&i| open.prior_left[i]).collect();
    let current: Vec<usize> = current.iter().copied().filter(|&j| open.current_left[j]).collect();
    if prior.len().saturating_mul(current.len()) > MAX_COMPARED {
        pair_nearest(open, &prior, &current, 0);
        return;
    }
    let mut scored = Vec::new();
    for &i in &prior {
        let overlapping = current.iter().filter(|&&j| open.is_at_its_place(i, j));
        scored.extend(overlapping.map(|&j| Scored::new(open, (i, j), 1.0)));
    }
    pair_best(open, scored);
}

/// Two findings that can be one.
struct Scored<'a> {
    score: f64,
    distance: u32,
    /// The fields of both, in an order that does not depend on which is the prior one.
    ranks: [Rank<'a>; 2],
    pair: (usize, usize),
}

impl<'a> Scored<'a> {
    fn new(open: &Unmatched<'a>, (i, j): (usize, usize), score: f64) -> Self {
        let line = open.current[j].lines.map_or(u32::MAX, |lines| lines.start());
        let mut ranks = [rank(&open.prior[i]), rank(&open.current[j])];
        ranks.sort_unstable();
        Self { score, distance: open.prior_line(i).abs_diff(line), ranks, pair: (i, j) }
    }
}

/// Pairs the best scored findings first.
fn pair_best(open: &mut Unmatched<'_>, mut scored: Vec<Scored<'_>>) {
    scored.sort_by(|a, b| {
        let order = b.score.total_cmp(&a.score).then(a.distance.cmp(&b.distance));
        order.then_with(|| a.ranks.cmp(&b.ranks)).then(a.pair.cmp(&b.pair))
    });
    for Scored { pair: (i, j), .. } in scored {
        if open.prior_left[i] && open.current_left[j] {
            open.pair(i, j);
        }
    }
}

/// Pairs findings with equal keys that can be one occurrence, nearest first.
fn pair_where<K: Ord>(
    open: &mut Unmatched<'_>,
    prior: &[usize],
    current: &[usize],
    key: impl Fn(&ComparedFinding<'_>) -> Option<K>,
) {
    for (prior, current) in runs(open, prior, current, &key) {
        pair_nearest(open, &prior, &current, 0);
    }
    // Code that is gone from its lines may have moved, within its function as far as that is known. Equal code beside code
    // that still stands is a copy of it.
    let moved: Vec<usize> = prior.iter().copied().filter(|&i| !matches!(open.places[i], Place::Untouched(_))).collect();
    for (prior, current) in runs(open, &moved, current, &key) {
        pair_nearest(open, &prior, &current, NEAR);
    }
    let in_function = |claim: &ComparedFinding<'_>| Some((claim.scope?.to_owned(), key(claim)?));
    for (prior, current) in runs(open, &moved, current, &in_function) {
        pair_nearest(open, &prior, &current, u32::MAX);
    }
    let known = |claims: &[ComparedFinding<'_>], from: &[usize], is_known: bool| -> Vec<usize> {
        from.iter().copied().filter(|&index| claims[index].scope.is_some() == is_known).collect()
    };
    for (of_prior, of_current) in [(false, false), (false, true), (true, false)] {
        let (prior, current) = (known(open.prior, &moved, of_prior), known(open.current, current, of_current));
        pair_anywhere(open, &prior, &current, &key);
    }
    // A finding about the whole file can be the same as one about its lines.
    let of_files: Vec<usize> = current.iter().copied().filter(|&j| open.current[j].lines.is_none()).collect();
    pair_anywhere(open, prior, &of_files, &key);
}

/// Pairs findings with equal keys, nearest first, at any distance.
fn pair_anywhere<K: Ord>(
    open: &mut Unmatched<'_>,
    prior: &[usize],
    current: &[usize],
    key: impl Fn(&ComparedFinding<'_>) -> Option<K>,
) {
    for (prior, current) in runs(open, prior, current, &key) {
        pair_nearest(open, &prior, &current, u32::MAX);
    }
}

/// The unmatched findings with equal keys, of either side.
fn runs<K: Ord>(
    open: &Unmatched<'_>,
    prior: &[usize],
    current: &[usize],
    key: &impl Fn(&ComparedFinding<'_>) -> Option<K>,
) -> Vec<(Vec<usize>, Vec<usize>)> {
    let keyed = |claims: &[ComparedFinding<'_>], left: &[bool], from: &[usize]| -> Vec<(K, usize)> {
        let left = from.iter().filter(|&&index| left[index]);
        let mut keyed: Vec<_> = left.filter_map(|&index| Some((key(&claims[index])?, index))).collect();
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rank(&claims[a.1]).cmp(&rank(&claims[b.1]))));
        keyed
    };
    let prior = keyed(open.prior, &open.prior_left, prior);
    let current = keyed(open.current, &open.current_left, current);
    let runs = equal_runs(&prior, &current, |keyed| &keyed.0);
    runs.into_iter().map(|(prior, current)| (indices(prior), indices(current))).collect()
}

fn pair_nearest(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize], max_distance: u32) {
    for (i, j) in nearest(open, prior, current, max_distance) {
        open.pair(i, j);
    }
}

/// All fields of a finding, so that the order of equal ones does not depend on the input order.
pub(super) type Rank<'a> = (
    (u32, u32),
    (Severity, Side, Category),
    (Option<&'a str>, Option<&'a str>, Option<&'a str>),
    (&'a str, &'a str, &'a str),
);

pub(super) fn rank<'a>(claim: &ComparedFinding<'a>) -> Rank<'a> {
    let lines = claim.lines.map_or((u32::MAX, u32::MAX), |lines| (lines.start(), lines.end()));
    let ComparedFinding { severity, side, category, rule, reviewer, scope, title, evidence, reason, .. } = *claim;
    (lines, (severity, side, category), (rule, reviewer, scope), (title, evidence, reason))
}

/// Pairs two lists, always the nearest two within a distance, until one list is used up.
///
/// The nearest two are neighbours in the merged order, so a heap of neighbours is enough.
fn nearest(open: &Unmatched<'_>, prior: &[usize], current: &[usize], max_distance: u32) -> Vec<(usize, usize)> {
    let line = |claim: &ComparedFinding<'_>| claim.lines.map_or(u32::MAX, |lines| lines.start());
    let of_prior = prior.iter().map(|&i| (open.prior_line(i), true, i));
    let mut row: Vec<(u32, bool, usize)> =
        of_prior.chain(current.iter().map(|&j| (line(&open.current[j]), false, j))).collect();
    row.sort_by_key(|&(line, is_prior, _)| (line, is_prior));

    let mut before: Vec<Option<usize>> = (0..row.len()).map(|at| at.checked_sub(1)).collect();
    let mut after: Vec<Option<usize>> = (0..row.len()).map(|at| Some(at + 1).filter(|&at| at < row.len())).collect();
    let mut is_used = vec![false; row.len()];
    let mut heap = BinaryHeap::new();
    let offer = |heap: &mut BinaryHeap<_>, left: usize, right: usize| {
        if row[left].1 != row[right].1 && row[right].0 - row[left].0 <= max_distance {
            heap.push(Reverse((row[right].0 - row[left].0, left, right)));
        }
    };
    (1..row.len()).for_each(|at| offer(&mut heap, at - 1, at));
    let mut pairs = Vec::with_capacity(prior.len().min(current.len()));
    while let Some(Reverse((_, left, right))) = heap.pop() {
        if is_used[left] || is_used[right] {
            continue;
        }
        (is_used[left], is_used[right]) = (true, true);
        let (i, j) = if row[left].1 { (left, right) } else { (right, left) };
        pairs.push((row[i].2, row[j].2));
        let (outer_left, outer_right) = (before[left], after[right]);
        if let Some(at) = outer_left {
            after[at] = outer_right;
        }
        if let Some(at) = outer_right {
            before[at] = outer_left;
        }
        if let (Some(left), Some(right)) = (outer_left, outer_right) {
            offer(&mut heap, left, right);
        }
    }
    pairs
}
