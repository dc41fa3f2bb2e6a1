//! Actions on features: start, stop, approve, reject and so on.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::Status;
use tollgate_engine::board::Board;
use tollgate_engine::forge::worktree::Removed;
use tollgate_engine::store::board::FeatureRow;
use utoipa::ToSchema;

use crate::app::{ProjectId, Shared};
use crate::extract::{Body, FeaturePath, OfFeature, Optional};
use crate::problem::{self, Kind, Problem};
use crate::routes::features::{check_text, whole};
use crate::view::FeatureBody;

/// The name of the person who acts through the API, unless given.
pub(crate) const BY: &str = "operator";

/// A note to the agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    /// The note, which comes first in the prompt of the agent.
    #[schema(max_length = 20_000, example = "Use the existing session store.")]
    note: Option<String>,
}

/// A manual approval.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approve {
    /// The reason, recorded with the approval.
    #[schema(min_length = 1, max_length = 20_000, pattern = r"\S", example = "The remark is about generated code.")]
    reason: String,
    /// The person who approves; `operator` by default.
    #[schema(max_length = 200, example = "Ada")]
    by: Option<String>,
}

/// A rejection by a person.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reject {
    /// A note to the agent.
    #[schema(
        min_length = 1,
        max_length = 20_000,
        pattern = r"\S",
        example = "The error message names the wrong field."
    )]
    note: String,
}

/// A move to another column.
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
    /// Not started.
    Backlog,
    /// Approved, awaiting manual approval.
    WaitingApproval,
    /// Approved, without manual approval.
    Verified,
    /// It is over.
    Completed,
}

/// Starts work on a feature.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/start",
    operation_id = "startFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn start(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, |board, project, id| Ok(board.start(project, id, BY)?)).await
}

/// Stops the work on a feature. Its work tree stays as it is.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/stop",
    operation_id = "stopFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn stop(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, |board, project, id| Ok(board.stop(project, id, BY)?)).await
}

/// Resumes a paused feature with a fresh iteration budget.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/resume",
    operation_id = "resumeFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Option<Resume>,
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn resume(
    State(app): State<Shared>,
    of: OfFeature,
    Optional(resume): Optional<Resume>,
) -> Result<Response, Problem> {
    check_text("note", resume.note.as_ref(), 20_000)?;
    act(&app, of, move |board, project, id| Ok(board.resume(project, id, BY, resume.note.as_deref())?)).await
}

/// Approves a feature against its review. The reason is recorded.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/approve",
    operation_id = "approveFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Approve,
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn approve(
    State(app): State<Shared>,
    of: OfFeature,
    Body(approve): Body<Approve>,
) -> Result<Response, Problem> {
    check_said("reason", &approve.reason)?;
    check_text("by", approve.by.as_ref(), 200)?;
    let by = approve.by.filter(|by| !by.trim().is_empty()).unwrap_or_else(|| BY.to_owned());
    act(&app, of, move |board, project, id| Ok(board.approve(project, id, &by, &approve.reason)?)).await
}

/// Sends a feature back to the agent.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/reject",
    operation_id = "rejectFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Reject,
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn reject(
    State(app): State<Shared>,
    of: OfFeature,
    Body(reject): Body<Reject>,
) -> Result<Response, Problem> {
    check_said("note", &reject.note)?;
    act(&app, of, move |board, project, id| Ok(board.reject(project, id, BY, &reject.note)?)).await
}

/// Retries a failed step, or repeats a review that rejected too often, e.g. after findings were dismissed.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/retry",
    operation_id = "retryFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn retry(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, |board, project, id| Ok(board.retry(project, id, BY)?)).await
}

/// Moves a feature to another column, if it may go there.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/move",
    operation_id = "moveFeature",
    tag = "features",
    params(FeaturePath),
    request_body = Move,
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn move_to(
    State(app): State<Shared>,
    of: OfFeature,
    Body(to): Body<Move>,
) -> Result<Response, Problem> {
    act(&app, of, move |board, project, id| Ok(board.move_to(project, id, BY, &to.status.status())?)).await
}

/// Removes the work tree of a feature, if nothing in it would be lost.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/clean",
    operation_id = "cleanFeature",
    tag = "features",
    params(FeaturePath),
    responses((status = 200, description = "The feature after the action.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn clean(State(app): State<Shared>, of: OfFeature) -> Result<Response, Problem> {
    act(&app, of, remove_worktree).await
}

impl Column {
    fn status(self) -> Status {
        match self {
            Self::Backlog => Status::Backlog,
            Self::WaitingApproval => Status::WaitingApproval,
            Self::Verified => Status::Verified,
            Self::Completed => Status::Completed,
        }
    }
}

fn remove_worktree(board: &Board, project: ProjectId, id: &FeatureId) -> Result<FeatureRow, Problem> {
    let why = match board.clean(project, id).map_err(problem::conflict)? {
        Removed::Done => return Ok(board.feature(project, id)?),
        Removed::Kept { uncommitted } => format!("{uncommitted} files in its work tree are not committed"),
        Removed::NotOurs => "its work tree was not made by tollgate, and stays".to_owned(),
    };
    Err(Problem::new(Kind::Conflict, why))
}

/// Acts on a feature and responds with its new state.
async fn act(
    app: &Shared,
    OfFeature(project, id): OfFeature,
    action: impl FnOnce(&Board, ProjectId, &FeatureId) -> Result<FeatureRow, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let act = move |board: &Board| {
        let row = action(board, project, &id)?;
        Ok::<_, Problem>(FeatureBody::new(row, board.settings().pipeline.rounds))
    };
    Ok(whole(app.call_in(project, act).await?))
}

pub(crate) fn check_said(name: &str, text: &String) -> Result<(), Problem> {
    check_text(name, Some(text), 20_000)?;
    if text.trim().is_empty() {
        return Err(Problem::new(Kind::Unprocessable, format!("`{name}` is empty")));
    }
    Ok(())
}
