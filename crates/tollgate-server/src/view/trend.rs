//! What stored reviews say together, as clients get it.

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_core::finding::{Category, Severity};
use tollgate_engine::store::{Figures, RuleFigures, Spread, Trends};
use utoipa::ToSchema;

use crate::routes::trends::Days;

/// What stored reviews say together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Trends)]
pub(crate) struct TrendsBody {
    /// The first day, in UTC.
    #[schema(example = "2026-01-01")]
    from: String,
    /// The last day.
    #[schema(example = "2026-01-30")]
    to: String,
    /// How many days a part has.
    days_per_part: u64,
    /// The parts of the range, in order. The last one may be shorter.
    parts: Vec<PartBody>,
    /// The whole range.
    whole: FiguresBody,
    /// As many days right before it.
    before: FiguresBody,
    /// The rules that spoke most often.
    rules: Vec<RuleBody>,
}

/// A part of a range.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartBody {
    /// Its first day.
    #[schema(example = "2026-01-01")]
    from: String,
    #[serde(flatten)]
    figures: FiguresBody,
}

/// What the reviews of some time say together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Figures)]
pub(crate) struct FiguresBody {
    /// How many reviews there were.
    reviews: u64,
    /// How they ended: `APPROVED`, `COMMENTED`, `CHANGES_REQUESTED`, `FAILED`.
    verdicts: BTreeMap<String, u64>,
    /// Findings that count, by severity.
    severities: BTreeMap<String, u64>,
    /// Findings that count, by category.
    categories: BTreeMap<String, u64>,
    /// Findings of reviews that another one of the same branch, feature or pull request followed.
    compared: u64,
    /// Those of them that the next review no longer had.
    resolved: u64,
    /// How long a review took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duration_ms: Option<SpreadBody>,
    /// What a review cost, in US dollars, of those of which that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cost_usd: Option<SpreadBody>,
    /// What all of them cost.
    total_cost_usd: f64,
    /// Tokens read and written.
    tokens: u64,
}

/// How values are spread.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Spread)]
pub(crate) struct SpreadBody {
    /// Half of them are not larger.
    median: f64,
    /// Nine of ten are not larger.
    p90: f64,
}

/// What a rule said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RuleFigures)]
pub(crate) struct RuleBody {
    /// The rule.
    rule: String,
    /// How many findings of it count, over all reviews.
    findings: u64,
    /// How many different findings there are.
    distinct: u64,
    /// The number of distinct findings that were dismissed or suppressed.
    dismissed: u64,
}

impl TrendsBody {
    pub(crate) fn of(days: &Days, trends: &Trends) -> Self {
        let parts = (0..)
            .zip(&trends.parts)
            .map(|(index, figures)| PartBody { from: days.part(index).to_string(), figures: figures.into() });
        Self {
            from: days.first.to_string(),
            to: days.last.to_string(),
            days_per_part: days.per_part,
            parts: parts.collect(),
            whole: (&trends.whole).into(),
            before: (&trends.before).into(),
            rules: trends.rules.iter().map(RuleBody::from).collect(),
        }
    }
}

impl From<&Figures> for FiguresBody {
    fn from(figures: &Figures) -> Self {
        let verdicts = [
            ("APPROVED", figures.n_approved),
            ("COMMENTED", figures.n_commented),
            ("CHANGES_REQUESTED", figures.n_changes_requested),
            ("FAILED", figures.n_failed),
        ];
        let severities = Severity::ALL.iter().map(|severity| severity.as_str().to_owned());
        let categories = Category::ALL.iter().map(|category| category.as_str().to_owned());
        Self {
            reviews: figures.n_runs,
            verdicts: verdicts.map(|(word, n)| (word.to_owned(), n)).into(),
            severities: severities.zip(figures.by_severity).collect(),
            categories: categories.zip(figures.by_category).collect(),
            compared: figures.n_prior,
            resolved: figures.n_resolved,
            duration_ms: figures.took_ms.map(SpreadBody::from),
            cost_usd: figures.cost.map(SpreadBody::from),
            total_cost_usd: figures.cost_usd,
            tokens: figures.n_tokens,
        }
    }
}

impl From<Spread> for SpreadBody {
    fn from(spread: Spread) -> Self {
        Self { median: spread.median, p90: spread.p90 }
    }
}

impl From<&RuleFigures> for RuleBody {
    fn from(figures: &RuleFigures) -> Self {
        Self {
            rule: figures.rule.clone(),
            findings: figures.n_findings,
            distinct: figures.n_distinct,
            dismissed: figures.n_dismissed,
        }
    }
}
