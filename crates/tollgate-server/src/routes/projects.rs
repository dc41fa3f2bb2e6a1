//! Projects.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::failure::Failure;

use crate::app::Shared;
use crate::extract::{Body, InProject};
use crate::problem::{self, Kind, Problem};
use crate::routes::features::check_text;
use crate::view::request::NewProject;
use crate::view::{ProjectBody, Projects};

/// All projects.
#[utoipa::path(
    get,
    path = "/api/projects",
    operation_id = "listProjects",
    responses((status = 200, description = "The projects.", body = Projects))
)]
pub(crate) async fn list(State(app): State<Shared>) -> Result<Json<Projects>, Problem> {
    let read = |board: &Board| {
        let projects: Result<_, Failure> =
            board.projects()?.into_iter().map(|row| ProjectBody::read(board, row)).collect();
        Ok::<_, Failure>(Projects { projects: projects? })
    };
    Ok(Json(app.call(read).await?))
}

/// Adds a project that is already on this machine.
#[utoipa::path(
    post,
    path = "/api/projects",
    operation_id = "addProject",
    request_body = NewProject,
    responses(
        (status = 201, description = "Added.", body = ProjectBody, headers(("location" = String)))
    )
)]
pub(crate) async fn add(State(app): State<Shared>, Body(new): Body<NewProject>) -> Result<Response, Problem> {
    check_text("path", Some(&new.path), 4096)?;
    check_text("name", new.name.as_ref(), 200)?;
    if !new.path.starts_with('/') && !Path::new(&new.path).is_absolute() {
        return Err(Problem::new(Kind::Unprocessable, format!("`{}` is not an absolute path", new.path))
            .hint("The server does not run where you are; name the folder from the root."));
    }
    let project = app.call(|board| add_to(board, new)).await?;
    let location = [(header::LOCATION, format!("/api/projects/{}", project.id))];
    Ok((StatusCode::CREATED, location, Json(project)).into_response())
}

fn add_to(board: &Board, new: NewProject) -> Result<ProjectBody, Problem> {
    let path = Path::new(&new.path);
    if let Ok(canonical) = path.canonicalize()
        && board.database().project_at(&canonical)?.is_some()
    {
        return Err(Problem::new(Kind::Conflict, "it is a project of the board already"));
    }
    Ok(ProjectBody::read(board, board.add_project(path, new.name.as_deref())?)?)
}

/// One project.
#[utoipa::path(
    get,
    path = "/api/projects/{project}",
    operation_id = "showProject",
    responses(
        (status = 200, description = "The project.", body = ProjectBody)
    )
)]
pub(crate) async fn show(State(app): State<Shared>, InProject(id): InProject) -> Result<Json<ProjectBody>, Problem> {
    let read = move |board: &Board| Ok::<_, Refused>(ProjectBody::read(board, board.project(id)?)?);
    Ok(Json(app.call(read).await?))
}

/// Removes a project from the board. Its folder stays as it is.
#[utoipa::path(
    delete,
    path = "/api/projects/{project}",
    operation_id = "removeProject",
    responses(
        (status = 204, description = "Removed.")
    )
)]
pub(crate) async fn remove(State(app): State<Shared>, InProject(id): InProject) -> Result<StatusCode, Problem> {
    app.call(move |board| board.remove_project(id).map_err(problem::conflict)).await?;
    Ok(StatusCode::NO_CONTENT)
}
