//! Projects, features and reviews as clients get them: JSON with the names that `feature.json` has.

use serde::Serialize;
use tollgate_core::board::machine::State;
use tollgate_core::board::{Compliance, Iteration, Met, Remark};
use tollgate_engine::board::iso;
use tollgate_engine::store::board::{Counts, Progress};
use utoipa::ToSchema;

use crate::desk::setup::UsedPrompts;
use crate::desk::{Broken, Card, Feature, Page, Project, Prompts, PromptsInForce};

pub(crate) mod review;
pub(crate) mod trend;

/// A project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Project)]
pub(crate) struct ProjectBody {
    /// Its number.
    id: u64,
    /// What it is called.
    #[schema(example = "Shop")]
    name: String,
    /// Its folder.
    #[schema(example = "/home/me/shop")]
    path: String,
    /// How many features it has.
    features: u64,
    /// Features whose files cannot be read.
    broken: Vec<Broken>,
}

impl From<Project> for ProjectBody {
    fn from(project: Project) -> Self {
        Self {
            id: project.id,
            name: project.name,
            path: project.path.to_string_lossy().into_owned(),
            features: project.n_features,
            broken: project.broken,
        }
    }
}

/// All projects.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Projects {
    projects: Vec<ProjectBody>,
}

impl From<Vec<Project>> for Projects {
    fn from(projects: Vec<Project>) -> Self {
        Self { projects: projects.into_iter().map(ProjectBody::from).collect() }
    }
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
    max_iterations: u32,
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
    #[schema(example = "feature-1767960000000-x7k2m9qpa")]
    id: String,
    /// A short title; may be empty.
    #[schema(example = "Add login")]
    title: String,
    /// What is wanted.
    description: String,
    /// The specification, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    spec: Option<String>,
    /// The group it is shown in.
    category: String,
    /// 1 is the most urgent, 3 the least.
    priority: u8,
    /// Its column: `backlog`, `in_progress`, `code_review`, `pipeline_…`, `waiting_approval`, `verified`, `completed`, or
    /// a word of another program.
    #[schema(example = "code_review")]
    status: String,
    /// The work that is owed to it: `nothing`, `queued`, `implementing`, `committing`, `reviewing`, `stepping` or
    /// `committing_step`.
    #[schema(example = "reviewing")]
    work: &'static str,
    /// Why it waits for a person, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    paused: Option<Paused>,
    /// Where its review stands.
    code_review_spec: CodeReviewSpec,
    /// The commit of the current iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    commit: Option<String>,
    /// True when a person looks at it in the end.
    skip_tests: bool,
    /// Features that have to be done before it.
    dependencies: Vec<String>,
    /// The model that works on it, if it is not the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    model: Option<String>,
    /// The branch it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    branch_name: Option<String>,
    /// Its work tree, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    worktree_path: Option<String>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// Why its file cannot be read, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    broken: Option<String>,
    /// What it has cost, in US dollars.
    cost_usd: f64,
    /// How many tokens it took.
    tokens: u64,
    /// Grows with every change; the header `ETag` of this one feature.
    rev: u64,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    created_at: Option<String>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    updated_at: Option<String>,
}

impl FeatureBody {
    /// The whole feature.
    pub(crate) fn whole(feature: Feature) -> Self {
        Self {
            code_review_spec: CodeReviewSpec::of(&feature.state, feature.max_iterations),
            paused: Paused::of(&feature.state),
            status: feature.state.status.to_string(),
            work: feature.state.work.as_str(),
            commit: feature.state.commit,
            id: feature.id.to_string(),
            title: feature.title,
            description: feature.description,
            spec: feature.spec,
            category: feature.category,
            priority: feature.priority,
            skip_tests: feature.skip_tests,
            dependencies: feature.dependencies,
            model: feature.model,
            branch_name: feature.branch,
            worktree_path: feature.worktree.map(|path| path.to_string_lossy().into_owned()),
            error: feature.error,
            broken: feature.broken,
            cost_usd: feature.cost_usd,
            tokens: feature.n_tokens,
            rev: feature.rev,
            created_at: feature.created_at,
            updated_at: feature.updated_at,
        }
    }

    /// The header that names this state of the feature.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.rev)
    }
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
    /// The first line of what is wanted.
    first_line: String,
    /// Its column, as in the feature itself.
    #[schema(example = "code_review")]
    status: String,
    /// The work that is owed to it, as in the feature itself.
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
    /// What the last review found.
    findings: CountsBody,
    /// What changed with the last review, if there was one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    since_last_review: Option<ProgressBody>,
    /// What it has cost, in US dollars.
    cost_usd: f64,
    /// What went wrong last.
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
    /// Since when it is where it is: its column, the work that is owed to it, what it waits for.
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
    /// Those that came too late to count.
    late: u32,
}

impl From<Card> for CardBody {
    fn from(Card { card, max_iterations }: Card) -> Self {
        let Counts { critical, high, medium, low, nit, late } = card.counts;
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
    features: Vec<CardBody>,
    /// How many there are that fit the question.
    total: u64,
    /// To be given as `after`, when there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next: Option<String>,
}

impl From<Page<Card>> for Features {
    fn from(page: Page<Card>) -> Self {
        Self { features: page.items.into_iter().map(CardBody::from).collect(), total: page.total, next: page.next }
    }
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
    /// What is wrong.
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

/// Something that was asked for, and whether it is there.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CriterionBody {
    /// Its name within the feature.
    #[schema(example = "C1")]
    id: String,
    /// What is asked for.
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
    /// What it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    base_commit: Option<String>,
    /// What counts, worst first.
    findings: Vec<Finding>,
    /// What was said too late to reject.
    late: Vec<Finding>,
    /// What was asked for, and whether it is there.
    compliance: Vec<CriterionBody>,
    /// One or two sentences.
    overall_summary: String,
    /// What must be fixed, or why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rejection_reason: Option<String>,
    /// What else is to be known.
    notes: Vec<String>,
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

/// The prompts of code reviews.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptsBody {
    /// What is stored at this level.
    code_review: Prompts,
    /// What is used where nothing is enabled.
    defaults: PromptDefaults,
    /// What is odd about what is stored.
    notes: Vec<String>,
    /// The same as the header `ETag`: another number for other prompts.
    revision: u64,
    /// What reviews are made with, and where it comes from.
    used: UsedPrompts,
}

/// The prompts that are used where nothing is enabled.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptDefaults {
    review_system_prompt: String,
    review_prompt_template: String,
}

impl From<PromptsInForce> for PromptsBody {
    fn from(prompts: PromptsInForce) -> Self {
        Self {
            code_review: prompts.own,
            defaults: PromptDefaults {
                review_system_prompt: prompts.default_system,
                review_prompt_template: prompts.default_template,
            },
            notes: prompts.notes,
            revision: prompts.revision,
            used: prompts.used,
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tollgate_core::board::machine::{Pause, Review, Status};
    use tollgate_core::board::{Criterion, FeatureId, Outcome};
    use tollgate_core::finding::{Category, Severity};
    use tollgate_engine::store::board::{Blocker, Facts};

    use super::*;

    fn feature() -> Feature {
        let state = State {
            status: Status::InProgress,
            pause: Some(Pause::MaxIterations),
            review: Review::Rejected,
            iteration: 3,
            ..State::new()
        };
        Feature {
            id: FeatureId::parse("login").unwrap(),
            title: "Add login".to_owned(),
            description: "x".repeat(400),
            spec: Some("long".to_owned()),
            category: "Core".to_owned(),
            priority: 2,
            skip_tests: true,
            dependencies: vec![],
            model: None,
            branch: Some("feature/login".to_owned()),
            state,
            max_iterations: 3,
            worktree: None,
            error: None,
            broken: None,
            cost_usd: 0.5,
            n_tokens: 1200,
            rev: 9,
            created_at: None,
            updated_at: None,
        }
    }

    #[test]
    fn a_feature_has_the_names_of_its_file() {
        let whole = FeatureBody::whole(Feature { description: "Users can sign in".to_owned(), ..feature() });
        assert_eq!(whole.etag(), "\"9\"");
        assert_snapshot!(serde_json::to_string(&whole).unwrap(), @r#"{"id":"login","title":"Add login","description":"Users can sign in","spec":"long","category":"Core","priority":2,"status":"in_progress","work":"nothing","paused":{"reason":"max-iterations","detail":"the iteration limit was reached"},"codeReviewSpec":{"status":"rejected","currentIteration":3,"maxIterations":3},"skipTests":true,"dependencies":[],"branchName":"feature/login","costUsd":0.5,"tokens":1200,"rev":9}"#);
    }

    #[test]
    fn a_list_has_cards_without_texts() {
        let feature = feature();
        let facts = Facts {
            title: feature.title,
            first_line: "Users can".to_owned(),
            priority: 2,
            dependencies: vec!["done".to_owned(), "open".to_owned()],
            category: Some("Core".to_owned()),
            ..Facts::default()
        };
        let open = Blocker { id: FeatureId::parse("open").unwrap(), title: String::new() };
        let card = tollgate_engine::store::board::Card {
            rev: feature.rev,
            pips: vec![Outcome::Rejected, Outcome::Failed],
            counts: Counts { high: 1, late: 2, ..Counts::default() },
            progress: Some(Progress { n_new: 1, n_resolved: 3 }),
            blocked_by: vec![open],
            cost_usd: 0.25,
            n_tokens: 7,
            updated_ms: 1_767_968_520_000,
            since_ms: 1_767_968_500_000,
            ..tollgate_engine::store::board::Card::new(feature.id, feature.state, facts)
        };
        let page = Page { items: vec![Card { card, max_iterations: 3 }], next: None, total: 1 };
        assert_snapshot!(serde_json::to_string(&Features::from(page)).unwrap(), @r#"{"features":[{"id":"login","title":"Add login","firstLine":"Users can","status":"in_progress","work":"nothing","paused":{"reason":"max-iterations","detail":"the iteration limit was reached"},"priority":2,"category":"Core","dependencies":["done","open"],"blockedBy":["open"],"iteration":3,"maxIterations":3,"outcomes":["rejected","failed"],"findings":{"critical":0,"high":1,"medium":0,"low":0,"nit":0,"late":2},"sinceLastReview":{"new":1,"resolved":3},"costUsd":0.25,"rev":9,"createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"2026-01-09T14:22:00.000Z","since":"2026-01-09T14:21:40.000Z"}],"total":1}"#);
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
