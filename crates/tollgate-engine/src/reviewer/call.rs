//! One question to a model or an agent.
//!
//! A [`Backend`] sends a [`Question`] and returns a [`Reply`]: it enforces timeouts and retries transient failures with
//! backoff. It does not parse the reply; `core::answer` does.

use serde_json::Value;

pub use crate::call::{CallControl, CallFailure, CallProgress, FailureCause, Reply, StopReason, Usage};

/// A question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The system prompt: role and form of the answer.
    pub system: String,
    /// The prefix that all questions of a review share: project, intent, focus. Providers cache it.
    pub shared: String,
    /// The part of the change that this question is about.
    pub part: String,
    /// The JSON Schema of the answer.
    pub schema: Value,
    /// The invalid answer to be repaired, when it is asked for once more.
    pub repair: Option<Repair>,
}

/// An answer that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The answer.
    pub answer: String,
    /// The instruction to the model.
    pub request: String,
}

/// The transport to a reviewer: a provider's service or an agent's program.
pub trait Backend: Send + Sync {
    /// Sends a question and waits for the complete reply.
    fn ask(&self, question: &Question, watch: &CallControl<'_>) -> Result<Reply, CallFailure>;
}
