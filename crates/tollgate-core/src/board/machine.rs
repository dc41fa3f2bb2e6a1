//! The state machine of a feature: states, events and transitions.
//!
//! [`next`] is the only transition function. It is pure: the caller stores the new state, the transition record and the
//! events in one transaction and runs the pending job ([`Work`]) afterwards. The pending job is part of the state, so it
//! survives a crash.
//!
//! ```text
//! backlog ─► in_progress ─► code_review ─► step … ─► waiting_approval | verified ─► completed
//!                 ▲               │
//!                 └── rejected ───┘   three times, then a person
//! ```

use std::fmt;

use crate::board::StepId;

mod actions;
mod labels;

pub use actions::{Action, AvailableAction, action_towards, available_actions};

/// The maximum number of iterations before a person must decide.
pub const MAX_ROUNDS: u32 = 3;
/// The attempts at a review that fails.
pub const MAX_TRIES: u32 = 3;
/// The restarts of an agent within one iteration after the server was interrupted.
pub const MAX_RESTARTS: u32 = 20;

/// The column of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not started.
    Backlog,
    /// An agent implements it, is queued, or another program works on it.
    InProgress,
    /// It is reviewed by the gate.
    CodeReview,
    /// A pipeline step after the gate.
    Step(StepId),
    /// It passed the gate and needs manual approval.
    WaitingApproval,
    /// It passed the gate and needs no manual approval.
    Verified,
    /// A person accepted it.
    Completed,
    /// A status of another program, which is left alone.
    Other(String),
}

/// The pending job of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// No job is pending.
    Nothing,
    /// An agent is queued until a slot is free and all dependencies are done.
    Queued,
    /// An agent is running.
    Implementing,
    /// The changes of the agent are to be committed.
    Committing,
    /// The commit is to be reviewed.
    Reviewing,
    /// An agent runs a pipeline step.
    Stepping,
    /// The changes of a step are to be committed.
    CommittingStep,
}

/// Why a feature is paused until a person acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pause {
    /// The iteration limit is reached.
    MaxIterations,
    /// The agent changed nothing, or the same findings came back.
    NoProgress,
    /// The agent failed.
    AgentFailed,
    /// The commit failed, or its hooks refused it twice.
    CommitFailed,
    /// The review failed [`MAX_TRIES`] times.
    ReviewFailed,
    /// The server was interrupted [`MAX_RESTARTS`] times while the agent ran.
    Interrupted,
    /// A person stopped it.
    Stopped,
    /// The budget is exhausted.
    Budget,
    /// The main checkout changed while the agent ran; its work is done and not committed.
    MainChanged,
}

/// The state of the review of the current iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Review {
    /// Not started.
    Pending,
    /// Running.
    Reviewing,
    /// The review approved.
    Approved,
    /// The review rejected.
    Rejected,
    /// The review failed.
    Failed,
}

/// The state of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Its column.
    pub status: Status,
    /// The pending job.
    pub work: Work,
    /// Why it is paused, if it is.
    pub pause: Option<Pause>,
    /// The current or last iteration; 0 before the first.
    pub iteration: u32,
    /// The iterations since a person last decided.
    pub round: u32,
    /// The state of the review.
    pub review: Review,
    /// The failed review attempts of this iteration.
    pub tries: u32,
    /// The restarts of the agent in this iteration.
    pub restarts: u32,
    /// True when a hook refused the commit of this iteration once.
    pub hook_failed: bool,
    /// The last commit.
    pub commit: Option<String>,
    /// True when `commit` belongs to this iteration.
    pub committed: bool,
    /// True when pipeline steps made changes that no review has seen.
    pub stale: bool,
    /// True when all pipeline steps are done.
    pub stepped: bool,
}

impl State {
    /// The state of a new feature.
    #[must_use]
    pub fn new() -> Self {
        Self {
            status: Status::Backlog,
            work: Work::Nothing,
            pause: None,
            iteration: 0,
            round: 0,
            review: Review::Pending,
            tries: 0,
            restarts: 0,
            hook_failed: false,
            commit: None,
            committed: false,
            stale: false,
            stepped: false,
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

/// The settings of the project that transitions depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// True when the feature requires manual approval.
    pub skip_tests: bool,
    /// True when the review that approved left an acceptance criterion unclear: a person has to look at it.
    pub unchecked: bool,
    /// The pipeline steps.
    pub steps: Vec<StepId>,
    /// The iterations without a person.
    pub max_rounds: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { skip_tests: true, unchecked: false, steps: Vec::new(), max_rounds: MAX_ROUNDS }
    }
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A person starts the feature.
    Start,
    /// A person stops the running job.
    Stop,
    /// A person resumes it with a fresh iteration budget.
    Resume,
    /// A person approves it against the review; name and reason are recorded with the transition.
    Approve,
    /// A person sends it back to the agent.
    SendBack,
    /// A person retries a failed job, or the review of a rejected commit.
    Retry,
    /// A person moves it to the backlog.
    Shelve,
    /// A person accepts it.
    Complete,
    /// The status was edited in `feature.json`.
    Edited(Status),
    /// An agent was started.
    AgentStarted,
    /// The agent finished.
    AgentDone,
    /// The agent failed, or exceeded its limits.
    AgentFailed,
    /// The agent finished, and the main checkout is not as it was before.
    MainChanged,
    /// The server was interrupted while the agent ran.
    Interrupted,
    /// The budget is exhausted.
    OverBudget,
    /// The changes of the agent were committed.
    Committed(String),
    /// The agent changed nothing.
    NothingChanged,
    /// The project's hooks refused the commit.
    HookRefused,
    /// The commit failed.
    CommitFailed,
    /// The review of this commit approved.
    Approved(String),
    /// The review of this commit rejected.
    Rejected {
        /// The commit.
        commit: String,
        /// True when the previous review had the same findings.
        same_again: bool,
    },
    /// The review failed.
    ReviewFailed,
    /// The review failed for a reason that a retry does not change, such as its budget.
    ReviewRefused,
    /// The branch moved to another commit during the review.
    HeadMoved(String),
    /// The pipeline step finished.
    StepDone,
    /// The pipeline step failed.
    StepFailed,
    /// The changes of the step were committed.
    StepCommitted(String),
}

/// An output of the state machine besides the pending job: an event to publish or a side effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Cancels the running job.
    EndWork,
    /// Removes the work tree.
    Clean,
    /// Records an iteration that changed nothing and has no review.
    RecordNothing,
    /// `feature:code-review-started`.
    ReviewStarted,
    /// `feature:code-review-completed`.
    ReviewCompleted,
    /// `feature:code-review-approved`, with the next status.
    ReviewApproved(Status),
    /// `feature:code-review-rejected`.
    ReviewRejected,
    /// `feature:code-review-failed`.
    ReviewFailed,
    /// `feature:code-review-max-iterations`.
    MaxIterations,
    /// `feature:paused`.
    Paused(Pause),
}

/// A refused event: the state has no such transition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {event}: {why}")]
pub struct IllegalTransition {
    /// The event, as an infinitive.
    pub event: &'static str,
    /// The reason, as a clause.
    pub why: String,
}

/// The transition function: the state after an event, and the effects to carry out.
pub fn next(state: &State, event: &Event, rules: &Rules) -> Result<(State, Vec<Effect>), IllegalTransition> {
    let mut step = Transition { state: state.clone(), effects: Vec::new(), rules };
    let done = match event {
        Event::Start => step.start(),
        Event::Stop => step.stop(),
        Event::Resume => step.resume(),
        Event::Approve => step.approve(),
        Event::SendBack => step.send_back(),
        Event::Retry => step.retry(),
        Event::Shelve => step.shelve(),
        Event::Complete => step.complete(),
        Event::Edited(status) => step.edited(status),
        Event::AgentStarted => step.when(&[Work::Queued], |step| step.state.work = Work::Implementing),
        Event::AgentDone => step.when(&[Work::Implementing], |step| step.state.work = Work::Committing),
        Event::AgentFailed => step.when(&[Work::Queued, Work::Implementing], |step| step.pause(Pause::AgentFailed)),
        Event::MainChanged => step.when(&[Work::Implementing, Work::Stepping], |step| step.pause(Pause::MainChanged)),
        Event::OverBudget => step.over_budget(),
        Event::Interrupted => step.interrupted(),
        Event::Committed(commit) => step.when(&[Work::Committing], |step| step.committed(commit)),
        Event::NothingChanged => step.when(&[Work::Committing], Transition::nothing_changed),
        Event::HookRefused => step.when(&[Work::Committing], Transition::hook_refused),
        Event::CommitFailed => {
            step.when(&[Work::Committing, Work::CommittingStep], |step| step.pause(Pause::CommitFailed))
        }
        Event::Approved(commit) => step.reviewed(commit, Transition::approved),
        Event::Rejected { commit, same_again } => step.reviewed(commit, |step| step.rejected(*same_again)),
        Event::ReviewFailed => step.when(&[Work::Reviewing], Transition::review_failed),
        Event::ReviewRefused => step.when(&[Work::Reviewing], Transition::give_review_up),
        Event::HeadMoved(commit) => step.when(&[Work::Reviewing], |step| step.state.commit = Some(commit.clone())),
        Event::StepDone => step.when(&[Work::Stepping], |step| step.state.work = Work::CommittingStep),
        Event::StepFailed => step.when(&[Work::Stepping], |step| step.pause(Pause::AgentFailed)),
        Event::StepCommitted(commit) => step.when(&[Work::CommittingStep], |step| step.step_committed(commit)),
    };
    match done {
        Ok(()) => Ok((step.state, step.effects)),
        Err(why) => Err(IllegalTransition { event: event.in_words(), why }),
    }
}

/// A transition in progress.
struct Transition<'a> {
    state: State,
    effects: Vec<Effect>,
    rules: &'a Rules,
}

impl Transition<'_> {
    // Events of people.

    fn start(&mut self) -> Result<(), String> {
        // Another program may have left it in progress.
        let is_idle = self.state.work == Work::Nothing && self.state.pause.is_none();
        if self.state.status != Status::Backlog && !(self.state.status == Status::InProgress && is_idle) {
            return Err(self.state.in_words());
        }
        self.begin_anew();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        if self.state.work == Work::Nothing {
            return Err(self.state.in_words());
        }
        self.effects.push(Effect::EndWork);
        if self.state.iteration == 1 && self.state.commit.is_none() {
            // The first iteration left no commit: the feature is as good as new.
            self.state.status = Status::Backlog;
            self.state.work = Work::Nothing;
        } else {
            self.pause(Pause::Stopped);
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        self.require_pause()?;
        match self.state.status {
            Status::InProgress => self.begin_anew(),
            _ => self.again(),
        }
        Ok(())
    }

    fn retry(&mut self) -> Result<(), String> {
        match self.require_pause()? {
            Pause::AgentFailed | Pause::CommitFailed | Pause::ReviewFailed | Pause::Interrupted | Pause::Stopped => {
                self.again();
            }
            Pause::MainChanged => self.commit_after_look(),
            // The rejection may be obsolete by now: a dismissed finding, a changed rule, another reviewer.
            Pause::MaxIterations | Pause::NoProgress if self.state.is_reviewable() => {
                self.state.pause = None;
                // An iteration without changes is reviewed at the commit before it.
                self.state.committed = true;
                self.review();
            }
            Pause::MaxIterations | Pause::NoProgress => {
                return Err("it has no commit to review again; resume it or send it back".to_owned());
            }
            Pause::Budget => {
                return Err("no failed job to retry; resume it, approve it or send it back".to_owned());
            }
        }
        Ok(())
    }

    /// Commits the agent's work once a person has looked at the main checkout; the agent does not run again.
    fn commit_after_look(&mut self) {
        self.state.pause = None;
        self.state.work = match self.state.status {
            Status::Step(_) => Work::CommittingStep,
            _ => Work::Committing,
        };
    }

    /// Restarts the job that was interrupted by the pause.
    fn again(&mut self) {
        self.state.pause = None;
        self.state.tries = 0;
        self.state.restarts = 0;
        self.state.hook_failed = false;
        match self.state.status {
            Status::CodeReview => {
                self.state.work = Work::Reviewing;
                self.state.review = Review::Reviewing;
                self.effects.push(Effect::ReviewStarted);
            }
            Status::Step(_) => self.state.work = Work::Stepping,
            _ => self.begin(),
        }
    }

    fn approve(&mut self) -> Result<(), String> {
        self.require_pause()?;
        if self.state.commit.is_none() {
            return Err("it has no commit yet".to_owned());
        }
        if self.state.is_uncommitted() {
            return Err("the agent's last changes are not committed; resume it, or move it to the backlog".to_owned());
        }
        self.state.pause = None;
        self.state.review = Review::Approved;
        self.state.stale = false;
        // An approval during a step skips the remaining steps.
        self.state.stepped |= matches!(self.state.status, Status::Step(_));
        self.go_on();
        Ok(())
    }

    fn send_back(&mut self) -> Result<(), String> {
        let passed = matches!(self.state.status, Status::WaitingApproval | Status::Verified);
        if self.state.work != Work::Nothing || !(passed || self.state.pause.is_some()) {
            return Err(self.state.in_words());
        }
        self.begin_anew();
        Ok(())
    }

    fn shelve(&mut self) -> Result<(), String> {
        let is_external = matches!(self.state.status, Status::Backlog | Status::Other(_));
        if is_external || self.state.work != Work::Nothing {
            return Err(self.state.in_words());
        }
        self.put(Status::Backlog)
    }

    fn complete(&mut self) -> Result<(), String> {
        if !matches!(self.state.status, Status::WaitingApproval | Status::Verified) {
            return Err(self.state.in_words());
        }
        self.state.status = Status::Completed;
        self.effects.push(Effect::Clean);
        Ok(())
    }

    /// Applies a status that was edited in the file. After a refusal the caller restores the file.
    fn edited(&mut self, status: &Status) -> Result<(), String> {
        if *status == self.state.status {
            return Ok(());
        }
        if self.state.work != Work::Nothing {
            return Err(self.state.in_words());
        }
        let is_external = self.state.status != Status::Backlog || *status == Status::InProgress;
        if self.state.iteration == 0 && is_external {
            // Another program works on this feature; it never entered the gate, so any status is accepted.
            return self.put(status.clone());
        }
        // A feature that passed the gate may return to a passed status after another program moved it away. Unreviewed
        // changes of steps void the pass.
        let passed = matches!(self.state.status, Status::WaitingApproval | Status::Verified | Status::Other(_))
            && self.state.review == Review::Approved
            && self.state.stepped
            && !self.state.stale;
        match status {
            Status::Backlog | Status::Other(_) => self.put(status.clone()),
            Status::WaitingApproval | Status::Verified if passed => self.put(status.clone()),
            Status::Completed if passed => {
                self.effects.push(Effect::Clean);
                self.put(Status::Completed)
            }
            _ => Err("only the gate sets this status".to_owned()),
        }
    }

    fn put(&mut self, status: Status) -> Result<(), String> {
        self.state.status = status;
        self.state.pause = None;
        Ok(())
    }

    // Events of jobs.

    fn interrupted(&mut self) -> Result<(), String> {
        self.when(&[Work::Implementing, Work::Stepping], |step| {
            step.state.restarts += 1;
            if step.state.restarts > MAX_RESTARTS {
                step.pause(Pause::Interrupted);
            } else if step.state.work == Work::Implementing {
                step.state.work = Work::Queued;
            }
        })
    }

    fn over_budget(&mut self) -> Result<(), String> {
        self.when(&[Work::Queued, Work::Implementing, Work::Stepping, Work::Reviewing], |step| {
            step.effects.push(Effect::EndWork);
            if step.state.work == Work::Reviewing {
                step.state.review = Review::Failed;
            }
            step.pause(Pause::Budget);
        })
    }

    fn committed(&mut self, commit: &str) {
        self.state.commit = Some(commit.to_owned());
        self.state.committed = true;
        self.review();
    }

    fn review(&mut self) {
        self.state.status = Status::CodeReview;
        self.state.work = Work::Reviewing;
        self.state.review = Review::Reviewing;
        self.state.tries = 0;
        self.effects.push(Effect::ReviewStarted);
    }

    fn nothing_changed(&mut self) {
        self.effects.push(Effect::RecordNothing);
        self.state.review = Review::Rejected;
        if self.state.iteration > 1 {
            self.pause(Pause::NoProgress);
        } else {
            self.next_iteration();
        }
    }

    fn hook_refused(&mut self) {
        if self.state.hook_failed {
            self.pause(Pause::CommitFailed);
        } else {
            self.state.hook_failed = true;
            self.state.work = Work::Queued;
        }
    }

    /// Applies the result of a review, if it is for the current commit.
    fn reviewed(&mut self, commit: &str, then: impl FnOnce(&mut Self)) -> Result<(), String> {
        if self.state.work == Work::Reviewing && self.state.commit.as_deref() != Some(commit) {
            return Err("another commit is under review".to_owned());
        }
        self.when(&[Work::Reviewing], then)
    }

    fn approved(&mut self) {
        self.state.review = Review::Approved;
        self.state.stale = false;
        self.effects.push(Effect::ReviewCompleted);
        self.go_on();
    }

    fn rejected(&mut self, same_again: bool) {
        self.state.review = Review::Rejected;
        self.effects.extend([Effect::ReviewCompleted, Effect::ReviewRejected]);
        self.state.status = Status::InProgress;
        if same_again {
            self.pause(Pause::NoProgress);
        } else {
            self.next_iteration();
        }
    }

    /// Starts the next iteration, or pauses at the iteration limit.
    fn next_iteration(&mut self) {
        if self.state.round >= self.rules.max_rounds {
            self.effects.push(Effect::MaxIterations);
            self.pause(Pause::MaxIterations);
        } else {
            self.begin();
            self.state.round += 1;
        }
    }

    fn review_failed(&mut self) {
        self.state.tries += 1;
        if self.state.tries >= MAX_TRIES {
            self.give_review_up();
        }
    }

    fn give_review_up(&mut self) {
        self.state.review = Review::Failed;
        self.effects.extend([Effect::ReviewCompleted, Effect::ReviewFailed]);
        self.pause(Pause::ReviewFailed);
    }

    fn step_committed(&mut self, commit: &str) {
        if self.state.commit.as_deref() != Some(commit) {
            self.state.commit = Some(commit.to_owned());
            self.state.stale = true;
        }
        let current = match &self.state.status {
            Status::Step(id) => self.rules.steps.iter().position(|step| step == id),
            _ => None,
        };
        // A step that was removed from the configuration counts as the last one.
        match current.and_then(|index| self.rules.steps.get(index + 1)) {
            Some(step) => self.begin_step(step),
            None => {
                self.state.stepped = true;
                if self.state.stale {
                    // Changes of steps are reviewed as an iteration, which does not use up the limit.
                    self.state.iteration += 1;
                    self.state.committed = true;
                    self.review();
                } else {
                    self.arrive();
                }
            }
        }
    }

    // Shared transitions.

    /// Queues the agent: for a new iteration when the current one was committed or reviewed, else for the same.
    fn begin(&mut self) {
        let state = &mut self.state;
        let is_over = state.committed || matches!(state.review, Review::Approved | Review::Rejected);
        if is_over || state.iteration == 0 {
            state.iteration += 1;
            state.committed = false;
            state.hook_failed = false;
            state.restarts = 0;
            state.tries = 0;
        }
        state.status = Status::InProgress;
        state.work = Work::Queued;
        state.review = Review::Pending;
        state.pause = None;
        state.stepped = false;
        state.stale = false;
    }

    /// The same with a fresh iteration budget, after a person decided.
    fn begin_anew(&mut self) {
        self.begin();
        self.state.round = 1;
    }

    /// Continues after the gate: with the first step, or to the final status.
    fn go_on(&mut self) {
        match self.rules.steps.first().filter(|_| !self.state.stepped) {
            Some(step) => self.begin_step(step),
            None => {
                self.state.stepped = true;
                self.arrive();
            }
        }
        self.effects.push(Effect::ReviewApproved(self.state.status.clone()));
    }

    fn begin_step(&mut self, step: &StepId) {
        self.state.status = Status::Step(step.clone());
        self.state.work = Work::Stepping;
        self.state.restarts = 0;
    }

    fn arrive(&mut self) {
        self.state.work = Work::Nothing;
        let needs_person = self.rules.skip_tests || self.rules.unchecked;
        self.state.status = if needs_person { Status::WaitingApproval } else { Status::Verified };
    }

    fn pause(&mut self, why: Pause) {
        self.state.work = Work::Nothing;
        self.state.pause = Some(why);
        self.effects.push(Effect::Paused(why));
    }

    fn when(&mut self, works: &[Work], then: impl FnOnce(&mut Self)) -> Result<(), String> {
        if !works.contains(&self.state.work) {
            return Err(self.state.in_words());
        }
        then(self);
        Ok(())
    }

    fn require_pause(&self) -> Result<Pause, String> {
        self.state.pause.filter(|_| self.state.work == Work::Nothing).ok_or_else(|| self.state.in_words())
    }
}

impl State {
    /// True when the current iteration may have uncommitted changes.
    #[must_use]
    pub fn is_uncommitted(&self) -> bool {
        !self.committed && self.review == Review::Pending
    }

    /// True when the commit holds all changes of the feature.
    fn is_reviewable(&self) -> bool {
        self.commit.is_some() && !self.is_uncommitted()
    }
}

impl fmt::Display for Status {
    /// The name in `feature.json`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(f, "pipeline_{step}"),
            Self::Other(word) => f.write_str(word),
            Self::Backlog => f.write_str("backlog"),
            Self::InProgress => f.write_str("in_progress"),
            Self::CodeReview => f.write_str("code_review"),
            Self::WaitingApproval => f.write_str("waiting_approval"),
            Self::Verified => f.write_str("verified"),
            Self::Completed => f.write_str("completed"),
        }
    }
}

/// A word that names no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a status", crate::visible::visible(.0))]
pub struct UnknownStatus(String);

impl UnknownStatus {
    /// The known statuses, as a hint.
    pub const HINT: &'static str = "Use `backlog`, `in_progress`, `code_review`, `waiting_approval`, `verified`, `completed`, \
                                    or `pipeline_` and the ID of a step.";
}

impl Status {
    /// True when a dependency with this status is met.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Verified | Self::Completed)
    }

    /// Parses a status that a person asks for; the error lists the known ones.
    pub fn known(word: &str) -> Result<Self, UnknownStatus> {
        match Self::parse(word) {
            Self::Other(other) => Err(UnknownStatus(other)),
            status => Ok(status),
        }
    }

    /// Parses the name in `feature.json`.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "backlog" | "pending" | "ready" => Self::Backlog,
            "in_progress" => Self::InProgress,
            "code_review" => Self::CodeReview,
            "waiting_approval" => Self::WaitingApproval,
            "verified" => Self::Verified,
            "completed" => Self::Completed,
            other => match other.strip_prefix("pipeline_").and_then(|step| StepId::parse(step).ok()) {
                Some(step) => Self::Step(step),
                None => Self::Other(other.to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests;
