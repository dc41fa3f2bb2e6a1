//! Our existing posts on a pull request, by marker.
//!
//! Lists are fetched lazily, and again after something was posted.

use tollgate_core::pull::marker::Marker;

use super::Target;
use crate::forge::host::{Comment, HostErrorKind, HostResult, PostedReview, Thread};

/// A cache of our existing posts.
pub(super) struct ExistingPosts<'a> {
    pub(super) target: Target<'a>,
    comments: Option<Vec<Comment>>,
    line_comments: Option<Vec<Comment>>,
    reviews: Option<Vec<PostedReview>>,
    threads: Option<Vec<Thread>>,
}

impl<'a> ExistingPosts<'a> {
    pub(super) fn new(target: Target<'a>) -> Self {
        Self { target, comments: None, line_comments: None, reviews: None, threads: None }
    }

    /// The oldest of our conversation comments whose text matches; newer duplicates are deleted.
    pub(super) fn comment(&mut self, is_it: impl Fn(&str) -> bool) -> HostResult<Option<(u64, String)>> {
        let Target { host, repo, number, .. } = self.target;
        if self.comments.is_none() {
            self.comments = Some(host.comments(repo, number)?);
        }
        let found = self.ours(self.comments.iter().flatten(), is_it);
        keep_first(found, |extra| host.delete_comment(repo, extra))
    }

    /// The oldest of our review comments whose text matches; newer duplicates are deleted.
    pub(super) fn line_comment(&mut self, is_it: impl Fn(&str) -> bool) -> HostResult<Option<(u64, String)>> {
        let Target { host, repo, .. } = self.target;
        let found = self.line_comments(is_it)?;
        keep_first(found, |extra| host.delete_line_comment(repo, extra))
    }

    /// The review comments of all authors.
    pub(super) fn all_line_comments(&mut self) -> HostResult<&[Comment]> {
        let Target { host, repo, number, .. } = self.target;
        if self.line_comments.is_none() {
            self.line_comments = Some(host.line_comments(repo, number)?);
        }
        Ok(self.line_comments.as_deref().unwrap_or_default())
    }

    /// Our review comments whose text matches, oldest first.
    fn line_comments(&mut self, is_it: impl Fn(&str) -> bool) -> HostResult<Vec<(u64, String)>> {
        self.all_line_comments()?;
        Ok(self.ours(self.line_comments.iter().flatten(), is_it))
    }

    /// Our reviews with a marker, oldest first.
    pub(super) fn reviews(&mut self, is_it: impl Fn(&Marker) -> bool) -> HostResult<Vec<u64>> {
        let Target { host, me, repo, number, .. } = self.target;
        if self.reviews.is_none() {
            self.reviews = Some(host.reviews(repo, number)?);
        }
        let ours = self.reviews.iter().flatten().filter(|review| me.wrote(&review.author));
        let mut found: Vec<u64> =
            ours.filter(|review| Marker::all_in(&review.body).iter().any(&is_it)).map(|review| review.id).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Our threads with a marker in which no person replied.
    pub(super) fn threads(&mut self, is_it: impl Fn(&Marker) -> bool) -> HostResult<Vec<Thread>> {
        let roots: Vec<u64> = self.line_comments(has_mark(is_it))?.into_iter().map(|(id, _)| id).collect();
        if roots.is_empty() {
            return Ok(Vec::new());
        }
        let Target { host, me, repo, number, .. } = self.target;
        if self.threads.is_none() {
            self.threads = Some(host.threads(repo, number)?);
        }
        let is_talked_about = |root: u64| {
            let mut answers = self.line_comments.iter().flatten().filter(|comment| comment.answers == Some(root));
            answers.any(|answer| !answer.author.is_bot && !me.wrote(&answer.author))
        };
        let threads = self.threads.iter().flatten().filter(|thread| roots.contains(&thread.root));
        Ok(threads.filter(|thread| !is_talked_about(thread.root)).cloned().collect())
    }

    /// Invalidates the cache after a post.
    pub(super) fn forget(&mut self) {
        (self.comments, self.line_comments, self.reviews, self.threads) = (None, None, None, None);
    }

    fn ours<'c>(
        &self,
        comments: impl Iterator<Item = &'c Comment>,
        is_it: impl Fn(&str) -> bool,
    ) -> Vec<(u64, String)> {
        let ours = comments.filter(|comment| self.target.me.wrote(&comment.author) && is_it(&comment.body));
        let mut found: Vec<(u64, String)> = ours.map(|comment| (comment.id, comment.body.clone())).collect();
        found.sort_unstable();
        found
    }
}

/// Matches texts with a marker.
pub(super) fn has_mark(is_it: impl Fn(&Marker) -> bool) -> impl Fn(&str) -> bool {
    move |body| Marker::all_in(body).iter().any(&is_it)
}

/// Returns the first comment and deletes the others.
fn keep_first(found: Vec<(u64, String)>, delete: impl Fn(u64) -> HostResult<()>) -> HostResult<Option<(u64, String)>> {
    let mut found = found.into_iter();
    let first = found.next();
    found.try_for_each(|(extra, _)| unless_gone(delete(extra)))?;
    Ok(first)
}

/// Ignores that another worker deleted a comment first.
pub(super) fn unless_gone(deleted: HostResult<()>) -> HostResult<()> {
    match deleted {
        Err(error) if error.kind == HostErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
}
