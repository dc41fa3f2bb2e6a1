//! The diff with findings under their lines.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::diff::rows::{DiffBody, DiffLines};
use crate::diff::{FileDiff, Line, LineKind};
use crate::finding::{Finding, LineRange, Severity, Side};
use crate::html::escape;
use crate::path::{FilePath, RepoPath};
use crate::report::html::prose::code;
use crate::visible;

/// Lines around a finding that are always shown.
const CONTEXT: usize = 12;
/// Shorter gaps are not folded.
const MIN_FOLD: usize = 8;

/// The most characters of a line that are shown.
const MAX_CHARS: usize = 2_000;

/// The remaining lines of the page.
#[derive(Debug)]
pub(super) struct Budget {
    /// Lines that may still be shown.
    pub(super) left: usize,
    /// Lines that were not.
    pub(super) n_cut: usize,
}

/// One file of the change and the findings on it.
pub(super) struct FileView<'a> {
    /// The file's diff.
    pub(super) file: &'a FileDiff,
    /// The findings in its hunks, by hunk and line index.
    placed: BTreeMap<(usize, usize), Vec<&'a Finding>>,
    /// The findings outside its hunks.
    pub(super) elsewhere: Vec<&'a Finding>,
}

impl<'a> FileView<'a> {
    /// Takes the findings of this file and places each under a line.
    pub(super) fn new(file: &'a FileDiff, by_path: &mut HashMap<&FilePath, Vec<&'a Finding>>) -> Self {
        let mut view = Self { file, placed: BTreeMap::new(), elsewhere: Vec::new() };
        for (path, side) in paths(file) {
            let Some(list) = by_path.get_mut(&path) else { continue };
            for finding in list.extract_if(.., |finding| finding.location.side == side) {
                match line_of(file, finding) {
                    Some(place) => view.placed.entry(place).or_default().push(finding),
                    None => view.elsewhere.push(finding),
                }
            }
        }
        view
    }

    /// The findings on this file.
    pub(super) fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        self.placed.values().flatten().chain(&self.elsewhere).copied()
    }

    /// The worst severity on this file.
    pub(super) fn worst(&self) -> Option<Severity> {
        self.findings().map(|finding| finding.severity).max()
    }

    /// True when a finding is on this file.
    pub(super) fn has_findings(&self) -> bool {
        !self.placed.is_empty() || !self.elsewhere.is_empty()
    }

    /// Renders all hunks; `card` renders a finding.
    pub(super) fn hunks(&self, budget: &mut Budget, card: &dyn Fn(&Finding, &FileDiff) -> String) -> String {
        let body = DiffBody::new(self.file, None);
        let mut html = String::new();
        for (index, lines) in body.lines.hunks.iter().enumerate() {
            let here: BTreeMap<usize, &Vec<&Finding>> = self
                .placed
                .range((index, 0)..(index + 1, 0))
                .map(|((_, line), list)| (lines.start + line, list))
                .collect();
            if lines.len() > budget.left && here.is_empty() {
                html.push_str(&budget.cut(lines.len()));
                continue;
            }
            html.push_str(&self.hunk(&body, index, &here, budget, card));
        }
        html
    }

    fn hunk(
        &self,
        body: &DiffBody<'_>,
        index: usize,
        here: &BTreeMap<usize, &Vec<&Finding>>,
        budget: &mut Budget,
        card: &dyn Fn(&Finding, &FileDiff) -> String,
    ) -> String {
        let (hunk, lines) = (&self.file.hunks[index], body.lines.hunks[index].clone());
        let hits: Vec<&Finding> = here.values().flat_map(|list| list.iter().copied()).collect();
        let head = format!(
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start,
            hunk.old_len,
            hunk.new_start,
            hunk.new_len,
            escape(&body.section(index))
        );
        let mut html = String::new();
        for (range, is_shown) in runs(&lines, &shown_lines(&lines, here)) {
            let n_lines = range.len();
            if !is_shown && n_lines > budget.left {
                html.push_str(&budget.cut(n_lines));
                continue;
            }
            budget.left = budget.left.saturating_sub(n_lines);
            let rows: String = range
                .map(|line| {
                    let is_hit = hits.iter().any(|finding| is_at(&body.lines.lines[line].line, finding));
                    let cards = here.get(&line).into_iter().flat_map(|list| list.iter());
                    row(&body.lines, line, is_hit) + &cards.map(|finding| card(finding, self.file)).collect::<String>()
                })
                .collect();
            if is_shown {
                html.push_str(&rows);
            } else {
                let words = lines_in_words(n_lines);
                html.push_str(&format!("<details class=\"gap\"><summary>{words} folded</summary>\n{rows}</details>\n"));
            }
        }
        if here.is_empty() && self.has_findings() {
            let words = lines_in_words(lines.len());
            return format!(
                "<details class=\"hunk\"><summary class=\"hunk-head\">{head} <span>{words}, no findings</span>\
                 </summary>\n{html}</details>\n"
            );
        }
        format!("<div class=\"hunk\"><p class=\"hunk-head\">{head}</p>\n{html}</div>\n")
    }
}

impl Budget {
    /// Notes lines that are not shown.
    fn cut(&mut self, n_lines: usize) -> String {
        self.n_cut += n_lines;
        format!("<p class=\"cut\">{} not shown</p>\n", lines_in_words(n_lines))
    }
}

/// The lines of a range, if the diff has all of them.
pub(super) fn lines_after(file: &FileDiff, side: Side, range: LineRange) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for line in file.hunks.iter().flat_map(|hunk| file.lines(hunk)) {
        if number(&line, side).is_some_and(|number| range.contains(number)) {
            found.push(String::from_utf8_lossy(line.text).trim_end_matches('\r').to_owned());
        }
    }
    let n_lines = usize::try_from(range.end() - range.start()).unwrap_or(usize::MAX).saturating_add(1);
    (found.len() == n_lines).then_some(found)
}

/// A small diff from lines to a replacement.
pub(super) fn small(old: &[String], new: &[&str]) -> String {
    let line = |kind, text| Line { kind, old: None, new: None, text, newline: true };
    let removed = old.iter().map(|text| line(LineKind::Removed, text.as_bytes()));
    let added = new.iter().map(|text| line(LineKind::Added, text.as_bytes()));
    let lines = DiffLines::new([removed.chain(added)]);
    (0..lines.lines.len()).map(|index| row(&lines, index, false)).collect()
}

/// `1 line`, `20,000 lines`.
pub(super) fn lines_in_words(n_lines: usize) -> String {
    if n_lines == 1 { "1 line".to_owned() } else { format!("{} lines", grouped(n_lines)) }
}

/// A number with its thousands set apart.
pub(super) fn grouped(number: usize) -> String {
    visible::grouped(number as u64)
}

/// The paths of a file by side.
fn paths(file: &FileDiff) -> Vec<(FilePath, Side)> {
    let of = |path: &Option<RepoPath>| path.as_ref().map(FilePath::of_repo_path);
    let (old, new) = (of(&file.old_path), of(&file.new_path));
    let right = new.clone().or_else(|| old.clone()).map(|path| (path, Side::Right));
    let left = old.or(new).map(|path| (path, Side::Left));
    right.into_iter().chain(left).collect()
}

/// The hunk and the line of a finding: its last line in the diff.
fn line_of(file: &FileDiff, finding: &Finding) -> Option<(usize, usize)> {
    let mut found = None;
    for (hunk_index, hunk) in file.hunks.iter().enumerate() {
        for (line_index, line) in file.lines(hunk).enumerate() {
            if is_at(&line, finding) {
                found = Some((hunk_index, line_index));
            }
        }
    }
    found
}

/// The number of a line on a side.
fn number(line: &Line<'_>, side: Side) -> Option<u32> {
    if side == Side::Left { line.old } else { line.new }
}

/// True when a finding is about a line.
fn is_at(line: &Line<'_>, finding: &Finding) -> bool {
    number(line, finding.location.side).is_some_and(|number| finding.location.lines.contains(number))
}

/// The visible lines of a hunk: all, or those near a finding.
fn shown_lines(lines: &Range<usize>, here: &BTreeMap<usize, &Vec<&Finding>>) -> Vec<bool> {
    let mut shown = vec![here.is_empty(); lines.len()];
    for line in here.keys().map(|line| line - lines.start) {
        let range = line.saturating_sub(CONTEXT)..(line + CONTEXT + 1).min(lines.len());
        shown[range].fill(true);
    }
    for (range, is_shown) in runs(&(0..lines.len()), &shown.clone()) {
        if !is_shown && range.len() < MIN_FOLD {
            shown[range].fill(true);
        }
    }
    shown
}

/// The runs of lines that are shown or folded alike.
fn runs(lines: &Range<usize>, shown: &[bool]) -> Vec<(Range<usize>, bool)> {
    let mut start = lines.start;
    let run = |of_run: &[bool]| {
        let range = start..start + of_run.len();
        start = range.end;
        (range, of_run.first() == Some(&true))
    };
    shown.chunk_by(|one, other| one == other).map(run).collect()
}

/// Code of one line with its changed words in an element.
fn marked(line: &str, changed: &[Range<usize>], tag: &str) -> String {
    let (mut html, mut end) = (String::new(), 0);
    for range in changed {
        html.push_str(&code(&line[end..range.start]));
        html.push_str(&format!("<{tag}>{}</{tag}>", code(&line[range.clone()])));
        end = range.end;
    }
    html.push_str(&code(&line[end..]));
    html
}

/// The code of one line, truncated.
fn code_of(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARS) {
        None => code(line),
        Some((cut, _)) => {
            let n_more = line[cut..].chars().count();
            format!("{}<span class=\"no-newline\"> … {} more characters</span>", code(&line[..cut]), grouped(n_more))
        }
    }
}

fn row(lines: &DiffLines<'_>, index: usize, is_hit: bool) -> String {
    let line = &lines.lines[index].line;
    let (class, mark, tag) = match line.kind {
        LineKind::Context => ("", " ", "ins"),
        LineKind::Added => (" add", "+", "ins"),
        LineKind::Removed => (" del", "-", "del"),
    };
    let hit = if is_hit { " hit" } else { "" };
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let text = String::from_utf8_lossy(lines.text(index));
    let shown = match lines.changed(index) {
        Some(changed) => marked(&text, &changed, tag),
        None => code_of(&text),
    };
    let tail = if line.newline { "" } else { "<span class=\"no-newline\"> no line break at the end</span>" };
    format!(
        "<div class=\"line{class}{hit}\"><span class=\"no\">{}</span><span class=\"no\">{}</span>\
         <span class=\"mark\">{mark}</span><code>{shown}{tail}</code></div>\n",
        number(line.old),
        number(line.new),
    )
}
