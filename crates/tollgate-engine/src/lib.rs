//! The review as work: git, reviewers, configuration and the review pipeline.
//!
//! A change is fetched ([`forge`]), reviewers look at it ([`reviewer`]), what
//! they say becomes a review ([`pipeline`]), as the settings want it
//! ([`config`]). What goes wrong on the way is a [`failure::Failure`].
//!
//! `config, failure ← forge, reviewer ← pipeline`; `forge` and `reviewer` do
//! not name one another. Nothing here prints.

pub mod board;
pub mod config;
pub mod dismissals;
pub mod failure;
pub mod forge;
pub mod history;
pub mod pipeline;
pub mod process;
pub mod reviewer;
pub mod store;
mod tree;
