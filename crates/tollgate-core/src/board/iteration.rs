//! What one review of a feature said.

use std::collections::HashSet;

use crate::board::StepId;
use crate::finding::{Category, Finding, Severity};
use crate::fingerprint::Fingerprint;

/// How a review ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The feature may go on.
    Approved,
    /// It goes back.
    Rejected,
    /// There is no answer that could be believed.
    Failed,
}

impl Outcome {
    /// The word in files and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Approved, Self::Rejected, Self::Failed].into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// One finished review of a feature: implementation N, commit N, review N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iteration {
    /// N, from 1.
    pub number: u32,
    /// How the review ended.
    pub outcome: Outcome,
    /// When, as `2026-01-09T14:22:00.000Z`.
    pub reviewed_at: String,
    /// The model that reviewed; `tollgate/offline` when only rules did.
    pub model: String,
    /// Who provides it, e.g. `anthropic`; `tollgate` when only rules did.
    pub provider: String,
    /// The commit that was reviewed; `None` when there was nothing to commit.
    pub commit: Option<String>,
    /// What it was compared with.
    pub base: Option<String>,
    /// What counts, worst first.
    pub findings: Vec<Remark>,
    /// What was said too late to reject: new remarks on lines that the last review passed.
    pub late: Vec<Remark>,
    /// One or two sentences.
    pub summary: String,
    /// What must be fixed, when it was rejected; why there is no answer, when it failed.
    pub reason: Option<String>,
    /// What was asked for, and whether it is there.
    pub compliance: Compliance,
    /// What else is to be known: files nobody looked at, an approval that was overruled.
    pub notes: Vec<String>,
    /// True when the branch moved on while it was reviewed, so that nothing follows from it.
    pub outdated: bool,
    /// The step whose changes were reviewed, when it was not an agent's implementation.
    pub after_step: Option<StepId>,
    /// A person let the feature pass all the same.
    pub overridden: Option<Override>,
    /// What the person who sent the feature back with this review said to the agent.
    pub note: Option<String>,
}

impl Iteration {
    /// How many findings are new since an earlier review, and how many of its findings are gone.
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

/// A person let a feature pass against its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Who.
    pub who: String,
    /// Why.
    pub reason: String,
    /// When, as `2026-01-09T14:22:00.000Z`.
    pub at: String,
}

/// Whether what was asked for is there. In the order in which it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compliance {
    /// Each criterion with its answer.
    pub criteria: Vec<(Criterion, Met)>,
}

/// Something the description or the specification asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Criterion {
    /// Its name in questions and answers: `C1`.
    pub id: String,
    /// What is asked for, in the author's words.
    pub text: String,
}

/// Whether a criterion is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Met {
    /// It is, as the evidence shows.
    Yes {
        /// Where one sees it.
        evidence: String,
    },
    /// It is not.
    No {
        /// What is missing.
        evidence: String,
    },
    /// Nobody said, or could say.
    Unclear {
        /// Why, if somebody said.
        evidence: Option<String>,
    },
}

/// One remark of a review, as the board's files and events have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// What it is about.
    pub category: Category,
    /// How much it matters.
    pub severity: Severity,
    /// A short title.
    pub title: String,
    /// What is wrong.
    pub description: String,
    /// How to fix it.
    pub suggestion: Option<String>,
    /// The file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The code it is about.
    pub evidence: Option<String>,
    /// Its number within the review, e.g. `F003`, and its key across reviews; `None` for one that no finding stands behind.
    pub identity: Option<Identity>,
}

/// Which finding a remark is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its number within the review.
    pub id: String,
    /// Its key across reviews.
    pub fingerprint: String,
}

impl Remark {
    /// A finding as a remark.
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

    /// What it is known by across reviews: its fingerprint, or file and title when no finding stands behind it.
    #[must_use]
    pub fn key(&self) -> String {
        match &self.identity {
            Some(identity) => identity.fingerprint.clone(),
            None => format!("{}\n{}", self.file.as_deref().unwrap_or_default(), self.title),
        }
    }

    /// The word for its severity in files and events.
    #[must_use]
    pub fn severity_word(&self) -> &'static str {
        match self.severity {
            Severity::Critical | Severity::High => "error",
            Severity::Medium => "warning",
            Severity::Low | Severity::Nit | Severity::Praise => "info",
        }
    }

    /// The word for its category in files and events.
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
