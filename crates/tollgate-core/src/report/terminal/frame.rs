//! Code frames of findings, and fixes as small diffs.

use std::fmt::Write as _;

use crate::diff::{FileDiff, LineKind};
use crate::finding::{Finding, Side};
use crate::path::FilePath;
use crate::visible::visible;

use super::Look;
use super::wrap::cut;

/// Lines shown before and after the finding's.
const CONTEXT: u32 = 2;
/// The most lines of a finding that are shown.
const MAX_MARKED: u32 = 12;
/// The most lines of a fix that are shown.
const MAX_FIX_LINES: usize = 20;

/// The lines of a finding with context; its evidence when they are not in the diff.
pub(super) fn render(finding: &Finding, files: &[FileDiff], look: &Look) -> String {
    let marked = finding.location.lines;
    let last = marked.end().min(marked.start().saturating_add(MAX_MARKED - 1));
    let window = marked.start().saturating_sub(CONTEXT)..=last.saturating_add(CONTEXT);
    let rows: Vec<(u32, String)> = lines_on_side(finding, files)
        .filter(|(number, _)| window.contains(number))
        .map(|(number, text)| (number, String::from_utf8_lossy(text).into_owned()))
        .collect();
    let mut out = String::new();
    if !rows.iter().any(|(number, _)| marked.contains(*number)) {
        evidence(&mut out, finding, look);
        return out;
    }
    let digits = rows.last().map_or(1, |(number, _)| number.to_string().len());
    let mut previous = None;
    for (number, text) in &rows {
        if previous.is_some_and(|previous| *number > previous + 1) {
            let _ = writeln!(out, "{:width$}", "...", width = digits + 5);
        }
        previous = Some(*number);
        write_row(&mut out, finding, (*number, text), digits, look);
    }
    if marked.end() > last {
        let _ = writeln!(out, "     {:>digits$} {}", "", look.paint.dim("and more lines"));
    }
    out.push('\n');
    out
}

fn write_row(out: &mut String, finding: &Finding, (number, text): (u32, &str), digits: usize, look: &Look) {
    let code = text.trim_end_matches('\r').replace('\t', "    ");
    let code = cut(&visible(&code), look.width.saturating_sub(digits + 8).max(20));
    let bar = look.paint.bar();
    if finding.location.lines.contains(number) {
        let mark = look.paint.severity(finding.severity, ">").into_owned();
        let number = look.paint.severity(finding.severity, &format!("{number:>digits$}")).into_owned();
        let _ = writeln!(out, "   {mark} {number} {bar} {code}");
    } else {
        let head = format!("     {number:>digits$} {bar}");
        let _ = writeln!(out, "{} {}", look.paint.dim(&head), look.paint.dim(&code));
    }
}

fn evidence(out: &mut String, finding: &Finding, look: &Look) {
    for line in finding.evidence.lines().take(MAX_MARKED as usize) {
        let line = cut(&visible(&line.replace('\t', "    ")), look.width.saturating_sub(9).max(20));
        let _ = writeln!(out, "     {} {line}", look.paint.bar());
    }
    out.push('\n');
}

/// The lines of the finding's file and side in the diff.
fn lines_on_side<'a>(finding: &Finding, files: &'a [FileDiff]) -> impl Iterator<Item = (u32, &'a [u8])> {
    let side = finding.location.side;
    let file = find_file(files, &finding.location.file, side);
    file.into_iter().flat_map(move |file| {
        let lines = file.hunks.iter().flat_map(|hunk| file.lines(hunk));
        lines.filter_map(move |line| match (side, line.kind) {
            (Side::Left, LineKind::Added) | (Side::Right, LineKind::Removed) => None,
            (Side::Left, _) => Some((line.old?, line.text)),
            (Side::Right, _) => Some((line.new?, line.text)),
        })
    })
}

fn find_file<'a>(files: &'a [FileDiff], path: &FilePath, side: Side) -> Option<&'a FileDiff> {
    files.iter().find(|file| {
        let on_side = if side == Side::Left { file.old_path.as_ref() } else { file.new_path.as_ref() };
        FilePath::of_repo_path(on_side.unwrap_or(file.path())) == *path
    })
}

/// The fix as a small diff, or the suggestion as code.
pub(super) fn write_fix(out: &mut String, finding: &Finding, files: &[FileDiff], look: &Look) {
    let width = look.width.saturating_sub(9).max(20);
    let shown = |text: &str| cut(&visible(&text.trim_end_matches('\r').replace('\t', "    ")), width);
    let Some(fix) = &finding.fix else {
        if let Some(suggestion) = &finding.suggestion {
            let _ = writeln!(out, "     {}", look.paint.bold("Fix"));
            for line in suggestion.lines().take(MAX_FIX_LINES) {
                let _ = writeln!(out, "     {}", look.paint.added(&format!("+ {}", shown(line))));
            }
            out.push('\n');
        }
        return;
    };
    let old: Vec<String> = lines_on_side(finding, files)
        .filter(|(number, _)| fix.lines.contains(*number))
        .map(|(_, text)| String::from_utf8_lossy(text).into_owned())
        .collect();
    let _ = writeln!(out, "     {}", look.paint.bold("Fix"));
    for line in old.iter().take(MAX_FIX_LINES) {
        let _ = writeln!(out, "     {}", look.paint.removed(&format!("- {}", shown(line))));
    }
    if fix.replacement.is_empty() {
        let _ = writeln!(out, "     {}", look.paint.dim("(remove)"));
    }
    for line in fix.replacement.lines().take(MAX_FIX_LINES) {
        let _ = writeln!(out, "     {}", look.paint.added(&format!("+ {}", shown(line))));
    }
    out.push('\n');
}
