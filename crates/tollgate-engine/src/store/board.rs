//! Tables of the board: projects, features, reviews, transitions, queued jobs, and events.
//!
//! All of it are methods of [`Database`](super::Database). The state of a feature changes in one way only,
//! [`transition`](super::Database::transition): the new state, the transition's record, a finished review, the next
//! job and the events are stored in one transaction.
//!
//! ```text
//! project ─► feature ─► iteration    finished reviews, immutable
//! │ ├───► transition   the history, immutable
//! │ └───► work         the queued job and its lease
//! └─────► event        the event log
//! ```
//!
//! The legal transitions are decided by `tollgate_core::board::machine`. Files are not accessed here.

use tollgate_core::board::FeatureId;

use super::sql;

mod card;
mod event;
mod failure;
mod feature;
mod file;
mod iteration;
mod overview;
mod project;
mod state;
mod transition;
mod work;

pub use crate::store::queue::{FencingToken, LeaseRequest};
pub use card::{Blocker, Card, CardFilter, Counts, Lane, Order, Progress};
pub use event::{EventRow, NewEvent};
pub(super) use event::{announce_run, insert as announce_in};
pub use feature::{Facts, FeatureRow, NewFeature};
pub use file::{FileImport, FileImported, Projected, Unprojected};
pub(super) use iteration::override_of_run;
pub use iteration::{IterationRow, NewIteration};
pub use overview::ReviewedRow;
pub use project::{ProjectOf, ProjectRow};
pub use transition::{
    Announce, Changes, Field, LeaseAfter, Transition, TransitionError, TransitionRow, Transitioned, silence,
};
pub use work::{Candidate, Claim, ClaimRequest, ConcurrencyLimit, ProcessRow};

/// A value in the database is corrupt.
fn damaged(problem: impl Into<String>) -> sql::Error {
    sql::Error::Damaged(problem.into())
}

/// Parses a feature id of a column.
fn id(text: String) -> sql::Result<FeatureId> {
    FeatureId::parse(&text).map_err(|error| damaged(format!("`{text}` is no name of a feature: {error}")))
}

/// Parses a JSON list of a column.
fn strings(text: &str) -> sql::Result<Vec<String>> {
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}
