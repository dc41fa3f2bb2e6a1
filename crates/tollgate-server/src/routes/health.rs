//! Health endpoints: liveness, readiness and metrics.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::{self, Shared};
use crate::connections::Connections;
use crate::metrics::{Figures, Gauges};
use crate::problem::{Kind, Problem};

/// The body of a healthy response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Well {
    /// `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Tells that the server lives.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "isAlive",
    responses((status = 200, description = "It lives.", body = Well))
)]
pub(crate) async fn alive() -> Json<Well> {
    Json(Well { status: "ok" })
}

/// Tells that the server can do its work: the database takes changes, and events are followed.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "isReady",
    responses(
        (status = 200, description = "It works.", body = Well)
    )
)]
pub(crate) async fn ready(State(app): State<Shared>) -> Result<Json<Well>, Problem> {
    if app.closing.is_cancelled() {
        return Err(Problem::new(Kind::Unavailable, "the server is about to end"));
    }
    if !app.hub.is_following() {
        return Err(Problem::new(Kind::Unavailable, "the log of events cannot be read"));
    }
    // This route needs no token, so the response does not tell the reason.
    let ready = app.call(|board| board.database().check()).await;
    ready.map_err(|_| {
        Problem::new(Kind::Unavailable, "the board cannot work now").hint("The server's log says more.")
    })?;
    Ok(Json(Well { status: "ok" }))
}

/// Figures in the text form of Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "showMetrics",
    responses((status = 200, description = "The figures.", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(
    State(app): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
) -> Response {
    let figures = app.metrics.stored.get(Instant::now(), async || app.call(Figures::read).await.ok()).await;
    let gauges = Gauges {
        connections: connections.count() as u64,
        listeners: app.hub.n_open(),
        events_sent: app.hub.n_sent(),
        last_seq: app.hub.last_seq(),
        now_ms: app::now() * 1_000,
    };
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, text)], app.metrics.render(&gauges, figures.as_ref())).into_response()
}
