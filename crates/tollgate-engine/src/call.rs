//! What comes of asking a model or an agent for something: a reply or a failure, and signs of life until then.
//!
//! Nothing is asked here, and nothing of a reply is read.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What came back, whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// What was said.
    pub text: String,
    /// What was returned as structured output or as a tool call.
    pub structured: Option<Value>,
    /// Why it ended.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
    /// What it cost in US dollars, where the other side says so.
    pub cost: Option<f64>,
    /// Which model answered, where the other side says so.
    pub model: Option<String>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// It was finished.
    #[default]
    Finished,
    /// It was as long as it may be.
    Length,
    /// The model or its provider would not answer.
    Refused,
}

/// What a call took, in tokens as the other side counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// What was read, cached or not.
    pub input: u64,
    /// What of it came from a cache.
    pub cached: u64,
    /// What was written.
    pub output: u64,
}

impl Usage {
    /// Adds what another call took. The figures are the other side's, which may say anything.
    pub fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}

/// A call that brought no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// What kind of failure it is.
    pub why: Why,
    /// What happened, for people: without keys, lower case, no period.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How often it was tried.
    pub n_tries: u32,
}

/// Why a call brought no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It cannot work as it is set up: no key, no such model, no such program.
    Setup,
    /// The other side is overloaded, or limits how often it is asked.
    Overloaded,
    /// The other side failed, or cannot be reached.
    Unavailable,
    /// It took too long, as a whole or between two signs of life.
    TooSlow,
    /// What came back is not what was agreed on: cut, garbage, too much.
    Garbled,
    /// Somebody stopped it.
    Cancelled,
    /// An agent did what a reviewer must not do.
    Misbehaved,
}

/// How long a call may take, who may stop it, and who is told how it goes.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// When it is over, whatever has come until then.
    pub deadline: Instant,
    /// How long to wait for the next sign of life.
    pub idle: Duration,
    /// Stops it.
    pub cancel: &'a CancellationToken,
    /// Is told how it goes.
    pub heard: &'a (dyn Fn(Heard) + Sync),
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The question is on its way.
    Sent,
    /// So many more bytes of the answer came.
    Answer(usize),
    /// The model is at work without answering yet: it thinks, or uses a tool with this name.
    Working(String),
    /// It is tried once more after so long, because of this.
    Retry {
        /// How long until then.
        after: Duration,
        /// What went wrong.
        because: String,
    },
}
