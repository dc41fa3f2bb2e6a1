//! The acceptance criteria of a description, before the feature exists.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tollgate_core::board::{Criterion, criteria};
use utoipa::ToSchema;

use crate::app::Shared;
use crate::extract::Body;
use crate::problem::Problem;
use crate::routes::features::check_text;

/// Texts of a feature.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Texts {
    /// The description.
    #[schema(max_length = 200_000, example = "Users can sign in.\n- passwords must have 8 characters")]
    description: String,
    /// The specification, if there is one.
    #[serde(default)]
    #[schema(max_length = 500_000)]
    spec: String,
}

/// What texts ask for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Criteria {
    /// In order; at most 50.
    criteria: Vec<CriterionText>,
}

/// One thing that is asked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AcceptanceCriterion)]
pub(crate) struct CriterionText {
    /// Its name in questions and answers.
    #[schema(example = "C1")]
    id: String,
    /// The criterion.
    #[schema(example = "passwords must have 8 characters")]
    text: String,
}

/// The acceptance criteria that a feature with these texts would have. Nothing is stored.
#[utoipa::path(
    post,
    path = "/api/criteria",
    operation_id = "readCriteria",
    request_body = Texts,
    responses((status = 200, description = "The criteria.", body = Criteria))
)]
pub(crate) async fn read(State(app): State<Shared>, Body(texts): Body<Texts>) -> Result<Json<Criteria>, Problem> {
    check_text("description", Some(&texts.description), 200_000)?;
    check_text("spec", Some(&texts.spec), 500_000)?;
    let found = app.call(move |_| Ok::<_, Problem>(criteria::read(&texts.description, &texts.spec))).await?;
    let text = |Criterion { id, text }| CriterionText { id, text };
    Ok(Json(Criteria { criteria: found.into_iter().map(text).collect() }))
}
