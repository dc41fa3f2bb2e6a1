//! Trends over stored reviews.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use tollgate_engine::store::{MAX_PARTS, Range};
use utoipa::IntoParams;

use crate::app::Shared;
use crate::app::now;
use crate::day::{DAY_MS, Day};
use crate::extract::Query;
use crate::problem::Problem;
use crate::routes::reviews::{text, word};
use crate::view::trend::TrendsBody;

/// The default number of days.
const DAYS: u64 = 30;
/// With more days than that a part is a week.
const MAX_DAILY: u64 = 45;

/// Over which time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Span {
    /// The first day, in UTC; thirty days in all if it is missing.
    #[param(format = Date)]
    pub(crate) from: Option<String>,
    /// The last day; today if it is missing. Of two days the earlier one is the first.
    #[param(format = Date)]
    pub(crate) to: Option<String>,
    /// Only of this repository.
    #[param(max_length = 300)]
    pub(crate) repository: Option<String>,
}

/// Some days in a row, cut into parts of as many days each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Days {
    pub(crate) first: Day,
    pub(crate) last: Day,
    pub(crate) per_part: u64,
}

impl Days {
    pub(crate) fn new(one: Day, other: Day) -> Self {
        let (first, last) = (one.min(other), one.max(other));
        let n_days = first.to(last);
        let n_weeks = n_days.div_ceil(7);
        let per_part = if n_days <= MAX_DAILY { 1 } else { 7 * n_weeks.div_ceil(MAX_PARTS) };
        Self { first, last, per_part }
    }

    /// The first day of a part.
    pub(crate) fn part(&self, index: u64) -> Day {
        self.first.after(index * self.per_part)
    }

    /// The same for the store.
    pub(crate) fn range(&self, repository: Option<String>) -> Range {
        Range {
            from_ms: self.first.begin_ms(),
            to_ms: self.last.after(1).begin_ms(),
            part_ms: self.per_part * DAY_MS,
            repository,
        }
    }
}

impl Span {
    /// The days that are asked about, and of which repository.
    pub(crate) fn check(&self, today: Day) -> Result<(Days, Option<String>), Problem> {
        let last = word("to", self.to.as_ref(), Day::parse)?.unwrap_or(today);
        let first = word("from", self.from.as_ref(), Day::parse)?.unwrap_or(last.before(DAYS - 1));
        Ok((Days::new(first, last), text("repository", self.repository.as_ref())?))
    }
}

/// Today, in UTC.
pub(crate) fn today() -> Day {
    Day::of(now().saturating_mul(1_000))
}

/// Trends over stored reviews, over some days and part by part.
#[utoipa::path(
    get,
    path = "/api/trends",
    operation_id = "showTrends",
    params(Span),
    responses((status = 200, description = "The figures.", body = TrendsBody))
)]
pub(crate) async fn show(State(app): State<Shared>, Query(span): Query<Span>) -> Result<Json<TrendsBody>, Problem> {
    let (days, repository) = span.check(today())?;
    let range = days.range(repository);
    let trends = app.call(move |board| board.database().trends(&range)).await?;
    Ok(Json(TrendsBody::of(&days, &trends)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let span = Span { from: some(from), to: some(to), repository: None };
        let today = Day::parse("2026-03-31").unwrap();
        let (days, _) = span.check(today).unwrap();
        let n_parts = days.range(None).n_parts();
        assert_eq!(format!("{} to {}: {n_parts} of {} days", days.first, days.last, days.per_part), expected);
    }

    #[test]
    fn days_are_told_one_by_one_and_long_times_in_weeks() {
        check("", "", "2026-03-02 to 2026-03-31: 30 of 1 days");
        check("2026-03-31", "", "2026-03-31 to 2026-03-31: 1 of 1 days");
        check("", "2026-01-30", "2026-01-01 to 2026-01-30: 30 of 1 days");
        check("2026-01-30", "2026-01-01", "2026-01-01 to 2026-01-30: 30 of 1 days");
        check("2025-04-01", "", "2025-04-01 to 2026-03-31: 53 of 7 days");
        check("0001-01-01", "9999-12-31", "1970-01-01 to 9999-12-31: 400 of 7336 days");
    }
}
