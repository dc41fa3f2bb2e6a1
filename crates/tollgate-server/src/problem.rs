//! Errors as problem documents (RFC 9457).
//!
//! Every error response has this form: those of handlers, middleware, extractors and the router.
//!
//! ```json
//! {"type": "urn:tollgate:problem:not-found", "title": "Not found", "status": 404,
//!  "detail": "there is no project 7", "hint": "List them with `GET /api/projects`."}
//! ```

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tollgate_engine::board::Refused;
use tollgate_engine::failure::{self, Failure};
use utoipa::ToSchema;

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be read.
    BadRequest,
    /// No credentials.
    Unauthorized,
    /// Not allowed from this origin.
    Forbidden,
    /// Not found.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed,
    /// The request arrived too slowly.
    RequestTimeout,
    /// In conflict with the current state.
    Conflict,
    /// The revision of the client is not the current one.
    PreconditionFailed,
    /// The body is too large.
    TooLarge,
    /// The body has another media type.
    UnsupportedMediaType,
    /// The request names another host.
    Misdirected,
    /// The request is well-formed and invalid.
    Unprocessable,
    /// Rate limited.
    TooManyRequests,
    /// An internal error.
    Internal,
    /// Not available now; retry later.
    Unavailable,
}

impl Kind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.described().0
    }

    /// Its status, its name in the type, and its title.
    fn described(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::BadRequest => (StatusCode::BAD_REQUEST, "bad-request", "Bad request"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "Not signed in"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "forbidden", "Not allowed"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not-found", "Not found"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed"),
            Self::RequestTimeout => (StatusCode::REQUEST_TIMEOUT, "request-timeout", "Request too slow"),
            Self::Conflict => (StatusCode::CONFLICT, "conflict", "Not possible now"),
            Self::PreconditionFailed => {
                (StatusCode::PRECONDITION_FAILED, "precondition-failed", "Changed in the meantime")
            }
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large"),
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type")
            }
            Self::Misdirected => (StatusCode::MISDIRECTED_REQUEST, "misdirected", "Wrong server"),
            Self::Unprocessable => (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "Not valid"),
            Self::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "Too many requests"),
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not available"),
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
    /// The kind of the problem, as a stable name.
    #[serde(rename = "type")]
    kind: String,
    /// The kind of the problem, for people.
    title: &'a str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The error message.
    detail: &'a str,
    /// A hint how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<&'a str>,
    /// `false`, where a successful response has `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    success: Option<bool>,
}

impl Problem {
    /// A problem without a hint.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), hint: None, retry_after_seconds: None, says_no_success: false }
    }

    /// A problem with the message and the hint of a failure.
    pub(crate) fn of(kind: Kind, Failure { message, hint, .. }: Failure) -> Self {
        Self { hint, ..Self::new(kind, message) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets `Retry-After`.
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

    /// Title, message and hint, for people.
    pub(crate) fn in_words(&self) -> (&'static str, String, Option<String>) {
        (self.kind.described().2, self.detail.clone(), self.hint.clone())
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The document.
    pub fn to_json(&self) -> Vec<u8> {
        let (status, name, title) = self.kind.described();
        let document = Document {
            kind: format!("urn:tollgate:problem:{name}"),
            title,
            status: status.as_u16(),
            detail: &self.detail,
            hint: self.hint.as_deref(),
            success: self.says_no_success.then_some(false),
        };
        serde_json::to_vec(&document).unwrap_or_default()
    }
}

impl From<Failure> for Problem {
    /// A failure of the engine as an error response.
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            failure::Kind::User => Kind::Unprocessable,
            failure::Kind::Config => Kind::Conflict,
            failure::Kind::External => Kind::Unavailable,
            failure::Kind::Internal => Kind::Internal,
        };
        Self::of(kind, failure)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoProject(id) => Self::new(Kind::NotFound, format!("there is no project {id}"))
                .hint("List them with `GET /api/projects`."),
            Refused::NoFeature(id) => Self::new(Kind::NotFound, format!("there is no feature `{id}`")),
            Refused::NoReview(number) => Self::new(Kind::NotFound, format!("iteration {number} has no review")),
            refused @ (Refused::NoFinding(_) | Refused::NoProposal(_)) => {
                Self::of(Kind::NotFound, refused.into_failure())
            }
            Refused::Illegal(illegal) => Self::new(Kind::Conflict, illegal.to_string()),
            Refused::Stale(rev) => {
                let detail = format!("it was changed in the meantime, and is at revision {rev}");
                Self::new(Kind::PreconditionFailed, detail).hint("Read it again, and repeat the change.")
            }
            Refused::Invalid(why) => Self::new(Kind::Unprocessable, why),
            Refused::Failure(failure) => failure.into(),
        }
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
        // Pages render the problem from here.
        response.extensions_mut().insert(self);
        response
    }
}

/// Missing or wrong credentials.
pub fn unauthorized() -> Problem {
    Problem::new(Kind::Unauthorized, "this needs the server's token")
        .hint("Send `Authorization: Bearer TOKEN`, or sign in with `POST /api/auth/login`.")
}

/// No route has this path.
pub fn no_such_path() -> Problem {
    Problem::new(Kind::NotFound, "there is nothing at this path").hint("`GET /api/openapi.json` lists every path.")
}

/// The route does not have this method.
pub fn no_such_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this path does not know the method")
        .hint("The header `Allow` lists those it knows.")
}

/// A panic or a lost task.
pub fn internal() -> Problem {
    Problem::new(Kind::Internal, "internal error").hint("The server's log says more.")
}

/// A refusal that depends on the state of the thing: invalid now means in conflict with that state.
pub(crate) fn conflict(refused: Refused) -> Problem {
    match refused {
        Refused::Invalid(why) => Problem::new(Kind::Conflict, why),
        refused => refused.into(),
    }
}

/// The server is overloaded.
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
