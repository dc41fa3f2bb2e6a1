//! Trying things out before they are relied on: prompts, agents, the whole board with a demonstration.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::desk::Prompts;
use crate::desk::setup::{Preview, PreviewRequest, Trial, Tried};
use crate::extract::{Body, Optional};
use crate::problem::{Kind, Problem};
use crate::routes::Shared;
use crate::routes::settings::check;
use crate::view::ProjectBody;

/// Who is named in the records of what is done here.
const BY: &str = "operator";

/// What a reviewer would be told about a feature, with prompts that need not be stored. Nobody is asked.
#[utoipa::path(
    post,
    path = "/api/settings/prompts/preview",
    operation_id = "previewPrompts",
    tag = "settings",
    request_body = PreviewRequest,
    responses(
        (status = 200, description = "What would be sent.", body = Preview),
        (status = 404, description = "There is no such feature.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn preview(
    State(app): State<Shared>,
    Body(request): Body<PreviewRequest>,
) -> Result<Json<Preview>, Problem> {
    if let Some(prompts) = &request.prompts {
        check(prompts)?;
    }
    Ok(Json(app.call(|desk| desk.preview(request)).await?))
}

/// Prompts that may be anything.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = DraftPrompts)]
#[expect(dead_code, reason = "read by the description only")]
pub(crate) struct Draft {
    /// What the reviewer is told about its role.
    review_system_prompt: Option<DraftPrompt>,
    /// How a review is asked for.
    review_prompt_template: Option<DraftPrompt>,
}

/// A prompt that may be anything.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the description only")]
pub(crate) struct DraftPrompt {
    /// True to use it, false to use the default and keep this one.
    enabled: bool,
    /// The text.
    value: String,
}

/// What is wrong or odd about prompts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checked {
    /// Why they would not be stored.
    problems: Vec<Remark>,
    /// What is odd about them, though they would be.
    notes: Vec<Remark>,
}

/// Something about one of the prompts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Remark {
    /// Which one.
    #[schema(example = "reviewPromptTemplate")]
    field: &'static str,
    /// What it is.
    #[schema(example = "`reviewPromptTemplate` has no `{gitDiff}`")]
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
}

/// What would be said if prompts were stored. They are not, so all that can be read is fine.
#[utoipa::path(
    post,
    path = "/api/settings/prompts/check",
    operation_id = "checkPrompts",
    tag = "settings",
    request_body = Draft,
    responses((status = 200, description = "What is wrong or odd about them.", body = Checked))
)]
pub(crate) async fn check_prompts(Body(prompts): Body<Prompts>) -> Json<Checked> {
    let remark = |field: &'static str, prompts: Prompts| {
        let (_, detail, hint) = check(&prompts).err()?.in_words();
        Some(Remark { field, detail, hint })
    };
    let Prompts { review_system_prompt, review_prompt_template } = prompts;
    let template = review_prompt_template.clone().filter(|template| template.enabled);
    let odd = template.map(|template| tollgate_core::prompt::lint_template(&template.value)).unwrap_or_default();
    let odd = odd.into_iter().map(|detail| Remark { field: "reviewPromptTemplate", detail, hint: None });
    let problems = [
        remark("reviewSystemPrompt", Prompts { review_system_prompt, ..Prompts::default() }),
        remark("reviewPromptTemplate", Prompts { review_prompt_template, ..Prompts::default() }),
    ];
    Json(Checked { problems: problems.into_iter().flatten().collect(), notes: odd.collect() })
}

/// How somebody is tried out.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Test {
    /// `ask` asks once; `hands` asks an agent to write, and looks whether it did.
    trial: Trial,
}

/// Tries an agent or a service out, over the network. Takes at most five minutes; one at a time for each of them.
#[utoipa::path(
    post,
    path = "/api/agents/{name}/test",
    operation_id = "testAgent",
    tag = "settings",
    params(("name" = String, Path, description = "The name of the agent.", pattern = "^[A-Za-z0-9._-]{1,64}$")),
    request_body = Option<Test>,
    responses((status = 200, description = "What came of it.", body = Tried))
)]
pub(crate) async fn test_agent(
    State(app): State<Shared>,
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
    Optional(test): Optional<Test>,
) -> Result<Json<Tried>, Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = |name: &String| (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
    let name = name.ok().map(|Path(name)| name).filter(is_name);
    let name = name.ok_or_else(|| Problem::new(Kind::NotFound, "nobody has this name"))?;
    Ok(Json(app.call(move |desk| desk.try_agent(&name, test.trial)).await?))
}

/// The demonstration on the board.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Demo {
    /// Its project.
    project: ProjectBody,
    /// Its feature, on which an agent is at work.
    #[schema(example = "feature-1767960000000-x7k2m9qpa")]
    feature: String,
}

/// Puts a sample project with a pretend agent on the board: rejection, fix, approval, offline.
#[utoipa::path(
    post,
    path = "/api/demo",
    operation_id = "loadDemo",
    tag = "projects",
    responses((status = 201, description = "It is there, and at work.", body = Demo, headers(("location" = String))))
)]
pub(crate) async fn load_demo(State(app): State<Shared>) -> Result<Response, Problem> {
    let demo = app.call(|desk| desk.load_demo(BY)).await?;
    let location = [(header::LOCATION, format!("/api/projects/{}", demo.project.id))];
    let demo = Demo { feature: demo.feature.to_string(), project: ProjectBody::from(demo.project) };
    Ok((StatusCode::CREATED, location, Json(demo)).into_response())
}

/// Takes the demonstration off the board, stops its agent and deletes its folder.
#[utoipa::path(
    delete,
    path = "/api/demo",
    operation_id = "removeDemo",
    tag = "projects",
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "There is none.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn remove_demo(State(app): State<Shared>) -> Result<StatusCode, Problem> {
    if app.call(|desk| desk.remove_demo(BY)).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::new(Kind::NotFound, "the demonstration is not on the board"))
    }
}
