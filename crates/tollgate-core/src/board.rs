//! The gate of an agent pipeline, as data: features, what may happen to them, and what a review of one says.
//!
//! A feature is a card. An agent implements it, the result is committed and reviewed, and the review lets it through or
//! sends it back with what was found, three times at most; then a person decides. [`machine::next`] is the one place
//! that knows what may follow what.
//!
//! Formats that others read (`feature.json`, events, commit messages) are kept to the byte here; files, processes and
//! the database are elsewhere.

pub mod brief;
pub mod commit;
pub mod criteria;
pub mod document;
pub mod id;
pub mod iteration;
pub mod machine;
pub mod spec;
pub mod wire;

pub use document::{Document, DocumentError};
pub use id::{FeatureId, StepId};
pub use iteration::{Compliance, Criterion, Iteration, Met, Outcome, Override, Remark};
