//! Whether those who can be asked are there: models with their keys, agents with their programs.

use super::command;
use super::provider::{self, Model, Net};
use super::team::{self, Prepared, Way};
use crate::config::reviewer::presets;
use crate::config::{Chosen, Settings};
use crate::failure::{Failure, Kind};

/// Everybody who is set up, and everybody known by name.
#[must_use]
pub fn known(settings: &Settings) -> Vec<Chosen> {
    let mut known: Vec<Chosen> = settings.known_reviewers.clone();
    known.extend(presets().filter(|preset| !settings.known_reviewers.iter().any(|own| own.name == preset.name)));
    known
}

/// Looks whether somebody can be asked, and says what it is or what it lacks. A service is asked only `online`.
pub fn look(chosen: &Chosen, net: &Net, online: bool) -> Result<String, Failure> {
    let prepared = team::prepare(chosen, &|name| std::env::var(name).ok());
    let Prepared { name, way, .. } = prepared;
    match way {
        Way::Service(connection) => {
            let key = connection.key_from.clone().filter(|_| connection.key.is_some());
            let key = key.map_or("no key".to_owned(), |from| format!("key from {from}"));
            let said = format!("{}, {key}", connection.model);
            if !online {
                return Ok(said);
            }
            let probed = provider::probe(*connection, net);
            let probe = probed.map_err(|failure| plain(failure.message, failure.hint))?;
            match probe.model {
                Model::Known => Ok(format!("{said}; answers and knows the model")),
                Model::Unsaid => Ok(format!("{said}; answers")),
                Model::Unknown => Err(plain(
                    format!("it answers and does not know the model of {said}"),
                    Some(format!("Set another `model` in `[reviewer.{name}]`.")),
                )),
            }
        }
        Way::Agent(agent) => {
            let probe = command::probe(&agent);
            match probe.found {
                Some(path) if probe.missing.is_empty() => {
                    let version = probe.version.unwrap_or_else(|| "version unknown".to_owned());
                    let kept = if probe.namespace { "in a PID namespace" } else { "without a PID namespace" };
                    Ok(format!("{version}, {}, {kept}", path.display()))
                }
                _ => Err(plain(probe.missing.join("; "), None)),
            }
        }
        Way::Unusable(failure) => Err(plain(failure.message, failure.hint)),
    }
}

fn plain(message: String, hint: Option<String>) -> Failure {
    Failure { hint, ..Failure::new(Kind::External, message) }
}
