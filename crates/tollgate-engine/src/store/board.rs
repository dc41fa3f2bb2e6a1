//! The board: projects, features, their reviews, what happened to them, what is owed to them, what was announced.
//!
//! All of it are methods of [`Database`](super::Database). A feature changes its state in one way only,
//! [`transition`](super::Database::transition): the new state, the record of what happened, a finished review, the work
//! that is owed next and the announcements are stored together or not at all.
//!
//! ```text
//! project ─► feature ─► iteration    finished reviews, never changed
//!               │ ├───► transition   what happened, never changed
//!               │ └───► work         what is owed, and who does it
//!               └─────► event        what was announced
//! ```
//!
//! What may follow what is not decided here but by `tollgate_core::board::machine`. Files are none of its business.

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

pub use card::{Blocker, Card, CardFilter, Counts, Lane, Order, Progress};
pub use event::{EventRow, NewEvent};
pub(super) use event::{announce_run, insert as announce_in};
pub use feature::{Facts, FeatureRow, NewFeature};
pub use file::{Projected, TakeIn, TakenIn, Unprojected};
pub use iteration::{IterationRow, NewIteration};
pub use overview::ReviewedRow;
pub use project::{ProjectOf, ProjectRow};
pub use transition::{
    Announce, Changes, Field, Hold, Transition, TransitionError, TransitionRow, Transitioned, silence,
};
pub use work::{Candidate, Claim, ClaimRequest, ConcurrencyLimit, FencingToken, ProcessRow};

/// What stands in the database is not what was put there.
fn damaged(problem: impl Into<String>) -> sql::Error {
    sql::Error::Damaged(problem.into())
}

/// The name of a feature out of a column.
fn id(text: String) -> sql::Result<FeatureId> {
    FeatureId::parse(&text).map_err(|error| damaged(format!("`{text}` is no name of a feature: {error}")))
}

/// A list of texts out of a column.
fn strings(text: &str) -> sql::Result<Vec<String>> {
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}
