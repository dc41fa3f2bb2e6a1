//! Stores feature states: in columns, and as JSON in the history.
//!
//! ```json
//! {"status":"in_progress","work":"queued","pause":null,"iteration":1,"round":1,"review":"pending","tries":0,
//!  "restarts":0,"hook_failed":false,"commit":null,"committed":false,"stale":false,"stepped":false}
//! ```

use serde::{Deserialize, Serialize};
use tollgate_core::board::machine::{Pause, Review, State, Status, Work};

use super::damaged;
use crate::store::sql::{self, Row};

/// The stored form of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredState {
    pub(super) status: String,
    pub(super) work: String,
    pub(super) pause: Option<String>,
    pub(super) iteration: u32,
    pub(super) round: u32,
    pub(super) review: String,
    pub(super) tries: u32,
    pub(super) restarts: u32,
    pub(super) hook_failed: bool,
    pub(super) commit: Option<String>,
    pub(super) committed: bool,
    pub(super) stale: bool,
    pub(super) stepped: bool,
}

impl From<&State> for StoredState {
    fn from(state: &State) -> Self {
        Self {
            status: state.status.to_string(),
            work: state.work.as_str().to_owned(),
            pause: state.pause.map(|pause| pause.as_str().to_owned()),
            iteration: state.iteration,
            round: state.round,
            review: state.review.as_str().to_owned(),
            tries: state.tries,
            restarts: state.restarts,
            hook_failed: state.hook_failed,
            commit: state.commit.clone(),
            committed: state.committed,
            stale: state.stale,
            stepped: state.stepped,
        }
    }
}

impl TryFrom<StoredState> for State {
    type Error = String;

    fn try_from(stored: StoredState) -> Result<Self, String> {
        let unknown = |what: &str, word: &str| format!("`{word}` is no {what}");
        let pause = |word: String| Pause::parse(&word).ok_or_else(|| unknown("pause", &word));
        Ok(Self {
            status: Status::parse(&stored.status),
            work: Work::parse(&stored.work).ok_or_else(|| unknown("work", &stored.work))?,
            pause: stored.pause.map(pause).transpose()?,
            iteration: stored.iteration,
            round: stored.round,
            review: Review::parse(&stored.review).ok_or_else(|| unknown("review", &stored.review))?,
            tries: stored.tries,
            restarts: stored.restarts,
            hook_failed: stored.hook_failed,
            commit: stored.commit,
            committed: stored.committed,
            stale: stored.stale,
            stepped: stored.stepped,
        })
    }
}

/// The columns of a state, in the order of [`of_row`].
pub(super) const COLUMNS: &str = "status, work, pause, iteration, round, review, tries, restarts, hook_failed, commit_id, \
                                  committed, stale, stepped";

/// Reads a state from the first columns of a row. By position, since the board reads thousands of rows.
pub(super) fn of_row(row: &Row<'_>) -> sql::Result<State> {
    let stored = StoredState {
        status: row.get(0)?,
        work: row.get(1)?,
        pause: row.get(2)?,
        iteration: row.get(3)?,
        round: row.get(4)?,
        review: row.get(5)?,
        tries: row.get(6)?,
        restarts: row.get(7)?,
        hook_failed: row.get(8)?,
        commit: row.get(9)?,
        committed: row.get(10)?,
        stale: row.get(11)?,
        stepped: row.get(12)?,
    };
    State::try_from(stored).map_err(damaged)
}

/// Serializes a state.
pub(super) fn to_json(state: &State) -> sql::Result<String> {
    serde_json::to_string(&StoredState::from(state)).map_err(|error| damaged(error.to_string()))
}

/// Parses a serialized state.
pub(super) fn of_json(text: &str) -> sql::Result<State> {
    let stored: StoredState = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    State::try_from(stored).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state() -> impl Strategy<Value = State> {
        let status = prop_oneof!["[a-z_]{0,20}", "pipeline_[a-z0-9]{1,9}", "waiting_approval|verified|\\PC{0,9}"];
        let choice = (0..Work::ALL.len(), prop::option::of(0..Pause::ALL.len()), 0..Review::ALL.len());
        let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
        let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
        let commit = prop::option::of("\\PC{0,40}");
        (status, choice, flags, numbers, commit).prop_map(|(status, choice, flags, numbers, commit)| State {
            status: Status::parse(&status),
            work: Work::ALL[choice.0],
            pause: choice.1.map(|index| Pause::ALL[index]),
            iteration: numbers.0,
            round: numbers.1,
            review: Review::ALL[choice.2],
            tries: numbers.2,
            restarts: numbers.3,
            hook_failed: flags.0,
            commit,
            committed: flags.3,
            stale: flags.1,
            stepped: flags.2,
        })
    }

    proptest! {
        #[test]
        fn stored_states_round_trip(state in state()) {
            prop_assert_eq!(of_json(&to_json(&state).unwrap()).unwrap(), state);
        }
    }

    #[test]
    fn a_state_with_unknown_words_is_corrupt() {
        let text = to_json(&State::new()).unwrap();
        for (word, other) in
            [("\"nothing\"", "\"resting\""), ("\"pending\"", "\"liked\""), ("\"pause\":null", "\"pause\":\"tea\"")]
        {
            let error = of_json(&text.replacen(word, other, 1)).unwrap_err().to_string();
            assert!(error.contains("is no "), "{error}");
        }
    }
}
