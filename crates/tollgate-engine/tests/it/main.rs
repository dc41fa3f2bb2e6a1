//! The engine on real repositories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod board_store;
mod commits;
mod compared;
mod compliance;
#[path = "../../../tollgate/tests/it/faults.rs"]
mod faults;
#[cfg(unix)]
mod folder;
mod gate;
mod generated;
mod github;
mod hostile;
mod known;
mod model;
mod place;
mod planted;
mod provider;
#[cfg(unix)]
mod pulls;
mod read;
#[cfg(unix)]
mod remote;
mod reviewed;
mod scratch;
mod stored;
mod surroundings;
mod worktree;
