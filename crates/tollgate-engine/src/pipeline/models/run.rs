//! What models and agents took.

use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{self, Failure};
use crate::reviewer::ask::Done;
use crate::reviewer::call::Usage;

/// What a model or agent took.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What it is called.
    pub name: String,
    /// Which model answered.
    pub model: Option<String>,
    /// How many calls were made.
    pub n_calls: usize,
    /// How many of them brought no answer.
    pub n_failed: usize,
    /// Tokens.
    pub usage: Usage,
    /// US dollars, where that is known.
    pub cost: Option<f64>,
    /// How long it took, from the first question to the last answer.
    pub time: Duration,
    /// Set when no call brought an answer.
    pub failure: Option<Failure>,
}

impl Run {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            model: None,
            n_calls: 0,
            n_failed: 0,
            usage: Usage::default(),
            cost: None,
            time: Duration::ZERO,
            failure: None,
        }
    }

    pub(super) fn add(&mut self, done: &Done) {
        self.n_calls += 1;
        self.usage.add(done.usage);
        self.cost = match (self.cost, done.cost) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
        };
        self.model = done.model.clone().or(self.model.take());
        self.time = self.time.max(done.ended);
    }

    pub(super) fn fail(&mut self, message: &str, hint: Option<String>) {
        self.n_failed += 1;
        // The first failure tells; later ones may only follow from it.
        self.failure.get_or_insert_with(|| failure::reviewer(&self.name, message, hint));
    }

    /// Forgets the failure of one that answered at least once: the hunks it missed are listed.
    pub(super) fn settle(&mut self) {
        if self.n_failed < self.n_calls {
            self.failure = None;
        }
    }

    /// What it took, as JSON.
    pub(in crate::pipeline) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "model": self.model,
            "calls": self.n_calls,
            "failed": self.n_failed,
            "tokens": { "input": self.usage.input, "cached": self.usage.cached, "output": self.usage.output },
            "cost_usd": self.cost.map(|cost| (cost * 1e6).round() / 1e6),
            "seconds": (self.time.as_secs_f64() * 10.0).round() / 10.0,
            "problem": self.failure.as_ref().map(|failure| &failure.message),
        })
    }
}
