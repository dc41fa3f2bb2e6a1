//! The engine on real repositories.

mod compared;
mod hostile;
mod read;
mod reviewed;
mod scratch;
