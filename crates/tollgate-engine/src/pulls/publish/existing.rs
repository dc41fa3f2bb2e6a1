//! Our existing posts on a pull request, by marker.
//!
//! Lists are fetched lazily, and again after something was posted.

use tollgate_core::pull::mark::Mark;

use super::Target;
use crate::forge::host::{Author, Comment, HostResult, PostedReview, Thread};

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

    /// Our conversation comments with a marker, oldest first, each with its text.
    pub(super) fn comments(&mut self, is_it: impl Fn(&Mark) -> bool) -> HostResult<Vec<(u64, String)>> {
        let Target { host, me, repo, number, .. } = self.target;
        if self.comments.is_none() {
            self.comments = Some(host.comments(repo, number)?);
        }
        Ok(marked(self.comments.iter().flatten(), |author| me.wrote(author), is_it))
    }

    /// Our review comments with a marker, oldest first, each with its text.
    pub(super) fn line_comments(&mut self, is_it: impl Fn(&Mark) -> bool) -> HostResult<Vec<(u64, String)>> {
        let Target { host, me, repo, number, .. } = self.target;
        if self.line_comments.is_none() {
            self.line_comments = Some(host.line_comments(repo, number)?);
        }
        Ok(marked(self.line_comments.iter().flatten(), |author| me.wrote(author), is_it))
    }

    /// Our reviews with a marker, oldest first.
    pub(super) fn reviews(&mut self, is_it: impl Fn(&Mark) -> bool) -> HostResult<Vec<u64>> {
        let Target { host, me, repo, number, .. } = self.target;
        if self.reviews.is_none() {
            self.reviews = Some(host.reviews(repo, number)?);
        }
        let ours = self.reviews.iter().flatten().filter(|review| me.wrote(&review.author));
        let mut found: Vec<u64> =
            ours.filter(|review| Mark::all_in(&review.body).iter().any(&is_it)).map(|review| review.id).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Our threads with a marker in which no person replied.
    pub(super) fn threads(&mut self, is_it: impl Fn(&Mark) -> bool) -> HostResult<Vec<Thread>> {
        let roots: Vec<u64> = self.line_comments(is_it)?.into_iter().map(|(id, _)| id).collect();
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
}

fn marked<'c>(
    comments: impl Iterator<Item = &'c Comment>,
    is_ours: impl Fn(&Author) -> bool,
    is_it: impl Fn(&Mark) -> bool,
) -> Vec<(u64, String)> {
    let ours = comments.filter(|comment| is_ours(&comment.author));
    let ours = ours.filter(|comment| Mark::all_in(&comment.body).iter().any(&is_it));
    let mut found: Vec<(u64, String)> = ours.map(|comment| (comment.id, comment.body.clone())).collect();
    found.sort_unstable();
    found
}
