//! Checks the availability of reviewers: models with their keys, agents with their programs.

use super::command;
use super::prepared::{self, PreparedReviewer, ReviewerTransport};
use super::provider::{self, Model, Net};
use crate::config::reviewer::presets;
use crate::config::{Chosen, Settings};
use crate::failure::{Failure, Kind};

/// All configured reviewers, and all presets.
pub fn known(settings: &Settings) -> Vec<Chosen> {
    let mut known: Vec<Chosen> = settings.known_reviewers.clone();
    known.extend(presets().filter(|preset| !settings.known_reviewers.iter().any(|own| own.name == preset.name)));
    known
}

/// How many rules the embedded reviewer has.
pub fn n_rules() -> usize {
    tollgate_rules::catalog::all().len()
}

/// The description of a reviewer, available or not. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerDescription {
    /// The kind of reviewer.
    pub kind: ReviewerKind,
    /// The configured or default model.
    pub model: Option<String>,
    /// The sources of the key: names of environment variables, or a file.
    pub key_in: Vec<String>,
    /// True when one of them holds a key.
    pub has_key: bool,
}

/// The kind of a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewerKind {
    /// A model behind an address.
    Service,
    /// A preset agent.
    Agent,
    /// A command of the operator's own.
    Command,
}

/// Describes a reviewer and the sources of its key. `variable` looks up the environment.
pub fn describe(chosen: &Chosen, variable: &dyn Fn(&str) -> Option<String>) -> ReviewerDescription {
    let part = &chosen.part;
    let kind = match (&part.command, part.agent) {
        (Some(_), _) => ReviewerKind::Command,
        (None, Some(_)) => ReviewerKind::Agent,
        (None, None) => ReviewerKind::Service,
    };
    let prepared = prepared::prepare(chosen, variable);
    let model = match &prepared.way {
        ReviewerTransport::Service(connection) => Some(connection.model.clone()),
        ReviewerTransport::Agent(_) | ReviewerTransport::Unusable(_) => part.model.clone(),
    };
    let named = part.key_file.clone().or_else(|| part.key_env.clone());
    let key_in = named.map_or_else(|| prepared::usual_keys(part), |name| vec![name]);
    ReviewerDescription { kind, model, key_in, has_key: !prepared.keys.is_empty() }
}

/// Checks whether a reviewer can be used, and names its version or the missing prerequisite. A service is called only
/// `online`.
pub fn check(chosen: &Chosen, net: &Net, online: bool) -> Result<String, Failure> {
    let prepared = prepared::prepare(chosen, &|name| std::env::var(name).ok());
    let PreparedReviewer { name, way, .. } = prepared;
    match way {
        ReviewerTransport::Service(connection) => {
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
        ReviewerTransport::Agent(agent) => {
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
        ReviewerTransport::Unusable(failure) => Err(plain(failure.message, failure.hint)),
    }
}

fn plain(message: String, hint: Option<String>) -> Failure {
    Failure { hint, ..Failure::new(Kind::External, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reviewer::ReviewerPart;

    #[track_caller]
    fn check(name: &str, part: impl FnOnce(&mut ReviewerPart), expected: &str) {
        let mut chosen = presets().find(|preset| preset.name == name).unwrap();
        part(&mut chosen.part);
        let variable = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-secret".to_owned());
        let ReviewerDescription { kind, model, key_in, has_key } = describe(&chosen, &variable);
        let found = format!("{kind:?} {} [{}] {has_key}", model.as_deref().unwrap_or("-"), key_in.join(" "));
        assert_eq!(found, expected);
        assert!(!found.contains("sk-secret"));
    }

    #[test]
    fn it_is_said_where_a_key_is_looked_for_and_never_what_it_is() {
        check("openai", |_| (), "Service - [OPENAI_API_KEY] false");
        check("google", |_| (), "Service - [GEMINI_API_KEY GOOGLE_API_KEY] false");
        check("openai", |part| part.key_env = Some("WORK".to_owned()), "Service - [WORK] false");
        check("openai", |part| part.key_file = Some("/none".to_owned()), "Service - [/none] false");
        check("openai", |part| part.model = Some("m".to_owned()), "Service m [OPENAI_API_KEY] false");
        let own = |part: &mut ReviewerPart| {
            *part = ReviewerPart { command: Some(vec!["agent".to_owned()]), ..ReviewerPart::default() };
        };
        check("claude", own, "Command - [] false");
        check("claude", |_| (), "Agent - [ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN] true");
    }
}
