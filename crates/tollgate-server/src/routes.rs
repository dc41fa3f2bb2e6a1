//! The routes, one file per thing they are about, and the description of them all.

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::layer;
use crate::mcp;
use crate::pages;
use crate::problem::{self, Problem};
use crate::serve::Connections;

mod acts;
pub(crate) mod auth;
mod criteria;
mod describe;
mod events;
mod export;
mod features;
mod github;
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

pub(crate) use github::Pending;
pub(crate) use webhook::Room;

/// What routes are given.
pub(crate) type Shared = Arc<App>;

/// All routes, and what they say about themselves.
pub(crate) fn router(app: &Shared, connections: &Arc<Connections>) -> (Router, utoipa::openapi::OpenApi) {
    let (router, api) = described().split_for_parts();
    let document = describe::Document::new(&api);
    let router = router
        .merge(pages::router())
        .merge(mcp::router(app, app.mcp.clone()))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Arc::clone(app), layer::around))
        .layer(axum::Extension(document))
        .layer(axum::Extension(Arc::clone(connections)))
        .with_state(Arc::clone(app));
    (router, api)
}

/// The description of the API, as `GET /api/openapi.json` gives it.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().split_for_parts().1
}

fn described() -> OpenApiRouter<Shared> {
    let router = OpenApiRouter::with_openapi(describe::Description::openapi())
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(describe::openapi_json))
        .routes(routes!(auth::login))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::rotate))
        .routes(routes!(events::events))
        .routes(routes!(events::ticket))
        .routes(routes!(projects::list, projects::add))
        .routes(routes!(projects::show, projects::remove))
        .routes(routes!(features::list, features::add))
        .routes(routes!(features::show, features::edit, features::remove))
        .routes(routes!(criteria::read))
        .routes(routes!(acts::start))
        .routes(routes!(acts::stop))
        .routes(routes!(acts::resume))
        .routes(routes!(acts::approve))
        .routes(routes!(acts::reject))
        .routes(routes!(acts::retry))
        .routes(routes!(acts::move_to))
        .routes(routes!(acts::clean))
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
        .routes(routes!(record::withdraw))
        .routes(routes!(reviews::list))
        .routes(routes!(reviews::show))
        .routes(routes!(reviews::export))
        .routes(routes!(trends::show))
        .routes(routes!(settings::show))
        .routes(routes!(settings::prompts, settings::set_prompts))
        .routes(routes!(settings::project_prompts, settings::set_project_prompts))
        .routes(routes!(settings::agents))
        .routes(routes!(setup::preview))
        .routes(routes!(setup::check_prompts))
        .routes(routes!(setup::test_agent))
        .routes(routes!(setup::load_demo, setup::remove_demo))
        .routes(routes!(github::show))
        .routes(routes!(github::begin))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::cancel))
        .routes(routes!(webhook::github))
        .routes(routes!(review::generate));
    describe::complete(router)
}

async fn no_such_path() -> Problem {
    problem::no_such_path()
}

async fn no_such_method() -> Problem {
    problem::no_such_method()
}
