//! Iterations of a feature: reviews, diffs, agent output, history.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tollgate_core::board::{FeatureId, Iteration};
use tollgate_engine::board::{Board, Refused};
use utoipa::{IntoParams, ToSchema};

use crate::app::{ProjectId, Shared};
use crate::extract::{OfFeature, OfIteration, Query};
use crate::problem::{Kind, Problem};
use crate::view::record::HistoryEntry;
use crate::view::request::DiffPart;
use crate::view::{IterationBody, Iterations};

/// The header with the offset after the text.
const NEXT: HeaderName = HeaderName::from_static("tollgate-next-offset");
/// The header that tells whether the agent is still running.
const RUNNING: HeaderName = HeaderName::from_static("tollgate-running");

/// The reviews of a feature, oldest first.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations",
    operation_id = "listIterations",
    responses((status = 200, description = "The reviews.", body = Iterations))
)]
pub(crate) async fn list(
    State(app): State<Shared>,
    OfFeature(project, id): OfFeature,
) -> Result<Json<Iterations>, Problem> {
    let iterations = app.call_in(project, move |board| read(board, project, &id)).await?;
    Ok(Json(Iterations { iterations: iterations.iter().map(IterationBody::from).collect() }))
}

/// One review.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}",
    operation_id = "showIteration",
    responses((status = 200, description = "The review.", body = IterationBody))
)]
pub(crate) async fn show(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
) -> Result<Json<IterationBody>, Problem> {
    let iterations = app.call_in(project, move |board| read(board, project, &id)).await?;
    // Of several with one number the last one stands.
    let found = iterations.iter().rfind(|iteration| iteration.number == number);
    found.map(|iteration| Json(iteration.into())).ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("iteration {number} has no review"))
            .hint("List the reviews with `GET …/iterations`.")
    })
}

/// Selects the diff.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffPartQuery {
    /// The whole feature as it was reviewed, or the changes since the previous review.
    #[serde(default)]
    #[param(inline)]
    part: DiffPart,
}

/// The diff that was reviewed.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/diff",
    operation_id = "showDiff",
    params(DiffPartQuery),
    responses((status = 200, description = "A unified diff.", body = String, content_type = "text/x-diff"))
)]
pub(crate) async fn diff(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
    Query(which): Query<DiffPartQuery>,
) -> Result<Response, Problem> {
    let diff = app.call_in(project, move |board| board.diff(project, &id, number, which.part.into())).await?;
    Ok(text("text/x-diff; charset=utf-8", String::from_utf8_lossy(&diff).into_owned()))
}

/// The review as Markdown.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/review",
    operation_id = "showReview",
    responses(
        (status = 200, description = "What `code-review-iteration-N.md` holds.", body = String,
         content_type = "text/markdown")
    )
)]
pub(crate) async fn review(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
) -> Result<Response, Problem> {
    let review = app.call_in(project, move |board| board.review_text(project, &id, number)).await?;
    Ok(text("text/markdown; charset=utf-8", review))
}

/// From where on.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The offset in bytes, as the previous response gave it.
    #[serde(default)]
    #[param(required = false)]
    from: u64,
}

/// The output of the agent from an offset on. Ask again with the header `tollgate-next-offset` for more.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/output",
    operation_id = "showOutput",
    params(From),
    responses((status = 200, description = "The text.", body = String, content_type = "text/plain", headers(
        ("tollgate-next-offset" = u64, description = "The offset after this text."),
        ("tollgate-running" = bool, description = "True while the agent may write more.")
    )))
)]
pub(crate) async fn output(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
    Query(From { from }): Query<From>,
) -> Result<Response, Problem> {
    if i64::try_from(from).is_err() {
        return Err(Problem::new(Kind::Unprocessable, "`from` is beyond the end of any file"));
    }
    let output = app.call_in(project, move |board| board.output(project, &id, number, from)).await?;
    let mut response = text("text/plain; charset=utf-8", output.text);
    response.headers_mut().insert(NEXT, HeaderValue::from(output.next));
    let running = if output.is_open { "true" } else { "false" };
    response.headers_mut().insert(RUNNING, HeaderValue::from_static(running));
    Ok(response)
}

/// The history of a feature.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct History {
    /// Oldest first.
    history: Vec<HistoryEntry>,
}

/// The history of a feature, oldest first.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/history",
    operation_id = "showHistory",
    responses((status = 200, description = "The history.", body = History))
)]
pub(crate) async fn history(
    State(app): State<Shared>,
    OfFeature(project, id): OfFeature,
) -> Result<Json<History>, Problem> {
    let history = app.call_in(project, move |board| board.history(project, &id)).await?;
    Ok(Json(History { history: history.into_iter().map(HistoryEntry::from).collect() }))
}

fn read(board: &Board, project: ProjectId, id: &FeatureId) -> Result<Vec<Iteration>, Refused> {
    Ok(board.iterations(project, id)?.into_iter().map(|row| row.iteration).collect())
}

fn text(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}
