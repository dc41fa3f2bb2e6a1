//! The verdict of the gate: evaluates a finished review.
//!
//! | review | gate |
//! |---|---|
//! | a blocker, or a finding of `fail_on` | rejected |
//! | an unmet criterion | rejected, with a remark for each |
//! | an AI reviewer says REJECTED, with a reason or findings | rejected |
//! | it says REJECTED with neither | failed |
//! | something was not reviewed | failed: unseen changes are never approved |
//! | otherwise | approved |
//!
//! A reviewer's APPROVED never outweighs a finding; overruling it is noted.

use tollgate_core::answer;
use tollgate_core::board::{Compliance, Criterion, Iteration, Met, Outcome, Remark, StepId};
use tollgate_core::coverage::HunkStatus;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::{self, FailOn, Gate};
use tollgate_core::review::Withheld;

use crate::failure::Failure;
use crate::pipeline::{Reviewed, ReviewerRun, ReviewerStatement};

/// The model of a review by rules only.
const OFFLINE_MODEL: &str = "tollgate/offline";
/// Its provider.
const OFFLINE_PROVIDER: &str = "tollgate";
/// The maximum number of remarks in a reason.
const MAX_NAMED: usize = 5;
/// The maximum number of unreviewed files that are named.
const MAX_UNSEEN: usize = 20;

/// The context of a review.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    /// The iteration.
    pub(super) number: u32,
    /// The time of its end.
    pub(super) at: &'a str,
    /// The severities that close the gate.
    pub(super) fail_on: FailOn,
    /// The prior review.
    pub(super) previous: Option<&'a Iteration>,
    /// The compared commits.
    pub(super) base: &'a str,
    pub(super) commit: &'a str,
    /// The pipeline step whose changes were reviewed.
    pub(super) after_step: Option<&'a StepId>,
}

/// The result of the gate.
#[derive(Debug)]
pub(super) struct GateResult {
    /// The evaluated iteration.
    pub(super) iteration: Iteration,
    /// True when the prior review had the same blockers.
    pub(super) same_again: bool,
}

/// Evaluates a finished review.
pub(super) fn evaluate(reviewed: &Reviewed, facts: &Facts<'_>) -> GateResult {
    let mut notes: Vec<String> =
        reviewed.review.notes.iter().flat_map(|notes| notes.lines()).map(str::to_owned).collect();
    let mut findings: Vec<Remark> = reviewed.compliance.criteria.iter().filter_map(unmet).collect();
    findings
        .extend(reviewed.review.findings.iter().filter(|finding| finding.severity != Severity::Praise).map(Remark::of));
    let late = reviewed.review.withheld.iter().filter(|held| matches!(held.why, Withheld::HeldBack(_)));
    let late: Vec<Remark> = late.map(|held| Remark::of(&held.finding)).collect();

    let stated = Decisions::of(reviewed);
    let blocked = findings.iter().any(|remark| remark.severity.blocks())
        || gate::check(&reviewed.review, facts.fail_on) == Gate::Closed;
    let unseen = unseen(reviewed);
    let (outcome, reason) = if blocked {
        (Outcome::Rejected, Some(reason(&findings, stated.rejection.as_deref())))
    } else if let Some(rejection) = &stated.rejection {
        (Outcome::Rejected, Some(reason(&findings, Some(rejection))))
    } else if let Some(who) = &stated.bare {
        (Outcome::Failed, Some(format!("{who} says REJECTED, and neither why nor where")))
    } else if !unseen.is_empty() {
        (Outcome::Failed, Some(format!("not all of the change was looked at: {}", unseen.join("; "))))
    } else {
        (Outcome::Approved, None)
    };
    if outcome == Outcome::Rejected && stated.approved {
        notes.push("a reviewer said APPROVED; the findings outweigh that".to_owned());
    }
    if outcome == Outcome::Rejected && !unseen.is_empty() {
        notes.push(format!("not looked at: {}", unseen.join("; ")));
    }
    let same_again =
        outcome == Outcome::Rejected && facts.previous.is_some_and(|previous| says_the_same(previous, &findings));
    let (model, provider) = reviewers(&reviewed.runs);
    let iteration = Iteration {
        number: facts.number,
        outcome,
        reviewed_at: facts.at.to_owned(),
        model,
        provider,
        commit: Some(facts.commit.to_owned()),
        base: Some(facts.base.to_owned()),
        summary: stated.summary.unwrap_or_else(|| summary(outcome, &findings, reviewed)),
        findings,
        late,
        reason,
        compliance: reviewed.compliance.clone(),
        notes,
        outdated: false,
        after_step: facts.after_step.cloned(),
        overridden: None,
        note: None,
    };
    GateResult { iteration, same_again }
}

/// An iteration whose review failed.
pub(super) fn failed(failure: &Failure, criteria: &[Criterion], facts: &Facts<'_>) -> Iteration {
    let unclear = |criterion: &Criterion| (criterion.clone(), Met::Unclear { evidence: None });
    Iteration {
        number: facts.number,
        outcome: Outcome::Failed,
        reviewed_at: facts.at.to_owned(),
        model: OFFLINE_MODEL.to_owned(),
        provider: OFFLINE_PROVIDER.to_owned(),
        commit: Some(facts.commit.to_owned()),
        base: Some(facts.base.to_owned()),
        findings: Vec::new(),
        late: Vec::new(),
        summary: "The review brought no answer.".to_owned(),
        reason: Some(failure.message.clone()),
        compliance: Compliance { criteria: criteria.iter().map(unclear).collect() },
        notes: failure.hint.iter().cloned().collect(),
        outdated: false,
        after_step: facts.after_step.cloned(),
        overridden: None,
        note: None,
    }
}

/// An iteration without changes.
pub(super) fn nothing_changed(number: u32, at: &str, criteria: &[Criterion], base: Option<&str>) -> Iteration {
    let no = |criterion: &Criterion| (criterion.clone(), Met::Unclear { evidence: None });
    let title = "The agent changed nothing";
    Iteration {
        number,
        outcome: Outcome::Rejected,
        reviewed_at: at.to_owned(),
        model: OFFLINE_MODEL.to_owned(),
        provider: OFFLINE_PROVIDER.to_owned(),
        commit: None,
        base: base.map(str::to_owned),
        findings: vec![Remark {
            category: Category::Compliance,
            severity: Severity::High,
            title: title.to_owned(),
            description: "It ended as if it were done, and no file differs from before.".to_owned(),
            suggestion: Some("Change the code so that it does what is asked for.".to_owned()),
            file: None,
            line: None,
            evidence: None,
            identity: None,
        }],
        late: Vec::new(),
        summary: "Nothing was changed, so there was nothing to review.".to_owned(),
        reason: Some(format!("{title}: implement the feature.")),
        compliance: Compliance { criteria: criteria.iter().map(no).collect() },
        notes: Vec::new(),
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

/// The combined decisions of AI reviewers.
#[derive(Default)]
struct Decisions {
    approved: bool,
    /// The reason of a rejection.
    rejection: Option<String>,
    /// A reviewer that rejected without a reason.
    bare: Option<String>,
    summary: Option<String>,
}

impl Decisions {
    fn of(reviewed: &Reviewed) -> Self {
        let mut stated = Self::default();
        for ReviewerStatement { reviewer: who, decision, summary } in &reviewed.stated {
            let summary = summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
            let of_them = |finding: &&tollgate_core::finding::Finding| finding.origin.reviewer.as_deref() == Some(who);
            match (decision, summary) {
                (answer::Decision::Approved, _) => stated.approved = true,
                (answer::Decision::Rejected, Some(why)) => stated.rejection = Some(why.to_owned()),
                (answer::Decision::Rejected, None) if reviewed.review.findings.iter().any(|it| of_them(&it)) => {
                    stated.rejection.get_or_insert_default();
                }
                (answer::Decision::Rejected, None) => stated.bare = Some(who.clone()),
            }
            if stated.summary.is_none() {
                stated.summary = summary.map(str::to_owned);
            }
        }
        stated
    }
}

/// An unmet criterion as a remark.
fn unmet((criterion, met): &(Criterion, Met)) -> Option<Remark> {
    let Met::No { evidence } = met else { return None };
    Some(Remark {
        category: Category::Compliance,
        severity: Severity::High,
        title: format!("Not met: {}", cut(&criterion.text, 100)),
        description: evidence.clone(),
        suggestion: None,
        file: None,
        line: None,
        evidence: None,
        identity: None,
    })
}

/// The unreviewed hunks, with the reasons.
fn unseen(reviewed: &Reviewed) -> Vec<String> {
    let hunks = reviewed.review.coverage.iter().flat_map(|coverage| &coverage.hunks);
    let mut unseen: Vec<String> = Vec::new();
    for hunk in hunks {
        if let HunkStatus::NotReviewed(why) = &hunk.status {
            let one = format!("{} ({why})", hunk.file);
            if !unseen.contains(&one) {
                unseen.push(one);
            }
        }
    }
    if unseen.len() > MAX_UNSEEN {
        let n_more = unseen.len() - MAX_UNSEEN;
        unseen.truncate(MAX_UNSEEN);
        unseen.push(format!("and {n_more} more"));
    }
    unseen
}

/// True when the blockers are those of the prior review.
fn says_the_same(previous: &Iteration, findings: &[Remark]) -> bool {
    let now = rejecting(findings);
    previous.outcome == Outcome::Rejected && !now.is_empty() && rejecting(&previous.findings) == now
}

fn rejecting(findings: &[Remark]) -> Vec<&str> {
    let name = |remark: &'_ Remark| remark.severity.blocks();
    let mut names: Vec<&str> = findings
        .iter()
        .filter(|remark| name(remark))
        .map(|remark| remark.identity.as_ref().map_or(&*remark.title, |identity| &*identity.fingerprint))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The reason of a rejection, in a few sentences.
fn reason(findings: &[Remark], stated: Option<&str>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let blocking: Vec<&Remark> = findings.iter().filter(|remark| remark.severity.blocks()).collect();
    let named = if blocking.is_empty() { findings.iter().collect() } else { blocking };
    for remark in named.iter().take(MAX_NAMED) {
        let place = match (&remark.file, remark.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            (None, _) => String::new(),
        };
        parts.push(format!("{}{place}", remark.title.trim_end_matches('.')));
    }
    if named.len() > MAX_NAMED {
        parts.push(format!("and {} more", named.len() - MAX_NAMED));
    }
    let mut reason = if parts.is_empty() { String::new() } else { format!("Fix: {}.", parts.join("; ")) };
    if let Some(stated) = stated.filter(|stated| !stated.is_empty()) {
        if !reason.is_empty() {
            reason.push(' ');
        }
        reason.push_str(stated);
    }
    reason
}

/// A summary in one sentence, when no reviewer wrote one.
fn summary(outcome: Outcome, findings: &[Remark], reviewed: &Reviewed) -> String {
    let count = |word: &str| findings.iter().filter(|remark| remark.severity_word() == word).count();
    let n_files = reviewed.change.files.len();
    let files = if n_files == 1 { "1 file".to_owned() } else { format!("{n_files} files") };
    let found = match (count("error"), count("warning"), count("info")) {
        (0, 0, 0) => "no findings".to_owned(),
        (errors, warnings, infos) => {
            let part = |n: usize, word: &str| match n {
                0 => None,
                1 => Some(format!("1 {word}")),
                n => Some(format!("{n} {word}s")),
            };
            let parts = [part(errors, "error"), part(warnings, "warning"), part(infos, "note")];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    };
    match outcome {
        Outcome::Failed => format!("The review of {files} is not complete; so far: {found}."),
        Outcome::Approved | Outcome::Rejected => format!("Reviewed {files}: {found}."),
    }
}

/// The models and their providers.
fn reviewers(runs: &[ReviewerRun]) -> (String, String) {
    if runs.is_empty() {
        return (OFFLINE_MODEL.to_owned(), OFFLINE_PROVIDER.to_owned());
    }
    let models: Vec<&str> = runs.iter().map(|run| run.model.as_deref().unwrap_or(&run.name)).collect();
    let names: Vec<&str> = runs.iter().map(|run| &*run.name).collect();
    (models.join(", "), names.join(", "))
}

fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
