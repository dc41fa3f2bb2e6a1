//! Making an app: the page whose form goes to GitHub, and the place to which GitHub comes back.
//!
//! The cookie of a session is not sent when another site leads here, so the returning browser is redirected by a page of this server
//! first. Nothing is done without the cookie and the name under which the app was begun.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use tollgate_engine::forge::app_registration::{EVENTS, PERMISSIONS, Permission};

use crate::app::{Shared, now};
use crate::extract::Query;
use crate::github_app;
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::{Page, form_policy};
use crate::problem::{self, Kind, Problem};

/// Where it is seen how it stands.
pub(crate) const HOME: &str = "/settings/github";

#[derive(Template)]
#[template(path = "github_setup.html")]
struct SetupPage {
    chrome: Chrome,
    /// Where the form goes.
    action: String,
    github: String,
    hook_url: String,
    app_name: String,
    manifest: String,
    permissions: &'static [Permission],
    events: &'static [&'static str],
}

/// What will be asked for, and the form that asks GitHub.
pub(crate) async fn setup(
    State(app): State<Shared>,
    Path(name): Path<String>,
    visitor: Visitor,
) -> Result<Response, Problem> {
    let setup = app.pending.get(&name).ok_or_else(over)?;
    let chrome = visitor.chrome(&app, Section::Settings, "Set up GitHub", None).await?;
    // Four characters of the name are as good as any, and stay the same when the page is loaded once more.
    let suffix: String = name.chars().filter(char::is_ascii_alphanumeric).take(4).collect();
    let manifest = setup.wish.manifest(&app.board.settings().bot, &suffix.to_ascii_lowercase(), &setup.from);
    let page = SetupPage {
        chrome,
        action: setup.wish.action(&name),
        github: setup.wish.url().to_owned(),
        hook_url: setup.wish.hook_url(),
        app_name: manifest["name"].as_str().unwrap_or_default().to_owned(),
        manifest: manifest.to_string(),
        permissions: &PERMISSIONS,
        events: &EVENTS,
    };
    let mut response = Page(page).into_response();
    let policy = HeaderValue::from_str(&form_policy(setup.wish.url())).map_err(|_| problem::internal())?;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    // A form that says it comes from nowhere may be refused.
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("origin"));
    Ok(response)
}

/// What GitHub comes back with.
#[derive(Debug, Deserialize)]
pub(crate) struct Returned {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    /// Set when a page of ours led here.
    #[serde(default)]
    led: Option<String>,
}

#[derive(Template)]
#[template(path = "github_return.html")]
struct ReturnPage {
    chrome: Chrome,
    next: String,
}

/// Fetches the credentials of the app that GitHub has created, and shows its status.
pub(crate) async fn returned(
    State(app): State<Shared>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> Result<Response, Problem> {
    let is_plain = |text: &str| {
        text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if returned.code.is_empty() || !is_plain(&returned.code) || !is_plain(&returned.state) {
        return Err(Problem::new(Kind::BadRequest, "this is not what GitHub comes back with"));
    }
    if app.access.proof(&headers, now()).is_none() {
        if returned.led.is_some() {
            return Err(problem::unauthorized());
        }
        let next = format!("/github/callback?code={}&state={}&led=1", returned.code, returned.state);
        return Ok(Page(ReturnPage { chrome: visitor.bare("Back from GitHub"), next }).into_response());
    }
    let setup = app.pending.take(&returned.state).ok_or_else(over)?;
    app.call(move |board| github_app::register(board, &setup.wish, &returned.code, setup.earlier)).await?;
    Ok(Redirect::to(HOME).into_response())
}

fn over() -> Problem {
    Problem::new(Kind::NotFound, "there is no app about to be made by this name")
        .hint("A name is good for ten minutes and one app; begin again in the settings.")
}
