//! The items to pack: selected hunks, grouped by definition, with and without context.

use std::ops::Range;

use super::file_context::{Extent, FileContext, span};
use super::risk::Risks;
use super::{Piece, PlanInput, Unit};
use crate::diff::{FileDiff, Line, LineKind};
use crate::plan::render::{Endings, Position, head, write_line, write_unit};
use crate::tokens::{weigh, weight};

/// A call with fewer tokens left for a hunk is not worth making.
const MIN_ROOM: usize = 50;

/// Context lines of a hunk before and after new lines.
const MARGIN: usize = 10;

/// Hunks that are sent together or not at all.
#[derive(Debug)]
pub(super) struct Item {
    /// The file, by its index in the change.
    pub(super) file: usize,
    /// The hunks.
    pub(super) hunks: Vec<usize>,
    /// The risk of not reviewing it.
    pub(super) risk: u64,
    /// The weight of the file header.
    pub(super) head: u64,
    /// The hunks without context: one shape, several when they exceed a call, none when no call has room.
    pub(super) plain: Vec<Shape>,
    /// The hunks with context, when it is known and fits into a call.
    pub(super) full: Option<Shape>,
    /// Why the hunk is incomplete even if all shapes are sent.
    pub(super) cut: Option<String>,
}

/// One rendering of an item.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) pieces: Vec<Piece>,
    pub(super) weight: u64,
}

impl Item {
    /// The weight without context.
    pub(super) fn weight(&self) -> u64 {
        self.plain.iter().map(|shape| shape.weight).sum()
    }
}

/// All items, in the order of paths and lines.
pub(super) fn items(material: &PlanInput<'_>) -> Vec<Item> {
    let risks = Risks::new(material.findings, material.analysis);
    let mut order: Vec<usize> = (0..material.files.len()).collect();
    order.sort_by_key(|&index| material.files[index].path());
    let mut items = Vec::new();
    for file_index in order {
        let file = &material.files[file_index];
        let wanted: Vec<usize> = (0..file.hunks.len()).filter(|&hunk| (material.wanted)(file_index, hunk)).collect();
        if wanted.is_empty() {
            continue;
        }
        let mut scratch = String::new();
        head(&mut scratch, file);
        let head = weigh(scratch.as_bytes());
        let room = weight(material.limits.call_tokens).saturating_sub(head);
        let known = (material.known)(file_index);
        let fresh = |line: &Line<'_>| (material.fresh)(file_index, line);
        let mut maker = Maker { file_index, file, known, room, head, risks: &risks, fresh: &fresh, scratch };
        maker.make(&wanted, &mut items);
    }
    items
}

/// Builds the items of one file.
struct Maker<'a> {
    file_index: usize,
    file: &'a FileDiff,
    known: Option<&'a FileContext>,
    /// The room of a call besides the file header.
    room: u64,
    head: u64,
    risks: &'a Risks<'a>,
    /// True for a line that is new to the reviewer.
    fresh: &'a dyn Fn(&Line<'_>) -> bool,
    scratch: String,
}

impl Maker<'_> {
    fn make(&mut self, wanted: &[usize], items: &mut Vec<Item>) {
        let mut rest = wanted;
        while !rest.is_empty() {
            let n_hunks = self.n_neighbours(rest);
            let (group, after) = rest.split_at(n_hunks);
            rest = after;
            let together = self.full(group);
            if group.len() > 1 && together.as_ref().is_none_or(|shape| shape.weight > self.room) {
                for &hunk in group {
                    let full = self.full(&[hunk]);
                    items.push(self.item(&[hunk], full));
                }
            } else {
                items.push(self.item(group, together));
            }
        }
    }

    /// How many of the first hunks belong to one definition: the context of one reaches the next.
    fn n_neighbours(&self, hunks: &[usize]) -> usize {
        let joins = |pair: &&[usize]| match (self.extent(pair[0]), self.extent(pair[1])) {
            (Some(first), Some(second)) => second.start <= first.end.saturating_add(1),
            _ => false,
        };
        1 + hunks.windows(2).take_while(joins).count()
    }

    fn extent(&self, hunk: usize) -> Option<Extent> {
        self.known?.extent(hunk, self.file.hunks.get(hunk)?)
    }

    fn item(&mut self, hunks: &[usize], full: Option<Shape>) -> Item {
        let pieces = hunks.iter().flat_map(|&hunk| self.pieces(hunk)).collect();
        let plain = self.shape(pieces);
        let (plain, cut) = match hunks {
            _ if self.room < weight(MIN_ROOM) => (Vec::new(), None),
            &[hunk] if plain.weight > self.room => self.divide(hunk),
            _ => (vec![plain], None),
        };
        let least = plain.iter().map(|shape| shape.weight).sum::<u64>();
        let full = full.filter(|full| plain.len() == 1 && full.weight <= self.room && full.weight > least);
        let risk = hunks.iter().filter_map(|&hunk| self.file.hunks.get(hunk));
        let risk = risk.map(|hunk| self.risks.of(self.file, hunk)).sum();
        Item { file: self.file_index, hunks: hunks.to_vec(), risk, head: self.head, plain, full, cut }
    }

    fn shape(&mut self, pieces: Vec<Piece>) -> Shape {
        let unit = Unit { file: self.file_index, pieces };
        self.scratch.clear();
        write_unit(&mut self.scratch, self.file, &unit, None);
        Shape { pieces: unit.pieces, weight: weigh(self.scratch.as_bytes()) }
    }

    /// The lines of a hunk to send.
    fn pieces(&self, hunk: usize) -> Vec<Piece> {
        self.windows(hunk).into_iter().map(|lines| Piece::Lines { hunk, lines, cut: None }).collect()
    }

    /// The line ranges of a hunk around its new lines: all of it, unless parts were seen before.
    fn windows(&self, hunk: usize) -> Vec<Range<usize>> {
        let Some(hunk) = self.file.hunks.get(hunk) else { return Vec::new() };
        let n_lines = self.file.lines(hunk).count();
        let mut windows: Vec<Range<usize>> = Vec::new();
        let mut was_seen = false;
        for (index, line) in self.file.lines(hunk).enumerate().filter(|(_, line)| line.kind != LineKind::Context) {
            if !(self.fresh)(&line) {
                was_seen = true;
                continue;
            }
            let (start, end) = (index.saturating_sub(MARGIN), (index + 1 + MARGIN).min(n_lines));
            match windows.last_mut() {
                Some(last) if start <= last.end => last.end = end,
                _ => windows.push(start..end),
            }
        }
        // A new hunk is sent whole, and so is one that was selected for another reason than a new line.
        if windows.is_empty() || !was_seen {
            windows.clear();
            windows.push(0..n_lines);
        }
        windows
    }

    /// The hunks with the context that does not belong to other hunks.
    fn full(&mut self, hunks: &[usize]) -> Option<Shape> {
        let known = self.known?;
        let extents: Vec<Extent> = hunks.iter().map(|&hunk| self.extent(hunk)).collect::<Option<_>>()?;
        let span_of = |index: Option<usize>| index.and_then(|index| self.file.hunks.get(index)).map(span);
        let around = |first: u32, last: u32| {
            let text = if first <= last { known.lines(first, last) } else { None };
            text.map(|text| Piece::Around { first_line: first, text })
        };
        // The last line that is sent, here or with the previous hunk.
        let mut shown = span_of(hunks.first()?.checked_sub(1)).map_or(0, |(_, last)| last);
        let (mut pieces, mut crumbed) = (Vec::new(), 0);
        for (&hunk, extent) in hunks.iter().zip(&extents) {
            let (first, last) = span_of(Some(hunk))?;
            let start = extent.start.max(shown.saturating_add(1));
            let crumbs = extent.crumbs.iter().filter(|&&crumb| crumb > crumbed && crumb < start);
            pieces.extend(crumbs.filter_map(|&crumb| around(crumb, crumb)));
            pieces.extend(around(start, first.saturating_sub(1)));
            pieces.extend(self.pieces(hunk));
            shown = shown.max(last);
            let next = span_of(hunk.checked_add(1)).map_or(u32::MAX, |(first, _)| first);
            let end = extent.end.min(next.saturating_sub(1));
            pieces.extend(around(shown.saturating_add(1), end));
            shown = shown.max(end);
            crumbed = shown;
        }
        Some(self.shape(pieces))
    }

    /// Splits a hunk that exceeds a call between lines; gives the reason when a single line was truncated.
    fn divide(&mut self, hunk_index: usize) -> (Vec<Shape>, Option<String>) {
        let (mut shapes, mut cut_line) = (Vec::new(), None);
        let Some(hunk) = self.file.hunks.get(hunk_index) else { return (shapes, None) };
        let endings = Endings::of(self.file.lines(hunk));
        let mut at = Position::of(hunk);
        let piece = |lines, cut| Piece::Lines { hunk: hunk_index, lines, cut };
        let windows = self.windows(hunk_index);
        let mut windows = windows.iter();
        let mut window = windows.next().cloned().unwrap_or(0..0);
        let (mut start, mut sum) = (window.start, 0);
        for (index, line) in self.file.lines(hunk).enumerate() {
            if index >= window.end {
                if start < window.end {
                    shapes.push(Shape { pieces: vec![piece(start..window.end, None)], weight: sum });
                }
                window = windows.next().cloned().unwrap_or(usize::MAX..usize::MAX);
                start = window.start;
            }
            if index < window.start {
                at.pass(&line);
                continue;
            }
            let weight = self.weigh_line(&line, endings, None);
            if index > start && sum + weight > self.room {
                shapes.push(Shape { pieces: vec![piece(start..index, None)], weight: sum });
                start = index;
            }
            if index == start {
                sum = self.weigh_head(at, (index == 0).then(|| self.file.section(hunk)));
            }
            if sum + weight > self.room {
                let kept = self.cut(&line, endings, weight);
                let weight = sum + self.weigh_line(&line, endings, Some(kept));
                shapes.push(Shape { pieces: vec![piece(index..index + 1, Some(kept))], weight });
                cut_line.get_or_insert_with(|| cut_reason(&line));
                start = index + 1;
            } else {
                sum += weight;
            }
            at.pass(&line);
        }
        let n_lines = self.file.lines(hunk).count();
        let end = window.end.min(n_lines);
        if start < end {
            shapes.push(Shape { pieces: vec![piece(start..end, None)], weight: sum });
        }
        (shapes, cut_line)
    }

    /// The bytes to keep of a line that exceeds a call.
    fn cut(&mut self, line: &Line<'_>, endings: Endings, weight: u64) -> usize {
        // A line this long is generated: its beginning is enough.
        let most = self.room / 4;
        let share = u128::from(most) * line.text.len() as u128 / u128::from(weight.max(1));
        let mut kept = usize::try_from(share).unwrap_or(0);
        while kept > 0 && self.weigh_line(line, endings, Some(kept)) > most {
            kept /= 2;
        }
        kept
    }

    fn weigh_line(&mut self, line: &Line<'_>, endings: Endings, cut: Option<usize>) -> u64 {
        self.scratch.clear();
        write_line(&mut self.scratch, line, endings, cut);
        weigh(self.scratch.as_bytes())
    }

    fn weigh_head(&mut self, at: Position, section: Option<&[u8]>) -> u64 {
        self.scratch.clear();
        at.write_head(&mut self.scratch, section);
        weigh(self.scratch.as_bytes())
    }
}

fn cut_reason(line: &Line<'_>) -> String {
    let number = line.new.or(line.old).unwrap_or_default();
    format!("line {number} has {} bytes and was cut", super::thousands(line.text.len()))
}
