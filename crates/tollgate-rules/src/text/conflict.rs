//! Detects merge conflict markers.
//!
//! ```text
//! <<<<<<< HEAD
//! ours
//! ||||||| base
//! =======
//! theirs
//! >>>>>>> branch
//! ```
//!
//! A line of `=` may also underline a heading, so it counts only in a file with
//! one of the other markers.

use tollgate_core::diff::LineKind;

use crate::hit::Hit;
use crate::text::File;

const RULE: &str = "conflict-marker";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Ours,
    Base,
    Middle,
    Theirs,
}

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    if !file.may_conflict.get() || !file.enabled(RULE) {
        return;
    }
    let class = file.class();
    // Test data of merge tools, and documentation about merges.
    if (class.test && !class.code) || (class.prose && !has_all(file)) {
        return;
    }
    for hunk in &file.diff.hunks {
        let mut open = false;
        for line in file.diff.lines(hunk).filter(|line| line.kind != LineKind::Removed) {
            let Some(mark) = mark(line.text) else { continue };
            let new = line.kind == LineKind::Added;
            match mark {
                Mark::Ours => hits.extend(new.then(|| file.hit(RULE, line.new, line.text))),
                Mark::Base | Mark::Middle | Mark::Theirs if open => {}
                Mark::Base | Mark::Middle if !others_near(file) => {}
                Mark::Base | Mark::Middle | Mark::Theirs => {
                    hits.extend(new.then(|| file.hit(RULE, line.new, line.text)))
                }
            }
            // One finding for each conflict, at its opening marker.
            open = if mark == Mark::Theirs { false } else { open || new };
        }
    }
}

/// True when the file has an unambiguous marker.
fn others_near(file: &File<'_>) -> bool {
    marks(file).any(|mark| matches!(mark, Mark::Ours | Mark::Theirs))
}

fn has_all(file: &File<'_>) -> bool {
    [Mark::Ours, Mark::Middle, Mark::Theirs].iter().all(|wanted| marks(file).any(|mark| mark == *wanted))
}

fn marks(file: &File<'_>) -> impl Iterator<Item = Mark> {
    file.diff.added().filter_map(|(_, text)| mark(text))
}

fn mark(line: &[u8]) -> Option<Mark> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let first = *line.first()?;
    let is_run = line.len() >= 7 && line[..7].iter().all(|byte| *byte == first);
    let labelled = matches!(line.get(7), Some(b' ')) && line.len() > 8;
    match first {
        b'<' if is_run && labelled => Some(Mark::Ours),
        b'>' if is_run && labelled => Some(Mark::Theirs),
        b'|' if is_run && labelled => Some(Mark::Base),
        b'=' if is_run && line.len() == 7 => Some(Mark::Middle),
        _ => None,
    }
}
