//! Stored reviews as clients get them.

use serde::Serialize;
use serde_json::Value;
use tollgate_core::finding::{Finding, Severity};
use tollgate_core::gate::Gate;
use tollgate_core::report::head_state::HeadState;
use tollgate_core::report::json::{self, Form, Options};
use tollgate_core::verdict::Verdict;
use tollgate_engine::board::{Board, iso};
use tollgate_engine::failure::Failure;
use tollgate_engine::history::{self, Since, StoredReview};
use tollgate_engine::store::{Counts, Listed, OfFeature, RunQuery};
use utoipa::ToSchema;

/// Some stored reviews.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reviews)]
pub(crate) struct ReviewsBody {
    reviews: Vec<ReviewBody>,
    /// How many there are in all.
    total: u64,
    /// Where the next part begins, when there is more: to be given as `after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "762")]
    next: Option<String>,
}

/// A page of stored reviews.
pub(crate) struct ReviewPage {
    pub(crate) items: Vec<Listed>,
    /// The number of the last one, when there are more.
    pub(crate) next: Option<i64>,
    /// How many match in all.
    pub(crate) total: u64,
}

impl ReviewPage {
    /// Reads one more than is asked for, to know whether there are more.
    pub(crate) fn read(board: &Board, query: &RunQuery) -> Result<Self, Failure> {
        let wanted = RunQuery { limit: query.limit.saturating_add(1), ..query.clone() };
        let (mut items, total) = board.database().runs(&wanted)?;
        let has_more = items.len() > query.limit;
        items.truncate(query.limit);
        let next = items.last().filter(|_| has_more).map(|run| run.id);
        Ok(Self { items, next, total })
    }
}

impl From<ReviewPage> for ReviewsBody {
    fn from(page: ReviewPage) -> Self {
        let reviews = page.items.into_iter().map(ReviewBody::from).collect();
        Self { reviews, total: page.total, next: page.next.map(|next| next.to_string()) }
    }
}

/// A stored review, as a list shows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Review)]
pub(crate) struct ReviewBody {
    /// Its number.
    run: i64,
    /// The repository: `github.com/owner/name`, or a folder.
    #[schema(example = "github.com/me/shop")]
    repository: String,
    /// The branch, feature or pull request.
    #[schema(example = "branch work")]
    subject: String,
    /// Which of its changes: `branch`, `staged`, `worktree`, `pipeline`, or a range.
    scope: String,
    /// `command-line`, `pipeline` or `pull-request`.
    #[schema(example = "pipeline")]
    origin: &'static str,
    /// The title of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// The commit that was reviewed; empty when it is not known.
    head: String,
    /// `APPROVED`, `COMMENTED` or `CHANGES_REQUESTED`; missing when the review failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    verdict: Option<&'static str>,
    /// The state of the head, the same on every surface; left out when there is no review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    state: Option<HeadStateBody>,
    /// What the gate said: `open`, `closed` or `partial`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    gate: Option<&'static str>,
    /// Why there is no review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<String>,
    /// When it ended.
    #[schema(example = "2026-01-09T14:22:00.000Z")]
    ended_at: String,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// How much was found.
    findings: FindingCounts,
    /// The coverage in hunks.
    coverage: CoverageBody,
    /// How many findings are new since the review before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    new: Option<u64>,
    /// How many findings of the review before are resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    resolved: Option<u64>,
    /// US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cost_usd: Option<f64>,
    /// Tokens read and written, when a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tokens: Option<u64>,
    /// Who took part.
    reviewers: Vec<String>,
    /// The feature it was a review of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    feature: Option<FeatureRef>,
}

/// How many findings a review has, by severity.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct FindingCounts {
    critical: u64,
    high: u64,
    medium: u64,
    low: u64,
    nit: u64,
    praise: u64,
    /// Withheld findings.
    withheld: u64,
}

impl From<&Counts> for FindingCounts {
    fn from(counts: &Counts) -> Self {
        let of = |severity| {
            let found = counts.by_severity.iter().find(|(known, _)| *known == severity);
            found.map_or(0, |(_, n)| *n as u64)
        };
        Self {
            critical: of(Severity::Critical),
            high: of(Severity::High),
            medium: of(Severity::Medium),
            low: of(Severity::Low),
            nit: of(Severity::Nit),
            praise: of(Severity::Praise),
            withheld: counts.withheld as u64,
        }
    }
}

/// What a review looked at, in hunks.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CoverageBody {
    /// Looked at.
    reviewed: usize,
    /// Skipped by a rule.
    skipped: usize,
    /// Not looked at, though they should have been.
    not_reviewed: usize,
}

/// A feature that a review was about.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeatureRef {
    /// The number of its project.
    project: i64,
    /// Its name.
    id: String,
    /// Its title.
    title: String,
    /// The number of the iteration.
    iteration: u32,
}

impl From<OfFeature> for FeatureRef {
    fn from(of: OfFeature) -> Self {
        Self { project: of.project, id: of.feature.to_string(), title: of.title, iteration: of.iteration }
    }
}

/// The state of a reviewed head.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HeadState)]
pub(crate) struct HeadStateBody {
    /// `green`, `blue`, `yellow` or `red`.
    colour: &'static str,
    /// The label of the verdict line.
    label: &'static str,
    /// The explanation behind the label.
    explanation: String,
}

impl From<&HeadState> for HeadStateBody {
    fn from(state: &HeadState) -> Self {
        Self { colour: state.colour().as_str(), label: state.label(), explanation: state.explanation().to_owned() }
    }
}

impl From<Listed> for ReviewBody {
    fn from(listed: Listed) -> Self {
        let reviewers = history::reviewers(&listed);
        Self {
            findings: FindingCounts::from(&listed.counts),
            run: listed.id,
            repository: listed.subject.repository,
            subject: listed.subject.name,
            scope: listed.subject.scope,
            origin: listed.origin.as_str(),
            title: listed.title,
            head: listed.head,
            verdict: listed.verdict.map(Verdict::as_str),
            gate: listed.gate.map(Gate::as_str),
            state: listed.state.as_ref().map(HeadStateBody::from),
            problem: listed.problem,
            ended_at: iso(listed.ended_ms),
            duration_ms: listed.took_ms,
            coverage: CoverageBody {
                reviewed: listed.coverage.reviewed,
                skipped: listed.coverage.skipped,
                not_reviewed: listed.coverage.not_reviewed,
            },
            new: listed.n_new,
            resolved: listed.n_resolved,
            cost_usd: listed.cost_usd,
            tokens: listed.n_tokens,
            reviewers,
            feature: listed.feature.map(FeatureRef::from),
        }
    }
}

/// A stored review with all that is kept of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WholeReview)]
pub(crate) struct WholeReviewBody {
    #[serde(flatten)]
    listed: ReviewBody,
    /// The version of the program that made it.
    version: String,
    /// The commit it was compared with.
    base: String,
    /// The two sides that were compared, for people.
    compared: String,
    /// When it began.
    started_at: String,
    /// How many lines the change added.
    lines_added: u64,
    /// True when a later review shows that this one no longer speaks for the change.
    outdated: bool,
    /// The newest review of the same branch, feature or pull request, when that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last: Option<i64>,
    /// What became of the findings of the review before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    since: Option<SinceBody>,
    /// The review, as `tollgate schema review` describes it; missing when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Object)]
    review: Option<Value>,
}

/// What became of the findings of the review before.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SinceBody {
    /// The number of the review before.
    run: i64,
    /// Findings that it did not have, by their ids here.
    new: Vec<String>,
    /// Findings that it had already, by their ids here.
    still_open: Vec<String>,
    /// Findings that it had and this one has not.
    #[schema(value_type = Vec<Object>)]
    resolved: Vec<Value>,
    /// Findings that it had and that are suppressed now, for example by a dismissal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    dismissed: Vec<Value>,
}

impl From<StoredReview> for WholeReviewBody {
    fn from(recalled: StoredReview) -> Self {
        let StoredReview { run, listed, since, last, is_outdated } = recalled;
        let findings: &[Finding] = run.review.as_ref().map_or(&[], |review| &review.findings);
        let options = Options { gate: listed.gate, ..Options::default() };
        Self {
            since: since.map(|since| SinceBody::of(&since, findings)),
            review: run.review.as_ref().map(|review| json::review_value(review, options)),
            listed: listed.into(),
            version: run.version,
            base: run.base,
            compared: run.compared,
            started_at: iso(run.started_ms),
            lines_added: run.n_added,
            outdated: is_outdated,
            last,
        }
    }
}

impl SinceBody {
    fn of(since: &Since, findings: &[Finding]) -> Self {
        let id = |index: usize| findings.get(index).map(|finding| finding.id.to_string());
        let prior: &[Finding] = since.prior.review.as_ref().map_or(&[], |review| &review.findings);
        let of_prior = |indices: &[usize]| -> Vec<Value> {
            let findings = indices.iter().filter_map(|&index| prior.get(index));
            findings.map(|finding| json::finding_value(finding, Form::Short)).collect()
        };
        Self {
            run: since.prior.id,
            new: since.delta.new.iter().filter_map(|&index| id(index)).collect(),
            still_open: since.delta.still_open.iter().filter_map(|open| id(open.current?)).collect(),
            resolved: of_prior(&since.delta.resolved),
            dismissed: of_prior(&since.dismissed),
        }
    }
}
