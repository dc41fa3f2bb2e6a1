//! The run behind a review, the dismissals of findings, and the history of a feature.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::board::Remark;
use tollgate_core::coverage::CoveredHunk;
use tollgate_engine::board::iso;
use tollgate_engine::store::board::TransitionRow;
use tollgate_engine::store::{DismissalRow, Run};
use utoipa::ToSchema;

/// The coverage of a review and the findings it withheld.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunDetails {
    /// The number of the run among all stored reviews.
    pub(crate) run: i64,
    /// The duration in milliseconds.
    pub(crate) took_ms: u64,
    /// The two sides that were compared, for people.
    pub(crate) compared: String,
    /// Each hunk of the change with its coverage; `None` when the review has none.
    pub(crate) hunks: Option<Vec<CoveredHunk>>,
    /// Withheld findings, each with the reason.
    pub(crate) withheld: Vec<(Remark, String)>,
    /// The models and agents that took part.
    pub(crate) reviewers: Vec<ReviewerUsage>,
}

impl RunDetails {
    /// The details of a run; `None` for one that ended without a review.
    pub(crate) fn of(run: Run) -> Option<Self> {
        let review = *run.review?;
        let reviewers = review.extra.get("x_reviewers").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            run: run.id,
            took_ms: run.finished_ms.saturating_sub(run.started_ms),
            compared: run.compared,
            reviewers: reviewers.filter_map(ReviewerUsage::of_json).collect(),
            hunks: review.coverage.map(|coverage| coverage.hunks),
            withheld: review.withheld.iter().map(|held| (Remark::of(&held.finding), held.why.to_string())).collect(),
        })
    }
}

/// A model or an agent that took part in a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Asked)]
pub(crate) struct ReviewerUsage {
    /// Its name in the settings.
    #[schema(example = "claude")]
    pub(crate) name: String,
    /// The model, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) model: Option<String>,
    /// The number of calls.
    pub(crate) calls: u64,
    /// The number of failed calls.
    pub(crate) failed: u64,
    /// Input and output tokens.
    pub(crate) tokens: u64,
    /// The cost in US dollars, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) cost_usd: Option<f64>,
    /// The reason of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) problem: Option<String>,
}

impl ReviewerUsage {
    /// Reads an entry of `x_reviewers`; missing figures are 0.
    fn of_json(value: &Value) -> Option<Self> {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let tokens = &value["tokens"];
        Some(Self {
            name: text(&value["name"])?,
            model: text(&value["model"]),
            calls: number(&value["calls"]),
            failed: number(&value["failed"]),
            tokens: number(&tokens["input"]).saturating_add(number(&tokens["output"])),
            cost_usd: value["cost_usd"].as_f64(),
            problem: text(&value["problem"]),
        })
    }
}

/// A dismissed finding: reviews withhold it while its code is the same. A proposed one counts until a person confirms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Dismissal)]
pub(crate) struct DismissalBody {
    /// The key of the finding across reviews.
    #[schema(example = "fp-4d1b0c2f9a6e7385")]
    pub(crate) fingerprint: String,
    /// The file of the finding.
    #[schema(example = "src/render.js")]
    pub(crate) file: String,
    /// The title of the finding.
    #[schema(example = "Input is evaluated as code")]
    pub(crate) title: String,
    /// The code of the finding; the dismissal ends when it changes.
    #[schema(example = "eval(template)")]
    pub(crate) evidence: String,
    /// The reason of the dismissal.
    #[schema(example = "The template is ours.")]
    pub(crate) reason: String,
    /// The state: `dismissed`, or `proposed` by an agent.
    #[schema(example = "dismissed")]
    pub(crate) state: &'static str,
    /// The branch, pull request or feature it holds for; missing when it holds for the whole repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "feature feature-1767960000000-x7k2m9qpa")]
    pub(crate) subject: Option<String>,
    /// The agent that proposed it, for one that a person confirmed.
    #[serde(rename = "proposedBy", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "an agent over MCP")]
    pub(crate) proposed_by: Option<String>,
    /// The person who dismissed it or the agent that proposes it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "Ada")]
    pub(crate) by: Option<String>,
    /// The time of the dismissal.
    #[schema(example = "2026-01-09T14:22:00.000Z")]
    pub(crate) at: String,
}

impl DismissalBody {
    /// True for a proposed dismissal, which has no effect yet.
    pub(crate) fn is_proposal(&self) -> bool {
        self.state == "proposed"
    }

    /// True when it covers a remark with its current code.
    pub(crate) fn covers(&self, remark: &Remark) -> bool {
        let is_it = remark.identity.as_ref().is_some_and(|identity| identity.has(&self.fingerprint));
        let evidence = remark.evidence.as_deref().unwrap_or_default();
        is_it && self.evidence.split_whitespace().eq(evidence.split_whitespace())
    }
}

impl From<DismissalRow> for DismissalBody {
    fn from(row: DismissalRow) -> Self {
        let DismissalRow { dismissal, who, made_ms, subject, proposed_by, is_proposal } = row;
        Self {
            state: if is_proposal { "proposed" } else { "dismissed" },
            subject,
            proposed_by,
            fingerprint: dismissal.fingerprint.to_string(),
            file: dismissal.file.as_str().to_owned(),
            title: dismissal.title().as_str().to_owned(),
            evidence: dismissal.evidence,
            reason: dismissal.reason,
            by: who,
            at: iso(made_ms),
        }
    }
}

/// A transition in the history of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Step)]
pub(crate) struct HistoryEntry {
    /// The time, as `2026-01-09T14:22:00.000Z`.
    pub(crate) at: String,
    /// The event, e.g. `start`, `committed`, `rejected`.
    pub(crate) event: String,
    /// The column before.
    pub(crate) from: String,
    /// The column after.
    pub(crate) to: String,
    /// The person or the server that caused it.
    pub(crate) by: String,
    /// A note, e.g. the reason of a manual approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) note: Option<String>,
}

impl From<TransitionRow> for HistoryEntry {
    fn from(row: TransitionRow) -> Self {
        Self {
            at: iso(row.at_ms),
            event: row.event,
            from: row.from.map_or(String::new(), |state| state.status.to_string()),
            to: row.to.status.to_string(),
            by: row.who,
            note: row.note,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_figures_of_a_reviewer_are_zero() {
        let whole = json!({"name": "claude", "model": "opus", "calls": 2, "failed": 1, "cost_usd": 0.5,
            "tokens": {"input": 10, "cached": 4, "output": 5}, "problem": "overloaded"});
        let asked = ReviewerUsage::of_json(&whole).unwrap();
        assert_eq!((asked.calls, asked.failed, asked.tokens, asked.cost_usd), (2, 1, 15, Some(0.5)));
        assert_eq!((asked.model.as_deref(), asked.problem.as_deref()), (Some("opus"), Some("overloaded")));
        let bare = ReviewerUsage::of_json(&json!({"name": "x", "tokens": 7, "calls": "many"})).unwrap();
        assert_eq!((bare.calls, bare.tokens, bare.cost_usd, bare.problem), (0, 0, None, None));
        assert_eq!(ReviewerUsage::of_json(&json!({"model": "opus"})), None);
    }
}
