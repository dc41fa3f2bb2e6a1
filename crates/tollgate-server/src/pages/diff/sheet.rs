//! The rows of one file as a template shows them, in parts.
//!
//! A part is a range of rows. The rows before and after it are counted, with an address that loads them, so that nothing is
//! left out and nothing comes twice. A gap is opened from its top, from its bottom or as a whole.

use std::ops::Range;
use std::sync::Arc;

use askama::Template;
use tollgate_core::diff::rows::{DiffBody, DiffGap, DiffRow};
use tollgate_core::diff::{FileDiff, LineKind};
use tollgate_core::visible::grouped;
use tollgate_engine::board::diff_context::SourceText;
use tollgate_engine::reviewer::embedded::colour::Span;

use super::View;
use super::code::{self, Code, Piece, Tag};
use super::place::Placed;
use crate::pages::finding::FindingView;
use crate::pages::markup::{Builder, Markup, rendered};
use crate::pages::words::count;

/// So many rows come at once.
pub(super) const ROWS: usize = 500;
/// So many rows are one table; a browser skips tables that are out of sight.
const TABLE: usize = 100;
/// So many characters of a line are shown at first.
const MAX_CHARS: usize = 1_000;
/// So many characters of a line are shown on request.
const MAX_LONG: usize = 100_000;
/// So many lines of a gap are opened at a time.
const STEP: u32 = 20;
/// So many lines of a gap can be opened as a whole.
const MAX_ALL: u32 = 500;
/// So many lines of a gap can be opened in all.
const MAX_OPEN: u32 = 2_000;

/// The texts of a file before and after the change, as far as they are to be had.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts {
    pub(super) old: Option<Arc<SourceText>>,
    pub(super) new: Option<Arc<SourceText>>,
}

/// One file, ready to be shown.
pub(super) struct Sheet<'a> {
    pub(super) body: DiffBody<'a>,
    rows: Vec<DiffRow>,
    view: View,
    texts: Texts,
    /// What the names of its places begin with: `f3`.
    anchor: String,
    /// Where its parts are, with a query to which more can be added.
    href: String,
    pub(super) placed: Placed,
}

/// A part of the rows of a file.
#[derive(Template)]
#[template(path = "diff_part.html")]
struct Part {
    is_split: bool,
    label: String,
    before: Option<More>,
    tables: Vec<Table>,
    after: Option<More>,
}

/// One gap of a file, opened further.
#[derive(Template)]
#[template(path = "diff_gap.html")]
struct GapPart {
    is_split: bool,
    label: String,
    gap: GapView,
}

/// Rows that come on demand.
#[derive(Debug, PartialEq, Eq)]
struct More {
    words: String,
    href: String,
}

/// Some rows in a row.
struct Table {
    /// How tall it is, in tens of rows: the browser does not lay out a tall one as long as it is out of sight.
    n_tens: usize,
    groups: Vec<Group>,
}

/// Rows that belong together.
enum Group {
    Gap(Box<GapView>),
    Lines(Vec<RowView>),
}

struct RowView {
    left: Option<Cell>,
    right: Option<Cell>,
    findings: Vec<FindingView>,
}

impl RowView {
    /// What happened to the line of a row with one line.
    fn kind(&self) -> &'static str {
        match (&self.left, &self.right) {
            (Some(_), None) => "del",
            (None, Some(_)) => "add",
            _ => "same",
        }
    }

    /// The line of a row with one line.
    fn only(&self) -> Option<&Cell> {
        self.right.as_ref().or(self.left.as_ref())
    }
}

/// A line on one side.
struct Cell {
    number: Option<u32>,
    /// `f3-R12`.
    anchor: String,
    kind: &'static str,
    code: Markup,
    long: Option<Long>,
    has_newline: bool,
}

/// A line of which the beginning is shown.
struct Long {
    n_chars: String,
    href: String,
}

/// Lines that are not in the diff.
struct GapView {
    id: String,
    /// How many are not shown.
    words: String,
    is_open: bool,
    section: String,
    steps: Vec<Step>,
    top: Vec<RowView>,
    bottom: Vec<RowView>,
}

/// A way to open a gap further.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    sign: &'static str,
    words: String,
    href: String,
}

impl<'a> Sheet<'a> {
    /// A file and its summary; `href` ends with a query.
    pub(super) fn new(file: &'a FileDiff, index: usize, view: View, href: &str, texts: Texts) -> Self {
        let body = DiffBody::new(file, texts.new.as_ref().map(|text| text.n_lines()));
        let rows = view.rows(&body);
        let (anchor, href, placed) = (format!("f{index}"), href.to_owned(), Placed::default());
        Self { body, rows, view, texts, anchor, href, placed }
    }

    /// Puts findings under their lines.
    pub(super) fn place(&mut self, findings: Vec<FindingView>) {
        self.placed = Placed::new(&self.body.lines.lines, findings);
    }

    /// How many rows there are.
    pub(super) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The name of the place of a line, and the address that leads there also when it is not on the page.
    pub(super) fn place_of(&self, index: usize) -> (String, String) {
        let line = self.body.lines.lines[index].line;
        let side = if line.kind == LineKind::Removed { 'L' } else { 'R' };
        let number = line.new.or(line.old).unwrap_or_default();
        let anchor = format!("{}-{side}{number}", self.anchor);
        let href = format!("{}&at={side}{number}#{anchor}", self.href);
        (anchor, href)
    }

    /// The first rows, so many of them.
    pub(super) fn first(&self, n_rows: usize) -> Result<Markup, askama::Error> {
        // The gap at the end is known only with the text, and costs no more than the words that it is missing.
        let to = if n_rows + 1 >= self.rows.len() { self.rows.len() } else { n_rows };
        self.between(0..self.rows.len(), 0..to)
    }

    /// The rows of a range, at most [`ROWS`] of them: from its beginning, or those around a line, if it has that.
    pub(super) fn part(&self, start: usize, end: Option<usize>, at: Option<&str>) -> Result<Markup, askama::Error> {
        let end = end.map_or(self.rows.len(), |end| end.min(self.rows.len()));
        let start = start.min(end);
        let wanted = at.and_then(|at| self.row_of(at)).filter(|row| (start..end).contains(row));
        // Parts begin where they would without a line to look for, so that they fit together.
        let from = wanted.map_or(start, |row| start + (row - start) / ROWS * ROWS);
        self.between(start..end, from..end.min(from + ROWS))
    }

    /// Some rows, and what of a range is before and behind them.
    fn between(&self, all: Range<usize>, shown: Range<usize>) -> Result<Markup, askama::Error> {
        let Range { start: from, end: to } = shown;
        let table = |first: usize| {
            let rows = first..to.min(first + TABLE);
            Table { n_tens: rows.len() / 10, groups: self.groups(rows) }
        };
        let tables = (from..to).step_by(TABLE).map(table).collect();
        let part = Part {
            is_split: self.view == View::Split,
            label: self.label(),
            before: self.more(all.start..from),
            tables,
            after: self.more(to..all.end),
        };
        rendered(&part)
    }

    /// A gap of which so many lines are shown at its ends; `None` when there is no such gap.
    pub(super) fn gap(&self, index: usize, top: u32, bottom: u32) -> Result<Option<Markup>, askama::Error> {
        if !self.rows.contains(&DiffRow::Gap(index)) {
            return Ok(None);
        }
        let gap = self.gap_view(index, top, bottom);
        let part = GapPart { is_split: self.view == View::Split, label: self.label(), gap };
        rendered(&part).map(Some)
    }

    /// A line as a whole, or as much of it as can be shown, and how many characters it has if that is not all.
    pub(super) fn long_line(&self, at: &str) -> Option<(Markup, Option<String>)> {
        let code = self.code(self.line_index(at)?, MAX_LONG);
        Some((code.markup, code.n_chars.map(|n_chars| grouped(n_chars as u64))))
    }

    fn label(&self) -> String {
        format!("Lines of {}", super::path_text(self.body.file.path()))
    }

    fn more(&self, range: Range<usize>) -> Option<More> {
        let words = count(range.len() as u64, "more line");
        let to = if range.end < self.rows.len() { format!("&to={}", range.end) } else { String::new() };
        let href = format!("{}&from={}{to}", self.href, range.start);
        (!range.is_empty()).then_some(More { words, href })
    }

    fn groups(&self, range: Range<usize>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for row in &self.rows[range] {
            match (*row, groups.last_mut()) {
                (DiffRow::Gap(index), _) => groups.push(Group::Gap(Box::new(self.gap_view(index, 0, 0)))),
                (DiffRow::Lines { left, right }, Some(Group::Lines(rows))) => rows.push(self.row(left, right)),
                (DiffRow::Lines { left, right }, _) => groups.push(Group::Lines(vec![self.row(left, right)])),
            }
        }
        groups
    }

    fn row(&self, left: Option<usize>, right: Option<usize>) -> RowView {
        let here = |index: &usize| self.placed.by_line.get(index).cloned().unwrap_or_default();
        let mut findings: Vec<FindingView> = left.iter().flat_map(here).collect();
        if left != right {
            findings.extend(right.iter().flat_map(here));
        }
        let is_twice = left == right && self.view == View::Unified;
        RowView {
            // With one line after the other, the code of context stands there once.
            left: left.map(|index| self.cell(index, 'L', !is_twice)),
            right: right.map(|index| self.cell(index, 'R', true)),
            findings,
        }
    }

    fn cell(&self, index: usize, side: char, with_code: bool) -> Cell {
        let line = self.body.lines.lines[index].line;
        let number = if side == 'L' { line.old } else { line.new };
        let kind = match line.kind {
            LineKind::Context => "same",
            LineKind::Added => "add",
            LineKind::Removed => "del",
        };
        let code = if with_code { self.code(index, MAX_CHARS) } else { Code::nothing() };
        self.finish(number, side, kind, code, line.newline)
    }

    fn finish(&self, number: Option<u32>, side: char, kind: &'static str, code: Code, has_newline: bool) -> Cell {
        let place = number.map(|number| format!("{side}{number}"));
        let long = code.n_chars.zip(place.as_ref()).map(|(n_chars, place)| Long {
            n_chars: grouped(n_chars as u64),
            href: format!("{}&line={place}", self.href),
        });
        let anchor = place.map_or(String::new(), |place| format!("{}-{place}", self.anchor));
        Cell { number, anchor, kind, code: code.markup, long, has_newline }
    }

    fn code(&self, index: usize, max_chars: usize) -> Code {
        let line = self.body.lines.lines[index].line;
        let (text, number, tag) = match line.kind {
            LineKind::Removed => (&self.texts.old, line.old, Tag::Del),
            LineKind::Context | LineKind::Added => (&self.texts.new, line.new, Tag::Ins),
        };
        let known = text.as_ref().zip(number).filter(|(text, number)| {
            // The text in the repository must equal the reviewed one, or no line matches.
            text.line(*number).is_some_and(|known| known.len() == line.text.len())
        });
        let spans: Vec<Span> = known.iter().flat_map(|(text, number)| text.spans(*number)).collect();
        let covered = known.and_then(|(text, number)| text.line(number));
        let mut bytes = self.body.lines.text(index).to_vec();
        // A secret may be told by lines that the diff has not.
        cover(&mut bytes, covered.unwrap_or_default());
        let changed = self.body.lines.changed(index).unwrap_or_default();
        code::render(&Piece { bytes: &bytes, spans: &spans, changed: &changed, tag }, max_chars)
    }

    fn gap_view(&self, index: usize, top: u32, bottom: u32) -> GapView {
        let gap = self.body.gaps[index];
        let text = self.texts.new.as_ref().filter(|text| is_in(&gap, text));
        let n_lines = gap.n_lines.unwrap_or_default();
        let n_most = if text.is_some() { n_lines.min(MAX_OPEN) } else { 0 };
        let top = top.min(n_most);
        let bottom = bottom.min(n_most - top);
        let n_left = n_lines - top - bottom;
        let lines = |from: u32, n: u32| {
            let rows = (from..from + n).filter_map(|at| self.context(text?, &gap, at));
            rows.collect::<Vec<_>>()
        };
        GapView {
            id: format!("{}-g{index}", self.anchor),
            words: match gap.n_lines {
                Some(_) => format!("{} not shown", count(u64::from(n_left), "line")),
                None => "lines not shown".to_owned(),
            },
            is_open: n_left == 0 && gap.n_lines.is_some(),
            section: self.body.section(index),
            steps: if text.is_some() { self.steps(index, top, bottom, n_left) } else { Vec::new() },
            top: lines(0, top),
            bottom: lines(n_lines - bottom, bottom),
        }
    }

    fn steps(&self, index: usize, top: u32, bottom: u32, n_left: u32) -> Vec<Step> {
        let room = MAX_OPEN.saturating_sub(top + bottom);
        let href = |top: u32, bottom: u32| format!("{}&gap={index}&top={top}&bottom={bottom}", self.href);
        let n = STEP.min(n_left).min(room);
        let mut steps = Vec::new();
        // Before the first hunk one goes on upwards only, behind the last one downwards only.
        let (is_first, is_last) = (index == 0, index + 1 == self.body.gaps.len());
        if n > 0 && n_left > STEP {
            if !is_first {
                let words = format!("Show {n} lines below the hunk above");
                steps.push(Step { sign: "↓", words, href: href(top + n, bottom) });
            }
            if !is_last {
                let words = format!("Show {n} lines above the hunk below");
                steps.push(Step { sign: "↑", words, href: href(top, bottom + n) });
            }
        }
        if n > 0 && n_left <= MAX_ALL.min(room) {
            let words = match n_left {
                1 => "Show the line".to_owned(),
                n_left => format!("Show all {n_left} lines"),
            };
            let (top, bottom) = if is_first { (top, bottom + n_left) } else { (top + n_left, bottom) };
            steps.push(Step { sign: "↕", words, href: href(top, bottom) });
        }
        steps
    }

    /// A line of a gap, counted from 0.
    fn context(&self, text: &SourceText, gap: &DiffGap, at: u32) -> Option<RowView> {
        let (old, new) = (gap.old_start.checked_add(at)?, gap.new_start.checked_add(at)?);
        let bytes = text.line(new)?;
        let spans: Vec<Span> = text.spans(new).collect();
        let bytes = self.body.lines.without_return(bytes);
        let code = || code::render(&Piece { bytes, spans: &spans, changed: &[], tag: Tag::Ins }, MAX_CHARS);
        let has_newline = new < text.n_lines() || text.ends_with_newline();
        let left = if self.view == View::Split { code() } else { Code::nothing() };
        Some(RowView {
            left: Some(self.finish(Some(old), 'L', "same", left, has_newline)),
            right: Some(self.finish(Some(new), 'R', "same", code(), has_newline)),
            findings: Vec::new(),
        })
    }

    /// The row of a line: `R12`, `L9`.
    fn row_of(&self, at: &str) -> Option<usize> {
        let index = self.line_index(at)?;
        self.rows.iter().position(|row| match row {
            DiffRow::Gap(_) => false,
            DiffRow::Lines { left, right } => *left == Some(index) || *right == Some(index),
        })
    }

    fn line_index(&self, at: &str) -> Option<usize> {
        let (side, number) = (at.get(..1)?, at.get(1..)?.parse::<u32>().ok()?);
        let lines = &self.body.lines.lines;
        match side {
            "L" => lines.iter().position(|line| line.line.old == Some(number)),
            "R" => lines.iter().position(|line| line.line.new == Some(number)),
            _ => None,
        }
    }
}

/// True when a text has the lines of a gap.
fn is_in(gap: &DiffGap, text: &SourceText) -> bool {
    let end = gap.n_lines.and_then(|n| gap.new_start.checked_add(n));
    end.is_some_and(|end| end <= text.n_lines() + 1)
}

impl Code {
    fn nothing() -> Self {
        Self { markup: Builder::default().finish(), n_chars: None }
    }
}

/// Redacts the same bytes in another copy of the same line.
fn cover(bytes: &mut [u8], covered: &[u8]) {
    for (byte, covered) in bytes.iter_mut().zip(covered) {
        if *covered == b'*' {
            *byte = b'*';
        }
    }
}
