//! Calls, tokens, cost and time of models and agents.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::visible::grouped;

use crate::failure::{self, Failure};
use crate::reviewer::ask::CallResult;
use crate::reviewer::call::Usage;

/// Calls, tokens, cost and time of one model or agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewerRun {
    /// Its name.
    pub name: String,
    /// Which model answered.
    pub model: Option<String>,
    /// How many calls were made.
    pub n_calls: usize,
    /// How many of them returned no answer.
    pub n_failed: usize,
    /// Tokens read and written.
    pub usage: Usage,
    /// The cost in US dollars, where the price is known.
    pub cost: Option<f64>,
    /// The time from the first request to the last answer.
    pub time: Duration,
    /// Set when no call returned an answer.
    pub failure: Option<Failure>,
    /// True when the budget did not suffice for all calls.
    pub over_budget: bool,
}

impl ReviewerRun {
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
            over_budget: false,
        }
    }

    pub(super) fn add(&mut self, done: &CallResult) {
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
        // The first failure is the cause; later ones often follow from it.
        self.failure.get_or_insert_with(|| failure::reviewer(&self.name, message, hint));
    }

    /// Clears the failure of a reviewer that answered at least once: the hunks it missed are listed anyway.
    pub(super) fn settle(&mut self) {
        if self.n_failed < self.n_calls {
            self.failure = None;
        }
    }

    /// The figures in one line.
    pub fn in_words(&self) -> String {
        let mut line = self.name.clone();
        if self.n_calls == 0 {
            return line + ": not asked, since nothing was to be sent or nothing fits the budget";
        }
        if let Some(model) = self.model.as_deref().filter(|model| *model != self.name) {
            let _ = write!(line, " ({model})");
        }
        let calls = if self.n_calls == 1 { "1 call".to_owned() } else { format!("{} calls", self.n_calls) };
        let _ = write!(line, ": {calls} in {:.1} s", self.time.as_secs_f64());
        let _ = write!(line, ", {} tokens read", grouped(self.usage.input));
        if self.usage.cached > 0 {
            let _ = write!(line, " ({} cached)", grouped(self.usage.cached));
        }
        let _ = write!(line, ", {} written", grouped(self.usage.output));
        match self.cost {
            Some(cost) if cost > 0.0 && cost < 0.01 => line.push_str(", less than $0.01"),
            Some(cost) => {
                let _ = write!(line, ", ${cost:.2}");
            }
            None => line.push_str(", cost unknown"),
        }
        if self.n_failed > 0 {
            let _ = write!(line, "; {} failed", self.n_failed);
        }
        line
    }

    /// The figures as JSON.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(run: ReviewerRun, expected: &str) {
        assert_eq!(run.in_words(), expected);
    }

    fn run() -> ReviewerRun {
        ReviewerRun {
            name: "claude".to_owned(),
            model: Some("claude-opus-4-5".to_owned()),
            n_calls: 3,
            n_failed: 0,
            usage: Usage { input: 1_234_567, cached: 1_000, output: 678 },
            cost: Some(1.234),
            time: Duration::from_millis(12_345),
            failure: None,
            over_budget: false,
        }
    }

    #[test]
    fn figures_of_a_model_are_one_line() {
        check(
            run(),
            "claude (claude-opus-4-5): 3 calls in 12.3 s, 1,234,567 tokens read (1,000 cached), 678 written, $1.23",
        );
        let cheap = ReviewerRun { cost: Some(0.001), n_calls: 1, n_failed: 1, model: None, ..run() };
        check(
            cheap,
            "claude: 1 call in 12.3 s, 1,234,567 tokens read (1,000 cached), 678 written, less than $0.01; 1 failed",
        );
        check(
            ReviewerRun { n_calls: 0, ..run() },
            "claude: not asked, since nothing was to be sent or nothing fits the budget",
        );
        let plain = ReviewerRun { cost: None, usage: Usage { input: 5, cached: 0, output: 0 }, ..run() };
        check(plain, "claude (claude-opus-4-5): 3 calls in 12.3 s, 5 tokens read, 0 written, cost unknown");
    }
}
