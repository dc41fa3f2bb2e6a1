//! Previews of prompts, trials of agents, and the demonstration.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tollgate_engine::board::{Board, Draft as PromptDraft};
use utoipa::ToSchema;

use crate::agents::{Trial, Tried};
use crate::app::{ProjectId, Shared};
use crate::extract::{Body, Optional};
use crate::problem::{self, Kind, Problem};
use crate::routes::acts::BY;
use crate::routes::settings::check;
use crate::view::ProjectBody;
use crate::view::preview::{Preview, PreviewRequest};
use crate::view::prompt::Prompts;

/// Previews the request to a reviewer about a feature, with draft prompts. No reviewer is called.
#[utoipa::path(
    post,
    path = "/api/settings/prompts/preview",
    operation_id = "previewPrompts",
    request_body = PreviewRequest,
    responses(
        (status = 200, description = "The request.", body = Preview),
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
    let PreviewRequest { project, feature, prompts, for_all } = request;
    let project = ProjectId::try_from(project)
        .map_err(|_| Problem::new(Kind::NotFound, format!("there is no project {project}")))?;
    let draft = prompts.map(|prompts| PromptDraft { is_for_all: for_all, prompts: prompts.for_board() });
    // One at a time: each reads a change and counts its tokens.
    let _permit = app.previews.lock().await;
    let preview = app.call(move |board| board.preview(project, &feature.0, draft.as_ref())).await?;
    Ok(Json(preview.into()))
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

/// Errors and warnings about prompts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checked {
    /// Errors, for which they would be refused.
    problems: Vec<Remark>,
    /// Warnings.
    notes: Vec<Remark>,
}

/// Something about one of the prompts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Remark {
    /// Which one.
    #[schema(example = "reviewPromptTemplate")]
    field: &'static str,
    /// The message.
    #[schema(example = "`reviewPromptTemplate` has no `{gitDiff}`")]
    detail: String,
    /// A hint how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
}

/// Checks prompts without storing them.
#[utoipa::path(
    post,
    path = "/api/settings/prompts/check",
    operation_id = "checkPrompts",
    request_body = Draft,
    responses((status = 200, description = "Errors and warnings.", body = Checked))
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

/// The trial of an agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Test {
    /// `ask` asks once; `hands` asks an agent to write, and looks whether it did.
    trial: Trial,
}

/// Tests an agent or a service over the network. Takes at most five minutes; one at a time for each of them.
#[utoipa::path(
    post,
    path = "/api/agents/{name}/test",
    operation_id = "testAgent",
    params(("name" = String, Path, description = "The name of the agent.", pattern = "^[A-Za-z0-9._-]{1,64}$")),
    request_body = Option<Test>,
    responses((status = 200, description = "The result.", body = Tried))
)]
pub(crate) async fn test_agent(
    State(app): State<Shared>,
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
    Optional(test): Optional<Test>,
) -> Result<Json<Tried>, Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = |name: &String| (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
    let name = name.ok().map(|Path(name)| name).filter(is_name);
    let name = name.ok_or_else(|| Problem::new(Kind::NotFound, "there is no agent of this name"))?;
    let shared = Shared::clone(&app);
    Ok(Json(app.call(move |board| shared.agents.test(board, &name, test.trial)).await?))
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
    responses((status = 201, description = "Loaded and started.", body = Demo, headers(("location" = String))))
)]
pub(crate) async fn load_demo(State(app): State<Shared>) -> Result<Response, Problem> {
    let load = |board: &Board| {
        let (project, feature) = board.load_demo(BY).map_err(problem::conflict)?;
        Ok::<_, Problem>(Demo { project: ProjectBody::read(board, project)?, feature: feature.id.to_string() })
    };
    let demo = app.call(load).await?;
    let location = [(header::LOCATION, format!("/api/projects/{}", demo.project.id))];
    Ok((StatusCode::CREATED, location, Json(demo)).into_response())
}

/// Takes the demonstration off the board, stops its agent and deletes its folder.
#[utoipa::path(
    delete,
    path = "/api/demo",
    operation_id = "removeDemo",
    responses(
        (status = 204, description = "Removed."),
        (status = 404, description = "There is none.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn remove_demo(State(app): State<Shared>) -> Result<StatusCode, Problem> {
    if app.call(|board| board.remove_demo(BY).map_err(problem::conflict)).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::new(Kind::NotFound, "the demonstration is not on the board"))
    }
}
