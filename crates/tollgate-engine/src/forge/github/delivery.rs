//! Parses webhook deliveries of GitHub into a [`WebhookEvent`].
//!
//! ```text
//! pull_request   {"action":"synchronize","pull_request":{"number":12,"head":{"sha":"…"}},"repository":{…},…}
//! issue_comment  {"action":"created","issue":{"number":12,"pull_request":{}},"comment":{"body":"@gate review"},…}
//! ```
//!
//! The caller has verified the signature. Only the few relevant fields are parsed, without copying; the rest of about
//! 20 kB is skipped. Duplicate keys are rejected, because other parsers may pick the other value.

mod depth;
mod payload;
#[cfg(test)]
mod tests;

use tollgate_core::pull::command::{self, Command};
use tollgate_core::pull::webhook_event::{Actor, CommentRef, PullEvent, WebhookEvent, WebhookEventKind};
use tollgate_core::pull::{Repo, RepoError, check_run};
use tollgate_core::sha::{Sha, ShaError};

use self::payload::{Check, Comment, Payload, PullRequest, Text, User};
use super::error::tidy;

/// The maximum nesting; GitHub's own deliveries have seven levels.
const MAX_DEPTH: usize = 32;
/// The maximum length of a branch name.
const MAX_BRANCH: usize = 1024;

/// The reason why a delivery is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDelivery {
    /// Nested too deeply.
    #[error("the delivery is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Invalid JSON, a wrong type, or a duplicate key.
    #[error("the delivery cannot be read: {0}")]
    Unreadable(String),
    /// A required field is missing.
    #[error("the delivery has no `{0}`")]
    Missing(&'static str),
    /// An invalid repository name.
    #[error("the delivery makes no sense: {0}")]
    Repo(#[from] RepoError),
    /// An invalid commit name.
    #[error("the delivery makes no sense: {0}")]
    Sha(#[from] ShaError),
}

/// The result of parsing a delivery.
type Read = Result<Option<WebhookEvent>, BadDelivery>;

/// Parses the delivery of an event; `None` when it needs no action. `mention` is our name in mentions.
pub fn read(event: &str, body: &[u8], mention: &str) -> Result<Option<WebhookEvent>, BadDelivery> {
    check_text(body)?;
    if depth::exceeds(body, MAX_DEPTH) {
        return Err(BadDelivery::TooDeep);
    }
    let read: fn(&Delivery<'_>) -> Read = match event {
        "pull_request" => pull_request,
        "issue_comment" => issue_comment,
        "pull_request_review_comment" => line_comment,
        "pull_request_review" => review,
        "pull_request_review_thread" => thread,
        "push" => push,
        "check_run" => check_run,
        "check_suite" => check_suite,
        "installation" => installation,
        "installation_repositories" => repositories,
        _ => return Ok(None),
    };
    // Serde would accept an array as a struct with its fields in order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(BadDelivery::Unreadable("it is not a JSON object".to_owned()));
    }
    let payload = serde_json::from_slice(body).map_err(|error| BadDelivery::Unreadable(tidy(&error.to_string())))?;
    read(&Delivery { payload, mention })
}

/// Checks that a delivery is text, also in the parts that are not read and for events that need no action.
pub fn check_text(body: &[u8]) -> Result<(), BadDelivery> {
    let wrong = |error: std::str::Utf8Error| format!("it is not valid UTF-8 at byte {}", error.valid_up_to());
    std::str::from_utf8(body).map(drop).map_err(|error| BadDelivery::Unreadable(wrong(error)))
}

/// A delivery, and our name to recognize mentions.
struct Delivery<'a> {
    payload: Payload<'a>,
    mention: &'a str,
}

fn pull_request(delivery: &Delivery<'_>) -> Read {
    let payload = &delivery.payload;
    let about = match delivery.action() {
        "opened" | "reopened" | "ready_for_review" | "synchronize" | "converted_to_draft" => delivery.changed()?,
        "edited" if payload.changes.as_ref().is_some_and(payload::Changes::matter) => delivery.changed()?,
        "review_requested" if payload.requested_reviewer.as_ref().is_some_and(|user| delivery.is_us(user)) => {
            PullEvent::ReviewRequested { by: delivery.sender() }
        }
        "closed" => PullEvent::Closed,
        _ => return Ok(None),
    };
    delivery.ask(delivery.pull()?.number, about)
}

fn issue_comment(delivery: &Delivery<'_>) -> Read {
    let issue = delivery.payload.issue.as_ref().ok_or(BadDelivery::Missing("issue"))?;
    if delivery.action() != "created" || issue.pull_request.is_none() {
        return Ok(None);
    }
    let comment = delivery.comment()?;
    delivery.said(issue.number, comment, CommentRef::Conversation(comment.id))
}

fn line_comment(delivery: &Delivery<'_>) -> Read {
    if delivery.action() != "created" {
        return Ok(None);
    }
    let comment = delivery.comment()?;
    let place = CommentRef::Thread { comment: comment.id, root: comment.in_reply_to_id.unwrap_or(comment.id) };
    delivery.said(delivery.pull()?.number, comment, place)
}

fn review(delivery: &Delivery<'_>) -> Read {
    if delivery.action() != "submitted" {
        return Ok(None);
    }
    let review = delivery.payload.review.as_ref().ok_or(BadDelivery::Missing("review"))?;
    // A review has no thread of its own, so the reply goes into the conversation.
    delivery.said(delivery.pull()?.number, review, CommentRef::Conversation(review.id))
}

fn thread(delivery: &Delivery<'_>) -> Read {
    let resolved = match delivery.action() {
        "resolved" => true,
        "unresolved" => false,
        _ => return Ok(None),
    };
    let thread = delivery.payload.thread.as_ref().ok_or(BadDelivery::Missing("thread"))?;
    let Some(began) = thread.comments.first() else { return Ok(None) };
    let about = PullEvent::Thread { by: delivery.sender(), comment: began.id, resolved };
    delivery.ask(delivery.pull()?.number, about)
}

fn push(delivery: &Delivery<'_>) -> Read {
    let reference = delivery.payload.reference.as_ref().ok_or(BadDelivery::Missing("ref"))?;
    let branch = reference.as_str().strip_prefix("refs/heads/").filter(|branch| !branch.is_empty());
    let Some(branch) = branch.filter(|_| !delivery.payload.deleted) else { return Ok(None) };
    if branch.len() > MAX_BRANCH {
        return Err(BadDelivery::Unreadable("the name of the branch is too long".to_owned()));
    }
    let what = WebhookEventKind::Pushed { repo: delivery.repo()?, branch: branch.to_owned() };
    Ok(Some(WebhookEvent { installation: delivery.installation(), what }))
}

fn check_run(delivery: &Delivery<'_>) -> Read {
    let run = delivery.payload.check_run.as_ref().ok_or(BadDelivery::Missing("check_run"))?;
    // Our external ID is more reliable than GitHub's list, which omits pull requests from forks.
    let named = run.external_id.as_ref().and_then(|id| check_run::pull_of_external_id(id.as_str()));
    delivery.again(run, named.or_else(|| delivery.listed(run)))
}

fn check_suite(delivery: &Delivery<'_>) -> Read {
    let suite = delivery.payload.check_suite.as_ref().ok_or(BadDelivery::Missing("check_suite"))?;
    delivery.again(suite, delivery.listed(suite))
}

fn installation(delivery: &Delivery<'_>) -> Read {
    if !["deleted", "suspend"].contains(&delivery.action()) {
        return Ok(None);
    }
    delivery.removed(Vec::new())
}

fn repositories(delivery: &Delivery<'_>) -> Read {
    let removed = delivery.payload.repositories_removed.as_deref().unwrap_or_default();
    // An empty list would mean the whole installation.
    if delivery.action() != "removed" || removed.is_empty() {
        return Ok(None);
    }
    let names = removed.iter().map(|repository| repository.full_name.as_ref().map_or("", Text::as_str));
    delivery.removed(names.map(Repo::parse).collect::<Result<_, _>>()?)
}

impl Delivery<'_> {
    fn action(&self) -> &str {
        self.payload.action.as_ref().map_or("", Text::as_str)
    }

    fn repo(&self) -> Result<Repo, BadDelivery> {
        let name = self.payload.repository.as_ref().and_then(|repository| repository.full_name.as_ref());
        Ok(Repo::parse(name.ok_or(BadDelivery::Missing("repository"))?.as_str())?)
    }

    fn pull(&self) -> Result<&PullRequest<'_>, BadDelivery> {
        self.payload.pull_request.as_ref().ok_or(BadDelivery::Missing("pull_request"))
    }

    fn comment(&self) -> Result<&Comment<'_>, BadDelivery> {
        self.payload.comment.as_ref().ok_or(BadDelivery::Missing("comment"))
    }

    fn installation(&self) -> Option<u64> {
        self.payload.installation.as_ref().map(|installation| installation.id)
    }

    fn sender(&self) -> Actor {
        actor(self.payload.sender.as_ref())
    }

    fn is_us(&self, user: &User<'_>) -> bool {
        let login = user.login.as_str();
        login.strip_suffix("[bot]").unwrap_or(login).eq_ignore_ascii_case(self.mention)
    }

    fn changed(&self) -> Result<PullEvent, BadDelivery> {
        let head = self.pull()?.head.as_ref().ok_or(BadDelivery::Missing("head"))?;
        Ok(PullEvent::Changed { head: Some(Sha::parse(head.sha.as_str())?) })
    }

    /// The first pull request of this repository in the list of a check.
    fn listed(&self, check: &Check<'_>) -> Option<u64> {
        let here = self.payload.repository.as_ref().and_then(|repository| repository.id);
        let is_here = |base: Option<u64>| base.is_none() || here.is_none() || base == here;
        check.pull_requests.iter().find(|pull| is_here(pull.base_id())).map(|pull| pull.number)
    }

    /// A re-run request for a check, if it is ours.
    fn again(&self, check: &Check<'_>, number: Option<u64>) -> Read {
        match number.filter(|_| self.action() == "rerequested" && check.is_by(self.mention)) {
            Some(number) => self.ask(number, PullEvent::ReviewRequested { by: self.sender() }),
            None => Ok(None),
        }
    }

    /// A bot command in a comment. Other bots may only propose dismissals; our own comments are none.
    fn said(&self, number: u64, comment: &Comment<'_>, place: CommentRef) -> Read {
        let by = actor(comment.user.as_ref());
        let body = comment.body.as_ref().map_or("", Text::as_str);
        let command = command::parse(body, self.mention).filter(|command| {
            let is_ours = by.login.strip_suffix("[bot]").is_some_and(|login| login.eq_ignore_ascii_case(self.mention));
            !by.is_bot || (matches!(command, Command::Dismiss { .. }) && !is_ours)
        });
        match command {
            Some(command) => self.ask(number, PullEvent::Commanded { by, comment: place, command }),
            None => Ok(None),
        }
    }

    fn removed(&self, repos: Vec<Repo>) -> Read {
        let installation = Some(self.installation().ok_or(BadDelivery::Missing("installation"))?);
        Ok(Some(WebhookEvent { installation, what: WebhookEventKind::Removed { repos } }))
    }

    fn ask(&self, number: u64, about: PullEvent) -> Read {
        let what = WebhookEventKind::Pull { repo: self.repo()?, number, about };
        Ok(Some(WebhookEvent { installation: self.installation(), what }))
    }
}

/// The actor of an event; GitHub's ghost for deleted users.
fn actor(user: Option<&User<'_>>) -> Actor {
    match user {
        Some(user) => Actor { login: user.login.as_str().to_owned(), is_bot: user.is_bot() },
        None => Actor { login: "ghost".to_owned(), is_bot: false },
    }
}
