//! The record of reviews: audit, coverage, dismissals, exports.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tollgate_core::coverage::{CoveredHunk, HunkStatus};
use tollgate_engine::board::{Audit, Board, DismissRequest, ReviewAttempt};
use tollgate_engine::reviewer::recording::RecordedExchange;
use utoipa::{IntoParams, ToSchema};

use crate::app::Shared;
use crate::extract::{Body, InProject, IsPerson, OfDismissal, OfFinding, OfIteration, Optional, Query};
use crate::problem::{self, Kind, Problem};
use crate::routes::acts::check_said;
use crate::routes::export::ExportFormat;
use crate::routes::features::check_text;
use crate::view::Finding;
use crate::view::record::{DismissalBody, ReviewerUsage, RunDetails};

/// The prompts of reviewers and their answers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Audit)]
pub(crate) struct AuditBody {
    /// The tries at the review, oldest first; none when only rules looked.
    tries: Vec<TryBody>,
    /// How many older ones there are.
    older: usize,
}

/// One try at a review.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Try)]
pub(crate) struct TryBody {
    /// The file with all of it, on the server's machine.
    file: String,
    /// The exchanges, in order.
    exchanges: Vec<ExchangeBody>,
    /// How many exchanges are left out.
    more: usize,
    /// Why it cannot be shown, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<String>,
}

/// A prompt and its result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Exchange)]
pub(crate) struct ExchangeBody {
    /// The reviewer.
    #[schema(example = "claude")]
    reviewer: String,
    /// For which time, from 1.
    pass: u32,
    /// The part of the change, from 1.
    call: usize,
    /// 1, or 2 when an answer could not be read.
    round: u32,
    /// What the reviewer was told about its role.
    system: String,
    /// The prompt.
    question: String,
    /// The answer, verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reply: Option<String>,
    /// The model that says it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Why nothing came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<String>,
}

impl From<Audit> for AuditBody {
    fn from(audit: Audit) -> Self {
        let of_try = |one: ReviewAttempt| TryBody {
            file: one.file.to_string_lossy().into_owned(),
            exchanges: one.told.into_iter().map(ExchangeBody::from).collect(),
            more: one.n_more,
            problem: one.problem,
        };
        Self { tries: audit.tries.into_iter().map(of_try).collect(), older: audit.n_older }
    }
}

impl From<RecordedExchange> for ExchangeBody {
    fn from(RecordedExchange { place, system, question, reply }: RecordedExchange) -> Self {
        let (reply, model, problem) = match reply {
            Ok(reply) => (Some(reply.text), reply.model, None),
            Err(problem) => (None, None, Some(problem)),
        };
        let (reviewer, pass, call, round) = (place.reviewer, place.pass, place.call, place.round);
        Self { reviewer, pass, call, round, system, question, reply, model, problem }
    }
}

/// The coverage of a review, and its withheld findings.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Looked)]
pub(crate) struct LookedBody {
    /// Its number among all stored reviews.
    run: i64,
    /// How long it took, in milliseconds.
    took_ms: u64,
    /// The two sides that were compared, for people.
    compared: String,
    /// Each hunk of the change; missing when the review does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hunks: Option<Vec<HunkBody>>,
    /// Findings that do not count.
    withheld: Vec<WithheldBody>,
    /// Models and agents that were asked.
    reviewers: Vec<ReviewerUsage>,
}

/// A hunk, or a file without hunks, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hunk)]
pub(crate) struct HunkBody {
    /// The file.
    file: String,
    /// Its first and last line, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    lines: Option<[u32; 2]>,
    /// `reviewed`, `skipped` or `not_reviewed`.
    #[schema(example = "reviewed")]
    looked: &'static str,
    /// The rule by which it was skipped, or why it was not reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
}

/// A finding that does not count.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Withheld)]
pub(crate) struct WithheldBody {
    #[serde(flatten)]
    finding: Finding,
    /// Why it does not count.
    why: String,
}

impl From<RunDetails> for LookedBody {
    fn from(looked: RunDetails) -> Self {
        Self {
            run: looked.run,
            took_ms: looked.took_ms,
            compared: looked.compared,
            hunks: looked.hunks.map(|hunks| hunks.into_iter().map(HunkBody::from).collect()),
            withheld: looked.withheld.iter().map(|(remark, why)| WithheldBody::of(remark, why)).collect(),
            reviewers: looked.reviewers,
        }
    }
}

impl From<CoveredHunk> for HunkBody {
    fn from(covered: CoveredHunk) -> Self {
        let (looked, why) = match covered.status {
            HunkStatus::Reviewed => ("reviewed", None),
            HunkStatus::Skipped(rule) => ("skipped", Some(rule)),
            HunkStatus::NotReviewed(why) => ("not_reviewed", Some(why)),
        };
        let lines = covered.lines.map(|lines| [lines.start(), lines.end()]);
        Self { file: covered.file.as_str().to_owned(), lines, looked, why }
    }
}

impl WithheldBody {
    fn of(remark: &tollgate_core::board::Remark, why: &str) -> Self {
        Self { finding: Finding::from(remark), why: why.to_owned() }
    }
}

/// The dismissals of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Dismissals {
    /// Oldest first.
    dismissals: Vec<DismissalBody>,
}

/// Why a finding does not count.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dismiss {
    /// Recorded with the dismissal, and shown by every review that leaves the finding out.
    #[schema(min_length = 1, max_length = 20_000, pattern = r"\S", example = "The template is ours.")]
    reason: String,
    /// The person who dismisses it; `operator` by default.
    #[schema(max_length = 200, example = "Ada")]
    by: Option<String>,
    /// True: for the whole repository, not only for this feature.
    #[serde(default)]
    everywhere: bool,
}

/// The person who settles a proposed dismissal.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settle {
    /// The name of the person; `operator` by default.
    #[schema(max_length = 200, example = "Ada")]
    by: Option<String>,
}

/// Selects the format.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FormatQuery {
    /// The form of the file.
    #[param(inline)]
    format: ExportFormat,
}

/// The finding.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct One {
    /// Only this finding; otherwise all that are not dismissed.
    #[param(pattern = "^F[0-9]{3,6}$")]
    finding: Option<String>,
}

/// The prompts of reviewers in an iteration and their answers, verbatim.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/audit",
    operation_id = "showAudit",
    responses((status = 200, description = "The audit.", body = AuditBody))
)]
pub(crate) async fn audit(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
) -> Result<Json<AuditBody>, Problem> {
    Ok(Json(app.call_in(project, move |board| board.audit(project, &id, number)).await?.into()))
}

/// The coverage of a review, hunk by hunk, and its withheld findings.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/coverage",
    operation_id = "showCoverage",
    responses((status = 200, description = "The coverage.", body = LookedBody))
)]
pub(crate) async fn coverage(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
) -> Result<Json<LookedBody>, Problem> {
    let run = app.call_in(project, move |board| board.run_of(project, &id, number)).await?;
    run.and_then(RunDetails::of).map(|run| Json(run.into())).ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("iteration {number} ended without a review that looked at anything"))
            .hint("`GET …/iterations` says how it ended.")
    })
}

/// A review as a file.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/export",
    operation_id = "exportReview",
    params(FormatQuery),
    responses(
        (status = 200, description = "The file.", content(
            (String = "text/markdown"), (String = "application/json"), (String = "application/sarif+json"),
            (String = "text/html")
        )),
        (status = 409, description = "The iteration ended without a review.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn export(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
    Query(FormatQuery { format }): Query<FormatQuery>,
) -> Result<Response, Problem> {
    // Names of features are letters, digits, `-` and `_`.
    let name = format!("{id}-review-{number}");
    let export = move |board: &Board| board.export(project, &id, number, format.into()).map_err(problem::conflict);
    let text = app.call_in(project, export).await?;
    Ok(format.file(&name, text))
}

/// The findings of a review as a task for an agent, to be pasted elsewhere.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/prompt",
    operation_id = "showTask",
    params(One),
    responses((status = 200, description = "The task.", body = String, content_type = "text/plain"))
)]
pub(crate) async fn prompt(
    State(app): State<Shared>,
    OfIteration(project, id, number): OfIteration,
    Query(One { finding }): Query<One>,
) -> Result<Response, Problem> {
    let text = app.call_in(project, move |board| board.prompt(project, &id, number, finding.as_deref())).await?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))], text).into_response())
}

/// The dismissals of a project, with person, scope and reason, then the ones that agents propose.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/dismissals",
    operation_id = "listDismissals",
    responses((status = 200, description = "The dismissals.", body = Dismissals))
)]
pub(crate) async fn dismissals(
    State(app): State<Shared>,
    InProject(project): InProject,
) -> Result<Json<Dismissals>, Problem> {
    let dismissals = app.call(move |board| board.dismissals(project)).await?;
    Ok(Json(Dismissals { dismissals: dismissals.into_iter().map(DismissalBody::from).collect() }))
}

/// Dismisses a finding: reviews leave it out while its code is the same. The next review counts, not the last one. A
/// request with the API token, which agents may have, only proposes it; a person confirms it on the page or at a terminal.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/iterations/{iteration}/findings/{finding}/dismiss",
    operation_id = "dismissFinding",
    request_body = Dismiss,
    responses((status = 200, description = "The dismissal.", body = DismissalBody))
)]
pub(crate) async fn dismiss(
    State(app): State<Shared>,
    OfFinding(project, id, iteration, finding): OfFinding,
    is_person: IsPerson,
    Body(dismiss): Body<Dismiss>,
) -> Result<Json<DismissalBody>, Problem> {
    check_said("reason", &dismiss.reason)?;
    check_text("by", dismiss.by.as_ref(), 200)?;
    let Dismiss { reason, by, everywhere } = dismiss;
    let party = is_person.party(by);
    let dismiss = move |board: &Board| {
        let request = DismissRequest { iteration, finding: &finding, reason: &reason, party, everywhere };
        board.dismiss(project, &id, &request)
    };
    Ok(Json(app.call_in(project, dismiss).await?.into()))
}

/// Confirms a dismissal that an agent proposed. Only a signed-in person can.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/dismissals/{fingerprint}/confirm",
    operation_id = "confirmDismissal",
    request_body = Option<Settle>,
    responses((status = 200, description = "The dismissal.", body = DismissalBody))
)]
pub(crate) async fn confirm(
    State(app): State<Shared>,
    OfDismissal(project, id, fingerprint): OfDismissal,
    is_person: IsPerson,
    Optional(settle): Optional<Settle>,
) -> Result<Json<DismissalBody>, Problem> {
    check_text("by", settle.by.as_ref(), 200)?;
    let who = is_person.name(settle.by, "confirm a dismissal")?;
    let confirm = move |board: &Board| board.confirm(project, &id, fingerprint, &who);
    Ok(Json(app.call_in(project, confirm).await?.into()))
}

/// Rejects a dismissal that an agent proposed. Only a signed-in person can.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features/{feature}/dismissals/{fingerprint}/reject",
    operation_id = "rejectDismissal",
    request_body = Option<Settle>,
    responses((status = 204, description = "Rejected."))
)]
pub(crate) async fn reject(
    State(app): State<Shared>,
    OfDismissal(project, id, fingerprint): OfDismissal,
    is_person: IsPerson,
    Optional(settle): Optional<Settle>,
) -> Result<StatusCode, Problem> {
    check_text("by", settle.by.as_ref(), 200)?;
    let who = is_person.name(settle.by, "reject a proposed dismissal")?;
    app.call_in(project, move |board| board.reject_proposal(project, &id, fingerprint, &who)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Withdraws a dismissal: the next review counts the finding again.
#[utoipa::path(
    delete,
    path = "/api/projects/{project}/features/{feature}/dismissals/{fingerprint}",
    operation_id = "withdrawDismissal",
    responses((status = 204, description = "Withdrawn."))
)]
pub(crate) async fn withdraw(
    State(app): State<Shared>,
    OfDismissal(project, id, fingerprint): OfDismissal,
) -> Result<StatusCode, Problem> {
    if app.call_in(project, move |board| board.withdraw(project, &id, fingerprint)).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::new(Kind::NotFound, format!("`{fingerprint}` is not dismissed here"))
        .hint("Dismissals of a team are in `.tollgate/dismissals.toml`."))
}
