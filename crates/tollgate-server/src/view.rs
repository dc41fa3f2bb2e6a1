//! JSON bodies of projects, features and reviews, with the names that `feature.json` has.

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::board::machine::State;
use tollgate_core::board::{Compliance, Document, FeatureId, Iteration, Met, Remark};
use tollgate_engine::board::folder::Broken;
use tollgate_engine::board::{Board, Refused, iso};
use tollgate_engine::failure::Failure;
use tollgate_engine::store::DismissalRow;
use tollgate_engine::store::board::{Card, Counts, FeatureRow, Progress, ProjectRow};
use utoipa::ToSchema;

pub(crate) mod preview;
pub(crate) mod prompt;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod review;
pub(crate) mod trend;

/// A feature as the API returns it.
pub fn feature_json(row: FeatureRow, max_iterations: u32) -> Value {
    json!(FeatureBody::new(row, max_iterations))
}

/// A dismissal as the API returns it.
pub fn dismissal_json(row: DismissalRow) -> Value {
    json!(record::DismissalBody::from(row))
}

/// A feature of a list as the API returns it.
pub fn card_json(card: Card, max_iterations: u32) -> Value {
    json!(CardBody::new(card, max_iterations))
}

/// A review as the API returns it.
pub fn iteration_json(iteration: &Iteration) -> Value {
    json!(IterationBody::from(iteration))
}

/// A project as the API returns it.
pub fn project_json(board: &Board, row: ProjectRow) -> Result<Value, Failure> {
    Ok(json!(ProjectBody::read(board, row)?))
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Project)]
pub(crate) struct ProjectBody {
    /// Its number.
    #[schema(minimum = 0)]
    pub(crate) id: i64,
    /// Its name.
    #[schema(example = "Shop")]
    pub(crate) name: String,
    /// Its folder.
    #[schema(example = "/home/me/shop")]
    pub(crate) path: String,
    /// The number of its features.
    pub(crate) features: u64,
    /// Features whose files cannot be read.
    pub(crate) broken: Vec<BrokenBody>,
}

impl ProjectBody {
    /// A project with the number of its features and its broken folders.
    pub(crate) fn read(board: &Board, row: ProjectRow) -> Result<Self, Failure> {
        let counts = board.database().column_counts(row.id)?;
        Ok(Self {
            id: row.id,
            name: row.name,
            path: row.path.to_string_lossy().into_owned(),
            features: counts.iter().map(|(_, n)| *n as u64).sum(),
            broken: board.broken(row.id).into_iter().map(BrokenBody::from).collect(),
        })
    }
}

/// A feature whose file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Broken)]
pub(crate) struct BrokenBody {
    /// The name of its folder.
    pub(crate) folder: String,
    /// Why it cannot be read.
    pub(crate) problem: String,
}

impl From<Broken> for BrokenBody {
    fn from(broken: Broken) -> Self {
        Self { folder: broken.name, problem: broken.why }
    }
}

/// All projects.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Projects {
    pub(crate) projects: Vec<ProjectBody>,
}

/// Where the review of a feature stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeReviewSpec {
    /// `pending`, `reviewing`, `approved`, `rejected` or `failed`.
    #[schema(example = "rejected")]
    status: &'static str,
    /// The iteration that is worked on or was last; 0 before the first.
    current_iteration: u32,
    /// How many rounds there are before a person decides.
    pub(crate) max_iterations: u32,
}

/// Why a feature waits for a person.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Paused {
    /// `max-iterations`, `no-progress`, `agent-failed`, `commit-failed`, `review-failed`, `interrupted`, `stopped` or
    /// `budget`.
    #[schema(example = "max-iterations")]
    reason: &'static str,
    /// The same, to people.
    detail: &'static str,
}

/// A feature.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Feature)]
pub(crate) struct FeatureBody {
    /// Its name.
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = String, example = "feature-1767960000000-x7k2m9qpa")]
    pub(crate) id: FeatureId,
    /// A short title; may be empty.
    #[schema(example = "Add login")]
    pub(crate) title: String,
    /// The description.
    pub(crate) description: String,
    /// The specification, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) spec: Option<String>,
    /// The group it is shown in.
    pub(crate) category: String,
    /// 1 is the most urgent, 3 the least.
    pub(crate) priority: u8,
    /// Its column: `backlog`, `in_progress`, `code_review`, `pipeline_…`, `waiting_approval`, `verified`, `completed`, or
    /// a word of another program.
    #[schema(example = "code_review")]
    pub(crate) status: String,
    /// Its queued or running work: `nothing`, `queued`, `implementing`, `committing`, `reviewing`, `stepping` or
    /// `committing_step`.
    #[schema(example = "reviewing")]
    pub(crate) work: &'static str,
    /// Why it waits for a person, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) paused: Option<Paused>,
    /// Where its review stands.
    pub(crate) code_review_spec: CodeReviewSpec,
    /// The commit of the current iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) commit: Option<String>,
    /// True when it requires manual approval.
    pub(crate) skip_tests: bool,
    /// Features that have to be done before it.
    pub(crate) dependencies: Vec<String>,
    /// The model that works on it, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) model: Option<String>,
    /// The branch it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) branch_name: Option<String>,
    /// Its work tree, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) worktree_path: Option<String>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) error: Option<String>,
    /// Why its file cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) broken: Option<String>,
    /// Its cost in US dollars.
    pub(crate) cost_usd: f64,
    /// How many tokens it took.
    pub(crate) tokens: u64,
    /// Grows with every change; the header `ETag` of this one feature.
    pub(crate) rev: u64,
    /// The time it was added.
    pub(crate) created_at: String,
    /// The time of its last change.
    pub(crate) updated_at: String,
    /// Its state, for pages.
    #[serde(skip)]
    pub(crate) state: State,
}

impl FeatureBody {
    /// A stored feature with the number of rounds that the settings allow.
    pub(crate) fn new(row: FeatureRow, max_iterations: u32) -> Self {
        // A file that cannot be read any more leaves the document that was last read.
        let document = Document::parse(&row.document).ok();
        let text = |read: fn(&Document) -> Option<String>| document.as_ref().and_then(read);
        Self {
            code_review_spec: CodeReviewSpec::of(&row.state, max_iterations),
            paused: Paused::of(&row.state),
            status: row.state.status.to_string(),
            work: row.state.work.as_str(),
            commit: row.state.commit.clone(),
            id: row.id,
            title: row.facts.title,
            description: text(|document| Some(document.description())).unwrap_or_default(),
            spec: text(Document::spec),
            category: text(Document::category).unwrap_or_else(|| "Uncategorized".to_owned()),
            priority: u8::try_from(row.facts.priority).unwrap_or(2),
            skip_tests: document.as_ref().is_none_or(Document::skip_tests),
            dependencies: row.facts.dependencies,
            model: text(Document::model),
            branch_name: row.branch,
            worktree_path: row.worktree.map(|path| path.to_string_lossy().into_owned()),
            error: row.problem,
            broken: row.broken,
            cost_usd: row.cost_usd,
            tokens: row.n_tokens,
            rev: row.rev,
            created_at: iso(row.created_ms),
            updated_at: iso(row.updated_ms),
            state: row.state,
        }
    }

    pub(crate) fn read(board: &Board, project: i64, id: &FeatureId) -> Result<Self, Refused> {
        Ok(Self::new(board.feature(project, id)?, board.settings().pipeline.rounds))
    }

    /// The header that names this state of the feature.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.rev)
    }
}

fn as_text<S: serde::Serializer>(id: &FeatureId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(id.as_str())
}

impl Paused {
    fn of(state: &State) -> Option<Self> {
        state.pause.map(|pause| Self { reason: pause.as_str(), detail: pause.in_words() })
    }
}

impl CodeReviewSpec {
    fn of(state: &State, max_iterations: u32) -> Self {
        Self { status: state.review.as_str(), current_iteration: state.iteration, max_iterations }
    }
}

/// A feature as a list shows it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Card)]
pub(crate) struct CardBody {
    /// Its name.
    #[schema(example = "feature-1767960000000-x7k2m9qpa")]
    id: String,
    /// A short title; may be empty.
    #[schema(example = "Add login")]
    title: String,
    /// The first line of the description.
    first_line: String,
    /// Its column, as in the feature itself.
    #[schema(example = "code_review")]
    status: String,
    /// Its queued or running work, as in the feature itself.
    #[schema(example = "reviewing")]
    work: &'static str,
    /// Why it waits for a person, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    paused: Option<Paused>,
    /// 1 is the most urgent, 3 the least.
    priority: u32,
    /// The group it is shown in, if it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    category: Option<String>,
    /// The model that works on it, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// Features that have to be done before it.
    dependencies: Vec<String>,
    /// Those of them that are not done yet.
    blocked_by: Vec<String>,
    /// The branch it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    branch_name: Option<String>,
    /// The iteration that is worked on or was last; 0 before the first.
    iteration: u32,
    /// How many rounds there are before a person decides.
    max_iterations: u32,
    /// How its reviews ended, in order: `approved`, `rejected` or `failed`.
    #[schema(example = json!(["rejected", "approved"]))]
    outcomes: Vec<&'static str>,
    /// True when the last review approved and left an acceptance criterion unclear.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchecked: bool,
    /// True when a person approved it against its last review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    approved_by_hand: bool,
    /// True when the last review approved and a blocker of it is suppressed, for example by a dismissal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    blocker_suppressed: bool,
    /// What the last review found.
    findings: CountsBody,
    /// What changed with the last review, if there was one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    since_last_review: Option<ProgressBody>,
    /// Its cost in US dollars.
    cost_usd: f64,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<String>,
    /// Why its file cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    broken: Option<String>,
    /// Grows with every change.
    rev: u64,
    /// When it was added.
    created_at: String,
    /// When it was last changed.
    updated_at: String,
    /// The time of the last change of its column, work or pause.
    since: String,
}

/// What changed between two reviews.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProgressBody {
    /// How many findings are new.
    new: u32,
    /// How many are gone.
    resolved: u32,
}

/// How many findings there are, by severity.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountsBody {
    critical: u32,
    high: u32,
    medium: u32,
    low: u32,
    nit: u32,
    /// Late findings, which do not count.
    late: u32,
}

impl CardBody {
    /// A stored card with the number of rounds that the settings allow.
    pub(crate) fn new(card: Card, max_iterations: u32) -> Self {
        let Counts { critical, high, medium, low, nit, late } = card.counts;
        let approved_by_hand = card.is_approved_by_hand();
        let progress = |progress: Progress| ProgressBody { new: progress.n_new, resolved: progress.n_resolved };
        Self {
            id: card.id.to_string(),
            title: card.facts.title,
            first_line: card.facts.first_line,
            status: card.state.status.to_string(),
            work: card.state.work.as_str(),
            paused: Paused::of(&card.state),
            priority: card.facts.priority,
            category: card.facts.category,
            model: card.facts.model,
            dependencies: card.facts.dependencies,
            blocked_by: card.blocked_by.iter().map(|blocker| blocker.id.to_string()).collect(),
            branch_name: card.branch,
            iteration: card.state.iteration,
            max_iterations,
            outcomes: card.pips.iter().map(|outcome| outcome.as_str()).collect(),
            unchecked: card.is_unchecked,
            approved_by_hand,
            blocker_suppressed: card.is_blocker_suppressed,
            findings: CountsBody { critical, high, medium, low, nit, late },
            since_last_review: card.progress.map(progress),
            cost_usd: card.cost_usd,
            problem: card.problem,
            broken: card.broken,
            rev: card.rev,
            created_at: iso(card.created_ms),
            updated_at: iso(card.updated_ms),
            since: iso(card.since_ms),
        }
    }
}

/// Some features.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Features {
    pub(crate) features: Vec<CardBody>,
    /// How many there are that fit the question.
    pub(crate) total: u64,
    /// To be given as `after`, when there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) next: Option<String>,
}

/// One remark of a review.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Finding {
    /// `compliance`, `code`, `test`, `architecture` or `performance`.
    #[schema(example = "compliance")]
    category: &'static str,
    /// `error`, `warning` or `info`.
    #[schema(example = "error")]
    severity: &'static str,
    /// A short title.
    #[schema(example = "Missing password validation")]
    title: String,
    /// The description.
    description: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    suggestion: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line: Option<u32>,
    /// The code it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    evidence: Option<String>,
    /// Its number within the review.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "F001")]
    id: Option<String>,
    /// Its key across reviews.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    fingerprint: Option<String>,
}

impl From<&Remark> for Finding {
    fn from(remark: &Remark) -> Self {
        let (id, fingerprint) =
            remark.identity.as_ref().map(|identity| (identity.id.clone(), identity.fingerprint.clone())).unzip();
        Self {
            category: remark.category_word(),
            severity: remark.severity_word(),
            title: remark.title.clone(),
            description: remark.description.clone(),
            suggestion: remark.suggestion.clone(),
            file: remark.file.clone(),
            line: remark.line,
            evidence: remark.evidence.clone(),
            id,
            fingerprint,
        }
    }
}

/// An acceptance criterion, and whether it is met.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CriterionBody {
    /// Its name within the feature.
    #[schema(example = "C1")]
    id: String,
    /// The criterion.
    text: String,
    /// `met`, `not_met` or `unclear`.
    #[schema(example = "not_met")]
    answer: &'static str,
    /// What shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    evidence: Option<String>,
}

fn criteria(compliance: &Compliance) -> Vec<CriterionBody> {
    let body = |(criterion, met): &(tollgate_core::board::Criterion, Met)| {
        let (answer, evidence) = match met {
            Met::Yes { evidence } => ("met", Some(evidence.clone())),
            Met::No { evidence } => ("not_met", Some(evidence.clone())),
            Met::Unclear { evidence } => ("unclear", evidence.clone()),
        };
        CriterionBody { id: criterion.id.clone(), text: criterion.text.clone(), answer, evidence }
    };
    compliance.criteria.iter().map(body).collect()
}

/// A person let a feature pass against its review.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OverrideBody {
    who: String,
    reason: String,
    at: String,
}

/// One review of a feature.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Iteration)]
pub(crate) struct IterationBody {
    /// Its number, from 1.
    pub(crate) iteration_number: u32,
    /// `approved`, `rejected` or `failed`.
    #[schema(example = "rejected")]
    status: &'static str,
    /// When the review ended.
    #[schema(example = "2026-01-09T14:22:00.000Z")]
    reviewed_at: String,
    /// The model that reviewed.
    #[schema(example = "claude-opus-4-5-20251101")]
    reviewed_by_model: String,
    /// Who provides it.
    #[schema(example = "anthropic")]
    reviewed_by_provider: String,
    /// The commit that was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    git_commit_hash: Option<String>,
    /// The base commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    base_commit: Option<String>,
    /// Findings that count, worst first.
    findings: Vec<Finding>,
    /// Findings that came too late to reject.
    late: Vec<Finding>,
    /// Acceptance criteria, and whether they are met.
    compliance: Vec<CriterionBody>,
    /// One or two sentences.
    overall_summary: String,
    /// The reason of a rejection or a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rejection_reason: Option<String>,
    /// What else is to be known.
    notes: Vec<String>,
    /// True when it approved and left an acceptance criterion unclear: a person has to check the requirements.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchecked: bool,
    /// True when the branch moved on while it was reviewed, so that nothing follows from it.
    outdated: bool,
    /// The step whose changes were reviewed, when it was not an agent's implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    after_step: Option<String>,
    /// A person let the feature pass all the same.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    overridden: Option<OverrideBody>,
    /// What the person who sent the feature back said to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    note: Option<String>,
}

impl From<&Iteration> for IterationBody {
    fn from(iteration: &Iteration) -> Self {
        Self {
            iteration_number: iteration.number,
            status: iteration.outcome.as_str(),
            reviewed_at: iteration.reviewed_at.clone(),
            reviewed_by_model: iteration.model.clone(),
            reviewed_by_provider: iteration.provider.clone(),
            git_commit_hash: iteration.commit.clone(),
            base_commit: iteration.base.clone(),
            findings: iteration.findings.iter().map(Finding::from).collect(),
            late: iteration.late.iter().map(Finding::from).collect(),
            compliance: criteria(&iteration.compliance),
            overall_summary: iteration.summary.clone(),
            rejection_reason: iteration.reason.clone(),
            notes: iteration.notes.clone(),
            unchecked: iteration.is_unchecked(),
            outdated: iteration.outdated,
            after_step: iteration.after_step.as_ref().map(ToString::to_string),
            overridden: iteration.overridden.as_ref().map(|person| OverrideBody {
                who: person.who.clone(),
                reason: person.reason.clone(),
                at: person.at.clone(),
            }),
            note: iteration.note.clone(),
        }
    }
}

/// The reviews of a feature.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Iterations {
    pub(crate) iterations: Vec<IterationBody>,
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_core::board::machine::{Pause, Review, Status};
    use tollgate_core::board::{Criterion, FeatureId, Outcome};
    use tollgate_core::finding::{Category, Severity};
    use tollgate_engine::store::board::{Blocker, Facts};

    use super::*;

    fn feature() -> FeatureRow {
        let state = State {
            status: Status::InProgress,
            pause: Some(Pause::MaxIterations),
            review: Review::Rejected,
            iteration: 3,
            ..State::new()
        };
        let document = r#"{"description":"Users can sign in","spec":"long","category":"Core","skipTests":true}"#;
        FeatureRow {
            project: 1,
            id: FeatureId::parse("login").unwrap(),
            rev: 9,
            projected_rev: 9,
            state,
            facts: Facts { title: "Add login".to_owned(), priority: 2, ..Facts::default() },
            document: document.as_bytes().to_vec(),
            file_hash: None,
            broken: None,
            branch: Some("feature/login".to_owned()),
            target: None,
            base: None,
            worktree: None,
            problem: None,
            note: None,
            hook_output: None,
            cost_usd: 0.5,
            n_tokens: 1200,
            created_ms: 1_767_968_500_000,
            updated_ms: 1_767_968_520_000,
        }
    }

    #[test]
    fn a_feature_has_the_names_of_its_file() {
        let whole = FeatureBody::new(feature(), 3);
        assert_eq!(whole.etag(), "\"9\"");
        assert_snapshot!(serde_json::to_string(&whole).unwrap(), @r#"{"id":"login","title":"Add login","description":"Users can sign in","spec":"long","category":"Core","priority":2,"status":"in_progress","work":"nothing","paused":{"reason":"max-iterations","detail":"the iteration limit was reached"},"codeReviewSpec":{"status":"rejected","currentIteration":3,"maxIterations":3},"skipTests":true,"dependencies":[],"branchName":"feature/login","costUsd":0.5,"tokens":1200,"rev":9,"createdAt":"2026-01-09T14:21:40.000Z","updatedAt":"2026-01-09T14:22:00.000Z"}"#);
    }

    #[test]
    fn a_list_has_cards_without_texts() {
        let feature = feature();
        let facts = Facts {
            title: feature.facts.title,
            first_line: "Users can".to_owned(),
            priority: 2,
            dependencies: vec!["done".to_owned(), "open".to_owned()],
            category: Some("Core".to_owned()),
            ..Facts::default()
        };
        let open = Blocker { id: FeatureId::parse("open").unwrap(), title: String::new() };
        let card = Card {
            rev: feature.rev,
            pips: vec![Outcome::Rejected, Outcome::Failed],
            counts: Counts { high: 1, late: 2, ..Counts::default() },
            progress: Some(Progress { n_new: 1, n_resolved: 3 }),
            blocked_by: vec![open],
            cost_usd: 0.25,
            n_tokens: 7,
            updated_ms: 1_767_968_520_000,
            since_ms: 1_767_968_500_000,
            ..Card::new(feature.id, feature.state, facts)
        };
        let page = Features { features: vec![CardBody::new(card, 3)], next: None, total: 1 };
        assert_snapshot!(serde_json::to_string(&page).unwrap(), @r#"{"features":[{"id":"login","title":"Add login","firstLine":"Users can","status":"in_progress","work":"nothing","paused":{"reason":"max-iterations","detail":"the iteration limit was reached"},"priority":2,"category":"Core","dependencies":["done","open"],"blockedBy":["open"],"iteration":3,"maxIterations":3,"outcomes":["rejected","failed"],"findings":{"critical":0,"high":1,"medium":0,"low":0,"nit":0,"late":2},"sinceLastReview":{"new":1,"resolved":3},"costUsd":0.25,"rev":9,"createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"2026-01-09T14:22:00.000Z","since":"2026-01-09T14:21:40.000Z"}],"total":1}"#);
    }

    #[test]
    fn a_review_has_the_names_of_its_file() {
        let remark = Remark {
            category: Category::Compliance,
            severity: Severity::High,
            title: "Missing validation".to_owned(),
            description: "Empty passwords are taken".to_owned(),
            suggestion: None,
            file: Some("src/a.ts".to_owned()),
            line: Some(45),
            evidence: None,
            identity: None,
        };
        let criterion = Criterion { id: "C1".to_owned(), text: "passwords have 8 characters".to_owned() };
        let iteration = Iteration {
            number: 1,
            outcome: Outcome::Rejected,
            reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
            model: "m".to_owned(),
            provider: "p".to_owned(),
            commit: Some("a1b2".to_owned()),
            base: None,
            findings: vec![remark],
            late: vec![],
            summary: "No.".to_owned(),
            reason: Some("Fix it".to_owned()),
            compliance: Compliance { criteria: vec![(criterion, Met::No { evidence: "none".to_owned() })] },
            notes: vec![],
            outdated: false,
            after_step: None,
            overridden: None,
            note: None,
        };
        assert_snapshot!(serde_json::to_string(&IterationBody::from(&iteration)).unwrap(), @r#"{"iterationNumber":1,"status":"rejected","reviewedAt":"2026-01-09T14:22:00.000Z","reviewedByModel":"m","reviewedByProvider":"p","gitCommitHash":"a1b2","findings":[{"category":"compliance","severity":"error","title":"Missing validation","description":"Empty passwords are taken","file":"src/a.ts","line":45}],"late":[],"compliance":[{"id":"C1","text":"passwords have 8 characters","answer":"not_met","evidence":"none"}],"overallSummary":"No.","rejectionReason":"Fix it","notes":[],"outdated":false}"#);
    }
}
