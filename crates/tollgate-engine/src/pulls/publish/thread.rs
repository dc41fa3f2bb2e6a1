//! Publishes in the threads of findings: one line when a finding is resolved, one when it is back, and the state of the
//! thread where we have the permission to change it.
//!
//! The line goes first and carries a marker with the commit, so a retry finds it and does not write it again. Threads in
//! which a person replied keep their state.

use tollgate_core::finding_key::FindingKey;
use tollgate_core::pull::marker::Marker;
use tollgate_core::pull::reply;

use super::existing::{ExistingPosts, has_mark};
use super::{JobError, Outbox, mark_posting};
use crate::forge::host::{BotIdentity, Comment, HostErrorKind, HostResult};
use crate::process;
use crate::pulls::post::Post;

/// Says in the thread of a finding that it is resolved, and resolves the thread, if permitted and without replies of
/// people.
pub(super) fn resolve(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let Some(key) = FindingKey::parse(&post.key) else { return Ok(None) };
    let Some(root) = root(existing, key)? else { return Ok(None) };
    let mark = Marker::Resolved { key, head: post.head.clone() };
    let said = say_once(existing, post, (root, &mark), &reply::resolved(key, &post.head), outbox)?;
    set_resolved(existing, key, true)?;
    Ok(said)
}

/// Says in the thread of a finding that it is back, and opens the thread again, if permitted and without replies of
/// people. Does nothing where the thread does not say that the finding is resolved.
pub(super) fn reopen(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let Some(key) = FindingKey::parse(&post.key) else { return Ok(None) };
    let Some(root) = root(existing, key)? else { return Ok(None) };
    let me = existing.target.me;
    let mark = Marker::Reopened { key, head: post.head.clone() };
    let is_said = existing.line_comment(has_mark(|known| *known == mark))?.is_some();
    if !is_said && !says_resolved(existing.all_line_comments()?, me, root) {
        return Ok(None);
    }
    let said = say_once(existing, post, (root, &mark), &reply::reopened(key, &post.head), outbox)?;
    set_resolved(existing, key, false)?;
    Ok(said)
}

/// True when our last word in a thread is that its finding is resolved.
pub(in crate::pulls) fn says_resolved(comments: &[Comment], me: &BotIdentity, root: u64) -> bool {
    let mut replies: Vec<&Comment> =
        comments.iter().filter(|comment| comment.answers == Some(root) && me.wrote(&comment.author)).collect();
    replies.sort_by_key(|comment| comment.id);
    let mut words = replies.iter().flat_map(|comment| Marker::all_in(&comment.body)).filter_map(|mark| match mark {
        Marker::Resolved { .. } => Some(true),
        Marker::Reopened { .. } => Some(false),
        Marker::Summary { .. }
        | Marker::Review { .. }
        | Marker::Finding { .. }
        | Marker::Reply { .. }
        | Marker::Note { .. } => None,
    });
    words.next_back().unwrap_or(false)
}

/// The first comment of the thread of a finding.
fn root(existing: &mut ExistingPosts<'_>, key: FindingKey) -> HostResult<Option<u64>> {
    let found = existing.line_comment(has_mark(|mark| mark.finding() == Some(key)))?;
    Ok(found.map(|(id, _)| id))
}

/// Writes a line with a marker into a thread, once.
fn say_once(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    (root, mark): (u64, &Marker),
    body: &str,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let is_it = || has_mark(|known| known == mark);
    if let Some((id, _)) = existing.line_comment(is_it())? {
        return Ok(Some(id));
    }
    mark_posting(post, outbox)?;
    let target = existing.target;
    match target.host.reply(target.repo, target.number, root, body) {
        Ok(id) => {
            process::crash_point("post-sent");
            existing.forget();
            // A worker whose lease expired may have posted it concurrently.
            Ok(Some(existing.line_comment(is_it())?.map_or(id, |(first, _)| first)))
        }
        // The thread was deleted or locked, so the line has no place.
        Err(error)
            if matches!(error.kind, HostErrorKind::NotFound | HostErrorKind::Invalid(_) | HostErrorKind::Forbidden) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Resolves the threads of a finding, or opens them again.
fn set_resolved(existing: &mut ExistingPosts<'_>, key: FindingKey, resolved: bool) -> Result<(), JobError> {
    match try_to_set(existing, key, resolved) {
        // The state of a thread does no harm, so this is not retried.
        Err(error) if matches!(error.kind, HostErrorKind::Forbidden | HostErrorKind::NotFound) => Ok(()),
        done => Ok(done?),
    }
}

fn try_to_set(existing: &mut ExistingPosts<'_>, key: FindingKey, resolved: bool) -> HostResult<()> {
    let target = existing.target;
    for thread in existing.threads(|mark| mark.finding() == Some(key))? {
        match (thread.is_resolved, resolved) {
            (false, true) if thread.may_resolve => target.host.resolve(target.repo, &thread.id)?,
            (true, false) if thread.may_unresolve => target.host.unresolve(target.repo, &thread.id)?,
            (true | false, true | false) => {}
        }
    }
    Ok(())
}
