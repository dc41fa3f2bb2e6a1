//! The result of one review of a feature.

use std::collections::HashSet;

use crate::board::StepId;
use crate::finding::{Category, Finding, Severity};
use crate::fingerprint::Fingerprint;
use crate::names::names;

/// How a review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The feature passes the gate.
    Approved,
    /// The feature goes back to the agent.
    Rejected,
    /// The reviewer gave no valid answer.
    Failed,
}

names!(Outcome {
    Approved => "approved",
    Rejected => "rejected",
    Failed => "failed",
});

/// One finished review of a feature: implementation N, commit N, review N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iteration {
    /// The iteration, counted from 1.
    pub number: u32,
    /// How the review ended.
    pub outcome: Outcome,
    /// The time of the review, as `2026-01-09T14:22:00.000Z`.
    pub reviewed_at: String,
    /// The model that reviewed; `tollgate/offline` when only rules did.
    pub model: String,
    /// The provider of the model, e.g. `anthropic`; `tollgate` when only rules did.
    pub provider: String,
    /// The commit that was reviewed; `None` when there was nothing to commit.
    pub commit: Option<String>,
    /// The commit it was compared with.
    pub base: Option<String>,
    /// The findings that count, worst first.
    pub findings: Vec<Remark>,
    /// New findings on lines that the last review passed; they do not count.
    pub late: Vec<Remark>,
    /// A summary of one or two sentences.
    pub summary: String,
    /// The reason of a rejection or of a failure.
    pub reason: Option<String>,
    /// The acceptance criteria and their answers.
    pub compliance: Compliance,
    /// Notes, e.g. on files that were not reviewed or on an overruled approval.
    pub notes: Vec<String>,
    /// True when the branch moved during the review, so that its outcome is void.
    pub outdated: bool,
    /// The pipeline step whose changes were reviewed, unless it was an implementation.
    pub after_step: Option<StepId>,
    /// A manual approval against the review.
    pub overridden: Option<Override>,
    /// The note to the agent of the person who sent the feature back.
    pub note: Option<String>,
}

impl Iteration {
    /// Counts findings that are new since an earlier review, and findings of it that are gone.
    #[must_use]
    pub fn progress_since(&self, prior: &Self) -> (usize, usize) {
        let keys = |iteration: &Self| iteration.findings.iter().map(Remark::key).collect::<HashSet<String>>();
        let (before, now) = (keys(prior), keys(self));
        let missing = |remarks: &[Remark], keys: &HashSet<String>| {
            remarks.iter().filter(|remark| !keys.contains(&remark.key())).count()
        };
        (missing(&self.findings, &before), missing(&prior.findings, &now))
    }
}

/// A manual approval of a feature against its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The name of the person.
    pub who: String,
    /// The reason that the person gave.
    pub reason: String,
    /// The time, as `2026-01-09T14:22:00.000Z`.
    pub at: String,
}

/// The answers to the acceptance criteria, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compliance {
    /// Each criterion with its answer.
    pub criteria: Vec<(Criterion, Met)>,
}

/// An acceptance criterion from the description or the specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// Its id in prompts and answers: `C1`.
    pub id: String,
    /// The text of the author.
    pub text: String,
}

/// The answer to a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Met {
    /// The criterion is met.
    Yes {
        /// The location that shows it.
        evidence: String,
    },
    /// The criterion is not met.
    No {
        /// The missing part.
        evidence: String,
    },
    /// The reviewer gave no answer, or could not tell.
    Unclear {
        /// The reason, if the reviewer gave one.
        evidence: Option<String>,
    },
}

/// A finding in the shape of the board's files and events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Its category.
    pub category: Category,
    /// Its severity.
    pub severity: Severity,
    /// A short title.
    pub title: String,
    /// The defect and its consequence.
    pub description: String,
    /// The suggested fix.
    pub suggestion: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The quoted code.
    pub evidence: Option<String>,
    /// Its id and fingerprint; `None` when it does not come from a finding.
    pub identity: Option<Identity>,
}

/// The identity of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its id within the review, e.g. `F003`.
    pub id: String,
    /// Its fingerprint across reviews.
    pub fingerprint: String,
}

impl Remark {
    /// Converts a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        Self {
            category: finding.category,
            severity: finding.severity,
            title: finding.summary.as_str().to_owned(),
            description: finding.reason.clone().unwrap_or_default(),
            suggestion: finding.suggestion.clone(),
            file: Some(finding.location.file.as_str().to_owned()),
            line: Some(finding.location.lines.start()),
            evidence: (!finding.evidence.is_empty()).then(|| finding.evidence.clone()),
            identity: Some(Identity { id: finding.id.to_string(), fingerprint: Fingerprint::of(finding).to_string() }),
        }
    }

    /// The key across reviews: its fingerprint, else file and title.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.identity {
            Some(identity) => identity.fingerprint.clone(),
            None => format!("{}\n{}", self.file.as_deref().unwrap_or_default(), self.title),
        }
    }

    /// The name of its severity in files and events.
    #[must_use]
    pub fn severity_word(&self) -> &'static str {
        match self.severity {
            Severity::Critical | Severity::High => "error",
            Severity::Medium => "warning",
            Severity::Low | Severity::Nit | Severity::Praise => "info",
        }
    }

    /// The name of its category in files and events.
    #[must_use]
    pub fn category_word(&self) -> &'static str {
        match self.category {
            Category::Compliance => "compliance",
            Category::Architecture => "architecture",
            Category::Test => "test",
            Category::Perf => "performance",
            Category::Security
            | Category::Logic
            | Category::Error
            | Category::Type
            | Category::Style
            | Category::Doc => "code",
        }
    }
}
