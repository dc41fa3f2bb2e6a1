//! What a rule says of a place, before it is a finding of a review.

use serde::{Deserialize, Serialize};
use serde_json::Map;
use tollgate_core::finding::{Category, Finding, FindingId, Fix, LineRange, Location, Origin, Severity, Side, Summary};
use tollgate_core::path::FilePath;

use crate::catalog::Rule;

/// The name of the embedded reviewer in findings.
pub const REVIEWER: &str = "rules";

/// What a rule says of a place.
///
/// It crosses the process boundary between a scanning child and the review, hence the plain types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The rule's name.
    pub rule: String,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line.
    pub line_end: u32,
    /// True when the lines count in the file before the change.
    pub left: bool,
    /// The code that shows it.
    pub evidence: String,
    /// A replacement of whole lines: first line, last line, text.
    pub fix: Option<(u32, u32, String)>,
    /// Instead of the rule's message, when the place makes it more precise.
    pub message: Option<String>,
}

/// What a finding takes from its rule, be it embedded or a user's.
#[derive(Debug, Clone, Copy)]
pub struct RuleMetadata<'a> {
    /// How much it matters.
    pub severity: Severity,
    /// What it is about.
    pub category: Category,
    /// What is wrong, in one line.
    pub message: &'a str,
    /// Why it matters.
    pub why: Option<&'a str>,
    /// Where the rule is explained.
    pub url: Option<&'a str>,
}

impl<'a> From<&'a Rule> for RuleMetadata<'a> {
    fn from(rule: &'a Rule) -> Self {
        Self { severity: rule.severity, category: rule.category, message: rule.message, why: Some(rule.why), url: None }
    }
}

impl Hit {
    /// The hit as a finding. The id is set when the review is put together.
    #[must_use]
    pub fn into_finding(self, file: FilePath, said: RuleMetadata<'_>) -> Finding {
        let (summary, full) = Summary::shorten(self.message.as_deref().unwrap_or(said.message));
        let reason = match (full, said.why) {
            (Some(full), Some(why)) => Some(format!("{full}\n\n{why}")),
            (Some(text), None) => Some(text),
            (None, why) => why.map(str::to_owned),
        };
        let reason = reason.or_else(|| said.severity.blocks().then(|| summary.as_str().to_owned()));
        let lines = LineRange::new(self.line_start, self.line_end).unwrap_or(LineRange::line(self.line_start));
        let fix = self
            .fix
            .and_then(|(start, end, replacement)| LineRange::new(start, end).map(|lines| Fix { lines, replacement }));
        Finding {
            id: FindingId::at(0),
            severity: said.severity,
            category: said.category,
            location: Location { file, lines, side: if self.left { Side::Left } else { Side::Right } },
            summary,
            reason,
            evidence: self.evidence,
            suggestion: fix.as_ref().map(|fix| fix.replacement.clone()),
            fix,
            origin: Origin {
                reviewer: Some(REVIEWER.to_owned()),
                rule: Some(self.rule),
                rule_url: said.url.map(str::to_owned),
            },
            extra: Map::new(),
        }
    }
}
