//! Transitions: the only way in which the state of a feature changes, and their history.
//!
//! The event is checked against the stored state by `machine::next`. Then all consequences are stored in one
//! transaction. An approval or rejection by the gate requires the review of that commit; an approval by a person
//! requires a reason.

use std::fmt;
use std::path::PathBuf;

use tollgate_core::board::machine::{self, Effect, Event, IllegalTransition, Rules, State};
use tollgate_core::board::{FeatureId, Iteration, Outcome, Override};

use super::feature::{self, FeatureRow};
use super::work::{self, Settling};
use super::{NewEvent, NewIteration, event, iteration, state};
use crate::failure::Failure;
use crate::store::queue::FencingToken;
use crate::store::sql::{self, Connection, Row, from_row, params};
use crate::store::{Database, RunRecord, database, number, record as runs};

/// Builds the events of a transition from the feature afterwards, the state before, and the effects.
pub type Announce = Box<dyn FnOnce(&FeatureRow, &State, &[Effect]) -> Vec<NewEvent> + Send>;

/// A transition to apply.
pub struct Transition {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// The event.
    pub event: Event,
    /// The rules of the project.
    pub rules: Rules,
    /// The actor.
    pub who: String,
    /// The actor's note.
    pub note: Option<String>,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The fencing token of the job; a stale one is refused.
    pub token: Option<FencingToken>,
    /// Whether the lease is kept for the next job.
    pub hold: LeaseAfter,
    /// The review that finished.
    pub iteration: Option<NewIteration>,
    /// A review that decided nothing: it is no iteration, and later reviews know what it left open.
    pub undecided: Option<RunRecord>,
    /// The reason of a person's approval, which requires one.
    pub overridden: Option<Override>,
    /// Other changes.
    pub set: Changes,
    /// The events to append.
    pub announce: Announce,
}

impl Transition {
    /// A transition with defaults.
    pub fn new(project: i64, feature: &FeatureId, event: Event, who: &str, at_ms: u64) -> Self {
        Self {
            project,
            feature: feature.clone(),
            event,
            rules: Rules::default(),
            who: who.to_owned(),
            note: None,
            at_ms,
            token: None,
            hold: LeaseAfter::default(),
            iteration: None,
            undecided: None,
            overridden: None,
            set: Changes::default(),
            announce: silence(),
        }
    }
}

/// Appends no events.
pub fn silence() -> Announce {
    Box::new(|_, _, _| Vec::new())
}

/// The fate of the lease after a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeaseAfter {
    /// It is released.
    #[default]
    Release,
    /// It is kept for the next job, with the same fencing token.
    Keep,
}

/// The change of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Field<T> {
    /// Unchanged.
    #[default]
    Keep,
    /// Cleared.
    Clear,
    /// Set to a value.
    Set(T),
}

impl<T> Field<T> {
    fn apply(self, to: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *to = None,
            Self::Set(value) => *to = Some(value),
        }
    }
}

/// Changes of a feature besides its state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// Its branch.
    pub branch: Field<String>,
    /// Its target branch.
    pub target: Field<String>,
    /// The commit it started from.
    pub base: Field<String>,
    /// Its worktree.
    pub worktree: Field<PathBuf>,
    /// The error, for people.
    pub problem: Field<String>,
    /// A note of a person for the next agent.
    pub note: Field<String>,
    /// The output of the hooks.
    pub hook_output: Field<String>,
    /// The earliest time of the next job; releases the lease.
    pub not_before_ms: Option<u64>,
    /// The cost to add, in US dollars.
    pub add_cost_usd: f64,
    /// The number of tokens to add.
    pub add_tokens: u64,
}

impl Changes {
    pub(super) fn apply(self, feature: &mut FeatureRow) {
        self.branch.apply(&mut feature.branch);
        self.target.apply(&mut feature.target);
        self.base.apply(&mut feature.base);
        self.worktree.apply(&mut feature.worktree);
        self.problem.apply(&mut feature.problem);
        self.note.apply(&mut feature.note);
        self.hook_output.apply(&mut feature.hook_output);
        // The cost is reported by a provider and not trusted.
        if self.add_cost_usd.is_finite() {
            feature.cost_usd += self.add_cost_usd.max(0.0);
        }
        feature.n_tokens = feature.n_tokens.saturating_add(self.add_tokens);
    }
}

/// The result of a transition.
#[derive(Debug, Clone, PartialEq)]
pub struct Transitioned {
    /// The feature afterwards.
    pub feature: FeatureRow,
    /// The effects besides the next job.
    pub effects: Vec<Effect>,
    /// The number of the last event.
    pub last_seq: u64,
}

/// The reason why a transition was not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// The event is illegal in the current state.
    #[error("{0}")]
    Illegal(#[from] IllegalTransition),
    /// The lease was lost, or the job is no longer queued.
    #[error("the lease was lost or the job was cancelled")]
    Stale,
    /// There is no feature of this name.
    #[error("there is no such feature")]
    NoSuchFeature,
    /// The required review or reason is missing.
    #[error("{0}")]
    Unfounded(&'static str),
    /// The database failed.
    #[error("{0}")]
    Failure(Failure),
}

/// A stored transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRow {
    /// The revision it created.
    pub rev: u64,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The actor.
    pub who: String,
    /// The event; besides those of the machine there are `added`, `edit_refused` and `deleted`.
    pub event: String,
    /// The actor's note.
    pub note: Option<String>,
    /// The state before.
    pub from: Option<State>,
    /// The state afterwards.
    pub to: State,
    /// The review that finished.
    pub iteration: Option<i64>,
}

impl Database {
    /// Applies a transition and its consequences.
    pub fn transition(&self, transition: Transition) -> Result<Transitioned, TransitionError> {
        self.decide(move |connection| change(connection, transition)).map_err(TransitionError::Failure)?
    }

    /// The transitions of a feature, oldest first.
    pub fn transitions(&self, project: i64, feature: &FeatureId) -> Result<Vec<TransitionRow>, Failure> {
        let sql = "SELECT rev, at_ms, who, event, note, from_state, to_state, iteration FROM transition \
                   WHERE project = ?1 AND feature = ?2 ORDER BY rev";
        self.read(|connection| {
            connection.prepare(sql)?.query_map(params![project, feature.as_str()], of_row)?.collect()
        })
    }
}

fn change(connection: &Connection, transition: Transition) -> sql::Result<Result<Transitioned, TransitionError>> {
    let Transition { project, event, at_ms, token, set, .. } = &transition;
    let Some(mut feature) = feature::find(connection, *project, &transition.feature)? else {
        return Ok(Err(TransitionError::NoSuchFeature));
    };
    if token.is_some() && *token != work::token(connection, *project, &feature.id)? {
        return Ok(Err(TransitionError::Stale));
    }
    let before = feature.state.clone();
    let (after, effects) = match machine::next(&before, event, &transition.rules) {
        Ok(followed) => followed,
        Err(illegal) => return Ok(Err(illegal.into())),
    };
    if let Err(problem) = check_grounds(&transition, &before) {
        return Ok(Err(TransitionError::Unfounded(problem)));
    }
    feature.state = after;
    feature.rev += 1;
    feature.updated_ms = *at_ms;
    let not_before_ms = set.not_before_ms;
    set.clone().apply(&mut feature);
    feature::write(connection, &feature)?;
    feature::write_words(connection, &feature)?;
    let new = transition.iteration.as_ref();
    let row = new.map(|new| iteration::insert(connection, *project, &feature.id, new, *at_ms)).transpose()?;
    if let Some(run) = &transition.undecided {
        runs::record_in(connection, run)?;
    }
    add_words(connection, &transition)?;
    let entry = HistoryEntry {
        who: &transition.who,
        word: event.as_str(),
        note: transition.note.as_deref().or(transition.overridden.as_ref().map(|by| by.reason.as_str())),
        at_ms: *at_ms,
        iteration: row,
    };
    record(connection, &feature, Some(&before), &entry)?;
    let keep = token.is_some() && transition.hold == LeaseAfter::Keep;
    let settling = Settling {
        project: *project,
        feature: &feature.id,
        before: Some(&before),
        after: &feature.state,
        at_ms: *at_ms,
        keep: keep && not_before_ms.is_none(),
        release: token.is_some() && !keep,
        not_before_ms,
    };
    work::settle(connection, &settling)?;
    let at_ms = *at_ms;
    let events = (transition.announce)(&feature, &before, &effects);
    event::insert(connection, &events, at_ms)?;
    Ok(Ok(Transitioned { feature, effects, last_seq: database::last_seq(connection)? }))
}

/// Verifies that an approval or rejection has its required review or reason.
fn check_grounds(transition: &Transition, before: &State) -> Result<(), &'static str> {
    let iteration = transition.iteration.as_ref().map(|new| &new.iteration);
    if iteration.is_some_and(|iteration| iteration.number != before.iteration) {
        return Err("the review has another number than the iteration");
    }
    let is_of = |iteration: &Iteration, commit: &str, outcome: Outcome| {
        iteration.outcome == outcome && iteration.commit.as_deref() == Some(commit) && !iteration.outdated
    };
    let stands = |commit: &str, outcome| iteration.is_some_and(|iteration| is_of(iteration, commit, outcome));
    match &transition.event {
        Event::Approved(commit) if !stands(commit, Outcome::Approved) => {
            Err("an approval needs the review of that commit that approves")
        }
        Event::Rejected { commit, .. } if !stands(commit, Outcome::Rejected) => {
            Err("a rejection needs the review of that commit that rejects")
        }
        Event::Approve => match &transition.overridden {
            Some(by) if !by.who.trim().is_empty() && !by.reason.trim().is_empty() => Ok(()),
            _ => Err("a manual approval needs a person and a reason"),
        },
        _ => Ok(()),
    }
}

/// Records a person's note or override on the last review.
fn add_words(connection: &Connection, transition: &Transition) -> sql::Result<()> {
    let Transition { project, feature, .. } = transition;
    match (&transition.event, &transition.overridden, &transition.note) {
        (Event::Approve, Some(by), _) => iteration::add_override(connection, *project, feature, by),
        (Event::SendBack, _, Some(note)) => iteration::add_note(connection, *project, feature, note),
        _ => Ok(()),
    }
}

pub(super) struct HistoryEntry<'a> {
    pub(super) who: &'a str,
    pub(super) word: &'a str,
    pub(super) note: Option<&'a str>,
    pub(super) at_ms: u64,
    pub(super) iteration: Option<i64>,
}

/// Appends a history entry with the states before and after.
pub(super) fn record(
    connection: &Connection,
    feature: &FeatureRow,
    before: Option<&State>,
    entry: &HistoryEntry<'_>,
) -> sql::Result<()> {
    connection.execute(
        "INSERT INTO transition (project, feature, rev, at_ms, who, event, note, from_state, to_state, iteration) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            feature.project,
            feature.id.as_str(),
            feature.rev,
            number(entry.at_ms),
            entry.who,
            entry.word,
            entry.note,
            before.map(state::to_json).transpose()?,
            state::to_json(&feature.state)?,
            entry.iteration,
        ],
    )?;
    Ok(())
}

fn of_row(row: &Row<'_>) -> sql::Result<TransitionRow> {
    let (from, to): (Option<String>, String) = (row.get("from_state")?, row.get("to_state")?);
    Ok(from_row!(row => TransitionRow {
        rev, at_ms, who, event, note, iteration;
        from: from.as_deref().map(state::of_json).transpose()?,
        to: state::of_json(&to)?,
    }))
}

impl fmt::Debug for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transition").field("feature", &self.feature).field("event", &self.event).finish_non_exhaustive()
    }
}
