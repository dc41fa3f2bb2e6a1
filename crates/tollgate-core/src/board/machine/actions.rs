//! Available actions: which actions a person has on a feature, their target status, and why others are refused.
//!
//! Each action is tried with [`next`](super::next), so that the buttons of a page cannot disagree with the board.
//!
//! ```text
//! paused in code_review:  approve -> waiting_approval, move to backlog -> backlog, …
//!                         start: cannot start it: it is paused: …
//! ```

use super::{Event, IllegalTransition, Rules, State, Status, next};

/// An action of a person on a feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Starts work on it.
    Start,
    /// Stops the running job.
    Stop,
    /// Resumes it with a fresh iteration budget.
    Resume,
    /// Approves it against the review; needs a reason.
    Approve,
    /// Sends it back to the agent; needs a note.
    SendBack,
    /// Retries the failed job.
    Retry,
    /// Moves it to another column.
    Move(Status),
}

impl Action {
    /// The event of this action; an error for a column that people cannot move features to.
    pub fn event(&self) -> Result<Event, IllegalTransition> {
        match self {
            Self::Start => Ok(Event::Start),
            Self::Stop => Ok(Event::Stop),
            Self::Resume => Ok(Event::Resume),
            Self::Approve => Ok(Event::Approve),
            Self::SendBack => Ok(Event::SendBack),
            Self::Retry => Ok(Event::Retry),
            Self::Move(status) => moved(status),
        }
    }

    /// The name in API paths.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::SendBack => "reject",
            Self::Retry => "retry",
            Self::Move(_) => "move",
        }
    }

    /// The status after the action.
    pub fn target(&self, state: &State, rules: &Rules) -> Result<Status, IllegalTransition> {
        let (after, _) = next(state, &self.event()?, rules).map_err(|illegal| self.reword(illegal))?;
        Ok(after.status)
    }

    /// Rewords a refusal for this action: dragging a card does not edit a file.
    #[must_use]
    pub fn reword(&self, illegal: IllegalTransition) -> IllegalTransition {
        match self {
            Self::Move(Status::WaitingApproval | Status::Verified) => {
                IllegalTransition { event: "move it there", ..illegal }
            }
            _ => illegal,
        }
    }
}

/// The event of a move to a column.
fn moved(status: &Status) -> Result<Event, IllegalTransition> {
    let refused = |why: String| Err(IllegalTransition { event: "move it there", why });
    match status {
        Status::Backlog => Ok(Event::Shelve),
        Status::Completed => Ok(Event::Complete),
        Status::InProgress => Ok(Event::Start),
        Status::WaitingApproval | Status::Verified => Ok(Event::Edited(status.clone())),
        Status::CodeReview => {
            refused("a feature enters code review by itself, once an agent's work is committed".to_owned())
        }
        Status::Step(step) => {
            refused(format!("a feature enters the step `{step}` by itself, once it has passed the gate"))
        }
        Status::Other(word) => refused(format!("the status `{word}` belongs to another program")),
    }
}

/// An action and its target status, or why it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableAction {
    /// The action.
    pub action: Action,
    /// The status after the action, or the refusal.
    pub target: Result<Status, IllegalTransition>,
}

/// All actions on a feature: the buttons, then a move to each other column in the order of the board.
#[must_use]
pub fn available_actions(state: &State, rules: &Rules) -> Vec<AvailableAction> {
    let steps = rules.steps.iter().cloned().map(Status::Step);
    let columns = [Status::Backlog, Status::InProgress, Status::CodeReview].into_iter().chain(steps).chain([
        Status::WaitingApproval,
        Status::Verified,
        Status::Completed,
    ]);
    let own = [Action::Start, Action::Stop, Action::Resume, Action::Approve, Action::SendBack, Action::Retry];
    let moves = columns.filter(|status| *status != state.status).map(Action::Move);
    own.into_iter().chain(moves).map(|action| AvailableAction { target: action.target(state, rules), action }).collect()
}

/// The action that brings a feature to a column: the move, or another action with that target, such as sending it back.
///
/// Returns the refusal of the move when no action leads there.
pub fn action_towards(status: &Status, state: &State, rules: &Rules) -> Result<Action, IllegalTransition> {
    let plain = if *status == Status::InProgress { Action::Start } else { Action::Move(status.clone()) };
    let why_not = match plain.target(state, rules) {
        Ok(_) => return Ok(plain),
        Err(illegal) => illegal,
    };
    let others = [Action::Approve, Action::SendBack, Action::Retry, Action::Resume, Action::Stop];
    let leads_there = |action: &Action| action.target(state, rules).is_ok_and(|target| target == *status);
    let other = others.into_iter().find(|act| *status != state.status && leads_there(act));
    other.ok_or(why_not)
}
