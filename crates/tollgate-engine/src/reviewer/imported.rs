//! Findings of other tools, brought into a review.
//!
//! A linter speaks of whole files and often names them by their absolute path.
//! Paths are made relative to the repository, and what is on lines that the
//! change does not touch is set apart.

use std::path::Path;

use tollgate_core::diff::FileDiff;
use tollgate_core::finding::{Finding, Side};
use tollgate_core::path::FilePath;
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_rules::lines::LineSet;

/// Which findings of other tools count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Those on lines that the change adds or touches.
    #[default]
    ChangedLines,
    /// All of them.
    Everything,
}

/// Findings of other tools, sorted by whether they are about the change.
#[derive(Debug, Default)]
pub struct Imported {
    /// They are about the change.
    pub findings: Vec<Finding>,
    /// They are not.
    pub withheld: Vec<WithheldFinding>,
}

/// Sorts findings of other tools by whether they are about the change.
#[must_use]
pub fn accept(findings: Vec<Finding>, files: &[FileDiff], scope: Scope) -> Imported {
    let mut imported = Imported::default();
    for finding in findings {
        if scope == Scope::Everything || touches(files, &finding) {
            imported.findings.push(finding);
        } else {
            imported.withheld.push(WithheldFinding { finding, why: Withheld::OutsideChange });
        }
    }
    imported
}

/// The path that a tool gave, from the top of the repository on; `None` when it is somewhere else.
#[must_use]
pub fn path_in_repository(text: &str, root: Option<&Path>) -> Option<FilePath> {
    let plain = text.strip_prefix("file://").unwrap_or(text).replace('\\', "/");
    if let Some(root) = root {
        let root = root.to_string_lossy().replace('\\', "/");
        if let Some(rest) = plain.strip_prefix(root.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/')) {
            return FilePath::parse(rest).ok();
        }
    }
    FilePath::parse(&plain).ok()
}

fn touches(files: &[FileDiff], finding: &Finding) -> bool {
    let (lines, wanted) = (finding.location.lines, finding.location.file.as_str());
    files.iter().any(|file| {
        let path = match finding.location.side {
            Side::Right => &file.new_path,
            Side::Left => &file.old_path,
        };
        let named = path.as_ref().is_some_and(|path| FilePath::of_repo_path(path).as_str() == wanted);
        named
            && match finding.location.side {
                Side::Right => LineSet::added_by(file).overlaps(lines.start(), lines.end()),
                Side::Left => file.removed().any(|(number, _)| lines.contains(number)),
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::{Category, FindingId, LineRange, Location, Origin, Severity, Summary};

    fn finding(file: &str, start: u32, end: u32, side: Side) -> Finding {
        Finding {
            id: FindingId::at(0),
            severity: Severity::Medium,
            category: Category::Logic,
            location: Location {
                file: FilePath::parse(file).unwrap(),
                lines: LineRange::new(start, end).unwrap(),
                side,
            },
            summary: Summary::parse("unused").unwrap(),
            reason: None,
            evidence: "x".to_owned(),
            suggestion: None,
            fix: None,
            origin: Origin::default(),
            extra: serde_json::Map::new(),
        }
    }

    #[test]
    fn only_what_is_on_changed_lines_counts_unless_asked_otherwise() {
        let text = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -4,2 +4,2 @@\n a\n-b\n+c\n";
        let (files, _) = tollgate_core::diff::parse(text.as_bytes().to_vec());
        let cases = [
            (finding("a.rs", 5, 5, Side::Right), true),
            (finding("a.rs", 1, 9, Side::Right), true),
            (finding("a.rs", 4, 4, Side::Right), false),
            (finding("a.rs", 5, 5, Side::Left), true),
            (finding("a.rs", 4, 4, Side::Left), false),
            (finding("b.rs", 5, 5, Side::Right), false),
        ];
        for (finding, counts) in cases {
            let everything = accept(vec![finding.clone()], &files, Scope::Everything);
            assert_eq!(everything.findings.len(), 1);
            let imported = accept(vec![finding], &files, Scope::ChangedLines);
            assert_eq!((imported.findings.len(), imported.withheld.len()), (usize::from(counts), usize::from(!counts)));
        }
    }

    #[test]
    fn paths_are_made_relative_to_the_repository() {
        let path = |text| path_in_repository(text, Some(Path::new("/work/repo"))).map(|path| path.to_string());
        assert_eq!(path("/work/repo/src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("file:///work/repo/src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("./src\\a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("/work/repository/a.rs"), None);
        assert_eq!(path("../a.rs"), None);
    }
}
