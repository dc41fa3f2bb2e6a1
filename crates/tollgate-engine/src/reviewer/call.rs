//! One question to a model or an agent.
//!
//! A [`Backend`] delivers a [`Question`] and brings back a [`Reply`]: it keeps the limits and retries what is worth
//! retrying. It does not read the reply: what a model said is text until `core::answer` has read it.

use serde_json::Value;

pub use crate::call::{CallFailure, Heard, Reply, Stop, Usage, Watch, Why};

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Who it is to be and how it is to answer.
    pub system: String,
    /// What all questions of a review begin with: the project, the intent, what to look for.
    pub shared: String,
    /// What this question is about: its part of the change.
    pub part: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// An answer that could not be read, when it is asked for once more.
    pub repair: Option<Repair>,
}

/// An answer that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// What was answered.
    pub answer: String,
    /// What the model is told about it.
    pub request: String,
}

/// Whoever can be asked: a provider's service or an agent's program.
pub trait Backend: Send + Sync {
    /// Asks and waits for the whole reply.
    fn ask(&self, question: &Question, watch: &Watch<'_>) -> Result<Reply, CallFailure>;
}
