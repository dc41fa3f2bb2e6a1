//! The routes of the API, one file for each kind of resource, with their OpenAPI description.

use axum::Router;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::Shared;
use crate::policy::Policy;
use crate::routes::describe::tagged;

pub(crate) mod acts;
pub(crate) mod auth;
mod criteria;
mod describe;
mod events;
mod export;
mod features;
pub(crate) mod github;
mod health;
mod iterations;
mod jobs;
mod projects;
mod record;
mod review;
pub(crate) mod reviews;
mod settings;
mod setup;
pub(crate) mod trends;
pub(crate) mod webhook;

/// The routes of the API by policy, and their description as it is sent.
pub(crate) fn api() -> (Vec<(Policy, Router<Shared>)>, describe::ApiDocument) {
    let groups = groups().into_iter().map(|(policy, group)| (policy, group.split_for_parts().0)).collect();
    (groups, describe::ApiDocument::new(&openapi()))
}

/// The description of the API, as `GET /api/openapi.json` returns it.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let whole = OpenApiRouter::with_openapi(describe::Description::openapi());
    let groups = groups().into_iter().map(|(policy, group)| describe::with_errors(group, policy));
    describe::with_credentials(groups.fold(whole, OpenApiRouter::merge)).split_for_parts().1
}

fn groups() -> [(Policy, OpenApiRouter<Shared>); 7] {
    let health = OpenApiRouter::new().routes(routes!(health::alive)).routes(routes!(health::ready));
    [
        (Policy::TOKEN, resources()),
        (Policy::OPEN, tagged("server", health)),
        (Policy::SIGN_IN, tagged("auth", OpenApiRouter::new().routes(routes!(auth::login)))),
        (Policy::EVENTS, tagged("events", OpenApiRouter::new().routes(routes!(events::events)))),
        (Policy::SIGNATURE, tagged("github", OpenApiRouter::new().routes(routes!(webhook::github)))),
        (Policy::SLOW, tagged("settings", OpenApiRouter::new().routes(routes!(setup::test_agent)))),
        (Policy::REVIEW, tagged("review", OpenApiRouter::new().routes(routes!(review::generate)))),
    ]
}

fn resources() -> OpenApiRouter<Shared> {
    let server = OpenApiRouter::new().routes(routes!(health::metrics)).routes(routes!(describe::openapi_json));
    let auth = OpenApiRouter::new().routes(routes!(auth::logout)).routes(routes!(auth::rotate));
    let projects = OpenApiRouter::new()
        .routes(routes!(projects::list, projects::add))
        .routes(routes!(projects::show, projects::remove))
        .routes(routes!(setup::load_demo, setup::remove_demo));
    let features = OpenApiRouter::new()
        .routes(routes!(features::list, features::add))
        .routes(routes!(features::show, features::edit, features::remove))
        .routes(routes!(criteria::read))
        .merge(acts::router());
    let iterations = OpenApiRouter::new()
        .routes(routes!(iterations::list))
        .routes(routes!(iterations::show))
        .routes(routes!(iterations::diff))
        .routes(routes!(iterations::review))
        .routes(routes!(iterations::output))
        .routes(routes!(iterations::history))
        .routes(routes!(record::audit))
        .routes(routes!(record::coverage))
        .routes(routes!(record::export))
        .routes(routes!(record::prompt))
        .routes(routes!(record::dismissals))
        .routes(routes!(record::dismiss))
        .routes(routes!(record::confirm))
        .routes(routes!(record::reject))
        .routes(routes!(record::withdraw));
    let reviews = OpenApiRouter::new()
        .routes(routes!(reviews::list))
        .routes(routes!(reviews::show))
        .routes(routes!(reviews::export))
        .routes(routes!(trends::show));
    let settings = OpenApiRouter::new()
        .routes(routes!(settings::show))
        .routes(routes!(settings::prompts, settings::set_prompts))
        .routes(routes!(settings::project_prompts, settings::set_project_prompts))
        .routes(routes!(settings::agents))
        .routes(routes!(setup::preview))
        .routes(routes!(setup::check_prompts));
    let jobs =
        OpenApiRouter::new().routes(routes!(jobs::list)).routes(routes!(jobs::retry)).routes(routes!(jobs::cancel));
    tagged("server", server)
        .merge(tagged("auth", auth))
        .merge(tagged("events", OpenApiRouter::new().routes(routes!(events::ticket))))
        .merge(tagged("projects", projects))
        .merge(tagged("features", features))
        .merge(tagged("iterations", iterations))
        .merge(tagged("reviews", reviews))
        .merge(tagged("settings", settings))
        .merge(tagged("github", OpenApiRouter::new().routes(routes!(github::show)).routes(routes!(github::begin))))
        .merge(tagged("jobs", jobs))
}
