//! Settings, prompts and agents.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use tollgate_core::prompt::template;
use tollgate_engine::board::Board;
use utoipa::{IntoParams, ToSchema};

use crate::agents::Agent;
use crate::app::{ProjectId, Shared};
use crate::extract::{Body, InProject};
use crate::problem::{Kind, Problem};
use crate::routes::features::{check_text, revision};
use crate::view::prompt::{MAX_CHARS, Prompt, Prompts, PromptsBody};

/// The settings of the pipeline, which are changed in the operator's configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Settings)]
pub(crate) struct SettingsBody {
    /// Features that agents work on concurrently.
    max_concurrency: usize,
    /// Concurrent reviews.
    max_reviews: usize,
    /// Rounds before a person decides.
    max_iterations: u32,
    /// The agent that implements.
    implementer: Option<String>,
    /// Reviewers besides the rules.
    reviewers: Vec<String>,
    /// The model that reviews, if it is not that of the feature.
    review_model: Option<String>,
    /// The budget of a feature in US dollars.
    budget_usd: Option<f64>,
    /// True when the git hooks of the project run.
    hooks: bool,
    /// The folder of a project that holds its features.
    folder: String,
}

/// The settings of the pipeline.
#[utoipa::path(
    get,
    path = "/api/settings",
    operation_id = "showSettings",
    responses((status = 200, description = "The settings.", body = SettingsBody))
)]
pub(crate) async fn show(State(app): State<Shared>) -> Json<SettingsBody> {
    let settings = app.board.settings();
    let pipeline = &settings.pipeline;
    Json(SettingsBody {
        max_concurrency: pipeline.at_once,
        max_reviews: pipeline.reviews_at_once,
        max_iterations: pipeline.rounds,
        implementer: pipeline.agent.clone(),
        reviewers: settings.reviewers.iter().map(|chosen| chosen.name.clone()).collect(),
        review_model: pipeline.review_model.clone(),
        budget_usd: pipeline.usd,
        hooks: pipeline.hooks,
        folder: pipeline.dir.clone(),
    })
}

/// The prompts of code reviews for all projects.
#[utoipa::path(
    get,
    path = "/api/settings/prompts",
    operation_id = "showPrompts",
    responses((status = 200, description = "The prompts.", body = PromptsBody, headers(("etag" = String))))
)]
pub(crate) async fn prompts(State(app): State<Shared>) -> Result<Response, Problem> {
    Ok(tagged(app.call(|board| PromptsBody::read(board, None)).await?))
}

/// Stores the prompts of code reviews for all projects. A missing prompt is reset to the default.
#[utoipa::path(
    put,
    path = "/api/settings/prompts",
    operation_id = "setPrompts",
    params(IfMatch),
    request_body = Prompts,
    responses(
        (status = 200, description = "The prompts as they are now.", body = PromptsBody, headers(("etag" = String))),
        (status = 412, description = "They were changed in the meantime.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn set_prompts(
    State(app): State<Shared>,
    headers: HeaderMap,
    Body(prompts): Body<Prompts>,
) -> Result<Response, Problem> {
    store(&app, None, &headers, prompts).await
}

/// The prompts of code reviews for a project.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/settings/prompts",
    operation_id = "showProjectPrompts",
    responses((status = 200, description = "The prompts.", body = PromptsBody, headers(("etag" = String))))
)]
pub(crate) async fn project_prompts(State(app): State<Shared>, InProject(id): InProject) -> Result<Response, Problem> {
    Ok(tagged(app.call(move |board| PromptsBody::read(board, Some(id))).await?))
}

/// Stores the prompts of code reviews for a project. A missing prompt is inherited from all projects.
#[utoipa::path(
    put,
    path = "/api/projects/{project}/settings/prompts",
    operation_id = "setProjectPrompts",
    params(IfMatch),
    request_body = Prompts,
    responses(
        (status = 200, description = "The prompts as they are now.", body = PromptsBody, headers(("etag" = String))),
        (status = 412, description = "They were changed in the meantime.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn set_project_prompts(
    State(app): State<Shared>,
    InProject(id): InProject,
    headers: HeaderMap,
    Body(prompts): Body<Prompts>,
) -> Result<Response, Problem> {
    store(&app, Some(id), &headers, prompts).await
}

/// Stores prompts, if they still are at the revision that `If-Match` names.
async fn store(
    app: &Shared,
    project: Option<ProjectId>,
    headers: &HeaderMap,
    prompts: Prompts,
) -> Result<Response, Problem> {
    check(&prompts)?;
    let rev = revision(headers)?;
    let store = move |board: &Board| {
        board.set_prompts(project, &prompts.for_board(), rev)?;
        PromptsBody::read(board, project)
    };
    Ok(tagged(app.call(store).await?))
}

/// The prompts with their revision as `ETag`.
fn tagged(prompts: PromptsBody) -> Response {
    let etag = [(header::ETAG, format!("\"{}\"", prompts.revision))];
    (etag, Json(prompts)).into_response()
}

/// Which state of the prompts a client knows, for the description.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the description only")]
pub(crate) struct IfMatch {
    /// The `ETag` of the prompts as the client knows them.
    #[param(rename = "if-match", nullable = false, pattern = r#"^(\*|[0-9]{1,18}|"[0-9]{1,18}")$"#)]
    if_match: Option<String>,
}

/// The agents and models that can implement or review.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agents {
    agents: Vec<Agent>,
}

/// The agents and models that can implement or review, and whether they are available.
#[utoipa::path(
    get,
    path = "/api/agents",
    operation_id = "listAgents",
    responses((status = 200, description = "The agents.", body = Agents))
)]
pub(crate) async fn agents(State(app): State<Shared>) -> Result<Json<Agents>, Problem> {
    let shared = Shared::clone(&app);
    let agents = app.call(move |board| Ok::<_, Problem>(shared.agents.list(board.settings()))).await?;
    Ok(Json(Agents { agents }))
}

/// Refuses prompts that could not be used.
pub(super) fn check(prompts: &Prompts) -> Result<(), Problem> {
    let named = [
        ("reviewSystemPrompt", prompts.review_system_prompt.as_ref()),
        ("reviewPromptTemplate", prompts.review_prompt_template.as_ref()),
    ];
    for (name, prompt) in named.into_iter().filter_map(|(name, prompt)| Some((name, prompt?))) {
        check_text(name, Some(&prompt.value), MAX_CHARS)?;
        if prompt.enabled && prompt.value.trim().is_empty() {
            return Err(Problem::new(Kind::Unprocessable, format!("`{name}` is enabled and empty"))
                .hint("Write a prompt, or set `enabled` to `false` to use the default."));
        }
    }
    let lacks_diff = |prompt: &Prompt| prompt.enabled && template::check(&prompt.value).is_err();
    if prompts.review_prompt_template.as_ref().is_some_and(lacks_diff) {
        return Err(Problem::new(Kind::Unprocessable, "`reviewPromptTemplate` has no `{gitDiff}`")
            .hint("Without it the reviewer would see no change; put `{gitDiff}` where the diff belongs."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_template(enabled: bool, value: &str, is_fine: bool) {
        let template = Some(Prompt { enabled, value: value.to_owned() });
        let found = check(&Prompts { review_prompt_template: template, ..Prompts::default() });
        assert_eq!(found.is_ok(), is_fine, "{found:?}");
    }

    #[test]
    fn a_template_that_is_used_shows_the_diff() {
        check_template(true, "Look:\n{gitDiff}", true);
        check_template(true, "Look", false);
        check_template(true, "Look at {{gitDiff}}", false);
        check_template(true, " \n", false);
        check_template(false, "", true);
        check_template(false, "Look", true);
    }
}
