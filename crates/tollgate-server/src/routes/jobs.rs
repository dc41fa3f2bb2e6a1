//! Queued jobs of pull requests and features: list, retry, cancel.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tollgate_engine::board::iso;
use tollgate_engine::pulls::jobs;
use tollgate_engine::same_variants;
use tollgate_engine::store::jobs::{Job, JobQuery, JobRefused, JobState};
use utoipa::{IntoParams, ToSchema};

use crate::app::Shared;
use crate::extract::{OfJob, Query};
use crate::problem::{Kind, Problem};
use crate::routes::acts::BY;
use crate::routes::reviews::text;

/// The default and the largest page size.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// Filters a list of jobs.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobFilter {
    /// Only in this state.
    state: Option<StateWord>,
    /// Only of this repository at the host, or this project.
    #[param(max_length = 300)]
    repository: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1_000, default = 100)]
    limit: Option<usize>,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StateWord {
    /// It is queued.
    Queued,
    /// A worker holds its lease.
    Running,
    /// It failed and is retried with backoff.
    Failed,
    /// It is a dead letter until a person retries it.
    Dead,
}

/// Jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobsBody {
    /// Running jobs first, then dead letters, failed and queued ones.
    jobs: Vec<JobBody>,
}

/// A job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobBody {
    /// Its name.
    #[schema(example = "pull-12")]
    id: String,
    /// The kind of work.
    #[schema(example = "review")]
    kind: String,
    /// The repository at the host, or the project.
    #[schema(example = "acme/shop")]
    repository: String,
    /// The pull request, or the title of the feature.
    #[schema(example = "#7")]
    subject: String,
    state: StateWord,
    /// The number of attempts.
    attempt: u32,
    /// The time it was enqueued.
    since: String,
    /// The time of the next attempt; missing for a dead letter.
    next: Option<String>,
    /// The last error.
    problem: Option<String>,
    /// The worker that holds the lease.
    owner: Option<String>,
    /// The end of the lease without a heartbeat.
    until: Option<String>,
}

same_variants!(JobState => StateWord: Queued Running Failed Dead);
same_variants!(StateWord => JobState: Queued Running Failed Dead);

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        Self {
            id: job.id.to_string(),
            kind: job.kind,
            repository: job.place,
            subject: job.subject,
            state: job.state.into(),
            attempt: job.attempt,
            since: iso(job.since_ms),
            next: job.next_ms.map(iso),
            problem: job.problem,
            owner: job.owner,
            until: job.until_ms.map(iso),
        }
    }
}

/// Lists queued jobs and dead letters of pull requests and features.
#[utoipa::path(
    get,
    path = "/api/jobs",
    operation_id = "listJobs",
    params(JobFilter),
    responses((status = 200, description = "The jobs.", body = JobsBody))
)]
pub(crate) async fn list(State(app): State<Shared>, Query(which): Query<JobFilter>) -> Result<Json<JobsBody>, Problem> {
    let limit = which.limit.unwrap_or(LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::new(Kind::Unprocessable, format!("`limit` is not from 1 to {MAX_LIMIT}")));
    }
    let place = text("repository", which.repository.as_ref())?;
    let query = JobQuery { state: which.state.map(JobState::from), place, limit, now_ms: app.board.now() };
    let jobs = app.call(move |board| board.database().jobs(&query)).await?;
    Ok(Json(JobsBody { jobs: jobs.into_iter().map(Into::into).collect() }))
}

/// Retries a dead letter or a failed job now, with fresh attempts.
#[utoipa::path(
    post,
    path = "/api/jobs/{job}/retry",
    operation_id = "retryJob",
    responses((status = 204, description = "Queued again."))
)]
pub(crate) async fn retry(State(app): State<Shared>, OfJob(id): OfJob) -> Result<StatusCode, Problem> {
    app.call(move |board| jobs::retry(board, &id, BY)?.map_err(refused)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancels a queued job, or discards a dead letter.
#[utoipa::path(
    post,
    path = "/api/jobs/{job}/cancel",
    operation_id = "cancelJob",
    responses((status = 204, description = "Cancelled."))
)]
pub(crate) async fn cancel(State(app): State<Shared>, OfJob(id): OfJob) -> Result<StatusCode, Problem> {
    app.call(move |board| jobs::cancel(board, &id, BY)?.map_err(refused)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn refused(refused: JobRefused) -> Problem {
    match refused {
        JobRefused::Unknown(_) => {
            Problem::new(Kind::NotFound, refused.to_string()).hint("List them with `GET /api/jobs`.")
        }
        JobRefused::Not(why) => Problem::new(Kind::Conflict, why),
    }
}
