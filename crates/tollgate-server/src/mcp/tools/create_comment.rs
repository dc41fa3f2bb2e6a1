//! `create_comment`: puts a comment on a pull request, once, and a summary only if it keeps its rules.
//!
//! A comment of ours ends with a mark, by which it is found again. A summary always has the same mark, so a
//! second one takes the place of the first; the mark of any other comment is made of its text.
//!
//! ```text
//! <!-- tollgate:agent summary -->
//! <!-- tollgate:agent 5891b5b522d5df08 -->
//! ```

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tollgate_core::comment::json::{CheckedJson, KindJson};
use tollgate_core::comment::{self, CheckedComment, Kind, MAX_CHARS};
use tollgate_core::pull::PullRef;
use tollgate_engine::failure::Failure;
use tollgate_engine::forge::host::HostError;
use tollgate_engine::forge::local::Trigger;
use tollgate_engine::pulls::publish::{CommentAction, Target, publish_comment};

use super::{Effect, Job, Tool};
use crate::mcp::context::ToolContext;
use crate::mcp::failure;

/// What all marks of tollgate begin with.
const MARK: &str = "<!-- tollgate:";
/// Room for a mark.
const ROOM: usize = 64;

/// The tool.
pub(super) struct CreateComment;

/// Input of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The comment, Markdown.
    #[schemars(length(min = 1))]
    body: String,
    /// Repair a summary where that does not change its meaning: blank lines, order of sections, empty sections.
    #[serde(default)]
    fix: bool,
    /// The address of the pull request, as `https://github.com/owner/name/pull/12`. Left out: nothing is posted.
    pull_request: Option<String>,
    /// The folder of the repository that the pull request is of; on a server the number or folder of a project. Left
    /// out: where the server was started, or its only project.
    #[schemars(length(min = 1, max = 4096))]
    repository: Option<String>,
}

/// Output of the tool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// True when the comment stands on the pull request now.
    posted: bool,
    /// The effect on the pull request.
    action: Action,
    /// The number of the comment there.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<u64>,
    /// Why it was not posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    /// What kind of comment it is.
    kind: KindJson,
    /// The repairs that were made.
    repaired: Vec<String>,
    /// The text, repaired where that was asked for.
    body: String,
}

/// The effect on the pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// A new comment was written.
    Created,
    /// The comment of an earlier call was replaced.
    Updated,
    /// It stood there already.
    Unchanged,
    /// Nothing.
    None,
}

impl Tool for CreateComment {
    const NAME: &'static str = "create_comment";
    const TITLE: &'static str = "Comment on a pull request";
    const DESCRIPTION: &'static str = "Puts a comment on a pull request. A review summary is checked first: one that \
        breaks its rules is refused with what is wrong, or repaired with `fix: true`. Called again with the same text it \
        does nothing; a new summary replaces the one before. Without `pull_request` the checked text comes back with \
        `posted: false`, to be posted by other means. The pull request must be of the repository that you work in.";
    const EFFECT: Effect = Effect::Posts;
    type Arguments = Arguments;
    type Output = Output;

    fn call(context: &ToolContext, arguments: Arguments, job: &Job<'_>) -> Result<Output, Failure> {
        let Arguments { body, fix, pull_request, repository } = arguments;
        let parsed = pull_request.map(|address| PullRef::parse(&address)).transpose();
        let pull = parsed.map_err(|error| failure::not_a_pull_request(&error.to_string()))?;
        let bot = context.settings(None, |_| {})?.bot;
        let (kind, body, repaired) = accepted(body, fix, &bot)?;
        let output = Output {
            posted: false,
            action: Action::None,
            comment: None,
            why_not: None,
            kind: CheckedJson::from(&CheckedComment { kind, errors: Vec::new() }).kind,
            repaired,
            body,
        };
        let Some(pull) = pull else {
            return Ok(Output { why_not: Some("no pull request was named".to_owned()), ..output });
        };
        check_ours(context, repository.as_deref(), &pull)?;
        let host = context.host(&pull)?.ok_or_else(|| failure::no_way_in(&pull.host))?;
        let mark = mark(kind, &output.body);
        let marked = format!("{}\n\n{mark}", output.body.trim_end());
        let me = host.me().map_err(HostError::into_failure)?;
        let target = Target { host: &*host, me: &me, repo: &pull.repo, number: pull.number, check_name: "" };
        // Two at once would both find nothing there. Those in other processes see to it that one stays.
        let _alone = context.post_alone();
        let published = publish_comment(&target, &mark, &marked, job.cancel);
        let (action, comment) = published.map_err(HostError::into_failure)?;
        let action = match action {
            CommentAction::Created => Action::Created,
            CommentAction::Updated => Action::Updated,
            CommentAction::Unchanged => Action::Unchanged,
        };
        Ok(Output { posted: true, action, comment: Some(comment), ..output })
    }

    fn in_words(output: &Output) -> String {
        let mut words = match (output.action, output.comment) {
            (Action::Created, Some(comment)) => format!("posted as comment {comment}"),
            (Action::Updated, Some(comment)) => format!("comment {comment} was replaced"),
            (Action::Unchanged, Some(comment)) => format!("it stands there already, as comment {comment}"),
            _ => format!("not posted: {}", output.why_not.as_deref().unwrap_or("nothing was asked for")),
        };
        for repaired in &output.repaired {
            let _ = write!(words, "\nrepaired: {repaired}");
        }
        if !output.posted {
            let _ = write!(words, "\n\n{}", output.body);
        }
        words
    }
}

/// The comment as it may be posted, and the repairs made in it.
fn accepted(body: String, fix: bool, bot: &str) -> Result<(Kind, String, Vec<String>), Failure> {
    let n_chars = body.chars().count();
    if body.trim().is_empty() || n_chars > MAX_CHARS - ROOM {
        return Err(failure::unfit_comment(n_chars, MAX_CHARS - ROOM));
    }
    // Under our name such a mark would count.
    if body.to_ascii_lowercase().replace(char::is_whitespace, "").contains("<!--tollgate:") {
        return Err(failure::forged_mark());
    }
    let CheckedComment { kind, errors } = comment::check(&body, bot);
    match (errors.is_empty(), fix) {
        (true, _) => Ok((kind, body, Vec::new())),
        (false, false) => Err(failure::invalid_comment(&errors, false)),
        (false, true) => {
            let fixed = comment::fix(&body, bot).map_err(|errors| failure::invalid_comment(&errors, true))?;
            Ok((kind, fixed.text, fixed.done))
        }
    }
}

/// Refuses other repositories: the caller must not write in our name wherever it likes.
fn check_ours(context: &ToolContext, repository: Option<&str>, pull: &PullRef) -> Result<(), Failure> {
    if context.may_post_to(&pull.repo) {
        return Ok(());
    }
    let name = pull.host.split_once("://").map_or("", |(_, name)| name);
    let theirs = format!("{name}/{}", pull.repo.key());
    let ours = context.open(repository, Trigger::Default)?.identity().unwrap_or_default();
    if ours.eq_ignore_ascii_case(&theirs) { Ok(()) } else { Err(failure::not_our_pull_request(&ours, &theirs)) }
}

fn mark(kind: Kind, body: &str) -> String {
    match kind {
        Kind::Review | Kind::ReReview => format!("{MARK}agent summary -->"),
        Kind::Other => {
            let digest = Sha256::digest(body.trim().as_bytes());
            let key: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("{MARK}agent {key} -->")
        }
    }
}
