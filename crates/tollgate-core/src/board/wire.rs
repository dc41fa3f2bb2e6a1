//! What is announced about features, as clients receive it.
//!
//! ```json
//! { "featureId": "user-auth", "iterationNumber": 1, "message": "…", "projectPath": "/home/a/project" }
//! ```
//!
//! The seven events of a review have their fields first and in this order, as clients in the field know them; the
//! project follows. Numbers of events and times are put around a payload by whoever sends it.

use serde_json::{Map, Value, json};

use crate::board::machine::{Pause, Status};
use crate::board::{Outcome, Remark, spec};

/// A review began.
pub const REVIEW_STARTED: &str = "feature:code-review-started";
/// A review goes on.
pub const REVIEW_PROGRESS: &str = "feature:code-review-progress";
/// A review is over, with what it found.
pub const REVIEW_COMPLETED: &str = "feature:code-review-completed";
/// A review lets the feature pass.
pub const REVIEW_APPROVED: &str = "feature:code-review-approved";
/// A review sends the feature back.
pub const REVIEW_REJECTED: &str = "feature:code-review-rejected";
/// A review brought no answer.
pub const REVIEW_FAILED: &str = "feature:code-review-failed";
/// A feature was rejected as often as it may be.
pub const MAX_ITERATIONS: &str = "feature:code-review-max-iterations";
/// A feature has another status.
pub const STATUS_CHANGED: &str = "feature:status-changed";
/// A feature waits for a person.
pub const PAUSED: &str = "feature:paused";
/// An agent began.
pub const AGENT_STARTED: &str = "feature:agent-started";
/// An agent said something.
pub const AGENT_OUTPUT: &str = "feature:agent-output";
/// An agent ended.
pub const AGENT_FINISHED: &str = "feature:agent-finished";
/// Something else about a feature is different.
pub const CHANGED: &str = "feature:changed";
/// The file of a feature cannot be read.
pub const BROKEN: &str = "feature:broken";

/// The names of all events.
pub const ALL: [&str; 14] = [
    REVIEW_STARTED,
    REVIEW_PROGRESS,
    REVIEW_COMPLETED,
    REVIEW_APPROVED,
    REVIEW_REJECTED,
    REVIEW_FAILED,
    MAX_ITERATIONS,
    STATUS_CHANGED,
    PAUSED,
    AGENT_STARTED,
    AGENT_OUTPUT,
    AGENT_FINISHED,
    CHANGED,
    BROKEN,
];

/// Something about a feature that is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced<'a> {
    /// A review began.
    ReviewStarted {
        /// The iteration.
        iteration: u32,
    },
    /// A review goes on.
    ReviewProgress {
        /// The iteration.
        iteration: u32,
        /// What it does now.
        message: &'a str,
    },
    /// A review is over.
    ReviewCompleted {
        /// The iteration.
        iteration: u32,
        /// How it ended.
        outcome: Outcome,
        /// What it found.
        findings: &'a [Remark],
        /// What it says in general.
        summary: &'a str,
    },
    /// A review lets the feature pass.
    ReviewApproved {
        /// Where it goes.
        next: &'a Status,
    },
    /// A review sends the feature back.
    ReviewRejected {
        /// The iteration.
        iteration: u32,
        /// What must be fixed.
        reason: &'a str,
    },
    /// A review brought no answer.
    ReviewFailed {
        /// Why.
        error: &'a str,
    },
    /// It was rejected as often as it may be.
    MaxIterations,
    /// It has another status.
    StatusChanged {
        /// The new one.
        status: &'a Status,
        /// The one before.
        previous: &'a Status,
        /// Why, if that is not plain.
        reason: Option<&'a str>,
    },
    /// It waits for a person.
    Paused {
        /// Why.
        why: Pause,
        /// What happened, in words.
        message: &'a str,
    },
    /// An agent began.
    AgentStarted {
        /// The iteration.
        iteration: u32,
        /// The step behind the gate, when it works on one.
        step: Option<&'a str>,
        /// The agent.
        agent: &'a str,
        /// The model it was told to use.
        model: Option<&'a str>,
    },
    /// An agent said something.
    AgentOutput {
        /// The iteration.
        iteration: u32,
        /// How many bytes it had said before.
        offset: u64,
        /// What it said.
        text: &'a str,
    },
    /// An agent ended.
    AgentFinished {
        /// The iteration.
        iteration: u32,
        /// How it ended, in one word: `done`, `failed`, `stopped`, `interrupted`.
        result: &'a str,
        /// What went wrong.
        error: Option<&'a str>,
    },
    /// Something else about it is different.
    Changed,
    /// Its file cannot be read.
    Broken {
        /// Why.
        error: &'a str,
    },
}

impl Announced<'_> {
    /// The name of the event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReviewStarted { .. } => REVIEW_STARTED,
            Self::ReviewProgress { .. } => REVIEW_PROGRESS,
            Self::ReviewCompleted { .. } => REVIEW_COMPLETED,
            Self::ReviewApproved { .. } => REVIEW_APPROVED,
            Self::ReviewRejected { .. } => REVIEW_REJECTED,
            Self::ReviewFailed { .. } => REVIEW_FAILED,
            Self::MaxIterations => MAX_ITERATIONS,
            Self::StatusChanged { .. } => STATUS_CHANGED,
            Self::Paused { .. } => PAUSED,
            Self::AgentStarted { .. } => AGENT_STARTED,
            Self::AgentOutput { .. } => AGENT_OUTPUT,
            Self::AgentFinished { .. } => AGENT_FINISHED,
            Self::Changed => CHANGED,
            Self::Broken { .. } => BROKEN,
        }
    }

    /// The fields between the feature and the project; one that is null is left out.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let number = |iteration: &u32| ("iterationNumber", json!(iteration));
        match self {
            Self::ReviewStarted { iteration } => vec![number(iteration)],
            Self::ReviewProgress { iteration, message } => vec![number(iteration), ("message", json!(message))],
            Self::ReviewCompleted { iteration, outcome, findings, summary } => vec![
                number(iteration),
                ("status", json!(outcome.as_str())),
                ("findings", spec::findings(findings)),
                ("summary", json!(summary)),
            ],
            Self::ReviewApproved { next } => vec![("nextStatus", json!(next.to_string()))],
            Self::ReviewRejected { iteration, reason } => vec![number(iteration), ("rejectionReason", json!(reason))],
            Self::ReviewFailed { error } | Self::Broken { error } => vec![("error", json!(error))],
            Self::MaxIterations | Self::Changed => Vec::new(),
            Self::StatusChanged { status, previous, reason } => vec![
                ("status", json!(status.to_string())),
                ("previousStatus", json!(previous.to_string())),
                ("reason", json!(reason)),
            ],
            Self::Paused { why, message } => vec![("reason", json!(why.as_str())), ("message", json!(message))],
            Self::AgentStarted { iteration, step, agent, model } => {
                vec![number(iteration), ("step", json!(step)), ("agent", json!(agent)), ("model", json!(model))]
            }
            Self::AgentOutput { iteration, offset, text } => {
                vec![number(iteration), ("offset", json!(offset)), ("text", json!(text))]
            }
            Self::AgentFinished { iteration, result, error } => {
                vec![number(iteration), ("result", json!(result)), ("error", json!(error))]
            }
        }
    }
}

/// The payload of an event. The feature is named as its folder is, which may be no name that we would give.
#[must_use]
pub fn payload(project: &str, feature: &str, announced: &Announced<'_>) -> Value {
    let mut payload = Map::new();
    payload.insert("featureId".to_owned(), json!(feature));
    let given = announced.fields().into_iter().filter(|(_, value)| !value.is_null());
    payload.extend(given.map(|(name, value)| (name.to_owned(), value)));
    payload.insert("projectPath".to_owned(), json!(project));
    Value::Object(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Category, Severity};

    #[track_caller]
    fn check(announced: Announced<'_>, name: &str, expected: &str) {
        assert_eq!(announced.name(), name);
        assert!(ALL.contains(&name));
        let expected = expected.replace("{f", "{\"featureId\":\"f\"").replace("p}", "\"projectPath\":\"/p\"}");
        assert_eq!(payload("/p", "f", &announced).to_string(), expected);
    }

    #[test]
    fn the_events_of_a_review_have_the_fields_that_clients_know() {
        check(Announced::ReviewStarted { iteration: 1 }, "feature:code-review-started", r#"{f,"iterationNumber":1,p}"#);
        let progress = Announced::ReviewProgress { iteration: 2, message: "asking" };
        check(progress, "feature:code-review-progress", r#"{f,"iterationNumber":2,"message":"asking",p}"#);
        let next = &Status::WaitingApproval;
        let expected = r#"{f,"nextStatus":"waiting_approval",p}"#;
        check(Announced::ReviewApproved { next }, "feature:code-review-approved", expected);
        let rejected = Announced::ReviewRejected { iteration: 3, reason: "no tests" };
        check(rejected, "feature:code-review-rejected", r#"{f,"iterationNumber":3,"rejectionReason":"no tests",p}"#);
        check(Announced::ReviewFailed { error: "late" }, "feature:code-review-failed", r#"{f,"error":"late",p}"#);
        check(Announced::MaxIterations, "feature:code-review-max-iterations", "{f,p}");
    }

    #[test]
    fn a_review_that_is_over_brings_its_findings() {
        let remark = Remark {
            category: Category::Security,
            severity: Severity::Critical,
            title: "Secret".to_owned(),
            description: "It leaks.".to_owned(),
            suggestion: None,
            file: Some("a.ts".to_owned()),
            line: Some(4),
            evidence: None,
            identity: None,
        };
        let completed = Announced::ReviewCompleted {
            iteration: 1,
            outcome: Outcome::Rejected,
            findings: &[remark],
            summary: "It leaks.",
        };
        let expected = r#"{f,"iterationNumber":1,"status":"rejected","findings":[{"category":"code","severity":"error","title":"Secret","description":"It leaks.","file":"a.ts","line":4,"canonical":{"severity":"Critical","category":"Security"}}],"summary":"It leaks.",p}"#;
        check(completed, "feature:code-review-completed", expected);
    }

    #[test]
    fn other_events_tell_what_a_board_shows() {
        let (status, previous) = (&Status::InProgress, &Status::Backlog);
        let changed = Announced::StatusChanged { status, previous, reason: None };
        let expected = r#"{f,"status":"in_progress","previousStatus":"backlog",p}"#;
        check(changed, "feature:status-changed", expected);
        let expected = r#"{f,"status":"in_progress","previousStatus":"backlog","reason":"edited",p}"#;
        let changed = Announced::StatusChanged { status, previous, reason: Some("edited") };
        check(changed, "feature:status-changed", expected);
        let paused = Announced::Paused { why: Pause::MaxIterations, message: "enough" };
        check(paused, "feature:paused", r#"{f,"reason":"max-iterations","message":"enough",p}"#);
        let started = Announced::AgentStarted { iteration: 1, step: None, agent: "claude", model: Some("opus") };
        check(started, "feature:agent-started", r#"{f,"iterationNumber":1,"agent":"claude","model":"opus",p}"#);
        let output = Announced::AgentOutput { iteration: 1, offset: 10, text: "a\n" };
        check(output, "feature:agent-output", r#"{f,"iterationNumber":1,"offset":10,"text":"a\n",p}"#);
        let finished = Announced::AgentFinished { iteration: 1, result: "failed", error: Some("exit code 1") };
        let expected = r#"{f,"iterationNumber":1,"result":"failed","error":"exit code 1",p}"#;
        check(finished, "feature:agent-finished", expected);
        check(Announced::Changed, "feature:changed", "{f,p}");
        check(Announced::Broken { error: "line 3" }, "feature:broken", r#"{f,"error":"line 3",p}"#);
    }
}
