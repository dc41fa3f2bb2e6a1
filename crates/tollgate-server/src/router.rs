//! The router of the whole server: API, pages, MCP and the fallbacks, each with its policy.

use std::sync::Arc;

use axum::{Router, middleware};

use crate::app::Shared;
use crate::connections::Connections;
use crate::layer;
use crate::mcp::{self, Mcp};
use crate::pages;
use crate::policy::Policy;
use crate::problem::{self, Problem};
use crate::routes;

pub(crate) fn router(app: &Shared, mcp: Option<Mcp>, connections: &Arc<Connections>) -> Router {
    let (api, document) = routes::api();
    let mcp = mcp.map_or_else(Router::new, |mcp| mcp::router(app, mcp));
    let groups = api.into_iter().chain(pages::routes()).chain([(Policy::SLOW, mcp)]);
    let fallback = guarded(Router::new().fallback(no_such_path), app, Policy::TOKEN);
    let router = groups.fold(fallback, |router, (policy, group)| {
        router.merge(guarded(group.method_not_allowed_fallback(no_such_method), app, policy))
    });
    router
        .layer(axum::Extension(document))
        .layer(axum::Extension(Arc::clone(connections)))
        .with_state(Shared::clone(app))
}

/// Puts the middleware with this policy around the routes of a router.
fn guarded(router: Router<Shared>, app: &Shared, policy: Policy) -> Router<Shared> {
    router.layer(middleware::from_fn_with_state((Shared::clone(app), policy), layer::around))
}

async fn no_such_path() -> Problem {
    problem::no_such_path()
}

async fn no_such_method() -> Problem {
    problem::no_such_method()
}
