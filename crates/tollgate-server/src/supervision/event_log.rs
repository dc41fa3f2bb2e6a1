//! Events of the board as log lines.
//!
//! ```text
//! 14:22:07 Add login (x7k2m9qpa): the review of iteration 1 rejects it: 1 error
//! ```

use serde_json::Value;
use tollgate_core::board::feature_event;

/// The maximum number of findings that are named.
const MAX_FINDINGS: usize = 5;

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// For a log: one line for each thing that matters.
    Log,
    /// For a person who watches one feature: also agent output and findings.
    Story,
}

/// The log line of an event; `None` for one that only programs need.
pub(super) fn tell(kind: &str, payload: &Value, detail: Detail) -> Option<String> {
    let text = |key: &str| payload[key].as_str().unwrap_or_default();
    let number = payload["iterationNumber"].as_u64().unwrap_or_default();
    match kind {
        feature_event::AGENT_STARTED => {
            let step = payload["step"].as_str().map(|step| format!(", step {step}")).unwrap_or_default();
            Some(format!("the agent {} starts on iteration {number}{step}", text("agent")))
        }
        feature_event::AGENT_OUTPUT if detail == Detail::Story => Some(quoted(text("text"))),
        feature_event::AGENT_FINISHED => Some(match text("result") {
            "done" => "the agent is done".to_owned(),
            "interrupted" => "the agent was interrupted, and goes on at the next start".to_owned(),
            _ => format!("the agent failed: {}", first_line(text("error"))),
        }),
        feature_event::REVIEW_STARTED => Some(format!("the review of iteration {number} begins")),
        feature_event::REVIEW_COMPLETED => Some(completed(payload, number, detail)),
        feature_event::REVIEW_APPROVED => Some(format!("it passes the gate, to {}", text("nextStatus"))),
        feature_event::REVIEW_REJECTED => Some(format!("it goes back: {}", first_line(text("rejectionReason")))),
        feature_event::REVIEW_FAILED => Some(format!("the review brought no answer: {}", first_line(text("error")))),
        feature_event::PAUSED => Some(format!("it waits for a person: {}", first_line(text("message")))),
        feature_event::BROKEN => Some(format!("its file cannot be read: {}", first_line(text("error")))),
        // Other events log the way through the gate.
        feature_event::STATUS_CHANGED => match text("status") {
            status @ ("backlog" | "verified" | "completed") => Some(format!("it is in {status} now")),
            _ => None,
        },
        _ => None,
    }
}

fn completed(payload: &Value, number: u64, detail: Detail) -> String {
    let status = payload["status"].as_str().unwrap_or_default();
    let findings = payload["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let verb = match status {
        "approved" if payload["unchecked"] == true => "approves it, requirements not checked",
        "approved" => "approves it",
        "rejected" => "rejects it",
        // Why stands in the line after it.
        _ => return format!("the review of iteration {number} has no answer"),
    };
    let counted: Vec<String> = ["error", "warning", "info"]
        .iter()
        .filter_map(|word| match findings.iter().filter(|finding| finding["severity"] == **word).count() {
            0 => None,
            1 => Some(format!("1 {word}")),
            n if *word == "info" => Some(format!("{n} info")),
            n => Some(format!("{n} {word}s")),
        })
        .collect();
    let counted = if counted.is_empty() { "nothing to report".to_owned() } else { counted.join(", ") };
    let mut told = format!("the review of iteration {number} {verb}: {counted}");
    if detail == Detail::Story {
        for finding in findings.iter().take(MAX_FINDINGS) {
            let word = |key: &str| finding[key].as_str().unwrap_or_default();
            let line = finding["line"].as_u64().map(|line| format!(":{line}")).unwrap_or_default();
            let is_whole = word("file").is_empty() && finding["canonical"]["id"].is_string();
            let place = if is_whole { "whole change".to_owned() } else { format!("{}{line}", word("file")) };
            let parts = [word("severity").to_owned(), place, word("title").to_owned()];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            told.push_str(&format!("\n           {}", parts.join("  ")));
        }
    }
    told
}

fn quoted(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    format!("  | {}", lines.join("\n           | "))
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;
    use tollgate_core::board::feature_event::FeatureEvent;
    use tollgate_core::board::machine::Status;

    use super::*;

    #[track_caller]
    fn told(announced: &FeatureEvent<'_>, detail: Detail) -> String {
        let payload = feature_event::payload("/p", "login", announced);
        tell(announced.name(), &payload, detail).unwrap_or_else(|| "(nothing)".to_owned())
    }

    #[test]
    fn a_log_tells_what_matters_in_one_line_each() {
        let next = &Status::WaitingApproval;
        let events = [
            FeatureEvent::AgentStarted { iteration: 1, step: None, agent: "claude", model: None },
            FeatureEvent::AgentOutput { iteration: 1, offset: 0, text: "hm" },
            FeatureEvent::AgentFinished { iteration: 1, result: "failed", error: Some("it ended with 1\nand more") },
            FeatureEvent::ReviewStarted { iteration: 1 },
            FeatureEvent::ReviewProgress { iteration: 1, message: "scanning", reviewer: None },
            FeatureEvent::ReviewRejected { iteration: 1, reason: "\nfix the query" },
            FeatureEvent::ReviewApproved { next },
            FeatureEvent::StatusChanged { status: next, previous: &Status::CodeReview, reason: None },
            FeatureEvent::StatusChanged { status: &Status::Backlog, previous: next, reason: None },
            FeatureEvent::Changed,
        ];
        let lines: Vec<String> = events.iter().map(|event| told(event, Detail::Log)).collect();
        assert_snapshot!(lines.join("\n"), @"
        the agent claude starts on iteration 1
        (nothing)
        the agent failed: it ended with 1
        the review of iteration 1 begins
        (nothing)
        it goes back: fix the query
        it passes the gate, to waiting_approval
        (nothing)
        it is in backlog now
        (nothing)
        ");
    }

    #[test]
    fn a_story_also_tells_what_was_said_and_found() {
        let finding = json!({"severity": "error", "file": "shop.py", "line": 3, "title": "SQL is built from a value"});
        let payload = json!({"iterationNumber": 2, "status": "rejected", "findings": [finding, {"severity": "info", "title": "a trifle"}]});
        assert_snapshot!(tell(feature_event::REVIEW_COMPLETED, &payload, Detail::Story).unwrap(), @"
        the review of iteration 2 rejects it: 1 error, 1 info
                   error  shop.py:3  SQL is built from a value
                   info  a trifle
        ");
        let output = FeatureEvent::AgentOutput { iteration: 1, offset: 0, text: "one\n\ntwo\n" };
        assert_snapshot!(told(&output, Detail::Story), @r"
          | one
                   | two
        ");
    }

    #[test]
    fn an_event_with_missing_fields_is_logged() {
        for kind in feature_event::ALL {
            let _ = tell(kind, &Value::Null, Detail::Story);
        }
    }
}
