//! Anchors a claim without a quote at its claimed lines, if they were sent.

use crate::diff::LineKind;
use crate::finding::{LineRange, Side};
use crate::verify::fuzzy_match::{ClaimedLines, MatchQuality, MatchedPlace, SearchTexts, hunk_lines};
use crate::verify::search_text::{Form, Order, SearchText};

/// The distance from a hunk within which a line is anchored to it.
const NEXT_TO: u32 = 3;
/// The most lines whose text becomes the evidence.
const MAX_EVIDENCE_LINES: usize = 10;
/// The most rows of a hunk that are scanned for a changed line.
const MAX_ROWS: usize = 10_000;

/// The claimed lines, clipped to their hunk; `None` when no hunk is near.
pub(super) fn find_anchor(texts: &SearchTexts<'_>, file: usize, claimed: ClaimedLines) -> Option<MatchedPlace> {
    let lines = claimed.lines?;
    match claimed.side {
        Some(side) => inside(texts, file, lines, side, false).or_else(|| beside(texts, file, lines, side)),
        None => inside(texts, file, lines, Side::Right, false)
            // A line number that only the old file has refers to a removed line.
            .or_else(|| inside(texts, file, lines, Side::Left, true))
            .or_else(|| beside(texts, file, lines, Side::Right)),
    }
}

/// The text of these lines, as far as it is in a hunk that was sent.
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

/// The changed line nearest to a claimed line next to a hunk.
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
