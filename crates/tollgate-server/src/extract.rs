//! Request extractors with problem documents for invalid input.

use axum::RequestPartsExt as _;
use axum::body::Body as HttpBody;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tollgate_core::board::FeatureId;
use tollgate_core::fingerprint::Fingerprint;
use tollgate_engine::party::Party;
use tollgate_engine::store::jobs::JobId;

use crate::access::Proof;
use crate::app::{App, ProjectId, Shared};
use crate::json::{self, JsonError};
use crate::problem::{Kind, Problem};
use crate::routes::acts::BY;

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        check_media_type(request.headers())?;
        let text = read(request.into_body(), app).await?;
        parse(&text).map(Self)
    }
}

/// A body of JSON that may be missing.
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<Shared> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        let text = read(request.into_body(), app).await?;
        if text.is_empty() {
            return Ok(Self(T::default()));
        }
        parse::<Option<T>>(&text).map(|value| Self(value.unwrap_or_default()))
    }
}

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    json::read(text).map_err(|problem| {
        let kind = match problem {
            JsonError::NotJson(_) => Kind::BadRequest,
            JsonError::DoesNotFit(_) => Kind::Unprocessable,
        };
        Problem::new(kind, problem.to_string()).hint("`GET /api/openapi.json` describes what is expected.")
    })
}

/// Reads a body as long as it is small and comes soon.
async fn read(body: HttpBody, app: &App) -> Result<Bytes, Problem> {
    let limits = &app.limits;
    let whole = Limited::new(body, limits.body_bytes).collect();
    match tokio::time::timeout(limits.body, whole).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(problem)) if problem.is::<LengthLimitError>() => Err(too_large(limits.body_bytes)),
        Ok(Err(_)) => Err(Problem::new(Kind::BadRequest, "the body broke off")),
        Err(_) => Err(Problem::new(Kind::RequestTimeout, "the body came too slowly")),
    }
}

pub(crate) fn too_large(most: usize) -> Problem {
    Problem::new(Kind::TooLarge, format!("the body is larger than {most} bytes"))
}

/// Refuses a body of another kind than JSON. Pages of other sites can send the other kinds without asking first.
pub(crate) fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Problem::new(Kind::UnsupportedMediaType, "the body is not marked as JSON")
            .hint("Send the header `Content-Type: application/json`."))
    }
}

/// Parts of the address after `?`.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(problem) => {
                let why = problem.body_text();
                let why = why.strip_prefix("Failed to deserialize query string: ").unwrap_or(&why);
                Err(Problem::new(Kind::Unprocessable, format!("what follows `?` does not fit: {why}")))
            }
        }
    }
}

/// Defines extractors of values that the path names.
macro_rules! in_path {
    ($($(#[$doc:meta])* $name:ident($($part:ty),+) = $read:expr;)+) => {$(
        $(#[$doc])*
        pub(crate) struct $name($(pub(crate) $part),+);

        impl FromRequestParts<Shared> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Problem> {
                let read: fn(&Names) -> Result<$name, Problem> = $read;
                read(&names(parts).await?)
            }
        }
    )+};
}

in_path! {
    /// The project in the path.
    InProject(ProjectId) = |names| Ok(InProject(project(names)?));
    /// The feature in the path.
    OfFeature(ProjectId, FeatureId) = |names| Ok(OfFeature(project(names)?, feature(names)?));
    /// The iteration in the path.
    OfIteration(ProjectId, FeatureId, u32) = |names| {
        let number = iteration(names)?;
        Ok(OfIteration(project(names)?, feature(names)?, number))
    };
    /// The finding in the path.
    OfFinding(ProjectId, FeatureId, u32, String) = |names| {
        let number = iteration(names)?;
        Ok(OfFinding(project(names)?, feature(names)?, number, finding(names)?))
    };
    /// The fingerprint of a dismissed finding, in the path.
    OfDismissal(ProjectId, FeatureId, Fingerprint) = |names| {
        let fingerprint = Fingerprint::parse(named(names, "fingerprint")?).ok_or_else(|| no_such("dismissal"))?;
        Ok(OfDismissal(project(names)?, feature(names)?, fingerprint))
    };
    /// The stored review in the path.
    OfReview(u64) = |names| number(named(names, "run")?).map(OfReview).ok_or_else(|| no_such("review"));
    /// The job in the path.
    OfJob(JobId) = |names| JobId::parse(named(names, "job")?).map(OfJob).ok_or_else(|| no_such("job"));
}

/// True when the request comes from a page that a person signed in to. A request with the token itself comes from a
/// program, which may be an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsPerson(pub(crate) bool);

impl IsPerson {
    /// The party behind the request; `by` is the name that a person gives.
    pub(crate) fn party(self, by: Option<String>) -> Party {
        let by = by.filter(|by| !by.trim().is_empty());
        match self.0 {
            true => Party::Person(by.unwrap_or_else(|| BY.to_owned())),
            false => Party::Agent(by.map_or_else(|| PROGRAM.to_owned(), |by| format!("{by}, with the API token"))),
        }
    }

    /// The name of the person; a program is refused `what`.
    pub(crate) fn name(self, by: Option<String>, what: &str) -> Result<String, Problem> {
        match self.party(by) {
            Party::Person(name) => Ok(name),
            Party::Agent(_) => Err(Problem::new(Kind::Forbidden, format!("only a person can {what}"))
                .hint("Do it on the page of the feature, or at a terminal with `tollgate feature`.")),
        }
    }
}

/// The description of a caller that shows the token and gives no name.
const PROGRAM: &str = "a program with the API token";

impl FromRequestParts<Shared> for IsPerson {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Problem> {
        Ok(Self(parts.extensions.get::<Proof>() == Some(&Proof::Cookie)))
    }
}

type Names = std::collections::HashMap<String, String>;

async fn names(parts: &mut Parts) -> Result<Names, Problem> {
    // Bytes that are not UTF-8 once decoded identify nothing.
    parts.extract::<Path<Names>>().await.map(|Path(names)| names).map_err(|_| no_such("thing"))
}

fn named<'a>(names: &'a Names, name: &'static str) -> Result<&'a str, Problem> {
    names.get(name).map(String::as_str).ok_or_else(|| no_such(name))
}

fn project(names: &Names) -> Result<ProjectId, Problem> {
    let number = number(named(names, "project")?).and_then(|number| i64::try_from(number).ok());
    number.ok_or_else(|| no_such("project"))
}

fn feature(names: &Names) -> Result<FeatureId, Problem> {
    FeatureId::parse(named(names, "feature")?)
        .map_err(|problem| Problem::new(Kind::NotFound, format!("no feature has this name: {problem}")))
}

fn iteration(names: &Names) -> Result<u32, Problem> {
    let number = number(named(names, "iteration")?).and_then(|number| u32::try_from(number).ok());
    // As the OpenAPI description says: a number with more bits identifies nothing.
    let is_named = |number: &u32| *number > 0 && i32::try_from(*number).is_ok();
    number.filter(is_named).ok_or_else(|| no_such("iteration"))
}

fn finding(names: &Names) -> Result<String, Problem> {
    let finding = named(names, "finding")?;
    let is_name = |digits: &str| (3..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_finding = finding.strip_prefix('F').is_some_and(is_name);
    is_finding.then(|| finding.to_owned()).ok_or_else(|| no_such("finding"))
}

/// A number as people write it: no sign, no zeros before it.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    // SQLite's numbers have a sign.
    text.parse().ok().filter(|number| is_plain && i64::try_from(*number).is_ok())
}

fn no_such(what: &str) -> Problem {
    Problem::new(Kind::NotFound, format!("there is no such {what}"))
}
