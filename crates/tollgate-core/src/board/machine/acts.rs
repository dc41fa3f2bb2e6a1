//! What a person may do to a feature where it is, where that leads, and why the rest is not possible.
//!
//! Nothing is decided here: each act is tried with [`next`](super::next), so that a page which offers acts cannot
//! disagree with the board that does them.
//!
//! ```text
//! paused in code_review:  approve -> waiting_approval, move to backlog -> backlog, …
//!                         start: starting it is not possible: it waits for a person, because …
//! ```

use super::{Event, Illegal, Rules, State, Status, next};

/// Something a person does to a feature.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Act {
    /// Has it done.
    Start,
    /// Ends the work on it.
    Stop,
    /// Has it go on, with more rounds.
    Resume,
    /// Lets it pass, whatever the review says; with a reason.
    Approve,
    /// Sends it back to the agent; with a note.
    SendBack,
    /// Has tried again what failed.
    Retry,
    /// Puts it into another column.
    Move(Status),
}

impl Act {
    /// What happens to a feature by this act. Some columns are not for people to put features into.
    pub fn event(&self) -> Result<Event, Illegal> {
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

    /// The word for it in addresses.
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

    /// True when it is a person's decision that has to be said in words: a reason, or a note to the agent.
    #[must_use]
    pub fn needs_words(&self) -> bool {
        matches!(self, Self::Approve | Self::SendBack)
    }

    /// Where the feature would be after it.
    pub fn leads(&self, state: &State, rules: &Rules) -> Result<Status, Illegal> {
        let (after, _) = next(state, &self.event()?, rules).map_err(|illegal| self.said_of(illegal))?;
        Ok(after.status)
    }

    /// A refusal of this act. Whoever drags a card edits no file.
    #[must_use]
    pub fn said_of(&self, illegal: Illegal) -> Illegal {
        match self {
            Self::Move(Status::WaitingApproval | Status::Verified) => Illegal { event: "moving it there", ..illegal },
            _ => illegal,
        }
    }
}

/// What moving a feature into a column means.
fn moved(status: &Status) -> Result<Event, Illegal> {
    let refused = |why: String| Err(Illegal { event: "moving it there", why });
    match status {
        Status::Backlog => Ok(Event::Shelve),
        Status::Completed => Ok(Event::Complete),
        Status::InProgress => Ok(Event::Start),
        Status::WaitingApproval | Status::Verified => Ok(Event::Edited(status.clone())),
        Status::CodeReview => {
            refused("a feature comes to the gate by itself, once the work of an agent is committed".to_owned())
        }
        Status::Step(step) => {
            refused(format!("a feature comes to the step `{step}` by itself, once the gate lets it pass"))
        }
        Status::Other(word) => refused(format!("the status `{word}` belongs to another program")),
    }
}

/// An act, and where it leads or why it is not possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The act.
    pub act: Act,
    /// The column in which the feature would be then, or why it cannot be done.
    pub leads: Result<Status, Illegal>,
}

/// All acts of a person on a feature: those that are no move, then a move into each other column, in the order of the
/// board.
#[must_use]
pub fn acts(state: &State, rules: &Rules) -> Vec<Offer> {
    let steps = rules.steps.iter().cloned().map(Status::Step);
    let columns = [Status::Backlog, Status::InProgress, Status::CodeReview].into_iter().chain(steps).chain([
        Status::WaitingApproval,
        Status::Verified,
        Status::Completed,
    ]);
    let own = [Act::Start, Act::Stop, Act::Resume, Act::Approve, Act::SendBack, Act::Retry];
    let moves = columns.filter(|status| *status != state.status).map(Act::Move);
    own.into_iter().chain(moves).map(|act| Offer { leads: act.leads(state, rules), act }).collect()
}

/// The act by which a person brings a feature into a column: the move there, or what else leads there when that is not
/// possible, as sending it back leads to the agent.
///
/// Gives the reason against the move when nothing leads there.
pub fn way_to(status: &Status, state: &State, rules: &Rules) -> Result<Act, Illegal> {
    let plain = if *status == Status::InProgress { Act::Start } else { Act::Move(status.clone()) };
    let why_not = match plain.leads(state, rules) {
        Ok(_) => return Ok(plain),
        Err(illegal) => illegal,
    };
    let others = [Act::Approve, Act::SendBack, Act::Retry, Act::Resume, Act::Stop];
    let leads_there = |act: &Act| act.leads(state, rules).is_ok_and(|leads| leads == *status);
    let other = others.into_iter().find(|act| *status != state.status && leads_there(act));
    other.ok_or(why_not)
}
