//! The JSON shape of a review, version 1.
//!
//! These types mirror the domain for writing and for the schema; `check` reads. A released shape never changes: a new one
//! would be `v2`.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Serialize;

use crate::coverage::{self, HunkStatus};
use crate::finding::{self, Category, LineRange, Side};
use crate::fingerprint::Fingerprint;
use crate::gate::Gate;
use crate::report::json::{Form, Options};
use crate::review::{self, Suppressor, Withheld};

/// A finished review of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Review<'a> {
    /// The commit that was reviewed.
    pub reviewed_sha: &'a str,
    /// The merge base it was compared with.
    pub base_sha: &'a str,
    /// The reviewed files.
    pub files_reviewed: Vec<&'a str>,
    /// The findings that count, numbered in order.
    pub findings: Vec<Finding<'a>>,
    /// Follows from the findings and the coverage.
    pub verdict: &'static str,
    /// How many blockers there are of each kind.
    pub blocking_count: BlockingCount,
    /// True when the change has outgrown this review.
    pub re_review_required: bool,
    /// Notes of the reviewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer_notes: Option<&'a str>,
    /// The title of the change or the name of its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_title: Option<&'a str>,
    /// The compared range, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_compared: Option<&'a str>,
    /// The coverage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_coverage: Option<Coverage<'a>>,
    /// Withheld findings and their reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_withheld: Vec<WithheldFinding<'a>>,
    /// The answers of reviewers that the findings do not settle; with one, the gate is at best `partial`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_doubts: Vec<Doubt<'a>>,
    /// The decision of the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_gate: Option<&'static str>,
}

/// How many blockers there are of each kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BlockingCount {
    /// Findings of severity Critical.
    pub critical: usize,
    /// Findings of severity High.
    pub high: usize,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding<'a> {
    /// Its id in the review: F001, F002, …
    pub id: String,
    /// Its severity.
    pub severity: &'static str,
    /// Its category.
    pub category: &'static str,
    /// Its location.
    pub location: Location<'a>,
    /// The defect, in one line of at most 80 characters.
    pub summary: &'a str,
    /// The consequence; required for Critical and High.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The code or observation that shows it.
    pub evidence: &'a str,
    /// The suggested code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<&'a str>,
    /// The rule that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_rule: Option<&'a str>,
    /// Where the rule is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_rule_url: Option<&'a str>,
    /// The reviewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_reviewer: Option<&'a str>,
    /// The canonical category, when it is not one of the eight of `category`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_category: Option<&'static str>,
    /// A replacement of whole lines, ready to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_fix: Option<Fix<'a>>,
    /// The fingerprint across reviews.
    pub x_fingerprint: String,
}

/// The location of a finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Location<'a> {
    /// Path from the root of the repository, with forward slashes.
    pub file: &'a str,
    /// The first line, counted from 1.
    pub line_start: NonZeroU32,
    /// The last line, left out for a single line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_end: Option<NonZeroU32>,
    /// LEFT counts lines before the change, RIGHT (the default) after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<&'static str>,
}

/// A replacement of whole lines.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Fix<'a> {
    /// The first line to replace.
    pub line_start: NonZeroU32,
    /// The last line to replace, left out for a single line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_end: Option<NonZeroU32>,
    /// The new lines, without the last line break; empty to delete the lines.
    pub replacement: &'a str,
}

/// The coverage of a review.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Coverage<'a> {
    /// True when no hunk was left unreviewed.
    pub complete: bool,
    /// Reviewed hunks.
    pub reviewed: usize,
    /// Hunks skipped by a rule.
    pub skipped: usize,
    /// Hunks that were not reviewed.
    pub not_reviewed: usize,
    /// One entry per hunk, or per file that has none.
    pub hunks: Vec<Covered<'a>>,
}

/// The coverage of a hunk, or of a file without hunks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Covered<'a> {
    /// The file.
    pub file: &'a str,
    /// The lines of the hunk, `12` or `12-15`; left out for a file without hunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// Its state.
    pub state: &'static str,
    /// Why it was skipped or not reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

/// A withheld finding and the reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WithheldFinding<'a> {
    /// The kind of reason.
    pub why: &'static str,
    /// The suppression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'a str>,
    /// The reason that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The kind of the suppression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The person who dismissed the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<&'a str>,
    /// When the finding was dismissed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<&'a str>,
    /// Whether the dismissal holds for this change or for the whole repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// The reviewers that agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voices: Option<usize>,
    /// The required number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
    /// The finding.
    pub finding: Finding<'a>,
}

/// An answer of a reviewer that the findings do not settle.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Doubt<'a> {
    /// `rejection` when the change was rejected without a verified finding, `answer` when part of the answer was lost.
    pub kind: &'static str,
    /// The model or agent.
    pub reviewer: &'a str,
    /// The reason, for people.
    pub reason: &'a str,
}

/// Optional fields that unknown fields must not set.
pub(super) const KNOWN: [&str; 14] = [
    "reason",
    "suggestion",
    "x_rule",
    "x_rule_url",
    "x_reviewer",
    "x_category",
    "x_fix",
    "x_fingerprint",
    "reviewer_notes",
    "x_title",
    "x_compared",
    "x_coverage",
    "x_withheld",
    "x_doubts",
];

/// The names of [`Withheld`], in the order of its variants.
pub(super) const WHY: [&str; 7] =
    ["suppressed", "outside-change", "unverified", "below-floor", "ignored-area", "held-back", "no-consensus"];

/// The names of [`Suppressor`], in the order of its variants.
pub(super) const KIND: [&str; 4] = ["comment", "configuration", "dismissal", "tool"];

/// The scopes of a dismissal.
pub(super) const SCOPE: [&str; 2] = ["change", "repository"];

/// The names of [`HunkStatus`], in the order of its variants.
pub(super) const STATE: [&str; 3] = ["reviewed", "skipped", "not_reviewed"];

/// The categories that `category` knows.
pub(super) fn categories() -> impl Iterator<Item = Category> {
    Category::ALL.into_iter().filter(|category| category.in_schema() == *category)
}

impl<'a> Review<'a> {
    /// Mirrors a review. Fields of other tools are not part of it.
    pub(super) fn new(review: &'a review::Review, options: Options) -> Self {
        let blocking = review.blocking_count();
        Self {
            reviewed_sha: review.reviewed.as_str(),
            base_sha: review.base.as_str(),
            files_reviewed: review.files_reviewed.iter().map(|file| file.as_str()).collect(),
            findings: review.findings.iter().map(|finding| Finding::new(finding, options.form)).collect(),
            verdict: review.verdict().as_str(),
            blocking_count: BlockingCount { critical: blocking.critical, high: blocking.high },
            re_review_required: review.re_review_required,
            reviewer_notes: review.notes.as_deref(),
            x_title: review.title.as_deref(),
            x_compared: review.compared.as_deref(),
            x_coverage: review.coverage.as_ref().map(Coverage::new),
            x_withheld: review.withheld.iter().map(|withheld| WithheldFinding::new(withheld, options.form)).collect(),
            x_doubts: review.doubts.iter().map(Doubt::new).collect(),
            x_gate: options.gate.map(Gate::as_str),
        }
    }
}

impl<'a> Finding<'a> {
    /// Mirrors a finding. Fields of other tools are not part of it.
    pub(super) fn new(finding: &'a finding::Finding, form: Form) -> Self {
        let schema_category = finding.category.in_schema();
        Self {
            id: finding.id.to_string(),
            severity: finding.severity.as_str(),
            category: schema_category.as_str(),
            location: Location::new(&finding.location, form),
            summary: finding.summary.as_str(),
            reason: finding.reason.as_deref(),
            evidence: &finding.evidence,
            suggestion: finding.suggestion.as_deref(),
            x_rule: finding.origin.rule.as_deref(),
            x_rule_url: finding.origin.rule_url.as_deref(),
            x_reviewer: finding.origin.reviewer.as_deref(),
            x_category: (schema_category != finding.category).then(|| finding.category.as_str()),
            x_fix: finding.fix.as_ref().map(|fix| Fix {
                line_start: first(fix.lines),
                line_end: last(fix.lines),
                replacement: &fix.replacement,
            }),
            x_fingerprint: Fingerprint::of(finding).to_string(),
        }
    }
}

impl<'a> Location<'a> {
    fn new(location: &'a finding::Location, form: Form) -> Self {
        let side = match (location.side, form) {
            (Side::Right, Form::Short) => None,
            (side, _) => Some(side.as_str()),
        };
        let lines = location.lines;
        Self { file: location.file.as_str(), line_start: first(lines), line_end: last(lines), side }
    }
}

impl<'a> Coverage<'a> {
    fn new(coverage: &'a coverage::Coverage) -> Self {
        let count = coverage.count();
        let hunks = coverage.hunks.iter().map(|covered| {
            let (state, reason) = match &covered.status {
                HunkStatus::Reviewed => (STATE[0], None),
                HunkStatus::Skipped(reason) => (STATE[1], Some(reason.as_str())),
                HunkStatus::NotReviewed(reason) => (STATE[2], Some(reason.as_str())),
            };
            Covered { file: covered.file.as_str(), lines: covered.lines.map(|lines| lines.to_string()), state, reason }
        });
        Self {
            complete: coverage.is_complete(),
            reviewed: count.reviewed,
            skipped: count.skipped,
            not_reviewed: count.not_reviewed,
            hunks: hunks.collect(),
        }
    }
}

impl<'a> WithheldFinding<'a> {
    fn new(withheld: &'a review::WithheldFinding, form: Form) -> Self {
        let (by, reason) = match &withheld.why {
            Withheld::Suppressed { by, reason, .. } => (Some(by.as_str()), reason.as_deref()),
            Withheld::OutsideChange | Withheld::BelowFloor | Withheld::NoConsensus { .. } => (None, None),
            Withheld::Unverified(reason) | Withheld::HeldBack(reason) => (None, Some(reason.as_str())),
            Withheld::IgnoredArea(area) => (None, Some(area.as_str())),
        };
        let (voices, needed) = match withheld.why {
            Withheld::NoConsensus { voices, needed } => (Some(voices), Some(needed)),
            _ => (None, None),
        };
        let suppressor = match &withheld.why {
            Withheld::Suppressed { kind, .. } => Some(kind),
            _ => None,
        };
        let (who, at, scope) = match suppressor {
            Some(Suppressor::Dismissal { who, at, everywhere }) => {
                (who.as_deref(), at.as_deref(), Some(SCOPE[usize::from(*everywhere)]))
            }
            _ => (None, None, None),
        };
        Self {
            why: withheld.why.as_str(),
            by,
            reason,
            kind: suppressor.map(Suppressor::as_str),
            who,
            at,
            scope,
            voices,
            needed,
            finding: Finding::new(&withheld.finding, form),
        }
    }
}

impl<'a> Doubt<'a> {
    fn new(doubt: &'a review::Doubt) -> Self {
        Self { kind: doubt.kind.as_str(), reviewer: &doubt.reviewer, reason: &doubt.reason }
    }
}

fn first(lines: LineRange) -> NonZeroU32 {
    NonZeroU32::new(lines.start()).unwrap_or(NonZeroU32::MIN)
}

fn last(lines: LineRange) -> Option<NonZeroU32> {
    (lines.end() != lines.start()).then(|| NonZeroU32::new(lines.end())).flatten()
}
