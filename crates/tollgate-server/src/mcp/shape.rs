//! Output types that tools share: findings and coverage.
//!
//! ```json
//! { "id": "F001", "fingerprint": "fp-4d1b0c2f9a6e7385", "severity": "High", "category": "Security",
//!   "file": "src/render.js", "line": 3, "title": "Input is evaluated as code", "reason": "…", "evidence": "eval(x)" }
//! ```

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::coverage::{self, Coverage};
use tollgate_core::finding::{self, Severity as FindingSeverity, Side};
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate::Gate;
use tollgate_core::report::head_state::HeadState;
use tollgate_core::review::{Review, WithheldFinding};
use tollgate_engine::same_variants;

use super::answer::cut;

/// The most findings, or unreviewed hunks, in one answer.
pub(super) const MAX_LISTED: usize = 100;
/// The longest text of a finding, in bytes.
const MAX_TEXT: usize = 4 * 1024;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub(super) enum Severity {
    Praise,
    Nit,
    Low,
    Medium,
    High,
    Critical,
}

same_variants!(FindingSeverity => Severity: Praise Nit Low Medium High Critical);

/// One remark about the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Finding {
    /// Its number in this review: F001.
    pub(super) id: String,
    /// Its key across reviews: fp- and 16 hex digits.
    pub(super) fingerprint: String,
    /// How much it matters; Critical and High block.
    pub(super) severity: Severity,
    /// Category: Security, Logic, Test, …
    pub(super) category: String,
    /// The file, from the top of the repository.
    pub(super) file: String,
    /// The first line.
    pub(super) line: u32,
    /// The last line, when there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) end_line: Option<u32>,
    /// True when the lines are those before the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub(super) is_removed_code: bool,
    /// The defect, in one line.
    pub(super) title: String,
    /// Why it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// The code that shows it, secrets masked.
    pub(super) evidence: String,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
    /// Who says so: `rules`, or a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reviewer: Option<String>,
    /// The rule; `tollgate rules show ID` explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<String>,
    /// Whether it is new since the last review; left out when there was none to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_new: Option<bool>,
    /// Why it does not count, for one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) withheld: Option<String>,
    /// The proposed dismissal of one that counts until a person confirms that: the agent and its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) proposed_dismissal: Option<String>,
}

impl From<&finding::Finding> for Finding {
    fn from(finding: &finding::Finding) -> Self {
        let lines = finding.location.lines;
        let text = |text: &String| cut(text, MAX_TEXT);
        Self {
            id: finding.id.to_string(),
            fingerprint: Fingerprint::of(finding).to_string(),
            severity: finding.severity.into(),
            category: finding.category.to_string(),
            file: finding.location.file.as_str().to_owned(),
            line: lines.start(),
            end_line: (lines.end() != lines.start()).then(|| lines.end()),
            is_removed_code: finding.location.side == Side::Left,
            title: finding.summary.as_str().to_owned(),
            reason: finding.reason.as_ref().map(text),
            evidence: cut(&finding.evidence, MAX_TEXT),
            fix: finding.suggestion.as_ref().map(text),
            reviewer: finding.origin.reviewer.clone(),
            rule: finding.origin.rule.clone(),
            is_new: None,
            withheld: None,
            proposed_dismissal: None,
        }
    }
}

impl From<&WithheldFinding> for Finding {
    fn from(withheld: &WithheldFinding) -> Self {
        let why = cut(&withheld.why.to_string(), MAX_TEXT);
        Self { withheld: Some(why), ..Self::from(&withheld.finding) }
    }
}

impl Finding {
    /// `F001 High/Security src/render.js:3: Input is evaluated as code`, then reason and fix.
    pub(super) fn in_words(&self) -> String {
        let Self { id, severity, category, file, line, title, fingerprint, .. } = self;
        let new = if self.is_new == Some(true) { " [new]" } else { "" };
        let mut words = format!("{id} {severity:?}/{category} {file}:{line}: {title}{new} ({fingerprint})");
        for (name, text) in [
            ("", &self.reason),
            ("fix: ", &self.fix),
            ("does not count: ", &self.withheld),
            ("dismissal proposed, not confirmed: ", &self.proposed_dismissal),
        ] {
            if let Some(text) = text {
                let _ = write!(words, "\n  {name}{}", text.replace('\n', "\n  "));
            }
        }
        words
    }
}

/// Coverage, in hunks of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Looked {
    /// Hunks that were reviewed.
    pub(super) reviewed: usize,
    /// Hunks that a rule leaves out: generated, binary, filtered.
    pub(super) skipped: usize,
    /// Hunks that should have been reviewed and were not.
    pub(super) not_reviewed: usize,
}

/// A hunk that was not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Missed {
    /// The file.
    pub(super) file: String,
    /// The lines; left out for the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lines: Option<String>,
    /// Why.
    pub(super) why: String,
}

/// A review, as far as all tools tell it alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Told {
    /// APPROVED, COMMENTED or CHANGES_REQUESTED, computed from the findings.
    pub(super) verdict: String,
    /// The state of the reviewed commit in one line, the same on every surface: `Needs changes -- 1 major finding …`.
    pub(super) state: String,
    /// The two states that were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compared: Option<String>,
    /// The commit that was reviewed, together with uncommitted changes.
    pub(super) head: String,
    /// The commit it was compared with.
    pub(super) base: String,
    /// How many findings count.
    pub(super) n_findings: usize,
    /// Blockers that do not count because a comment, the configuration or a dismissal suppresses them, each with place,
    /// person and reason, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) suppressed_blockers: Vec<String>,
    /// Coverage; left out when the reviewer does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) coverage: Option<Looked>,
    /// What should have been reviewed and was not, the first 100 places. A change is never plainly approved with any.
    pub(super) not_reviewed: Vec<Missed>,
    /// What else is to be known.
    pub(super) notes: Vec<String>,
}

fn suppressed(held: &WithheldFinding) -> String {
    let finding = &held.finding;
    let (file, line) = (&finding.location.file, finding.location.lines.start());
    let words = format!("{} {}: {file}:{line}: {}: {}", finding.id, finding.severity, finding.summary, held.why);
    cut(&words, MAX_TEXT)
}

impl Told {
    /// Describes a review with the decision of its gate.
    pub(super) fn new(review: &Review, gate: Option<Gate>) -> Self {
        let hunks = review.coverage.iter().flat_map(|coverage| &coverage.hunks);
        let missed = hunks.filter_map(|hunk| match &hunk.status {
            coverage::HunkStatus::NotReviewed(why) => Some(Missed {
                file: hunk.file.as_str().to_owned(),
                lines: hunk.lines.map(|lines| lines.to_string()),
                why: cut(why, MAX_TEXT),
            }),
            coverage::HunkStatus::Reviewed | coverage::HunkStatus::Skipped(_) => None,
        });
        let notes = review.notes.iter().flat_map(|notes| notes.lines());
        Self {
            verdict: review.verdict().as_str().to_owned(),
            state: cut(&HeadState::stored(review, gate).plain(), MAX_TEXT),
            compared: review.compared.clone(),
            head: review.reviewed.to_string(),
            base: review.base.to_string(),
            n_findings: review.findings.len(),
            suppressed_blockers: review.suppressed_blockers().take(MAX_LISTED).map(suppressed).collect(),
            coverage: review.coverage.as_ref().map(looked),
            not_reviewed: missed.take(MAX_LISTED).collect(),
            notes: notes.take(MAX_LISTED).map(|note| cut(note, MAX_TEXT)).collect(),
        }
    }
}

fn looked(coverage: &Coverage) -> Looked {
    let count = coverage.count();
    Looked { reviewed: count.reviewed, skipped: count.skipped, not_reviewed: count.not_reviewed }
}

impl Told {
    /// The text after the first line of an answer.
    pub(super) fn in_words(&self, findings: &[Finding]) -> String {
        let mut words = String::new();
        if let Some(compared) = &self.compared {
            let _ = writeln!(words, "compared: {compared}");
        }
        for finding in findings {
            let _ = writeln!(words, "{}", finding.in_words());
        }
        if self.n_findings > findings.len() {
            let _ = writeln!(words, "… {} more; `list_findings` gives them", self.n_findings - findings.len());
        }
        for blocker in &self.suppressed_blockers {
            let _ = writeln!(words, "blocker that does not count: {blocker}");
        }
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for missed in &self.not_reviewed {
            let lines = missed.lines.as_ref().map(|lines| format!(":{lines}")).unwrap_or_default();
            let place = format!("{}{lines}", missed.file);
            match reasons.iter_mut().find(|(why, _)| *why == missed.why) {
                Some((_, places)) => places.push(place),
                None => reasons.push((&missed.why, vec![place])),
            }
        }
        for (why, places) in reasons {
            let _ = writeln!(words, "not reviewed: {}: {why}", places.join(", "));
        }
        for note in &self.notes {
            let _ = writeln!(words, "note: {note}");
        }
        words
    }
}
