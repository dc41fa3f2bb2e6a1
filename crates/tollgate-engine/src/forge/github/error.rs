//! Classifies error responses of GitHub and words their messages.
//!
//! Messages never contain a token, even if the server quotes it. The classification depends on whether the request
//! took effect: a rejected one did not, and of an interrupted one it is unknown.

use std::time::Duration;

use serde::Deserialize;
use tollgate_core::visible::visible;

use super::address::Address;
use super::client::HttpResponse;
use super::limits::MAX_HOLD;
use super::request::{Repeat, Request};
use crate::forge::host::{HostError, HostErrorKind, HostResult, Secret};
use crate::redaction::Redactor;

/// The maximum length of a quoted message.
const QUOTED: usize = 300;
/// The maximum number of quoted messages.
const MAX_COMPLAINTS: usize = 20;
/// The backoff when GitHub does not name one.
const UNSAID: Duration = Duration::from_secs(60);

/// Passes successful responses and converts others into errors.
pub(super) fn check_status(
    request: &Request,
    answer: HttpResponse,
    token: Option<&Secret>,
    now_ms: u64,
) -> HostResult<HttpResponse> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    let redactor = Redactor::new(token.map(|token| token.expose().to_owned()).into_iter().collect());
    let messages = ErrorMessages::read(&answer.body, &redactor);
    let kind = classify(request, &answer, &messages, now_ms);
    let what = match &kind {
        HostErrorKind::NotFound if answer.status < 400 => "has moved elsewhere",
        HostErrorKind::NotFound => "is not there, or we may not see it",
        HostErrorKind::Forbidden => "is not allowed",
        HostErrorKind::Unauthorized => "was asked with a token that is not good",
        HostErrorKind::Invalid(_) => "was refused",
        HostErrorKind::Limited { .. } => "was asked too often",
        HostErrorKind::Unclear => "failed, and may have been done",
        HostErrorKind::Unavailable | HostErrorKind::Nonsense => "failed",
    };
    let said = messages.quoted();
    Err(HostError::new(kind, format!("`{}` {what} (HTTP {}){said}", request.shown(), answer.status)))
}

fn classify(request: &Request, answer: &HttpResponse, messages: &ErrorMessages, now_ms: u64) -> HostErrorKind {
    match answer.status {
        401 => HostErrorKind::Unauthorized,
        403 | 429 => match limited(answer, messages, now_ms) {
            Some(wait) => HostErrorKind::Limited { wait_ms: wait.min(MAX_HOLD).as_millis() as u64 },
            None => HostErrorKind::Forbidden,
        },
        // GitHub's oldest wording of the content rate limit.
        422 if messages.mentions("submitted too quickly") => {
            HostErrorKind::Limited { wait_ms: UNSAID.as_millis() as u64 }
        }
        451 => HostErrorKind::Forbidden,
        300..=399 | 404 | 410 => HostErrorKind::NotFound,
        409 => HostErrorKind::Unavailable,
        408 | 500.. => undone(request),
        _ => HostErrorKind::Invalid(messages.all()),
    }
}

/// The class of a failure after the request was sent.
fn undone(request: &Request) -> HostErrorKind {
    match request.repeat {
        Repeat::Harmless => HostErrorKind::Unavailable,
        Repeat::Harmful => HostErrorKind::Unclear,
    }
}

/// The backoff, when the response is about a rate limit.
fn limited(answer: &HttpResponse, messages: &ErrorMessages, now_ms: u64) -> Option<Duration> {
    let is_limit = messages.mentions("rate limit") || messages.mentions("abuse detection") || answer.status == 429;
    answer.asked_for(now_ms).or(is_limit.then_some(UNSAID))
}

/// The error body of a response.
///
/// ```json
/// {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]}
/// {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}
/// ```
#[derive(Debug, Default)]
struct ErrorMessages {
    message: String,
    errors: Vec<String>,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Option<Errors>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Errors {
    Many(Vec<Error>),
    One(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Error {
    Text(String),
    Fields(Fields),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Fields {
    message: Option<String>,
    resource: Option<String>,
    field: Option<String>,
    code: Option<String>,
}

impl ErrorMessages {
    fn read(body: &[u8], redactor: &Redactor) -> Self {
        let Ok(body) = serde_json::from_slice::<Body>(body) else { return Self::default() };
        let errors = match body.errors {
            Some(Errors::Many(errors)) => errors,
            Some(Errors::One(text)) => vec![Error::Text(text)],
            None => Vec::new(),
        };
        let errors = errors.into_iter().filter_map(Error::into_words).take(MAX_COMPLAINTS);
        let tidy = |text: String| tidy(&redactor.redact(&text));
        Self { message: tidy(body.message), errors: errors.map(tidy).collect() }
    }

    fn mentions(&self, words: &str) -> bool {
        self.all().iter().any(|text| text.to_lowercase().contains(words))
    }

    /// The errors, or else the message.
    fn all(&self) -> Vec<String> {
        if self.errors.is_empty() && !self.message.is_empty() {
            vec![self.message.clone()]
        } else {
            self.errors.clone()
        }
    }

    fn quoted(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.errors).filter(|part| !part.is_empty());
        let text: String = parts.map(String::as_str).collect::<Vec<_>>().join("; ").chars().take(2 * QUOTED).collect();
        if text.is_empty() { text } else { format!(": “{text}”") }
    }
}

impl Error {
    fn into_words(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Fields(Fields { message: Some(message), .. }) => Some(message),
            Self::Fields(Fields { resource, field, code, message: None }) => {
                let parts: Vec<String> = [resource, field, code].into_iter().flatten().collect();
                (!parts.is_empty()).then(|| parts.join(" "))
            }
            Self::Other(_) => None,
        }
    }
}

/// Normalizes a text to one escaped line of limited length.
pub(super) fn tidy(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(QUOTED).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    visible(&shown).into_owned()
}

/// Our own rate limiter refused the request.
pub(super) fn held_back(request: &Request, wait_ms: u64) -> HostError {
    let seconds = wait_ms.div_ceil(1000);
    HostError::new(
        HostErrorKind::Limited { wait_ms },
        format!("`{}` has to wait for {seconds} s, for GitHub allows only so many requests", request.shown()),
    )
}

/// The lease was lost, so another worker may be writing.
pub(super) fn not_ours(request: &Request) -> HostError {
    let message = format!("`{}` was not asked for, because the time for it had run out", request.shown());
    HostError::new(HostErrorKind::Unavailable, message)
}

/// The request timed out.
pub(super) fn too_slow(request: &Request, allowed: Duration) -> HostError {
    let seconds = allowed.as_secs_f64().ceil();
    HostError::new(undone(request), format!("`{}` was not answered within {seconds} s", request.shown()))
}

/// The connection failed or was interrupted.
pub(super) fn broken(request: &Request, address: &Address, error: &reqwest::Error) -> HostError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let says = tidy(&cause.to_string());
    if error.is_connect() || error.is_builder() {
        let message = format!("GitHub cannot be reached at {}: {says}", address.api());
        return HostError::new(HostErrorKind::Unavailable, message);
    }
    HostError::new(undone(request), format!("the answer to `{}` broke off: {says}", request.shown()))
}

/// No HTTP client could be made.
pub(super) fn no_way_out(request: &Request, error: &str) -> HostError {
    HostError::new(HostErrorKind::Unavailable, format!("`{}` cannot be asked: {}", request.shown(), tidy(error)))
}

/// The token cannot be sent in a header.
pub(super) fn no_token(request: &Request) -> HostError {
    let message = format!("`{}` cannot be asked: the token holds characters that no token has", request.shown());
    HostError::new(HostErrorKind::Unauthorized, message)
}

/// The request body cannot be serialized.
pub(super) fn unwritable(request: &Request, error: &serde_json::Error) -> HostError {
    HostError::new(
        HostErrorKind::Invalid(vec![error.to_string()]),
        format!("`{}` cannot be asked: {error}", request.shown()),
    )
}

/// The response exceeds the size limit.
pub(super) fn too_long(request: &Request, allowed: usize) -> HostError {
    let message = format!("the answer to `{}` is longer than {} MiB", request.shown(), allowed >> 20);
    HostError::new(nonsense(request), message)
}

/// The response does not match the API.
pub(super) fn garbled(request: &Request, error: &serde_json::Error) -> HostError {
    let message = format!("the answer to `{}` makes no sense: {}", request.shown(), tidy(&error.to_string()));
    HostError::new(nonsense(request), message)
}

/// The class of an unreadable response: of a write it is unknown whether it took effect.
fn nonsense(request: &Request) -> HostErrorKind {
    match request.repeat {
        Repeat::Harmless => HostErrorKind::Nonsense,
        Repeat::Harmful => HostErrorKind::Unclear,
    }
}

/// The list is incomplete. An incomplete search for our own posts would publish them twice.
pub(super) fn too_many(request: &Request, n_read: usize) -> HostError {
    let message = format!("`{}` lists more than we read: we stopped after {n_read}", request.shown());
    HostError::new(HostErrorKind::Invalid(vec!["the list is too long".to_owned()]), message)
}

/// GitHub would reject the request, so it is not sent.
pub(super) fn wont_do(what: String) -> HostError {
    HostError::new(HostErrorKind::Invalid(vec![what.clone()]), what)
}
