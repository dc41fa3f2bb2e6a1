//! Bot commands in pull request comments: executed and answered exactly once.
//!
//! Commands that change something need write permission at the host. The effect and the reply are stored in one
//! transaction, so that a crash neither loses the reply nor repeats the effect.

use std::collections::{BTreeSet, HashMap};

use tollgate_core::finding::{Finding, FindingId, Severity};
use tollgate_core::finding_key::FindingKey;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_core::gate;
use tollgate_core::pull::command::{self, Command};
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::reply::{self, ReplyTarget};
use tollgate_core::pull::webhook_event::CommentRef;
use tollgate_core::review::{Review, Suppressor, Withheld, WithheldFinding};
use tollgate_core::sha::Sha;
use tollgate_core::suppress::{self, Dismissal};
use tollgate_rules::catalog;

use super::compose;
use super::post::Post;
use super::publish::{self, JobError};
use super::work::{PullJob, fenced, settings_of};
use crate::forge::host::{Comment, Permission};
use crate::party::Party;
use crate::pipeline::MovedDelta;
use crate::store::pulls::{BotCommand, BotCommandRow, BotEffect, BotReply, NewPost, PostKind, PullRow};
use crate::store::{CompletedRun, DismissalRow, NewDismissal, Run, RunRecord, Subject};
use crate::timestamp::iso;

/// The most characters of a reason that is taken from a thread.
const MAX_REASON: usize = 1000;

/// The most reviews of a pull request in which the number of a finding is looked up.
const MAX_RUNS: u32 = 100;

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
    // A bot only gets here to propose a dismissal, which has no effect by itself.
    if command.needs_write() && !told.is_by_bot() && !may_write(job, &told.who)? {
        // Anybody can write a comment: a reply to each would let strangers write by our hand.
        let is_author = told.who == job.pull()?.author;
        let refusal = || answer(BotEffect::Nothing, reply::no_permission(&to));
        return Ok(if is_author { refusal() } else { CommandResult::nothing() });
    }
    let is_about_reviews =
        matches!(command, Command::Review | Command::FullReview | Command::Pause | Command::Resume | Command::Help);
    if is_about_reviews && !job.pull()?.is_open {
        let body = if *command == Command::Help { reply::help_when_closed(&to) } else { reply::closed(&to) };
        return Ok(answer(BotEffect::Nothing, body));
    }
    let review = |whole| answer(BotEffect::Review { whole }, reply::review_queued(&to, None, whole));
    Ok(match command {
        Command::Review => review(false),
        Command::FullReview => review(true),
        Command::Pause => answer(BotEffect::Pause, reply::paused(&to)),
        Command::Resume => answer(BotEffect::Resume, reply::resumed(&to)),
        Command::Help => answer(BotEffect::Nothing, reply::help(&to)),
        Command::Unknown { words } => {
            let is_open = job.pull()?.is_open;
            let body = if is_open { reply::unknown(&to, words) } else { reply::unknown_when_closed(&to, words) };
            answer(BotEffect::Nothing, body)
        }
        Command::Explain { finding } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((_, finding)) => {
                let rule = finding.origin.rule.as_deref().and_then(catalog::find).map(|rule| rule.why);
                answer(BotEffect::Nothing, reply::explain(&to, &finding, rule))
            }
            Err(body) => answer(BotEffect::Nothing, body),
        },
        Command::Dismiss { finding, reason, everywhere } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((run, finding)) => dismiss_named(job, row, told, place, (run, finding), (reason, *everywhere))?,
            Err(body) => answer(BotEffect::Nothing, body),
        },
        Command::Confirm { finding } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((run, finding)) => match proposal_of(job, &finding)? {
                Some(proposal) => {
                    let said = (proposal.dismissal.reason.as_str(), proposal.subject.is_none());
                    dismiss_named(job, row, told, place, (run, finding), said)?
                }
                None => answer(BotEffect::Nothing, reply::no_proposal(&to, &finding)),
            },
            Err(body) => answer(BotEffect::Nothing, body),
        },
        Command::Reject { finding } => match found(job, row, place, finding.as_deref(), &to)? {
            Ok((_, finding)) => match proposal_of(job, &finding)? {
                Some(_) => {
                    let fingerprint = Fingerprint::of(&finding);
                    let effect = BotEffect::RejectProposal { subject: subject(job), fingerprint };
                    answer(effect, reply::rejected(&to, &finding))
                }
                None => answer(BotEffect::Nothing, reply::no_proposal(&to, &finding)),
            },
            Err(body) => answer(BotEffect::Nothing, body),
        },
    })
}

/// Dismisses a finding with a reason, or has that proposed when a bot says so, and replies.
fn dismiss_named(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    place: CommentRef,
    (run, finding): (Run, Finding),
    (reason, everywhere): (&str, bool),
) -> Result<CommandResult, JobError> {
    let to = ReplyTarget { comment: place.comment(), mention: &job.me.mention };
    let Ok(dismissal) = Dismissal::of_finding(&finding, reason) else {
        let posts = vec![reply_to(row, place, reply::needs_reason(&to, &finding))];
        return Ok(CommandResult { effect: BotEffect::Nothing, posts });
    };
    if told.is_by_bot() {
        // A repeated proposal is not answered: two bots would talk forever.
        if proposal_of(job, &finding)?.is_some() {
            return Ok(CommandResult::nothing());
        }
        let posts = vec![reply_to(row, place, reply::proposed(&to, &finding, reason))];
        let party = Party::Agent(told.who.clone());
        let new = Box::new(NewDismissal { dismissal, party, subject: subject(job), everywhere });
        return Ok(CommandResult { effect: BotEffect::Dismiss { dismissal: new, record: None }, posts });
    }
    let mut answer = dismiss(job, row, told, run, (dismissal, everywhere))?;
    let body = match everywhere {
        true => reply::dismissed_everywhere(&to, &finding, reason),
        false => reply::dismissed(&to, &finding, reason),
    };
    answer.posts.push(reply_to(row, place, body));
    Ok(answer)
}

fn subject(job: &PullJob<'_>) -> Subject {
    job.pulls.site().subject(&job.repo, job.number)
}

/// The dismissal of a finding that a bot proposed.
fn proposal_of(job: &PullJob<'_>, finding: &Finding) -> Result<Option<DismissalRow>, JobError> {
    let subject = subject(job);
    let proposals = job.pulls.database().proposals(&subject.repository)?;
    let is_it = |row: &DismissalRow| row.is_for(&subject.name) && row.dismissal.is_of(finding);
    Ok(proposals.into_iter().find(is_it))
}

/// Resolving one of our threads dismisses its finding with what the person who resolves it last said there; reopening it
/// withdraws the dismissal at once. A blocker without a word stays, and a Critical needs the command.
fn thread(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    root: u64,
    resolved: bool,
) -> Result<CommandResult, JobError> {
    let Some(key) = key_of(job, root)? else { return Ok(CommandResult::nothing()) };
    // Our own resolution is no dismissal, and neither is a person's click where the finding is gone already.
    let is_ours = told.who.eq_ignore_ascii_case(&job.me.login);
    if is_ours || publish::says_resolved(&job.host.line_comments(&job.repo, job.number)?, &job.me, root) {
        return Ok(CommandResult::nothing());
    }
    if !may_write(job, &told.who)? {
        return Ok(CommandResult::nothing());
    }
    let run = last_run(job, row)?;
    if !resolved {
        return withdraw(job, row, run, key);
    }
    let Some(run) = run else { return Ok(CommandResult::nothing()) };
    let findings = run.review.as_ref().map(|review| review.findings.as_slice()).unwrap_or_default();
    let finding = FindingKey::find(findings, &key.to_string()).and_then(|index| findings.get(index));
    let Some(finding) = finding else { return Ok(CommandResult::nothing()) };
    let said = last_words(job, root, &told.who)?.filter(|_| finding.severity != Severity::Critical);
    let click = || (!finding.severity.blocks()).then(|| format!("the thread was resolved by {}", told.who));
    match said.or_else(click).and_then(|reason| Dismissal::of_finding(finding, &reason).ok()) {
        Some(dismissal) => dismiss(job, row, told, run, (dismissal, false)),
        None => {
            let place = CommentRef::Thread { comment: root, root };
            let to = ReplyTarget { comment: root, mention: &job.me.mention };
            let posts = vec![reply_to(row, place, reply::resolved_without_reason(&to, finding))];
            Ok(CommandResult { effect: BotEffect::Nothing, posts })
        }
    }
}

/// The last words in a thread of the person who resolves it. Commands are no reason, and neither is what others say.
fn last_words(job: &PullJob<'_>, root: u64, resolver: &str) -> Result<Option<String>, JobError> {
    let comments = job.host.line_comments(&job.repo, job.number)?;
    let is_word = |comment: &&Comment| {
        comment.answers == Some(root)
            && !comment.author.is_bot
            && comment.author.login.eq_ignore_ascii_case(resolver)
            && command::parse(&comment.body, &job.me.mention).is_none()
    };
    let mut words = comments.iter().rev().filter(is_word);
    let words = words.find_map(|comment| suppress::reason(&comment.body).ok());
    Ok(words.map(|said| said.chars().take(MAX_REASON).collect()))
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
    let Some(run) = last_run(job, row)? else {
        let is_open = job.pull()?.is_open;
        return Ok(Err(if is_open { reply::no_review(to) } else { reply::no_review_when_closed(to) }));
    };
    let findings = run.review.as_ref().map(|review| review.findings.clone()).unwrap_or_default();
    let of_thread = match place {
        CommentRef::Thread { root, .. } => key_of(job, root)?.map(|key| key.to_string()),
        CommentRef::Conversation(_) => None,
    };
    let named = match named.map(|named| (named, FindingId::parse(named))) {
        Some((named, Some(id))) => {
            let meant = keys_of_number(job, id)?;
            match of_thread.filter(|key| meant.contains(key)).or_else(|| only(&meant)) {
                Some(key) => Some(key),
                None if meant.is_empty() => Some(named.to_owned()),
                None => return Ok(Err(reply::ambiguous_number(to, named, &findings))),
            }
        }
        Some((named, None)) => Some(named.to_owned()),
        None => of_thread,
    };
    let index = named.as_deref().and_then(|named| FindingKey::find(&findings, named));
    Ok(match index.and_then(|index| findings.get(index).cloned()) {
        Some(finding) => Ok((run, finding)),
        None => Err(reply::no_such_finding(to, named.as_deref(), &findings)),
    })
}

/// The keys of the findings that a number named in the reviews of a pull request.
///
/// The number of a finding is its place in the list of one review, and a person may have read any of them.
fn keys_of_number(job: &PullJob<'_>, id: FindingId) -> Result<BTreeSet<String>, JobError> {
    let runs = job.pulls.database().runs_of(&subject(job), MAX_RUNS)?;
    let reviews = runs.iter().filter_map(|run| run.review.as_ref());
    let key_in = |review: &Review| {
        let place = review.findings.iter().position(|finding| finding.id == id)?;
        FindingKey::all(&review.findings).get(place).map(ToString::to_string)
    };
    Ok(reviews.filter_map(|review| key_in(review)).collect())
}

/// The only element of a set.
fn only(keys: &BTreeSet<String>) -> Option<String> {
    keys.first().filter(|_| keys.len() == 1).cloned()
}

/// The finding of one of our review comments.
fn key_of(job: &PullJob<'_>, comment: u64) -> Result<Option<FindingKey>, JobError> {
    let comments = job.host.line_comments(&job.repo, job.number)?;
    let root = comments.iter().find(|known| known.id == comment && job.me.wrote(&known.author));
    let marks = root.map(|root| Marker::all_in(&root.body)).unwrap_or_default();
    Ok(marks.iter().find_map(Marker::finding))
}

/// Dismisses a finding in the name of a person and re-evaluates its review, without asking models again.
fn dismiss(
    job: &PullJob<'_>,
    row: &PullRow,
    told: &BotCommandRow,
    run: Run,
    (dismissal, everywhere): (Dismissal, bool),
) -> Result<CommandResult, JobError> {
    let subject = subject(job);
    let mut dismissal = dismissal.made(Some(&told.who), iso(job.pulls.now()), everywhere);
    let is_confirmed =
        |row: &DismissalRow| row.is_for(&subject.name) && row.dismissal.fingerprint == dismissal.fingerprint;
    let proposal = job.pulls.database().proposals(&subject.repository)?.into_iter().find(is_confirmed);
    dismissal.confirms(proposal.and_then(|proposal| proposal.who).as_deref());
    let Some((record, posts)) = reevaluated(job, row, run, |review| Some(without(review, &dismissal)))? else {
        return Ok(CommandResult::nothing());
    };
    let party = Party::Person(told.who.clone());
    let dismissal = Box::new(NewDismissal { dismissal, party, subject, everywhere });
    Ok(CommandResult { effect: BotEffect::Dismiss { dismissal, record: Some(record) }, posts })
}

/// Withdraws the dismissal of a finding, which counts again at once.
fn withdraw(job: &PullJob<'_>, row: &PullRow, run: Option<Run>, key: FindingKey) -> Result<CommandResult, JobError> {
    let again = match run {
        Some(run) => reevaluated(job, row, run, |review| with(review, key))?,
        None => None,
    };
    let (record, posts) = again.map_or((None, Vec::new()), |(record, posts)| (Some(record), posts));
    let effect = BotEffect::Withdraw { subject: subject(job), fingerprint: key.fingerprint(), record };
    Ok(CommandResult { effect, posts })
}

/// A review to store, and what to post of it.
type Rendered = (Box<RunRecord>, Vec<NewPost>);

/// Stores a review again after one of its findings was dismissed or counts again, and renders it, without asking models.
fn reevaluated(
    job: &PullJob<'_>,
    row: &PullRow,
    run: Run,
    change: impl FnOnce(Review) -> Option<Review>,
) -> Result<Option<Rendered>, JobError> {
    let (subject, now) = (subject(job), job.pulls.now());
    let Run { review, n_added, snapshot, prior, .. } = run;
    let Some(review) = review.and_then(|review| change(*review)) else { return Ok(None) };
    let settings = settings_of(job, row);
    let gate = gate::check(&review, settings.fail_on);
    let is_current = row.head.as_ref() == Some(&review.reviewed);
    let has_summary = job.pulls.database().posts(job.id)?.iter().any(|row| row.post.kind == PostKind::Summary);
    let mut posts = Vec::new();
    if is_current {
        let known = super::work::commented(job)?;
        let judged = compose::ReevaluatedReview {
            review: &review,
            gate,
            settings: &settings,
            mention: &job.me.mention,
            known: &known,
            has_summary,
            details_url: super::work::details_url(job, &review.reviewed),
        };
        posts.extend(judged.posts().iter().map(Post::stored));
    }
    let completed = CompletedRun {
        review,
        gate,
        n_added: usize::try_from(n_added).unwrap_or(usize::MAX),
        snapshot: snapshot.unwrap_or_default(),
        prior,
        new: None,
    };
    Ok(Some((Box::new(RunRecord::completed(completed, subject, (now, now))), posts)))
}

/// True for a finding in the file of a dismissal that it covers; equal code in other files is another finding.
fn is_dismissed(finding: &Finding, dismissal: &Dismissal) -> bool {
    finding.location.file == dismissal.file && dismissal.covers(finding)
}

/// Moves the dismissed findings of a review to its withheld ones.
fn without(mut review: Review, dismissal: &Dismissal) -> Review {
    let delta = MovedDelta::of(&review);
    let (dismissed, kept): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(&mut review.findings).into_iter().partition(|finding| is_dismissed(finding, dismissal));
    review.findings = kept;
    let why = || Withheld::Suppressed {
        by: dismissal.name.clone(),
        reason: Some(dismissal.reason.clone()),
        kind: dismissal.suppressor(),
    };
    let dismissed = dismissed.into_iter().map(|finding| WithheldFinding { finding, why: why() });
    review.withheld.splice(0..0, dismissed);
    renumbered(review, delta)
}

/// Moves the dismissed findings with a key back to those that count; `None` when there are none.
fn with(mut review: Review, key: FindingKey) -> Option<Review> {
    let delta = MovedDelta::of(&review);
    let is_it = |held: &WithheldFinding| {
        let is_dismissed = matches!(&held.why, Withheld::Suppressed { kind: Suppressor::Dismissal { .. }, .. });
        let prints = [FindingKey::of(&held.finding).fingerprint(), Fingerprint::of(&held.finding)];
        is_dismissed && prints.contains(&key.fingerprint())
    };
    let (again, withheld): (Vec<WithheldFinding>, Vec<WithheldFinding>) =
        std::mem::take(&mut review.withheld).into_iter().partition(is_it);
    if again.is_empty() {
        return None;
    }
    review.withheld = withheld;
    review.findings.extend(again.into_iter().map(|held| held.finding));
    review.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Some(renumbered(review, delta))
}

/// Numbers the findings of a review in their order, also in its delta.
fn renumbered(mut review: Review, delta: Option<MovedDelta>) -> Review {
    let withheld = review.withheld.iter_mut().map(|withheld| &mut withheld.finding);
    let mut numbers = HashMap::new();
    for (index, finding) in review.findings.iter_mut().chain(withheld).enumerate() {
        let before = std::mem::replace(&mut finding.id, FindingId::at(index));
        numbers.insert(before, finding.id);
    }
    if let Some(delta) = delta {
        delta.store(&mut review, &numbers);
    }
    review
}
