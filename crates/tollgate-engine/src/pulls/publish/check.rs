//! The check of a commit: begun once, ended once, annotated in parts.

use tollgate_core::pull::post::{Annotation, CheckText, Conclusion, MAX_ANNOTATIONS};

use super::seen::Seen;
use super::{Ledger, Stop, about_to};
use crate::forge::host::{Asked, Check, CheckUpdate, NewCheck, Trouble};
use crate::process;
use crate::pulls::post::Post;

/// Begins or ends the check of a commit.
pub(super) fn check(
    seen: &mut Seen<'_>,
    post: &Post,
    (conclusion, text, details_url): (Option<Conclusion>, &CheckText, Option<&str>),
    ledger: &dyn Ledger,
) -> Result<Option<u64>, Stop> {
    let mut found = ours(seen, post)?;
    if let Some(id) = ledger.known(post).filter(|_| found.is_empty()) {
        let external_id = seen.target.external_id(&post.head);
        found.push(Check { id, external_id, is_completed: false, conclusion: None, n_annotations: 0 });
    }
    if found.is_empty() {
        about_to(post, ledger)?;
        let target = seen.target;
        let external_id = target.external_id(&post.head);
        let new = NewCheck {
            head: &post.head,
            name: target.check_name,
            external_id: &external_id,
            details_url,
            says: (&text.title, &text.summary),
        };
        let id = target.host.begin_check(target.repo, &new)?;
        process::crash_point("post-sent");
        // Somebody whose time had run out may have begun one at the same moment; then both end alike.
        found = ours(seen, post)?;
        if found.is_empty() {
            found.push(Check { id, external_id, is_completed: false, conclusion: None, n_annotations: 0 });
        }
    }
    if let Some(conclusion) = conclusion {
        process::crash_point("check-before-conclusion");
        for check in &found {
            about_to(post, ledger)?;
            end(seen, check, conclusion, text)?;
        }
    }
    Ok(found.first().map(|check| check.id))
}

fn ours(seen: &Seen<'_>, post: &Post) -> Asked<Vec<Check>> {
    let target = seen.target;
    let mut found = target.host.checks(target.repo, &post.head, target.check_name)?;
    let external_id = target.external_id(&post.head);
    found.retain(|check| check.external_id == external_id);
    Ok(found)
}

/// Ends a check. Annotations are added to those it has, so it goes on behind them; one that has ended with some has all of
/// its own.
fn end(seen: &Seen<'_>, check: &Check, conclusion: Conclusion, text: &CheckText) -> Asked<()> {
    let target = seen.target;
    let says = (text.title.as_str(), text.summary.as_str());
    let has_all = check.is_completed && check.n_annotations > 0;
    let rest = text.annotations.get(check.n_annotations..).filter(|_| !has_all).unwrap_or_default();
    let update = |conclusion, annotations: &[Annotation]| {
        target.host.update_check(target.repo, check.id, &CheckUpdate { conclusion, says, annotations })
    };
    let mut parts = rest.chunks(MAX_ANNOTATIONS).peekable();
    while let Some(annotations) = parts.next() {
        let is_last = parts.peek().is_none();
        match update(is_last.then_some(conclusion), annotations) {
            // A check that goes on for ever is worse than one without annotations.
            Err(error) if matches!(error.trouble, Trouble::Invalid(_)) => break,
            Ok(()) if is_last => return Ok(()),
            done => done?,
        }
    }
    update(Some(conclusion), &[])
}
