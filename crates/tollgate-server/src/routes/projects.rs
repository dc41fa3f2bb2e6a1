//! Projects.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::desk::NewProject;
use crate::extract::{Body, InProject, ProjectPath};
use crate::problem::{Kind, Problem};
use crate::routes::Shared;
use crate::routes::features::check_text;
use crate::view::{ProjectBody, Projects};

/// All projects.
#[utoipa::path(
    get,
    path = "/api/projects",
    operation_id = "listProjects",
    tag = "projects",
    responses((status = 200, description = "The projects.", body = Projects))
)]
pub(crate) async fn list(State(app): State<Shared>) -> Result<Json<Projects>, Problem> {
    Ok(Json(app.call(|desk| desk.projects()).await?.into()))
}

/// Adds a project that is already on this machine.
#[utoipa::path(
    post,
    path = "/api/projects",
    operation_id = "addProject",
    tag = "projects",
    request_body = NewProject,
    responses(
        (status = 201, description = "It is added.", body = ProjectBody, headers(("location" = String)))
    )
)]
pub(crate) async fn add(State(app): State<Shared>, Body(new): Body<NewProject>) -> Result<Response, Problem> {
    check_text("path", Some(&new.path), 4096)?;
    check_text("name", new.name.as_ref(), 200)?;
    if !new.path.starts_with('/') && !std::path::Path::new(&new.path).is_absolute() {
        return Err(Problem::new(Kind::Unprocessable, format!("`{}` is not an absolute path", new.path))
            .hint("The server does not run where you are; name the folder from the root."));
    }
    let project = app.call(|desk| desk.add_project(new)).await?;
    let location = [(header::LOCATION, format!("/api/projects/{}", project.id))];
    Ok((StatusCode::CREATED, location, Json(ProjectBody::from(project))).into_response())
}

/// One project.
#[utoipa::path(
    get,
    path = "/api/projects/{project}",
    operation_id = "showProject",
    tag = "projects",
    params(ProjectPath),
    responses(
        (status = 200, description = "The project.", body = ProjectBody)
    )
)]
pub(crate) async fn show(State(app): State<Shared>, InProject(id): InProject) -> Result<Json<ProjectBody>, Problem> {
    Ok(Json(app.call(move |desk| desk.project(id)).await?.into()))
}

/// Forgets a project. Its folder stays as it is.
#[utoipa::path(
    delete,
    path = "/api/projects/{project}",
    operation_id = "removeProject",
    tag = "projects",
    params(ProjectPath),
    responses(
        (status = 204, description = "It is forgotten.")
    )
)]
pub(crate) async fn remove(State(app): State<Shared>, InProject(id): InProject) -> Result<StatusCode, Problem> {
    app.call(move |desk| desk.remove_project(id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
