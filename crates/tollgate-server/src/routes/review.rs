//! Reviews asked for by hand, with the bodies that boards in the field send and expect.

use std::path::{Path, PathBuf};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tollgate_core::board::machine::{Status, Work};
use tollgate_core::board::{FeatureId, Outcome};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::store::board::FeatureRow;
use utoipa::{IntoParams, ToSchema};

use crate::app::{ProjectId, Shared};
use crate::extract::{Body, Query};
use crate::json;
use crate::problem::{self, Kind, Problem};
use crate::routes::acts::BY;
use crate::view::request::FeatureName;

/// Which review.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Generate {
    /// The folder of the project.
    #[schema(min_length = 1, max_length = 4096, example = "/path/to/project")]
    project_path: String,
    /// The feature.
    feature_id: FeatureName,
    /// The iteration that is to be reviewed; the server counts.
    #[serde(deserialize_with = "json::whole")]
    #[schema(minimum = 1, example = 1)]
    iteration_number: u32,
    /// The work tree of the feature.
    #[schema(max_length = 4096, example = "/path/to/.worktrees/feature-123")]
    worktree_path: Option<String>,
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wait {
    /// True to wait for the end of the review.
    #[serde(default)]
    #[param(required = false)]
    wait: bool,
}

/// A review that runs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Started {
    /// True.
    success: bool,
    feature_id: String,
    iteration_number: u32,
    /// `reviewing`.
    #[schema(example = "reviewing")]
    status: &'static str,
    /// The name of the review in events.
    review_id: String,
}

/// A review that ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    /// True.
    success: bool,
    feature_id: String,
    iteration_number: u32,
    /// `approved`, `rejected` or `failed`.
    #[schema(example = "approved")]
    status: &'static str,
}

/// Sees to it that a feature at the gate is reviewed. The same review is named when it runs already.
#[utoipa::path(
    post,
    path = "/api/code-review/generate-review",
    operation_id = "generateReview",
    params(Wait),
    request_body = Generate,
    responses(
        (status = 202, description = "The review runs.", body = Started),
        (status = 200, description = "The review ended (with `wait=true`).", body = Ended),
        (status = 404, description = "There is no such project or feature.",
         body = crate::problem::Document, content_type = "application/problem+json"),
        (status = 409, description = "The feature is not at the gate, or at another iteration.",
         body = crate::problem::Document, content_type = "application/problem+json")
    )
)]
pub(crate) async fn generate(
    State(app): State<Shared>,
    wait: Result<Query<Wait>, Problem>,
    body: Result<Body<Generate>, Problem>,
) -> Response {
    let answer = async {
        let (Query(Wait { wait }), Body(asked)) = (wait?, body?);
        review(&app, asked, wait).await
    };
    answer.await.unwrap_or_else(|problem| problem.without_success().into_response())
}

async fn review(app: &Shared, asked: Generate, wait: bool) -> Result<Response, Problem> {
    let number = asked.iteration_number;
    if number == 0 {
        return Err(Problem::new(Kind::Unprocessable, "iterations are counted from 1"));
    }
    let row = app.call(move |board| start(board, &asked)).await?;
    let feature_id = row.id.to_string();
    if !wait {
        let started = Started {
            success: true,
            feature_id,
            iteration_number: number,
            status: "reviewing",
            review_id: format!("{}-{}", row.id, row.state.iteration),
        };
        return Ok((StatusCode::ACCEPTED, Json(started)).into_response());
    }
    let outcome = end_of(app, row.project, row.id, number).await?;
    let ended = Ended { success: true, feature_id, iteration_number: number, status: outcome.as_str() };
    Ok(Json(ended).into_response())
}

/// Starts the review of a feature that is at the gate with this iteration, unless it runs already.
fn start(board: &Board, asked: &Generate) -> Result<FeatureRow, Problem> {
    let conflict = |why: String| Err(Problem::new(Kind::Conflict, why));
    let path = Path::new(&asked.project_path);
    let canonical = path.is_absolute().then(|| path.canonicalize().ok()).flatten();
    let project = canonical.map(|path| board.database().project_at(&path)).transpose()?.flatten();
    let project = project.ok_or_else(|| {
        Problem::new(Kind::NotFound, "this folder is no project of the board")
            .hint("List them with `GET /api/projects`.")
    })?;
    let row = board.feature(project.id, &asked.feature_id.0)?;
    if row.state.status != Status::CodeReview {
        return conflict(format!("it is not at the gate: {}", row.state.in_words()));
    }
    if row.state.iteration != asked.iteration_number {
        return conflict(format!("it is at iteration {}", row.state.iteration));
    }
    if let Some(named) = &asked.worktree_path {
        let is_it = |own: &PathBuf| own.canonicalize().ok() == Path::new(named).canonicalize().ok();
        if !row.worktree.as_ref().is_some_and(is_it) {
            return conflict("this is not the work tree of the feature".to_owned());
        }
    }
    if row.state.work != Work::Reviewing {
        board.retry(row.project, &row.id, BY)?;
    }
    Ok(row)
}

/// The outcome of a review; `None` while it runs.
fn outcome(board: &Board, project: ProjectId, id: &FeatureId, number: u32) -> Result<Option<Outcome>, Problem> {
    let row = board.feature(project, id)?;
    if row.state.iteration == number && row.state.work == Work::Reviewing {
        return Ok(None);
    }
    match board.iteration(project, id, number) {
        Ok(stored) => Ok(Some(stored.iteration.outcome)),
        Err(Refused::NoReview(_)) => {
            Err(Problem::new(Kind::Conflict, format!("the review ended early: {}", row.state.in_words())))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// Waits for the end of a review. Nothing is blocked meanwhile: the board is asked again when something happened there.
async fn end_of(app: &Shared, project: ProjectId, feature: FeatureId, number: u32) -> Result<Outcome, Problem> {
    let mut news = app.hub.listen(None, u64::try_from(project).ok());
    loop {
        let asked = feature.clone();
        if let Some(outcome) = app.call(move |board| outcome(board, project, &asked, number)).await? {
            return Ok(outcome);
        }
        tokio::select! {
            _ = news.next() => {}
            // Should an event be missed, the answer is only late.
            () = tokio::time::sleep(app.limits.heartbeat) => {}
            () = app.closing.cancelled() => {
                return Err(problem::busy("it is about to end, and the review goes on later"));
            }
        }
    }
}
