//! Pairs equal findings within a group.
//!
//! Of two equal findings one may be fixed; the question is which. Those with the same evidence, severity and side are
//! paired first, then those on the nearest lines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::delta::identity::{ComparedFinding, Unmatched, equal_runs, indices, without_space};
use crate::delta::title_words::TitleWords;
use crate::finding::Severity;

/// Groups up to this number of pairs are matched by words where possible.
const MAX_COMPARED: usize = 256;

/// Pairs equal findings, as many as there are on both sides.
pub(super) fn pair(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    let evidence = |claim: &ComparedFinding<'_>| (claim.severity, claim.side, without_space(claim.evidence));
    pair_where(open, prior, current, evidence);
    pair_where(open, prior, current, |claim| (claim.severity, claim.side));
    pair_where(open, prior, current, |_| ());
}

/// Pairs findings with the same evidence: by the same rule, else in the same category unless their rules differ.
pub(super) fn pair_by_rule_or_category(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    for (of_prior, of_current) in
        [(With::Rule, With::Rule), (With::NoRule, With::NoRule), (With::Rule, With::NoRule), (With::NoRule, With::Rule)]
    {
        let chosen = |claims: &[ComparedFinding<'_>], left: &[bool], from: &[usize], with| -> Vec<usize> {
            from.iter().copied().filter(|&index| left[index] && With::of(&claims[index]) == with).collect()
        };
        let prior = chosen(open.prior, &open.prior_left, prior, of_prior);
        let current = chosen(open.current, &open.current_left, current, of_current);
        if of_prior == With::Rule && of_current == With::Rule {
            pair_where(open, &prior, &current, |claim| claim.rule.map(str::to_owned));
        } else {
            in_category(open, &prior, &current);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Rule,
    NoRule,
}

impl With {
    fn of(claim: &ComparedFinding<'_>) -> Self {
        if claim.rule.is_some() { Self::Rule } else { Self::NoRule }
    }
}

fn in_category(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    if prior.len().saturating_mul(current.len()) <= MAX_COMPARED {
        by_words(open, prior, current);
    }
    pair_where(open, prior, current, |claim| claim.category);
}

/// Pairs findings of one category at one location by their words.
fn by_words(open: &mut Unmatched<'_>, prior: &[usize], current: &[usize]) {
    if prior.len() * current.len() <= 1 {
        return;
    }
    let read = |claims: &[ComparedFinding<'_>], from: &[usize]| -> Vec<(usize, TitleWords)> {
        from.iter().map(|&index| (index, TitleWords::read(claims[index].title))).collect()
    };
    let (prior, current) = (read(open.prior, prior), read(open.current, current));
    let mut scored = Vec::new();
    for (i, words) in &prior {
        for (j, others) in &current {
            let n_shared = words.stems.iter().filter(|stem| others.stems.binary_search(stem).is_ok()).count();
            let fits = open.prior[*i].category == open.current[*j].category && !words.contradict(others);
            if fits && n_shared > 0 {
                let n_all = words.stems.len() + others.stems.len();
                scored.push((
                    Reverse(n_shared * 1_000 / n_all),
                    rank(&open.prior[*i]),
                    rank(&open.current[*j]),
                    *i,
                    *j,
                ));
            }
        }
    }
    scored.sort_unstable();
    for (_, _, _, i, j) in scored {
        if open.prior_left[i] && open.current_left[j] {
            open.pair(i, j);
        }
    }
}

/// Pairs findings with equal keys, nearest first.
fn pair_where<K: Ord>(
    open: &mut Unmatched<'_>,
    prior: &[usize],
    current: &[usize],
    key: impl Fn(&ComparedFinding<'_>) -> K,
) {
    let keyed = |claims: &[ComparedFinding<'_>], left: &[bool], from: &[usize]| -> Vec<(K, usize)> {
        let mut keyed: Vec<_> =
            from.iter().filter(|&&index| left[index]).map(|&index| (key(&claims[index]), index)).collect();
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rank(&claims[a.1]).cmp(&rank(&claims[b.1]))));
        keyed
    };
    let prior = keyed(open.prior, &open.prior_left, prior);
    let current = keyed(open.current, &open.current_left, current);
    for (prior, current) in equal_runs(&prior, &current, |keyed| &keyed.0) {
        for (i, j) in nearest(open, &indices(prior), &indices(current)) {
            open.pair(i, j);
        }
    }
}

/// All fields of a finding, so that the order of equal ones does not depend on the input order.
type Rank<'a> = (u32, u32, Severity, crate::finding::Side, crate::finding::Category, Option<&'a str>, &'a str, &'a str);

pub(super) fn rank<'a>(claim: &ComparedFinding<'a>) -> Rank<'a> {
    let lines = claim.lines.map_or((u32::MAX, u32::MAX), |lines| (lines.start(), lines.end()));
    let ComparedFinding { severity, side, category, rule, title, evidence, .. } = *claim;
    (lines.0, lines.1, severity, side, category, rule, title, evidence)
}

/// Pairs two lists, always the nearest two, until one list is used up.
///
/// The nearest two are neighbours in the merged order, so a heap of neighbours is enough.
fn nearest(open: &Unmatched<'_>, prior: &[usize], current: &[usize]) -> Vec<(usize, usize)> {
    if let ([i], [j]) = (prior, current) {
        return vec![(*i, *j)];
    }
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
        if row[left].1 != row[right].1 {
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
