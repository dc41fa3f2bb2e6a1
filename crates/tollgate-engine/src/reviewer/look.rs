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

/// How many rules the embedded reviewer has.
#[must_use]
pub fn n_rules() -> usize {
    tollgate_rules::catalog::all().len()
}

/// What somebody is, whether they can be asked or not. Never holds a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// What kind they are.
    pub kind: Sort,
    /// The model, where one is set or usual.
    pub model: Option<String>,
    /// Where a key is looked for: names of environment variables, or a file.
    pub key_in: Vec<String>,
    /// True when there is a key in one of them.
    pub has_key: bool,
}

/// What kind of reviewer somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A model behind an address.
    Service,
    /// A program that is known by name.
    Agent,
    /// A program of the operator's own.
    Command,
}

/// Says what somebody is and where their key would be. `variable` looks up the environment.
#[must_use]
pub fn describe(chosen: &Chosen, variable: &dyn Fn(&str) -> Option<String>) -> Described {
    let part = &chosen.part;
    let kind = match (&part.command, part.agent) {
        (Some(_), _) => Sort::Command,
        (None, Some(_)) => Sort::Agent,
        (None, None) => Sort::Service,
    };
    let prepared = team::prepare(chosen, variable);
    let model = match &prepared.way {
        Way::Service(connection) => Some(connection.model.clone()),
        Way::Agent(_) | Way::Unusable(_) => part.model.clone(),
    };
    let named = part.key_file.clone().or_else(|| part.key_env.clone());
    let key_in = named.map_or_else(|| team::usual_keys(part), |name| vec![name]);
    Described { kind, model, key_in, has_key: !prepared.keys.is_empty() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reviewer::ReviewerPart;

    #[track_caller]
    fn check(name: &str, part: impl FnOnce(&mut ReviewerPart), expected: &str) {
        let mut chosen = presets().find(|preset| preset.name == name).unwrap();
        part(&mut chosen.part);
        let variable = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-secret".to_owned());
        let Described { kind, model, key_in, has_key } = describe(&chosen, &variable);
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
