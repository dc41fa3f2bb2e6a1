//! One finding as every page shows it: the list of a review, and the diff under the line it is about.
//!
//! `web/templates/finding.html` is included where a variable `finding` of type [`FindingView`] is in scope:
//!
//! ```text
//! {% for finding in findings %}{% include "finding.html" %}{% endfor %}
//! ```
//!
//! The buttons do nothing by themselves, and are hidden until a script that knows them shows them: it finds them by
//! `data-act`, and the finding by `data-finding` and `data-fingerprint`.

use std::collections::HashSet;

use tollgate_core::board::{FeatureId, Iteration, Outcome, Remark, match_remarks};
use tollgate_core::finding::Severity;
use tollgate_engine::board::{Board, Refused};

use crate::app::ProjectId;
use crate::pages::markup::{Markup, prose};
use crate::view::record::DismissalBody;

/// The badge of a finding.
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
        /// The person.
        by: String,
        reason: String,
    },
    /// An agent proposed that it does not count; it counts until a person confirms that.
    Proposed {
        /// The agent.
        by: String,
        reason: String,
    },
}

impl Mark {
    /// The mark of a dismissed finding, or of one whose dismissal is proposed.
    pub(crate) fn of(dismissal: &DismissalBody) -> Self {
        let unnamed = || "an unnamed person".to_owned();
        let (by, reason) = (dismissal.by.clone().unwrap_or_else(unnamed), dismissal.reason.clone());
        if dismissal.is_proposal() { Self::Proposed { by, reason } } else { Self::Dismissed { by, reason } }
    }
}

/// What a person can do to a finding here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offers {
    /// Say that it does not count.
    pub(crate) dismiss: bool,
    /// Say that it counts again.
    pub(crate) restore: bool,
    /// Confirm or reject a proposed dismissal.
    pub(crate) settle: bool,
    /// Copy it as a task for an agent.
    pub(crate) copy: bool,
}

impl Offers {
    /// The offers for a finding that can be named, with its dismissal.
    pub(crate) fn of(can_be_named: bool, dismissal: Option<&DismissalBody>) -> Self {
        let is_proposal = dismissal.is_some_and(DismissalBody::is_proposal);
        Self {
            dismiss: can_be_named && dismissal.is_none(),
            restore: dismissal.is_some() && !is_proposal,
            settle: is_proposal,
            copy: can_be_named,
        }
    }
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `src/a.rs:12`.
    pub(crate) text: String,
    /// The line in the diff, if it is there.
    pub(crate) href: Option<String>,
}

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
    /// Its category, in one word.
    pub(crate) category: &'static str,
    pub(crate) title: String,
    /// The explanation; may be empty.
    pub(crate) description: String,
    pub(crate) evidence: Option<String>,
    pub(crate) suggestion: Option<String>,
    /// Who said it, if that is known.
    pub(crate) reviewer: Option<String>,
    /// The file it is about.
    pub(crate) file: Option<String>,
    /// The line it is about.
    pub(crate) line: Option<u32>,
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
            file: remark.file.clone(),
            line: remark.line,
            place,
            mark: Mark::None,
            offers: Offers::default(),
        }
    }

    /// The explanation, with names as code.
    pub(crate) fn text(&self) -> Markup {
        prose(&self.description)
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

/// The findings of a review, as every page shows them: counting findings, then late ones.
pub(crate) fn of_iteration(
    board: &Board,
    project: ProjectId,
    feature: &FeatureId,
    number: u32,
) -> Result<Vec<FindingView>, Refused> {
    let iterations: Vec<Iteration> = board.iterations(project, feature)?.into_iter().map(|row| row.iteration).collect();
    // Of several with one number the last one stands.
    let Some(iteration) = iterations.iter().rfind(|iteration| iteration.number == number) else {
        return Ok(Vec::new());
    };
    let before = iterations.iter().rfind(|before| before.number < number && before.outcome != Outcome::Failed);
    let dismissals: Vec<DismissalBody> =
        board.dismissals_of(project, feature)?.into_iter().map(DismissalBody::from).collect();
    Ok(marked(iteration, before, &dismissals))
}

/// The findings of a review, held against the review before and what people dismissed.
pub(crate) fn marked(
    iteration: &Iteration,
    before: Option<&Iteration>,
    dismissals: &[DismissalBody],
) -> Vec<FindingView> {
    let known: HashSet<usize> = before.map_or_else(HashSet::new, |before| known(iteration, before));
    let view = |(index, remark): (usize, &Remark)| {
        let is_late = index >= iteration.findings.len();
        let dismissed = dismissals.iter().find(|dismissed| dismissed.covers(remark));
        let mark = match dismissed {
            Some(dismissed) => Mark::of(dismissed),
            None if is_late => Mark::Late,
            None if before.is_some() && !known.contains(&index) => Mark::New,
            None => Mark::None,
        };
        let offers = Offers::of(remark.identity.is_some(), dismissed);
        FindingView { mark, offers, ..FindingView::of(remark) }
    };
    iteration.findings.iter().chain(&iteration.late).enumerate().map(view).collect()
}

/// The indices of the findings of a review that an earlier one had.
fn known(iteration: &Iteration, before: &Iteration) -> HashSet<usize> {
    let (prior, current) =
        (before.findings.iter().chain(&before.late), iteration.findings.iter().chain(&iteration.late));
    match_remarks(prior, current).into_iter().map(|(_, index)| index).collect()
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

#[cfg(test)]
mod tests {
    use tollgate_core::board::Compliance;
    use tollgate_core::board::iteration::Identity;
    use tollgate_core::finding::Category;

    use super::*;

    fn remark(key: &str) -> Remark {
        Remark {
            category: Category::Logic,
            severity: Severity::High,
            title: format!("about {key}"),
            description: String::new(),
            suggestion: None,
            file: Some("a.rs".to_owned()),
            line: key.bytes().next().map(u32::from),
            evidence: Some(format!("let  {key}")),
            identity: Some(Identity { id: "F001".to_owned(), fingerprint: key.to_owned(), key: None }),
        }
    }

    fn iteration(findings: &[&str], late: &[&str]) -> Iteration {
        Iteration {
            number: 2,
            outcome: Outcome::Rejected,
            reviewed_at: String::new(),
            model: String::new(),
            provider: String::new(),
            commit: None,
            base: None,
            findings: findings.iter().map(|key| remark(key)).collect(),
            late: late.iter().map(|key| remark(key)).collect(),
            summary: String::new(),
            reason: None,
            compliance: Compliance::default(),
            notes: vec![],
            outdated: false,
            after_step: None,
            overridden: None,
            note: None,
        }
    }

    fn marks(views: &[FindingView]) -> String {
        let word = |mark: &Mark| match mark {
            Mark::None => "open".to_owned(),
            Mark::New => "new".to_owned(),
            Mark::Late => "late".to_owned(),
            Mark::Resolved => "resolved".to_owned(),
            Mark::Dismissed { by, reason } => format!("dismissed by {by}, {reason}"),
            Mark::Proposed { by, reason } => format!("proposed by {by}, {reason}"),
        };
        views.iter().map(|view| format!("{}: {}", view.fingerprint, word(&view.mark))).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn findings_are_held_against_the_review_before() {
        let (before, now) = (iteration(&["a", "b"], &["c"]), iteration(&["b", "d"], &["e"]));
        assert_eq!(marks(&marked(&now, Some(&before), &[])), "b: open; d: new; e: late");
        assert_eq!(marks(&marked(&now, None, &[])), "b: open; d: open; e: late");
    }

    #[test]
    fn a_dismissed_finding_is_marked_while_its_code_is_the_same() {
        let dismissed = |evidence: &str| DismissalBody {
            fingerprint: "a".to_owned(),
            file: "a.rs".to_owned(),
            title: String::new(),
            evidence: evidence.to_owned(),
            reason: "known".to_owned(),
            state: "dismissed",
            subject: None,
            proposed_by: None,
            by: Some("Ada".to_owned()),
            at: String::new(),
        };
        let now = iteration(&["a"], &[]);
        assert_eq!(marks(&marked(&now, None, &[dismissed("let a")])), "a: dismissed by Ada, known");
        assert_eq!(marks(&marked(&now, None, &[dismissed("let b")])), "a: open");
        // In other words it is the same finding.
        let (first, mut reworded) = ("fp-0000000000000001", now.clone());
        reworded.findings[0].identity = Some(Identity {
            id: "F001".to_owned(),
            fingerprint: "fp-0000000000000002".to_owned(),
            key: Some(format!("{first}-01234567")),
        });
        let of_first = DismissalBody { fingerprint: first.to_owned(), ..dismissed("let a") };
        let views = marked(&reworded, None, &[of_first]);
        assert_eq!(marks(&views), "fp-0000000000000002: dismissed by Ada, known");
        let offers = marked(&now, None, &[dismissed("let a")])[0].offers;
        assert_eq!(offers, Offers { dismiss: false, restore: true, settle: false, copy: true });
        let proposed = DismissalBody { state: "proposed", ..dismissed("let a") };
        let views = marked(&now, None, &[proposed]);
        assert_eq!(marks(&views), "a: proposed by Ada, known");
        assert_eq!(views[0].offers, Offers { dismiss: false, restore: false, settle: true, copy: true });
    }
}
