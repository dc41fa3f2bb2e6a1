//! The diff with findings under their lines.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::diff::{FileDiff, Hunk, LineKind};
use crate::finding::{Finding, LineRange, Severity, Side};
use crate::html::escape;
use crate::path::{FilePath, RepoPath};
use crate::report::html::prose::code;
use crate::visible;
use crate::word_diff::changed_words;

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

/// A rendered line.
struct Row<'a> {
    kind: LineKind,
    old: Option<u32>,
    new: Option<u32>,
    text: String,
    newline: bool,
    marked: Option<String>,
    raw: &'a [u8],
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
        let endings = mixed_endings(self.file);
        let mut html = String::new();
        for (index, hunk) in self.file.hunks.iter().enumerate() {
            let here: BTreeMap<usize, &Vec<&Finding>> =
                self.placed.range((index, 0)..(index + 1, 0)).map(|((_, line), list)| (*line, list)).collect();
            let n_lines = self.file.lines(hunk).count();
            if n_lines > budget.left && here.is_empty() {
                budget.n_cut += n_lines;
                html.push_str(&format!("<p class=\"cut\">{} not shown</p>\n", lines_in_words(n_lines)));
                continue;
            }
            html.push_str(&self.hunk(hunk, &here, endings, budget, card));
        }
        html
    }

    fn hunk(
        &self,
        hunk: &Hunk,
        here: &BTreeMap<usize, &Vec<&Finding>>,
        endings: bool,
        budget: &mut Budget,
        card: &dyn Fn(&Finding, &FileDiff) -> String,
    ) -> String {
        let rows = rows(self.file, hunk, endings);
        let hits: Vec<&Finding> = here.values().flat_map(|list| list.iter().copied()).collect();
        let section = String::from_utf8_lossy(self.file.section(hunk));
        let head = format!(
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start,
            hunk.old_len,
            hunk.new_start,
            hunk.new_len,
            escape(&section)
        );
        let shown = shown_lines(rows.len(), here);
        let mut body = String::new();
        let mut index = 0;
        while index < rows.len() {
            let end = (index..rows.len()).find(|line| shown[*line] != shown[index]).unwrap_or(rows.len());
            if !shown[index] && end - index > budget.left {
                budget.n_cut += end - index;
                body.push_str(&format!("<p class=\"cut\">{} not shown</p>\n", lines_in_words(end - index)));
                index = end;
                continue;
            }
            budget.left = budget.left.saturating_sub(end - index);
            let lines: String = (index..end)
                .map(|line| {
                    let mut html = row(&rows[line], hits.iter().any(|finding| is_hit(&rows[line], finding)));
                    let cards = here.get(&line).into_iter().flat_map(|list| list.iter());
                    cards.for_each(|finding| html.push_str(&card(finding, self.file)));
                    html
                })
                .collect();
            if shown[index] {
                body.push_str(&lines);
            } else {
                let words = lines_in_words(end - index);
                body.push_str(&format!(
                    "<details class=\"gap\"><summary>{words} folded</summary>\n{lines}</details>\n"
                ));
            }
            index = end;
        }
        if here.is_empty() && self.has_findings() {
            let words = lines_in_words(rows.len());
            return format!(
                "<details class=\"hunk\"><summary class=\"hunk-head\">{head} <span>{words}, no findings</span>\
                 </summary>\n{body}</details>\n"
            );
        }
        format!("<div class=\"hunk\"><p class=\"hunk-head\">{head}</p>\n{body}</div>\n")
    }
}

/// The lines of a range, if the diff has all of them.
pub(super) fn lines_after(file: &FileDiff, side: Side, range: LineRange) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for line in file.hunks.iter().flat_map(|hunk| file.lines(hunk)) {
        let number = if side == Side::Left { line.old } else { line.new };
        if number.is_some_and(|number| range.contains(number)) {
            found.push(String::from_utf8_lossy(line.text).trim_end_matches('\r').to_owned());
        }
    }
    let n_lines = usize::try_from(range.end() - range.start()).unwrap_or(usize::MAX).saturating_add(1);
    (found.len() == n_lines).then_some(found)
}

/// A small diff from lines to a replacement.
pub(super) fn small(old: &[String], new: &[&str]) -> String {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let plain = |kind, text: &str| Row {
        kind,
        old: None,
        new: None,
        text: text.to_owned(),
        newline: true,
        marked: None,
        raw: &[],
    };
    rows.extend(old.iter().map(|line| plain(LineKind::Removed, line)));
    rows.extend(new.iter().map(|line| plain(LineKind::Added, line)));
    mark_words(&mut rows);
    rows.iter().map(|line| row(line, false)).collect()
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
    let (lines, side) = (finding.location.lines, finding.location.side);
    let mut found = None;
    for (hunk_index, hunk) in file.hunks.iter().enumerate() {
        for (line_index, line) in file.lines(hunk).enumerate() {
            let number = if side == Side::Left { line.old } else { line.new };
            if number.is_some_and(|number| lines.contains(number)) {
                found = Some((hunk_index, line_index));
            }
        }
    }
    found
}

fn is_hit(row: &Row<'_>, finding: &Finding) -> bool {
    let number = if finding.location.side == Side::Left { row.old } else { row.new };
    number.is_some_and(|number| finding.location.lines.contains(number))
}

/// The visible lines of a hunk: all, or those near a finding.
fn shown_lines(n_rows: usize, here: &BTreeMap<usize, &Vec<&Finding>>) -> Vec<bool> {
    if here.is_empty() {
        return vec![true; n_rows];
    }
    let mut shown = vec![false; n_rows];
    for line in here.keys() {
        let range = line.saturating_sub(CONTEXT)..(line + CONTEXT + 1).min(n_rows);
        shown[range].fill(true);
    }
    let mut index = 0;
    while index < n_rows {
        let end = (index..n_rows).find(|line| shown[*line] != shown[index]).unwrap_or(n_rows);
        if !shown[index] && end - index < MIN_FOLD {
            shown[index..end].fill(true);
        }
        index = end;
    }
    shown
}

/// True when a file mixes LF and CRLF.
fn mixed_endings(file: &FileDiff) -> bool {
    let mut lines = file.hunks.iter().flat_map(|hunk| file.lines(hunk));
    let Some(first) = lines.next().map(|line| line.text.ends_with(b"\r")) else { return false };
    lines.any(|line| line.text.ends_with(b"\r") != first)
}

fn rows<'a>(file: &'a FileDiff, hunk: &Hunk, endings: bool) -> Vec<Row<'a>> {
    let lines = file.lines(hunk).map(|line| {
        let shown = if endings { line.text } else { line.text.strip_suffix(b"\r").unwrap_or(line.text) };
        let text = String::from_utf8_lossy(shown).into_owned();
        Row { kind: line.kind, old: line.old, new: line.new, text, newline: line.newline, marked: None, raw: line.text }
    });
    let mut rows: Vec<Row<'_>> = lines.collect();
    mark_words(&mut rows);
    rows
}

/// Marks changed words where as many lines were removed as added.
fn mark_words(rows: &mut [Row<'_>]) {
    let mut index = 0;
    while index < rows.len() {
        let removed = count(&rows[index..], LineKind::Removed);
        let added = count(&rows[index + removed..], LineKind::Added);
        if removed == added && removed > 0 {
            for pair in 0..removed {
                let (left, right) = (index + pair, index + removed + pair);
                if rows[left].raw == rows[right].raw && !rows[left].raw.is_empty() {
                    continue;
                }
                if let Some((old, new)) = changed_words(&rows[left].text, &rows[right].text) {
                    rows[left].marked = Some(marked(&rows[left].text, &old, "del"));
                    rows[right].marked = Some(marked(&rows[right].text, &new, "ins"));
                }
            }
        }
        index += (removed + added).max(1);
    }
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

fn count(rows: &[Row<'_>], kind: LineKind) -> usize {
    rows.iter().take_while(|row| row.kind == kind).count()
}

fn row(row: &Row<'_>, hit: bool) -> String {
    let (class, mark) = match row.kind {
        LineKind::Context => ("", " "),
        LineKind::Added => (" add", "+"),
        LineKind::Removed => (" del", "-"),
    };
    let hit = if hit { " hit" } else { "" };
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let shown = row.marked.clone().unwrap_or_else(|| code_of(&row.text));
    let tail = if row.newline { "" } else { "<span class=\"no-newline\"> no line break at the end</span>" };
    format!(
        "<div class=\"line{class}{hit}\"><span class=\"no\">{}</span><span class=\"no\">{}</span>\
         <span class=\"mark\">{mark}</span><code>{shown}{tail}</code></div>\n",
        number(row.old),
        number(row.new),
    )
}
