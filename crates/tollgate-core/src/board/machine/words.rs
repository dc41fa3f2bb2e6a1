//! States and events in words, for files, the database and people.

use super::{Event, Pause, Review, State, Status, Work};

impl Work {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Queued,
        Self::Implementing,
        Self::Committing,
        Self::Reviewing,
        Self::Stepping,
        Self::CommittingStep,
    ];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Queued => "queued",
            Self::Implementing => "implementing",
            Self::Committing => "committing",
            Self::Reviewing => "reviewing",
            Self::Stepping => "stepping",
            Self::CommittingStep => "committing_step",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.as_str() == word)
    }
}

impl Pause {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::MaxIterations,
        Self::NoProgress,
        Self::AgentFailed,
        Self::CommitFailed,
        Self::ReviewFailed,
        Self::Interrupted,
        Self::Stopped,
        Self::Budget,
    ];

    /// The word in files and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxIterations => "max-iterations",
            Self::NoProgress => "no-progress",
            Self::AgentFailed => "agent-failed",
            Self::CommitFailed => "commit-failed",
            Self::ReviewFailed => "review-failed",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Budget => "budget",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pause| pause.as_str() == word)
    }

    /// What happened, to a person.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::MaxIterations => "it was rejected as often as it may be without a person",
            Self::NoProgress => "the agent makes no progress",
            Self::AgentFailed => "the agent failed",
            Self::CommitFailed => "its work could not be committed",
            Self::ReviewFailed => "the review brought no answer",
            Self::Interrupted => "the server ended too often while the agent was at work",
            Self::Stopped => "somebody stopped it",
            Self::Budget => "it has cost what it may",
        }
    }
}

impl Review {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Reviewing, Self::Approved, Self::Rejected, Self::Failed];

    /// The word in files and events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Reviewing => "reviewing",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|review| review.as_str() == word)
    }
}

impl State {
    /// Where a feature is, as the end of a sentence to a person.
    #[must_use]
    pub fn in_words(&self) -> String {
        let work = match self.work {
            Work::Nothing => None,
            Work::Queued => Some("an agent is about to start on it"),
            Work::Implementing => Some("an agent is at work on it"),
            Work::Committing | Work::CommittingStep => Some("its work is being committed"),
            Work::Reviewing => Some("it is being reviewed"),
            Work::Stepping => Some("an agent works on a step of it"),
        };
        match (work, self.pause, &self.status) {
            (Some(work), ..) => work.to_owned(),
            (None, Some(pause), _) => format!("it waits for a person, because {}", pause.in_words()),
            (None, None, Status::Backlog) => "it is in the backlog".to_owned(),
            (None, None, Status::WaitingApproval) => "it passed and waits for approval".to_owned(),
            (None, None, Status::Verified) => "it passed and is verified".to_owned(),
            (None, None, Status::Completed) => "it is completed".to_owned(),
            (None, None, Status::InProgress) => "it is in progress, and nobody here works on it".to_owned(),
            (None, None, Status::CodeReview) => "it is at the gate, and nothing runs".to_owned(),
            (None, None, Status::Step(step)) => format!("it is at the step `{step}`, and nothing runs"),
            (None, None, Status::Other(word)) => format!("its status `{word}` belongs to another program"),
        }
    }
}

impl Event {
    /// What was to happen, as the beginning of a sentence to a person.
    #[must_use]
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Start => "starting it",
            Self::Stop => "stopping it",
            Self::Resume => "resuming it",
            Self::Approve => "approving it by hand",
            Self::SendBack => "sending it back",
            Self::Retry => "trying again",
            Self::Shelve => "putting it into the backlog",
            Self::Complete => "completing it",
            Self::Edited(_) => "moving it by its file",
            Self::AgentStarted => "the start of an agent",
            Self::AgentDone => "the end of an agent's work",
            Self::AgentFailed => "the failure of an agent",
            Self::Interrupted => "the end of the server during an agent's work",
            Self::OverBudget => "the end of the budget",
            Self::Committed(_) => "a commit",
            Self::NothingChanged => "an agent's work without changes",
            Self::HookRefused => "a hook's refusal",
            Self::CommitFailed => "the failure of a commit",
            Self::Approved(_) => "an approval",
            Self::Rejected { .. } => "a rejection",
            Self::ReviewFailed => "the failure of a review",
            Self::HeadMoved(_) => "a new commit during a review",
            Self::StepDone => "the end of a step",
            Self::StepFailed => "the failure of a step",
            Self::StepCommitted(_) => "the commit of a step",
        }
    }

    /// The word in records.
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
            Self::Interrupted => "interrupted",
            Self::OverBudget => "over_budget",
            Self::Committed(_) => "committed",
            Self::NothingChanged => "nothing_changed",
            Self::HookRefused => "hook_refused",
            Self::CommitFailed => "commit_failed",
            Self::Approved(_) => "approved",
            Self::Rejected { .. } => "rejected",
            Self::ReviewFailed => "review_failed",
            Self::HeadMoved(_) => "head_moved",
            Self::StepDone => "step_done",
            Self::StepFailed => "step_failed",
            Self::StepCommitted(_) => "step_committed",
        }
    }
}
