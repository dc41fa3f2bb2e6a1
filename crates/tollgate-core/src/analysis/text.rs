//! The analysis as plain text: one line per file, the totals, the risks.

use crate::analysis::{Analysis, AnalyzedFile, Category};
use crate::diff::Status;
use crate::path::RepoPath;
use crate::visible::visible;

/// Writes the analysis as plain text, aligned.
#[must_use]
pub fn render(analysis: &Analysis) -> String {
    let mut out = String::new();
    push_files(&mut out, analysis);
    push_totals(&mut out, analysis);
    push_risks(&mut out, analysis);
    out
}

fn push_files(out: &mut String, analysis: &Analysis) {
    let language = |file: &AnalyzedFile| file.language.map_or("", |language| language.name());
    let files = &analysis.files;
    let language_width = files.iter().map(|file| language(file).len()).max().unwrap_or(0);
    let added_width = files.iter().map(|file| n_digits(file.n_added)).max().unwrap_or(1);
    let removed_width = files.iter().map(|file| n_digits(file.n_removed)).max().unwrap_or(1);
    for file in files {
        push_padded(out, file.category.name(), 6);
        push_padded(out, language(file), language_width);
        push_number(out, '+', file.n_added, added_width);
        push_number(out, '-', file.n_removed, removed_width);
        push_path(out, &file.path);
        push_notes(out, file);
        out.push('\n');
    }
}

// A large change has tens of thousands of files; formatting their lines with `format!` took longer than parsing them.

fn push_padded(out: &mut String, text: &str, width: usize) {
    out.push_str(text);
    push_spaces(out, width.saturating_sub(text.len()) + 2);
}

fn push_spaces(out: &mut String, n_spaces: usize) {
    const SPACES: &str = "                                ";
    out.push_str(&SPACES[..n_spaces.min(SPACES.len())]);
}

fn push_number(out: &mut String, sign: char, number: u32, width: usize) {
    push_spaces(out, width.saturating_sub(n_digits(number)));
    out.push(sign);
    push_digits(out, number);
    out.push_str("  ");
}

fn push_digits(out: &mut String, number: u32) {
    if number > 9 {
        push_digits(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

fn n_digits(number: u32) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Writes a path on one line, with control characters escaped.
fn push_path(out: &mut String, path: &RepoPath) {
    let text = String::from_utf8_lossy(path.as_bytes());
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        out.push_str(&text);
    } else {
        out.push_str(&visible(&text).replace('\n', "\\n").replace('\t', "\\t"));
    }
}

/// Notes on a file in parentheses: status, binary, generated.
fn push_notes(out: &mut String, file: &AnalyzedFile) {
    let start = out.len();
    let from = match file.status {
        Status::Added => Some("new"),
        Status::Deleted => Some("deleted"),
        Status::Renamed => Some("renamed from "),
        Status::Copied => Some("copied from "),
        Status::Modified => None,
    };
    if let Some(from) = from {
        out.push_str(", ");
        out.push_str(from);
    }
    if let (Status::Renamed | Status::Copied, Some(old)) = (file.status, &file.old_path) {
        push_path(out, old);
    }
    if file.binary {
        out.push_str(", binary");
    }
    if file.generated {
        out.push_str(", generated");
    }
    if out.len() > start {
        out.replace_range(start..start + 2, " (");
        out.push(')');
    }
}

fn push_totals(out: &mut String, analysis: &Analysis) {
    let totals = analysis.totals();
    let plural = if totals.n_files == 1 { "" } else { "s" };
    *out += &format!("{} file{plural}, +{} -{}", totals.n_files, totals.n_added, totals.n_removed);
    let counts = Category::ALL
        .map(|category| (analysis.files.iter().filter(|file| file.category == category).count(), category.name()));
    let counts = counts.iter().filter(|(n_files, _)| *n_files > 0).map(|(n_files, name)| format!("{n_files} {name}"));
    let counts: Vec<_> = counts.collect();
    if !counts.is_empty() {
        *out += &format!(": {}", counts.join(", "));
    }
    out.push('\n');
}

fn push_risks(out: &mut String, analysis: &Analysis) {
    if analysis.risks.is_empty() {
        return;
    }
    out.push_str("\nRisks\n");
    let width = analysis.risks.iter().map(|risk| risk.kind.name().len()).max().unwrap_or(0);
    for risk in &analysis.risks {
        out.push_str("  ");
        push_padded(out, risk.kind.name(), width);
        push_path(out, &risk.path);
        if let Some(line) = risk.line {
            out.push(':');
            push_digits(out, line);
        }
        out.push('\n');
    }
}
