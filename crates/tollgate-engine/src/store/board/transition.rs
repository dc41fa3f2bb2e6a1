//! The one way in which a feature changes its state, and the record of it.
//!
//! What happened is held against the state that is stored, by `machine::next`. Then everything that follows is stored
//! together. An approval or a rejection is taken only with the review it stands on, of that very commit; a person's
//! approval only with a reason.

use std::fmt;
use std::path::PathBuf;

use tollgate_core::board::machine::{self, Effect, Event, Illegal, Rules, State};
use tollgate_core::board::{FeatureId, Iteration, Outcome, Override};

use super::feature::{self, FeatureRow};
use super::work::{self, FencingToken, Settling};
use super::{NewEvent, NewIteration, event, iteration, state};
use crate::failure::Failure;
use crate::store::sql::{self, Connection, Row, WriteMode, params};
use crate::store::{Database, database, number};

/// What is to be announced, from the feature afterwards, its state before, and what follows.
pub type Announce = Box<dyn FnOnce(&FeatureRow, &State, &[Effect]) -> Vec<NewEvent> + Send>;

/// Something happened to a feature.
pub struct Transition {
    /// The project.
    pub project: i64,
    /// The feature.
    pub feature: FeatureId,
    /// What happened.
    pub event: Event,
    /// What the project wants.
    pub rules: Rules,
    /// Who did it.
    pub who: String,
    /// What they said.
    pub note: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The claim in whose name it is said; refused when it is not the current one.
    pub token: Option<FencingToken>,
    /// Whether the claim goes on with what is owed next.
    pub hold: Hold,
    /// A review that finished with it.
    pub iteration: Option<NewIteration>,
    /// Why a person lets it pass. An approval by hand needs one.
    pub overridden: Option<Override>,
    /// What else changes.
    pub set: Changes,
    /// What is to be announced.
    pub announce: Announce,
}

impl Transition {
    /// Something that happened, with nothing besides.
    #[must_use]
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
            hold: Hold::default(),
            iteration: None,
            overridden: None,
            set: Changes::default(),
            announce: silence(),
        }
    }
}

/// Announces nothing.
#[must_use]
pub fn silence() -> Announce {
    Box::new(|_, _, _| Vec::new())
}

/// Whether whoever has claimed the work of a feature goes on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    /// What is owed next is free for anybody.
    #[default]
    LetGo,
    /// What is owed next is done by the same, under the same token.
    Keep,
}

/// What becomes of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Field<T> {
    /// It stays.
    #[default]
    Keep,
    /// There is nothing any more.
    Clear,
    /// It is this from now on.
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

/// What changes of a feature besides its state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Changes {
    /// The branch on which it is made.
    pub branch: Field<String>,
    /// The branch for which it is made.
    pub target: Field<String>,
    /// The commit with which it began.
    pub base: Field<String>,
    /// Its work tree.
    pub worktree: Field<PathBuf>,
    /// What went wrong, for people.
    pub problem: Field<String>,
    /// What a person says to the next agent.
    pub note: Field<String>,
    /// What the project's hooks said.
    pub hook_output: Field<String>,
    /// The time before which what is owed is not to be done; who has claimed it lets go.
    pub not_before_ms: Option<u64>,
    /// What was spent, in US dollars.
    pub add_cost_usd: f64,
    /// How many tokens were used.
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
        // What a provider says it cost is a claim like any other.
        if self.add_cost_usd.is_finite() {
            feature.cost_usd += self.add_cost_usd.max(0.0);
        }
        feature.n_tokens = feature.n_tokens.saturating_add(self.add_tokens);
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Transitioned {
    /// The feature afterwards.
    pub feature: FeatureRow,
    /// What is to be done besides the work that is owed.
    pub effects: Vec<Effect>,
    /// The number of the last event.
    pub last_seq: u64,
}

/// Why nothing came of it. Nothing is stored then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// It cannot happen to a feature that is where it is.
    #[error("{0}")]
    Illegal(#[from] Illegal),
    /// Somebody else has claimed the work by now, or it is not owed any more.
    #[error("the work was taken over by somebody else, or is not to be done any more")]
    Stale,
    /// There is no feature of this name.
    #[error("there is no such feature")]
    NoSuchFeature,
    /// What it stands on is missing.
    #[error("{0}")]
    Unfounded(&'static str),
    /// It could not be stored.
    #[error("{0}")]
    Failure(Failure),
}

/// Something that happened to a feature, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionRow {
    /// The change of the feature that it made.
    pub rev: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Who did it.
    pub who: String,
    /// What happened, in a word; besides those of events there are `added`, `edit_refused` and `deleted`.
    pub event: String,
    /// What they said.
    pub note: Option<String>,
    /// Where the feature was.
    pub from: Option<State>,
    /// Where it is since then.
    pub to: State,
    /// The review that finished with it.
    pub iteration: Option<i64>,
}

impl Database {
    /// Lets something happen to a feature, and stores all that follows.
    pub fn transition(&self, transition: Transition) -> Result<Transitioned, TransitionError> {
        self.decide(move |connection| change(connection, transition)).map_err(TransitionError::Failure)?
    }

    /// Lets something happen to a feature without waiting; `done` is told on another thread what came of it.
    pub fn transition_then(
        &self,
        transition: Transition,
        done: impl FnOnce(Result<Transitioned, TransitionError>) + Send + 'static,
    ) {
        let change = move |connection: &Connection| change(connection, transition);
        self.submit(WriteMode::Exclusive, change, |decided| {
            done(decided.map_err(TransitionError::Failure).and_then(|decided| decided))
        });
    }

    /// What happened to a feature, oldest first.
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
    add_words(connection, &transition)?;
    let happening = Happening {
        who: &transition.who,
        word: event.as_str(),
        note: transition.note.as_deref().or(transition.overridden.as_ref().map(|by| by.reason.as_str())),
        at_ms: *at_ms,
        iteration: row,
    };
    record(connection, &feature, Some(&before), &happening)?;
    let keep = token.is_some() && transition.hold == Hold::Keep;
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

/// Nobody passes the gate, or is sent back by it, without what that stands on.
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
            _ => Err("an approval by hand needs somebody who gives a reason"),
        },
        _ => Ok(()),
    }
}

/// Adds to the last review what a person says of it.
fn add_words(connection: &Connection, transition: &Transition) -> sql::Result<()> {
    let Transition { project, feature, .. } = transition;
    match (&transition.event, &transition.overridden, &transition.note) {
        (Event::Approve, Some(by), _) => iteration::add_override(connection, *project, feature, by),
        (Event::SendBack, _, Some(note)) => iteration::add_note(connection, *project, feature, note),
        _ => Ok(()),
    }
}

/// Something that happened, to be recorded.
pub(super) struct Happening<'a> {
    pub(super) who: &'a str,
    pub(super) word: &'a str,
    pub(super) note: Option<&'a str>,
    pub(super) at_ms: u64,
    pub(super) iteration: Option<i64>,
}

/// Records what happened to a feature, with where it was and where it is.
pub(super) fn record(
    connection: &Connection,
    feature: &FeatureRow,
    before: Option<&State>,
    happening: &Happening<'_>,
) -> sql::Result<()> {
    connection.execute(
        "INSERT INTO transition (project, feature, rev, at_ms, who, event, note, from_state, to_state, iteration) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            feature.project,
            feature.id.as_str(),
            feature.rev,
            number(happening.at_ms),
            happening.who,
            happening.word,
            happening.note,
            before.map(state::to_json).transpose()?,
            state::to_json(&feature.state)?,
            happening.iteration,
        ],
    )?;
    Ok(())
}

fn of_row(row: &Row<'_>) -> sql::Result<TransitionRow> {
    let (from, to): (Option<String>, String) = (row.get("from_state")?, row.get("to_state")?);
    Ok(TransitionRow {
        rev: row.get("rev")?,
        at_ms: row.get("at_ms")?,
        who: row.get("who")?,
        event: row.get("event")?,
        note: row.get("note")?,
        from: from.as_deref().map(state::of_json).transpose()?,
        to: state::of_json(&to)?,
        iteration: row.get("iteration")?,
    })
}

impl fmt::Debug for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transition").field("feature", &self.feature).field("event", &self.event).finish_non_exhaustive()
    }
}
