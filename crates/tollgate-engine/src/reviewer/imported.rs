//! Imports findings of other tools into a review.
//!
//! A linter reports on whole files; its findings on lines that the change does
//! not touch are withheld. Paths are relative to the repository already, by the
//! parsers of the formats. Secrets of the change that a tool quotes are redacted.

use std::borrow::Cow;
use std::collections::HashMap;

use tollgate_core::diff::FileDiff;
use tollgate_core::finding::{Finding, Side, Summary};
use tollgate_core::path::FilePath;
use tollgate_core::review::{Withheld, WithheldFinding};
use tollgate_rules::lines::LineSet;
use tollgate_rules::text::mask::KnownSecrets;

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
    /// Findings about the change.
    pub findings: Vec<Finding>,
    /// Findings outside of the change.
    pub withheld: Vec<WithheldFinding>,
}

/// Sorts findings of other tools by whether they are about the change.
pub fn accept(findings: Vec<Finding>, files: &[FileDiff], scope: Scope) -> Imported {
    let mut imported = Imported::default();
    if findings.is_empty() {
        return imported;
    }
    let touched = touched(files);
    let secrets = KnownSecrets::of(files);
    for finding in findings {
        let finding = hidden(finding, &secrets);
        let lines = touched.get(&(finding.location.side, finding.location.file.clone()));
        let (start, end) = (finding.location.lines.start(), finding.location.lines.end());
        if scope == Scope::Everything || lines.is_some_and(|lines| lines.overlaps(start, end)) {
            imported.findings.push(finding);
        } else {
            imported.withheld.push(WithheldFinding { finding, why: Withheld::OutsideChange });
        }
    }
    imported
}

/// Redacts the secrets of the change that a finding quotes.
fn hidden(mut finding: Finding, secrets: &KnownSecrets) -> Finding {
    let hide = |text: &str| secrets.mask(text).into_owned();
    finding.summary = Summary::shorten(&hide(finding.summary.as_str())).0;
    finding.evidence = hide(&finding.evidence);
    finding.reason = finding.reason.as_deref().map(hide);
    finding.suggestion = finding.suggestion.as_deref().map(hide);
    // A redacted fix could not be applied, and unknown fields are kept whole or not at all.
    let is_plain = |text: &str| matches!(secrets.mask(text), Cow::Borrowed(_));
    finding.fix = finding.fix.take().filter(|fix| is_plain(&fix.replacement));
    finding.extra.retain(|_, value| is_plain(&value.to_string()));
    finding
}

/// The lines that the change adds and removes, by side and path.
fn touched(files: &[FileDiff]) -> HashMap<(Side, FilePath), LineSet> {
    let mut touched = HashMap::new();
    for file in files {
        if let Some(path) = &file.new_path {
            touched.insert((Side::Right, FilePath::of_repo_path(path)), LineSet::added_by(file));
        }
        if let Some(path) = &file.old_path {
            touched.insert((Side::Left, FilePath::of_repo_path(path)), LineSet::removed_by(file));
        }
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_core::finding::{Category, FindingId, Fix, LineRange, Location, Origin, Severity};

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
    fn a_secret_of_the_change_is_hidden_in_whatever_a_tool_says_of_it() {
        let secret = "kX9mQ2vLp7RtW4nZ";
        let text = format!(
            "diff --git a/a.conf b/a.conf\n--- a/a.conf\n+++ b/a.conf\n@@ -0,0 +1 @@\n+password = \"{secret}\"\n"
        );
        let (files, _) = tollgate_core::diff::parse(text.into_bytes());
        let said = format!("found {secret} here");
        let mut extra = serde_json::Map::new();
        extra.insert("match".to_owned(), serde_json::json!([said]));
        let quoting = Finding {
            extra,
            summary: Summary::parse(&said).unwrap(),
            reason: Some(said.clone()),
            evidence: said.clone(),
            suggestion: Some(said.clone()),
            fix: Some(Fix { lines: LineRange::line(1), replacement: said }),
            ..finding("a.conf", 1, 1, Side::Right)
        };
        let imported = accept(vec![quoting], &files, Scope::ChangedLines);
        assert!(!format!("{imported:?}").contains(secret), "{imported:?}");
        assert_eq!(imported.findings[0].evidence, "found kX9m…(16 characters) here");
        assert!(imported.findings[0].fix.is_none());
    }
}
