//! Feature events: their names and payloads as clients receive them.
//!
//! ```json
//! { "featureId": "user-auth", "iterationNumber": 1, "message": "…", "projectPath": "/home/a/project" }
//! ```
//!
//! The seven review events have their fields first and in this order, for compatibility with existing clients; the
//! project follows. The event log adds sequence numbers and times.

use serde_json::{Map, Value, json};

use crate::board::machine::{Pause, Status};
use crate::board::{Outcome, Remark, code_review_spec};

/// A review started.
pub const REVIEW_STARTED: &str = "feature:code-review-started";
/// Progress of a review.
pub const REVIEW_PROGRESS: &str = "feature:code-review-progress";
/// A review finished, with its findings.
pub const REVIEW_COMPLETED: &str = "feature:code-review-completed";
/// A review approved.
pub const REVIEW_APPROVED: &str = "feature:code-review-approved";
/// A review rejected.
pub const REVIEW_REJECTED: &str = "feature:code-review-rejected";
/// A review failed.
pub const REVIEW_FAILED: &str = "feature:code-review-failed";
/// The iteration limit was reached.
pub const MAX_ITERATIONS: &str = "feature:code-review-max-iterations";
/// The status of a feature changed.
pub const STATUS_CHANGED: &str = "feature:status-changed";
/// A feature was paused.
pub const PAUSED: &str = "feature:paused";
/// An agent started.
pub const AGENT_STARTED: &str = "feature:agent-started";
/// Output of an agent.
pub const AGENT_OUTPUT: &str = "feature:agent-output";
/// An agent finished.
pub const AGENT_FINISHED: &str = "feature:agent-finished";
/// Another field of a feature changed.
pub const CHANGED: &str = "feature:changed";
/// The file of a feature is invalid.
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

/// A published event about a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureEvent<'a> {
    /// A review started.
    ReviewStarted {
        /// The iteration.
        iteration: u32,
    },
    /// Progress of a review.
    ReviewProgress {
        /// The iteration.
        iteration: u32,
        /// The current step, or more of a reviewer's answer.
        message: &'a str,
        /// The reviewer whose answer the message is.
        reviewer: Option<&'a str>,
    },
    /// A review finished.
    ReviewCompleted {
        /// The iteration.
        iteration: u32,
        /// The outcome.
        outcome: Outcome,
        /// The findings.
        findings: &'a [Remark],
        /// The summary.
        summary: &'a str,
        /// True when it approved and left an acceptance criterion unclear.
        unchecked: bool,
    },
    /// A review approved.
    ReviewApproved {
        /// The next status.
        next: &'a Status,
    },
    /// A review rejected.
    ReviewRejected {
        /// The iteration.
        iteration: u32,
        /// The rejection reason.
        reason: &'a str,
    },
    /// A review failed.
    ReviewFailed {
        /// The error.
        error: &'a str,
    },
    /// The iteration limit was reached.
    MaxIterations,
    /// The status changed.
    StatusChanged {
        /// The new status.
        status: &'a Status,
        /// The one before.
        previous: &'a Status,
        /// The reason, if there is one.
        reason: Option<&'a str>,
    },
    /// The feature was paused.
    Paused {
        /// The reason.
        why: Pause,
        /// The reason for people.
        message: &'a str,
    },
    /// An agent started.
    AgentStarted {
        /// The iteration.
        iteration: u32,
        /// The pipeline step, if it runs one.
        step: Option<&'a str>,
        /// The agent.
        agent: &'a str,
        /// The configured model.
        model: Option<&'a str>,
    },
    /// Output of an agent.
    AgentOutput {
        /// The iteration.
        iteration: u32,
        /// The byte offset in its output.
        offset: u64,
        /// The output.
        text: &'a str,
    },
    /// An agent finished.
    AgentFinished {
        /// The iteration.
        iteration: u32,
        /// The result: `done`, `failed`, `stopped`, `interrupted`.
        result: &'a str,
        /// The error, if it failed.
        error: Option<&'a str>,
    },
    /// Another field changed.
    Changed,
    /// Its file is invalid.
    Broken {
        /// The error.
        error: &'a str,
    },
}

impl FeatureEvent<'_> {
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

    /// The fields between the feature and the project; null values are left out.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let number = |iteration: &u32| ("iterationNumber", json!(iteration));
        match self {
            Self::ReviewStarted { iteration } => vec![number(iteration)],
            Self::ReviewProgress { iteration, message, reviewer } => {
                vec![number(iteration), ("message", json!(message)), ("reviewer", json!(reviewer))]
            }
            Self::ReviewCompleted { iteration, outcome, findings, summary, unchecked } => vec![
                number(iteration),
                ("status", json!(outcome.as_str())),
                ("findings", code_review_spec::findings(findings)),
                ("summary", json!(summary)),
                ("unchecked", json!(unchecked.then_some(true))),
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

/// The payload of an event. The feature is its folder name, which may be an invalid id.
#[must_use]
pub fn payload(project: &str, feature: &str, announced: &FeatureEvent<'_>) -> Value {
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
    fn check(announced: FeatureEvent<'_>, name: &str, expected: &str) {
        assert_eq!(announced.name(), name);
        assert!(ALL.contains(&name));
        let expected = expected.replace("{f", "{\"featureId\":\"f\"").replace("p}", "\"projectPath\":\"/p\"}");
        assert_eq!(payload("/p", "f", &announced).to_string(), expected);
    }

    #[test]
    fn review_events_have_the_fields_of_existing_clients() {
        check(
            FeatureEvent::ReviewStarted { iteration: 1 },
            "feature:code-review-started",
            r#"{f,"iterationNumber":1,p}"#,
        );
        let progress = FeatureEvent::ReviewProgress { iteration: 2, message: "asking", reviewer: None };
        check(progress, "feature:code-review-progress", r#"{f,"iterationNumber":2,"message":"asking",p}"#);
        let next = &Status::WaitingApproval;
        let expected = r#"{f,"nextStatus":"waiting_approval",p}"#;
        check(FeatureEvent::ReviewApproved { next }, "feature:code-review-approved", expected);
        let rejected = FeatureEvent::ReviewRejected { iteration: 3, reason: "no tests" };
        check(rejected, "feature:code-review-rejected", r#"{f,"iterationNumber":3,"rejectionReason":"no tests",p}"#);
        check(FeatureEvent::ReviewFailed { error: "late" }, "feature:code-review-failed", r#"{f,"error":"late",p}"#);
        check(FeatureEvent::MaxIterations, "feature:code-review-max-iterations", "{f,p}");
    }

    #[test]
    fn a_completed_review_carries_its_findings() {
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
        let completed = FeatureEvent::ReviewCompleted {
            iteration: 1,
            outcome: Outcome::Rejected,
            findings: &[remark],
            summary: "It leaks.",
            unchecked: false,
        };
        let expected = r#"{f,"iterationNumber":1,"status":"rejected","findings":[{"category":"code","severity":"error","title":"Secret","description":"It leaks.","file":"a.ts","line":4,"canonical":{"severity":"Critical","category":"Security"}}],"summary":"It leaks.",p}"#;
        check(completed, "feature:code-review-completed", expected);
    }

    #[test]
    fn other_events_carry_the_fields_of_a_board() {
        let (status, previous) = (&Status::InProgress, &Status::Backlog);
        let changed = FeatureEvent::StatusChanged { status, previous, reason: None };
        let expected = r#"{f,"status":"in_progress","previousStatus":"backlog",p}"#;
        check(changed, "feature:status-changed", expected);
        let expected = r#"{f,"status":"in_progress","previousStatus":"backlog","reason":"edited",p}"#;
        let changed = FeatureEvent::StatusChanged { status, previous, reason: Some("edited") };
        check(changed, "feature:status-changed", expected);
        let paused = FeatureEvent::Paused { why: Pause::MaxIterations, message: "enough" };
        check(paused, "feature:paused", r#"{f,"reason":"max-iterations","message":"enough",p}"#);
        let started = FeatureEvent::AgentStarted { iteration: 1, step: None, agent: "claude", model: Some("opus") };
        check(started, "feature:agent-started", r#"{f,"iterationNumber":1,"agent":"claude","model":"opus",p}"#);
        let output = FeatureEvent::AgentOutput { iteration: 1, offset: 10, text: "a\n" };
        check(output, "feature:agent-output", r#"{f,"iterationNumber":1,"offset":10,"text":"a\n",p}"#);
        let finished = FeatureEvent::AgentFinished { iteration: 1, result: "failed", error: Some("exit code 1") };
        let expected = r#"{f,"iterationNumber":1,"result":"failed","error":"exit code 1",p}"#;
        check(finished, "feature:agent-finished", expected);
        check(FeatureEvent::Changed, "feature:changed", "{f,p}");
        check(FeatureEvent::Broken { error: "line 3" }, "feature:broken", r#"{f,"error":"line 3",p}"#);
    }
}
