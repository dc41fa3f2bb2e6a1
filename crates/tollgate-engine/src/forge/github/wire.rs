//! Request and response bodies of GitHub's REST API.
//!
//! Unknown fields are ignored. Fields that GitHub documents as nullable or optional may be missing: a deleted user, a
//! deleted fork.

use serde::{Deserialize, Serialize};
use tollgate_core::pull::Repo;
use tollgate_core::pull::check_run::{Annotation, Conclusion};
use tollgate_core::pull::inline_comment::InlineComment;
use tollgate_core::sha::Sha;

use crate::forge::host::{self, Author, CheckUpdate, NewCheck, NewReview, Permission, ReviewEvent};

/// GitHub's placeholder for deleted users.
const GHOST: &str = "ghost";

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// The author of a comment with a user and perhaps an app.
fn author(user: Option<User>, app: Option<AppRef>) -> Author {
    let user = user.unwrap_or_else(|| User { login: GHOST.to_owned(), kind: String::new() });
    let is_bot = user.kind == "Bot" || user.login.ends_with("[bot]");
    Author { login: user.login, app: app.map(|app| app.id), is_bot }
}

#[derive(Debug, Deserialize)]
pub(super) struct AppRef {
    id: u64,
}

/// An object of which only the number is read.
#[derive(Debug, Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    number: u64,
    title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    #[serde(default)]
    draft: bool,
    head: End,
    base: End,
    #[serde(default)]
    commits: u64,
    #[serde(default)]
    changed_files: u64,
}

#[derive(Debug, Deserialize)]
struct End {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    repo: Option<Named>,
}

#[derive(Debug, Deserialize)]
struct Named {
    full_name: String,
}

impl Pull {
    /// Converts the pull request, or names the invalid field.
    pub(super) fn into_host(self) -> Result<host::Pull, String> {
        let sha = |text: &str| Sha::parse(text).map_err(|error| error.to_string());
        Ok(host::Pull {
            number: self.number,
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: author(self.user, None).login,
            is_open: self.state == "open",
            is_draft: self.draft,
            head: sha(&self.head.sha)?,
            base: sha(&self.base.sha)?,
            base_branch: self.base.branch,
            from: self.head.repo.and_then(|repo| Repo::parse(&repo.full_name).ok()),
            size: (self.commits, self.changed_files),
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    sha: String,
    commit: Message,
}

#[derive(Debug, Deserialize)]
struct Message {
    message: String,
}

impl Commit {
    pub(super) fn into_host(self) -> Result<host::PullCommit, String> {
        let sha = Sha::parse(&self.sha).map_err(|error| error.to_string())?;
        Ok(host::PullCommit { sha, message: self.commit.message })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    performed_via_github_app: Option<AppRef>,
    in_reply_to_id: Option<u64>,
}

impl From<Comment> for host::Comment {
    fn from(comment: Comment) -> Self {
        Self {
            id: comment.id,
            author: author(comment.user, comment.performed_via_github_app),
            body: comment.body.unwrap_or_default(),
            answers: comment.in_reply_to_id,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    commit_id: Option<String>,
}

impl From<Review> for host::PostedReview {
    fn from(review: Review) -> Self {
        Self {
            id: review.id,
            author: author(review.user, None),
            body: review.body.unwrap_or_default(),
            head: review.commit_id.and_then(|sha| Sha::parse(&sha).ok()),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Access {
    permission: String,
}

impl Access {
    /// The permission of a role. Unknown roles have none.
    pub(super) fn permission(&self) -> Permission {
        match self.permission.as_str() {
            "admin" | "maintain" | "write" => Permission::Write,
            "read" | "triage" => Permission::Read,
            _ => Permission::None,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckRuns {
    pub(super) check_runs: Vec<CheckRun>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CheckRun {
    id: u64,
    name: String,
    external_id: Option<String>,
    status: String,
    conclusion: Option<String>,
    output: Option<Output>,
    app: Option<AppRef>,
}

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(default)]
    annotations_count: usize,
}

impl CheckRun {
    /// True when the check run has this name and, for an app, is ours.
    pub(super) fn is(&self, name: &str, app: Option<u64>) -> bool {
        let its = self.app.as_ref().map(|app| app.id);
        self.name == name && (app.is_none() || its == app)
    }
}

impl From<CheckRun> for host::Check {
    fn from(run: CheckRun) -> Self {
        Self {
            id: run.id,
            external_id: run.external_id.unwrap_or_default(),
            is_completed: run.status == "completed",
            conclusion: run.conclusion,
            n_annotations: run.output.map_or(0, |output| output.annotations_count),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Delivery {
    pub(super) id: u64,
    pub(super) guid: String,
    pub(super) delivered_at: String,
    pub(super) status_code: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct CommentBody<'a> {
    pub(super) body: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct ReviewBody<'a> {
    commit_id: &'a str,
    body: &'a str,
    event: &'static str,
    comments: Vec<LineComment<'a>>,
}

impl<'a> ReviewBody<'a> {
    pub(super) fn new(review: &NewReview<'a>) -> Self {
        let event = match review.act {
            ReviewEvent::Comment => "COMMENT",
            ReviewEvent::Approve => "APPROVE",
            ReviewEvent::RequestChanges => "REQUEST_CHANGES",
        };
        let comments = review.comments.iter().map(LineComment::new).collect();
        Self { commit_id: review.head.as_str(), body: review.body, event, comments }
    }
}

/// A comment at lines, or at a file without lines.
#[derive(Debug, Serialize)]
pub(super) struct LineComment<'a> {
    path: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'static str>,
    // GitHub rejects a `start_line` that equals `line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_side: Option<&'static str>,
}

impl<'a> LineComment<'a> {
    fn new(inline: &'a InlineComment) -> Self {
        let side = inline.at.map(|span| span.side.as_str());
        let start_line = inline.at.filter(|span| span.start < span.line).map(|span| span.start);
        let start_side = side.filter(|_| start_line.is_some());
        let line = inline.at.map(|span| span.line);
        Self { path: &inline.path, body: &inline.body, line, side, start_line, start_side }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SingleComment<'a> {
    commit_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_type: Option<&'static str>,
    #[serde(flatten)]
    comment: LineComment<'a>,
}

impl<'a> SingleComment<'a> {
    pub(super) fn new(head: &'a Sha, inline: &'a InlineComment) -> Self {
        let subject_type = inline.at.is_none().then_some("file");
        Self { commit_id: head.as_str(), subject_type, comment: LineComment::new(inline) }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CheckBegin<'a> {
    name: &'a str,
    head_sha: &'a str,
    status: &'static str,
    external_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details_url: Option<&'a str>,
    output: CheckOutput<'a>,
}

impl<'a> CheckBegin<'a> {
    pub(super) fn new(check: &NewCheck<'a>) -> Self {
        Self {
            name: check.name,
            head_sha: check.head.as_str(),
            status: "in_progress",
            external_id: check.external_id,
            details_url: check.details_url,
            output: CheckOutput::new(check.says, &[]),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CheckMore<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'static str>,
    output: CheckOutput<'a>,
}

impl<'a> CheckMore<'a> {
    pub(super) fn new(update: &CheckUpdate<'a>) -> Self {
        let status = if update.conclusion.is_some() { "completed" } else { "in_progress" };
        let conclusion = update.conclusion.map(Conclusion::as_str);
        Self { status, conclusion, output: CheckOutput::new(update.says, update.annotations) }
    }
}

#[derive(Debug, Serialize)]
struct CheckOutput<'a> {
    title: &'a str,
    summary: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<Note<'a>>,
}

impl<'a> CheckOutput<'a> {
    fn new((title, summary): (&'a str, &'a str), annotations: &'a [Annotation]) -> Self {
        Self { title, summary, annotations: annotations.iter().map(Note::new).collect() }
    }
}

#[derive(Debug, Serialize)]
struct Note<'a> {
    path: &'a str,
    start_line: u32,
    end_line: u32,
    annotation_level: &'static str,
    title: &'a str,
    message: &'a str,
}

impl<'a> Note<'a> {
    fn new(annotation: &'a Annotation) -> Self {
        Self {
            path: &annotation.path,
            start_line: annotation.start_line,
            end_line: annotation.end_line,
            annotation_level: annotation.level.as_str(),
            title: &annotation.title,
            message: &annotation.message,
        }
    }
}
