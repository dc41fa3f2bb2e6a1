//! The Kanban board of the agent pipeline as data: features, their state machine, and their reviews.
//!
//! A feature is a card. An agent implements it, the board commits and reviews the result, and the review approves it or
//! sends it back with its findings, three times at most; then a person decides. [`machine::next`] holds all
//! transitions.
//!
//! The formats of `feature.json`, events and commit messages are fixed to the byte. Files, processes and the database
//! are outside this crate.

pub mod agent_prompt;
pub mod code_review_spec;
pub mod commit;
pub mod criteria;
pub mod document;
pub mod feature_event;
pub mod id;
pub mod iteration;
pub mod machine;

pub use document::{Document, DocumentError};
pub use id::{FeatureId, StepId};
pub use iteration::{
    Compliance, Criterion, DOES_NOT_COUNT, Iteration, Met, NO_ANSWER, Outcome, Override, Remark, UNCHECKED,
    match_remarks, override_in_force,
};
