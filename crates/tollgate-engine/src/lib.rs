//! The review as work: git, reviewers, configuration and the review pipeline.
//!
//! A change is fetched ([`forge`]), reviewers look at it ([`reviewer`]), what
//! they say becomes a review ([`pipeline`]), as the settings want it
//! ([`config`]). Programs that think for us are [`agent`]s. What goes wrong
//! on the way is a [`failure::Failure`].
//!
//! `config, failure, process ← agent ← forge, reviewer ← pipeline`; `forge`
//! and `reviewer` do not name one another. Nothing here prints.

pub mod agent;
pub mod board;
pub mod call;
pub mod config;
pub mod dismissals;
pub mod failure;
pub mod forge;
pub mod history;
mod lock;
mod net;
pub mod pipeline;
pub mod process;
pub mod pulls;
pub mod redaction;
pub mod reviewer;
pub mod store;
mod tree;
