//! Settings, prompts and agents.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use tollgate_core::prompt::template;
use utoipa::{IntoParams, ToSchema};

use crate::desk::{Agent, Prompt, Prompts, PromptsInForce, Settings, prompt};
use crate::extract::{Body, InProject, ProjectPath};
use crate::problem::{Kind, Problem};
use crate::routes::Shared;
use crate::routes::features::{check_text, revision};
use crate::view::PromptsBody;

/// How the pipeline works.
#[utoipa::path(
    get,
    path = "/api/settings",
    operation_id = "showSettings",
    tag = "settings",
    responses((status = 200, description = "The settings.", body = Settings))
)]
pub(crate) async fn show(State(app): State<Shared>) -> Result<Json<Settings>, Problem> {
    Ok(Json(app.call(|desk| desk.settings()).await?))
}

/// The prompts of code reviews for all projects.
#[utoipa::path(
    get,
    path = "/api/settings/prompts",
    operation_id = "showPrompts",
    tag = "settings",
    responses((status = 200, description = "The prompts.", body = PromptsBody, headers(("etag" = String))))
)]
pub(crate) async fn prompts(State(app): State<Shared>) -> Result<Response, Problem> {
    Ok(tagged(app.call(|desk| desk.prompts(None)).await?))
}

/// Stores the prompts of code reviews for all projects. What is missing is the default again.
#[utoipa::path(
    put,
    path = "/api/settings/prompts",
    operation_id = "setPrompts",
    tag = "settings",
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
    check(&prompts)?;
    let rev = revision(&headers)?;
    Ok(tagged(app.call(move |desk| desk.set_prompts(None, prompts, rev)).await?))
}

/// The prompts of code reviews for a project.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/settings/prompts",
    operation_id = "showProjectPrompts",
    tag = "settings",
    params(ProjectPath),
    responses((status = 200, description = "The prompts.", body = PromptsBody, headers(("etag" = String))))
)]
pub(crate) async fn project_prompts(State(app): State<Shared>, InProject(id): InProject) -> Result<Response, Problem> {
    Ok(tagged(app.call(move |desk| desk.prompts(Some(id))).await?))
}

/// Stores the prompts of code reviews for a project. What is missing is taken from those for all.
#[utoipa::path(
    put,
    path = "/api/projects/{project}/settings/prompts",
    operation_id = "setProjectPrompts",
    tag = "settings",
    params(ProjectPath, IfMatch),
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
    check(&prompts)?;
    let rev = revision(&headers)?;
    Ok(tagged(app.call(move |desk| desk.set_prompts(Some(id), prompts, rev)).await?))
}

/// The prompts with the name of their state.
fn tagged(prompts: PromptsInForce) -> Response {
    let etag = [(header::ETAG, format!("\"{}\"", prompts.revision))];
    (etag, Json(PromptsBody::from(prompts))).into_response()
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

/// Who can be asked to implement or review.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Agents {
    agents: Vec<Agent>,
}

/// Who can be asked to implement or review, and whether they could be now.
#[utoipa::path(
    get,
    path = "/api/agents",
    operation_id = "listAgents",
    tag = "settings",
    responses((status = 200, description = "The agents.", body = Agents))
)]
pub(crate) async fn agents(State(app): State<Shared>) -> Result<Json<Agents>, Problem> {
    Ok(Json(Agents { agents: app.call(|desk| desk.agents()).await? }))
}

/// Refuses prompts that could not be used.
pub(super) fn check(prompts: &Prompts) -> Result<(), Problem> {
    let named = [
        ("reviewSystemPrompt", prompts.review_system_prompt.as_ref()),
        ("reviewPromptTemplate", prompts.review_prompt_template.as_ref()),
    ];
    for (name, prompt) in named.into_iter().filter_map(|(name, prompt)| Some((name, prompt?))) {
        check_text(name, Some(&prompt.value), prompt::MAX_CHARS)?;
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
