//! A match of a rule, before it becomes a finding of a review.

use serde::{Deserialize, Serialize};
use serde_json::Map;
use tollgate_core::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use tollgate_core::path::FilePath;

use crate::catalog::Rule;

/// The name of the embedded reviewer in findings.
pub const REVIEWER: &str = "rules";

/// A match of a rule in a file.
///
/// It crosses the process boundary between the scanning child and the review, hence the plain types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The rule id.
    pub rule: String,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line.
    pub line_end: u32,
    /// True when the line numbers refer to the file before the change.
    pub left: bool,
    /// The matched code.
    pub evidence: String,
    /// A replacement of whole lines: first line, last line, text.
    pub fix: Option<(u32, u32, String)>,
    /// A more precise message than the rule's own.
    pub message: Option<String>,
}

/// The parts of a finding that come from its rule, embedded or custom.
#[derive(Debug, Clone, Copy)]
pub struct RuleMetadata<'a> {
    /// The severity of the finding.
    pub severity: Severity,
    /// The category of the finding.
    pub category: Category,
    /// The defect, in one line.
    pub message: &'a str,
    /// The consequence and the remedy.
    pub why: Option<&'a str>,
    /// The URL of the rule's documentation.
    pub url: Option<&'a str>,
}

impl<'a> From<&'a Rule> for RuleMetadata<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self { severity: rule.severity, category: rule.category, message: rule.message, why: Some(rule.why), url: None }
    }
}

impl Hit {
    /// Converts the hit to a finding. The id is assigned when the review is assembled.
    #[must_use]
    pub fn into_finding(self, file: FilePath, metadata: RuleMetadata<'_>) -> Finding {
        let (summary, full) = Summary::shorten(self.message.as_deref().unwrap_or(metadata.message));
        let reason = match (full, metadata.why) {
            (Some(full), Some(why)) => Some(format!("{full}\n\n{why}")),
            (Some(text), None) => Some(text),
            (None, why) => why.map(str::to_owned),
        };
        let reason = reason.or_else(|| metadata.severity.blocks().then(|| summary.as_str().to_owned()));
        let lines = LineRange::new(self.line_start, self.line_end).unwrap_or(LineRange::line(self.line_start));
        let fix = self
            .fix
            .and_then(|(start, end, replacement)| LineRange::new(start, end).map(|lines| Fix { lines, replacement }));
        Finding {
            id: FindingId::at(0),
            severity: metadata.severity,
            category: metadata.category,
            location: Location { file, lines, side: if self.left { Side::Left } else { Side::Right } },
            summary,
            reason,
            evidence: self.evidence,
            suggestion: fix.as_ref().map(|fix| fix.replacement.clone()),
            fix,
            origin: Origin {
                reviewer: Some(REVIEWER.to_owned()),
                rule: Some(self.rule),
                rule_url: metadata.url.map(str::to_owned),
            },
            extra: Map::new(),
        }
    }
}
