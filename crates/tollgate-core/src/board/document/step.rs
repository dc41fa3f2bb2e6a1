//! `pipeline.json`: the pipeline steps that run after the review.
//!
//! ```json
//! {"version": 1, "steps": [{"id": "step_lx3k_a1b2c3", "name": "Docs", "order": 0, "instructions": "Write the docs"}]}
//! ```

use std::collections::HashSet;

use super::Document;
use crate::board::StepId;

/// A pipeline step that runs after the review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id, which is part of a status.
    pub id: StepId,
    /// Its display name.
    pub name: String,
    /// The instructions to the agent.
    pub instructions: String,
}

/// Reads the steps in their order, and a note for each that is invalid.
#[must_use]
pub fn steps(document: &Document) -> (Vec<Step>, Vec<String>) {
    let (mut steps, mut notes) = (Vec::new(), Vec::new());
    for (index, json) in document.items("steps").into_iter().enumerate() {
        match step(json) {
            Ok((order, step)) => steps.push((order.unwrap_or(i64::MAX), step)),
            Err(why) => notes.push(format!("step {} is left out: {why}", index + 1)),
        }
    }
    steps.sort_by_key(|(order, _)| *order);
    let mut seen = HashSet::new();
    steps.retain(|(_, step)| {
        let is_new = seen.insert(step.id.clone());
        if !is_new {
            notes.push(format!("step `{}` is left out: there is another of that name", step.id));
        }
        is_new
    });
    (steps.into_iter().map(|(_, step)| step).collect(), notes)
}

fn step(json: &str) -> Result<(Option<i64>, Step), String> {
    let document = Document::parse(json.as_bytes()).map_err(|error| error.to_string())?;
    let id = document.text("id").ok_or("it has no `id`")?;
    let id = StepId::parse(&id).map_err(|error| format!("its `id` cannot be used: {error}"))?;
    let name = document.text("name").filter(|name| !name.trim().is_empty()).unwrap_or_else(|| id.to_string());
    let instructions = document.text("instructions").unwrap_or_default();
    Ok((document.number("order"), Step { id, name, instructions }))
}
