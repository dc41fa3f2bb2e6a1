//! The engine on real repositories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commits;
mod compared;
mod hostile;
mod known;
mod read;
mod reviewed;
mod scratch;
mod surroundings;
