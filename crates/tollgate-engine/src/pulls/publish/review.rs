//! Publishes line comments: in one review if the host accepts it, one by one otherwise.

use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::pull::marker::Marker;
use tollgate_core::sha::Sha;

use super::conversation::post_once;
use super::existing::{ExistingPosts, has_mark};
use super::{JobError, Outbox, mark_posting};
use crate::forge::host::{HostErrorKind, HostResult, NewReview, ReviewEvent};
use crate::process;
use crate::pulls::post::Post;

/// Publishes a review with its line comments.
pub(super) fn review(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    (body, act, inline): (&str, ReviewEvent, &[InlineComment]),
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let head = &post.head;
    if let Some(id) = posted(existing, head)? {
        return Ok(Some(id));
    }
    let inline = missing(existing, inline)?;
    mark_posting(post, outbox)?;
    match send(existing, head, body, act, &inline) {
        Err(error) if matches!(error.kind, HostErrorKind::Invalid(_)) => {}
        sent => return sent.map(Some).map_err(JobError::from),
    }
    // Some rejected requests took effect nevertheless.
    existing.forget();
    if let Some(id) = posted(existing, head)? {
        return Ok(Some(id));
    }
    if act != ReviewEvent::Comment {
        // Hosts reject an approval of one's own pull request, among others; the text can still be posted as a comment.
        match send(existing, head, body, ReviewEvent::Comment, &inline) {
            Err(error) if matches!(error.kind, HostErrorKind::Invalid(_)) => {}
            sent => return sent.map(Some).map_err(JobError::from),
        }
    }
    let mut left = String::new();
    for one in missing(existing, &inline)? {
        mark_posting(post, outbox)?;
        if !alone(existing, head, &one)? {
            left.push_str(&format!("\n\n---\n\n`{}`\n\n{}", one.path.replace('`', "'"), one.at_file().body));
        }
    }
    let body = with(body, &left);
    send(existing, head, &body, ReviewEvent::Comment, &[]).map(Some).map_err(JobError::from)
}

/// Publishes one review comment at lines or at a file.
pub(super) fn inline(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    inline: &InlineComment,
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    if let Some(id) = at_lines(existing, inline)? {
        return Ok(Some(id));
    }
    mark_posting(post, outbox)?;
    if alone(existing, &post.head, inline)? {
        existing.forget();
        return Ok(at_lines(existing, inline)?);
    }
    post_once(existing, post, &inline.at_file().body, outbox, |mark| is_about(mark, inline)).map(|(id, _)| Some(id))
}

fn is_about(mark: &Marker, inline: &InlineComment) -> bool {
    matches!(mark, Marker::Finding { key } if key.to_string() == inline.key)
}

/// The existing review of a commit.
fn posted(existing: &mut ExistingPosts<'_>, head: &Sha) -> HostResult<Option<u64>> {
    let found = existing.reviews(|mark| matches!(mark, Marker::Review { head: of } if of == head))?;
    Ok(found.first().copied())
}

/// The comments that do not exist yet.
fn missing(existing: &mut ExistingPosts<'_>, inline: &[InlineComment]) -> HostResult<Vec<InlineComment>> {
    let mut left = Vec::new();
    for one in inline {
        if at_lines(existing, one)?.is_none() {
            left.push(one.clone());
        }
    }
    Ok(left)
}

/// The existing comment about a finding; newer duplicates are deleted.
fn at_lines(existing: &mut ExistingPosts<'_>, inline: &InlineComment) -> HostResult<Option<u64>> {
    let found = existing.line_comment(has_mark(|mark| is_about(mark, inline)))?;
    Ok(found.map(|(id, _)| id))
}

fn send(
    existing: &mut ExistingPosts<'_>,
    head: &Sha,
    body: &str,
    act: ReviewEvent,
    comments: &[InlineComment],
) -> HostResult<u64> {
    let target = existing.target;
    let id = target.host.review(target.repo, target.number, &NewReview { head, body, act, comments })?;
    process::crash_point("post-sent");
    existing.forget();
    // A worker whose lease expired may have posted it concurrently. A review cannot be deleted, but its comments can.
    let first = posted(existing, head)?;
    for one in comments {
        at_lines(existing, one)?;
    }
    Ok(first.unwrap_or(id))
}

/// Posts a single comment at its lines, or else at its file. False when the host rejects both.
fn alone(existing: &mut ExistingPosts<'_>, head: &Sha, inline: &InlineComment) -> Result<bool, JobError> {
    let target = existing.target;
    let at_file = inline.at_file();
    let tries = if inline.at.is_some() { &[inline, &at_file][..] } else { &[&at_file][..] };
    for one in tries {
        match target.host.comment_at(target.repo, target.number, head, one) {
            Ok(_) => {
                process::crash_point("post-sent");
                return Ok(true);
            }
            Err(error) if matches!(error.kind, HostErrorKind::Invalid(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Appends comments that could not be posted to the text of a review, before its marker.
fn with(body: &str, left: &str) -> String {
    if left.is_empty() {
        return body.to_owned();
    }
    let marks: Vec<Marker> = Marker::all_in(body);
    match marks.last() {
        Some(mark) => mark.below(&format!("{}{left}", body.trim_end().trim_end_matches(&mark.to_string()).trim_end())),
        None => format!("{body}{left}"),
    }
}
