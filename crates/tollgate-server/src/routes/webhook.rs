//! The webhook of GitHub: `POST /webhooks/github`, the inbox of deliveries.
//!
//! The signature authenticates a delivery; token, host name and origin are not checked. The body is hashed as it
//! arrives and not parsed before the signature matches. A delivery answered with 202 is on the disk, and a worker
//! processes it later. Most events need no work and are not stored.
//!
//! ```text
//! X-Hub-Signature-256: sha256=<64 hex digits>     X-GitHub-Event: pull_request
//! X-GitHub-Delivery: 72d3162e-cc78-11e3-81ab-4c9367dc0958
//! ```

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use tokio::sync::oneshot;
use tollgate_core::pull::webhook_event::WebhookEvent;
use tollgate_engine::forge::github::delivery;
use tollgate_engine::process::crash_point;
use tollgate_engine::store::pulls::{Accepted, NewDelivery};
use utoipa::{IntoParams, ToSchema};

use crate::app::{App, Shared};
use crate::connections::Connection;
use crate::extract;
use crate::problem::{self, Kind, Problem};
use crate::webhook::{Hook, WebhookState};

mod body;
mod failure;
mod signature;

use signature::Signature;

/// GitHub gives up after ten seconds, so there is no use in an answer later than that.
const KEPT_WITHIN: Duration = Duration::from_secs(9);
/// A longer body is parsed on a blocking thread, so that it delays no other request.
const LONG: usize = 256 * 1024;

/// The headers of a delivery, for the API description.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the description only")]
pub(crate) struct Head {
    /// The body's HMAC-SHA256 with the app's webhook secret.
    #[param(rename = "X-Hub-Signature-256", pattern = "^sha256=[0-9a-f]{64}$")]
    signature: String,
    /// What happened.
    #[param(rename = "X-GitHub-Event", pattern = "^[a-z0-9_]{1,64}$", example = "pull_request")]
    event: String,
    /// The name of the delivery.
    #[param(rename = "X-GitHub-Delivery", pattern = "^[0-9a-fA-F-]{1,64}$")]
    delivery: String,
}

/// That a delivery was taken.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Taken {
    /// True.
    accepted: bool,
    /// True when it had been taken before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(nullable = false)]
    known: bool,
    /// True when it asks for nothing, and so is not kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(nullable = false)]
    ignored: bool,
}

/// Takes what GitHub tells about pull requests.
#[utoipa::path(
    post,
    path = "/webhooks/github",
    operation_id = "takeDelivery",
    params(Head),
    request_body(content = serde_json::Value, description = "What happened, as GitHub describes it."),
    responses(
        (status = 200, description = "Ping.", body = Taken),
        (status = 202, description = "Queued or ignored.", body = Taken),
        (status = 401, description = "It is not signed with the webhook secret.", body = crate::problem::Document,
         content_type = "application/problem+json"),
        (status = 404, description = "No app is set up.", body = crate::problem::Document,
         content_type = "application/problem+json"),
        (status = 408, description = "The body came too slowly.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn github(State(app): State<Shared>, request: Request) -> Result<Response, Problem> {
    let event = signature::event(request.headers());
    let taken = take(&app, request).await;
    let outcome = match &taken {
        Ok(Outcome::Pong) => "ping",
        Ok(Outcome::Ignored) => "ignored",
        Ok(Outcome::Taken(Accepted::New)) => "accepted",
        Ok(Outcome::Taken(Accepted::Known)) => "known",
        Err(problem) => outcome_of(problem.kind()),
    };
    // Strangers have no say in figures: the event counts once it is known who says so.
    app.metrics.count_delivery(event.filter(|_| taken.is_ok()).as_deref(), outcome);
    let taken = taken?;
    let status = if matches!(taken, Outcome::Pong) { StatusCode::OK } else { StatusCode::ACCEPTED };
    let known = matches!(taken, Outcome::Taken(Accepted::Known));
    let ignored = matches!(taken, Outcome::Ignored);
    crash_point("delivery-before-response");
    after_the_answer();
    Ok((status, Json(Taken { accepted: true, known, ignored })).into_response())
}

enum Outcome {
    Pong,
    Ignored,
    Taken(Accepted),
}

fn outcome_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Unauthorized => "unsigned",
        Kind::Unavailable => "busy",
        Kind::NotFound => "no_app",
        _ => "refused",
    }
}

async fn take(app: &App, request: Request) -> Result<Outcome, Problem> {
    let (parts, incoming) = request.into_parts();
    let head = Signed::of(&parts.headers)?;
    let hook = match app.webhook.get() {
        WebhookState::Ready(hook) => hook,
        WebhookState::Starting => return Err(failure::not_yet()),
        WebhookState::None => return Err(failure::no_app()),
    };
    let body = body::read(incoming, &parts.headers, hook.hashes(), app).await?;
    if !body.is_signed_with(&head.signature) {
        return Err(failure::wrong_signature());
    }
    crash_point("delivery-signature-verified");
    if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
        connection.mark_known();
    }
    if head.event == "ping" {
        delivery::check_text(body.bytes()).map_err(|bad| failure::unreadable(&bad.to_string()))?;
        return Ok(Outcome::Pong);
    }
    match read(&hook, &head.event, body).await? {
        Some(ask) => store(app, head, ask).await.map(Outcome::Taken),
        None => Ok(Outcome::Ignored),
    }
}

/// The head of a delivery, as far as its form goes.
struct Signed {
    signature: Signature,
    guid: String,
    event: String,
}

impl Signed {
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let signature = Signature::of(headers).ok_or_else(|| failure::unsigned(headers))?;
        let form =
            headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/x-"));
        extract::check_media_type(headers).map_err(|problem| if form { failure::form_encoded() } else { problem })?;
        let guid = signature::guid(headers).ok_or_else(failure::no_guid)?;
        let event = signature::event(headers).ok_or_else(failure::no_event)?;
        Ok(Self { signature, guid, event })
    }
}

async fn read(hook: &Arc<Hook>, event: &str, body: body::Whole) -> Result<Option<WebhookEvent>, Problem> {
    let read = if body.bytes().len() > LONG {
        let (hook, event) = (Arc::clone(hook), event.to_owned());
        let work = move || delivery::read(&event, body.bytes(), hook.mention());
        tokio::task::spawn_blocking(work).await.map_err(|_| problem::internal())?
    } else {
        delivery::read(event, body.bytes(), hook.mention())
    };
    read.map_err(|bad| failure::unreadable(&bad.to_string()))
}

/// Stores a delivery in the inbox; returns when it is on the disk.
async fn store(app: &App, head: Signed, ask: WebhookEvent) -> Result<Accepted, Problem> {
    let (sender, receiver) = oneshot::channel();
    let delivery = NewDelivery { guid: head.guid, event: head.event, ask, at_ms: app.board.now() };
    // A client that has disconnected has no receiver any more; the delivery is stored all the same.
    app.board.database().accept_then(delivery, move |accepted| _ = sender.send(accepted));
    match tokio::time::timeout(KEPT_WITHIN, receiver).await {
        Ok(Ok(Ok(accepted))) => Ok(accepted),
        Ok(Ok(Err(failure))) => Err(Problem::from(failure).retry_after(1)),
        Ok(Err(_)) => Err(problem::internal()),
        Err(_) => Err(problem::busy("the database takes too long")),
    }
}

/// Lets a test end the program once the answer is on its way.
fn after_the_answer() {
    #[cfg(debug_assertions)]
    tokio::spawn(async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        crash_point("delivery-after-response");
    });
}
