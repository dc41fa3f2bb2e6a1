//! The examples of the format's description, and small reviews to start from.

use tollgate_core::finding::{Category, Finding, FindingId, LineRange, Location, Origin, Severity, Side, Summary};
use tollgate_core::path::FilePath;
use tollgate_core::report::json;
use tollgate_core::review::Review;
use tollgate_core::sha::Sha;

/// The finding that the description of the format gives as its example.
pub(crate) const FINDING: &str = include_str!("fixtures/finding.json");
/// The review that the description of the format gives as its example.
pub(crate) const REVIEW: &str = include_str!("fixtures/review.json");
/// The Markdown that the description of the format gives as its example.
pub(crate) const MARKDOWN: &str = include_str!("fixtures/review.md");
/// The review that the Markdown example shows.
pub(crate) const REVIEW_OF_MARKDOWN: &str = include_str!("fixtures/review_of_markdown.json");

/// The example review.
pub(crate) fn review() -> Review {
    json::read_strict(REVIEW_OF_MARKDOWN.as_bytes()).unwrap()
}

/// A review without findings.
pub(crate) fn clean() -> Review {
    Review {
        title: None,
        reviewed: Sha::parse(&"a".repeat(40)).unwrap(),
        base: Sha::parse(&"b".repeat(40)).unwrap(),
        compared: None,
        files_reviewed: Vec::new(),
        findings: Vec::new(),
        withheld: Vec::new(),
        coverage: None,
        doubts: Vec::new(),
        re_review_required: false,
        notes: None,
        extra: serde_json::Map::new(),
    }
}

/// A review with these findings.
pub(crate) fn with(findings: Vec<Finding>) -> Review {
    let findings =
        findings.into_iter().enumerate().map(|(index, finding)| Finding { id: FindingId::at(index), ..finding });
    Review { findings: findings.collect(), ..clean() }
}

/// A finding at `file:line`.
pub(crate) fn finding(severity: Severity, place: &str, summary: &str) -> Finding {
    let (file, line) = place.rsplit_once(':').unwrap();
    Finding {
        id: FindingId::at(0),
        severity,
        category: Category::Logic,
        location: Location {
            file: FilePath::parse(file).unwrap(),
            lines: LineRange::line(line.parse().unwrap()),
            side: Side::Right,
        },
        summary: Summary::parse(summary).unwrap(),
        reason: severity.blocks().then(|| "It matters.".to_owned()),
        evidence: "code".to_owned(),
        suggestion: None,
        fix: None,
        origin: Origin::default(),
        extra: serde_json::Map::new(),
    }
}
