//! The middleware around every route: checks, time limit, error form, headers, metrics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;

use crate::access::Proof;
use crate::app::{App, Shared, now};
use crate::connections::Connection;
use crate::extract;
use crate::guard::{self, RequestKind};
use crate::metrics::Served;
use crate::pages::problems;
use crate::policy::{Access, ErrorForm, Policy, TimeLimit};
use crate::problem::{self, Kind, Problem};

/// Checks a request, has its handler respond, and counts it.
pub(crate) async fn around(
    State((app, policy)): State<(Shared, Policy)>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or_else(String::new, |path| path.as_str().to_owned());
    let page = PageRequest::of(&request);
    let mut response = match check(&app, policy, &request) {
        Ok(proof) => {
            if let Some(proof) = proof {
                request.extensions_mut().insert(proof);
            }
            respond(&app, policy, request, next).await
        }
        Err(problem) => error(problem, policy),
    };
    if let Some(page) = page {
        response = problems::dressed(response, &app, &page.path, &page.headers).await;
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

/// A request for a page, so that a problem is rendered as one.
struct PageRequest {
    path: String,
    headers: HeaderMap,
}

impl PageRequest {
    fn of(request: &Request) -> Option<Self> {
        let (uri, headers) = (request.uri(), request.headers());
        let path = || uri.path_and_query().map_or_else(|| uri.path().to_owned(), ToString::to_string);
        problems::wants_page(uri.path(), headers).then(|| Self { path: path(), headers: headers.clone() })
    }
}

/// Refuses a request that the policy does not allow. The host comes first: a request for another server must learn
/// nothing of this one.
fn check(app: &App, policy: Policy, request: &Request) -> Result<Option<Proof>, Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    if policy.access == Access::Signature {
        // A signature proves more than a host name or a token, and its handler has limits of its own.
        return Ok(None);
    }
    let kind = RequestKind::of(request.method(), policy.access, headers);
    guard::check_site(&app.names, kind, uri, headers)?;
    let mut shown = None;
    if matches!(policy.access, Access::Token | Access::Events) {
        let ticket = || if kind == RequestKind::Socket { app.access.redeem(headers) } else { None };
        let proof = app.access.proof(headers, now()).or_else(ticket).ok_or_else(problem::unauthorized)?;
        guard::check_proof(kind, proof, headers)?;
        shown = Some(proof);
        if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
            connection.mark_known();
        }
    }
    check_body(app, policy.access, headers)?;
    Ok(shown)
}

fn check_body(app: &App, access: Access, headers: &HeaderMap) -> Result<(), Problem> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > app.limits.body_bytes as u64) {
        return Err(extract::too_large(app.limits.body_bytes));
    }
    let has_body = length.is_some_and(|length| length > 0) || headers.contains_key(header::TRANSFER_ENCODING);
    // Only signing in takes a form, and it changes nothing on the server.
    if has_body && access != Access::SignIn { extract::check_media_type(headers) } else { Ok(()) }
}

/// Has a handler respond within the time limit. A panic costs this request and nothing else.
async fn respond(app: &App, policy: Policy, request: Request, next: Next) -> Response {
    let limit = match policy.limit {
        TimeLimit::Answer => app.limits.answer,
        TimeLimit::Review => app.limits.review,
    };
    let work = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(limit, work).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => error(problem::internal(), policy),
        Err(_) => {
            let problem = Problem::new(Kind::Unavailable, "the response took too long")
                .hint("The request may still take effect; check before you retry.");
            error(problem, policy)
        }
    }
}

fn error(problem: Problem, policy: Policy) -> Response {
    match policy.errors {
        ErrorForm::Problem => problem.into_response(),
        ErrorForm::WithSuccess => problem.without_success().into_response(),
    }
}

/// The name of a method, or `other`.
fn known(method: &Method) -> &str {
    match *method {
        Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::PATCH | Method::DELETE | Method::OPTIONS => {
            method.as_str()
        }
        _ => "other",
    }
}
