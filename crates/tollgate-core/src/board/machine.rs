//! What may happen to a feature, and what follows.
//!
//! [`next`] is the only way from one state to another. It is pure: whoever calls it stores the new state, the record of
//! what happened and the announcements in one transaction, and does the work that is owed ([`Work`]) afterwards. The
//! work that is owed is part of the state, so that after a crash it is still known.
//!
//! ```text
//! backlog ─► in_progress ─► code_review ─► step … ─► waiting_approval | verified ─► completed
//!                 ▲               │
//!                 └── rejected ───┘   three times, then a person
//! ```

use std::fmt;

use crate::board::StepId;

mod acts;
mod words;

pub use acts::{Act, Offer, acts, way_to};

/// How many automatic rounds there are until a person decides.
pub const MAX_ROUNDS: u32 = 3;
/// How often a review is tried that brings no answer.
pub const MAX_TRIES: u32 = 3;
/// How often an agent is started anew for one iteration, because the server ended while it was at work.
pub const MAX_RESTARTS: u32 = 20;

/// The column of a feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Status {
    /// Nobody works on it.
    Backlog,
    /// It is being implemented, or waits for somebody to do so.
    InProgress,
    /// It is at the gate.
    CodeReview,
    /// A step that the team put behind the gate.
    Step(StepId),
    /// It passed, and a person looks at it.
    WaitingApproval,
    /// It passed, and nobody has to look at it.
    Verified,
    /// It is over.
    Completed,
    /// A word of another program, which is left alone.
    Other(String),
}

/// The work that is owed to a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// None: somebody else's turn.
    Nothing,
    /// An agent is to be started, as soon as there is room and what it depends on is done.
    Queued,
    /// An agent is at work.
    Implementing,
    /// What the agent did is to be committed.
    Committing,
    /// The commit is to be reviewed.
    Reviewing,
    /// An agent works on a step behind the gate.
    Stepping,
    /// What a step changed is to be committed.
    CommittingStep,
}

/// Why a feature waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pause {
    /// It was rejected as often as it may be.
    MaxIterations,
    /// The agent changed nothing, or the same remarks came back.
    NoProgress,
    /// The agent failed.
    AgentFailed,
    /// The commit failed, or its hooks twice.
    CommitFailed,
    /// The review brought no answer.
    ReviewFailed,
    /// The server ended too often while the agent was at work.
    Interrupted,
    /// A person stopped it.
    Stopped,
    /// It has cost what it may.
    Budget,
}

/// What the last review says, as far as there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Review {
    /// There is none yet for this iteration.
    Pending,
    /// It is being made.
    Reviewing,
    /// It approved.
    Approved,
    /// It rejected.
    Rejected,
    /// It brought no answer.
    Failed,
}

/// Where a feature is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Its column.
    pub status: Status,
    /// The work that is owed to it.
    pub work: Work,
    /// Why it waits for a person, if it does.
    pub pause: Option<Pause>,
    /// The number of the iteration that is worked on or was last; 0 before the first.
    pub iteration: u32,
    /// How many iterations were begun without a person since one last decided.
    pub round: u32,
    /// What the last review says.
    pub review: Review,
    /// How often the review of this iteration brought no answer.
    pub tries: u32,
    /// How often the agent of this iteration was started anew because the server ended.
    pub restarts: u32,
    /// True when the hooks refused the commit of this iteration once.
    pub hook_failed: bool,
    /// The last commit.
    pub commit: Option<String>,
    /// True when it is the commit of this iteration.
    pub committed: bool,
    /// True when steps behind the gate changed something that no review has seen.
    pub stale: bool,
    /// True when the steps behind the gate are done.
    pub stepped: bool,
}

impl State {
    /// A feature that nobody has worked on.
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

/// What the project wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// True when a person looks at the feature in the end.
    pub skip_tests: bool,
    /// The steps behind the gate.
    pub steps: Vec<StepId>,
    /// How many automatic rounds there are.
    pub max_rounds: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self { skip_tests: true, steps: Vec::new(), max_rounds: MAX_ROUNDS }
    }
}

/// Something that happened to a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A person wants it to be done.
    Start,
    /// A person wants the work on it to end.
    Stop,
    /// A person wants it to go on, with more rounds.
    Resume,
    /// A person lets it pass, whatever the review says. Who and why is recorded beside it.
    Approve,
    /// A person sends it back to the agent.
    SendBack,
    /// A person wants to have tried again what failed, or have reviewed again what was rejected.
    Retry,
    /// A person puts it back where nobody works on it.
    Shelve,
    /// A person is done with it.
    Complete,
    /// A person or another program gave it another status in its file.
    Edited(Status),
    /// An agent was started.
    AgentStarted,
    /// The agent has done what it could.
    AgentDone,
    /// The agent failed, or was over its limits.
    AgentFailed,
    /// The server ended while the agent was at work.
    Interrupted,
    /// What it may cost is used up.
    OverBudget,
    /// What the agent did is committed.
    Committed(String),
    /// The agent changed nothing.
    NothingChanged,
    /// The project's hooks refused the commit.
    HookRefused,
    /// The commit could not be made.
    CommitFailed,
    /// The review of this commit lets it pass.
    Approved(String),
    /// The review of this commit sends it back.
    Rejected {
        /// The commit.
        commit: String,
        /// True when the review before said the very same.
        same_again: bool,
    },
    /// The review brought no answer.
    ReviewFailed,
    /// The branch has another commit than the one that was reviewed.
    HeadMoved(String),
    /// The step is done.
    StepDone,
    /// The step failed.
    StepFailed,
    /// What the step changed is committed.
    StepCommitted(String),
}

/// What is to be announced and done besides the work that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Whatever runs for the feature has to end.
    EndWork,
    /// The work tree is not needed any more.
    Clean,
    /// The iteration ended without a review, because nothing was changed.
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
    /// The feature waits for a person.
    Paused(Pause),
}

/// Something cannot happen to a feature that is where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not possible: {why}")]
pub struct Illegal {
    /// What was to happen, in words.
    pub event: &'static str,
    /// Why it cannot, in words.
    pub why: String,
}

/// What follows when something happens to a feature: its new state, and what is to be announced and done.
pub fn next(state: &State, event: &Event, rules: &Rules) -> Result<(State, Vec<Effect>), Illegal> {
    let mut step = Step { state: state.clone(), effects: Vec::new(), rules };
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
        Event::OverBudget => step.over_budget(),
        Event::Interrupted => step.interrupted(),
        Event::Committed(commit) => step.when(&[Work::Committing], |step| step.committed(commit)),
        Event::NothingChanged => step.when(&[Work::Committing], Step::nothing_changed),
        Event::HookRefused => step.when(&[Work::Committing], Step::hook_refused),
        Event::CommitFailed => {
            step.when(&[Work::Committing, Work::CommittingStep], |step| step.pause(Pause::CommitFailed))
        }
        Event::Approved(commit) => step.reviewed(commit, Step::approved),
        Event::Rejected { commit, same_again } => step.reviewed(commit, |step| step.rejected(*same_again)),
        Event::ReviewFailed => step.when(&[Work::Reviewing], Step::review_failed),
        Event::HeadMoved(commit) => step.when(&[Work::Reviewing], |step| step.state.commit = Some(commit.clone())),
        Event::StepDone => step.when(&[Work::Stepping], |step| step.state.work = Work::CommittingStep),
        Event::StepFailed => step.when(&[Work::Stepping], |step| step.pause(Pause::AgentFailed)),
        Event::StepCommitted(commit) => step.when(&[Work::CommittingStep], |step| step.step_committed(commit)),
    };
    match done {
        Ok(()) => Ok((step.state, step.effects)),
        Err(why) => Err(Illegal { event: event.in_words(), why }),
    }
}

/// One transition on its way.
struct Step<'a> {
    state: State,
    effects: Vec<Effect>,
    rules: &'a Rules,
}

impl Step<'_> {
    // What people do.

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
            // Nothing has come of it yet: it is where it was before.
            self.state.status = Status::Backlog;
            self.state.work = Work::Nothing;
        } else {
            self.pause(Pause::Stopped);
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        self.need_pause()?;
        match self.state.status {
            Status::InProgress => self.begin_anew(),
            _ => self.again(),
        }
        Ok(())
    }

    fn retry(&mut self) -> Result<(), String> {
        match self.need_pause()? {
            Pause::AgentFailed | Pause::CommitFailed | Pause::ReviewFailed | Pause::Interrupted | Pause::Stopped => {
                self.again();
            }
            // What sent it back may not count any more: a finding that was dismissed, another rule, another reviewer.
            Pause::MaxIterations | Pause::NoProgress if self.state.is_reviewable() => {
                self.state.pause = None;
                // An iteration in which nothing was changed stands on the commit before it.
                self.state.committed = true;
                self.review();
            }
            Pause::MaxIterations | Pause::NoProgress => {
                return Err("there is no commit that could be reviewed again; resume it or send it back".to_owned());
            }
            Pause::Budget => {
                return Err(
                    "nothing failed that could be tried again; resume it, approve it or send it back".to_owned()
                );
            }
        }
        Ok(())
    }

    /// Does once more what was under way when it was paused.
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
        self.need_pause()?;
        if self.state.commit.is_none() {
            return Err("there is no commit yet that could be approved".to_owned());
        }
        if self.state.is_uncommitted() {
            return Err("the agent's last work is not committed; resume it, or put it back into the backlog".to_owned());
        }
        self.state.pause = None;
        self.state.review = Review::Approved;
        self.state.stale = false;
        // Whoever approves at a step does not want it any more.
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
        let is_others = matches!(self.state.status, Status::Backlog | Status::Other(_));
        if is_others || self.state.work != Work::Nothing {
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

    /// Somebody edited the status in the file. What cannot be is refused, and the file is put right.
    fn edited(&mut self, status: &Status) -> Result<(), String> {
        if *status == self.state.status {
            return Ok(());
        }
        if self.state.work != Work::Nothing {
            return Err(self.state.in_words());
        }
        let is_taken = self.state.status != Status::Backlog || *status == Status::InProgress;
        if self.state.iteration == 0 && is_taken {
            // Another program works on it, which never brought it to the gate, and moves it as it likes.
            return self.put(status.clone());
        }
        // A feature that was here before, and that another program took away, may come back to where it was. What steps
        // changed since its review has not passed.
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
            _ => Err("the gate decides about that".to_owned()),
        }
    }

    fn put(&mut self, status: Status) -> Result<(), String> {
        self.state.status = status;
        self.state.pause = None;
        Ok(())
    }

    // What happens by itself.

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
            self.back();
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

    /// Takes the result of a review, if it is one of the commit that is to be reviewed.
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
            self.back();
        }
    }

    /// Back to the agent, or to a person when that was tried often enough.
    fn back(&mut self) {
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
            self.state.review = Review::Failed;
            self.effects.extend([Effect::ReviewCompleted, Effect::ReviewFailed]);
            self.pause(Pause::ReviewFailed);
        }
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
        // A step that is not configured any more is the last one.
        match current.and_then(|index| self.rules.steps.get(index + 1)) {
            Some(step) => self.begin_step(step),
            None => {
                self.state.stepped = true;
                if self.state.stale {
                    // What the steps made is another implementation, though nobody's round.
                    self.state.iteration += 1;
                    self.state.committed = true;
                    self.review();
                } else {
                    self.arrive();
                }
            }
        }
    }

    // Where things go.

    /// Queues the agent, for another iteration when the last one was committed or reviewed, else for the same.
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

    /// The same, by a person's decision, which gives all the rounds anew.
    fn begin_anew(&mut self) {
        self.begin();
        self.state.round = 1;
    }

    /// Beyond the gate: the first step, or the end.
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
        self.state.status = if self.rules.skip_tests { Status::WaitingApproval } else { Status::Verified };
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

    fn need_pause(&self) -> Result<Pause, String> {
        self.state.pause.filter(|_| self.state.work == Work::Nothing).ok_or_else(|| self.state.in_words())
    }
}

impl State {
    /// True when there may be work of the current iteration that is not in the commit.
    #[must_use]
    pub fn is_uncommitted(&self) -> bool {
        !self.committed && self.review == Review::Pending
    }

    /// True when there is a commit that speaks for the feature as it is.
    fn is_reviewable(&self) -> bool {
        self.commit.is_some() && !self.is_uncommitted()
    }
}

impl fmt::Display for Status {
    /// The word in `feature.json`.
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

impl Status {
    /// True when features that depend on one with this status need not wait for it any more.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Verified | Self::Completed)
    }

    /// Reads the word of `feature.json`.
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
