//! The verdict of the gate: evaluates a finished review.
//!
//! | review | gate |
//! |---|---|
//! | a blocker, or a finding of `fail_on` | rejected |
//! | an unmet criterion | rejected, with a remark for each |
//! | an AI reviewer says REJECTED, with a reason or findings | rejected |
//! | it says REJECTED with neither | failed |
//! | the review is not complete: something was not reviewed, or an answer is not settled | failed, never approved |
//! | otherwise | approved |
//!
//! A reviewer's APPROVED never outweighs a finding; overruling it is noted. Findings without a file are about the whole
//! change and count like others; findings below the severity floor are listed and never reject. After a person approved
//! against a review, only findings that were not in that review reject.

use tollgate_core::answer;
use tollgate_core::board::{
    Compliance, Criterion, DOES_NOT_COUNT, Iteration, Met, NO_ANSWER, Outcome, Remark, StepId, match_remarks,
};
use tollgate_core::finding::{Category, Finding, Location, Severity};
use tollgate_core::gate::FailOn;
use tollgate_core::review::{DoubtKind, Review, Withheld, WithheldFinding};
use tollgate_core::verify;

use crate::failure::Failure;
use crate::pipeline::{Reviewed, ReviewerRun, ReviewerStatement};

/// The model of a review by rules only.
const OFFLINE_MODEL: &str = "tollgate/offline";
const OFFLINE_PROVIDER: &str = "tollgate";
/// The maximum number of remarks in a reason.
const MAX_NAMED: usize = 5;
/// The maximum number of unreviewed files that are named.
const MAX_UNSEEN: usize = 20;
/// The maximum number of reviewers whose words are quoted in a summary, and of characters of each.
const MAX_QUOTED: usize = 4;
const MAX_WORDS: usize = 2_000;

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
    /// The reviews that a person approved against, the last one first, while that approval holds.
    pub(super) overridden: &'a [&'a Iteration],
    /// The compared commits.
    pub(super) base: &'a str,
    pub(super) commit: &'a str,
    /// The pipeline step whose changes were reviewed.
    pub(super) after_step: Option<&'a StepId>,
}

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
    findings.extend(listed(reviewed).map(Remark::of));
    findings.sort_by_key(|remark| std::cmp::Reverse(remark.severity));
    let late = reviewed.review.withheld.iter().filter(|held| matches!(held.why, Withheld::HeldBack(_)));
    let late: Vec<Remark> = late.map(|held| Remark::of(&held.finding)).collect();

    let stated = Decisions::of(reviewed);
    let covered: Vec<usize> = facts.overridden.iter().flat_map(|by| covered(by, &findings)).collect();
    let rejects = |remark: &Remark| remark.severity.blocks() || facts.fail_on.closes(remark.severity);
    let is_covered = |index: usize| covered.contains(&index);
    let blocking = findings.iter().enumerate().filter(|(index, remark)| rejects(remark) && !is_covered(*index));
    let blocking: Vec<&Remark> = blocking.map(|(_, remark)| remark).collect();
    // Of a reviewer's statement nothing tells whether the person knew its reason, so the approval covers it.
    let rejection = stated.rejection.as_deref().filter(|_| facts.overridden.is_empty());
    let is_settled = !blocking.is_empty() || rejection.is_some() || !facts.overridden.is_empty();
    let unseen = unseen(&reviewed.review, is_settled);
    let (outcome, reason) = if !blocking.is_empty() {
        (Outcome::Rejected, Some(reason(&blocking, stated.rejection.as_deref())))
    } else if let Some(rejection) = rejection {
        (Outcome::Rejected, Some(reason(&findings.iter().collect::<Vec<_>>(), Some(rejection))))
    } else if let Some(who) = stated.bare.as_ref().filter(|_| facts.overridden.is_empty()) {
        (Outcome::Failed, Some(format!("{who} says REJECTED, and neither why nor where")))
    } else if !unseen.is_empty() {
        (Outcome::Failed, Some(format!("the review is not complete: {}", unseen.join("; "))))
    } else {
        (Outcome::Approved, None)
    };
    if outcome == Outcome::Rejected && stated.approved {
        notes.push("a reviewer said APPROVED; the findings outweigh that".to_owned());
    }
    if outcome == Outcome::Rejected && !unseen.is_empty() {
        notes.push(format!("not complete: {}", unseen.join("; ")));
    }
    if let Some(by) = facts.overridden.first().and_then(|review| review.overridden.as_ref()) {
        let n_covered = covered.iter().filter(|index| findings.get(**index).is_some_and(rejects)).count();
        if n_covered > 0 || stated.rejection.is_some() {
            let findings = if n_covered == 1 { "1 error".to_owned() } else { format!("{n_covered} errors") };
            notes.push(format!("{} approved against an earlier review; that covers {findings} of this one", by.who));
        }
    }
    notes.extend(unverified(&reviewed.review));
    let suppressed = suppressed(&reviewed.review);
    notes.extend(suppressed.iter().map(|blocker| format!("{DOES_NOT_COUNT}{blocker}")));
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
        summary: summary(outcome, &findings, reviewed, &suppressed),
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

/// The blockers that a comment, the configuration or a dismissal suppresses, each with place, person and reason.
fn suppressed(review: &Review) -> Vec<String> {
    let words = |held: &WithheldFinding| {
        let Location { file, lines, .. } = &held.finding.location;
        format!("{} ({file}:{}), {}", held.finding.summary, lines.start(), held.why)
    };
    review.suppressed_blockers().map(words).collect()
}

/// The blocking claims that could not be verified, each with its place and the reason. Those about the whole change count.
fn unverified(review: &Review) -> impl Iterator<Item = String> {
    let claims = review.unverified_blockers().filter(|held| !held.counts_at_gate());
    claims.map(|held| {
        let Finding { severity, summary, location, .. } = &held.finding;
        let place = format!("{}:{}", location.file, location.lines.start());
        format!("{}: {} {summary} ({place})", held.why, severity.as_str())
    })
}

/// Names the blockers without which the review would end otherwise.
fn suppressed_in_words(suppressed: &[String]) -> Option<String> {
    if suppressed.is_empty() {
        return None;
    }
    let (count, verb) = if suppressed.len() == 1 {
        ("1 blocker".to_owned(), "does")
    } else {
        (format!("{} blockers", suppressed.len()), "do")
    };
    let named: Vec<&str> = suppressed.iter().take(MAX_NAMED).map(|blocker| blocker.trim_end_matches('.')).collect();
    let more = if suppressed.len() > MAX_NAMED { "; and more, see the notes" } else { "" };
    Some(format!("{count} {verb} not count: {}{more}.", named.join("; ")))
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
        summary: NO_ANSWER.to_owned(),
        reason: Some(failure.message.clone()),
        compliance: Compliance { criteria: criteria.iter().map(unclear).collect() },
        notes: failure.hint.iter().cloned().collect(),
        outdated: false,
        after_step: facts.after_step.cloned(),
        overridden: None,
        note: None,
    }
}

/// An iteration without changes: the findings of the review before it are still open.
pub(super) fn nothing_changed(
    number: u32,
    at: &str,
    criteria: &[Criterion],
    base: Option<&str>,
    previous: Option<&Iteration>,
) -> Iteration {
    let no = |criterion: &Criterion| (criterion.clone(), Met::Unclear { evidence: None });
    let title = "The agent changed nothing";
    let is_open = |remark: &&Remark| remark.identity.is_some() || remark.title != title;
    let still_open = previous.filter(|previous| previous.overridden.is_none() && previous.outcome != Outcome::Approved);
    let still_open = still_open.into_iter().flat_map(|previous| previous.findings.iter().filter(is_open).cloned());
    Iteration {
        number,
        outcome: Outcome::Rejected,
        reviewed_at: at.to_owned(),
        model: OFFLINE_MODEL.to_owned(),
        provider: OFFLINE_PROVIDER.to_owned(),
        commit: None,
        base: base.map(str::to_owned),
        findings: std::iter::once(Remark {
            category: Category::Compliance,
            severity: Severity::High,
            title: title.to_owned(),
            description: "It ended as if it were done, and no file differs from before.".to_owned(),
            suggestion: Some("Change the code so that it does what is asked for.".to_owned()),
            file: None,
            line: None,
            evidence: None,
            identity: None,
        })
        .chain(still_open)
        .collect(),
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
}

impl Decisions {
    fn of(reviewed: &Reviewed) -> Self {
        let mut stated = Self::default();
        for ReviewerStatement { reviewer: who, decision, summary } in &reviewed.stated {
            let summary = summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
            let of_them = |finding: &&Finding| finding.origin.reviewer.as_deref() == Some(who);
            match (decision, summary) {
                (answer::Decision::Approved, _) => stated.approved = true,
                (answer::Decision::Rejected, Some(why)) => stated.rejection = Some(why.to_owned()),
                (answer::Decision::Rejected, None) if reviewed.review.findings.iter().any(|it| of_them(&it)) => {
                    stated.rejection.get_or_insert_default();
                }
                (answer::Decision::Rejected, None) => stated.bare = Some(who.clone()),
            }
        }
        stated
    }
}

/// The findings that are listed: those that count, those about the whole change, and those below the severity floor.
fn listed(reviewed: &Reviewed) -> impl Iterator<Item = &Finding> {
    let withheld = reviewed.review.withheld.iter().filter(|held| held.counts_at_gate()).map(|held| &held.finding);
    reviewed.review.findings.iter().chain(withheld).filter(|finding| finding.severity != Severity::Praise)
}

/// The findings that a person's approval covers, by their index: those of the review that it was against.
fn covered(by: &Iteration, findings: &[Remark]) -> Vec<usize> {
    match_remarks(&by.findings, findings).into_iter().map(|(_, index)| index).collect()
}

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

/// Why the review is not complete: the unreviewed hunks, each with its reason, and all else.
///
/// Claims about the whole change count here, so they leave nothing open. What rejects the change here, or a person's
/// approval, settles a rejection that no verified finding explains.
fn unseen(review: &Review, is_settled: bool) -> Vec<String> {
    let mut review = review.clone();
    review.withheld.retain(|held| !verify::is_about_whole_change(&held.finding));
    review.doubts.retain(|doubt| !(is_settled && doubt.kind == DoubtKind::Rejection));
    // One reason for many files, such as a failed call, is said once.
    let groups = review.coverage.iter().flat_map(|coverage| coverage.not_reviewed());
    let mut unseen: Vec<String> = groups.map(|group| format!("{} ({})", group.in_words(), group.why)).collect();
    if unseen.is_empty() {
        return review.incomplete_because();
    }
    if unseen.len() > MAX_UNSEEN {
        let n_more = unseen.len() - MAX_UNSEEN;
        unseen.truncate(MAX_UNSEEN);
        unseen.push(format!("and {n_more} more"));
    }
    unseen.extend(review.unsettled_because());
    unseen
}

/// True when the blockers are those of the prior review.
fn says_the_same(previous: &Iteration, findings: &[Remark]) -> bool {
    let (before, now) = (blockers(&previous.findings), blockers(findings));
    let is_rejected = previous.outcome == Outcome::Rejected && !now.is_empty();
    is_rejected && before.len() == now.len() && match_remarks(before, now.iter().copied()).len() == now.len()
}

fn blockers(findings: &[Remark]) -> Vec<&Remark> {
    findings.iter().filter(|remark| remark.severity.blocks()).collect()
}

/// The reason of a rejection, in a few sentences.
fn reason(named: &[&Remark], stated: Option<&str>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for remark in named.iter().take(MAX_NAMED) {
        let place = match (&remark.file, remark.line) {
            (Some(file), Some(line)) => format!(" ({file}:{line})"),
            (Some(file), None) => format!(" ({file})"),
            // An unmet criterion needs no place; another finding without a file is about the whole change.
            (None, _) if remark.identity.is_some() => " (whole change)".to_owned(),
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

/// The summary: verdict, counts, criteria and suppressed blockers, then the words of reviewers who came to the same verdict.
fn summary(outcome: Outcome, findings: &[Remark], reviewed: &Reviewed, suppressed: &[String]) -> String {
    let n_files = reviewed.change.files.len();
    let files = if n_files == 1 { "1 file".to_owned() } else { format!("{n_files} files") };
    let found = counted(findings);
    let verdict = match outcome {
        Outcome::Approved if reviewed.compliance.n_unclear() > 0 => "Approved, requirements not checked",
        Outcome::Approved => "Approved",
        Outcome::Rejected => "Rejected",
        Outcome::Failed => "The review is not complete",
    };
    let mut text = format!("{verdict}: {found} in {files}.");
    if let Some(criteria) = reviewed.compliance.in_words() {
        text.push_str(&format!(" {criteria}"));
    }
    if let Some(suppressed) = suppressed_in_words(suppressed) {
        text.push_str(&format!(" {suppressed}"));
    }
    let agreed = match outcome {
        Outcome::Approved => Some(answer::Decision::Approved),
        Outcome::Rejected => Some(answer::Decision::Rejected),
        Outcome::Failed => None,
    };
    let are_all_met = reviewed.compliance.n_unclear() + reviewed.compliance.n_unmet() == 0;
    let mut said: Vec<(&str, &str)> = Vec::new();
    for ReviewerStatement { reviewer, decision, summary } in &reviewed.stated {
        let words = summary.as_deref().map(str::trim).filter(|words| !words.is_empty());
        let contradicts = |words: &&str| !are_all_met && says_all_met(words);
        if let Some(words) = words.filter(|_| Some(*decision) == agreed).filter(|words| !contradicts(words))
            && said.len() < MAX_QUOTED
            && !said.contains(&(reviewer, words))
        {
            said.push((reviewer, words));
        }
    }
    text.extend(said.iter().map(|(reviewer, words)| format!("\n\n{reviewer}: {}", cut(words, MAX_WORDS))));
    text
}

/// True for words such as "All criteria are met.", which the answers to the criteria can contradict.
fn says_all_met(words: &str) -> bool {
    let words = words.to_lowercase();
    let is_about = ["criteria", "criterion", "requirement"].iter().any(|subject| words.contains(subject));
    is_about && ["are met", "is met", "fulfilled", "satisfied"].iter().any(|claim| words.contains(claim))
}

/// The findings by severity, in words.
fn counted(findings: &[Remark]) -> String {
    let part = |word: &str, shown: &str| match findings.iter().filter(|it| it.severity_word() == word).count() {
        0 => None,
        1 => Some(format!("1 {shown}")),
        n => Some(format!("{n} {shown}s")),
    };
    let parts = [part("error", "error"), part("warning", "warning"), part("info", "note")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
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
