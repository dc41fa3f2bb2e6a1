//! What is owed to pull requests and features: seen, tried again, ended.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tollgate_engine::board::iso;
use tollgate_engine::store::jobs::{Job, JobState};
use utoipa::{IntoParams, ToSchema};

use crate::desk::jobs::JobsWanted;
use crate::extract::{JobPath, OfJob, Query};
use crate::problem::{Kind, Problem};
use crate::routes::Shared;
use crate::routes::acts::BY;
use crate::routes::reviews::text;

/// How many are listed if nobody says, and at most.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// Which jobs.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// Only in this state.
    state: Option<StateWord>,
    /// Only of this repository at the host, or this project.
    #[param(max_length = 300)]
    repository: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1_000, default = 100)]
    limit: Option<usize>,
}

/// How it stands with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StateWord {
    /// It waits for its turn.
    Queued,
    /// Somebody works on it.
    Running,
    /// It failed, and is tried again by itself.
    Failed,
    /// It was given up until somebody asks.
    Dead,
}

/// What is owed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobsBody {
    /// What runs first, then what was given up, failed, or waits.
    jobs: Vec<JobBody>,
}

/// Something that is owed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobBody {
    /// Its name.
    #[schema(example = "pull-12")]
    id: String,
    /// What is to be done, in a word.
    #[schema(example = "review")]
    kind: String,
    /// The repository at the host, or the project.
    #[schema(example = "acme/shop")]
    repository: String,
    /// The pull request, or the title of the feature.
    #[schema(example = "#7")]
    subject: String,
    state: StateWord,
    /// How often it was tried.
    attempt: u32,
    /// Since when it has been owed.
    since: String,
    /// From when on it can be done; missing when nobody does it before somebody asks.
    next: Option<String>,
    /// What went wrong last.
    problem: Option<String>,
    /// Who works on it.
    owner: Option<String>,
    /// Until when that holds without a sign of life.
    until: Option<String>,
}

impl StateWord {
    fn of(state: JobState) -> Self {
        match state {
            JobState::Queued => Self::Queued,
            JobState::Running => Self::Running,
            JobState::Failed => Self::Failed,
            JobState::Dead => Self::Dead,
        }
    }

    fn state(self) -> JobState {
        match self {
            Self::Queued => JobState::Queued,
            Self::Running => JobState::Running,
            Self::Failed => JobState::Failed,
            Self::Dead => JobState::Dead,
        }
    }
}

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        Self {
            id: job.id.to_string(),
            kind: job.kind,
            repository: job.place,
            subject: job.subject,
            state: StateWord::of(job.state),
            attempt: job.attempt,
            since: iso(job.since_ms),
            next: job.next_ms.map(iso),
            problem: job.problem,
            owner: job.owner,
            until: job.until_ms.map(iso),
        }
    }
}

/// What is owed to pull requests and features, and what was given up.
#[utoipa::path(
    get,
    path = "/api/jobs",
    operation_id = "listJobs",
    tag = "jobs",
    params(Which),
    responses((status = 200, description = "What is owed.", body = JobsBody))
)]
pub(crate) async fn list(State(app): State<Shared>, Query(which): Query<Which>) -> Result<Json<JobsBody>, Problem> {
    let limit = which.limit.unwrap_or(LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::new(Kind::Unprocessable, format!("`limit` is not from 1 to {MAX_LIMIT}")));
    }
    let place = text("repository", which.repository.as_ref())?;
    let wanted = JobsWanted { state: which.state.map(StateWord::state), place, limit };
    let jobs = app.call(move |desk| desk.jobs(&wanted)).await?;
    Ok(Json(JobsBody { jobs: jobs.into_iter().map(Into::into).collect() }))
}

/// Has something done now that was given up or waits after a failure, with all its tries.
#[utoipa::path(
    post,
    path = "/api/jobs/{job}/retry",
    operation_id = "retryJob",
    tag = "jobs",
    params(JobPath),
    responses((status = 204, description = "It is in the queue again."))
)]
pub(crate) async fn retry(State(app): State<Shared>, OfJob(id): OfJob) -> Result<StatusCode, Problem> {
    app.call(move |desk| desk.retry_job(&id, BY)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends something that is owed, or forgets that it was given up.
#[utoipa::path(
    post,
    path = "/api/jobs/{job}/cancel",
    operation_id = "cancelJob",
    tag = "jobs",
    params(JobPath),
    responses((status = 204, description = "It is not owed any more."))
)]
pub(crate) async fn cancel(State(app): State<Shared>, OfJob(id): OfJob) -> Result<StatusCode, Problem> {
    app.call(move |desk| desk.cancel_job(&id, BY)).await?;
    Ok(StatusCode::NO_CONTENT)
}
