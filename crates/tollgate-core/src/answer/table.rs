//! Parses findings in a Markdown table.
//!
//! ```text
//! | Severity | File | Line | Issue |
//! |----------|------|------|-------|
//! | High     | a.rs | 12   | No check |
//! ```

use crate::answer::draft::Draft;
use crate::answer::json_answer::denies_findings;
use crate::answer::json_fields;
use crate::answer::lenient_json::{Node, Object};
use crate::answer::markdown_lines::{Kind, Line};

/// The most columns that are parsed.
const MAX_COLUMNS: usize = 20;

/// Parses a table at the first line; returns its findings and its number of lines.
pub(super) fn read(lines: &[Line<'_>]) -> Option<(Vec<Draft>, usize)> {
    let is_row = |line: &&Line<'_>| line.kind == Kind::Text && line.text.starts_with('|') && line.text.len() > 1;
    let head = lines.first().filter(is_row)?;
    let rule = lines.get(1).filter(is_row)?;
    if !rule.text.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ')) {
        return None;
    }
    let names = cells(head.text);
    let rows = lines[2..].iter().take_while(is_row);
    let (mut drafts, mut n_lines) = (Vec::new(), 2);
    for row in rows {
        n_lines += 1;
        let fields = names.iter().zip(cells(row.text)).map(|(name, cell)| (name.clone(), Node::Text(cell))).collect();
        let object = Object { fields, whole: true };
        if json_fields::is_finding(&object) {
            let draft = json_fields::draft(&object);
            drafts.extend(Some(draft).filter(|draft| !draft.title.as_deref().is_some_and(denies_findings)));
        }
    }
    Some((drafts, n_lines))
}

/// The cells of a row, without emphasis and backticks.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim_matches('|').replace("\\|", "\u{1}");
    let cells = inner.split('|').take(MAX_COLUMNS);
    cells.map(|cell| cell.trim().trim_matches(['*', '`']).replace('\u{1}', "|")).collect()
}
