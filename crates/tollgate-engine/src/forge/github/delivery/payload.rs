//! The parsed fields of webhook deliveries.
//!
//! One struct for all events: fields of other events are absent. Strings without escapes are borrowed from the body.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The body of a delivery.
#[derive(Debug, Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) action: Option<Text<'a>>,
    pub(super) repository: Option<Repository<'a>>,
    pub(super) installation: Option<Numbered>,
    pub(super) sender: Option<User<'a>>,
    pub(super) pull_request: Option<PullRequest<'a>>,
    pub(super) changes: Option<Changes>,
    pub(super) requested_reviewer: Option<User<'a>>,
    pub(super) issue: Option<Issue>,
    pub(super) comment: Option<Comment<'a>>,
    pub(super) review: Option<Comment<'a>>,
    pub(super) thread: Option<Thread>,
    #[serde(rename = "ref")]
    pub(super) reference: Option<Text<'a>>,
    #[serde(default)]
    pub(super) deleted: bool,
    pub(super) check_run: Option<Check<'a>>,
    pub(super) check_suite: Option<Check<'a>>,
    pub(super) repositories_removed: Option<Vec<Repository<'a>>>,
}

/// A borrowed string.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository<'a> {
    pub(super) id: Option<u64>,
    /// Absent where only the number is sent.
    #[serde(borrow)]
    pub(super) full_name: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User<'a> {
    #[serde(borrow)]
    pub(super) login: Text<'a>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
}

impl User<'_> {
    pub(super) fn is_bot(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.as_str() == "Bot") || self.login.as_str().ends_with("[bot]")
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct PullRequest<'a> {
    pub(super) number: u64,
    #[serde(borrow)]
    pub(super) head: Option<End<'a>>,
    pub(super) base: Option<End<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct End<'a> {
    #[serde(borrow)]
    pub(super) sha: Text<'a>,
    pub(super) repo: Option<Repository<'a>>,
}

impl PullRequest<'_> {
    /// The number of the target repository.
    pub(super) fn base_id(&self) -> Option<u64> {
        self.base.as_ref()?.repo.as_ref()?.id
    }
}

/// The changed fields of an `edited` event.
#[derive(Debug, Deserialize)]
pub(super) struct Changes {
    title: Option<IgnoredAny>,
    base: Option<IgnoredAny>,
}

impl Changes {
    /// True when the edit can change the result of a review.
    pub(super) fn matter(&self) -> bool {
        self.title.is_some() || self.base.is_some()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    /// Present only for pull requests.
    pub(super) pull_request: Option<IgnoredAny>,
}

/// A comment, or a review, which has the same fields.
#[derive(Debug, Deserialize)]
pub(super) struct Comment<'a> {
    pub(super) id: u64,
    #[serde(borrow)]
    pub(super) body: Option<Text<'a>>,
    pub(super) user: Option<User<'a>>,
    pub(super) in_reply_to_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Thread {
    #[serde(default)]
    pub(super) comments: Vec<Numbered>,
}

/// A check run or a check suite.
#[derive(Debug, Deserialize)]
pub(super) struct Check<'a> {
    #[serde(borrow)]
    pub(super) external_id: Option<Text<'a>>,
    app: Option<App<'a>>,
    #[serde(default)]
    pub(super) pull_requests: Vec<PullRequest<'a>>,
}

#[derive(Debug, Deserialize)]
struct App<'a> {
    #[serde(borrow)]
    slug: Option<Text<'a>>,
}

impl Check<'_> {
    /// True when the check belongs to the app of this name. GitHub sends re-run requests only to the app that made the
    /// check, so one without a name is ours.
    pub(super) fn is_by(&self, mention: &str) -> bool {
        let slug = self.app.as_ref().and_then(|app| app.slug.as_ref());
        slug.is_none_or(|slug| slug.as_str().eq_ignore_ascii_case(mention))
    }
}
