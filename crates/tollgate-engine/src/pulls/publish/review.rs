//! Comments at lines: all in one review where the host takes it, one by one where it does not.

use tollgate_core::pull::mark::Mark;
use tollgate_core::pull::post::Inline;
use tollgate_core::sha::Sha;

use super::conversation::{keep_first, said};
use super::seen::Seen;
use super::{Ledger, Stop, about_to};
use crate::forge::host::{Act, Asked, NewReview, Trouble};
use crate::process;
use crate::pulls::post::Post;

/// A review with its comments at lines.
pub(super) fn review(
    seen: &mut Seen<'_>,
    post: &Post,
    (body, act, inline): (&str, Act, &[Inline]),
    ledger: &dyn Ledger,
) -> Result<Option<u64>, Stop> {
    let head = &post.head;
    if let Some(id) = posted(seen, head)? {
        return Ok(Some(id));
    }
    let inline = missing(seen, inline)?;
    about_to(post, ledger)?;
    match send(seen, head, body, act, &inline) {
        Err(error) if matches!(error.trouble, Trouble::Invalid(_)) => {}
        sent => return sent.map(Some).map_err(Stop::from),
    }
    // Some refusals come after the fact.
    seen.forget();
    if let Some(id) = posted(seen, head)? {
        return Ok(Some(id));
    }
    if act != Act::Comment {
        // Nobody can approve what is their own, and hosts may have more such rules; what there is to say can be said.
        match send(seen, head, body, Act::Comment, &inline) {
            Err(error) if matches!(error.trouble, Trouble::Invalid(_)) => {}
            sent => return sent.map(Some).map_err(Stop::from),
        }
    }
    let mut left = String::new();
    for one in missing(seen, &inline)? {
        about_to(post, ledger)?;
        if !alone(seen, head, &one)? {
            left.push_str(&format!("\n\n---\n\n`{}`\n\n{}", one.path.replace('`', "'"), one.at_file().body));
        }
    }
    let body = with(body, &left);
    send(seen, head, &body, Act::Comment, &[]).map(Some).map_err(Stop::from)
}

/// One comment at lines or at a file.
pub(super) fn inline(
    seen: &mut Seen<'_>,
    post: &Post,
    inline: &Inline,
    ledger: &dyn Ledger,
) -> Result<Option<u64>, Stop> {
    if let Some(id) = at_lines(seen, inline)? {
        return Ok(Some(id));
    }
    about_to(post, ledger)?;
    if alone(seen, &post.head, inline)? {
        seen.forget();
        return Ok(at_lines(seen, inline)?);
    }
    said(seen, post, &inline.at_file().body, ledger, |mark| is_about(mark, inline)).map(|(id, _)| Some(id))
}

/// Resolves the thread of a finding, where we may. Where people talk it stays theirs.
pub(super) fn resolve(seen: &mut Seen<'_>, post: &Post) -> Result<Option<u64>, Stop> {
    let of_it = |mark: &Mark| matches!(mark, Mark::Finding { key } if key.to_string() == post.key);
    match resolve_all(seen, of_it) {
        // A thread that stays open says nothing wrong: to ask for it again and again would not be worth it.
        Err(error) if matches!(error.trouble, Trouble::Forbidden | Trouble::NotFound) => Ok(None),
        resolved => Ok(resolved.map(|()| None)?),
    }
}

fn resolve_all(seen: &mut Seen<'_>, is_it: impl Fn(&Mark) -> bool) -> Asked<()> {
    let target = seen.target;
    for thread in seen.threads(is_it)? {
        if !thread.is_resolved && thread.may_resolve {
            target.host.resolve(target.repo, &thread.id)?;
        }
    }
    Ok(())
}

fn is_about(mark: &Mark, inline: &Inline) -> bool {
    matches!(mark, Mark::Finding { key } if key.to_string() == inline.key)
}

/// The review of a commit, when it is there.
fn posted(seen: &mut Seen<'_>, head: &Sha) -> Asked<Option<u64>> {
    let found = seen.reviews(|mark| matches!(mark, Mark::Review { head: of } if of == head))?;
    Ok(found.first().copied())
}

/// Those of the comments that are not there yet.
fn missing(seen: &mut Seen<'_>, inline: &[Inline]) -> Asked<Vec<Inline>> {
    let mut left = Vec::new();
    for one in inline {
        if at_lines(seen, one)?.is_none() {
            left.push(one.clone());
        }
    }
    Ok(left)
}

/// The comment about a finding, when it is there; when it is there twice the newer ones are removed.
fn at_lines(seen: &mut Seen<'_>, inline: &Inline) -> Asked<Option<u64>> {
    let found = keep_first(seen, |mark: &Mark| is_about(mark, inline), Seen::line_comments, false)?;
    Ok(found.map(|(id, _)| id))
}

fn send(seen: &mut Seen<'_>, head: &Sha, body: &str, act: Act, comments: &[Inline]) -> Asked<u64> {
    let target = seen.target;
    let id = target.host.review(target.repo, target.number, &NewReview { head, body, act, comments })?;
    process::crash_point("post-sent");
    seen.forget();
    // Somebody whose time had run out may have posted it at the same moment. A review cannot be removed, its comments can.
    let first = posted(seen, head)?;
    for one in comments {
        at_lines(seen, one)?;
    }
    Ok(first.unwrap_or(id))
}

/// Posts one comment by itself: at its lines, or at its file. False when the host takes neither.
fn alone(seen: &mut Seen<'_>, head: &Sha, inline: &Inline) -> Result<bool, Stop> {
    let target = seen.target;
    let at_file = inline.at_file();
    let tries = if inline.at.is_some() { &[inline, &at_file][..] } else { &[&at_file][..] };
    for one in tries {
        match target.host.comment_at(target.repo, target.number, head, one) {
            Ok(_) => {
                process::crash_point("post-sent");
                return Ok(true);
            }
            Err(error) if matches!(error.trouble, Trouble::Invalid(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// The text of a review with what could not be said elsewhere; its mark stays at the end.
fn with(body: &str, left: &str) -> String {
    if left.is_empty() {
        return body.to_owned();
    }
    let marks: Vec<Mark> = Mark::all_in(body);
    match marks.last() {
        Some(mark) => mark.below(&format!("{}{left}", body.trim_end().trim_end_matches(&mark.to_string()).trim_end())),
        None => format!("{body}{left}"),
    }
}
