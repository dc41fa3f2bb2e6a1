//! Matches reworded findings at the same location.
//!
//! Titles are compared by cosine similarity of TF-IDF vectors of their stems, weighted among the unmatched findings. Titles
//! that reach [`SIMILAR`] share one of the heaviest stems, so candidates are looked up by stem and by lines; titles that
//! cannot be similar are never compared.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::delta::identity::group::rank;
use crate::delta::identity::{ComparedFinding, Unmatched};
use crate::delta::line_map::{LineMap, Mapped};
use crate::delta::title_words::{self, TitleWords};
use crate::finding::{LineRange, Location, Side};
use crate::path::FilePath;

/// The similarity at which two titles mean the same.
const SIMILAR: f64 = 0.5;
/// The most findings that one finding is compared with, rarest stem first.
pub(super) const MAX_COMPARED: usize = 256;

/// Matches overlapping findings with similar titles; returns the number of comparisons skipped.
pub(super) fn by_location(open: &mut Unmatched<'_>, map: &LineMap) -> usize {
    let mapped: Vec<(usize, Location)> = open
        .prior_left()
        .into_iter()
        .filter_map(|i| match open.prior[i].mapped(map)? {
            Mapped::At(location) => Some((i, location)),
            Mapped::Changed | Mapped::Gone => None,
        })
        .collect();
    let files: HashSet<(&FilePath, Side)> =
        mapped.iter().map(|(_, location)| (&location.file, location.side)).collect();
    let prior = mapped.iter().map(|(i, location)| (*i, &location.file, location.lines));
    let current = open.current_left().into_iter().filter_map(|j| {
        let claim = &open.current[j];
        let lines = claim.lines.filter(|_| files.contains(&(claim.file, claim.side)))?;
        Some((j, claim.file, lines))
    });
    let (prior, current) = (classes(open.prior, prior), classes(open.current, current));
    if prior.is_empty() || current.is_empty() {
        return 0;
    }
    let weights = Weights::of(&prior, &current);
    let mut search = Search { prior: &prior, index: Index::of(&prior, &weights), seen: vec![usize::MAX; prior.len()] };
    let mut candidates = Vec::new();
    let mut n_not_compared = 0;
    for (at, class) in current.iter().enumerate() {
        n_not_compared += search.candidates(at, class, &weights, &mut candidates);
    }
    classify(open, candidates, &prior, &current);
    n_not_compared
}

/// Findings with the same words on the same lines.
struct Class<'a> {
    file: &'a FilePath,
    side: Side,
    lines: LineRange,
    rule: Option<&'a str>,
    words: TitleWords,
    /// Sorted, so that the input order makes no difference.
    members: Vec<usize>,
}

/// Sorts findings and groups equal ones.
fn classes<'a>(
    claims: &[ComparedFinding<'a>],
    placed: impl Iterator<Item = (usize, &'a FilePath, LineRange)>,
) -> Vec<Class<'a>> {
    let read = |(index, file, lines): (usize, &'a FilePath, LineRange)| {
        let ComparedFinding { side, rule, title, .. } = claims[index];
        Class { file, side, lines, rule, words: TitleWords::read(title), members: vec![index] }
    };
    let mut classes: Vec<Class<'a>> = placed.map(read).collect();
    fn key<'c>(class: &'c Class<'_>) -> (LineRange, &'c FilePath, Side, &'c TitleWords, Option<&'c str>) {
        (class.lines, class.file, class.side, &class.words, class.rule)
    }
    classes.sort_by(|a, b| {
        key(a).cmp(&key(b)).then_with(|| rank(&claims[a.members[0]]).cmp(&rank(&claims[b.members[0]])))
    });
    classes.dedup_by(|next, kept| {
        let is_equal = key(next) == key(kept);
        if is_equal {
            kept.members.append(&mut next.members);
        }
        is_equal
    });
    classes
}

/// Two similar classes, by their indices in the sorted lists.
struct Candidate {
    cosine: f64,
    distance: u32,
    prior: usize,
    current: usize,
}

/// Matches the best candidates first, as many of two classes as there are in both.
fn classify(open: &mut Unmatched<'_>, mut candidates: Vec<Candidate>, prior: &[Class<'_>], current: &[Class<'_>]) {
    candidates.sort_by(|a, b| {
        let order = b.cosine.total_cmp(&a.cosine).then(a.distance.cmp(&b.distance));
        order.then((a.prior, a.current).cmp(&(b.prior, b.current)))
    });
    let (mut n_used_prior, mut n_used_current) = (vec![0; prior.len()], vec![0; current.len()]);
    for Candidate { prior: from, current: to, .. } in candidates {
        let (old, new) = (&prior[from].members[n_used_prior[from]..], &current[to].members[n_used_current[to]..]);
        for (i, j) in old.iter().zip(new) {
            open.pair(*i, *j);
        }
        let n_joined = old.len().min(new.len());
        n_used_prior[from] += n_joined;
        n_used_current[to] += n_joined;
    }
}

/// Words so common in findings that sharing them means little, even among few findings.
const FREQUENT: &[&str] = &[
    "api",
    "call",
    "case",
    "check",
    "class",
    "code",
    "data",
    "error",
    "field",
    "file",
    "function",
    "handle",
    "input",
    "list",
    "method",
    "name",
    "object",
    "parameter",
    "public",
    "read",
    "request",
    "response",
    "result",
    "return",
    "set",
    "string",
    "type",
    "use",
    "user",
    "value",
    "variable",
    "wrong",
];
/// The weight factor of frequent words.
const FREQUENT_FACTOR: f64 = 0.6;

/// The weight of each stem, and each title as a unit vector.
struct Weights<'a> {
    ids: HashMap<&'a str, usize>,
    of_stem: Vec<f64>,
}

type Vector = Vec<(usize, f64)>;

impl<'a> Weights<'a> {
    fn of(prior: &'a [Class<'_>], current: &'a [Class<'_>]) -> Self {
        let stems = prior.iter().chain(current).flat_map(|class| &class.words.stems);
        let all: BTreeSet<&str> = stems.map(String::as_str).collect();
        let ids: HashMap<&str, usize> = all.into_iter().enumerate().map(|(id, stem)| (stem, id)).collect();
        let count = |classes: &[Class<'_>]| {
            let mut counts = vec![0.0; ids.len()];
            for class in classes {
                let mut stems: Vec<&str> = class.words.stems.iter().map(String::as_str).collect();
                stems.dedup();
                stems.iter().for_each(|stem| counts[ids[stem]] += class.members.len() as f64);
            }
            counts
        };
        let n_titles = |classes: &[Class<'_>]| classes.iter().map(|class| class.members.len()).sum::<usize>();
        // Counted on the side where the stem is more frequent: otherwise a stem shared by one title of each side would weigh
        // less than one that occurs on one side only.
        let n_titles = n_titles(prior).max(n_titles(current)) as f64;
        let counts = count(prior).into_iter().zip(count(current)).map(|(a, b): (f64, f64)| a.max(b));
        let mut of_stem: Vec<f64> = counts.map(|count| (1.0 + n_titles / count).ln()).collect();
        for id in FREQUENT.iter().filter_map(|word| ids.get(title_words::stem(word).as_str())) {
            of_stem[*id] *= FREQUENT_FACTOR;
        }
        Self { ids, of_stem }
    }

    /// Sorted by stem, so that floating-point sums do not depend on the order of the findings.
    fn vector(&self, words: &TitleWords) -> Vector {
        let mut vector: Vector = Vec::with_capacity(words.stems.len());
        for stem in &words.stems {
            let Some(&id) = self.ids.get(stem.as_str()) else { continue };
            match vector.last_mut() {
                Some((last, weight)) if *last == id => *weight += self.of_stem[id],
                _ => vector.push((id, self.of_stem[id])),
            }
        }
        let length = vector.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|(_, weight)| *weight /= length);
        vector
    }
}

fn cosine(a: &Vector, b: &Vector) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while let (Some((first, x)), Some((second, y))) = (a.get(i), b.get(j)) {
        match first.cmp(second) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += x * y;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

/// The stems of which a similar title must share at least one, rarest first.
///
/// The other stems together are too light to reach the threshold.
fn needed(vector: &Vector) -> Vec<usize> {
    let mut by_weight = vector.clone();
    by_weight.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut left = 1.0;
    let heavy = by_weight.into_iter().take_while(|(_, weight)| {
        let is_needed = left >= SIMILAR * SIMILAR - 1e-9;
        left -= weight * weight;
        is_needed
    });
    heavy.map(|(id, _)| id).collect()
}

/// The prior findings by file and stem, sorted by first line.
struct Index<'a> {
    lists: HashMap<(&'a FilePath, Side, usize), List>,
    vectors: Vec<Vector>,
}

/// Findings sorted by first line, for overlap queries.
#[derive(Default)]
struct List {
    members: Vec<(u32, u32, usize)>,
    /// A segment tree over the members: the last line below each node.
    last: Vec<u32>,
}

impl<'a> Index<'a> {
    fn of(prior: &[Class<'a>], weights: &Weights<'_>) -> Self {
        let vectors: Vec<Vector> = prior.iter().map(|class| weights.vector(&class.words)).collect();
        let mut lists: HashMap<_, List> = HashMap::new();
        for (at, (class, vector)) in prior.iter().zip(&vectors).enumerate() {
            for (id, _) in vector {
                let list = lists.entry((class.file, class.side, *id)).or_default();
                list.members.push((class.lines.start(), class.lines.end(), at));
            }
        }
        lists.values_mut().for_each(List::build);
        Self { lists, vectors }
    }
}

impl List {
    fn build(&mut self) {
        let n_leaves = self.members.len().next_power_of_two();
        self.last = vec![0; 2 * n_leaves];
        for (leaf, (_, end, _)) in self.members.iter().enumerate() {
            self.last[n_leaves + leaf] = *end;
        }
        for node in (1..n_leaves).rev() {
            self.last[node] = self.last[2 * node].max(self.last[2 * node + 1]);
        }
    }

    /// Visits overlapping members in order until the visitor returns false.
    fn overlapping(&self, lines: LineRange, visit: &mut impl FnMut(usize) -> bool) {
        let n_leaves = self.last.len() / 2;
        let n_before = self.members.partition_point(|(start, _, _)| *start <= lines.end());
        let mut pending = vec![(1, 0, n_leaves)];
        // Earlier members are pushed last, so that they are popped first.
        while let Some((node, from, len)) = pending.pop() {
            if from >= n_before || self.last[node] < lines.start() {
                continue;
            }
            if len == 1 {
                if !visit(self.members[from].2) {
                    return;
                }
            } else {
                pending.push((2 * node + 1, from + len / 2, len / 2));
                pending.push((2 * node, from, len / 2));
            }
        }
    }
}

struct Search<'a> {
    prior: &'a [Class<'a>],
    index: Index<'a>,
    /// The current class that each prior class was last compared with.
    seen: Vec<usize>,
}

impl Search<'_> {
    /// Compares one current class with prior classes that share its location and a heavy stem.
    fn candidates(&mut self, at: usize, class: &Class<'_>, weights: &Weights<'_>, found: &mut Vec<Candidate>) -> usize {
        let vector = weights.vector(&class.words);
        let (mut n_compared, mut n_not_compared) = (0, 0);
        for stem in needed(&vector) {
            let Some(list) = self.index.lists.get(&(class.file, class.side, stem)) else { continue };
            list.overlapping(class.lines, &mut |prior| {
                if std::mem::replace(&mut self.seen[prior], at) == at {
                    return true;
                }
                if n_compared == MAX_COMPARED {
                    n_not_compared += 1;
                    return false;
                }
                n_compared += 1;
                let cosine = cosine(&vector, &self.index.vectors[prior]);
                let other = &self.prior[prior];
                let is_other_rule = matches!((other.rule, class.rule), (Some(a), Some(b)) if a != b);
                if cosine >= SIMILAR - 1e-9 && !is_other_rule && !other.words.contradict(&class.words) {
                    let distance = other.lines.start().abs_diff(class.lines.start());
                    found.push(Candidate { cosine, distance, prior, current: at });
                }
                true
            });
        }
        n_not_compared
    }
}
