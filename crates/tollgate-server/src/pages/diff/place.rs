//! Where in a diff findings stand: under a line, at the top of a file, or at the top of the diff. None is lost.

use std::collections::HashMap;

use tollgate_core::diff::rows::PairedLine;
use tollgate_core::diff::{FileDiff, LineKind};
use tollgate_core::path::{FilePath, RepoPath};

use crate::pages::finding::FindingView;

/// Findings by the file they name.
#[derive(Debug, Default)]
pub(super) struct Findings {
    by_file: HashMap<String, Vec<FindingView>>,
    without_file: Vec<FindingView>,
}

/// The findings of one file.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// By the index of the line under which they stand.
    pub(super) by_line: HashMap<usize, Vec<FindingView>>,
    /// Findings that are about no line of the diff.
    pub(super) elsewhere: Vec<FindingView>,
}

impl Findings {
    pub(super) fn new(findings: Vec<FindingView>) -> Self {
        let mut sorted = Self::default();
        for finding in findings {
            match &finding.file {
                Some(file) => sorted.by_file.entry(file.clone()).or_default().push(finding),
                None => sorted.without_file.push(finding),
            }
        }
        sorted
    }

    /// Takes those of a file: by its path, then by the one it had before.
    pub(super) fn take(&mut self, file: &FileDiff) -> Vec<FindingView> {
        let name = |path: &RepoPath| FilePath::of_repo_path(path).as_str().to_owned();
        let mut taken = Vec::new();
        for path in [&file.new_path, &file.old_path].into_iter().flatten() {
            taken.extend(self.by_file.remove(&name(path)).unwrap_or_default());
        }
        taken
    }

    /// Findings in no file of the diff.
    pub(super) fn rest(self) -> Vec<FindingView> {
        let mut rest: Vec<FindingView> = self.by_file.into_values().flatten().chain(self.without_file).collect();
        rest.sort_by(|one, other| (&one.id, &one.title).cmp(&(&other.id, &other.title)));
        rest
    }
}

impl Placed {
    pub(super) fn new(lines: &[PairedLine<'_>], findings: Vec<FindingView>) -> Self {
        let mut placed = Self::default();
        for finding in findings {
            match line_of(lines, &finding) {
                Some(index) => placed.by_line.entry(index).or_default().push(finding),
                None => placed.elsewhere.push(finding),
            }
        }
        placed
    }
}

/// The line under which a finding stands.
///
/// A stored finding does not tell its side. Almost all are about lines after the change; one about a removed
/// line is known by its quote, or because there is no such line after the change.
pub(super) fn line_of(lines: &[PairedLine<'_>], finding: &FindingView) -> Option<usize> {
    let number = finding.line?;
    let after = lines.iter().position(|line| line.line.new == Some(number));
    let is_removed = |line: &PairedLine<'_>| line.line.kind == LineKind::Removed && line.line.old == Some(number);
    let before = lines.iter().position(is_removed);
    match (after, before) {
        (Some(after), Some(before)) => {
            let quotes = |index: usize| is_quoted(lines[index].line.text, finding.evidence.as_deref());
            Some(if quotes(before) && !quotes(after) { before } else { after })
        }
        (after, before) => after.or(before),
    }
}

/// True when the first line of a quote is in a line.
fn is_quoted(line: &[u8], evidence: Option<&str>) -> bool {
    let quote = evidence.and_then(|evidence| evidence.lines().map(str::trim).find(|line| !line.is_empty()));
    quote.is_some_and(|quote| String::from_utf8_lossy(line).contains(quote))
}

#[cfg(test)]
mod tests {
    use tollgate_core::board::Remark;
    use tollgate_core::diff::parse;
    use tollgate_core::diff::rows::DiffBody;
    use tollgate_core::finding::{Category, Severity};

    use super::*;

    fn finding(file: Option<&str>, line: Option<u32>, evidence: &str) -> FindingView {
        FindingView::of(&Remark {
            category: Category::Logic,
            severity: Severity::High,
            title: "t".to_owned(),
            description: String::new(),
            suggestion: None,
            file: file.map(str::to_owned),
            line,
            evidence: Some(evidence.to_owned()),
            identity: None,
        })
    }

    const DIFF: &[u8] = b"diff --git a/old.rs b/new.rs\nsimilarity index 90%\nrename from old.rs\nrename to new.rs\n\
                          --- a/old.rs\n+++ b/new.rs\n@@ -3,3 +3,2 @@\n keep\n-gone one\n-gone two\n+came\n";

    #[track_caller]
    fn check(line: Option<u32>, evidence: &str, expected: Option<&str>) {
        let (files, _) = parse(DIFF.to_vec());
        let body = DiffBody::new(&files[0], None);
        let found = line_of(&body.lines.lines, &finding(Some("new.rs"), line, evidence));
        let text = found.map(|index| String::from_utf8_lossy(body.lines.lines[index].line.text).into_owned());
        assert_eq!(text.as_deref(), expected);
    }

    #[test]
    fn a_finding_stands_under_its_line() {
        check(Some(3), "keep", Some("keep"));
        check(Some(4), "came", Some("came"));
        check(Some(4), "nowhere", Some("came"));
        check(Some(4), "gone one", Some("gone one"));
        check(Some(5), "", Some("gone two"));
        check(Some(99), "keep", None);
        check(None, "keep", None);
    }

    #[test]
    fn no_finding_is_lost() {
        let (files, _) = parse(DIFF.to_vec());
        let mut findings = Findings::new(vec![
            finding(Some("new.rs"), Some(4), ""),
            finding(Some("old.rs"), Some(9), ""),
            finding(Some("other.rs"), Some(1), ""),
            finding(None, None, ""),
        ]);
        assert_eq!(findings.take(&files[0]).len(), 2);
        assert_eq!(findings.take(&files[0]).len(), 0);
        assert_eq!(findings.rest().len(), 2);
    }
}
