//! Names of states and events for files and the database, and their descriptions for people.

use super::{Event, Pause, Review, State, Status, Work};
use crate::names::names;

names!(Work {
    Nothing => "nothing",
    Queued => "queued",
    Implementing => "implementing",
    Committing => "committing",
    Reviewing => "reviewing",
    Stepping => "stepping",
    CommittingStep => "committing_step",
});

names!(Pause {
    MaxIterations => "max-iterations",
    NoProgress => "no-progress",
    AgentFailed => "agent-failed",
    CommitFailed => "commit-failed",
    ReviewFailed => "review-failed",
    Interrupted => "interrupted",
    Stopped => "stopped",
    Budget => "budget",
    MainChanged => "main-changed",
});

impl Pause {
    /// The reason for people, as a clause.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::MaxIterations => "the iteration limit was reached",
            Self::NoProgress => "the agent makes no progress",
            Self::AgentFailed => "the agent failed",
            Self::CommitFailed => "its work could not be committed",
            Self::ReviewFailed => "the review failed",
            Self::Interrupted => "the agent was interrupted too often",
            Self::Stopped => "it was stopped",
            Self::Budget => "its budget is exhausted",
            Self::MainChanged => "the main checkout changed while the agent ran",
        }
    }
}

names!(Review {
    Pending => "pending",
    Reviewing => "reviewing",
    Approved => "approved",
    Rejected => "rejected",
    Failed => "failed",
});

impl State {
    /// The state for people, as a clause.
    #[must_use]
    pub fn in_words(&self) -> String {
        let work = match self.work {
            Work::Nothing => None,
            Work::Queued => Some("an agent is queued for it"),
            Work::Implementing => Some("an agent is working on it"),
            Work::Committing | Work::CommittingStep => Some("its work is being committed"),
            Work::Reviewing => Some("it is being reviewed"),
            Work::Stepping => Some("an agent is running a pipeline step"),
        };
        match (work, self.pause, &self.status) {
            (Some(work), ..) => work.to_owned(),
            (None, Some(pause), _) => format!("it is paused: {}", pause.in_words()),
            (None, None, Status::Backlog) => "it is in the backlog".to_owned(),
            (None, None, Status::WaitingApproval) => "it is awaiting approval".to_owned(),
            (None, None, Status::Verified) => "it is verified".to_owned(),
            (None, None, Status::Completed) => "it is completed".to_owned(),
            (None, None, Status::InProgress) => "it is in progress outside of this board".to_owned(),
            (None, None, Status::CodeReview) => "it is in code review, and no review is running".to_owned(),
            (None, None, Status::Step(step)) => format!("it is at the step `{step}`, and no agent is running"),
            (None, None, Status::Other(word)) => format!("its status `{word}` belongs to another program"),
        }
    }
}

impl Event {
    /// The event for people, as an infinitive behind `cannot`.
    #[must_use]
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Start => "start it",
            Self::Stop => "stop it",
            Self::Resume => "resume it",
            Self::Approve => "approve it manually",
            Self::SendBack => "send it back",
            Self::Retry => "retry it",
            Self::Shelve => "move it to the backlog",
            Self::Complete => "complete it",
            Self::Edited(_) => "move it by its file",
            Self::AgentStarted => "start an agent",
            Self::AgentDone => "finish an agent",
            Self::AgentFailed => "fail an agent",
            Self::MainChanged => "report a changed main checkout",
            Self::Interrupted => "interrupt an agent",
            Self::OverBudget => "exhaust the budget",
            Self::Committed(_) => "record a commit",
            Self::NothingChanged => "record an agent without changes",
            Self::HookRefused => "record a refusing hook",
            Self::CommitFailed => "fail a commit",
            Self::Approved(_) => "record an approval",
            Self::Rejected { .. } => "record a rejection",
            Self::ReviewFailed => "fail a review",
            Self::ReviewRefused => "refuse a review",
            Self::HeadMoved(_) => "move the head",
            Self::StepDone => "finish a step",
            Self::StepFailed => "fail a step",
            Self::StepCommitted(_) => "record the commit of a step",
        }
    }

    /// The name in transition records.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::SendBack => "send_back",
            Self::Retry => "retry",
            Self::Shelve => "shelve",
            Self::Complete => "complete",
            Self::Edited(_) => "edited",
            Self::AgentStarted => "agent_started",
            Self::AgentDone => "agent_done",
            Self::AgentFailed => "agent_failed",
            Self::MainChanged => "main_changed",
            Self::Interrupted => "interrupted",
            Self::OverBudget => "over_budget",
            Self::Committed(_) => "committed",
            Self::NothingChanged => "nothing_changed",
            Self::HookRefused => "hook_refused",
            Self::CommitFailed => "commit_failed",
            Self::Approved(_) => "approved",
            Self::Rejected { .. } => "rejected",
            Self::ReviewFailed => "review_failed",
            Self::ReviewRefused => "review_refused",
            Self::HeadMoved(_) => "head_moved",
            Self::StepDone => "step_done",
            Self::StepFailed => "step_failed",
            Self::StepCommitted(_) => "step_committed",
        }
    }
}
