//! What an answer of GitHub means when it is not what was asked for, in words.
//!
//! The words never hold a token, whatever the other side quotes. Whether something was done decides more than why it
//! was not: a refusal was surely not done, and of what broke off nobody knows.

use std::time::Duration;

use serde::Deserialize;
use tollgate_core::visible::visible;

use super::address::Address;
use super::client::Answer;
use super::limits::MAX_HOLD;
use super::request::{Repeat, Request};
use crate::forge::host::{Asked, Hidden, HostError, Trouble};
use crate::held::Held;

/// So much of what the other side says is quoted.
const QUOTED: usize = 300;
/// So many of its complaints are kept.
const MAX_COMPLAINTS: usize = 20;
/// How long GitHub wants to be left alone when it does not say.
const UNSAID: Duration = Duration::from_secs(60);

/// An answer that says yes, or what it says instead.
pub(super) fn judge(request: &Request, answer: Answer, token: Option<&Hidden>, now_ms: u64) -> Asked<Answer> {
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    let held = Held::new(token.map(|token| token.expose().to_owned()).into_iter().collect());
    let complaint = Complaint::read(&answer.body, &held);
    let trouble = kind(request, &answer, &complaint, now_ms);
    let what = match &trouble {
        Trouble::NotFound if answer.status < 400 => "has moved elsewhere",
        Trouble::NotFound => "is not there, or we may not see it",
        Trouble::Forbidden => "is not allowed",
        Trouble::Unauthorized => "was asked with a token that is not good",
        Trouble::Invalid(_) => "was refused",
        Trouble::Limited { .. } => "was asked too often",
        Trouble::Unclear => "failed, and may have been done",
        Trouble::Unavailable | Trouble::Nonsense => "failed",
    };
    let said = complaint.quoted();
    Err(HostError::new(trouble, format!("`{}` {what} (HTTP {}){said}", request.shown(), answer.status)))
}

fn kind(request: &Request, answer: &Answer, complaint: &Complaint, now_ms: u64) -> Trouble {
    match answer.status {
        401 => Trouble::Unauthorized,
        403 | 429 => match limited(answer, complaint, now_ms) {
            Some(wait) => Trouble::Limited { wait_ms: wait.min(MAX_HOLD).as_millis() as u64 },
            None => Trouble::Forbidden,
        },
        // The oldest way to say that content came too fast.
        422 if complaint.mentions("submitted too quickly") => Trouble::Limited { wait_ms: UNSAID.as_millis() as u64 },
        451 => Trouble::Forbidden,
        300..=399 | 404 | 410 => Trouble::NotFound,
        409 => Trouble::Unavailable,
        408 | 500.. => undone(request),
        _ => Trouble::Invalid(complaint.all()),
    }
}

/// What a failure after the request was sent means.
fn undone(request: &Request) -> Trouble {
    match request.repeat {
        Repeat::Harmless => Trouble::Unavailable,
        Repeat::Harmful => Trouble::Unclear,
    }
}

/// How long to wait, when that is what a refusal is about.
fn limited(answer: &Answer, complaint: &Complaint, now_ms: u64) -> Option<Duration> {
    let is_limit = complaint.mentions("rate limit") || complaint.mentions("abuse detection") || answer.status == 429;
    answer.asked_for(now_ms).or(is_limit.then_some(UNSAID))
}

/// What GitHub says about a request that it refuses.
///
/// ```json
/// {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]}
/// {"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]}
/// ```
#[derive(Debug, Default)]
struct Complaint {
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

impl Complaint {
    fn read(body: &[u8], held: &Held) -> Self {
        let Ok(body) = serde_json::from_slice::<Body>(body) else { return Self::default() };
        let errors = match body.errors {
            Some(Errors::Many(errors)) => errors,
            Some(Errors::One(text)) => vec![Error::Text(text)],
            None => Vec::new(),
        };
        let errors = errors.into_iter().filter_map(Error::into_words).take(MAX_COMPLAINTS);
        let tidy = |text: String| tidy(&held.hide(&text));
        Self { message: tidy(body.message), errors: errors.map(tidy).collect() }
    }

    fn mentions(&self, words: &str) -> bool {
        self.all().iter().any(|text| text.to_lowercase().contains(words))
    }

    /// The errors, or the message for want of them.
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

/// One line that is harmless to look at.
pub(super) fn tidy(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = line.chars().take(QUOTED).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    visible(&shown).into_owned()
}

/// Our own limits say no.
pub(super) fn held_back(request: &Request, wait_ms: u64) -> HostError {
    let seconds = wait_ms.div_ceil(1000);
    HostError::new(
        Trouble::Limited { wait_ms },
        format!("`{}` has to wait for {seconds} s, for GitHub allows only so many requests", request.shown()),
    )
}

/// Somebody else may be at it by now.
pub(super) fn not_ours(request: &Request) -> HostError {
    let message = format!("`{}` was not asked for, because the time for it had run out", request.shown());
    HostError::new(Trouble::Unavailable, message)
}

/// Nothing came back in time.
pub(super) fn too_slow(request: &Request, allowed: Duration) -> HostError {
    let seconds = allowed.as_secs_f64().ceil();
    HostError::new(undone(request), format!("`{}` was not answered within {seconds} s", request.shown()))
}

/// The request did not get there, or its answer did not come back.
pub(super) fn broken(request: &Request, address: &Address, error: &reqwest::Error) -> HostError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let says = tidy(&cause.to_string());
    if error.is_connect() || error.is_builder() {
        let message = format!("GitHub cannot be reached at {}: {says}", address.api());
        return HostError::new(Trouble::Unavailable, message);
    }
    HostError::new(undone(request), format!("the answer to `{}` broke off: {says}", request.shown()))
}

/// There is no way to ask anything.
pub(super) fn no_way_out(request: &Request, error: &str) -> HostError {
    HostError::new(Trouble::Unavailable, format!("`{}` cannot be asked: {}", request.shown(), tidy(error)))
}

/// What is said to be a token is none.
pub(super) fn no_token(request: &Request) -> HostError {
    let message = format!("`{}` cannot be asked: the token holds characters that no token has", request.shown());
    HostError::new(Trouble::Unauthorized, message)
}

/// What is to be sent cannot be written down.
pub(super) fn unwritable(request: &Request, error: &serde_json::Error) -> HostError {
    HostError::new(Trouble::Invalid(vec![error.to_string()]), format!("`{}` cannot be asked: {error}", request.shown()))
}

/// The answer is longer than we read.
pub(super) fn too_long(request: &Request, allowed: usize) -> HostError {
    let message = format!("the answer to `{}` is longer than {} MiB", request.shown(), allowed >> 20);
    HostError::new(nonsense(request), message)
}

/// The answer is not what the interface promises.
pub(super) fn garbled(request: &Request, error: &serde_json::Error) -> HostError {
    let message = format!("the answer to `{}` makes no sense: {}", request.shown(), tidy(&error.to_string()));
    HostError::new(nonsense(request), message)
}

/// What an unreadable answer means: something was written, but what?
fn nonsense(request: &Request) -> Trouble {
    match request.repeat {
        Repeat::Harmless => Trouble::Nonsense,
        Repeat::Harmful => Trouble::Unclear,
    }
}

/// There is more than we read. To go on as if that were all would be to write things twice.
pub(super) fn too_many(request: &Request, n_read: usize) -> HostError {
    let message = format!("`{}` lists more than we read: we stopped after {n_read}", request.shown());
    HostError::new(Trouble::Invalid(vec!["the list is too long".to_owned()]), message)
}

/// Only apps may do this.
pub(super) fn only_apps(what: &str) -> HostError {
    HostError::new(Trouble::Forbidden, format!("{what}: only an app may do that"))
}

/// We would be refused, so we do not ask.
pub(super) fn wont_do(what: String) -> HostError {
    HostError::new(Trouble::Invalid(vec![what.clone()]), what)
}
