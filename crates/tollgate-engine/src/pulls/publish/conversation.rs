//! Comments in the conversation, and answers in threads.

use tollgate_core::pull::ask::Place;
use tollgate_core::pull::mark::Mark;

use super::seen::Seen;
use super::{Ledger, Stop, about_to};
use crate::forge::host::{Asked, Trouble};
use crate::process;
use crate::pulls::post::Post;

/// The one summary of a pull request: written once, then edited in place.
pub(super) fn summary(seen: &mut Seen<'_>, post: &Post, body: &str, ledger: &dyn Ledger) -> Result<Option<u64>, Stop> {
    let is_it = |mark: &Mark| matches!(mark, Mark::Summary { .. });
    let (id, known) = said(seen, post, body, ledger, is_it)?;
    if known.is_some_and(|known| !is_same(&known, body)) {
        about_to(post, ledger)?;
        seen.target.host.edit_comment(seen.target.repo, id, body)?;
        process::crash_point("post-sent");
    }
    Ok(Some(id))
}

/// A note, which is written once.
pub(super) fn note(seen: &mut Seen<'_>, post: &Post, body: &str, ledger: &dyn Ledger) -> Result<Option<u64>, Stop> {
    let mine = Mark::all_in(body);
    let (id, _) = said(seen, post, body, ledger, |mark| mine.contains(mark))?;
    Ok(Some(id))
}

/// An answer, where we were asked.
pub(super) fn reply(
    seen: &mut Seen<'_>,
    post: &Post,
    to: Place,
    body: &str,
    ledger: &dyn Ledger,
) -> Result<Option<u64>, Stop> {
    let is_it = |mark: &Mark| matches!(mark, Mark::Reply { comment } if *comment == to.comment());
    let Place::Thread { root, .. } = to else {
        return said(seen, post, body, ledger, is_it).map(|(id, _)| Some(id));
    };
    if let Some((id, _)) = keep_first(seen, is_it, Seen::line_comments, false)? {
        return Ok(Some(id));
    }
    about_to(post, ledger)?;
    let target = seen.target;
    match target.host.reply(target.repo, target.number, root, body) {
        Ok(id) => {
            process::crash_point("post-sent");
            seen.forget();
            Ok(Some(keep_first(seen, is_it, Seen::line_comments, false)?.map_or(id, |(first, _)| first)))
        }
        // The thread may have been deleted since; the answer is still owed.
        Err(error) if matches!(error.trouble, Trouble::NotFound | Trouble::Invalid(_)) => {
            said(seen, post, body, ledger, is_it).map(|(id, _)| Some(id))
        }
        Err(error) => Err(error.into()),
    }
}

/// Sees to it that a comment of ours with a mark is there once. Gives back its number, and what it said when it was there
/// already.
pub(super) fn said(
    seen: &mut Seen<'_>,
    post: &Post,
    body: &str,
    ledger: &dyn Ledger,
    is_it: impl Fn(&Mark) -> bool,
) -> Result<(u64, Option<String>), Stop> {
    if let Some((id, known)) = keep_first(seen, &is_it, Seen::comments, true)? {
        return Ok((id, Some(known)));
    }
    about_to(post, ledger)?;
    let target = seen.target;
    let id = target.host.comment(target.repo, target.number, body)?;
    process::crash_point("post-sent");
    seen.forget();
    // Somebody whose time had run out may have posted it at the same moment.
    let kept = keep_first(seen, &is_it, Seen::comments, true)?;
    Ok((kept.map_or(id, |(first, _)| first), None))
}

/// The oldest of our comments with a mark; the others are removed.
pub(super) fn keep_first<'a, M: Fn(&Mark) -> bool>(
    seen: &mut Seen<'a>,
    is_it: M,
    list: impl Fn(&mut Seen<'a>, M) -> Asked<Vec<(u64, String)>>,
    in_conversation: bool,
) -> Asked<Option<(u64, String)>> {
    let mut found = list(seen, is_it)?.into_iter();
    let first = found.next();
    let target = seen.target;
    for (extra, _) in found {
        let removed = if in_conversation {
            target.host.delete_comment(target.repo, extra)
        } else {
            target.host.delete_line_comment(target.repo, extra)
        };
        match removed {
            // Somebody else removed it.
            Err(error) if error.trouble == Trouble::NotFound => {}
            removed => removed?,
        }
    }
    Ok(first)
}

/// Hosts change line ends and spaces at the end.
fn is_same(known: &str, body: &str) -> bool {
    let lines = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned();
    lines(known) == lines(body)
}
