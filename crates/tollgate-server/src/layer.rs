//! What happens to every request before and after its route.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;

use crate::app::{App, Served, now};
use crate::extract;
use crate::guard::{self, Wish};
use crate::mcp;
use crate::pages::problems;
use crate::problem::{self, Kind, Problem};
use crate::routes::{Shared, webhook};
use crate::serve::Held;

/// Paths that need no token, beside those of scripts and styles.
pub(crate) const OPEN: [&str; 5] = ["/healthz", "/readyz", "/api/auth/login", "/login", "/github/callback"];
/// The route whose answer may take as long as a review, and whose clients look for `success`.
const REVIEW: &str = "/api/code-review/generate-review";

/// Checks a request, has it answered, and counts it.
pub(crate) async fn around(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or_else(String::new, |path| path.as_str().to_owned());
    let is_review = request.uri().path() == REVIEW;
    let asked = Asked::of(&request);
    let mut response = match check(&app, &request) {
        Ok(()) => answer(&app, request, next).await,
        Err(problem) => say(problem, is_review),
    };
    if let Some(asked) = asked {
        response = problems::dressed(response, &app, &asked.path, &asked.headers).await;
    }
    guard::harden(response.headers_mut());
    if app.closing.is_cancelled() && response.status() != 101 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let served = Served {
        method: known(&method).to_owned(),
        route,
        status: response.status().as_u16(),
        duration: begun.elapsed(),
    };
    app.metrics.count(&served);
    if let Some(observer) = &app.observer {
        observer(&served);
    }
    response
}

/// A page that a browser asked for, so that a problem is shown as one.
struct Asked {
    path: String,
    headers: HeaderMap,
}

impl Asked {
    fn of(request: &Request) -> Option<Self> {
        let (uri, headers) = (request.uri(), request.headers());
        let path = || uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
        problems::wants_page(uri.path(), headers).then(|| Self { path: path(), headers: headers.clone() })
    }
}

/// Refuses what may not be asked. The order matters: a request for another server learns nothing of this one.
fn check(app: &App, request: &Request) -> Result<(), Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    if uri.path() == webhook::PATH {
        // Whoever signs shows more than a name or a token could, and has limits of its own.
        return Ok(());
    }
    let wish = Wish::of(request.method(), uri, headers);
    guard::check_site(&app.names, wish, uri, headers)?;
    if !OPEN.contains(&uri.path()) && !uri.path().starts_with("/assets/") {
        let ticket = || if wish == Wish::Socket { app.access.redeem(headers) } else { None };
        let proof = app.access.proof(headers, now()).or_else(ticket).ok_or_else(problem::unauthorized)?;
        guard::check_proof(wish, proof, headers)?;
        if let Some(held) = request.extensions().get::<Arc<Held>>() {
            held.is_known();
        }
    }
    check_body(app, headers, uri.path())
}

fn check_body(app: &App, headers: &HeaderMap, path: &str) -> Result<(), Problem> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > app.limits.body_bytes as u64) {
        return Err(extract::too_large(app.limits.body_bytes));
    }
    let has_body = length.is_some_and(|length| length > 0) || headers.contains_key(header::TRANSFER_ENCODING);
    // A form can only be sent to where one signs in, and what is there changes nothing.
    if has_body && path != "/login" { extract::check_media_type(headers) } else { Ok(()) }
}

/// Has a request answered, in time and whatever happens.
async fn answer(app: &App, request: Request, next: Next) -> Response {
    let is_review = request.uri().path() == REVIEW;
    let may_take_long = is_review || is_trial(request.uri().path()) || request.uri().path() == mcp::PATH;
    let most = if may_take_long { app.limits.review } else { app.limits.answer };
    let work = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(most, work).await {
        Ok(Ok(response)) => response,
        // A panic is a mistake of ours; it costs this request and nothing else.
        Ok(Err(_)) => say(problem::internal(), is_review),
        Err(_) => {
            let problem = Problem::new(Kind::Unavailable, "the answer took too long")
                .hint("What was asked for may still be done; look before trying again.");
            say(problem, is_review)
        }
    }
}

/// True for the route that asks an agent something, which has limits of its own.
fn is_trial(path: &str) -> bool {
    path.starts_with("/api/agents/") && path.ends_with("/test")
}

fn say(problem: Problem, is_review: bool) -> Response {
    if is_review { problem.without_success().into_response() } else { problem.into_response() }
}

/// The method, or a word for those that nobody here knows.
fn known(method: &Method) -> &str {
    match *method {
        Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::PATCH | Method::DELETE | Method::OPTIONS => {
            method.as_str()
        }
        _ => "other",
    }
}
