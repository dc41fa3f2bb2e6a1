//! Matches findings at the same lines, of one rule or with related words.
//!
//! Findings that can be one share a word, a rule or a part of their quotes, so candidates are looked up by these and by
//! lines; findings that share nothing are never compared.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::delta::identity::agree::{ReadFinding, SharedCode, is_same_quote};
use crate::delta::identity::group::rank;
use crate::delta::identity::{ComparedFinding, Place, Unmatched, is_distinctive, without_space};
use crate::finding::{Category, LineRange, Side};
use crate::path::FilePath;

/// The most findings that one finding is compared with, rarest word first.
pub(super) const MAX_COMPARED: usize = 64;
/// The most words of a quote that are looked up.
const MAX_CODE_WORDS: usize = 32;

/// Matches overlapping findings; returns the number of comparisons skipped.
pub(super) fn by_location(open: &mut Unmatched<'_>) -> usize {
    let prior = open.prior_left().into_iter().filter_map(|i| Some((i, open.paths[i], open.places[i].lines()?)));
    let prior = classes(open.prior, prior, |i| open.places[i]);
    let current =
        open.current_left().into_iter().filter_map(|j| Some((j, open.current[j].file, open.current[j].lines?)));
    let current = classes(open.current, current, |_| Place::Gone);
    if prior.is_empty() || current.is_empty() {
        return 0;
    }
    let mut search = Search { prior: &prior, index: Index::of(&prior), seen: vec![usize::MAX; prior.len()] };
    let mut candidates = Vec::new();
    let mut n_not_compared = 0;
    for (at, class) in current.iter().enumerate() {
        n_not_compared += search.candidates(at, class, &mut candidates);
    }
    pair_best(open, candidates, &prior, &current);
    n_not_compared
}

/// Equal findings on the same lines.
struct Class<'a> {
    file: &'a FilePath,
    lines: LineRange,
    place: Place,
    read: ReadFinding<'a>,
    /// Sorted, so that the input order makes no difference.
    members: Vec<usize>,
}

/// Sorts findings and groups equal ones.
fn classes<'a>(
    claims: &[ComparedFinding<'a>],
    placed: impl Iterator<Item = (usize, &'a FilePath, LineRange)>,
    place: impl Fn(usize) -> Place,
) -> Vec<Class<'a>> {
    let mut placed: Vec<(usize, &FilePath, LineRange)> = placed.collect();
    let order = |(a, a_file, a_lines): &(usize, &FilePath, LineRange),
                 (b, b_file, b_lines): &(usize, &FilePath, LineRange)| {
        (a_lines, a_file, rank(&claims[*a])).cmp(&(b_lines, b_file, rank(&claims[*b])))
    };
    placed.sort_by(order);
    let equal = placed.chunk_by(|a, b| order(a, b) == Ordering::Equal);
    let class = |equal: &[(usize, &'a FilePath, LineRange)]| {
        let &(first, file, lines) = equal.first()?;
        let members = equal.iter().map(|(index, _, _)| *index).collect();
        Some(Class { file, lines, place: place(first), read: ReadFinding::of(claims[first]), members })
    };
    equal.filter_map(class).collect()
}

impl Class<'_> {
    fn side(&self) -> Side {
        self.read.claim.side
    }

    /// The similarity of two overlapping findings, if they are one.
    fn agrees(&self, current: &Self) -> Option<f64> {
        let (prior, now) = (&self.read, &current.read);
        let code = match self.place.shared_code() {
            SharedCode::Lines if is_same_quote(prior.claim.evidence, now.claim.evidence) => SharedCode::Quote,
            code => code,
        };
        prior.agrees(now, code)
    }

    /// Words, the rule and parts of the quote, by which candidates are found.
    fn tokens(&self) -> Vec<Token<'_>> {
        let claim = &self.read.claim;
        let code = claim.evidence.split(|character: char| !character.is_alphanumeric());
        let code = code.filter(|word| is_distinctive(word)).take(MAX_CODE_WORDS).map(Token::Code);
        let quote = Some(without_space(claim.evidence)).filter(|quote| !quote.is_empty()).map(Token::Quote);
        let words = self.read.words.all.iter().map(|stem| Token::Word(stem));
        let bare = claim.evidence.trim().is_empty().then_some(Token::Bare(claim.category));
        let mut tokens: Vec<Token<'_>> =
            words.chain(claim.rule.map(Token::Rule)).chain(quote).chain(code).chain(bare).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }
}

/// A property by which candidates are found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Token<'a> {
    Rule(&'a str),
    Quote(String),
    Word(&'a str),
    Code(&'a str),
    /// The category of a finding that quotes nothing.
    Bare(Category),
}

/// Two classes that can be one, by their indices in the sorted lists.
struct Candidate<'a> {
    score: f64,
    distance: u32,
    /// The fields of both, in an order that does not depend on which is the prior one.
    ranks: [super::group::Rank<'a>; 2],
    prior: usize,
    current: usize,
}

/// Matches the best candidates first, as many of two classes as there are in both.
fn pair_best(open: &mut Unmatched<'_>, mut candidates: Vec<Candidate<'_>>, prior: &[Class<'_>], current: &[Class<'_>]) {
    candidates.sort_by(|a, b| {
        let order = b.score.total_cmp(&a.score).then(a.distance.cmp(&b.distance));
        order.then_with(|| a.ranks.cmp(&b.ranks)).then((a.prior, a.current).cmp(&(b.prior, b.current)))
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

/// The prior findings by file and token, sorted by first line.
struct Index<'a> {
    lists: HashMap<(&'a FilePath, Side, Token<'a>), List>,
}

impl<'a> Index<'a> {
    fn of(prior: &'a [Class<'a>]) -> Self {
        let mut lists: HashMap<_, List> = HashMap::new();
        for (at, class) in prior.iter().enumerate() {
            for token in class.tokens() {
                let list = lists.entry((class.file, class.side(), token)).or_default();
                list.members.push((class.lines.start(), class.lines.end(), at));
            }
        }
        lists.values_mut().for_each(List::build);
        Self { lists }
    }

    /// The lists of a finding's tokens, rarest first.
    fn lists(&self, class: &'a Class<'a>) -> Vec<(usize, Token<'a>, &List)> {
        let list = |token: Token<'a>| {
            let list = self.lists.get(&(class.file, class.side(), token.clone()))?;
            Some((list.members.len(), token, list))
        };
        let mut lists: Vec<_> = class.tokens().into_iter().filter_map(list).collect();
        lists.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        lists
    }
}

/// Findings sorted by first line, for overlap queries.
#[derive(Default)]
struct List {
    members: Vec<(u32, u32, usize)>,
    /// A segment tree over the members: the last line below each node.
    last: Vec<u32>,
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

impl<'a> Search<'a> {
    /// Compares one current class with prior classes that share its location and a token.
    fn candidates(&mut self, at: usize, class: &'a Class<'a>, found: &mut Vec<Candidate<'a>>) -> usize {
        let (mut n_compared, mut n_not_compared) = (0, 0);
        for (_, _, list) in self.index.lists(class) {
            list.overlapping(class.lines, &mut |prior| {
                if std::mem::replace(&mut self.seen[prior], at) == at {
                    return true;
                }
                if n_compared == MAX_COMPARED {
                    n_not_compared += 1;
                    return false;
                }
                n_compared += 1;
                let other = &self.prior[prior];
                if let Some(score) = other.agrees(class) {
                    let distance = other.lines.start().abs_diff(class.lines.start());
                    let mut ranks = [rank(&other.read.claim), rank(&class.read.claim)];
                    ranks.sort_unstable();
                    found.push(Candidate { score, distance, ranks, prior, current: at });
                }
                true
            });
        }
        n_not_compared
    }
}
