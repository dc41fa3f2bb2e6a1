//! Stored reviews: all of them, one of them, and one of them as a file.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use tollgate_core::finding::{Category, Severity};
use tollgate_core::gate::Gate;
use tollgate_engine::board::Board;
use tollgate_engine::history::{self, StoredReview};
use tollgate_engine::store::{Order, Origin, ResultFilter, RunQuery};
use utoipa::IntoParams;

use crate::app::Shared;
use crate::day::Day;
use crate::extract::{OfReview, Query};
use crate::problem::{Kind, Problem};
use crate::routes::export::ExportFormat;
use crate::view::review::{ReviewPage, ReviewsBody, WholeReviewBody};

/// The default page size.
const LIMIT: usize = 50;
/// The largest page size.
const MAX_LIMIT: usize = 500;
/// How long a part of a question may be.
const MAX_CHARS: usize = 300;

/// Filters stored reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewQuery {
    /// Only those with all of these words in title, branch, commit or the summary of a finding, in any case.
    /// Where none of them has three characters, only the 10,000 newest are looked through.
    #[param(max_length = 300)]
    pub(crate) q: Option<String>,
    /// Only of this repository.
    #[param(max_length = 300)]
    pub(crate) repository: Option<String>,
    /// Only those with this verdict, or that failed.
    #[param(pattern = "^(approved|commented|changes_requested|failed)$")]
    pub(crate) verdict: Option<String>,
    /// Only those of which the gate said this.
    #[param(pattern = "^(open|closed|partial)$")]
    pub(crate) gate: Option<String>,
    /// Only reviews of this origin.
    #[param(pattern = "^(command-line|pipeline|pull-request)$")]
    pub(crate) origin: Option<String>,
    /// Only those in which this reviewer took part.
    #[param(max_length = 300)]
    pub(crate) reviewer: Option<String>,
    /// Only those with a finding of this rule.
    #[param(max_length = 300)]
    pub(crate) rule: Option<String>,
    /// Only those with a finding of this category.
    #[param(pattern = "^(Compliance|Security|Logic|Error|Type|Test|Perf|Architecture|Style|Doc)$")]
    pub(crate) category: Option<String>,
    /// Only those with a finding of this severity.
    #[param(pattern = "^(Critical|High|Medium|Low|Nit|Praise)$")]
    pub(crate) severity: Option<String>,
    /// Only those with a finding in a file whose path has this text in it.
    #[param(max_length = 300)]
    pub(crate) file: Option<String>,
    /// Only reviews that ended on this day or later, in UTC.
    #[param(format = Date)]
    pub(crate) from: Option<String>,
    /// Only reviews that ended on this day or earlier.
    #[param(format = Date)]
    pub(crate) to: Option<String>,
    /// The order: newest, most findings, longest or dearest first.
    #[param(pattern = "^(newest|findings|longest|dearest)$")]
    pub(crate) order: Option<String>,
    /// Only reviews that were stored after the review with this number.
    #[param(maximum = 9_223_372_036_854_775_807_i64)]
    pub(crate) newer: Option<u64>,
    /// Those after the place that the answer before gave as `next`.
    #[param(maximum = 9_223_372_036_854_775_807_i64)]
    pub(crate) after: Option<u64>,
    /// At most so many.
    #[param(minimum = 1, maximum = 500)]
    pub(crate) limit: Option<usize>,
}

impl ReviewQuery {
    /// The question as the store is asked it.
    pub(crate) fn check(&self) -> Result<RunQuery, Problem> {
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Problem::new(Kind::Unprocessable, format!("`limit` is not from 1 to {MAX_LIMIT}")));
        }
        let number = |name: &str, number: Option<u64>| number.map(|number| to_run(name, number)).transpose();
        Ok(RunQuery {
            repository: text("repository", self.repository.as_ref())?,
            text: text("q", self.q.as_ref())?,
            result: word("verdict", self.verdict.as_ref(), ResultFilter::parse)?,
            gate: word("gate", self.gate.as_ref(), |word| Gate::parse(word).filter(|gate| *gate != Gate::Skipped))?,
            origin: word("origin", self.origin.as_ref(), Origin::parse)?,
            reviewer: text("reviewer", self.reviewer.as_ref())?,
            rule: text("rule", self.rule.as_ref())?,
            category: word("category", self.category.as_ref(), Category::parse_exact)?,
            severity: word("severity", self.severity.as_ref(), Severity::parse_exact)?,
            file: text("file", self.file.as_ref())?,
            from_ms: word("from", self.from.as_ref(), Day::parse)?.map(Day::begin_ms),
            to_ms: word("to", self.to.as_ref(), Day::parse)?.map(|day| day.after(1).begin_ms()),
            newer_than: number("newer", self.newer)?,
            order: word("order", self.order.as_ref(), Order::parse)?.unwrap_or_default(),
            after: number("after", self.after)?,
            limit,
        })
    }
}

/// A text that is not too long.
pub(super) fn text(name: &str, text: Option<&String>) -> Result<Option<String>, Problem> {
    if text.is_some_and(|text| text.chars().count() > MAX_CHARS) {
        return Err(Problem::new(Kind::Unprocessable, format!("`{name}` has more than {MAX_CHARS} characters")));
    }
    Ok(text.cloned())
}

/// A word out of a few.
pub(super) fn word<T>(
    name: &str,
    word: Option<&String>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Problem> {
    let Some(word) = word else { return Ok(None) };
    // The description says which; one that is misspelt is repeated only if it is short.
    let shown: String = word.chars().take(40).collect();
    read(word).map(Some).ok_or_else(|| {
        Problem::new(Kind::Unprocessable, format!("`{name}` cannot be `{shown}`"))
            .hint("`GET /api/openapi.json` lists what it can be.")
    })
}

fn to_run(name: &str, number: u64) -> Result<i64, Problem> {
    i64::try_from(number).map_err(|_| Problem::new(Kind::Unprocessable, format!("`{name}` is no number of a review")))
}

/// Stored reviews, the newest first.
#[utoipa::path(
    get,
    path = "/api/reviews",
    operation_id = "listReviews",
    params(ReviewQuery),
    responses((status = 200, description = "The reviews.", body = ReviewsBody))
)]
pub(crate) async fn list(
    State(app): State<Shared>,
    Query(which): Query<ReviewQuery>,
) -> Result<Json<ReviewsBody>, Problem> {
    let query = which.check()?;
    Ok(Json(app.call(move |board| ReviewPage::read(board, &query)).await?.into()))
}

/// One stored review, with what became of the one before it.
#[utoipa::path(
    get,
    path = "/api/reviews/{run}",
    operation_id = "showStoredReview",
    responses((status = 200, description = "The review.", body = WholeReviewBody))
)]
pub(crate) async fn show(State(app): State<Shared>, OfReview(run): OfReview) -> Result<Json<WholeReviewBody>, Problem> {
    Ok(Json(app.call(move |board| recall(board, run)).await?.into()))
}

/// Reads a stored review, with its delta to the one before.
pub(crate) fn recall(board: &Board, run: u64) -> Result<StoredReview, Problem> {
    let id = i64::try_from(run).unwrap_or(i64::MAX);
    if let Some(found) = history::recall(board.database(), id)? {
        return Ok(found);
    }
    if board.database().forgot_run(id)? {
        return Err(Problem::new(Kind::NotFound, format!("review {run} is not kept any more"))
            .hint("`retention.reviews` in the configuration of the server sets for how long reviews are kept."));
    }
    Err(Problem::new(Kind::NotFound, format!("there is no review {run}"))
        .hint("List them with `GET /api/reviews` or `tollgate history --all`."))
}

/// Selects the format.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct As {
    /// The form of the file.
    #[serde(default)]
    #[param(inline)]
    format: ExportFormat,
}

/// A stored review as a file.
#[utoipa::path(
    get,
    path = "/api/reviews/{run}/export",
    operation_id = "exportStoredReview",
    params(As),
    responses((status = 200, description = "The review, in the form that was asked for.", content(
        (serde_json::Value = "application/json"), (String = "text/markdown"),
        (serde_json::Value = "application/sarif+json"),
        (String = "text/html")
    )))
)]
pub(crate) async fn export(
    State(app): State<Shared>,
    OfReview(run): OfReview,
    Query(As { format }): Query<As>,
) -> Result<Response, Problem> {
    let recalled = app.call(move |board| recall(board, run)).await?;
    let Some(mut review) = recalled.run.review else {
        let why = recalled.run.problem.unwrap_or_else(|| "it was stopped".to_owned());
        return Err(Problem::new(Kind::NotFound, format!("review {run} failed, so there is nothing to export: {why}")));
    };
    review.re_review_required = recalled.is_outdated;
    let text = history::export(&review, &[], recalled.listed.gate, format.into());
    Ok(format.file(&format!("tollgate-review-{run}"), text))
}
