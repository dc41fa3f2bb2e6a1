//! Packs items into calls (bin packing by risk).
//!
//! While all items fit, files stay together in the order of their paths. Otherwise items are taken by risk per token
//! until the budget is used up. The result does not depend on the order of the input.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::item::{Item, Shape};
use super::{Call, LeftOut, Piece, Plan, PlanInput, PlanLimits, Unit, thousands};
use crate::tokens::{tokens, weight};

/// The calls tried for an item before a new one is opened.
const MAX_TRIED: usize = 64;

/// Packs items, given in the order of paths.
pub(super) fn pack(items: Vec<Item>, material: &PlanInput<'_>) -> Plan {
    let limits = material.limits;
    let everything: Vec<usize> = (0..items.len()).collect();
    let by_risk = by_risk(&items);
    let full = Bins::in_order(&items, &everything, limits, Form::Full);
    let bins = full.or_else(|| {
        let plain = Bins::in_order(&items, &everything, limits, Form::Plain);
        let mut bins = plain.unwrap_or_else(|| Bins::by_risk(&items, &by_risk, limits));
        bins.add_context(&items, &by_risk);
        Some(bins)
    });
    let bins = bins.unwrap_or_else(|| Bins::new(limits));
    let left_out = left_out(&items, &bins, limits);
    Plan { calls: calls(items, bins), left_out }
}

/// With context or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Plain,
}

/// An item, or a part of one, in a call.
#[derive(Debug, Clone, Copy)]
struct Placed {
    item: usize,
    part: usize,
    form: Form,
}

/// The items of one call.
#[derive(Debug, Default)]
struct Bin {
    placed: Vec<Placed>,
    files: HashSet<usize>,
    weight: u64,
}

/// The calls so far, and their share of the budget.
#[derive(Debug)]
struct Bins {
    limits: PlanLimits,
    bins: Vec<Bin>,
    spent: u64,
}

impl Bins {
    fn new(limits: PlanLimits) -> Self {
        Self { limits, bins: Vec::new(), spent: 0 }
    }

    /// Packs items in order, each into the last call or a new one; `None` when not all fit.
    fn in_order(items: &[Item], chosen: &[usize], limits: PlanLimits, form: Form) -> Option<Self> {
        let mut bins = Self::new(limits);
        for &index in chosen {
            let item = &items[index];
            let form = if item.full.is_some() { form } else { Form::Plain };
            let n_parts = if form == Form::Full { 1 } else { item.plain.len() };
            for part in 0..n_parts {
                let placed = Placed { item: index, part, form };
                let last = bins.bins.len().saturating_sub(1);
                let fits = bins.bins.get(last).is_some_and(|bin| bins.fits(bin, items, placed));
                if !fits && !bins.open(placed.cost(items)) {
                    return None;
                }
                let at = if fits { last } else { bins.bins.len() - 1 };
                bins.put(at, items, placed);
            }
        }
        Some(bins)
    }

    /// Packs as many items as fit, the most risk per token first.
    fn by_risk(items: &[Item], by_risk: &[usize], limits: PlanLimits) -> Self {
        let mut bins = Self::new(limits);
        let (mut chosen, mut large) = (Vec::new(), Vec::new());
        for &index in by_risk.iter().filter(|&&index| !items[index].plain.is_empty()) {
            if bins.take(items, index) {
                chosen.push(index);
            } else if items[index].plain.len() > 1 {
                large.push(index);
            }
        }
        chosen.sort_unstable();
        // In the order of paths the same items may need no more calls, and files stay together.
        let mut bins = Self::in_order(items, &chosen, limits, Form::Plain).unwrap_or(bins);
        for index in large {
            bins.take_some(items, index);
        }
        bins
    }

    /// Places all of an item, or nothing.
    fn take(&mut self, items: &[Item], index: usize) -> bool {
        let item = &items[index];
        if let [_] = item.plain.as_slice() {
            let placed = Placed { item: index, part: 0, form: Form::Plain };
            let Some(at) = self.find(items, placed) else { return false };
            self.put(at, items, placed);
            return true;
        }
        // Each part of a large hunk fills a call.
        let n_parts = item.plain.len();
        let calls_left = self.limits.max_calls.saturating_sub(self.bins.len());
        let cost = self.overhead().saturating_add(item.head).saturating_mul(n_parts as u64);
        if calls_left < n_parts || self.left() < cost.saturating_add(item.weight()) {
            return false;
        }
        self.take_some(items, index);
        true
    }

    /// Places as many parts of an item as the budget allows.
    fn take_some(&mut self, items: &[Item], index: usize) {
        for part in 0..items[index].plain.len() {
            let placed = Placed { item: index, part, form: Form::Plain };
            if !self.open(placed.cost(items)) {
                return;
            }
            self.put(self.bins.len() - 1, items, placed);
        }
    }

    /// A call with room: one that has the file already, any other, or a new one.
    fn find(&mut self, items: &[Item], placed: Placed) -> Option<usize> {
        let first = self.bins.len().saturating_sub(MAX_TRIED);
        let fitting = || (first..self.bins.len()).filter(|&at| self.fits(&self.bins[at], items, placed));
        let with_file = fitting().find(|&at| self.bins[at].files.contains(&items[placed.item].file));
        let at = with_file.or_else(|| fitting().next());
        at.or_else(|| self.open(placed.cost(items)).then(|| self.bins.len() - 1))
    }

    /// Opens a call for an item of this weight, unless the limits are exceeded.
    fn open(&mut self, weight_of_first: u64) -> bool {
        let overhead = self.overhead();
        let allowed = self.bins.len() < self.limits.max_calls
            && weight_of_first <= weight(self.limits.call_tokens)
            && overhead.saturating_add(weight_of_first) <= self.left();
        if allowed {
            self.spent = self.spent.saturating_add(overhead);
            self.bins.push(Bin::default());
        }
        allowed
    }

    fn fits(&self, bin: &Bin, items: &[Item], placed: Placed) -> bool {
        let cost = bin.cost(items, placed);
        bin.weight.saturating_add(cost) <= weight(self.limits.call_tokens) && cost <= self.left()
    }

    /// The overhead of a call; one token more, since each call is rounded up.
    fn overhead(&self) -> u64 {
        weight(self.limits.overhead.saturating_add(1))
    }

    fn left(&self) -> u64 {
        weight(self.limits.total_tokens).saturating_sub(self.spent)
    }

    fn put(&mut self, at: usize, items: &[Item], placed: Placed) {
        let bin = &mut self.bins[at];
        let cost = bin.cost(items, placed);
        bin.weight += cost;
        self.spent = self.spent.saturating_add(cost);
        bin.files.insert(items[placed.item].file);
        bin.placed.push(placed);
    }

    /// Adds context where there is room left, the most risk first.
    fn add_context(&mut self, items: &[Item], by_risk: &[usize]) {
        let mut places = vec![None; items.len()];
        for (at, bin) in self.bins.iter().enumerate() {
            for (position, placed) in bin.placed.iter().enumerate().filter(|(_, placed)| placed.part == 0) {
                places[placed.item] = Some((at, position));
            }
        }
        for &index in by_risk {
            let (Some((at, position)), Some(full)) = (places[index], items[index].full.as_ref()) else { continue };
            let more = full.weight.saturating_sub(items[index].weight());
            let bin = &self.bins[at];
            if bin.weight.saturating_add(more) <= weight(self.limits.call_tokens) && more <= self.left() {
                self.spent += more;
                self.bins[at].weight += more;
                self.bins[at].placed[position].form = Form::Full;
            }
        }
    }
}

impl Bin {
    /// The weight that an item adds to the call.
    fn cost(&self, items: &[Item], placed: Placed) -> u64 {
        let item = &items[placed.item];
        let head = if self.files.contains(&item.file) { 0 } else { item.head };
        placed.weight(item).saturating_add(head)
    }
}

impl Placed {
    fn weight(self, item: &Item) -> u64 {
        let shape = match self.form {
            Form::Full => item.full.as_ref(),
            Form::Plain => item.plain.get(self.part),
        };
        shape.map_or(0, |shape| shape.weight)
    }

    /// The weight alone in a call.
    fn cost(self, items: &[Item]) -> u64 {
        let item = &items[self.item];
        self.weight(item).saturating_add(item.head)
    }
}

/// The items by risk per token, then in the order of paths.
fn by_risk(items: &[Item]) -> Vec<usize> {
    let cost = |item: &Item| u128::from(item.weight().saturating_add(item.head).max(1));
    let more = |a: &Item, b: &Item| -> Ordering { (u128::from(b.risk) * cost(a)).cmp(&(u128::from(a.risk) * cost(b))) };
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| more(&items[a], &items[b]));
    order
}

/// The hunks that are not sent as a whole, in the order of the items.
fn left_out(items: &[Item], bins: &Bins, limits: PlanLimits) -> Vec<LeftOut> {
    let mut sent = vec![0; items.len()];
    bins.bins.iter().flat_map(|bin| &bin.placed).for_each(|placed| sent[placed.item] += 1);
    let over = if bins.bins.len() >= limits.max_calls {
        format!("over the limit of {} calls", thousands(limits.max_calls))
    } else {
        format!("over the budget of {} tokens", thousands(limits.total_tokens))
    };
    let mut left_out = Vec::new();
    for (item, n_sent) in items.iter().zip(sent) {
        let n_parts = item.plain.len();
        let why = if n_parts == 0 {
            format!("a call of {} tokens is too small for it", thousands(limits.call_tokens))
        } else if n_sent == 0 {
            over.clone()
        } else if n_sent < n_parts {
            let end = item.plain[n_sent - 1].pieces.iter().find_map(last_line).unwrap_or(0);
            format!("only its first {} lines were sent; the rest is {over}", thousands(end))
        } else if let Some(cut) = &item.cut {
            cut.clone()
        } else {
            continue;
        };
        left_out.extend(item.hunks.iter().map(|&hunk| LeftOut { file: item.file, hunk, why: why.clone() }));
    }
    left_out
}

fn last_line(piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Lines { lines, .. } => Some(lines.end),
        Piece::Around { .. } => None,
    }
}

/// The calls, the riskiest first.
fn calls(mut items: Vec<Item>, bins: Bins) -> Vec<Call> {
    let mut calls = Vec::new();
    for mut bin in bins.bins {
        // Items are in the order of paths, so units are, too.
        bin.placed.sort_by_key(|placed| (placed.item, placed.part));
        let risk: u64 = bin.placed.iter().map(|placed| items[placed.item].risk).sum();
        let units = bin.placed.iter().map(|placed| {
            let item = &mut items[placed.item];
            let shape = match placed.form {
                Form::Full => item.full.as_mut(),
                Form::Plain => item.plain.get_mut(placed.part),
            };
            Unit { file: item.file, pieces: shape.map(Shape::take).unwrap_or_default() }
        });
        let units = units.collect();
        calls.push((risk, Call { units, tokens: tokens(bin.weight) }));
    }
    // The sort is stable: equal calls stay in the order of paths.
    calls.sort_by_key(|(risk, _)| std::cmp::Reverse(*risk));
    calls.into_iter().map(|(_, call)| call).collect()
}

impl Shape {
    /// Each shape is sent once.
    fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }
}
