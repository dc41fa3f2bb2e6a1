//! Signing in and out from a browser.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tollgate_engine::failure::{Failure, Kind as FailureKind};
use utoipa::ToSchema;

use crate::access::session;
use crate::app::Shared;
use crate::app::{App, now};
use crate::extract::Body;
use crate::problem::{self, Kind, Problem};

/// The token, shown once.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// The server's token, as it was printed.
    #[schema(max_length = 200)]
    token: String,
}

/// Gives a browser a cookie for the token.
#[utoipa::path(
    post,
    path = "/api/auth/login",
    operation_id = "login",
    request_body = Login,
    responses(
        (status = 204, description = "Signed in.",
         headers(("set-cookie" = String, description = "The cookie, good for 30 days.")))
    )
)]
pub(crate) async fn login(
    State(app): State<Shared>,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> Result<Response, Problem> {
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie(&app, &headers, &login.token)?)]).into_response())
}

/// The session cookie for a client with the token.
pub(crate) fn cookie(app: &App, headers: &HeaderMap, token: &str) -> Result<HeaderValue, Problem> {
    if let Err(wait) = app.access.attempts.count(Instant::now()) {
        let seconds = u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX);
        return Err(Problem::new(Kind::TooManyRequests, "too many attempts to sign in")
            .hint(format!("Wait {seconds} seconds."))
            .retry_after(seconds));
    }
    if !app.access.is_token(token) {
        return Err(Problem::new(Kind::Unauthorized, "this is not the server's token")
            .hint("The server prints it when it starts; `tollgate serve` tells where its file is."));
    }
    app.access.attempts.forgive();
    fresh_cookie(app, headers)
}

/// A cookie by which a browser is signed in.
fn fresh_cookie(app: &App, headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce)
        .map_err(|_| Failure::new(FailureKind::External, "the system gives no random numbers"))?;
    let value = app.access.sign(now() + session::SECONDS, nonce);
    // The page came over TLS, through a proxy of the operator's, so the cookie may not go another way.
    let is_secure = headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let value = if is_secure { format!("{value}; Secure") } else { value };
    set_cookie(&app.access.cookie, &value, session::SECONDS)
}

/// Takes the cookie away.
#[utoipa::path(
    post,
    path = "/api/auth/logout",
    operation_id = "logout",
    responses((status = 204, description = "Signed out."))
)]
pub(crate) async fn logout(State(app): State<Shared>) -> Result<Response, Problem> {
    let cookie = set_cookie(&app.access.cookie, "", 0)?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// Rotates the token, which ends all sessions and event streams.
///
/// The caller gets a new session cookie. The token itself is only in the file of the server.
#[utoipa::path(
    post,
    path = "/api/auth/rotate",
    operation_id = "rotateToken",
    responses(
        (status = 204, description = "There is another token.",
         headers(("set-cookie" = String, description = "A cookie, good for 30 days.")))
    )
)]
pub(crate) async fn rotate(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    let shared = Shared::clone(&app);
    app.call(move |_| shared.access.rotate()).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, fresh_cookie(&app, &headers)?)]).into_response())
}

fn set_cookie(name: &str, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}");
    HeaderValue::from_str(&cookie).map_err(|_| problem::internal())
}
