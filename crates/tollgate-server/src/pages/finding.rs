//! One finding as every page shows it: the list of a review, and the diff under the line it is about.
//!
//! `web/templates/finding.html` is included where a variable `finding` of type [`FindingView`] is in scope:
//!
//! ```text
//! {% for finding in findings %}{% include "finding.html" %}{% endfor %}
//! ```
//!
//! Nothing is decided here: whether a finding is late, new or dismissed is told by whoever knows. The buttons do nothing
//! by themselves; a script finds them by `data-act` and the finding by `data-finding` and `data-fingerprint`.

use tollgate_core::board::Remark;
use tollgate_core::finding::Severity;

/// What is special about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    /// Nothing.
    #[default]
    None,
    /// The review before did not have it.
    New,
    /// It came too late to reject.
    Late,
    /// The review before had it, and this one has not.
    Resolved,
    /// A person said that it does not count.
    Dismissed {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
}

/// What a person can do to a finding here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offers {
    /// Say that it does not count.
    pub(crate) dismiss: bool,
    /// Say that it counts again.
    pub(crate) restore: bool,
    /// Copy it as a task for an agent.
    pub(crate) copy: bool,
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `src/a.rs:12`.
    pub(crate) text: String,
    /// The line in the diff, if it is there.
    pub(crate) href: Option<String>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FindingView {
    /// The `id` of its element; the same finding may stand twice on a page, so each place has its own. Empty for none.
    pub(crate) anchor: String,
    /// Its number within the review, `F003`; empty for a remark that no finding stands behind.
    pub(crate) id: String,
    /// Its key across reviews; empty for a remark that no finding stands behind.
    pub(crate) fingerprint: String,
    /// How much it matters.
    pub(crate) severity: Severity,
    /// What it is about, in one word.
    pub(crate) category: &'static str,
    pub(crate) title: String,
    /// What is wrong; may be empty.
    pub(crate) description: String,
    pub(crate) evidence: Option<String>,
    pub(crate) suggestion: Option<String>,
    /// Who said it, if that is known.
    pub(crate) reviewer: Option<String>,
    pub(crate) place: Option<Place>,
    pub(crate) mark: Mark,
    pub(crate) offers: Offers,
}

impl FindingView {
    /// A remark of a review, without anything that only a page knows.
    pub(crate) fn of(remark: &Remark) -> Self {
        let (id, fingerprint) = match &remark.identity {
            Some(identity) => (identity.id.clone(), identity.fingerprint.clone()),
            None => (String::new(), String::new()),
        };
        let place = remark.file.as_ref().map(|file| {
            let text = remark.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
            Place { text, href: None }
        });
        Self {
            anchor: String::new(),
            id,
            fingerprint,
            severity: remark.severity,
            category: remark.category.as_str(),
            title: remark.title.clone(),
            description: remark.description.clone(),
            evidence: remark.evidence.clone().filter(|evidence| !evidence.trim().is_empty()),
            suggestion: remark.suggestion.clone().filter(|suggestion| !suggestion.trim().is_empty()),
            reviewer: None,
            place,
            mark: Mark::None,
            offers: Offers::default(),
        }
    }

    /// The class of the chip that names its severity.
    pub(crate) fn kind(&self) -> &'static str {
        kind(self.severity)
    }

    /// A sign beside the word of its severity, so that it is told by more than a colour.
    pub(crate) fn icon(&self) -> &'static str {
        icon(self.severity)
    }

    /// True when it has anything to do.
    pub(crate) fn has_offers(&self) -> bool {
        self.offers != Offers::default()
    }
}

/// The class of a chip that names a severity.
pub(crate) fn kind(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "bad",
        Severity::Medium => "warn",
        Severity::Low | Severity::Nit => "info",
        Severity::Praise => "ok",
    }
}

/// A sign that stands for a severity.
pub(crate) fn icon(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "✖",
        Severity::Medium => "▲",
        Severity::Low | Severity::Nit => "●",
        Severity::Praise => "✔",
    }
}
