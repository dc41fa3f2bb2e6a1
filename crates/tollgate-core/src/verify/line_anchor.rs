//! Where a claim is that quotes nothing: the lines it names, if they were shown.

use crate::diff::LineKind;
use crate::finding::{LineRange, Side};
use crate::verify::fuzzy_match::{ClaimedLines, MatchQuality, MatchedPlace, SearchTexts, hunk_lines};
use crate::verify::search_text::{Form, Order, SearchText};

/// So far from a hunk a line still means it.
const NEXT_TO: u32 = 3;
/// Most lines whose text becomes the evidence.
const MAX_EVIDENCE_LINES: usize = 10;
/// Most rows of a hunk that are looked at for a changed one.
const MAX_ROWS: usize = 10_000;

/// The named lines, cut to the hunk they are in; `None` when they are in none and next to none.
pub(super) fn find_anchor(texts: &SearchTexts<'_>, file: usize, wanted: ClaimedLines) -> Option<MatchedPlace> {
    let lines = wanted.lines?;
    match wanted.side {
        Some(side) => inside(texts, file, lines, side, false).or_else(|| beside(texts, file, lines, side)),
        None => inside(texts, file, lines, Side::Right, false)
            // A number that only the old file has can only mean a line that is gone.
            .or_else(|| inside(texts, file, lines, Side::Left, true))
            .or_else(|| beside(texts, file, lines, Side::Right)),
    }
}

/// What stands on these lines of a file, as far as it is in a hunk that was shown.
pub(super) fn lines_of(texts: &SearchTexts<'_>, file: usize, side: Side, lines: LineRange) -> Vec<String> {
    let text = texts.get(order(side), Form::Tight);
    let rows = text.row_at(file, lines.start())..text.row_at(file, lines.end().saturating_add(1));
    text.rows[rows].iter().take(MAX_ROWS).map(|row| String::from_utf8_lossy(row.text).into_owned()).collect()
}

fn order(side: Side) -> Order {
    match side {
        Side::Left => Order::Left,
        Side::Right => Order::Right,
    }
}

fn inside(
    texts: &SearchTexts<'_>,
    file: usize,
    lines: LineRange,
    side: Side,
    only_removed: bool,
) -> Option<MatchedPlace> {
    let text = texts.get(order(side), Form::Tight);
    let row = text.row_at(file, lines.start());
    let first = text.rows[..text.file(file).end].get(row)?;
    if first.number > lines.end() || (only_removed && first.kind != LineKind::Removed) {
        return None;
    }
    let hunk = hunk_lines(texts, side, first.group?)?;
    let lines = LineRange::new(first.number, lines.end().min(hunk.end()).max(first.number))?;
    Some(found(texts, file, side, lines, hunk))
}

/// The changed line of a hunk that is nearest to a line next to it.
fn beside(texts: &SearchTexts<'_>, file: usize, lines: LineRange, side: Side) -> Option<MatchedPlace> {
    let text = texts.get(order(side), Form::Tight);
    let range = text.file(file);
    let after = text.row_at(file, lines.start());
    let ahead = Some(after)
        .filter(|row| *row < range.end)
        .filter(|row| text.rows[*row].number <= lines.end().saturating_add(NEXT_TO));
    let behind = after.checked_sub(1).filter(|row| *row >= range.start);
    let behind = behind.filter(|row| text.rows[*row].number.saturating_add(NEXT_TO) >= lines.start());
    let distance = |row: usize| text.rows[row].number.abs_diff(lines.start());
    let edge = [ahead, behind].into_iter().flatten().min_by_key(|row| distance(*row))?;
    let row = nearest_changed(text, edge).unwrap_or(edge);
    let hunk = hunk_lines(texts, side, text.rows[row].group?)?;
    Some(found(texts, file, side, LineRange::line(text.rows[row].number), hunk))
}

fn nearest_changed(text: &SearchText<'_>, edge: usize) -> Option<usize> {
    let rows = text.groups.get(text.rows.get(edge)?.group? as usize)?.clone();
    let is_changed = |row: &usize| text.rows[*row].kind != LineKind::Context;
    let ahead = (edge..rows.end).take(MAX_ROWS).find(is_changed);
    let behind = (rows.start..edge).rev().take(MAX_ROWS).find(is_changed);
    [ahead, behind].into_iter().flatten().min_by_key(|row| row.abs_diff(edge))
}

fn found(texts: &SearchTexts<'_>, file: usize, side: Side, lines: LineRange, hunk: LineRange) -> MatchedPlace {
    let text = lines_of(texts, file, side, lines);
    let text: Vec<&str> = text.iter().take(MAX_EVIDENCE_LINES).map(|line| line.trim_end()).collect();
    MatchedPlace { file, side, lines, hunk, state: MatchQuality::Place, text: text.join("\n") }
}
