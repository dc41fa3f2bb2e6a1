//! The result of one review of a feature.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::board::StepId;
use crate::delta::identity::{ComparedFinding, match_findings};
use crate::delta::line_map::LineMap;
use crate::finding::{Category, Finding, LineRange, Severity, Side, is_about_whole_change};
use crate::finding_key::{FindingKey, KEY};
use crate::fingerprint::Fingerprint;
use crate::names::names;
use crate::path::{FilePath, RepoPath};

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

/// The reviews that a person approved against, the last one first, unless the feature was sent back to the agent after that.
///
/// Where the agent had changed nothing, the person approved the commit that was reviewed before.
#[must_use]
pub fn override_in_force(reviews: &[Iteration]) -> Vec<&Iteration> {
    let Some(last) = reviews.iter().rposition(|review| review.overridden.is_some()) else { return Vec::new() };
    if reviews[last..].iter().any(|review| review.note.is_some()) {
        return Vec::new();
    }
    let end = reviews[..last].iter().rposition(|review| review.commit.is_some());
    let of_commit = end.filter(|_| reviews[last].commit.is_none()).and_then(|index| reviews.get(index));
    [Some(&reviews[last]), of_commit].into_iter().flatten().collect()
}

/// The beginning of the note about a suppressed blocker, as [`Iteration::suppressed`] finds it.
pub const DOES_NOT_COUNT: &str = "does not count: ";

/// The summary of a review that failed before anything was said about the change.
pub const NO_ANSWER: &str = "The review brought no answer.";

/// The name of an approval whose acceptance criteria were not all answered.
pub const UNCHECKED: &str = "approved, requirements not checked";

impl Iteration {
    /// True when the review approved and left an acceptance criterion unclear: a person has to check the requirements.
    #[must_use]
    pub fn is_unchecked(&self) -> bool {
        self.outcome == Outcome::Approved && self.overridden.is_none() && self.compliance.n_unclear() > 0
    }

    /// The outcome for people; differs from its name in files for an approval with unclear criteria.
    #[must_use]
    pub fn outcome_in_words(&self) -> &'static str {
        if self.is_unchecked() { UNCHECKED } else { self.outcome.as_str() }
    }

    /// True when somebody looked at a change: the agent changed something, and a reviewer answered.
    #[must_use]
    pub fn is_reviewed(&self) -> bool {
        self.commit.is_some() && !(self.outcome == Outcome::Failed && self.summary == NO_ANSWER)
    }

    /// Counts findings that are new since an earlier review, and findings of it that are gone.
    #[must_use]
    pub fn progress_since(&self, prior: &Self) -> (usize, usize) {
        let known = match_remarks(&prior.findings, &self.findings);
        if self.commit.is_none() {
            // The agent changed nothing, so nothing is resolved.
            return (self.findings.len() - known.len(), 0);
        }
        let is_gone = |index: usize| !known.iter().any(|(prior, _)| *prior == index);
        let gone = prior.findings.iter().enumerate().filter(|(index, _)| is_gone(*index));
        // A dismissed finding is not resolved: its code is still there.
        let n_resolved = gone.filter(|(_, remark)| !self.is_suppressed(remark)).count();
        (self.findings.len() - known.len(), n_resolved)
    }

    /// The blockers that a comment, the configuration or a dismissal suppresses, each with place, person and reason.
    pub fn suppressed(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter_map(|note| note.strip_prefix(DOES_NOT_COUNT))
    }

    fn is_suppressed(&self, remark: &Remark) -> bool {
        let Some(file) = &remark.file else { return false };
        let named = format!("{} ({file}:", remark.title);
        self.suppressed().any(|blocker| blocker.starts_with(&named))
    }
}

/// Matches the remarks of two reviews by the identity of their findings; pairs of indices, each index at most once.
///
/// A review gives a reworded finding the key of its first report, since it knows how lines moved. Lines of iterations are
/// not mapped onto each other here, so those keys come first.
#[must_use]
pub fn match_remarks<'a>(
    prior: impl IntoIterator<Item = &'a Remark>,
    current: impl IntoIterator<Item = &'a Remark>,
) -> Vec<(usize, usize)> {
    let (prior, current): (Vec<_>, Vec<_>) = (located(prior), located(current));
    let mut pairs = by_key(&prior, &current);
    let prior_left = left(prior.len(), pairs.iter().map(|pair| pair.0));
    let current_left = left(current.len(), pairs.iter().map(|pair| pair.1));
    let prior: Vec<_> = prior_left.iter().map(|&index| as_compared(&prior[index])).collect();
    let current: Vec<_> = current_left.iter().map(|&index| as_compared(&current[index])).collect();
    let rest = match_findings(&prior, &current, &LineMap::identity()).pairs;
    pairs.extend(rest.into_iter().map(|(i, j)| (prior_left[i], current_left[j])));
    pairs.sort_unstable();
    pairs
}

/// The indices that are not paired.
fn left(n_remarks: usize, paired: impl Iterator<Item = usize>) -> Vec<usize> {
    let paired: HashSet<usize> = paired.collect();
    (0..n_remarks).filter(|index| !paired.contains(index)).collect()
}

/// Pairs remarks of one file of which one was reworded, by the key of its first report.
///
/// A fault that went to another file is another one to the board, also where git sees a rename.
fn by_key(prior: &[(FilePath, &Remark)], current: &[(FilePath, &Remark)]) -> Vec<(usize, usize)> {
    let is_reworded = |remark: &Remark| remark.identity.as_ref().is_some_and(|identity| identity.key.is_some());
    // The reworded ones and the others with a key.
    let mut known: HashMap<(&FilePath, String), [VecDeque<usize>; 2]> = HashMap::new();
    for (index, (file, remark)) in prior.iter().enumerate() {
        let Some(key) = remark.key() else { continue };
        known.entry((file, key)).or_default()[usize::from(!is_reworded(remark))].push_back(index);
    }
    let mut pairs = Vec::new();
    for (index, (file, remark)) in current.iter().enumerate() {
        let Some([reworded, others]) = remark.key().and_then(|key| known.get_mut(&(file, key))) else { continue };
        let other = || if is_reworded(remark) { others.pop_front() } else { None };
        pairs.extend(reworded.pop_front().or_else(other).map(|prior| (prior, index)));
    }
    pairs
}

/// Remarks with their files; one about the whole change has none.
fn located<'a>(remarks: impl IntoIterator<Item = &'a Remark>) -> Vec<(FilePath, &'a Remark)> {
    let file = |remark: &Remark| remark.file.as_deref().unwrap_or("(whole change)").as_bytes().to_owned();
    remarks.into_iter().map(|remark| (FilePath::of_repo_path(&RepoPath::from_bytes(&file(remark))), remark)).collect()
}

fn as_compared<'a>((file, remark): &'a (FilePath, &'a Remark)) -> ComparedFinding<'a> {
    ComparedFinding {
        file,
        title: &remark.title,
        severity: remark.severity,
        category: remark.category,
        rule: None,
        reviewer: None,
        lines: remark.line.map(LineRange::line),
        side: Side::Right,
        evidence: remark.evidence.as_deref().unwrap_or_default(),
        reason: &remark.description,
        scope: None,
        is_answered: false,
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

impl Compliance {
    /// The number of criteria that are met.
    #[must_use]
    pub fn n_met(&self) -> usize {
        self.criteria.iter().filter(|(_, met)| matches!(met, Met::Yes { .. })).count()
    }

    /// The number of criteria that are not met.
    #[must_use]
    pub fn n_unmet(&self) -> usize {
        self.criteria.iter().filter(|(_, met)| matches!(met, Met::No { .. })).count()
    }

    /// The number of criteria without a clear answer.
    #[must_use]
    pub fn n_unclear(&self) -> usize {
        self.criteria.iter().filter(|(_, met)| matches!(met, Met::Unclear { .. })).count()
    }

    /// True when a reviewer answered one of the criteria, be it that it could not tell.
    fn is_answered(&self) -> bool {
        self.criteria.iter().any(|(_, met)| !matches!(met, Met::Unclear { evidence: None }))
    }

    /// The answers in one sentence; `None` without criteria.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        let n_all = self.criteria.len();
        let criteria = if n_all == 1 { "criterion" } else { "criteria" };
        let is = |n: usize| if n == 1 { "is" } else { "are" };
        match (self.n_met(), self.n_unmet(), self.n_unclear()) {
            (0, 0, 0) => None,
            (_, 0, 0) if n_all == 1 => Some("The acceptance criterion is met.".to_owned()),
            (_, 0, 0) => Some(format!("All {n_all} acceptance criteria are met.")),
            (0, 0, _) if self.is_answered() && n_all == 1 => Some("The acceptance criterion is unclear.".to_owned()),
            (0, 0, _) if self.is_answered() => Some(format!("All {n_all} acceptance criteria are unclear.")),
            (0, 0, _) if n_all == 1 => Some("The acceptance criterion is unclear: no reviewer answered it.".to_owned()),
            (0, 0, _) => Some(format!("All {n_all} acceptance criteria are unclear: no reviewer answered them.")),
            (met, unmet, unclear) => {
                let mut text = format!("{met} of {n_all} acceptance {criteria} {} met", is(met));
                if unmet > 0 {
                    text.push_str(&format!(", {unmet} {} not met", is(unmet)));
                }
                if unclear > 0 {
                    text.push_str(&format!(", {unclear} {} unclear", is(unclear)));
                }
                Some(format!("{text}."))
            }
        }
    }
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
    /// Its names; `None` when it does not come from a finding.
    pub identity: Option<Identity>,
}

/// The identity of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its id within the review, e.g. `F003`.
    pub id: String,
    /// Its fingerprint: file and title.
    pub fingerprint: String,
    /// The key of its first report, if an earlier review worded it differently ([`FindingKey`]).
    pub key: Option<String>,
}

impl Identity {
    /// True for the fingerprint of the finding, in its words of now or of its first report.
    #[must_use]
    pub fn has(&self, fingerprint: &str) -> bool {
        let first = self.key.as_deref().and_then(FindingKey::parse).map(FindingKey::fingerprint);
        self.fingerprint == fingerprint || first.is_some_and(|first| first.to_string() == fingerprint)
    }
}

impl Remark {
    /// Converts a finding.
    #[must_use]
    pub fn of(finding: &Finding) -> Self {
        // A finding about the whole change has no place in it.
        let location = Some(&finding.location).filter(|_| !is_about_whole_change(finding));
        Self {
            category: finding.category,
            severity: finding.severity,
            title: finding.summary.as_str().to_owned(),
            description: finding.reason.clone().unwrap_or_default(),
            suggestion: finding.suggestion.clone(),
            file: location.map(|location| location.file.as_str().to_owned()),
            line: location.map(|location| location.lines.start()),
            evidence: location.map(|_| finding.evidence.clone()).filter(|evidence| !evidence.is_empty()),
            identity: Some(Identity {
                id: finding.id.to_string(),
                fingerprint: Fingerprint::of(finding).to_string(),
                key: finding.extra.get(KEY).and_then(Value::as_str).map(str::to_owned),
            }),
        }
    }

    /// The key of its first report, without the number among equal ones.
    fn key(&self) -> Option<String> {
        let Identity { fingerprint, key, .. } = self.identity.as_ref()?;
        let key = match key {
            Some(key) => FindingKey::parse(key)?,
            None => FindingKey::new(Fingerprint::parse(fingerprint)?, self.evidence.as_deref().unwrap_or("")),
        };
        Some(key.without_number().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 17: "no reviewer answered it" stood beside the answer of a reviewer.
    #[test]
    fn unclear_criteria_say_that_nobody_answered_only_where_nobody_did() {
        let said = |answers: &[Option<&str>]| {
            let criterion = |evidence: &Option<&str>| {
                let criterion = Criterion { id: "C1".to_owned(), text: "x".to_owned() };
                (criterion, Met::Unclear { evidence: evidence.map(str::to_owned) })
            };
            Compliance { criteria: answers.iter().map(criterion).collect() }.in_words().unwrap()
        };
        assert_eq!(said(&[None]), "The acceptance criterion is unclear: no reviewer answered it.");
        assert_eq!(said(&[None, None]), "All 2 acceptance criteria are unclear: no reviewer answered them.");
        assert_eq!(said(&[Some("no file shows it")]), "The acceptance criterion is unclear.");
        assert_eq!(said(&[None, Some("no file shows it")]), "All 2 acceptance criteria are unclear.");
    }

    /// A finding with the fingerprint of a number, and the key of its first report if it was reworded.
    fn remark(print: u32, line: u32, evidence: &str, first: Option<&Remark>) -> Remark {
        Remark {
            category: if first.is_some() { Category::Error } else { Category::Logic },
            severity: Severity::High,
            title: format!("Title {print}"),
            description: String::new(),
            suggestion: None,
            file: Some("a.rs".to_owned()),
            line: Some(line),
            evidence: Some(evidence.to_owned()),
            identity: Some(Identity {
                id: "F001".to_owned(),
                fingerprint: format!("fp-{print:016x}"),
                key: first.and_then(Remark::key),
            }),
        }
    }

    #[test]
    fn a_reworded_remark_is_matched_by_the_key_of_its_first_report() {
        let first = remark(1, 10, "users[id].profile", None);
        let second = remark(2, 90, "id", Some(&first));
        let third = remark(3, 200, "profile", Some(&second));
        for (prior, current) in [(&first, &second), (&second, &third), (&first, &third), (&third, &first)] {
            assert_eq!(match_remarks([prior], [current]), [(0, 0)], "{} and {}", prior.title, current.title);
        }
        let stranger = remark(4, 90, "pool.acquire()", None);
        assert_eq!(match_remarks([&first], [&stranger]), []);
        assert_eq!(match_remarks([&stranger, &first], [&second, &stranger]), [(0, 1), (1, 0)]);
        assert_eq!(match_remarks([&first], [&second, &third]).len(), 1, "each is matched once");
        let elsewhere = Remark { file: Some("b.rs".to_owned()), ..second };
        assert_eq!(match_remarks([&first], [&elsewhere]), []);
    }

    #[test]
    fn equal_remarks_without_a_key_are_matched_by_their_lines() {
        let of = |line| remark(1, line, "eval(input)", None);
        assert_eq!(match_remarks([&of(10), &of(50)], [&of(50), &of(10)]), [(0, 1), (1, 0)]);
    }
}
