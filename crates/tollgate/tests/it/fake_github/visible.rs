//! What people see at the fake GitHub of what the app wrote, and whether that can be right.

use std::collections::BTreeMap;

use super::state::{Check, Comment, LineComment, Review};
use super::users::PullRequest;

/// What the app wrote on a pull request.
pub(crate) struct Seen {
    pub(crate) head: String,
    /// Summary comments.
    pub(crate) summaries: Vec<Comment>,
    /// All other comments in the conversation.
    pub(crate) others: Vec<Comment>,
    pub(crate) reviews: Vec<Review>,
    /// Comments at lines that begin a thread.
    pub(crate) inline: Vec<LineComment>,
    /// Answers in threads.
    pub(crate) answers: Vec<LineComment>,
    /// Checks of commits that were its head some time.
    pub(crate) checks: Vec<Check>,
}

/// The marks of a text: a line `<!-- tollgate:KIND DATA -->` gives `(KIND, DATA)`.
pub(crate) fn marks(body: &str) -> Vec<(&str, &str)> {
    body.lines()
        .filter_map(|line| line.trim_end().strip_prefix("<!-- tollgate:")?.strip_suffix(" -->"))
        .map(|inside| inside.split_once(' ').unwrap_or((inside, "")))
        .collect()
}

fn mark<'a>(body: &'a str, kind: &str) -> Option<&'a str> {
    marks(body).into_iter().find(|(found, _)| *found == kind).map(|(_, data)| data)
}

impl PullRequest<'_> {
    /// What the app wrote here until now.
    pub(crate) fn seen(&self) -> Seen {
        self.seen_by(Some(self.github.app_id()))
    }

    /// What another app wrote here until now, or people did.
    pub(crate) fn seen_by(&self, app: Option<u64>) -> Seen {
        let state = self.github.state();
        let repo = state.repo(&self.repo).unwrap();
        let pull = &repo.pulls[&self.number];
        let comments = pull.comments.iter().filter(|comment| comment.by.app == app).cloned();
        let (summaries, others) = comments.partition(|comment: &Comment| mark(&comment.body, "summary").is_some());
        let at_lines = pull.at_lines.iter().filter(|comment| comment.by.app == app).cloned();
        let (inline, answers) = at_lines.partition(|comment: &LineComment| comment.answers.is_none());
        let is_its_own = |check: &&Check| Some(check.app) == app && pull.heads.contains(&check.head);
        Seen {
            head: pull.head.clone(),
            summaries,
            others,
            reviews: pull.reviews.iter().filter(|review| review.by.app == app).cloned().collect(),
            inline,
            answers,
            checks: repo.checks.iter().filter(is_its_own).cloned().collect(),
        }
    }
}

impl Seen {
    /// The check of a commit, when there is exactly one.
    pub(crate) fn check_of(&self, head: &str) -> Option<&Check> {
        let mut found = self.checks.iter().filter(|check| check.head == head);
        found.next().filter(|_| found.next().is_none())
    }

    /// How the check of its head ended; nothing while it has not.
    pub(crate) fn conclusion(&self) -> Option<&str> {
        self.check_of(&self.head)?.conclusion.as_deref()
    }

    /// The replies to a comment, in the conversation or in a thread.
    pub(crate) fn replies_to(&self, comment: u64) -> Vec<&str> {
        let data = format!("comment={comment}");
        let bodies = self.others.iter().map(|one| &one.body).chain(self.answers.iter().map(|one| &one.body));
        bodies.filter(|body| mark(body, "reply") == Some(&data)).map(String::as_str).collect()
    }

    /// All violated invariants; empty if there are none.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.summaries.len() > 1 {
            problems.push(format!("{} summaries", self.summaries.len()));
        }
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for comment in &self.inline {
            let what = mark(&comment.body, "finding").map_or_else(|| comment.body.clone(), str::to_owned);
            *counts.entry((format!("comment at a line of {}", comment.commit), what)).or_default() += 1;
        }
        for review in &self.reviews {
            *counts.entry(("review".to_owned(), review.commit.clone())).or_default() += 1;
        }
        for check in &self.checks {
            *counts.entry(("check".to_owned(), format!("{} {}", check.name, check.head))).or_default() += 1;
            if check.status != "completed" {
                problems.push(format!("the check of {} is {}", check.head, check.status));
            }
        }
        let said = self.others.iter().map(|one| &one.body).chain(self.answers.iter().map(|one| &one.body));
        for (kind, data) in said.flat_map(|body| marks(body)) {
            *counts.entry((kind.to_owned(), data.to_owned())).or_default() += 1;
        }
        let doubled = counts.into_iter().filter(|(_, n)| *n > 1);
        problems.extend(doubled.map(|((kind, what), n)| format!("{n} times the same {kind}: {what}")));
        problems
    }
}
