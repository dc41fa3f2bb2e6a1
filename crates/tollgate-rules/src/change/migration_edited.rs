//! Detects edited or deleted migrations that may already have run.

use tollgate_core::diff::Status;

use crate::change::path;
use crate::change::view::{File, Line, Reporter, View, patterns, squeeze};

patterns! {
    FOLDER ["igrat", "IGRAT", "ersions/", "ERSIONS/", "hangelog", "HANGELOG"] = r"(?i)(?:^|/)(?:migrations?|migrate|versions|changelogs?)/";
    NUMBERED = concat!(
        r"(?:^|/)(?:\d{3,}[_.-]|[vV]\d+(?:[._]\d+)*__|\d{4}_\d{2}_\d{2}_|[0-9a-f]{12}_|m\d{6}_|\d{10,}",
        r"|Version\d{8,})[^/]*(?:/[^/]+)?$",
    );
    KIND = r"\.(?:sql|py|rb|php|js|ts|go|rs|kt|java|cs|xml)$";
}

pub(crate) fn scan(view: &View<'_>, reporter: &mut Reporter) {
    let edited: Vec<&File<'_>> =
        view.files.iter().filter(|file| is_old_migration(file) && changes_meaning(file)).collect();
    // One edit across many migrations is housekeeping: a formatter, an import, a licence.
    if edited.len() > 5 {
        return;
    }
    for file in edited {
        let adds_another =
            || view.files.iter().any(|other| other.diff.status == Status::Added && is_migration(&other.path));
        match file.diff.status {
            // Deleted together with a new one: squashed, or rewritten before its release.
            Status::Deleted if adds_another() => {}
            Status::Deleted => {
                reporter.report(file, 0..file.lines.len().min(1), Some("existing migration deleted".to_owned()));
            }
            _ => {
                let first =
                    file.lines.iter().position(|line| (line.is_added() || line.is_removed()) && is_statement(line));
                if let Some(index) = first {
                    reporter.report(file, index..index + 1, None);
                }
            }
        }
    }
}

fn is_migration(path: &str) -> bool {
    let flyway = path::name(path).starts_with('V') && path.contains("__") && path.ends_with(".sql");
    (flyway || FOLDER.is_match(path)) && NUMBERED.is_match(path) && KIND.is_match(path) && !path::is_test(path)
}

fn is_old_migration(file: &File<'_>) -> bool {
    matches!(file.diff.status, Status::Modified | Status::Deleted) && is_migration(&file.path)
}

/// True when more than comments, whitespace and imports differ.
fn changes_meaning(file: &File<'_>) -> bool {
    let side = |added: bool| -> String {
        let lines = file.lines.iter().filter(|line| if added { line.is_added() } else { line.is_removed() });
        lines.filter(|line| is_statement(line)).map(|line| squeeze(&line.text)).collect::<String>().replace(',', "")
    };
    side(true) != side(false)
}

/// True when a line is more than a comment or an import.
fn is_statement(line: &Line<'_>) -> bool {
    let text = line.text.trim().trim_start_matches('\u{feff}');
    let aside = ["import ", "from ", "use ", "using ", "--"].iter().any(|word| text.starts_with(word));
    !aside && !text.is_empty() && !line.is_comment()
}
