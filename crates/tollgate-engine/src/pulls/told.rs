//! What people say to us on a pull request is done and answered, each thing once.
//!
//! What changes something takes the right to write, which the host is asked about. What follows and the answer are stored
//! together, so that a crash neither forgets the answer nor does the thing twice.

use tollgate_core::finding::{Finding, FindingId, Severity};
use tollgate_core::gate;
use tollgate_core::pull::ask::Place;
use tollgate_core::pull::command::Command;
use tollgate_core::pull::key::Key;
use tollgate_core::pull::mark::Mark;
use tollgate_core::pull::reply::{self, To};
use tollgate_core::review::{Review, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::Dismissal;
use tollgate_rules::catalog;

use super::post::Post;
use super::present;
use super::publish::Stop;
use super::work::{Job, fenced, settings_of};
use crate::forge::host::Permission;
use crate::store::pulls::{BotCommand, BotCommandRow, BotEffect, BotReply, NewPost, PostKind, PullRow};
use crate::store::{Record, Reviewed, Run};

/// Answers all that we were told and have not answered.
pub(super) fn answer_all(job: &Job<'_>) -> Result<(), Stop> {
    for told in job.pulls.database().due_bot_commands(job.id)? {
        let row = job.row()?;
        let answer = match &told.told {
            BotCommand::Comment { place, command } => said(job, &row, &told, *place, command)?,
            BotCommand::ThreadResolved { root, resolved } => thread(job, &row, &told, *root, *resolved)?,
        };
        let Answer { effect, posts } = answer;
        let (at_ms, who) = (job.pulls.now(), told.who.clone());
        let answered = BotReply { told: told.id, who, effect, posts, at_ms };
        fenced(job.pulls.database().store_bot_reply(job.token, answered))?;
    }
    Ok(())
}

/// What follows from something, and what is to be seen of it.
struct Answer {
    effect: BotEffect,
    posts: Vec<NewPost>,
}

impl Answer {
    fn nothing() -> Self {
        Self { effect: BotEffect::Nothing, posts: Vec::new() }
    }
}

/// A command in a comment.
fn said(job: &Job<'_>, row: &PullRow, told: &BotCommandRow, place: Place, command: &Command) -> Result<Answer, Stop> {
    let to = To { comment: place.comment(), mention: &job.me.mention };
    let answer = |effect: BotEffect, body: String| Answer { effect, posts: vec![reply_to(row, place, body)] };
    if command.needs_write() && !may_write(job, &told.who)? {
        return Ok(answer(BotEffect::Nothing, reply::no_permission(&to)));
    }
    let review = |whole| answer(BotEffect::Review { whole }, reply::begun(&to, None, whole));
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

/// A thread of ours that was resolved is a finding that somebody looked at, and one that was opened again is not.
fn thread(job: &Job<'_>, row: &PullRow, told: &BotCommandRow, root: u64, resolved: bool) -> Result<Answer, Stop> {
    let Some(key) = key_of(job, root)? else { return Ok(Answer::nothing()) };
    if !may_write(job, &told.who)? {
        return Ok(Answer::nothing());
    }
    if !resolved {
        let repository = job.pulls.site().subject(&job.repo, job.number).repository;
        return Ok(Answer {
            effect: BotEffect::Withdraw { repository, fingerprint: key.fingerprint() },
            posts: Vec::new(),
        });
    }
    let Some(run) = last_run(job, row)? else { return Ok(Answer::nothing()) };
    let findings = run.review.as_ref().map(|review| review.findings.as_slice()).unwrap_or_default();
    let finding = Key::find(findings, &key.to_string()).and_then(|index| findings.get(index));
    // A Critical takes a reason, and a click gives none.
    let Some(finding) = finding.filter(|finding| finding.severity != Severity::Critical) else {
        return Ok(Answer::nothing());
    };
    match dismissal(finding, &format!("the thread was resolved by {}", told.who)) {
        Some(dismissal) => dismiss(job, row, told, run, dismissal),
        None => Ok(Answer::nothing()),
    }
}

fn may_write(job: &Job<'_>, who: &str) -> Result<bool, Stop> {
    match job.host.permission(&job.repo, who) {
        Ok(permission) => Ok(permission >= Permission::Write),
        Err(error) if error.may_pass() => Err(error.into()),
        Err(_) => Ok(false),
    }
}

fn reply_to(row: &PullRow, place: Place, body: String) -> NewPost {
    // An answer is about what was said; the commit only says when.
    Post::reply(&row.head.clone().unwrap_or_else(Sha::null), place, body).stored()
}

/// The last review that found something out.
fn last_run(job: &Job<'_>, row: &PullRow) -> Result<Option<Run>, Stop> {
    let run = row.run.map(|run| job.pulls.database().review_run(run)).transpose()?;
    Ok(run.flatten().filter(|run| run.review.is_some()))
}

/// The finding that is meant, with the review it is in; or what is to be answered when there is none.
fn found(
    job: &Job<'_>,
    row: &PullRow,
    place: Place,
    named: Option<&str>,
    to: &To<'_>,
) -> Result<Result<(Run, Finding), String>, Stop> {
    let Some(run) = last_run(job, row)? else { return Ok(Err(reply::no_review(to))) };
    let findings = run.review.as_ref().map(|review| review.findings.clone()).unwrap_or_default();
    let named = match (named, place) {
        (Some(named), _) => Some(named.to_owned()),
        (None, Place::Thread { root, .. }) => key_of(job, root)?.map(|key| key.to_string()),
        (None, Place::Conversation(_)) => None,
    };
    let index = named.as_deref().and_then(|named| Key::find(&findings, named));
    Ok(match index.and_then(|index| findings.get(index).cloned()) {
        Some(finding) => Ok((run, finding)),
        None => Err(reply::no_such_finding(to, named.as_deref(), &findings)),
    })
}

/// The finding that a comment of ours is about.
fn key_of(job: &Job<'_>, comment: u64) -> Result<Option<Key>, Stop> {
    let comments = job.host.line_comments(&job.repo, job.number)?;
    let root = comments.iter().find(|known| known.id == comment && job.me.wrote(&known.author));
    let marks = root.map(|root| Mark::all_in(&root.body)).unwrap_or_default();
    Ok(marks.into_iter().find_map(|mark| match mark {
        Mark::Finding { key } => Some(key),
        Mark::Summary { .. } | Mark::Review { .. } | Mark::Reply { .. } | Mark::Note { .. } => None,
    }))
}

/// `None` without a reason.
fn dismissal(finding: &Finding, reason: &str) -> Option<Dismissal> {
    let (file, title) = (finding.location.file.as_str(), finding.summary.as_str());
    let reason = reason.trim();
    if reason.is_empty() {
        return None;
    }
    Dismissal::parse(file, title, finding.evidence.clone(), reason.to_owned(), "").ok()
}

/// A finding is not to be heard again. The review it was in is judged anew; nobody is asked again.
fn dismiss(job: &Job<'_>, row: &PullRow, told: &BotCommandRow, run: Run, dismissal: Dismissal) -> Result<Answer, Stop> {
    let subject = job.pulls.site().subject(&job.repo, job.number);
    let repository = subject.repository.clone();
    let Run { review, n_added, snapshot, prior, .. } = run;
    let Some(review) = review else { return Ok(Answer::nothing()) };
    let review = without(*review, &dismissal, &told.who);
    let settings = settings_of(job, row);
    let gate = gate::check(&review, settings.fail_on);
    let is_current = row.head.as_ref() == Some(&review.reviewed);
    let has_summary = job.pulls.database().posts(job.id)?.iter().any(|row| row.post.kind == PostKind::Summary);
    let mut posts = Vec::new();
    if is_current {
        let judged = present::Judged {
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
    let reviewed = Reviewed {
        review,
        gate,
        n_added: usize::try_from(n_added).unwrap_or(usize::MAX),
        snapshot: snapshot.unwrap_or_default(),
        prior,
        new: None,
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let record = Record { subject, time: (now, now), version, outcome: Ok(Box::new(reviewed)) };
    let effect = BotEffect::Dismiss { repository, dismissal: Box::new(dismissal), record: Some(Box::new(record)) };
    Ok(Answer { effect, posts })
}

/// The review without what was dismissed, which is kept as withheld.
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
