//! Reviews a commit at the gate, and stores the review with its transition.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tollgate_core::board::feature_event::FeatureEvent;
use tollgate_core::board::machine::{Event, MAX_TRIES};
use tollgate_core::board::{Criterion, FeatureId, Iteration, Met, Outcome, override_in_force};
use tollgate_core::gate::Gate;
use tollgate_core::report::head_state::{GATE_RESULT, HeadState};
use tollgate_core::review::DoubtKind;
use tollgate_core::sha::Sha;

use super::super::gate_result::{self, Facts, GateResult};
use super::super::{Change, Refused, iso};
use super::{Feature, FeatureJob, implement, model};
use crate::config::Settings;
use crate::failure::{Failure, Kind};
use crate::forge::local::{Local, Trigger};
use crate::forge::project::Project as Repository;
use crate::forge::worktree::MainCheckout;
use crate::pipeline::{self, GatedFeature, Memory, ModelOptions, ReviewProgress, ReviewRequest, Reviewed, Runtime};
use crate::process::{self, handles};
use crate::reviewer::prepared::{self, ReviewerTransport};
use crate::reviewer::recording::Recording;
use crate::store::board::{Field, LeaseAfter, NewIteration, ProjectRow};
use crate::store::{RunRecord, Subject};

/// How often progress is announced.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// The backoff after a failed review, doubled each time.
const AGAIN_MS: u64 = 2_000;

struct ReviewedCommits {
    repository: Repository,
    base: Sha,
    commit: Sha,
    /// The commit of the last review.
    last: Option<Sha>,
}

impl FeatureJob<'_> {
    /// Reviews the commit of the iteration.
    pub(super) fn review(&self) -> Result<(), Refused> {
        let feature = self.feature()?;
        let Some(commit) = feature.row.state.commit.clone() else { return Ok(()) };
        let previous = self.board.standing_iterations(self.project.id, self.id())?;
        // A repeated review is not compared with itself.
        let is_earlier = |earlier: &Iteration| earlier.number != feature.row.state.iteration;
        let previous: Vec<Iteration> = previous.into_iter().map(|row| row.iteration).filter(is_earlier).collect();
        let compared = match self.compared(&feature, &commit, &previous) {
            Ok(compared) => compared,
            Err(failure) => return self.review_failed(&feature, &commit, &failure),
        };
        if compared.commit.as_str() != commit {
            // The branch has new commits, which are to be reviewed.
            return self
                .happened(
                    &feature.row,
                    LeaseAfter::Release,
                    Change::of(Event::HeadMoved(compared.commit.as_str().to_owned())),
                )
                .map(drop);
        }
        let started = self.board.now();
        let criteria = feature.criteria();
        let mut others = Vec::new();
        let settings = self.settings(&feature, &compared, &mut others);
        let asks = settings.as_ref().is_ok_and(|settings| !settings.reviewers.is_empty());
        if asks && self.is_over_budget(&feature.row) {
            return self.failed(&feature.row, Event::OverBudget, &implement::over_budget(&feature.row));
        }
        let subject = self.subject();
        let has_agent = settings.as_ref().is_ok_and(asks_agent);
        let main = has_agent.then(|| MainCheckout::look(&compared.repository, &self.board.settings().pipeline.dir));
        let reviewed = settings.and_then(|settings| {
            let unmet = previous.last().map(unmet).unwrap_or_default();
            let reviewed = self.look(&feature, &compared, &settings, (&criteria, unmet), &subject)?;
            Ok((reviewed, settings))
        });
        process::crash_point("gate-reviewed");
        if self.cancel.is_cancelled() {
            // Stopped by a person or a shutdown: the job is repeated.
            let _ = self.board.database().release(self.claim.token, 0);
            return Ok(());
        }
        // The check enriches; a review counts also where it cannot be made.
        let strayed = main.and_then(Result::ok).and_then(|main| main.changes().ok()).unwrap_or_default();
        if !strayed.is_empty() {
            let failure = super::super::failure::main_changed_in_review(&self.project.path, &strayed);
            return self.review_failed(&feature, &commit, &failure);
        }
        let (reviewed, settings) = match reviewed {
            Ok(reviewed) => reviewed,
            Err(failure) => return self.review_failed(&feature, &commit, &failure),
        };
        let at = iso(self.board.now());
        let steps = self.folder.steps().0;
        let facts = Facts {
            number: feature.row.state.iteration,
            at: &at,
            fail_on: settings.fail_on,
            previous: previous.last(),
            overridden: &override_in_force(&previous),
            base: compared.base.as_str(),
            commit: &commit,
            after_step: steps.last().filter(|_| feature.row.state.stale).map(|step| &step.id),
        };
        let mut judged = gate_result::evaluate(&reviewed, &facts);
        judged.iteration.notes.extend(others);
        let record = record(&reviewed, &judged.iteration, subject, (started, self.board.now()));
        self.conclude(&feature, &compared, judged, &reviewed, record)
    }

    /// Stores the review with its transition.
    fn conclude(
        &self,
        feature: &Feature,
        compared: &ReviewedCommits,
        judged: GateResult,
        reviewed: &Reviewed,
        record: RunRecord,
    ) -> Result<(), Refused> {
        let GateResult { mut iteration, same_again } = judged;
        let commit = compared.commit.as_str().to_owned();
        let outcome = iteration.outcome;
        let head = self.worktree(&compared.repository, &feature.row).ok().map(|tree| tree.branch().clone());
        let head = head.map(|branch| compared.repository.branch_head(&branch)).transpose()?.flatten();
        let moved = head.filter(|head| *head != compared.commit);
        iteration.outdated = moved.is_some();
        let reason = iteration.reason.clone();
        // More tries would cost more and end the same.
        let is_refused = reviewed.runs.iter().any(|run| run.over_budget);
        let is_last_try = is_refused || feature.row.state.tries + 1 >= MAX_TRIES;
        let event = match (&moved, outcome) {
            (Some(head), _) => Event::HeadMoved(head.as_str().to_owned()),
            (None, Outcome::Approved) => Event::Approved(commit),
            (None, Outcome::Rejected) => Event::Rejected { commit, same_again },
            (None, Outcome::Failed) if is_refused => Event::ReviewRefused,
            (None, Outcome::Failed) => Event::ReviewFailed,
        };
        let mut change = Change::of(event);
        change.set.add_cost_usd = reviewed.runs.iter().filter_map(|run| run.cost).sum();
        change.set.add_tokens = reviewed.runs.iter().map(|run| run.usage.input.saturating_add(run.usage.output)).sum();
        change.set.problem = Field::Clear;
        // What it claims is asked about next time; forgotten, it would be approved once a reviewer is silent.
        let is_claiming = !reviewed.review.unsettled_because().is_empty();
        if outcome == Outcome::Failed && moved.is_none() {
            change.set.problem = reason.map_or(Field::Keep, Field::Set);
            if !is_last_try {
                change.undecided = is_claiming.then_some(record);
                change.set.not_before_ms = Some(self.later(feature));
                return self.happened(&feature.row, LeaseAfter::Release, change).map(drop);
            }
        }
        let limit = self.board.settings().max_diff_bytes;
        let diff = compared.repository.diff(&compared.base, &compared.commit, limit)?;
        let delta = match &compared.last {
            Some(last) => Some(compared.repository.diff(last, &compared.commit, limit)?.bytes),
            None => None,
        };
        let record = (outcome != Outcome::Failed || is_claiming).then_some(record);
        change.iteration = Some(NewIteration { iteration, diff: Some(diff.bytes), delta, review: record });
        process::crash_point("gate-before-transition");
        let after = self.happened(&feature.row, LeaseAfter::Release, change)?.feature.state;
        match (outcome, after.pause) {
            (Outcome::Approved, _) => process::crash_point("gate-approved"),
            (_, Some(_)) => process::crash_point("gate-paused"),
            (_, None) => process::crash_point("gate-rejected"),
        }
        Ok(())
    }

    /// Retries a failed review; after the last attempt the feature waits for a person. A wrong setting, such as a budget
    /// that does not suffice, is still wrong at the next attempt, so there is only one.
    fn review_failed(&self, feature: &Feature, commit: &str, why: &Failure) -> Result<(), Refused> {
        if handles::were_missing(why) {
            return Err(Refused::Failure(why.clone()));
        }
        let row = &feature.row;
        let is_refused = matches!(why.kind, Kind::Config | Kind::User);
        let mut change = Change::of(if is_refused { Event::ReviewRefused } else { Event::ReviewFailed });
        change.set.problem = Field::Set(super::in_words(why));
        if !is_refused && row.state.tries + 1 < MAX_TRIES {
            change.set.not_before_ms = Some(self.later(feature));
        } else {
            let at = iso(self.board.now());
            let base = row.base.clone().unwrap_or_default();
            let facts = Facts {
                number: row.state.iteration,
                at: &at,
                fail_on: self.board.settings().fail_on,
                previous: None,
                overridden: &[],
                base: &base,
                commit,
                after_step: None,
            };
            let iteration = gate_result::failed(why, &feature.criteria(), &facts);
            change.iteration = Some(NewIteration { iteration, diff: None, delta: None, review: None });
        }
        self.happened(row, LeaseAfter::Release, change).map(drop)
    }

    fn later(&self, feature: &Feature) -> u64 {
        self.board.now().saturating_add(AGAIN_MS << feature.row.state.tries.min(8))
    }

    fn compared(&self, feature: &Feature, commit: &str, previous: &[Iteration]) -> Result<ReviewedCommits, Failure> {
        let repository = self.repository()?;
        let branch = super::branch(&feature.row)?;
        let head = repository.branch_head(&branch)?.ok_or_else(|| super::failure::no_branch(branch.as_str()))?;
        let target = feature.row.target.as_deref().unwrap_or_default();
        let target = if target.is_empty() { None } else { repository.resolve(target)? };
        let merged = match target {
            Some(target) => repository.merge_base(&target, &head)?,
            None => None,
        };
        // The base was recorded when work began: commits that the target got since then, perhaps by the agent itself, are
        // reviewed with the branch that contains them.
        let recorded = feature.row.base.as_deref().and_then(|base| Sha::parse(base).ok());
        let pinned = match recorded {
            Some(recorded) if repository.merge_base(&recorded, &head)?.as_ref() == Some(&recorded) => Some(recorded),
            _ => None,
        };
        let base = match pinned.or(merged) {
            Some(base) => base,
            None => repository.empty_tree()?,
        };
        // An iteration without changes has no commit.
        let last = previous.iter().rev().find_map(|previous| previous.commit.as_deref()).filter(|last| *last != commit);
        let last = last.and_then(|last| Sha::parse(last).ok());
        Ok(ReviewedCommits { repository, base, commit: head, last })
    }

    /// The settings at the base of the feature, so that it cannot change its own review. `notes` receives the reviewers
    /// that use another model than the feature's.
    fn settings(
        &self,
        feature: &Feature,
        compared: &ReviewedCommits,
        notes: &mut Vec<String>,
    ) -> Result<Settings, Failure> {
        let mut settings = self.board.settings_as_of(&self.project, &compared.repository, &compared.base)?;
        let wanted = settings.pipeline.review_model.clone().or_else(|| feature.document.model());
        if let Some(wanted) = wanted {
            let others = model::pass_on_to_all(&mut settings.reviewers, &wanted)?;
            notes.extend(
                others.iter().map(|name| format!("`{name}` reviewed with its own model instead of `{wanted}`")),
            );
        }
        if let Some(most) = settings.pipeline.usd {
            let left = (most - feature.row.cost_usd).max(0.0);
            settings.budget.usd = Some(settings.budget.usd.map_or(left, |usd| usd.min(left)));
        }
        Ok(settings)
    }

    fn subject(&self) -> Subject {
        subject(&self.project, self.id())
    }

    fn look(
        &self,
        feature: &Feature,
        compared: &ReviewedCommits,
        settings: &Settings,
        (criteria, unmet): (&[Criterion], Vec<(String, String)>),
        subject: &Subject,
    ) -> Result<Reviewed, Failure> {
        let home = self.board.home();
        let range = format!("{}..{}", compared.base.as_str(), compared.commit.as_str());
        let memory = self.board.database().store();
        let told = Mutex::new(None::<Instant>);
        let iteration = feature.row.state.iteration;
        let live = Mutex::new(LiveOutput::default());
        let show = |(reviewer, text): (String, String)| {
            // Progress events are best effort.
            let _ =
                self.announce(&FeatureEvent::ReviewProgress { iteration, message: &text, reviewer: Some(&reviewer) });
        };
        let tell = |progress: ReviewProgress<'_>| {
            let mut live = live.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let ReviewProgress::Output { reviewer, text } = progress {
                live.add(reviewer, text).into_iter().for_each(show);
                return;
            }
            let mut told = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
                *told = Some(Instant::now());
                let message = progress.in_words();
                // Progress events are best effort.
                let _ = self.announce(&FeatureEvent::ReviewProgress { iteration, message: &message, reviewer: None });
            }
        };
        let (title, body, spec) = (feature.title(), feature.document.description(), feature.document.spec());
        let variable = |name: &str| std::env::var(name).ok();
        let forge = Local::open(&self.project.path, Trigger::Range(range), home.git.clone())?;
        let feature = GatedFeature {
            subject: subject.clone(),
            title: &title,
            body: &body,
            spec: spec.as_deref(),
            criteria,
            unmet,
        };
        let models = ModelOptions {
            recording: if settings.reviewers.is_empty() { Recording::Off } else { Recording::start() },
            prompts: Some(home.data.join("settings.json")),
            board: Some(self.project.path.join(&settings.pipeline.dir)),
            ..ModelOptions::new(&variable, self.cancel.child_token())
        };
        let runtime = Runtime {
            executable: home.executable.clone(),
            memory: memory.map_or_else(Memory::Unavailable, Memory::Open),
            clock: &home.clock,
            events: &tell,
        };
        let mut request = ReviewRequest::for_gate(settings, forge, feature, models, runtime);
        let reviewed = pipeline::review_change(&mut request);
        live.lock().unwrap_or_else(std::sync::PoisonError::into_inner).finish().into_iter().for_each(show);
        if let Some(record) = request.models.recording.written(request.models.boundary) {
            self.keep_record(iteration, &record);
        }
        reviewed
    }

    /// Stores the transcript of the reviewers for the audit trail.
    fn keep_record(&self, iteration: u32, record: &str) {
        let folder = self.board.records(self.project.id, self.id());
        let name = format!("review-{iteration}-{}.jsonl", self.claim.token.0);
        // The review is valid without it.
        let _ = own_folder(&folder).and_then(|()| std::fs::write(folder.join(name), record));
    }
}

/// True when one of the reviewers is an agent, a program that could write files.
fn asks_agent(settings: &Settings) -> bool {
    let variable = |name: &str| std::env::var(name).ok();
    let is_agent = |chosen| matches!(prepared::prepare(chosen, &variable).way, ReviewerTransport::Agent(_));
    settings.reviewers.iter().any(is_agent)
}

/// The criteria that a review called not met, by their texts, each with the reason.
fn unmet(review: &Iteration) -> Vec<(String, String)> {
    let unmet = review.compliance.criteria.iter().filter_map(|(criterion, met)| match met {
        Met::No { evidence } => Some((criterion.text.clone(), evidence.clone())),
        Met::Yes { .. } | Met::Unclear { .. } => None,
    });
    unmet.collect()
}

/// The answer of a reviewer as it is written, announced in pieces.
#[derive(Default)]
struct LiveOutput {
    pending: Option<(String, String)>,
    told: Option<Instant>,
}

impl LiveOutput {
    /// Adds text; returns what is due, by reviewer.
    fn add(&mut self, reviewer: &str, text: &str) -> Vec<(String, String)> {
        let mut due = Vec::new();
        if self.pending.as_ref().is_some_and(|(other, _)| other != reviewer) {
            due.extend(self.pending.take());
        }
        let (_, pending) = self.pending.get_or_insert_with(|| (reviewer.to_owned(), String::new()));
        pending.push_str(text);
        if self.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            self.told = Some(Instant::now());
            due.extend(self.pending.take());
        }
        due
    }

    fn finish(&mut self) -> Option<(String, String)> {
        self.pending.take()
    }
}

/// The subject under which reviews of a feature are stored.
pub(in crate::board) fn subject(project: &ProjectRow, feature: &FeatureId) -> Subject {
    Subject {
        repository: project.path.to_string_lossy().into_owned(),
        name: format!("feature {feature}"),
        scope: "pipeline".to_owned(),
    }
}

/// Creates a directory that only its owner can read, because transcripts quote code.
pub(super) fn own_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// The stored run of a review, with the result of the gate. A rejection without a finding that counts elsewhere, such as
/// an unmet criterion or a finding about the whole change, closes the gate as well.
fn record(reviewed: &Reviewed, iteration: &Iteration, subject: Subject, time: (u64, u64)) -> RunRecord {
    let mut completed = reviewed.completed();
    match iteration.outcome {
        Outcome::Approved => completed.gate = Gate::Open,
        Outcome::Rejected => {
            completed.gate = Gate::Closed;
            // The gate explains the rejection by what rejects here.
            completed.review.doubts.retain(|doubt| doubt.kind != DoubtKind::Rejection);
        }
        Outcome::Failed => {}
    }
    completed.review.extra.insert(GATE_RESULT.to_owned(), HeadState::gate_result(iteration));
    RunRecord::completed(completed, subject, time)
}
