//! Signing in: with the token in the address that the server printed, or typed into a form.

use askama::Template;
use axum::Form;
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::app::Shared;
use crate::pages::layout::{self, Chrome, Visitor};
use crate::pages::{Page, words};
use crate::problem::{Kind, Problem};
use crate::routes::auth;

#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct LoginPage {
    chrome: Chrome,
    /// Where to go afterwards.
    next: String,
    /// Why the last try did not work.
    problem: Option<String>,
}

/// What the form sends.
#[derive(Deserialize)]
pub(crate) struct SignIn {
    token: String,
    #[serde(default)]
    next: String,
}

/// The form to sign in, which leads to `next`.
pub(crate) fn form(visitor: Visitor, next: &str, problem: Option<String>) -> Page<LoginPage> {
    Page(LoginPage { chrome: visitor.bare("Sign in"), next: own_path(next).to_owned(), problem })
}

/// Signs in without a script, and goes on.
pub(crate) async fn sign_in(
    State(app): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    form: Result<Form<SignIn>, FormRejection>,
) -> Result<Response, Problem> {
    let Ok(Form(SignIn { token, next })) = form else {
        return Err(Problem::new(Kind::BadRequest, "this is not what the form sends"));
    };
    match auth::cookie(&app, &headers, token.trim()) {
        Ok(cookie) => {
            let place = HeaderValue::from_str(own_path(&next)).unwrap_or(HeaderValue::from_static("/"));
            Ok((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, place)]).into_response())
        }
        Err(problem) => {
            let (_, detail, hint) = problem.in_words();
            let words = match hint {
                Some(hint) => format!("{} {hint}", words::sentence(&detail)),
                None => words::sentence(&detail),
            };
            let page = self::form(visitor, &next, Some(words));
            Ok((problem.kind().status(), page).into_response())
        }
    }
}

/// A path of ours: one that a browser cannot take for the address of another site.
fn own_path(path: &str) -> &str {
    let is_ours = path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        && !path.starts_with("/login");
    if is_ours { path } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_never_leads_elsewhere() {
        for ours in ["/", "/projects/1?q=a%20b", "/reviews/3"] {
            assert_eq!(own_path(ours), ours);
        }
        for foreign in ["//evil.example", "/\\evil.example", "https://evil.example", "", "x", "/a\r\nb", "/ä", "/login"]
        {
            assert_eq!(own_path(foreign), "/", "{foreign:?}");
        }
    }
}
