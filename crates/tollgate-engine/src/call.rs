//! The result of a call to a model or an agent: a reply or a failure, and progress events until then.
//!
//! The types only; calls are made by the backends, and replies are parsed by `core::answer`.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Its structured output or tool call.
    pub structured: Option<Value>,
    /// Why it ended.
    pub stop: StopReason,
    /// The tokens it used.
    pub usage: Usage,
    /// Its cost in US dollars, if the provider reports it.
    pub cost: Option<f64>,
    /// The model that answered, if the provider reports it.
    pub model: Option<String>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopReason {
    /// The model finished it.
    #[default]
    Finished,
    /// It reached the length limit.
    Length,
    /// The model or its provider refused to answer.
    Refused,
}

/// The tokens of a call, as the provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read, cached or not.
    pub input: u64,
    /// Tokens read from the provider's cache.
    pub cached: u64,
    /// Tokens written.
    pub output: u64,
}

impl Usage {
    /// Adds the tokens of another call. Saturates, because the provider's figures are untrusted.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}

/// A call without a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// The cause, to branch on.
    pub why: FailureCause,
    /// The message for people: keys redacted, lower case, no period.
    pub message: String,
    /// A remedy, as full sentences.
    pub hint: Option<String>,
    /// The number of attempts.
    pub n_tries: u32,
}

/// Why a call has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The configuration is wrong: no key, no such model, no such program.
    Setup,
    /// The provider is overloaded or enforces a rate limit.
    Overloaded,
    /// The provider failed or is unreachable.
    Unavailable,
    /// A timeout, of the whole call or between two progress events.
    TooSlow,
    /// The reply violates the protocol: truncated, garbled or too large.
    Garbled,
    /// The call was cancelled.
    Cancelled,
    /// An agent did what a reviewer must not do.
    Misbehaved,
}

/// Timeouts, cancellation and the progress callback of a call.
#[derive(Clone, Copy)]
pub struct CallControl<'a> {
    /// The time when the call is aborted.
    pub deadline: Instant,
    /// The idle timeout: the longest time between two progress events.
    pub idle: Duration,
    /// Cancels the call.
    pub cancel: &'a CancellationToken,
    /// Receives progress events.
    pub heard: &'a (dyn Fn(CallProgress) + Sync),
}

/// A progress event of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallProgress {
    /// The request was sent.
    Sent,
    /// More of the answer arrived, cut anywhere; not redacted yet.
    Answer(String),
    /// The model thinks, or uses the tool with this name.
    Working(String),
    /// The call is retried after a backoff.
    Retry {
        /// The backoff.
        after: Duration,
        /// The reason.
        because: String,
    },
}
