//! Reviews the head of a pull request, and stores the review with its outbox entries in one transaction.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tollgate_core::finding::Finding;
use tollgate_core::intent;
use tollgate_core::pull::check_run::CheckOutput;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::not_reviewed::{self, AuthorAccess, Notice};
use tollgate_core::report::head_state::SINCE_LAST;
use tollgate_core::sha::Sha;

use super::super::compose::{self, PostInputs};
use super::{JobError, LONGEST_REVIEW, Post, PostKind, PostState, PullJob, failure, fenced};
use crate::config::{Chosen, FILE_NAME, Settings};
use crate::failure::{Failure, Kind};
use crate::forge::git::Blob;
use crate::forge::host::{Permission, Pull};
use crate::forge::remote::{FetchRequest, Fetched, Remote};
use crate::pipeline::{self, Memory, ModelOptions, PullRequest, ReviewProgress, ReviewRequest, Reviewed, Runtime};
use crate::process;
use crate::store::pulls::{Finished, PostRow, PullRow, Quota, ReviewKey};
use crate::store::{CompletedRun, RunRecord, Subject};

mod quota;

/// The maximum number of attempts.
const MAX_TRIES: u32 = 3;
/// The backoff after a failed review, multiplied by four each time.
const AGAIN_MS: u64 = 5_000;
/// The maximum size of a settings file.
const MAX_SETTINGS: u64 = 1024 * 1024;

/// The result of a review job.
pub(super) enum ReviewResult {
    /// The result is stored.
    Stored,
    /// The lease was released: the review is postponed, or nothing is left to publish.
    Released,
    /// Superseded by a newer request.
    NotWanted,
}

/// A finished request without posts.
pub(super) fn nothing(up_to: i64, problem: Option<String>, at_ms: u64) -> Finished {
    let (record, reviewed, posts) = (None, None, Vec::new());
    Finished { up_to, record, reviewed, posts, is_closed: problem.is_some(), problem, at_ms }
}

/// Reviews the head, or posts why there is no review.
pub(super) fn review(job: &PullJob<'_>, row: &PullRow) -> Result<ReviewResult, JobError> {
    let pull = match job.pull() {
        // The pull request does not exist or is not visible, so nothing can be posted.
        Err(JobError::Host(error)) if !error.may_pass() => {
            return finish(job, nothing(row.wanted, Some(error.message), job.pulls.now()));
        }
        pull => pull?,
    };
    process::crash_point("pull-fetched");
    if !pull.is_open {
        return closed(job, row, &pull.head);
    }
    job.take_up(&pull)?;
    let author = author(job, &pull)?;
    let skips = !row.is_asked_again() && intent::skips_review(&pull.title) && job.pulls.settings().allow_no_review;
    let begun = if skips { None } else { begin(job, row, &pull)? };
    let made = begun.map_or_else(|| make(job, row, &pull, author, skips), Ok);
    match made {
        Ok(ended) => Ok(ended),
        Err(JobError::Failure(why)) => failed(job, row, &pull, &why),
        Err(stop) => Err(stop),
    }
}

/// The author's permission; an unknown author has none.
fn author(job: &PullJob<'_>, pull: &Pull) -> Result<AuthorAccess, JobError> {
    match job.host.permission(&job.repo, &pull.author) {
        Ok(Permission::Write) => Ok(AuthorAccess::Write),
        Ok(Permission::Read | Permission::None) => Ok(AuthorAccess::ReadOnly),
        Err(error) if error.may_pass() => Err(error.into()),
        Err(_) => Ok(AuthorAccess::ReadOnly),
    }
}

/// Creates the check run, unless the review is skipped, which is posted. An explicit request is never skipped.
fn begin(job: &PullJob<'_>, row: &PullRow, pull: &Pull) -> Result<Option<ReviewResult>, JobError> {
    let mention = &job.me.mention;
    if !row.is_asked_again() && row.paused_by.is_some() {
        return say(job, row, &pull.head, "paused", not_reviewed::paused(mention, row.paused_by.as_deref())).map(Some);
    }
    if !row.is_asked_again() && pull.is_draft {
        return say(job, row, &pull.head, "draft", not_reviewed::draft(mention)).map(Some);
    }
    begin_check(job, &pull.head)?;
    Ok(None)
}

/// Posts why there is no review: a check run, and for some reasons a comment.
fn say(job: &PullJob<'_>, row: &PullRow, head: &Sha, word: &str, note: Notice) -> Result<ReviewResult, JobError> {
    let mut posts = vec![Post::check(head, Some(note.conclusion), note.check, None).stored()];
    posts.extend(note.comment.map(|comment| Post::note(head, word, comment).stored()));
    let reviewed = Some(ReviewKey { head: head.clone(), key: word.to_owned() });
    finish(job, Finished { posts, reviewed, ..nothing(row.wanted, None, job.pulls.now()) })
}

/// Completes pending check runs of a closed pull request.
fn closed(job: &PullJob<'_>, row: &PullRow, head: &Sha) -> Result<ReviewResult, JobError> {
    let note = not_reviewed::closed();
    let rows = job.pulls.database().posts(job.id)?;
    let going_on = rows.into_iter().filter(|row| row.post.kind == PostKind::Check && !row.post.is_final);
    let end = |head: Sha| Post::check(&head, Some(note.conclusion), note.check.clone(), None).stored();
    let posts = going_on.map(|row| end(row.post.head)).collect();
    // Unpublished entries are dropped; a reopened pull request is reviewed again.
    let reviewed = Some(ReviewKey { head: head.clone(), key: "closed".to_owned() });
    finish(job, Finished { posts, reviewed, is_closed: true, ..nothing(row.wanted, None, job.pulls.now()) })
}

/// Creates the check run of a head that has none.
fn begin_check(job: &PullJob<'_>, head: &Sha) -> Result<(), JobError> {
    let posts = job.pulls.database().posts(job.id)?;
    if posts.iter().any(|row| row.post.kind == PostKind::Check && row.post.head == *head) {
        return Ok(());
    }
    let (title, summary) = not_reviewed::in_progress(head);
    let text = CheckOutput { title, summary, annotations: Vec::new() };
    job.post_now(&Post::check(head, None, text, details_url(job, head).as_deref()))
}

/// The fetched commits and the settings.
struct FetchedChange {
    remote: Remote,
    fetched: Fetched,
    merge_base: Sha,
    settings: Settings,
    /// Notes about the review for its details.
    notes: Vec<String>,
}

/// Reviews the head. If the title asks to skip, only the settings are read, to see whether the project allows it.
fn make(
    job: &PullJob<'_>,
    row: &PullRow,
    pull: &Pull,
    author: AuthorAccess,
    skips: bool,
) -> Result<ReviewResult, JobError> {
    let cancel = job.watch.begin(row.wanted);
    let mut compared = match compare(job, row, pull, &cancel) {
        Err(_) if cancel.is_cancelled() => return stopped(job, row, pull),
        compared => compared?,
    };
    process::crash_point("pull-commits-fetched");
    if skips && compared.settings.allow_no_review {
        process::crash_point("pull-review-skipped");
        return say(job, row, &pull.head, "skipped", not_reviewed::skipped(&job.me.mention, &pull.head, author));
    }
    if skips && let Some(ended) = begin(job, row, pull)? {
        return Ok(ended);
    }
    let heeds_author = author == AuthorAccess::Write;
    let key = key(pull, &compared, heeds_author);
    let is_known = |key: &str| {
        let is_same = row.reviewed_head.as_ref() == Some(&pull.head) && row.reviewed_as.as_deref() == Some(key);
        is_same && !row.is_asked_again()
    };
    if is_known(&key) {
        return finish(job, nothing(row.wanted, None, job.pulls.now()));
    }
    if !compared.settings.automatic && !row.is_asked_again() {
        let note = not_reviewed::on_request(&job.me.mention);
        return say(job, row, &pull.head, "on-request", note);
    }
    let now = job.pulls.now();
    let (mut unasked, mut key) = (None, key);
    if !compared.settings.reviewers.is_empty() {
        match quota::ask(job, row, pull)? {
            Quota::Granted => {}
            Quota::RetryAt(next) => {
                fenced(job.pulls.database().put_off_review(job.token, next))?;
                return Ok(ReviewResult::Released);
            }
            Quota::Exhausted(spent) => {
                key.push_str(quota::UNASKED);
                if is_known(&key) {
                    return finish(job, nothing(row.wanted, None, now));
                }
                compared.notes.push(quota::note(spent, &job.me.mention));
                unasked = Some(quota::why(spent));
            }
        }
    }
    let subject = job.pulls.site().subject(&job.repo, job.number);
    // A failed review cancels its own token; a child token keeps that apart from being superseded.
    let reviewed = look(job, row, pull, &compared, (subject.clone(), heeds_author), (unasked, cancel.child_token()));
    if cancel.is_cancelled() {
        return stopped(job, row, pull);
    }
    conclude(job, row, &compared, &reviewed?, (subject, key, now))
}

/// The result of a cancelled review: superseded, or timed out.
fn stopped(job: &PullJob<'_>, row: &PullRow, pull: &Pull) -> Result<ReviewResult, JobError> {
    if job.watch.timed_out.load(Ordering::SeqCst) {
        let note = not_reviewed::timed_out(&job.me.mention, LONGEST_REVIEW.as_secs() / 60);
        return say(job, row, &pull.head, "timed-out", note);
    }
    Ok(ReviewResult::NotWanted)
}

fn compare(
    job: &PullJob<'_>,
    row: &PullRow,
    pull: &Pull,
    cancel: &CancellationToken,
) -> Result<FetchedChange, JobError> {
    let (pulls, host) = (job.pulls, &job.host);
    let authorization = host.git_authorization(&job.repo)?;
    let key = pulls.cache_key(job.installation, &job.repo);
    let url = host.clone_url(&job.repo);
    let git = pulls.home().git.clone();
    let remote = Remote::open(&pulls.cache(), &key, &url, authorization.as_ref(), git)?;
    let more: Vec<Sha> = row.reviewed_head.iter().filter(|head| **head != pull.head).cloned().collect();
    let (number, head, base) = (job.number, &pull.head, &pull.base);
    let wanted = FetchRequest { number, head, base_branch: &pull.base_branch, base, more: &more };
    let fetched = remote.fetch(&wanted, cancel)?;
    let merge_base = fetched.merge_base.clone().ok_or_else(|| failure::no_merge_base(&pull.base_branch))?;
    let mut settings = settings_at(job, &remote, &pull.base)?;
    let mut notes = Vec::new();
    if pull.is_fork(&job.repo) {
        // An agent has keys and tools, which a stranger's code must not reach.
        let left_out = settings.reviewers.extract_if(.., |chosen| chosen.is_agent());
        let says = |chosen: Chosen| format!("`{}` is an agent, and agents do not look at forks", chosen.name);
        notes.extend(left_out.map(says));
    }
    if row.reviewed_head.as_ref().is_some_and(|last| fetched.gone.contains(last)) {
        notes.push("the commit of the last review is gone, so all of the change was reviewed".to_owned());
    }
    Ok(FetchedChange { remote, fetched, merge_base, settings, notes })
}

/// The settings at a commit of the target branch, so that a pull request cannot change its own review.
pub(in crate::pulls) fn settings_at(job: &PullJob<'_>, remote: &Remote, commit: &Sha) -> Result<Settings, Failure> {
    let file = match remote.file(commit, FILE_NAME, MAX_SETTINGS)? {
        Some(Blob::Whole(text)) => Some(text),
        Some(Blob::Missing) | None => None,
        Some(Blob::TooLarge(_)) => return Err(failure::large_settings(FILE_NAME)),
    };
    job.pulls.home().settings_at(file)
}

/// A hash of everything a review depends on, except the answers of models.
fn key(pull: &Pull, compared: &FetchedChange, heeds_author: bool) -> String {
    let intent = intent::read(&pull.title, Some(&pull.body), &[], false);
    let tags: Vec<_> = intent.recognized().collect();
    let settings = &compared.settings;
    let values: Vec<String> = settings.shown.iter().map(|shown| format!("{} = {}", shown.key, shown.value)).collect();
    let declared = (tags, intent.is_breaking(), intent.is_fix(), heeds_author);
    let all = format!("{} {} {declared:?} {values:?} {}", pull.head, compared.merge_base, env!("CARGO_PKG_VERSION"));
    let hash = Sha256::digest(all.as_bytes());
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn look(
    job: &PullJob<'_>,
    row: &PullRow,
    pull: &Pull,
    compared: &FetchedChange,
    (subject, trusts_author): (Subject, bool),
    (disabled, cancel): (Option<String>, CancellationToken),
) -> Result<Reviewed, JobError> {
    let home = job.pulls.home();
    let settings = &compared.settings;
    if settings.reviewers.iter().any(Chosen::is_agent) {
        compared.remote.fetch_tree(&pull.head, &cancel)?;
    }
    let is_gone = row.reviewed_head.as_ref().is_some_and(|last| compared.fetched.gone.contains(last));
    let variable = |name: &str| std::env::var(name).ok();
    let tell = |event: ReviewProgress<'_>| match event {
        ReviewProgress::Fetched { .. } => process::crash_point("review-change-fetched"),
        ReviewProgress::Scanned { .. } => process::crash_point("review-files-scanned"),
        ReviewProgress::ModelProgress { .. } => process::crash_point("review-model-asked"),
        ReviewProgress::Output { .. } => {}
    };
    let range = format!("{}..{}", compared.merge_base, pull.head);
    let forge = compared.remote.local(&range, &pull.base)?;
    let since_last =
        !row.is_asked_whole() && !is_gone && last_head(job, row)?.is_some_and(|last| last != pull.head.as_str());
    let request = PullRequest { subject, title: &pull.title, body: &pull.body, trusts_author };
    let models = ModelOptions {
        disabled,
        prompts: Some(home.data.join("settings.json")),
        ..ModelOptions::new(&variable, cancel)
    };
    let runtime = Runtime {
        executable: home.executable.clone(),
        memory: job.pulls.database().store().map_or_else(Memory::Unavailable, Memory::Open),
        clock: &home.clock,
        events: &tell,
    };
    let mut request =
        ReviewRequest { since_last, ..ReviewRequest::for_pull(settings, forge, request, models, runtime) };
    let mut reviewed = pipeline::review_change(&mut request)?;
    for note in &compared.notes {
        reviewed.add_note(note);
    }
    Ok(reviewed)
}

/// The head of the last review. A second review of the same head covers all of it, since nothing is new.
fn last_head(job: &PullJob<'_>, row: &PullRow) -> Result<Option<String>, JobError> {
    let run = row.run.map(|run| job.pulls.database().review_run(run)).transpose()?;
    Ok(run.flatten().map(|run| run.head))
}

/// Stores the review with its outbox entries.
fn conclude(
    job: &PullJob<'_>,
    row: &PullRow,
    compared: &FetchedChange,
    reviewed: &Reviewed,
    (subject, key, started): (Subject, String, u64),
) -> Result<ReviewResult, JobError> {
    let database = job.pulls.database();
    let known = commented(job)?;
    let posts = database.posts(job.id)?;
    let has_summary = posts.iter().any(|row| row.post.kind == PostKind::Summary);
    let is_first_seen = reviewed.since.as_ref().is_some_and(|since| !was_seen(&posts, &since.head));
    let before: Vec<Finding> = match reviewed.since.as_ref() {
        Some(since) => database.review_run(since.run)?.and_then(|run| run.review).map(|it| it.findings),
        None => None,
    }
    .unwrap_or_default();
    let details_url = details_url(job, &reviewed.review.reviewed);
    let posts = compose::posts(&PostInputs {
        reviewed,
        settings: &compared.settings,
        mention: Some(&job.me.mention),
        site_url: &job.pulls.site().url,
        repo: &job.repo,
        known: &known,
        has_summary,
        is_first_seen,
        before: &before,
        details_url: details_url.as_deref(),
    });
    let time = (started, job.pulls.now());
    // A dismissal renders the summary again from the stored review.
    let since = reviewed.since.as_ref().filter(|_| !is_first_seen);
    let review = pipeline::with_remembered_summary(reviewed, since);
    let mut completed = CompletedRun { review, ..reviewed.completed() };
    if is_first_seen {
        // The posts show no delta, so the stored review has none either.
        completed.review.extra.remove(SINCE_LAST);
    }
    let record = RunRecord::completed(completed, subject, time);
    let reviewed = ReviewKey { head: reviewed.review.reviewed.clone(), key };
    let finished = Finished {
        record: Some(Box::new(record)),
        reviewed: Some(reviewed),
        posts: posts.iter().map(Post::stored).collect(),
        ..nothing(row.wanted, None, job.pulls.now())
    };
    finish(job, finished)
}

/// False when a review of a commit had posts and none was published.
fn was_seen(posts: &[PostRow], head: &Sha) -> bool {
    let says = |kind| matches!(kind, PostKind::Review | PostKind::Inline | PostKind::Summary);
    let mut said = posts.iter().filter(|row| row.post.head == *head && says(row.post.kind)).peekable();
    said.peek().is_none() || said.any(|row| row.state == PostState::Done)
}

/// The keys of findings that have a comment of ours.
pub(in crate::pulls) fn commented(job: &PullJob<'_>) -> Result<BTreeSet<String>, JobError> {
    let comments = job.host.line_comments(&job.repo, job.number)?;
    let ours = comments.iter().filter(|comment| job.me.wrote(&comment.author));
    let keys = ours.flat_map(|comment| Marker::all_in(&comment.body)).filter_map(|mark| mark.finding());
    Ok(keys.map(|key| key.to_string()).collect())
}

/// The page of a commit's review, found by commit, since the review's number is not assigned yet.
pub(in crate::pulls) fn details_url(job: &PullJob<'_>, head: &Sha) -> Option<String> {
    let subject = job.pulls.site().subject(&job.repo, job.number);
    let url = job.pulls.site().public_url.as_deref().filter(|url| serves_pages(url))?;
    Some(format!("{url}/reviews?repository={}&q={head}", subject.repository.replace('/', "%2F")))
}

/// True for an address without a path: pages link to one another from the root, so below a path they would not work.
fn serves_pages(public_url: &str) -> bool {
    public_url.split_once("://").is_some_and(|(_, host)| !host.trim_end_matches('/').contains('/'))
}

/// Retries a failed review with backoff; after the last attempt its check run reports the failure.
fn failed(job: &PullJob<'_>, row: &PullRow, pull: &Pull, why: &Failure) -> Result<ReviewResult, JobError> {
    let can_pass = !matches!(why.kind, Kind::User | Kind::Config);
    if can_pass && row.attempt + 1 < MAX_TRIES {
        let later = job.pulls.now().saturating_add(AGAIN_MS << (2 * row.attempt.min(8)));
        fenced(job.pulls.database().fail_review(job.token, &why.message, later))?;
        return Ok(ReviewResult::Released);
    }
    let now = job.pulls.now();
    let subject = job.pulls.site().subject(&job.repo, job.number);
    let note = not_reviewed::failed(&job.me.mention, &why.message, why.hint.as_deref());
    let check = Post::check(&pull.head, Some(note.conclusion), note.check, None).stored();
    let finished = Finished {
        record: Some(Box::new(RunRecord::failed(&why.message, subject, (now, now)))),
        reviewed: Some(ReviewKey { head: pull.head.clone(), key: "failed".to_owned() }),
        posts: vec![check],
        ..nothing(row.wanted, None, now)
    };
    finish(job, Finished { problem: Some(why.message.clone()), ..finished })
}

fn finish(job: &PullJob<'_>, finished: Finished) -> Result<ReviewResult, JobError> {
    // A job with posts keeps its lease and publishes them.
    let Some(next) = finished.posts.is_empty().then(|| (job.next)()).flatten() else {
        fenced(job.pulls.database().finish_review(job.token, finished))?;
        return Ok(ReviewResult::Stored);
    };
    let finished = fenced(job.pulls.database().finish_and_claim(job.token, finished, next))?;
    *job.claimed.borrow_mut() = finished.next;
    Ok(if finished.is_released { ReviewResult::Released } else { ReviewResult::Stored })
}
