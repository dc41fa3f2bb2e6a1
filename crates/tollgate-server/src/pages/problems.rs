//! Problem documents rendered as pages.

use askama::Template;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};

use crate::app::{Shared, now};
use crate::pages::layout::{self, Chrome, Section, Visitor};
use crate::pages::{self, Page, login, words};
use crate::problem::{Kind, Problem};

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    chrome: Chrome,
    status: u16,
    heading: &'static str,
    detail: String,
    hint: Option<String>,
}

/// A problem as a page. An unauthenticated visitor gets the sign-in form at the address they wanted.
pub(crate) async fn dressed(response: Response, app: &Shared, path: &str, headers: &HeaderMap) -> Response {
    let Some(problem) = response.extensions().get::<Problem>().cloned() else { return response };
    let visitor = Visitor::of(headers);
    let status = response.status();
    let mut page = if problem.kind() == Kind::Unauthorized {
        login::form(visitor, path, None).into_response()
    } else {
        let (heading, detail, hint) = problem.in_words();
        let detail = words::sentence(&detail);
        // What programs are told to ask for is of no use to people.
        let hint = hint.filter(|hint| !hint.contains("/api/"));
        let chrome = match app.access.proof(headers, now()) {
            Some(_) => visitor.chrome(app, Section::None, heading, None).await.ok(),
            None => None,
        };
        let chrome = chrome.unwrap_or_else(|| visitor.bare(heading));
        Page(ProblemPage { chrome, status: status.as_u16(), heading, detail, hint }).into_response()
    };
    *page.status_mut() = status;
    if let Some(wait) = response.headers().get(header::RETRY_AFTER) {
        page.headers_mut().insert(header::RETRY_AFTER, wait.clone());
    }
    page
}

/// True when a browser goes to a page with this request.
pub(crate) fn wants_page(path: &str, headers: &HeaderMap) -> bool {
    let accepts = |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|value| value.contains("text/html"));
    pages::is_page(path) && headers.get(header::ACCEPT).is_some_and(accepts)
}
