//! Detects removed error handling around remaining code.
//!
//! Three forms: a `try` whose body stays, an `if err != nil` whose call stays,
//! and a `.catch(…)` removed from a promise.

use std::ops::Range;

use crate::change::path::Language;
use crate::change::syntax;
use crate::change::view::{File, Pattern, Reporter, View, patterns, squeeze};

patterns! {
    TRY ["try", "begin"] = r"^\s*(?:try\s*(?:\{|:|$|\()|begin$)";
    CATCH ["catch", "except", "rescue"] = r"^\s*\}?\s*(?:catch\b|except\b|rescue\b)";
    GO_ERROR ["!= nil"] = r"^\s*if (?:.*; )?err\w* != nil \{$";
    COMPATIBLE = r"ImportError|ModuleNotFoundError|AttributeError|NameError|LoadError";
    RETHROWS = r"\b(?:throw|raise|rethrow)\b|\bpass$";
    HANDLES = concat!(
        r"\berr\w*\b|\btry\b|\bcatch\b|\bexcept\b|\brescue\b|runCatching|Result<|suppress\(|\.catch\(",
        r"|on_?error|onFailure|handle_?error",
    );
}

/// Longer blocks change more than error handling.
const MAX_BLOCK_LINES: usize = 100;

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    for file in view.files.iter().filter(|file| file.stays() && file.is_source()) {
        for hunk in file.hunks.iter().filter(|hunk| file.removed_in(hunk).next().is_some()) {
            let gone = match file.language {
                Language::Go => unchecked_call(view, file, hunk),
                _ => untried(view, file, hunk).or_else(|| cut_catch(view, file, hunk)),
            };
            if let Some(range) = gone.filter(|range| !syntax::in_test(file, range.start)) {
                reporter.report(file, range, None);
            }
        }
    }
}

/// The `catch` of a removed `try` whose body is added again.
fn untried(view: &View<'_>, file: &File<'_>, hunk: &Range<usize>) -> Option<Range<usize>> {
    if file.added_in(hunk).any(|line| HANDLES.is_match(&line.text)) {
        return None;
    }
    let find = |from: usize, pattern: &Pattern| {
        (from..hunk.end).find(|&index| file.lines[index].is_removed() && pattern.is_match(&file.lines[index].text))
    };
    let start = find(hunk.start, &TRY)?;
    let catch = find(start + 1, &CATCH)?;
    let indent = file.lines[start].indent();
    if file.lines[catch].indent() != indent || view.adds(&file.lines[catch].text) {
        return None;
    }
    let body = || {
        file.lines[start + 1..catch]
            .iter()
            .filter(|line| !line.is_blank() && !line.is_comment() && !syntax::is_closer(line))
    };
    let n_removed = body().filter(|line| line.is_removed()).count();
    let n_kept = body().filter(|line| line.is_removed() && line.text.trim().len() > 3 && view.adds(&line.text)).count();
    let end =
        (catch + 1..hunk.end).find(|&index| !file.lines[index].is_removed() || file.lines[index].indent() <= indent);
    let end = end.unwrap_or(hunk.end).max(catch + 1);
    // A handler that only rethrows or swallows the error is no loss.
    let mut handling = file.lines[catch + 1..end].iter().filter(|line| !line.is_blank() && !line.is_comment());
    let compatible = COMPATIBLE.is_match(&file.lines[catch].text);
    let handles =
        !compatible && handling.clone().next().is_some() && !handling.any(|line| RETHROWS.is_match(&line.text));
    // More added lines than the body mean a rewrite, which the reviewer sees in the diff.
    let n_added = file.added_in(&(start.min(hunk.end)..hunk.end)).filter(|line| !line.is_blank()).count();
    (handles && n_kept > 0 && n_kept == n_removed && n_added <= n_kept + 3).then_some(catch..end)
}

/// A removed `if err != nil` whose call above it stays.
fn unchecked_call(view: &View<'_>, file: &File<'_>, hunk: &Range<usize>) -> Option<Range<usize>> {
    let checks = |line: &crate::change::view::Line<'_>| line.text.contains("err") || line.text.contains("Error");
    for index in hunk.clone().skip(1) {
        let line = &file.lines[index];
        if !line.is_removed() || !GO_ERROR.is_match(&line.text) || line.text.contains(';') {
            continue;
        }
        let Some(statement) = syntax::removed_statement(file, index) else { continue };
        let block = file.block_of(index);
        let (above, before) = (&file.lines[index - 1], file.lines[index - 1].text.trim());
        let ignored = || {
            let call = before.split_once('=').map(|(_, call)| squeeze(call))?;
            file.added_in(&block).find(|line| {
                line.text.split_once('=').is_some_and(|(left, right)| left.contains('_') && squeeze(right) == call)
            })
        };
        let call_stays = !above.is_removed() && !above.is_added() && above.text.contains("err");
        let unchecked =
            call_stays && !file.added_in(&file.near(index)).any(checks) && !next_handles(file, statement.end);
        if unchecked || (above.is_removed() && block.len() <= MAX_BLOCK_LINES && ignored().is_some()) {
            return (!view.adds(&file.lines[index + 1].text)).then_some(statement);
        }
    }
    None
}

fn next_handles(file: &File<'_>, index: usize) -> bool {
    file.next_kept(index).is_none_or(|line| line.text.contains("err"))
}

/// A removed `.catch(…)` whose promise stays.
fn cut_catch(view: &View<'_>, file: &File<'_>, hunk: &Range<usize>) -> Option<Range<usize>> {
    if file.language != Language::Script
        || file.added_in(hunk).any(|line| HANDLES.is_match(&line.text) || line.text.contains("await "))
    {
        return None;
    }
    hunk.clone().find_map(|index| {
        let line = &file.lines[index];
        let (promise, _) = line.text.split_once(".catch(").filter(|_| line.is_removed() && !line.is_comment())?;
        let before = file.lines[hunk.start..index].iter().rev().find(|line| !line.is_blank());
        let stays = if promise.trim().is_empty() || promise.trim() == "}" || promise.trim() == "})" {
            // The call is on the line above, which stays.
            before.is_some_and(|before| !before.is_removed())
        } else {
            view.adds(promise)
        };
        stays.then_some(index..index + 1)
    })
}
