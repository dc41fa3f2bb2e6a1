//! The tools over HTTP, at `/mcp`: the streamable transport, behind the same checks as the rest of the server.
//!
//! Authentication, origin and size are checked by the middleware (`layer`). Clients of older revisions have
//! sessions, of which there are only so many: a new one takes the place of the one that was used least lately, and one
//! that does nothing ends. There is no stream that belongs to no request, so `GET` is refused.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tower::ServiceExt as _;

use super::Mcp;
use crate::app::Shared;
use crate::problem;

mod sessions;

use sessions::Sessions;

/// Where the tools are. A client that wants no progress waits as long as a review takes.
const PATH: &str = "/mcp";

/// The route of the tools.
pub(crate) fn router(app: &Shared, mcp: Mcp) -> Router<Shared> {
    // Names and origins were checked, by stricter rules.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_sse_retry(None)
        .with_cancellation_token(app.closing.child_token())
        .with_max_request_body_bytes(app.limits.body_bytes);
    let sessions = Arc::new(Sessions::new(app.limits.review));
    let service = StreamableHttpService::new(move || Ok(mcp.clone()), sessions, config);
    let answer = move |State(_): State<Shared>, request: Request| {
        let service = service.clone();
        async move { service.oneshot(request).await.map_or_else(refuse, |response| response.map(axum::body::Body::new)) }
    };
    Router::new().route(PATH, post(answer.clone()).delete(answer))
}

fn refuse(_: std::convert::Infallible) -> Response {
    problem::internal().into_response()
}
