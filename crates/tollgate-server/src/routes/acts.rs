//! What people do to features.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::desk::Act;
use crate::extract::{Body, FeaturePath, OfFeature, Optional};
use crate::problem::{Kind, Problem};
use crate::routes::Shared;
use crate::routes::features::{check_text, whole};
use crate::view::FeatureBody;

/// Who does things over this interface, if nobody says.
pub(crate) const BY: &str = "operator";

/// What to say to the agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    /// Comes first in what the agent is told.
    #[schema(max_length = 20_000, example = "Use the existing session store.")]
    note: Option<String>,
}

/// Why a feature may pass, whatever its review says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approve {
    /// Recorded with the approval.
    #[schema(min_length = 1, max_length = 20_000, pattern = r"\S", example = "The remark is about generated code.")]
    reason: String,
    /// Who approves; `operator` if nobody says.
    #[schema(max_length = 200, example = "Ada")]
    by: Option<String>,
}

/// Why a feature goes back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reject {
    /// What is wrong with it, for the agent.
    #[schema(
        min_length = 1,
        max_length = 20_000,
        pattern = r"\S",
        example = "The error message names the wrong field."
    )]
    note: String,
}

/// Where a feature goes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    /// The column: `backlog`, or `completed` for a feature that passed.
    status: Column,
}

/// A column that people move features to.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Column {
    /// Nobody works on it.
    Backlog,
    /// A person looks at it.
    WaitingApproval,
    /// Nobody has to look at it.
    Verified,
    /// It is over.
    Completed,
}

/// Has a feature done.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/start",
    operation_id = "startFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn start(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, Act::Start, BY).await
}

/// Ends the work on a feature. What was done stays in its work tree.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/stop",
    operation_id = "stopFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn stop(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, Act::Stop, BY).await
}

/// Has a feature go on that waits for a person, with more rounds.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/resume",
    operation_id = "resumeFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Option<Resume>,
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn resume(
    State(app): State<Shared>,
    of: OfFeature,
    Optional(resume): Optional<Resume>,
) -> Result<Response, Problem> {
    check_text("note", resume.note.as_ref(), 20_000)?;
    act(&app, of, Act::Resume { note: resume.note }, BY).await
}

/// Lets a feature pass, whatever its review says. The reason is recorded.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/approve",
    operation_id = "approveFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Approve,
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn approve(
    State(app): State<Shared>,
    of: OfFeature,
    Body(approve): Body<Approve>,
) -> Result<Response, Problem> {
    check_said("reason", &approve.reason)?;
    check_text("by", approve.by.as_ref(), 200)?;
    let by = approve.by.filter(|by| !by.trim().is_empty());
    act(&app, of, Act::Approve { reason: approve.reason }, by.as_deref().unwrap_or(BY)).await
}

/// Sends a feature back to the agent.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/reject",
    operation_id = "rejectFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Reject,
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn reject(
    State(app): State<Shared>,
    of: OfFeature,
    Body(reject): Body<Reject>,
) -> Result<Response, Problem> {
    check_said("note", &reject.note)?;
    act(&app, of, Act::Reject { note: reject.note }, BY).await
}

/// Tries again what failed, or has reviewed again what was rejected too often, e.g. after findings were dismissed.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/retry",
    operation_id = "retryFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn retry(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, Act::Retry, BY).await
}

/// Moves a feature to another column, if it may go there.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/move",
    operation_id = "moveFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Move,
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn move_to(
    State(app): State<Shared>,
    of: OfFeature,
    Body(to): Body<Move>,
) -> Result<Response, Problem> {
    act(&app, of, Act::Move { status: to.status.word().to_owned() }, BY).await
}

/// Removes the work tree of a feature, if nothing in it would be lost.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/clean",
    operation_id = "cleanFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn clean(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, Act::Clean, BY).await
}

impl Column {
    fn word(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::WaitingApproval => "waiting_approval",
            Self::Verified => "verified",
            Self::Completed => "completed",
        }
    }
}

async fn act(app: &Shared, of: OfFeature, act: Act, by: &str) -> Result<Response, Problem> {
    let (OfFeature(project, id), by) = (of, by.to_owned());
    Ok(whole(app.call(move |desk| desk.act(project, &id, act, &by)).await?))
}

pub(crate) fn check_said(name: &str, text: &String) -> Result<(), Problem> {
    check_text(name, Some(text), 20_000)?;
    if text.trim().is_empty() {
        return Err(Problem::new(Kind::Unprocessable, format!("`{name}` is empty")));
    }
    Ok(())
}
