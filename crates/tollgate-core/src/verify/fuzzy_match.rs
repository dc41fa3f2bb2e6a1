//! Where a quote really is.
//!
//! As it stands; without its white space; with small differences or in parts, in order. A word, number or operator that
//! differs makes it another quote: a reviewer that quotes `i <= n` where `i < n` stands has seen a fault that is not
//! there. Of several places the one on the claimed side, near the claimed line, on changed lines is taken.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use crate::diff::LineKind;
use crate::finding::{LineRange, Side};
use crate::verify::ShownChange;
use crate::verify::quote::{self, QuoteVariant};
use crate::verify::search_text::{Form, Order, Quote, SearchText};
use crate::visible::visible;

/// The shown lines in every order and form that was asked for.
pub(super) struct SearchTexts<'a> {
    shown: ShownChange<'a>,
    texts: [OnceCell<SearchText<'a>>; 8],
}

impl<'a> SearchTexts<'a> {
    pub(super) fn new(shown: ShownChange<'a>) -> Self {
        Self { shown, texts: Default::default() }
    }

    pub(super) fn get(&self, order: Order, form: Form) -> &SearchText<'a> {
        let index = order as usize * 2 + form as usize;
        self.texts[index]
            .get_or_init(|| SearchText::new(self.shown.files, self.shown.sent, self.shown.around, order, form))
    }

    /// How many places were compared until now.
    pub(super) fn n_compared(&self) -> u64 {
        self.texts.iter().filter_map(OnceCell::get).map(SearchText::n_compared).sum()
    }
}

/// How well a claim agrees with the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchQuality {
    /// The quote is there as it stands.
    Exact,
    /// It is there with other white space.
    Whitespace,
    /// Its parts are there, in order.
    Parts,
    /// It is there but for quotation marks, commas and the like, or for lines left out.
    Nearest,
    /// Nothing is quoted, but the place is in the change.
    Place,
}

impl MatchQuality {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Whitespace => "whitespace",
            Self::Parts => "parts",
            Self::Nearest => "nearest",
            Self::Place => "place",
        }
    }
}

/// A place in the change.
#[derive(Debug, Clone)]
pub(super) struct MatchedPlace {
    /// Which file of the change.
    pub(super) file: usize,
    pub(super) side: Side,
    pub(super) lines: LineRange,
    /// The lines of the hunk on that side.
    pub(super) hunk: LineRange,
    pub(super) state: MatchQuality,
    /// What stands there.
    pub(super) text: String,
}

/// What became of a quote.
pub(super) enum QuoteMatch {
    /// It is in the change.
    Here(MatchedPlace),
    /// It is among what else was shown, on these lines of the new file.
    Outside(LineRange),
    /// It is not there.
    Nowhere,
}

/// Where the claim says it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimedLines {
    pub(super) lines: Option<LineRange>,
    pub(super) side: Option<Side>,
}

/// Most rows between the first and the last of a quote, blank ones included.
const MAX_ROWS: usize = 1000;
/// So far from the claimed line is still near it: reviewers miscount.
const NEAR: u32 = 5;
/// Most parts of a quote that are looked for one by one.
const MAX_PARTS: usize = 40;
/// Most lines that are left out between two lines of a quote without a mark.
const MAX_GAP: usize = 4;

/// Looks for a quote in a file.
pub(super) fn find_quote(texts: &SearchTexts<'_>, file: usize, evidence: &str, wanted: ClaimedLines) -> QuoteMatch {
    let readings = quote::readings(evidence);
    let forms = [Form::Tight, Form::Loose];
    for form in forms {
        for reading in &readings {
            if let Some(found) = whole(texts, file, reading, form, wanted) {
                return QuoteMatch::Here(found);
            }
        }
    }
    let sure = || readings.iter().filter(|reading| !reading.must_be_there);
    let in_parts = || sure().find_map(|reading| in_parts(texts, file, reading, wanted));
    if let Some(found) = sure().find_map(|reading| on_the_line(texts, file, reading, wanted)).or_else(in_parts) {
        return QuoteMatch::Here(found);
    }
    let outside = forms.into_iter().find_map(|form| {
        let text = texts.get(Order::WithContext, form);
        sure().find_map(|reading| {
            let quote = telling(&reading.text, form)?;
            let rows = text.file(file);
            let near = near(text, file, reading, wanted);
            let (i, j) = *text.find(&quote, rows, near).0.first()?;
            LineRange::new(text.rows[i].number, text.rows[j].number)
        })
    });
    outside.map_or(QuoteMatch::Nowhere, QuoteMatch::Outside)
}

/// What is found in the files of the change when nobody says in which.
pub(super) enum MatchElsewhere {
    /// In one place.
    Once(MatchedPlace),
    /// Somewhere, but it is not telling or not the only place.
    Somewhere,
    /// Nowhere.
    Nowhere,
}

/// Fewest characters of a quote that is looked for in all files.
const TELLING_EVERYWHERE: usize = 12;

/// Looks for a quote in all files.
pub(super) fn find_in_all_files(texts: &SearchTexts<'_>, evidence: &str) -> MatchElsewhere {
    let mut somewhere = false;
    for reading in quote::readings(evidence).into_iter().filter(|reading| !reading.must_be_there) {
        let Some(quote) = telling(&reading.text, Form::Tight) else { continue };
        for order in [Order::Right, Order::Left] {
            let text = texts.get(order, Form::Tight);
            let (found, all) = text.find(&quote, 0..text.rows.len(), 0);
            let wanted = ClaimedLines { lines: None, side: None };
            match found[..] {
                [place] if all && quote.len() >= TELLING_EVERYWHERE => {
                    let file = text.file_of(place.0);
                    if let Some(spot) = spot(texts, order, Form::Tight, file, place, wanted) {
                        return MatchElsewhere::Once(spot.found(texts, order, Form::Tight, &reading));
                    }
                }
                [] => {}
                _ => {
                    somewhere = true;
                    break;
                }
            }
        }
    }
    if somewhere { MatchElsewhere::Somewhere } else { MatchElsewhere::Nowhere }
}

fn telling(text: &str, form: Form) -> Option<Quote> {
    Some(Quote::new(text, form)).filter(Quote::is_telling)
}

/// The row from which on a quote is looked for, outwards.
fn near(text: &SearchText<'_>, file: usize, reading: &QuoteVariant, wanted: ClaimedLines) -> usize {
    let line = wanted.lines.map(LineRange::start).or(reading.number);
    line.map_or(text.file(file).start, |line| text.row_at(file, line))
}

/// The whole quote in one piece.
fn whole(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    form: Form,
    wanted: ClaimedLines,
) -> Option<MatchedPlace> {
    let quote = telling(&reading.text, form)?;
    let by_marks = ClaimedLines {
        lines: wanted.lines.or(reading.number.map(LineRange::line)),
        side: wanted.side.or(reading.side),
    };
    let spots = |order: Order| {
        let text = texts.get(order, form);
        let (places, _) = text.find(&quote, text.file(file), near(text, file, reading, wanted));
        let spots = places.into_iter().filter_map(|place| spot(texts, order, form, file, place, by_marks));
        spots.map(|spot| (order, spot)).collect::<Vec<_>>()
    };
    let mut found = spots(Order::Right);
    found.extend(spots(Order::Left));
    for order in [Order::Both, Order::WithContext] {
        if found.is_empty() {
            found = spots(order);
        }
    }
    let is_there = |spot: &Candidate| !reading.must_be_there || reading.number == Some(spot.lines.start());
    let (order, best) = found.into_iter().filter(|(_, spot)| is_there(spot)).min_by_key(|(_, spot)| spot.rank)?;
    Some(best.found(texts, order, form, reading))
}

/// A quote that says too little to be looked for: it counts only where the claim says it is.
fn on_the_line(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    wanted: ClaimedLines,
) -> Option<MatchedPlace> {
    let quote = Quote::new(&reading.text, Form::Tight);
    let lines = wanted.lines.filter(|_| !quote.is_telling())?;
    let sides = match wanted.side.or(reading.side) {
        Some(Side::Left) => &[Order::Left][..],
        Some(Side::Right) => &[Order::Right],
        None => &[Order::Right, Order::Left],
    };
    sides.iter().find_map(|order| {
        let text = texts.get(*order, Form::Tight);
        let first = text.row_at(file, lines.start());
        let behind = text.row_at(file, lines.end().saturating_add(1)).min(first + MAX_ROWS);
        let row = (first..behind).find(|row| text.has(&quote, *row..*row + 1));
        let place = match row {
            Some(row) => (row, row),
            None => (first, behind.checked_sub(1).filter(|_| text.has(&quote, first..behind))?),
        };
        let spot = spot(texts, *order, Form::Tight, file, place, wanted)?;
        Some(spot.found(texts, *order, Form::Tight, reading))
    })
}

/// A quote with something left out of it.
fn in_parts(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    wanted: ClaimedLines,
) -> Option<MatchedPlace> {
    let parts = quote::parts(&reading.text);
    let lines: Vec<String> = reading.text.lines().map(str::to_owned).collect();
    let has_ellipsis = parts.len() > 1 || parts.iter().any(|part| part.trim() != reading.text.trim());
    let ways = [(parts, None, MatchQuality::Parts, has_ellipsis), (lines, Some(MAX_GAP), MatchQuality::Nearest, true)];
    for (parts, max_gap, state, _) in ways.into_iter().filter(|way| way.3) {
        let quotes: Vec<Quote> = parts.iter().filter_map(|part| telling(part, Form::Loose)).collect();
        if quotes.is_empty() || quotes.len() > MAX_PARTS || (max_gap.is_some() && quotes.len() < 2) {
            continue;
        }
        for order in [Order::Right, Order::Left] {
            let text = texts.get(order, Form::Loose);
            let near = near(text, file, reading, wanted);
            let Some(places) = in_order(text, file, &quotes, near, max_gap) else { continue };
            let Some(spot) = spot_of_parts(texts, order, file, &places, wanted) else { continue };
            return Some(MatchedPlace { state, ..spot.found(texts, order, Form::Loose, reading) });
        }
    }
    None
}

/// The places of all parts, each behind the one before it.
fn in_order(
    text: &SearchText<'_>,
    file: usize,
    parts: &[Quote],
    near: usize,
    max_gap: Option<usize>,
) -> Option<Vec<(usize, usize)>> {
    const MAX_STARTS: usize = 8;
    // The next part is close behind the last one.
    const MAX_COMPARED: usize = 16;
    let (first, rest) = parts.split_first()?;
    let rows = text.file(file);
    let (starts, _) = text.find(first, rows.clone(), near);
    starts.into_iter().take(MAX_STARTS).find_map(|start| {
        let mut places = vec![start];
        for part in rest {
            let (_, last) = *places.last()?;
            let (found, _) = text.find_among(part, last..rows.end, last, MAX_COMPARED);
            let next = found.into_iter().filter(|place| place.0 >= last).min()?;
            if max_gap.is_some_and(|max_gap| next.0 - last > max_gap + 1) {
                return None;
            }
            places.push(next);
        }
        Some(places)
    })
}

fn spot_of_parts(
    texts: &SearchTexts<'_>,
    order: Order,
    file: usize,
    places: &[(usize, usize)],
    wanted: ClaimedLines,
) -> Option<Candidate> {
    const MAX_JOINED: usize = 50;
    let text = texts.get(order, Form::Loose);
    let (first, last) = (places.first()?.0, places.last()?.1);
    let in_one_hunk = text.rows[first].group == text.rows[last].group;
    if in_one_hunk && last - first <= MAX_JOINED {
        return spot(texts, order, Form::Loose, file, (first, last), wanted);
    }
    let spots = places.iter().filter_map(|place| spot(texts, order, Form::Loose, file, *place, wanted));
    spots.min_by_key(|spot| spot.rank)
}

/// How good a place is, best first: claimed side, not removed, near, changed, close.
type Rank = (bool, bool, bool, bool, u32);

/// A place where a quote is.
struct Candidate {
    file: usize,
    side: Side,
    lines: LineRange,
    hunk: LineRange,
    rows: RangeInclusive<usize>,
    rank: Rank,
}

/// Makes a place of the rows of a quote; `None` when none of them is in a hunk.
fn spot(
    texts: &SearchTexts<'_>,
    order: Order,
    form: Form,
    file: usize,
    place: (usize, usize),
    wanted: ClaimedLines,
) -> Option<Candidate> {
    let text = texts.get(order, form);
    let (first, last) = place;
    if last - first > MAX_ROWS {
        return None;
    }
    // A quote may reach over two hunks; a finding is in one.
    let mut runs: Vec<(u32, Vec<usize>)> = Vec::new();
    for row in first..=last {
        let Some(group) = text.rows[row].group else { continue };
        match runs.last_mut() {
            Some((known, rows)) if *known == group => rows.push(row),
            _ => runs.push((group, vec![row])),
        }
    }
    let spots = runs.into_iter().filter_map(|(group, rows)| {
        let has = |kind: LineKind| rows.iter().any(|row| text.rows[*row].kind == kind);
        let (added, removed) = (has(LineKind::Added), has(LineKind::Removed));
        let side = match order {
            Order::Right | Order::WithContext => Side::Right,
            // What is on both sides is said of the new file, unless somebody asks for the old one.
            Order::Left if removed || wanted.side == Some(Side::Left) => Side::Left,
            Order::Left => return None,
            Order::Both => wanted.side.unwrap_or(if added || !removed { Side::Right } else { Side::Left }),
        };
        let number = |row: &usize| match side {
            Side::Left => text.rows[*row].old,
            Side::Right => text.rows[*row].new,
        };
        let numbers = || rows.iter().filter_map(number);
        let lines = LineRange::new(numbers().min()?, numbers().max()?)?;
        let hunk = hunk_lines(texts, side, group)?;
        let distance = wanted.lines.map_or(0, |wanted| {
            let gap = wanted.start().saturating_sub(lines.end());
            gap.max(lines.start().saturating_sub(wanted.end()))
        });
        let other_side = wanted.side.is_some_and(|wanted| wanted != side);
        let rank = (other_side, side == Side::Left, distance > NEAR, !(added || removed), distance);
        Some(Candidate { file, side, lines, hunk, rows: first..=last, rank })
    });
    spots.min_by_key(|spot| spot.rank)
}

/// The lines of a hunk on one side.
pub(super) fn hunk_lines(texts: &SearchTexts<'_>, side: Side, group: u32) -> Option<LineRange> {
    let order = if side == Side::Left { Order::Left } else { Order::Right };
    let text = texts.get(order, Form::Tight);
    let rows = text.groups.get(group as usize)?.clone();
    LineRange::new(text.rows.get(rows.start)?.number, text.rows.get(rows.end.checked_sub(1)?)?.number)
}

impl Candidate {
    fn found(self, texts: &SearchTexts<'_>, order: Order, form: Form, reading: &QuoteVariant) -> MatchedPlace {
        let text = texts.get(order, form);
        let raw: Vec<String> = text.rows[self.rows.clone()]
            .iter()
            .map(|row| String::from_utf8_lossy(row.text).trim_end().to_owned())
            .filter(|line| !line.trim().is_empty())
            .collect();
        let raw = raw.join("\n");
        let quoted: Vec<&str> = reading.text.lines().map(str::trim_end).collect();
        let state = match form {
            Form::Tight if visible(&raw).contains(visible(quoted.join("\n").trim()).as_ref()) => MatchQuality::Exact,
            Form::Tight => MatchQuality::Whitespace,
            Form::Loose => MatchQuality::Nearest,
        };
        let Self { file, side, lines, hunk, .. } = self;
        MatchedPlace { file, side, lines, hunk, state, text: raw }
    }
}
