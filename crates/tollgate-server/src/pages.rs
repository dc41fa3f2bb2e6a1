//! The pages: HTML rendered here, from templates in `web/templates`, with scripts and styles from `web/assets`.
//!
//! A page only reads the board; actions go from a script to the API.
//! Templates are compiled, so a name that does not exist does not build, and everything they show goes through one
//! escaper ([`escape`]). On an event a script asks for a fragment, made by the same template as the page.
//!
//! ```text
//! GET /projects/1                       a page
//! GET /projects/1/features/login/card   a fragment of it
//! GET /assets/3f2a9c1e/style.css        for ever
//! ```

use askama::Template;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;

use crate::app::Shared;
use crate::policy::Policy;
use crate::problem;

mod asset;
mod board;
pub(crate) mod chart;
pub(crate) mod diff;
mod escape;
mod feature;
pub(crate) mod finding;
mod github;
pub(crate) mod home;
pub(crate) mod layout;
pub(crate) mod login;
pub(crate) mod markup;
pub(crate) mod problems;
pub(crate) mod reviews;
pub(crate) mod settings;
pub(crate) mod trends;
pub(crate) mod words;

/// What a page may do: run our scripts, use our styles, talk to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types tollgate";

/// The routes of the pages, by policy.
pub(crate) fn routes() -> [(Policy, Router<Shared>); 3] {
    let pages = Router::new()
        .route("/", get(home::page))
        .route("/projects/{project}", get(board::page))
        .route("/projects/{project}/board", get(board::columns))
        .route("/projects/{project}/columns/{place}", get(board::part))
        .route("/projects/{project}/features/{feature}", get(feature::page))
        .route("/projects/{project}/features/{feature}/part/{part}", get(feature::part))
        .route("/projects/{project}/features/{feature}/iterations/{iteration}/audit", get(feature::audit))
        .route("/projects/{project}/features/{feature}/card", get(board::card))
        .route("/projects/{project}/features/{feature}/acts", get(board::acts))
        .route("/projects/{project}/features/{feature}/iterations/{iteration}/files", get(diff::files))
        .route("/projects/{project}/features/{feature}/iterations/{iteration}/files/{index}", get(diff::file))
        .route("/reviews", get(reviews::list))
        .route("/reviews/{run}", get(reviews::one::show))
        .route("/trends", get(trends::show))
        .route("/github/setup", get(|| async { Redirect::to(github::HOME) }))
        .route("/github/setup/{name}", get(github::setup))
        .merge(settings::router());
    let open =
        Router::new().route("/github/callback", get(github::returned)).route("/assets/{hash}/{name}", get(asset::get));
    let sign_in = Router::new().route("/login", post(login::sign_in));
    let compressed = |router: Router<Shared>| router.layer(CompressionLayer::new().gzip(true));
    [(Policy::TOKEN, compressed(pages)), (Policy::OPEN, compressed(open)), (Policy::SIGN_IN, compressed(sign_in))]
}

/// True for paths that are looked at by people, so that problems there are pages, too.
pub(crate) fn is_page(path: &str) -> bool {
    let is_for_programs = ["/api/", "/assets/", "/webhooks/"].iter().any(|start| path.starts_with(start));
    !is_for_programs && !["/healthz", "/readyz", "/metrics"].contains(&path)
}

/// A page, or a fragment of one.
pub(crate) struct Page<T>(pub(crate) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(text) => dressed(Html(text).into_response()),
            Err(_) => problem::internal().into_response(),
        }
    }
}

/// What the one page may do whose form goes to another site, named by its address.
fn form_policy(site: &str) -> String {
    POLICY.replace("form-action 'self'", &format!("form-action {site}"))
}

/// An answer with the headers of a page.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // With no referrer at all a form would say that it comes from nowhere.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// The number of the last event when a page is made; asked for before anything else, so that a script that listens from
/// there misses nothing.
pub(crate) fn seq(app: &Shared) -> u64 {
    app.hub.last_seq()
}
