//! A board in memory: real states and transitions, no files, no agents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::board::machine::{self, Event, Rules, State, Status, Work};
use tollgate_core::board::{Compliance, FeatureId, Iteration, Outcome};
use tollgate_engine::board::Audit;
use tollgate_engine::failure::{Failure, Kind};
use tollgate_engine::forge::app_registration;
use tollgate_engine::store::board as stored;
use tollgate_engine::store::board::Facts;
use tollgate_engine::store::jobs::Job;
use tollgate_engine::store::pulls::FailingPull;
use tollgate_server::desk::deliveries::Delivery;
use tollgate_server::desk::record::{Dismissed, Looked};
use tollgate_server::desk::{
    Act, Agent, Answer, Card, Desk, Feature, FeatureEdit, FeatureQuery, Figures, NewFeature, NewProject, Output, Page,
    Part, Project, ProjectId, Prompts, PromptsInForce, Refusal, ReviewRequest, ReviewTicket, Settings, Step,
};

use crate::log::MemoryLog;

mod cards;
pub(crate) mod deliveries;
mod github;
mod jobs;
pub(crate) mod record;
mod reviews;
mod setup;
mod source;

#[derive(Default)]
pub(crate) struct MemoryDesk {
    kept: Mutex<Kept>,
    log: Arc<MemoryLog>,
    /// Told of every review that is asked for.
    pub(crate) asked: tokio::sync::Notify,
}

#[derive(Default)]
struct Kept {
    projects: BTreeMap<u64, Project>,
    features: BTreeMap<(u64, String), (Feature, Vec<Iteration>)>,
    prompts: BTreeMap<Option<u64>, Prompts>,
    /// What is dismissed, by project.
    dismissed: Vec<(u64, Dismissed)>,
    /// What happened to features, and what is behind their reviews.
    history: BTreeMap<(u64, String), Vec<Step>>,
    said: BTreeMap<(u64, String), String>,
    looked: BTreeMap<(u64, String), Looked>,
    audit: BTreeMap<(u64, String), Audit>,
    revision: BTreeMap<Option<u64>, u64>,
    demo: Option<u64>,
    /// What was delivered, by its name.
    delivered: BTreeMap<String, Delivery>,
    no_app: bool,
    /// The app that was made, with the code it was made of.
    made: Option<(app_registration::AppRecord, String)>,
    troubled: Vec<FailingPull>,
    jobs: Vec<Job>,
    next: u64,
    is_sick: bool,
}

fn refuse<T>(as_what: fn(Failure) -> Refusal, message: impl Into<String>) -> Answer<T> {
    Err(as_what(Failure::new(Kind::User, message)))
}

impl MemoryDesk {
    pub(crate) fn new(log: Arc<MemoryLog>) -> Self {
        Self { log, ..Self::default() }
    }

    pub(crate) fn make_sick(&self) {
        self.lock().is_sick = true;
    }

    /// Puts a feature where a test needs it, with the review it would have.
    pub(crate) fn place(&self, project: u64, id: &str, state: State) {
        let mut kept = self.lock();
        let (feature, iterations) = kept.features.get_mut(&(project, id.to_owned())).unwrap();
        if state.iteration > 0 && iterations.is_empty() {
            iterations.push(iteration(1, Outcome::Rejected));
        }
        feature.state = state;
        feature.rev += 1;
    }

    /// Ends the review of a feature, as the runner of a real board would.
    pub(crate) fn end_review(&self, project: u64, id: &str) {
        let mut kept = self.lock();
        let (feature, iterations) = kept.features.get_mut(&(project, id.to_owned())).unwrap();
        let number = feature.state.iteration;
        iterations.push(iteration(number, Outcome::Approved));
        feature.state = State { status: Status::Verified, work: Work::Nothing, ..feature.state.clone() };
        drop(kept);
        self.log.push(Some(project), "feature:code-review-completed", format!(r#"{{"featureId":"{id}"}}"#));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn iteration(number: u32, outcome: Outcome) -> Iteration {
    Iteration {
        number,
        outcome,
        reviewed_at: "2026-01-09T14:22:00.000Z".to_owned(),
        model: "tollgate/offline".to_owned(),
        provider: "tollgate".to_owned(),
        commit: Some("a1b2c3d4".to_owned()),
        base: None,
        findings: vec![],
        late: vec![],
        summary: "Looked at.".to_owned(),
        reason: None,
        compliance: Compliance::default(),
        notes: vec![],
        outdated: false,
        after_step: None,
        overridden: None,
        note: None,
    }
}

fn card(feature: Feature) -> Card {
    let first_line = feature.description.lines().next().unwrap_or_default().to_owned();
    let Feature { id, rev, state, title, branch, dependencies, model, skip_tests, .. } = feature;
    let (category, priority) = (Some(feature.category), u32::from(feature.priority));
    let facts = Facts { title, first_line, priority, dependencies, category, model, skip_tests };
    let card = stored::Card { rev, branch, ..stored::Card::new(id, state, facts) };
    Card { card, max_iterations: 3 }
}

impl Kept {
    fn project(&self, id: u64) -> Answer<&Project> {
        match self.projects.get(&id) {
            Some(project) => Ok(project),
            None => refuse(Refusal::NotFound, format!("there is no project {id}")),
        }
    }

    fn feature(&mut self, project: u64, id: &FeatureId) -> Answer<&mut (Feature, Vec<Iteration>)> {
        self.project(project)?;
        match self.features.get_mut(&(project, id.to_string())) {
            Some(feature) => Ok(feature),
            None => refuse(Refusal::NotFound, format!("there is no feature `{id}`")),
        }
    }
}

impl Desk for MemoryDesk {
    fn ready(&self) -> Answer<()> {
        if self.lock().is_sick { refuse(Refusal::Failed, "the disk is full") } else { Ok(()) }
    }

    fn figures(&self) -> Answer<Figures> {
        let kept = self.lock();
        let features = vec![("backlog".to_owned(), kept.features.len() as u64)];
        Ok(Figures { features, ..Figures::default() })
    }

    fn projects(&self) -> Answer<Vec<Project>> {
        Ok(self.lock().projects.values().cloned().collect())
    }

    fn project(&self, project: ProjectId) -> Answer<Project> {
        self.lock().project(project).cloned()
    }

    fn add_project(&self, new: NewProject) -> Answer<Project> {
        let path = PathBuf::from(&new.path);
        let mut kept = self.lock();
        if kept.projects.values().any(|project| project.path == path) {
            return refuse(Refusal::Conflict, "it is there already");
        }
        kept.next += 1;
        let name = new.name.unwrap_or_else(|| "project".to_owned());
        let project = Project { id: kept.next, name, path, n_features: 0, broken: vec![] };
        kept.projects.insert(project.id, project.clone());
        Ok(project)
    }

    fn remove_project(&self, project: ProjectId) -> Answer<()> {
        let mut kept = self.lock();
        kept.project(project)?;
        kept.projects.remove(&project);
        kept.features.retain(|(of, _), _| *of != project);
        Ok(())
    }

    fn features(&self, project: ProjectId, query: &FeatureQuery) -> Answer<Page<Card>> {
        let kept = self.lock();
        kept.project(project)?;
        let fits = |feature: &Feature| {
            query.status.as_ref().is_none_or(|status| feature.state.status.to_string() == *status)
                && query.text.as_ref().is_none_or(|text| feature.title.contains(text.as_str()))
                && query.priority.is_none_or(|priority| u32::from(feature.priority) == priority)
                && query.category.as_ref().is_none_or(|category| feature.category == *category)
                && (!query.needs_person || feature.state.pause.is_some())
        };
        let all: Vec<Feature> =
            kept.features.iter().filter(|((of, _), _)| *of == project).map(|(_, f)| f.0.clone()).collect();
        let all: Vec<Feature> = all.into_iter().filter(fits).collect();
        let is_after =
            |feature: &Feature| query.after.as_ref().is_none_or(|after| feature.id.as_str() > after.as_str());
        let total = all.len() as u64;
        let mut rest: Vec<Feature> = all.into_iter().filter(is_after).collect();
        let has_more = rest.len() > query.limit;
        rest.truncate(query.limit);
        let next = rest.last().filter(|_| has_more).map(|feature| feature.id.to_string());
        Ok(Page { items: rest.into_iter().map(card).collect(), next, total })
    }

    fn feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<Feature> {
        self.lock().feature(project, feature).map(|(feature, _)| feature.clone())
    }

    fn add_feature(&self, project: ProjectId, new: NewFeature, _: &str) -> Answer<Feature> {
        let mut kept = self.lock();
        kept.project(project)?;
        // A mistake of ours, so that the tests can see what becomes of one.
        assert_ne!(new.title, "panic!", "as the test wants it");
        kept.next += 1;
        let id = FeatureId::parse(&format!("feature-{:06}", kept.next)).unwrap();
        let feature = Feature {
            id: id.clone(),
            title: new.title,
            description: new.description,
            spec: new.spec,
            category: new.category.unwrap_or_else(|| "Uncategorized".to_owned()),
            priority: new.priority.unwrap_or(2),
            skip_tests: new.skip_tests.unwrap_or(true),
            dependencies: new.dependencies.unwrap_or_default().iter().map(|name| name.0.to_string()).collect(),
            model: new.model,
            branch: new.branch_name,
            state: State::new(),
            max_iterations: 3,
            worktree: None,
            error: None,
            broken: None,
            cost_usd: 0.0,
            n_tokens: 0,
            rev: 1,
            created_at: None,
            updated_at: None,
        };
        kept.features.insert((project, id.to_string()), (feature.clone(), vec![]));
        drop(kept);
        self.log.push(Some(project), "feature:created", format!(r#"{{"featureId":"{id}"}}"#));
        Ok(feature)
    }

    fn edit_feature(
        &self,
        project: ProjectId,
        feature: &FeatureId,
        edit: FeatureEdit,
        rev: Option<u64>,
    ) -> Answer<Feature> {
        let mut kept = self.lock();
        let (feature, _) = kept.feature(project, feature)?;
        if rev.is_some_and(|rev| rev != feature.rev) {
            return refuse(Refusal::Stale, "it was changed in the meantime");
        }
        feature.title = edit.title.unwrap_or_else(|| feature.title.clone());
        feature.description = edit.description.unwrap_or_else(|| feature.description.clone());
        feature.priority = edit.priority.unwrap_or(feature.priority);
        feature.rev += 1;
        Ok(feature.clone())
    }

    fn remove_feature(&self, project: ProjectId, feature: &FeatureId) -> Answer<()> {
        let mut kept = self.lock();
        kept.feature(project, feature)?;
        kept.features.remove(&(project, feature.to_string()));
        Ok(())
    }

    fn act(&self, project: ProjectId, feature: &FeatureId, act: Act, _: &str) -> Answer<Feature> {
        let event = match act {
            Act::Start => Event::Start,
            Act::Stop => Event::Stop,
            Act::Resume { .. } => Event::Resume,
            Act::Approve { .. } => Event::Approve,
            Act::Reject { .. } => Event::SendBack,
            Act::Retry => Event::Retry,
            Act::Move { status } => Event::Edited(Status::parse(&status)),
            Act::Clean => return self.feature(project, feature),
        };
        let mut kept = self.lock();
        let (feature, _) = kept.feature(project, feature)?;
        match machine::next(&feature.state, &event, &Rules::default()) {
            Ok((state, _)) => {
                feature.state = state;
                feature.rev += 1;
                Ok(feature.clone())
            }
            Err(illegal) => refuse(Refusal::Conflict, illegal.to_string()),
        }
    }

    fn iterations(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Iteration>> {
        self.lock().feature(project, feature).map(|(_, iterations)| iterations.clone())
    }

    fn diff(&self, project: ProjectId, feature: &FeatureId, iteration: u32, part: Part) -> Answer<String> {
        self.review_text(project, feature, iteration)?;
        Ok(format!("diff --git a/{part:?} b/{part:?}\n"))
    }

    fn review_text(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<String> {
        match self.iterations(project, feature)?.iter().find(|found| found.number == iteration) {
            Some(found) => Ok(format!("# Code Review\n**Iteration {} of 3**\n", found.number)),
            None => refuse(Refusal::NotFound, format!("iteration {iteration} has no review")),
        }
    }

    fn output(&self, project: ProjectId, feature: &FeatureId, iteration: u32, from: u64) -> Answer<Output> {
        self.review_text(project, feature, iteration)?;
        let text = "0123456789";
        let start = usize::try_from(from).unwrap_or(usize::MAX).min(text.len());
        Ok(Output { text: text[start..].to_owned(), next: text.len() as u64, is_running: false })
    }

    fn history(&self, project: ProjectId, feature: &FeatureId) -> Answer<Vec<Step>> {
        let mut kept = self.lock();
        kept.feature(project, feature)?;
        Ok(kept.history.get(&(project, feature.to_string())).cloned().unwrap_or_default())
    }

    fn prompts(&self, project: Option<ProjectId>) -> Answer<PromptsInForce> {
        let kept = self.lock();
        if let Some(project) = project {
            kept.project(project)?;
        }
        let own = kept.prompts.get(&project).cloned().unwrap_or_default();
        let (default_system, default_template) = ("You review.".to_owned(), "{gitDiff}".to_owned());
        let used = setup::used(&own, &default_system, &default_template);
        let revision = kept.revision.get(&project).copied().unwrap_or(1);
        Ok(PromptsInForce { own, default_system, default_template, notes: vec![], revision, used })
    }

    fn set_prompts(&self, project: Option<ProjectId>, prompts: Prompts, rev: Option<u64>) -> Answer<PromptsInForce> {
        let revision = self.prompts(project)?.revision;
        if rev.is_some_and(|rev| rev != revision) {
            return refuse(Refusal::Stale, "they were changed in the meantime");
        }
        self.lock().revision.insert(project, revision + 1);
        self.lock().prompts.insert(project, prompts);
        self.prompts(project)
    }

    fn settings(&self) -> Answer<Settings> {
        Ok(Settings {
            max_concurrency: 2,
            max_reviews: 2,
            max_iterations: 3,
            implementer: None,
            reviewers: vec![],
            review_model: None,
            budget_usd: None,
            hooks: true,
            folder: ".automaker".to_owned(),
        })
    }

    fn agents(&self) -> Answer<Vec<Agent>> {
        Ok(setup::agents())
    }

    fn start_review(&self, request: &ReviewRequest) -> Answer<ReviewTicket> {
        let mut kept = self.lock();
        let path = PathBuf::from(&request.project_path);
        let Some(project) = kept.projects.values().find(|project| project.path == path).map(|project| project.id)
        else {
            return refuse(Refusal::NotFound, "this folder is no project");
        };
        let (feature, _) = kept.feature(project, &request.feature)?;
        if feature.state.status != Status::CodeReview {
            return refuse(Refusal::Conflict, format!("it is not at the gate: {}", feature.state.in_words()));
        }
        if feature.state.iteration != request.iteration {
            return refuse(Refusal::Conflict, format!("it is at iteration {}", feature.state.iteration));
        }
        self.asked.notify_one();
        Ok(ReviewTicket { project, review: format!("{}-{}", request.feature, request.iteration), outcome: None })
    }

    fn review_outcome(&self, project: ProjectId, feature: &FeatureId, iteration: u32) -> Answer<Option<Outcome>> {
        let iterations = self.iterations(project, feature)?;
        Ok(iterations.iter().find(|found| found.number == iteration).map(|found| found.outcome))
    }
}
