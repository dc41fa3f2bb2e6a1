//! Publishes conversation comments and replies in threads.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::webhook_event::CommentRef;

use super::existing::{ExistingPosts, has_mark, unless_gone};
use super::{JobError, Outbox, Target, mark_posting};
use crate::forge::host::{HostErrorKind, HostResult};
use crate::process;
use crate::pulls::post::Post;

/// How often a new comment is searched for: ten seconds in all, which is longer than lists lag.
const MAX_POLLS: u32 = 40;
const POLL_EVERY: Duration = Duration::from_millis(250);

/// The single summary of a pull request: created once, then edited.
pub(super) fn summary(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let is_it = |mark: &Marker| matches!(mark, Marker::Summary { .. });
    let (id, known) = post_once(existing, post, body, outbox, is_it)?;
    if known.is_some_and(|known| !is_same(&known, body)) {
        mark_posting(post, outbox)?;
        existing.target.host.edit_comment(existing.target.repo, id, body)?;
        process::crash_point("post-sent");
    }
    Ok(Some(id))
}

/// A note, created once.
pub(super) fn note(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let mine = Marker::all_in(body);
    let (id, _) = post_once(existing, post, body, outbox, |mark| mine.contains(mark))?;
    Ok(Some(id))
}

/// A reply to a comment.
pub(super) fn reply(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    to: CommentRef,
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let is_it = |mark: &Marker| matches!(mark, Marker::Reply { comment } if *comment == to.comment());
    let CommentRef::Thread { root, .. } = to else {
        return post_once(existing, post, body, outbox, is_it).map(|(id, _)| Some(id));
    };
    if let Some((id, _)) = existing.line_comment(has_mark(is_it))? {
        return Ok(Some(id));
    }
    mark_posting(post, outbox)?;
    let target = existing.target;
    match target.host.reply(target.repo, target.number, root, body) {
        Ok(id) => {
            process::crash_point("post-sent");
            existing.forget();
            Ok(Some(existing.line_comment(has_mark(is_it))?.map_or(id, |(first, _)| first)))
        }
        // The thread may have been deleted, so the reply goes into the conversation.
        Err(error) if matches!(error.kind, HostErrorKind::NotFound | HostErrorKind::Invalid(_)) => {
            post_once(existing, post, body, outbox, is_it).map(|(id, _)| Some(id))
        }
        Err(error) => Err(error.into()),
    }
}

/// Publishes a comment with a marker exactly once. Returns its number, and its text if it existed before.
pub(super) fn post_once(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    body: &str,
    outbox: &dyn Outbox,
    is_it: impl Fn(&Marker) -> bool,
) -> Result<(u64, Option<String>), JobError> {
    let is_it = has_mark(is_it);
    if let Some((id, known)) = existing.comment(&is_it)? {
        return Ok((id, Some(known)));
    }
    mark_posting(post, outbox)?;
    let target = existing.target;
    let id = target.host.comment(target.repo, target.number, body)?;
    process::crash_point("post-sent");
    existing.forget();
    // A worker whose lease expired may have posted it concurrently.
    let kept = existing.comment(&is_it)?;
    Ok((kept.map_or(id, |(first, _)| first), None))
}

/// The effect of publishing a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentAction {
    /// A new comment was created.
    Created,
    /// An existing comment was edited.
    Updated,
    /// An existing comment has the same text.
    Unchanged,
}

/// Publishes a comment with a marker exactly once without a lease, and edits an existing one. Returns its number.
///
/// Other processes may publish the same comment at once, and a host's lists lag. So the lists are polled until the new
/// comment appears, by when all older ones do; the oldest is kept with the new text, and the others are deleted.
///
/// ```text
/// find ─► exists: edit it           A posts 7 ─► finds 7 or 7, 8 ─► keeps 7
///     └─► missing: post ─► find     B posts 8 ─► finds 7, 8      ─► deletes 8
/// ```
pub fn publish_comment(
    target: &Target<'_>,
    marker: &str,
    body: &str,
    cancel: &CancellationToken,
) -> HostResult<(CommentAction, u64)> {
    let mut existing = ExistingPosts::new(*target);
    let has_marker = |body: &str| body.contains(marker);
    if let Some((id, known)) = existing.comment(has_marker)? {
        return Ok((update(target, id, &known, body)?, id));
    }
    let posted = target.host.comment(target.repo, target.number, body)?;
    for _ in 0..MAX_POLLS {
        existing.forget();
        match existing.comment(has_marker)?.filter(|(first, _)| *first <= posted) {
            Some((first, _)) if first == posted => break,
            Some((first, known)) => {
                // Another process was first. Our comment may not be listed yet.
                unless_gone(target.host.delete_comment(target.repo, posted))?;
                return Ok((update(target, first, &known, body)?, first));
            }
            None if cancel.is_cancelled() => break,
            None => std::thread::sleep(POLL_EVERY),
        }
    }
    Ok((CommentAction::Created, posted))
}

fn update(target: &Target<'_>, id: u64, known: &str, body: &str) -> HostResult<CommentAction> {
    if is_same(known, body) {
        return Ok(CommentAction::Unchanged);
    }
    target.host.edit_comment(target.repo, id, body).map(|()| CommentAction::Updated)
}

/// Hosts normalize line endings and trailing spaces.
fn is_same(known: &str, body: &str) -> bool {
    let lines = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned();
    lines(known) == lines(body)
}
