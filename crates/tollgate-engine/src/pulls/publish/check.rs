//! Publishes the check run of a commit: created once, completed once, annotated in batches.

use tollgate_core::pull::check_run::{Annotation, CheckOutput, Conclusion, MAX_ANNOTATIONS};

use super::existing::ExistingPosts;
use super::{JobError, Outbox, mark_posting};
use crate::forge::host::{Check, CheckUpdate, HostErrorKind, HostResult, NewCheck};
use crate::process;
use crate::pulls::post::Post;

/// Creates or completes the check run of a commit.
pub(super) fn check(
    existing: &mut ExistingPosts<'_>,
    post: &Post,
    (conclusion, text, details_url): (Option<Conclusion>, &CheckOutput, Option<&str>),
    outbox: &dyn Outbox,
) -> Result<Option<u64>, JobError> {
    let mut found = ours(existing, post)?;
    if let Some(id) = outbox.known(post).filter(|_| found.is_empty()) {
        let external_id = existing.target.external_id(&post.head);
        found.push(Check { id, external_id, is_completed: false, conclusion: None, n_annotations: 0 });
    }
    if found.is_empty() {
        mark_posting(post, outbox)?;
        let target = existing.target;
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
        // A worker whose lease expired may have created one concurrently; then both are completed alike.
        found = ours(existing, post)?;
        if found.is_empty() {
            found.push(Check { id, external_id, is_completed: false, conclusion: None, n_annotations: 0 });
        }
    }
    if let Some(conclusion) = conclusion {
        process::crash_point("check-before-conclusion");
        for check in &found {
            mark_posting(post, outbox)?;
            end(existing, check, conclusion, text)?;
        }
    }
    Ok(found.first().map(|check| check.id))
}

fn ours(existing: &ExistingPosts<'_>, post: &Post) -> HostResult<Vec<Check>> {
    let target = existing.target;
    let mut found = target.host.checks(target.repo, &post.head, target.check_name)?;
    let external_id = target.external_id(&post.head);
    found.retain(|check| check.external_id == external_id);
    Ok(found)
}

/// Completes a check run. Annotations are appended after the existing ones; a completed check run with annotations has
/// all of them.
fn end(existing: &ExistingPosts<'_>, check: &Check, conclusion: Conclusion, text: &CheckOutput) -> HostResult<()> {
    let target = existing.target;
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
            // A check run without annotations is better than one that never completes.
            Err(error) if matches!(error.kind, HostErrorKind::Invalid(_)) => break,
            Ok(()) if is_last => return Ok(()),
            done => done?,
        }
    }
    update(Some(conclusion), &[])
}
