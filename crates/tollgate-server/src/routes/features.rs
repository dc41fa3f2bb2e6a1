//! Features of a project.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tollgate_core::board::FeatureId;
use tollgate_core::board::machine::{Status, UnknownStatus};
use tollgate_engine::board::{Board, Refused};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::board::CardFilter;
use utoipa::IntoParams;

use crate::app::{ProjectId, Shared};
use crate::extract::{Body, InProject, OfFeature, Query};
use crate::problem::{self, Kind, Problem};
use crate::routes::acts::BY;
use crate::view::request::{FeatureEdit, NewFeature};
use crate::view::{CardBody, FeatureBody, Features};

/// The default page size.
const LIMIT: usize = 100;
/// The largest page size.
const MAX_LIMIT: usize = 1000;

/// Filters a list of features.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct FeatureQuery {
    /// Only those in this column.
    #[param(
        max_length = 100,
        pattern = "^(backlog|pending|ready|in_progress|code_review|waiting_approval|verified|completed|pipeline_[A-Za-z0-9_][A-Za-z0-9_-]{0,63})$"
    )]
    status: Option<String>,
    /// Only those with this text in name, title or first line, in any case.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only those of this priority.
    #[param(minimum = 1, maximum = 3)]
    priority: Option<u32>,
    /// Only those of this group.
    #[param(max_length = 200)]
    category: Option<String>,
    /// Only features that wait for a person.
    needs_person: Option<bool>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Those after the place that the answer before gave as `next`.
    #[param(pattern = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$")]
    after: Option<String>,
}

impl FeatureQuery {
    fn check(self) -> Result<CardFilter, Problem> {
        let limit = self.limit.unwrap_or(LIMIT);
        let is_short = |text: &Option<String>, most| text.as_ref().is_none_or(|text| text.chars().count() <= most);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::new(Kind::Unprocessable, format!("`limit` is not from 1 to {MAX_LIMIT}")));
        }
        if self.priority.is_some_and(|priority| !(1..=3).contains(&priority)) {
            return Err(Problem::new(Kind::Unprocessable, "`priority` is not from 1 to 3"));
        }
        if !(is_short(&self.status, 100) && is_short(&self.q, 200) && is_short(&self.category, 200)) {
            return Err(Problem::new(Kind::Unprocessable, "a part of the question is too long"));
        }
        let status = self.status.as_deref().map(Status::known).transpose();
        let status = status.map_err(|unknown| {
            Problem::new(Kind::BadRequest, format!("`status`: {unknown}")).hint(UnknownStatus::HINT)
        })?;
        let after = self.after.as_deref().map(FeatureId::parse).transpose().map_err(|problem| {
            Problem::new(Kind::Unprocessable, format!("`after` names no feature: {problem}"))
                .hint("Use the `next` of the previous page.")
        })?;
        Ok(CardFilter {
            status,
            text: self.q,
            priority: self.priority,
            category: self.category,
            needs_person: self.needs_person.unwrap_or(false),
            limit,
            after,
            ..CardFilter::default()
        })
    }
}

/// Features of a project as cards: without descriptions, specifications and diffs.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features",
    operation_id = "listFeatures",
    params(FeatureQuery),
    responses((status = 200, description = "The features.", body = Features))
)]
pub(crate) async fn list(
    State(app): State<Shared>,
    InProject(project): InProject,
    Query(which): Query<FeatureQuery>,
) -> Result<Json<Features>, Problem> {
    let filter = which.check()?;
    Ok(Json(app.call_in(project, move |board| read_page(board, project, filter)).await?))
}

/// Reads one card more than is asked for, to know whether there are more.
fn read_page(board: &Board, project: ProjectId, filter: CardFilter) -> Result<Features, Failure> {
    tollgate_engine::process::panic_point("route");
    let limit = filter.limit;
    let filter = CardFilter { limit: limit + 1, ..filter };
    let mut cards = board.database().cards(project, &filter)?;
    let total = board.database().n_cards(project, &filter)? as u64;
    let has_more = cards.len() > limit;
    cards.truncate(limit);
    let next = cards.last().filter(|_| has_more).map(|card| card.id.to_string());
    let rounds = board.settings().pipeline.rounds;
    Ok(Features { features: cards.into_iter().map(|card| CardBody::new(card, rounds)).collect(), next, total })
}

/// Adds a feature, and starts it if asked to.
#[utoipa::path(
    post,
    path = "/api/projects/{project}/features",
    operation_id = "addFeature",
    request_body = NewFeature,
    responses(
        (status = 201, description = "Added.", body = FeatureBody,
         headers(("location" = String), ("etag" = String)))
    )
)]
pub(crate) async fn add(
    State(app): State<Shared>,
    InProject(project): InProject,
    Body(new): Body<NewFeature>,
) -> Result<Response, Problem> {
    check_new(&new)?;
    let starts = new.start.unwrap_or(false);
    let create = move |board: &Board| {
        let row = board.create(project, &new.for_board())?;
        let row = if starts { board.start(project, &row.id, BY)? } else { row };
        Ok::<_, Refused>(FeatureBody::new(row, board.settings().pipeline.rounds))
    };
    let feature = app.call(create).await?;
    let location = format!("/api/projects/{project}/features/{}", feature.id);
    let mut response = whole(feature);
    *response.status_mut() = StatusCode::CREATED;
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// One feature.
#[utoipa::path(
    get,
    path = "/api/projects/{project}/features/{feature}",
    operation_id = "showFeature",
    responses((status = 200, description = "The feature.", body = FeatureBody, headers(("etag" = String))))
)]
pub(crate) async fn show(State(app): State<Shared>, OfFeature(project, id): OfFeature) -> Result<Response, Problem> {
    Ok(whole(app.call_in(project, move |board| FeatureBody::read(board, project, &id)).await?))
}

/// Changes a feature. With `If-Match`, only if it still is as the client knows it.
#[utoipa::path(
    patch,
    path = "/api/projects/{project}/features/{feature}",
    operation_id = "editFeature",
    params(
        ("if-match" = Option<String>, Header, description = "The `ETag` of the feature as the client knows it.",
         nullable = false, pattern = r#"^(\*|[0-9]{1,18}|"[0-9]{1,18}")$"#)
    ),
    request_body = FeatureEdit,
    responses(
        (status = 200, description = "The feature as it is now.", body = FeatureBody, headers(("etag" = String))),
        (status = 412, description = "It has changed since.", body = crate::problem::Document,
         content_type = "application/problem+json")
    )
)]
pub(crate) async fn edit(
    State(app): State<Shared>,
    OfFeature(project, id): OfFeature,
    headers: HeaderMap,
    Body(edit): Body<FeatureEdit>,
) -> Result<Response, Problem> {
    let rev = revision(&headers)?;
    check_edit(&edit)?;
    let change = move |board: &Board| {
        let row = board.edit(project, &id, &edit.for_board(), rev)?;
        Ok::<_, Refused>(FeatureBody::new(row, board.settings().pipeline.rounds))
    };
    Ok(whole(app.call_in(project, change).await?))
}

/// Removes a feature.
#[utoipa::path(
    delete,
    path = "/api/projects/{project}/features/{feature}",
    operation_id = "removeFeature",
    responses((status = 204, description = "Removed."))
)]
pub(crate) async fn remove(
    State(app): State<Shared>,
    OfFeature(project, id): OfFeature,
) -> Result<StatusCode, Problem> {
    app.call_in(project, move |board| board.delete(project, &id, BY).map_err(problem::conflict)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A feature with the header that names this state of it.
pub(super) fn whole(body: FeatureBody) -> Response {
    let etag = [(header::ETAG, body.etag())];
    (etag, Json(body)).into_response()
}

/// The revision that `If-Match` names; `None` when any will do.
pub(super) fn revision(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    // Some clients drop the quotes on the way.
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let rev = inner.parse().ok().filter(|_| inner.bytes().all(|byte| byte.is_ascii_digit()));
    rev.map(Some).ok_or_else(|| {
        Problem::new(Kind::BadRequest, "no state of it has the name in `If-Match`")
            .hint("Read it and send its header `ETag` as it is.")
    })
}

fn check_new(new: &NewFeature) -> Result<(), Problem> {
    check_text("title", Some(&new.title), 500)?;
    check_text("description", Some(&new.description), 200_000)?;
    check_text("spec", new.spec.as_ref(), 500_000)?;
    check_text("category", new.category.as_ref(), 200)?;
    check_text("model", new.model.as_ref(), 200)?;
    check_text("branchName", new.branch_name.as_ref(), 200)?;
    check_rest(Some(&new.description), new.priority, new.dependencies.as_ref().map(Vec::len))
}

fn check_edit(edit: &FeatureEdit) -> Result<(), Problem> {
    check_text("title", edit.title.as_ref(), 500)?;
    check_text("description", edit.description.as_ref(), 200_000)?;
    check_text("spec", edit.spec.as_ref(), 500_000)?;
    check_text("category", edit.category.as_ref(), 200)?;
    check_text("model", edit.model.as_ref(), 200)?;
    check_rest(edit.description.as_ref(), edit.priority, edit.dependencies.as_ref().map(Vec::len))
}

fn check_rest(description: Option<&String>, priority: Option<u8>, n_before: Option<usize>) -> Result<(), Problem> {
    if description.is_some_and(|text| text.trim().is_empty()) {
        return Err(Problem::new(Kind::Unprocessable, "`description` is empty").hint("Describe the feature."));
    }
    if priority.is_some_and(|priority| !(1..=3).contains(&priority)) {
        return Err(Problem::new(Kind::Unprocessable, "`priority` is not 1, 2 or 3"));
    }
    if n_before.is_some_and(|n| n > 100) {
        return Err(Problem::new(Kind::Unprocessable, "`dependencies` has more than 100 names"));
    }
    Ok(())
}

/// Refuses a text that is too long, or that no file of the board could hold.
pub(super) fn check_text(name: &str, text: Option<&String>, most: usize) -> Result<(), Problem> {
    match text {
        Some(text) if text.chars().count() > most => {
            Err(Problem::new(Kind::Unprocessable, format!("`{name}` has more than {most} characters")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Option<&str>, expected: Result<Option<u64>, u16>) {
        let mut headers = HeaderMap::new();
        if let Some(value) = value {
            headers.insert(header::IF_MATCH, value.parse().unwrap());
        }
        let found = revision(&headers).map_err(|problem| problem.kind().status().as_u16());
        assert_eq!(found, expected, "{value:?}");
    }

    #[test]
    fn a_state_is_named_by_its_etag_or_not_at_all() {
        check(None, Ok(None));
        check(Some("*"), Ok(None));
        check(Some("\"17\""), Ok(Some(17)));
        check(Some("17"), Ok(Some(17)));
        for wrong in ["+17", "W/\"17\"", "\"x\"", "\"1\", \"2\"", ""] {
            check(Some(wrong), Err(400));
        }
    }
}
