//! Trying somebody out before they are relied on.
//!
//! Two trials: whether they answer at all, and whether an agent keeps its hands off what it is shown. Both ask over the
//! network, within the bounds of a [`Watch`], and end in words for people.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::call::{Backend as _, CallFailure, Question, Reply, Watch};
use super::command::{self, CommandBackend};
use super::look;
use super::provider::Net;
use super::team::{self, Way};
use crate::config::Chosen;
use crate::failure::{self, Failure, Kind};

/// Asks once and says what came of it: a service whether it takes the key and knows the model, an agent for a word.
pub fn ask_once(chosen: &Chosen, executable: &Path, watch: &Watch<'_>) -> Result<String, Failure> {
    let started = Instant::now();
    let prepared = team::prepare(chosen, &|name| std::env::var(name).ok());
    match prepared.way {
        Way::Service(_) => Ok(look::look(chosen, &Net::new(), true)?),
        Way::Agent(agent) => {
            let tree = Box::new(|into: &Path| {
                let readme = into.join("README.md");
                std::fs::write(&readme, "Nothing to see here.\n").map_err(|error| failure::unreadable(&readme, &error))
            });
            let asked = CommandBackend::new(*agent, tree, executable.to_owned()).ask(&question(), watch);
            asked.map(|reply| answered(&reply, started.elapsed())).map_err(told)
        }
        Way::Unusable(why) => Err(told(why)),
    }
}

/// Shows that an agent cannot write: asks it to, and looks what happened.
pub fn self_test(chosen: &Chosen, executable: &Path, watch: &Watch<'_>) -> Result<String, Failure> {
    let prepared = team::prepare(chosen, &|name| std::env::var(name).ok());
    match prepared.way {
        Way::Agent(agent) => {
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
        Way::Service(_) => Ok("a service has no way to write anything here".to_owned()),
        Way::Unusable(why) => Err(told(why)),
    }
}

/// The smallest question there is.
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
