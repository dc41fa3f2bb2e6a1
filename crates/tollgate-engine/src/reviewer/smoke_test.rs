//! Smoke tests of a configured reviewer.
//!
//! Two tests: whether the reviewer answers at all, and whether an agent leaves its working directory unchanged. Both call
//! over the network, within the limits of a [`CallControl`], and return a sentence for people.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::availability;
use super::call::{Backend as _, CallControl, CallFailure, Question, Reply};
use super::command::{self, CommandBackend};
use super::prepared::{self, ReviewerTransport};
use super::provider::Net;
use crate::config::Chosen;
use crate::failure::{self, Failure, Kind};

/// Makes one call: a service has to accept the key and know the model, an agent has to answer.
pub fn ask_once(chosen: &Chosen, executable: &Path, watch: &CallControl<'_>) -> Result<String, Failure> {
    let started = Instant::now();
    let prepared = prepared::prepare(chosen, &|name| std::env::var(name).ok());
    match prepared.way {
        ReviewerTransport::Service(_) => Ok(availability::check(chosen, &Net::new(), true)?),
        ReviewerTransport::Agent(agent) => {
            let tree = Box::new(|into: &Path| {
                let readme = into.join("README.md");
                std::fs::write(&readme, "Nothing to see here.\n").map_err(|error| failure::unreadable(&readme, &error))
            });
            let asked = CommandBackend::new(*agent, tree, executable.to_owned()).ask(&question(), watch);
            asked.map(|reply| answered(&reply, started.elapsed())).map_err(told)
        }
        ReviewerTransport::Unusable(why) => Err(told(why)),
    }
}

/// Verifies that an agent cannot write, by asking it to.
pub fn self_test(chosen: &Chosen, executable: &Path, watch: &CallControl<'_>) -> Result<String, Failure> {
    let prepared = prepared::prepare(chosen, &|name| std::env::var(name).ok());
    match prepared.way {
        ReviewerTransport::Agent(agent) => {
            let tested = command::self_test(&agent, executable, watch).map_err(told)?;
            if !tested.wrote.is_empty() {
                let problem = format!("`{}` is not read-only: {}", chosen.name, tested.deeds);
                return Err(Failure::new(Kind::External, problem).hint("Do not use it as a reviewer with these flags."));
            }
            match tested.failure {
                Some(failure) => Err(told(failure)),
                None => Ok("it was asked to write, to delete and to run commands, and nothing changed".to_owned()),
            }
        }
        ReviewerTransport::Service(_) => Ok("a service has no way to write anything here".to_owned()),
        ReviewerTransport::Unusable(why) => Err(told(why)),
    }
}

/// A minimal question.
fn question() -> Question {
    Question {
        system: "This is a trial of the connection. Use no tools.".to_owned(),
        shared: String::new(),
        part: "Answer with one JSON object and nothing else: {\"ready\": true}".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"ready": {"type": "boolean"}},
            "required": ["ready"],
            "additionalProperties": false,
        }),
        repair: None,
    }
}

fn answered(reply: &Reply, took: Duration) -> String {
    let by = reply.model.as_deref().map(|model| format!(" by {model}")).unwrap_or_default();
    format!("it answered{by} within {:.1} s", took.as_secs_f64())
}

fn told(failure: CallFailure) -> Failure {
    Failure { hint: failure.hint, ..Failure::new(Kind::External, failure.message) }
}
