//! Publishes conversation comments and replies in threads.

use tollgate_core::pull::ask::Place;
use tollgate_core::pull::mark::Mark;

use super::existing::ExistingPosts;
use super::{JobError, Outbox, mark_posting};
use crate::forge::host::{HostErrorKind, HostResult};
use crate::process;
use crate::pulls::post::Post;

/// The single summary of a pull request: created once, then edited.
pub(super) fn summary(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let is_it = |mark: &Mark| matches!(mark, Mark::Summary { .. });
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
    let mine = Mark::all_in(body);
    let (id, _) = post_once(existing, post, body, outbox, |mark| mine.contains(mark))?;
    Ok(Some(id))
}

/// A reply to a comment.
pub(super) fn reply(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    to: Place,
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let is_it = |mark: &Mark| matches!(mark, Mark::Reply { comment } if *comment == to.comment());
    let Place::Thread { root, .. } = to else {
        return post_once(existing, post, body, outbox, is_it).map(|(id, _)| Some(id));
    };
    if let Some((id, _)) = keep_first(existing, is_it, ExistingPosts::line_comments, false)? {
        return Ok(Some(id));
    }
    mark_posting(post, outbox)?;
    let target = existing.target;
    match target.host.reply(target.repo, target.number, root, body) {
        Ok(id) => {
            process::crash_point("post-sent");
            existing.forget();
            Ok(Some(keep_first(existing, is_it, ExistingPosts::line_comments, false)?.map_or(id, |(first, _)| first)))
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
    is_it: impl Fn(&Mark) -> bool,
) -> Result<(u64, Option<String>), JobError> {
    if let Some((id, known)) = keep_first(existing, &is_it, ExistingPosts::comments, true)? {
        return Ok((id, Some(known)));
    }
    mark_posting(post, outbox)?;
    let target = existing.target;
    let id = target.host.comment(target.repo, target.number, body)?;
    process::crash_point("post-sent");
    existing.forget();
    // A worker whose lease expired may have posted it concurrently.
    let kept = keep_first(existing, &is_it, ExistingPosts::comments, true)?;
    Ok((kept.map_or(id, |(first, _)| first), None))
}

/// The oldest of our comments with a marker; duplicates are deleted.
pub(super) fn keep_first<'a, M: Fn(&Mark) -> bool>(
    existing: &mut ExistingPosts<'a>,
    is_it: M,
    list: impl Fn(&mut ExistingPosts<'a>, M) -> HostResult<Vec<(u64, String)>>,
    in_conversation: bool,
) -> HostResult<Option<(u64, String)>> {
    let mut found = list(existing, is_it)?.into_iter();
    let first = found.next();
    let target = existing.target;
    for (extra, _) in found {
        let removed = if in_conversation {
            target.host.delete_comment(target.repo, extra)
        } else {
            target.host.delete_line_comment(target.repo, extra)
        };
        match removed {
            // Another worker deleted it.
            Err(error) if error.kind == HostErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(first)
}

/// Hosts normalize line endings and trailing spaces.
fn is_same(known: &str, body: &str) -> bool {
    let lines = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned();
    lines(known) == lines(body)
}
