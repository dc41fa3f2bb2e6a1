//! Errors as responses: problem documents (RFC 9457).
//!
//! Every response that is no success has this form, from a route, a layer, an extractor or the router.
//!
//! ```json
//! {"type": "urn:tollgate:problem:not-found", "title": "Not found", "status": 404,
//!  "detail": "there is no project 7", "hint": "List them with `GET /api/projects`."}
//! ```

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tollgate_engine::failure::{self, Failure};
use utoipa::ToSchema;

/// What sort of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be read.
    BadRequest,
    /// The request is not authenticated.
    Unauthorized,
    /// It is not allowed from there.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The path knows other methods.
    MethodNotAllowed,
    /// The request came too slowly.
    RequestTimeout,
    /// It cannot be done to the thing as it is now.
    Conflict,
    /// The thing is not any more what the client takes it for.
    PreconditionFailed,
    /// There is too much of it.
    TooLarge,
    /// The body is of another kind.
    UnsupportedMediaType,
    /// The request is for another server.
    Misdirected,
    /// The request can be read, and asks for what cannot be.
    Unprocessable,
    /// Too often.
    TooManyRequests,
    /// We are wrong.
    Internal,
    /// It may work later.
    Unavailable,
}

impl Kind {
    /// The status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict => StatusCode::CONFLICT,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Its name, and its title for people.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::BadRequest => ("bad-request", "Bad request"),
            Self::Unauthorized => ("unauthorized", "Not signed in"),
            Self::Forbidden => ("forbidden", "Not allowed"),
            Self::NotFound => ("not-found", "Not found"),
            Self::MethodNotAllowed => ("method-not-allowed", "Method not allowed"),
            Self::RequestTimeout => ("request-timeout", "Request too slow"),
            Self::Conflict => ("conflict", "Not possible now"),
            Self::PreconditionFailed => ("precondition-failed", "Changed in the meantime"),
            Self::TooLarge => ("too-large", "Too large"),
            Self::UnsupportedMediaType => ("unsupported-media-type", "Unsupported media type"),
            Self::Misdirected => ("misdirected", "Wrong server"),
            Self::Unprocessable => ("unprocessable", "Not valid"),
            Self::TooManyRequests => ("too-many-requests", "Too many requests"),
            Self::Internal => ("internal", "Internal error"),
            Self::Unavailable => ("unavailable", "Not available"),
        }
    }
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    kind: Kind,
    detail: String,
    hint: Option<String>,
    retry_after_seconds: Option<u32>,
    says_no_success: bool,
}

/// A problem document as it is sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem, example = json!({
    "type": "urn:tollgate:problem:not-found",
    "title": "Not found",
    "status": 404,
    "detail": "there is no project 7",
    "hint": "List them with `GET /api/projects`."
}))]
pub struct Document<'a> {
    /// What sort of problem it is, as a name that does not change.
    #[serde(rename = "type")]
    kind: String,
    /// What sort of problem it is, to people.
    title: &'a str,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The message.
    detail: &'a str,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<&'a str>,
    /// False, where the answer to success would say `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    success: Option<bool>,
}

impl Problem {
    /// A problem without a hint.
    #[must_use]
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), hint: None, retry_after_seconds: None, says_no_success: false }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says when it is worth to try again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Adds `"success": false`, which clients of the review route look for.
    #[must_use]
    pub fn without_success(mut self) -> Self {
        self.says_no_success = true;
        self
    }

    /// The kind, the message and the hint, for people.
    pub(crate) fn in_words(&self) -> (&'static str, String, Option<String>) {
        (self.kind.names().1, self.detail.clone(), self.hint.clone())
    }

    /// What sort it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let (name, title) = self.kind.names();
        let document = Document {
            kind: format!("urn:tollgate:problem:{name}"),
            title,
            status: self.kind.status().as_u16(),
            detail: &self.detail,
            hint: self.hint.as_deref(),
            success: self.says_no_success.then_some(false),
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }
}

impl From<Failure> for Problem {
    /// A failure of the engine as a response. Internal errors are not explained to clients.
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            failure::Kind::User => Kind::Unprocessable,
            failure::Kind::Config => Kind::Conflict,
            failure::Kind::External => Kind::Unavailable,
            failure::Kind::Internal => Kind::Internal,
        };
        let mut problem = Self::new(kind, failure.message);
        problem.hint = failure.hint;
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.kind.status(), self.to_json()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.kind == Kind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tollgate\""));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For middleware that renders it otherwise.
        response.extensions_mut().insert(self);
        response
    }
}

/// The request has no credentials, or wrong ones.
#[must_use]
pub fn unauthorized() -> Problem {
    Problem::new(Kind::Unauthorized, "this needs the server's token")
        .hint("Send `Authorization: Bearer TOKEN`, or sign in with `POST /api/auth/login`.")
}

/// There is nothing at this path.
#[must_use]
pub fn no_such_path() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this path").hint("`GET /api/openapi.json` lists every path.")
}

/// The path is there, and does not know the method.
#[must_use]
pub fn no_such_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this path does not know the method")
        .hint("The header `Allow` lists those it knows.")
}

/// A part of the program gave up.
#[must_use]
pub fn internal() -> Problem {
    Problem::new(Kind::Internal, "the server made a mistake").hint("The server's log says more.")
}

/// There is no room for it now.
#[must_use]
pub fn busy(what: &str) -> Problem {
    Problem::new(Kind::Unavailable, format!("the server is busy: {what}")).hint("Try again shortly.").retry_after(1)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[track_caller]
    fn check(problem: &Problem) -> String {
        String::from_utf8(problem.to_json()).unwrap()
    }

    #[test]
    fn a_document_names_the_problem_and_says_what_to_do() {
        assert_snapshot!(check(&unauthorized()), @r#"{"type":"urn:tollgate:problem:unauthorized","title":"Not signed in","status":401,"detail":"this needs the server's token","hint":"Send `Authorization: Bearer TOKEN`, or sign in with `POST /api/auth/login`."}"#);
    }

    #[test]
    fn the_review_route_says_that_it_was_no_success() {
        let problem = Problem::new(Kind::Conflict, "it is in the backlog").without_success();
        assert_snapshot!(check(&problem), @r#"{"type":"urn:tollgate:problem:conflict","title":"Not possible now","status":409,"detail":"it is in the backlog","success":false}"#);
    }

    #[test]
    fn every_kind_of_failure_has_a_status() {
        let kinds = [failure::Kind::User, failure::Kind::Config, failure::Kind::External, failure::Kind::Internal];
        let statuses = kinds.map(|kind| Problem::from(Failure::new(kind, "x")).kind().status().as_u16());
        assert_eq!(statuses, [422, 409, 503, 500]);
    }
}
