//! Findings, diffs and reviews for tests.

use serde_json::Map;

use crate::coverage::{Coverage, CoveredHunk, HunkStatus};
use crate::diff::{self, FileDiff};
use crate::finding::{Category, Finding, FindingId, LineRange, Location, Origin, Severity, Side, Summary};
use crate::path::FilePath;
use crate::review::Review;
use crate::sha::Sha;

/// A finding at `file:line`, `file:first-last`, or `file:line:LEFT`.
pub(crate) fn finding(place: &str, severity: &str, evidence: &str) -> Finding {
    let mut parts = place.split(':');
    let file = FilePath::parse(parts.next().unwrap()).unwrap();
    let lines = parts.next().unwrap();
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    let lines = LineRange::new(start.parse().unwrap(), end.parse().unwrap()).unwrap();
    let side = if parts.next() == Some("LEFT") { Side::Left } else { Side::Right };
    Finding {
        id: FindingId::at(0),
        severity: Severity::parse_exact(severity).unwrap(),
        category: Category::Security,
        location: Location { file, lines, side },
        summary: Summary::parse("Input is run as code").unwrap(),
        reason: Some("Whoever sends the request runs what they like.".to_owned()),
        evidence: evidence.to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin { reviewer: Some("rules".to_owned()), rule: Some("js-eval".to_owned()), rule_url: None },
        extra: Map::new(),
    }
}

/// The files of a diff.
pub(super) fn files(diff: &str) -> Vec<FileDiff> {
    let (files, refused) = diff::parse(diff.as_bytes().to_vec());
    assert!(refused.is_empty(), "{refused:?}");
    files
}

/// A complete review of these findings, which are numbered anew.
pub(super) fn review(mut findings: Vec<Finding>) -> Review {
    for (index, finding) in findings.iter_mut().enumerate() {
        finding.id = FindingId::at(index);
    }
    Review {
        title: None,
        reviewed: head(),
        base: Sha::parse(&"b".repeat(40)).unwrap(),
        compared: None,
        files_reviewed: Vec::new(),
        findings,
        withheld: Vec::new(),
        coverage: Some(Coverage { hunks: vec![covered("a.js", HunkStatus::Reviewed)] }),
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra: Map::new(),
    }
}

/// A hunk of a file and what became of it.
pub(super) fn covered(file: &str, status: HunkStatus) -> CoveredHunk {
    CoveredHunk { file: FilePath::parse(file).unwrap(), lines: LineRange::new(1, 9), status }
}

/// The commit under review.
pub(super) fn head() -> Sha {
    Sha::parse(&"a".repeat(40)).unwrap()
}
