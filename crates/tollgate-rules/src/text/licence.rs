//! Detects licence and copyright notices removed from the top of a file.

use tollgate_core::diff::Status;

use crate::hit::Hit;
use crate::text::File;

const RULE: &str = "licence-header-removed";

/// Maximum line number of a licence header.
const TOP: u32 = 30;

pub(super) fn scan(file: &File<'_>, hits: &mut Vec<Hit>) {
    let changed = matches!(file.diff.status, Status::Modified | Status::Renamed) && file.diff.n_removed > 0;
    let at_top = file.diff.hunks.first().is_some_and(|hunk| hunk.old_start <= TOP);
    if !changed || !at_top {
        return;
    }
    let mut removed = file.diff.removed().take_while(|(number, _)| *number <= TOP);
    let Some((number, text)) = removed.find(|(_, text)| is_header(text)) else {
        return;
    };
    // A header that was moved, reworded or updated is added again. A file without content needs none.
    let again = file.diff.added().any(|(_, text)| is_header(text) || is_spdx(text)) || kept(file);
    let class = file.class();
    if again || class.prose || class.generated || !file.enabled(RULE) {
        return;
    }
    hits.push(Hit { left: true, ..file.hit(RULE, Some(number), text) });
}

/// True for a tag of SPDX in any kind of comment, to which long headers are converted.
fn is_spdx(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"SPDX-").is_some()
}

/// True when another header line stays.
fn kept(file: &File<'_>) -> bool {
    let lines = file.diff.hunks.iter().take(1).flat_map(|hunk| file.diff.lines(hunk));
    lines.filter(|line| line.new.is_some()).any(|line| is_header(line.text))
}

/// True for a comment with a copyright or licence notice.
fn is_header(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let comment = ["//", "/*", "*", "#", "--", ";", "<!--", "%", "'", "(*", "{-", "\"\"\"", "rem "];
    let is_comment = comment.iter().any(|mark| text.starts_with(mark)) || text.starts_with("Copyright");
    if !is_comment {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    let copyright = lower.contains("copyright") && (lower.contains("(c)") || text.contains('©') || has_year(&lower));
    copyright || lower.contains("spdx-license-identifier") || lower.contains("licensed under the")
}

fn has_year(text: &str) -> bool {
    let is_year = |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    text.split(|character: char| !character.is_ascii_digit()).any(is_year)
}
