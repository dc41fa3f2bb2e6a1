//! Fuzzy match: finds quoted code in the change.
//!
//! Tries an exact match, then one without whitespace, then one with small differences or in parts, in order. A different
//! word, number or operator is no match: a reviewer that quotes `i <= n` for `i < n` reports a defect that does not exist.
//! Of several matches, the one on the claimed side, near the claimed line, on changed lines wins.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use crate::diff::LineKind;
use crate::finding::{LineRange, Side};
use crate::verify::ShownChange;
use crate::verify::quote::{self, QuoteVariant};
use crate::verify::search_text::{Form, Order, Quote, SearchText};
use crate::visible::visible;

/// The search texts, one per order and form, built on demand.
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

    /// The number of positions compared so far.
    pub(super) fn n_compared(&self) -> u64 {
        self.texts.iter().filter_map(OnceCell::get).map(SearchText::n_compared).sum()
    }
}

/// The quality of a match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchQuality {
    /// The quote matches exactly.
    Exact,
    /// The quote matches except for whitespace.
    Whitespace,
    /// All parts of the quote match, in order.
    Parts,
    /// The quote matches except for quotation marks, commas and the like, or omitted lines.
    Nearest,
}

impl MatchQuality {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Whitespace => "whitespace",
            Self::Parts => "parts",
            Self::Nearest => "nearest",
        }
    }
}

/// A matched location in the change.
#[derive(Debug, Clone)]
pub(super) struct MatchedPlace {
    /// The index of the file.
    pub(super) file: usize,
    pub(super) side: Side,
    pub(super) lines: LineRange,
    /// The lines of the hunk on that side.
    pub(super) hunk: LineRange,
    pub(super) state: MatchQuality,
    /// The matched text.
    pub(super) text: String,
    /// The unchanged lines where the quote stands, when it is anchored at a changed line of the same function.
    pub(super) stands: Option<LineRange>,
}

/// A match in the context that was sent, outside of all hunks.
pub(super) struct ContextMatch {
    /// The lines of the new file.
    pub(super) lines: LineRange,
    pub(super) state: MatchQuality,
    /// The matched text.
    pub(super) text: String,
}

/// The result of searching a quote in a file.
pub(super) enum QuoteMatch {
    /// Found in the change.
    Here(MatchedPlace),
    /// Found in the context that was sent.
    Outside(ContextMatch),
    /// Not found.
    Nowhere,
}

/// The lines and side as claimed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimedLines {
    pub(super) lines: Option<LineRange>,
    pub(super) side: Option<Side>,
}

/// The most rows between the first and the last row of a quote, blank ones included.
const MAX_ROWS: usize = 1000;
/// The distance that counts as near the claimed line, since reviewers miscount.
const NEAR: u32 = 5;
/// The most parts of a quote that are searched one by one.
const MAX_PARTS: usize = 40;
/// The most lines omitted between two lines of a quote without an ellipsis.
const MAX_GAP: usize = 4;

/// Finds a quote in a file.
pub(super) fn find_quote(texts: &SearchTexts<'_>, file: usize, evidence: &str, claimed: ClaimedLines) -> QuoteMatch {
    let readings = quote::readings(evidence);
    let forms = [Form::Tight, Form::Loose];
    for form in forms {
        for reading in &readings {
            if let Some(found) = whole(texts, file, reading, form, claimed) {
                return QuoteMatch::Here(found);
            }
        }
    }
    let sure = || readings.iter().filter(|reading| !reading.must_be_there);
    let in_parts = || sure().find_map(|reading| in_parts(texts, file, reading, claimed));
    if let Some(found) = sure().find_map(|reading| on_the_line(texts, file, reading, claimed)).or_else(in_parts) {
        return QuoteMatch::Here(found);
    }
    let outside = forms.into_iter().find_map(|form| {
        let text = texts.get(Order::WithContext, form);
        sure().find_map(|reading| {
            let quote = distinctive(&reading.text, form)?;
            let rows = text.file(file);
            let near = near(text, file, reading, claimed);
            let (i, j) = *text.find(&quote, rows, near).0.first()?;
            let lines = LineRange::new(text.rows[i].number, text.rows[j].number)?;
            let (state, text) = compared(text, &(i..=j), form, reading);
            Some(ContextMatch { lines, state, text })
        })
    });
    outside.map_or(QuoteMatch::Nowhere, QuoteMatch::Outside)
}

/// The result of searching a quote in all files.
pub(super) enum MatchElsewhere {
    /// Found exactly once.
    Once(MatchedPlace),
    /// Found, but the quote is not distinctive or not unique.
    Somewhere,
    /// Not found in any file.
    Nowhere,
}

/// The fewest characters of a quote that is searched in all files.
const MIN_GLOBAL_QUOTE: usize = 12;

/// Finds a quote in all files.
pub(super) fn find_in_all_files(texts: &SearchTexts<'_>, evidence: &str) -> MatchElsewhere {
    let mut somewhere = false;
    for reading in quote::readings(evidence).into_iter().filter(|reading| !reading.must_be_there) {
        let Some(quote) = distinctive(&reading.text, Form::Tight) else { continue };
        for order in [Order::Right, Order::Left] {
            let text = texts.get(order, Form::Tight);
            let (found, all) = text.find(&quote, 0..text.rows.len(), 0);
            let claimed = ClaimedLines { lines: None, side: None };
            match found[..] {
                [place] if all && quote.len() >= MIN_GLOBAL_QUOTE => {
                    let file = text.file_of(place.0);
                    if let Some(spot) = spot(texts, order, Form::Tight, file, place, claimed) {
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

fn distinctive(text: &str, form: Form) -> Option<Quote> {
    Some(Quote::new(text, form)).filter(Quote::is_distinctive)
}

/// The row around which the search starts.
fn near(text: &SearchText<'_>, file: usize, reading: &QuoteVariant, claimed: ClaimedLines) -> usize {
    let line = claimed.lines.map(LineRange::start).or(reading.number);
    line.map_or(text.file(file).start, |line| text.row_at(file, line))
}

/// Matches the whole quote.
fn whole(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    form: Form,
    claimed: ClaimedLines,
) -> Option<MatchedPlace> {
    let quote = distinctive(&reading.text, form)?;
    let by_marks = ClaimedLines {
        lines: claimed.lines.or(reading.number.map(LineRange::line)),
        side: claimed.side.or(reading.side),
    };
    let spots = |order: Order| {
        let text = texts.get(order, form);
        let (places, _) = text.find(&quote, text.file(file), near(text, file, reading, claimed));
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

/// Matches a quote that is too short to search: it counts only on the claimed line.
fn on_the_line(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    claimed: ClaimedLines,
) -> Option<MatchedPlace> {
    let quote = Quote::new(&reading.text, Form::Tight);
    let lines = claimed.lines.filter(|_| !quote.is_distinctive())?;
    let sides = match claimed.side.or(reading.side) {
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
        let spot = spot(texts, *order, Form::Tight, file, place, claimed)?;
        Some(spot.found(texts, *order, Form::Tight, reading))
    })
}

/// Matches a quote with omissions.
fn in_parts(
    texts: &SearchTexts<'_>,
    file: usize,
    reading: &QuoteVariant,
    claimed: ClaimedLines,
) -> Option<MatchedPlace> {
    let parts = quote::parts(&reading.text);
    let lines: Vec<String> = reading.text.lines().map(str::to_owned).collect();
    let has_ellipsis = parts.len() > 1 || parts.iter().any(|part| part.trim() != reading.text.trim());
    let ways = [(parts, None, MatchQuality::Parts, has_ellipsis), (lines, Some(MAX_GAP), MatchQuality::Nearest, true)];
    for (parts, max_gap, state, _) in ways.into_iter().filter(|way| way.3) {
        let quotes: Vec<Quote> = parts.iter().filter_map(|part| distinctive(part, Form::Loose)).collect();
        if quotes.is_empty() || quotes.len() > MAX_PARTS || (max_gap.is_some() && quotes.len() < 2) {
            continue;
        }
        for order in [Order::Right, Order::Left] {
            let text = texts.get(order, Form::Loose);
            let near = near(text, file, reading, claimed);
            let Some(places) = in_order(text, file, &quotes, near, max_gap) else { continue };
            let Some(spot) = spot_of_parts(texts, order, file, &places, claimed) else { continue };
            return Some(MatchedPlace { state, ..spot.found(texts, order, Form::Loose, reading) });
        }
    }
    None
}

/// Matches all parts, each after the previous one.
fn in_order(
    text: &SearchText<'_>,
    file: usize,
    parts: &[Quote],
    near: usize,
    max_gap: Option<usize>,
) -> Option<Vec<(usize, usize)>> {
    const MAX_STARTS: usize = 8;
    // The next part is close to the previous one.
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
    claimed: ClaimedLines,
) -> Option<Candidate> {
    const MAX_JOINED: usize = 50;
    let text = texts.get(order, Form::Loose);
    let (first, last) = (places.first()?.0, places.last()?.1);
    let in_one_hunk = text.rows[first].group == text.rows[last].group;
    if in_one_hunk && last - first <= MAX_JOINED {
        return spot(texts, order, Form::Loose, file, (first, last), claimed);
    }
    let spots = places.iter().filter_map(|place| spot(texts, order, Form::Loose, file, *place, claimed));
    spots.min_by_key(|spot| spot.rank)
}

/// The rank of a match, best first: claimed side, not removed, near, changed, distance.
type Rank = (bool, bool, bool, bool, u32);

/// A candidate match.
struct Candidate {
    file: usize,
    side: Side,
    lines: LineRange,
    hunk: LineRange,
    rows: RangeInclusive<usize>,
    rank: Rank,
}

/// Builds a candidate from matched rows; `None` when none of them is in a hunk.
fn spot(
    texts: &SearchTexts<'_>,
    order: Order,
    form: Form,
    file: usize,
    place: (usize, usize),
    claimed: ClaimedLines,
) -> Option<Candidate> {
    let text = texts.get(order, form);
    let (first, last) = place;
    if last - first > MAX_ROWS {
        return None;
    }
    // A quote may span two hunks; a finding is in one.
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
            // Text on both sides is anchored in the new file, unless the claim names the old one.
            Order::Left if removed || claimed.side == Some(Side::Left) => Side::Left,
            Order::Left => return None,
            Order::Both => claimed.side.unwrap_or(if added || !removed { Side::Right } else { Side::Left }),
        };
        let number = |row: &usize| match side {
            Side::Left => text.rows[*row].old,
            Side::Right => text.rows[*row].new,
        };
        let numbers = || rows.iter().filter_map(number);
        let lines = LineRange::new(numbers().min()?, numbers().max()?)?;
        let hunk = hunk_lines(texts, side, group)?;
        let distance = claimed.lines.map_or(0, |claimed| {
            let gap = claimed.start().saturating_sub(lines.end());
            gap.max(lines.start().saturating_sub(claimed.end()))
        });
        let other_side = claimed.side.is_some_and(|claimed| claimed != side);
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
        let (state, text) = compared(texts.get(order, form), &self.rows, form, reading);
        let Self { file, side, lines, hunk, .. } = self;
        MatchedPlace { file, side, lines, hunk, state, text, stands: None }
    }
}

/// The text of matched rows, and how well the quote matches it.
fn compared(
    text: &SearchText<'_>,
    rows: &RangeInclusive<usize>,
    form: Form,
    reading: &QuoteVariant,
) -> (MatchQuality, String) {
    let raw: Vec<String> = text.rows[rows.clone()]
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
    (state, raw)
}
