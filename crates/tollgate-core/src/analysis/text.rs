//! The analysis for people: one line a file, the totals, the risks.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::analysis::{Analysis, AnalyzedFile, Category};
use crate::diff::Status;
use crate::path::RepoPath;
use crate::visible::visible;

/// Writes the analysis as plain text, aligned.
#[must_use]
pub fn render(analysis: &Analysis) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_files(&mut out, analysis)
        .and_then(|()| write_totals(&mut out, analysis))
        .and_then(|()| write_risks(&mut out, analysis));
    out
}

fn write_files(out: &mut String, analysis: &Analysis) -> std::fmt::Result {
    let language = |file: &AnalyzedFile| file.language.map_or("", |language| language.name());
    let n_digits = |number: u32| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let files = &analysis.files;
    let language_width = files.iter().map(|file| language(file).len()).max().unwrap_or(0);
    let added_width = files.iter().map(|file| n_digits(file.n_added)).max().unwrap_or(1);
    let removed_width = files.iter().map(|file| n_digits(file.n_removed)).max().unwrap_or(1);
    for file in files {
        let category = file.category.name();
        write!(out, "{category:6}  {:language_width$}  ", language(file))?;
        let pad = |number: u32, width: usize| width - n_digits(number);
        write!(out, "{:1$}+{2}", "", pad(file.n_added, added_width), file.n_added)?;
        write!(out, "  {:1$}-{2}", "", pad(file.n_removed, removed_width), file.n_removed)?;
        writeln!(out, "  {}{}", shown(&file.path), notes(file))?;
    }
    Ok(())
}

/// A path on one line, whatever its bytes.
fn shown(path: &RepoPath) -> String {
    let text = path.to_string();
    let shown = visible(&text);
    if shown.contains(['\n', '\t']) {
        return shown.replace('\n', "\\n").replace('\t', "\\t");
    }
    shown.into_owned()
}

/// What there is to say of a file besides its figures, in parentheses.
fn notes(file: &AnalyzedFile) -> String {
    let mut notes = Vec::new();
    let old = || file.old_path.as_ref().map_or_else(String::new, shown);
    match file.status {
        Status::Added => notes.push("new".to_owned()),
        Status::Deleted => notes.push("deleted".to_owned()),
        Status::Renamed => notes.push(format!("renamed from {}", old())),
        Status::Copied => notes.push(format!("copied from {}", old())),
        Status::Modified => {}
    }
    if file.binary {
        notes.push("binary".to_owned());
    }
    if file.generated {
        notes.push("generated".to_owned());
    }
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
}

fn write_totals(out: &mut String, analysis: &Analysis) -> std::fmt::Result {
    let totals = analysis.totals();
    let plural = if totals.n_files == 1 { "" } else { "s" };
    write!(out, "{} file{plural}, +{} -{}", totals.n_files, totals.n_added, totals.n_removed)?;
    let mut mark = ": ";
    for category in Category::ALL {
        let n_files = analysis.files.iter().filter(|file| file.category == category).count();
        if n_files > 0 {
            write!(out, "{mark}{n_files} {}", category.name())?;
            mark = ", ";
        }
    }
    writeln!(out)
}

fn write_risks(out: &mut String, analysis: &Analysis) -> std::fmt::Result {
    if analysis.risks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nRisks")?;
    let width = analysis.risks.iter().map(|risk| risk.kind.name().width()).max().unwrap_or(0);
    for risk in &analysis.risks {
        write!(out, "  {:width$}  {}", risk.kind.name(), shown(&risk.path))?;
        match risk.line {
            Some(line) => writeln!(out, ":{line}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}
