//! Bot commands in pull request comments: executed and answered exactly once.
//!
//! Commands that change something need write permission at the host. The effect and the reply are stored in one
//! transaction, so that a crash neither loses the reply nor repeats the effect.

use tollgate_core::finding::{Finding, FindingId, Severity};
use tollgate_core::gate;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::finding_key::FindingKey;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::reply::{self, ReplyTarget};
use tollgate_core::pull::webhook_event::CommentRef;
use tollgate_core::review::{Review, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::Dismissal;
use tollgate_rules::catalog;

use super::compose;
use super::post::Post;
use super::publish::JobError;
use super::work::{PullJob, fenced, settings_of};
use crate::forge::host::Permission;
use crate::store::pulls::{BotCommand, BotCommandRow, BotEffect, BotReply, NewPost, PostKind, PullRow};
use crate::store::{CompletedRun, Run, RunRecord};

/// Answers all pending commands.
pub(super) fn answer_all(job: &PullJob<'_>) -> Result<(), JobError> {
    for told in job.pulls.database().due_bot_commands(job.id)? {
        let row = job.row()?;
        let answer = match &told.told {
            BotCommand::Comment { place, command } => execute(job, &row, &told, *place, command)?,
            BotCommand::ThreadResolved { root, resolved } => thread(job, &row, &told, *root, *resolved)?,
        };
        let CommandResult { effect, posts } = answer;
        let (at_ms, who) = (job.pulls.now(), told.who.clone());
        let answered = BotReply { told: told.id, told_ms: told.at_ms, who, effect, posts, at_ms };
        fenced(job.pulls.database().store_bot_reply(job.token, answered))?;
    }
    Ok(())
}

/// The effect of a command, and the posts that answer it.
struct CommandResult {
    effect: BotEffect,
    posts: Vec<NewPost>,
}

impl CommandResult {
    fn nothing() -> Self {
        Self { effect: BotEffect::Nothing, posts: Vec::new() }
    }
}

/// Executes a command in a comment.
fn execute(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    place: CommentRef,
    command: &Command,
) -> Result<CommandResult, JobError> {
    let to = ReplyTarget { comment: place.comment(), mention: &job.me.mention };
    let answer = |effect: BotEffect, body: String| CommandResult { effect, posts: vec![reply_to(row, place, body)] };
    if command.needs_write() && !may_write(job, &told.who)? {
        return Ok(answer(BotEffect::Nothing, reply::no_permission(&to)));
    }
    let review = |whole| answer(BotEffect::Review { whole }, reply::review_started(&to, None, whole));
    Ok(match command {
        Command::Review => review(false),
        Command::FullReview => review(true),
        Command::Pause => answer(BotEffect::Pause, reply::paused(&to)),
        Command::Resume => answer(BotEffect::Resume, reply::resumed(&to)),
        Command::Help => answer(BotEffect::Nothing, reply::help(&to)),
        Command::Unknown { words } => answer(BotEffect::Nothing, reply::unknown(&to, words)),
        Command::Explain { finding } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((_, finding)) => {
                let rule = finding.origin.rule.as_deref().and_then(catalog::find).map(|rule| rule.why);
                answer(BotEffect::Nothing, reply::explain(&to, &finding, rule))
            }
            Err(body) => answer(BotEffect::Nothing, body),
        },
        Command::Dismiss { finding, reason } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((run, finding)) => match dismissal(&finding, reason) {
                Some(dismissal) => {
                    let mut answer = dismiss(job, row, told, run, dismissal)?;
                    answer.posts.push(reply_to(row, place, reply::dismissed(&to, &finding, reason)));
                    answer
                }
                None => answer(BotEffect::Nothing, reply::needs_reason(&to, &finding)),
            },
            Err(body) => answer(BotEffect::Nothing, body),
        },
    })
}

/// Resolving one of our threads dismisses its finding; reopening it withdraws the dismissal.
fn thread(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    root: u64,
    resolved: bool,
) -> Result<CommandResult, JobError> {
    let Some(key) = key_of(job, root)? else { return Ok(CommandResult::nothing()) };
    if !may_write(job, &told.who)? {
        return Ok(CommandResult::nothing());
    }
    if !resolved {
        let repository = job.pulls.site().subject(&job.repo, job.number).repository;
        return Ok(CommandResult {
            effect: BotEffect::Withdraw { repository, fingerprint: key.fingerprint() },
            posts: Vec::new(),
        });
    }
    let Some(run) = last_run(job, row)? else { return Ok(CommandResult::nothing()) };
    let findings = run.review.as_ref().map(|review| review.findings.as_slice()).unwrap_or_default();
    let finding = FindingKey::find(findings, &key.to_string()).and_then(|index| findings.get(index));
    // Dismissing a Critical finding needs a reason, which a click does not give.
    let Some(finding) = finding.filter(|finding| finding.severity != Severity::Critical) else {
        return Ok(CommandResult::nothing());
    };
    match dismissal(finding, &format!("the thread was resolved by {}", told.who)) {
        Some(dismissal) => dismiss(job, row, told, run, dismissal),
        None => Ok(CommandResult::nothing()),
    }
}

fn may_write(job: &PullJob<'_>, who: &str) -> Result<bool, JobError> {
    match job.host.permission(&job.repo, who) {
        Ok(permission) => Ok(permission >= Permission::Write),
        Err(error) if error.may_pass() => Err(error.into()),
        Err(_) => Ok(false),
    }
}

fn reply_to(row: &PullRow, place: CommentRef, body: String) -> NewPost {
    // A reply belongs to its comment; the commit is only informative.
    Post::reply(&row.head.clone().unwrap_or_else(Sha::null), place, body).stored()
}

/// The last completed review.
fn last_run(job: &PullJob<'_>, row: &PullRow) -> Result<Option<Run>, JobError> {
    let run = row.run.map(|run| job.pulls.database().review_run(run)).transpose()?;
    Ok(run.flatten().filter(|run| run.review.is_some()))
}

/// Finds the named finding and its review; the error is the reply.
fn found(
    job: &PullJob<'_>,
    row: &PullRow,
    place: CommentRef,
    named: Option<&str>,
    to: &ReplyTarget<'_>,
) -> Result<Result<(Run, Finding), String>, JobError> {
    let Some(run) = last_run(job, row)? else { return Ok(Err(reply::no_review(to))) };
    let findings = run.review.as_ref().map(|review| review.findings.clone()).unwrap_or_default();
    let named = match (named, place) {
        (Some(named), _) => Some(named.to_owned()),
        (None, CommentRef::Thread { root, .. }) => key_of(job, root)?.map(|key| key.to_string()),
        (None, CommentRef::Conversation(_)) => None,
    };
    let index = named.as_deref().and_then(|named| FindingKey::find(&findings, named));
    Ok(match index.and_then(|index| findings.get(index).cloned()) {
        Some(finding) => Ok((run, finding)),
        None => Err(reply::no_such_finding(to, named.as_deref(), &findings)),
    })
}

/// The finding of one of our review comments.
fn key_of(job: &PullJob<'_>, comment: u64) -> Result<Option<FindingKey>, JobError> {
    let comments = job.host.line_comments(&job.repo, job.number)?;
    let root = comments.iter().find(|known| known.id == comment && job.me.wrote(&known.author));
    let marks = root.map(|root| Marker::all_in(&root.body)).unwrap_or_default();
    Ok(marks.into_iter().find_map(|mark| match mark {
        Marker::Finding { key } => Some(key),
        Marker::Summary { .. } | Marker::Review { .. } | Marker::Reply { .. } | Marker::Note { .. } => None,
    }))
}

/// A dismissal; `None` without a reason.
fn dismissal(finding: &Finding, reason: &str) -> Option<Dismissal> {
    let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
    let reason = reason.trim();
    if reason.is_empty() {
        return None;
    }
    Dismissal::parse(file, title, finding.evidence.clone(), reason.to_owned(), "").ok()
}

/// Dismisses a finding and re-evaluates its review, without asking models again.
fn dismiss(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    run: Run,
    dismissal: Dismissal,
) -> Result<CommandResult, JobError> {
    let subject = job.pulls.site().subject(&job.repo, job.number);
    let repository = subject.repository.clone();
    let Run { review, n_added, snapshot, prior, .. } = run;
    let Some(review) = review else { return Ok(CommandResult::nothing()) };
    let review = without(*review, &dismissal, &told.who);
    let settings = settings_of(job, row);
    let gate = gate::check(&review, settings.fail_on);
    let is_current = row.head.as_ref() == Some(&review.reviewed);
    let has_summary = job.pulls.database().posts(job.id)?.iter().any(|row| row.post.kind == PostKind::Summary);
    let mut posts = Vec::new();
    if is_current {
        let judged = compose::ReevaluatedReview {
            review: &review,
            gate,
            settings: &settings,
            mention: &job.me.mention,
            has_summary,
            details_url: super::work::details_url(job, &review.reviewed),
        };
        posts.extend(judged.posts().iter().map(Post::stored));
    }
    let now = job.pulls.now();
    let completed = CompletedRun {
        review,
        gate,
        n_added: usize::try_from(n_added).unwrap_or(usize::MAX),
        snapshot: snapshot.unwrap_or_default(),
        prior,
        new: None,
    };
    let record = RunRecord::completed(completed, subject, (now, now));
    let effect = BotEffect::Dismiss { repository, dismissal: Box::new(dismissal), record: Some(Box::new(record)) };
    Ok(CommandResult { effect, posts })
}

/// Moves the dismissed findings of a review to its withheld ones.
fn without(mut review: Review, dismissal: &Dismissal, who: &str) -> Review {
    let (dismissed, kept): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(&mut review.findings).into_iter().partition(|finding| dismissal.covers(finding));
    review.findings = kept;
    let (by, reason) = (format!("a dismissal by {who}"), Some(dismissal.reason.clone()));
    let why = || Withheld::Suppressed { by: by.clone(), reason: reason.clone() };
    let dismissed = dismissed.into_iter().map(|finding| WithheldFinding { finding, why: why() });
    review.withheld.splice(0..0, dismissed);
    let withheld = review.withheld.iter_mut().map(|withheld| &mut withheld.finding);
    for (index, finding) in review.findings.iter_mut().chain(withheld).enumerate() {
        finding.id = FindingId::at(index);
    }
    review
}
