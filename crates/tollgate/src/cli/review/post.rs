//! `tollgate review --pr URL --post`: publishes the review to the pull request, idempotently.
//!
//! Existing comments are found by the markers in them, so that a second run edits the summary and repeats no comment.
//! With a read-only token, as workflows get for pull requests from forks, the findings become annotations of the
//! workflow run and its step summary.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use tollgate_core::finding::Finding;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::not_reviewed::{self, AuthorAccess};
use tollgate_core::report;
use tollgate_core::sha::Sha;
use tollgate_engine::config::Settings;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::host::{self, BotIdentity, HostError, HostErrorKind};
use tollgate_engine::pipeline::{self, Reviewed};
use tollgate_engine::pulls::compose::{self, PostInputs};
use tollgate_engine::pulls::post::{Post, PostContent};
use tollgate_engine::pulls::publish::{JobError, MemoryOutbox, Published, Target, publish};

use super::pull::PullTarget;
use crate::cli::{failure, output};

/// The number of attempts on transient errors of the forge.
const MAX_TRIES: u32 = 3;
/// The longest rate-limit pause that is waited for.
const MAX_WAIT_MS: u64 = 60_000;
/// The delay after which the forge's lists contain a write whose response was lost.
const LAG_MS: u64 = 10_000;
const PAUSE_MS: u64 = 2_000;
/// GitHub's size limit for a step summary.
const MAX_SUMMARY: u64 = 1 << 20;

const READ_ONLY: &str = "note: the token is read-only, as for pull requests from forks; nothing was posted";

/// Posts a review, unless it is superseded by a newer commit. `before` are the findings of the prior review.
pub(super) fn post(
    found: &PullTarget,
    settings: &Settings,
    reviewed: &Reviewed,
    before: &[Finding],
) -> Result<(), Failure> {
    let Some(me) = ready(found)? else { return Ok(()) };
    let posts = posts(found, &me, settings, reviewed, before).map_err(HostError::into_failure)?;
    match send(found, settings, &me, posts)? {
        PostResult::All => Ok(()),
        PostResult::Forbidden => annotate(reviewed, settings),
    }
}

/// Posts that the review was skipped at the request of an author with write access.
pub(super) fn post_skipped(found: &PullTarget, settings: &Settings) -> Result<(), Failure> {
    let Some(me) = ready(found)? else { return Ok(()) };
    let head = &found.pull.head;
    let note = not_reviewed::skipped(&me.mention, head, AuthorAccess::Write);
    let comment = note.comment.map(|comment| Post::note(head, "skipped", comment));
    let check = Post::check(head, Some(note.conclusion), note.check, None);
    if send(found, settings, &me, comment.into_iter().chain([check]).collect())? == PostResult::Forbidden {
        output::say(READ_ONLY);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostResult {
    All,
    /// The token is read-only.
    Forbidden,
}

/// The identity of our token, if the pull request is still open at the reviewed commit.
fn ready(found: &PullTarget) -> Result<Option<BotIdentity>, Failure> {
    let now = found.host.pull(&found.at.repo, found.at.number).map_err(HostError::into_failure)?;
    if !now.is_open {
        output::say("note: nothing was posted: the pull request is closed");
        return Ok(None);
    }
    if now.head != found.pull.head {
        output::say("note: nothing was posted: superseded by a newer push");
        return Ok(None);
    }
    found.host.me().map(Some).map_err(HostError::into_failure)
}

fn send(found: &PullTarget, settings: &Settings, me: &BotIdentity, posts: Vec<Post>) -> Result<PostResult, Failure> {
    let check_name = settings.github.check_name(&settings.bot);
    let target = Target {
        host: found.host.as_ref(),
        me,
        repo: &found.at.repo,
        number: found.at.number,
        check_name: &check_name,
    };
    // Any token with write access may comment, but only apps may create checks.
    let (checks, texts): (Vec<Post>, Vec<Post>) =
        posts.into_iter().partition(|post| matches!(post.what, PostContent::Check { .. }));
    let published = publish_with_retries(&target, &texts)?;
    if is_forbidden(&published) && is_in_workflow() {
        return Ok(PostResult::Forbidden);
    }
    if let Some((_, error)) = published.refused.into_iter().next() {
        return Err(error.into_failure());
    }
    let checked = publish_with_retries(&target, &checks)?;
    if is_forbidden(&checked) {
        // The check is the only post of a clean review, so a fork is detected only here.
        if is_in_workflow() {
            return Ok(PostResult::Forbidden);
        }
        output::say("note: no check was created; only apps and workflow tokens may create one");
    } else if let Some((_, error)) = checked.refused.into_iter().next() {
        return Err(error.into_failure());
    }
    output::say(&format!("posted to {}", found.at));
    Ok(PostResult::All)
}

/// Renders the posts for the pull request.
fn posts(
    found: &PullTarget,
    me: &BotIdentity,
    settings: &Settings,
    reviewed: &Reviewed,
    before: &[Finding],
) -> Result<Vec<Post>, HostError> {
    let (repo, number) = (&found.at.repo, found.at.number);
    let key = |mark: Marker| mark.finding().map(|key| key.to_string());
    let at_lines = found.host.line_comments(repo, number)?.into_iter().map(|comment| (comment.author, comment.body));
    let known: BTreeSet<String> = marks(me, at_lines).into_iter().filter_map(key).collect();
    let said = found.host.comments(repo, number)?.into_iter().map(|comment| (comment.author, comment.body));
    let reviews = found.host.reviews(repo, number)?.into_iter().map(|review| (review.author, review.body));
    let said = marks(me, said.chain(reviews));
    let speaks_of =
        |mark: &Marker, of: &Sha| matches!(mark, Marker::Summary { head } | Marker::Review { head } if head == of);
    // A prior review that was never posted is not visible on the pull request.
    let is_seen = |last: &Sha| said.iter().any(|mark| speaks_of(mark, last));
    Ok(compose::posts(&PostInputs {
        reviewed,
        settings,
        // Nothing runs after this command that could answer bot commands.
        mention: None,
        site_url: &found.at.host,
        repo,
        known: &known,
        has_summary: said.iter().any(|mark| matches!(mark, Marker::Summary { .. })),
        is_first_seen: reviewed.since.as_ref().is_some_and(|since| !is_seen(&since.head)),
        before,
        details_url: None,
    }))
}

/// The markers in our own comments.
fn marks(me: &BotIdentity, texts: impl Iterator<Item = (host::Author, String)>) -> Vec<Marker> {
    texts.filter(|(author, _)| me.wrote(author)).flat_map(|(_, body)| Marker::all_in(&body)).collect()
}

/// Publishes with retries on transient errors. Each attempt first looks for already published posts.
fn publish_with_retries(target: &Target<'_>, posts: &[Post]) -> Result<Published, Failure> {
    let outbox = MemoryOutbox::default();
    let mut n_tries = 0;
    loop {
        n_tries += 1;
        match publish(target, posts, &outbox) {
            Ok(published) => return Ok(published),
            Err(JobError::Host(error)) if n_tries < MAX_TRIES && error.may_pass() => match backoff_ms(&error) {
                Some(ms) => std::thread::sleep(Duration::from_millis(ms)),
                None => return Err(error.into_failure()),
            },
            Err(JobError::Host(error)) => return Err(error.into_failure()),
            Err(JobError::Failure(failure)) => return Err(failure),
            Err(JobError::LeaseLost) => return Err(failure::not_ours()),
        }
    }
}

/// The backoff before the next attempt; `None` if it is too long.
fn backoff_ms(error: &HostError) -> Option<u64> {
    match error.kind {
        HostErrorKind::Limited { wait_ms } => Some(wait_ms).filter(|ms| *ms <= MAX_WAIT_MS),
        HostErrorKind::Unclear => Some(LAG_MS),
        _ => Some(PAUSE_MS),
    }
}

fn is_forbidden(published: &Published) -> bool {
    published.refused.iter().any(|(_, error)| error.kind == HostErrorKind::Forbidden)
}

/// True inside a GitHub Actions workflow, which parses standard output for commands.
pub(super) fn is_in_workflow() -> bool {
    std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true")
}

/// Reports the findings as workflow annotations and step summary instead of comments.
fn annotate(reviewed: &Reviewed, settings: &Settings) -> Result<(), Failure> {
    output::say(READ_ONLY);
    output::say("note: the findings are reported as annotations of this workflow run");
    let annotations = report::github::write(&reviewed.review);
    output::print(&annotations.text)?;
    if let Some(note) = &annotations.note {
        output::say(&format!("note: {note}"));
    }
    let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()) else {
        return Ok(());
    };
    let verdict = || format!("{}\n", reviewed.state().markdown());
    let text = pipeline::summary_text(reviewed, &settings.bot, reviewed.since.as_ref()).unwrap_or_else(verdict);
    let written = std::fs::File::options().create(true).append(true).open(&file).and_then(|mut file| {
        let room = MAX_SUMMARY.saturating_sub(file.metadata()?.len());
        file.write_all(beginning(&text, usize::try_from(room).unwrap_or(usize::MAX)).as_bytes())
    });
    written.map_err(|problem| failure::cannot_write(&file.to_string_lossy(), &problem))
}

/// Truncates a text to `room` bytes, at a line end.
fn beginning(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= room).last().unwrap_or(0);
    text[..end].rfind('\n').map_or("", |line| &text[..=line])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_summaries_are_truncated_at_line_ends() {
        assert_eq!(beginning("a\nb\n", 4), "a\nb\n");
        assert_eq!(beginning("a\nb\n", 3), "a\n");
        assert_eq!(beginning("ä\nö", 3), "ä\n");
        assert_eq!(beginning("ä\nö", 1), "");
        assert_eq!(beginning("", 0), "");
    }

    #[test]
    fn backoff_is_bounded() {
        let pause = |trouble| backoff_ms(&HostError::new(trouble, ""));
        assert_eq!(pause(HostErrorKind::Limited { wait_ms: 500 }), Some(500));
        assert_eq!(pause(HostErrorKind::Limited { wait_ms: 3_600_000 }), None);
        assert_eq!(pause(HostErrorKind::Unclear), Some(LAG_MS));
    }
}
