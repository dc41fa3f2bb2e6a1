//! Anchors a quote of unchanged code at the nearest changed line of its function.

use crate::diff::LineKind;
use crate::finding::{LineRange, Side};
use crate::verify::fuzzy_match::{SearchTexts, hunk_lines};
use crate::verify::search_text::{Form, Order, Row};

/// The most rows that are read.
const MAX_ROWS: usize = 10_000;

/// A changed line, and the lines of its hunk on that side.
pub(super) struct Anchor {
    pub(super) side: Side,
    pub(super) lines: LineRange,
    pub(super) hunk: LineRange,
}

/// The changed line of a function that is nearest to unchanged lines of it: an added one, or a removed one if none is
/// added. `None` when no changed line of the function was sent.
pub(super) fn nearest_change(
    texts: &SearchTexts<'_>,
    file: usize,
    function: LineRange,
    lines: LineRange,
) -> Option<Anchor> {
    let nearest = |order: Order, kind: LineKind| {
        let text = texts.get(order, Form::Tight);
        let rows = text.row_at(file, function.start())..text.row_at(file, function.end().saturating_add(1));
        let changed = text.rows[rows].iter().take(MAX_ROWS).filter(|row| row.kind == kind);
        changed.min_by_key(|row| LineRange::line(row.number.max(1)).distance(lines)).copied()
    };
    let anchor = |row: Row<'_>, side: Side, number: Option<u32>| {
        let hunk = hunk_lines(texts, side, row.group?)?;
        Some(Anchor { side, lines: LineRange::line(number?), hunk })
    };
    let added = nearest(Order::Right, LineKind::Added).and_then(|row| anchor(row, Side::Right, row.new));
    added.or_else(|| nearest(Order::Both, LineKind::Removed).and_then(|row| anchor(row, Side::Left, row.old)))
}

/// The text of these lines, as far as it is in a hunk that was sent.
pub(super) fn lines_of(texts: &SearchTexts<'_>, file: usize, side: Side, lines: LineRange) -> Vec<String> {
    let order = match side {
        Side::Left => Order::Left,
        Side::Right => Order::Right,
    };
    let text = texts.get(order, Form::Tight);
    let rows = text.row_at(file, lines.start())..text.row_at(file, lines.end().saturating_add(1));
    text.rows[rows].iter().take(MAX_ROWS).map(|row| String::from_utf8_lossy(row.text).into_owned()).collect()
}
