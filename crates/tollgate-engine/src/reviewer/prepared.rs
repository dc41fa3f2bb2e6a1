//! Builds the backends of the configured reviewers.
//!
//! A reviewer without a key, a model or a program still gets a backend, which fails every call with the missing
//! prerequisite. So a review without it does not count as complete.

use std::path::PathBuf;

use super::call::{Backend, CallControl, CallFailure, FailureCause, Question, Reply};
use super::command::{Agent, CommandBackend, Output, Preset as AgentPreset, PromptBy, Tree};
use super::provider::price::{self, Price};
use super::provider::{Connection, Key, Net, Protocol, Provider, Structured, preset};
use super::{command, recording::Recording};
use crate::config::Chosen;
use crate::config::reviewer::{
    AgentWord, OutputWord, PromptWord, ProtocolWord, ProviderWord, ReviewerPart, StructuredWord,
};
use crate::tree::{self, Entry};

/// The most tokens of a change in one call of a service.
const CALL_TOKENS: usize = 8_000;
/// The same for an agent, which is slow to start.
const AGENT_CALL_TOKENS: usize = 60_000;
/// The largest key file.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// A reviewer with everything that a call needs.
#[derive(Debug)]
pub struct PreparedReviewer {
    /// Its name.
    pub name: String,
    /// The number of passes.
    pub passes: u32,
    /// True when its output is constrained to our schema.
    pub structured: bool,
    /// The part of the prompt about its working directory; `None` for a service.
    pub place: Option<&'static str>,
    /// The most tokens of the change in one call.
    pub call_tokens: usize,
    /// The price of its tokens, if known.
    pub price: Option<Price>,
    /// The keys it gets, to be redacted.
    pub keys: Vec<String>,
    /// The transport to it.
    pub way: ReviewerTransport,
}

/// The transport to a reviewer.
#[derive(Debug)]
pub enum ReviewerTransport {
    /// A service.
    Service(Box<Connection>),
    /// A program.
    Agent(Box<Agent>),
    /// None, because a prerequisite is missing.
    Unusable(CallFailure),
}

/// Prepares a reviewer. `variable` looks up the environment.
pub fn prepare(chosen: &Chosen, variable: &dyn Fn(&str) -> Option<String>) -> PreparedReviewer {
    let part = &chosen.part;
    let is_service = part.agent.is_none() && part.command.is_none();
    let mut prepared = PreparedReviewer {
        name: chosen.name.clone(),
        passes: part.passes.and_then(|passes| u32::try_from(passes).ok()).unwrap_or(1),
        structured: false,
        place: (!is_service).then_some(command::PLACE),
        call_tokens: if is_service { CALL_TOKENS } else { AGENT_CALL_TOKENS },
        price: None,
        keys: Vec::new(),
        way: ReviewerTransport::Unusable(setup(format!("`{}` is not set up", chosen.name), "")),
    };
    let way = if is_service { service(&mut prepared, part, variable) } else { agent(&mut prepared, chosen, variable) };
    prepared.way = way.unwrap_or_else(ReviewerTransport::Unusable);
    prepared
}

fn service(
    prepared: &mut PreparedReviewer,
    part: &ReviewerPart,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ReviewerTransport, CallFailure> {
    let name = prepared.name.clone();
    let known = part.provider.and_then(|word| preset::find(provider_name(word)));
    let protocol = part.protocol.map(Protocol::from).or(known.map(|known| known.protocol));
    let base_url = part.base_url.as_deref().or(known.map(|known| known.base_url));
    let (Some(protocol), Some(base_url)) = (protocol, base_url) else {
        return Err(setup(format!("`{name}` has no address"), "Set `base_url` and `protocol`, or `provider`."));
    };
    let structured = match (part.structured, known) {
        (Some(StructuredWord::Schema), _) => Structured::Schema,
        (Some(StructuredWord::Tool), _) => Structured::Tool,
        (Some(StructuredWord::None), _) => Structured::None,
        (None, Some(known)) => known.structured,
        // A service that rejects structured output is asked again without it.
        (None, None) => Structured::Schema,
    };
    let model = part.model.as_deref().or(known.filter(|_| part.base_url.is_none()).and_then(|known| known.model));
    prepared.price = configured_price(part).or_else(|| known.and(model).and_then(price::of));
    // Set before prerequisites are checked: a replay needs no key and must send the same questions.
    prepared.structured = structured != Structured::None;
    // The key of a known service is sent to another address only when the configuration names it.
    let usual = known.filter(|_| part.base_url.is_none()).map_or(&[][..], |known| known.key_names);
    let (key, key_from) = key(part, usual, variable)?;
    if key.is_none() && !usual.is_empty() {
        let missing = format!("`{name}` has no key: `{}` is not set", usual.join("` or `"));
        return Err(setup(missing, "Set it, or name another variable with `key_env` or a file with `key_file`."));
    }
    let Some(model) = model else {
        let hint = format!("Set `model` in `[reviewer.{name}]` of your configuration.");
        return Err(setup(format!("`{name}` has no model"), &hint));
    };
    let mut connection = Connection::new(&name, protocol, base_url, model);
    connection.structured = structured;
    if let Some(tokens) = part.max_output_tokens.and_then(|tokens| u32::try_from(tokens).ok()) {
        connection.max_output_tokens = tokens;
    }
    prepared.keys.extend(key.clone());
    connection.key = key.map(Key::new).transpose().map_err(|error| {
        setup(format!("the key of `{name}` in `{}` is none: {error}", key_from.as_deref().unwrap_or_default()), "")
    })?;
    connection.key_from = key_from.or_else(|| usual.first().map(|&name| name.to_owned()));
    Ok(ReviewerTransport::Service(Box::new(connection)))
}

fn agent(
    prepared: &mut PreparedReviewer,
    chosen: &Chosen,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ReviewerTransport, CallFailure> {
    let part = &chosen.part;
    let mut agent = match (&part.command, part.agent) {
        (Some(command), _) => Agent::command(&prepared.name, command.clone()),
        (None, Some(word)) => Agent { name: prepared.name.clone(), ..Agent::preset(word.into()) },
        (None, None) => return Err(setup(format!("`{}` has no program", prepared.name), "Set `agent` or `command`.")),
    };
    let usual = part.agent.map_or(&[][..], |word| AgentPreset::from(word).key_variables());
    let (key, key_from) = key(part, usual, variable)?;
    agent.sandbox.clone_from(&chosen.sandbox);
    agent.model.clone_from(&part.model);
    agent.environment = part.env.clone().unwrap_or_default();
    if part.command.is_some() {
        agent.prompt = match part.prompt.unwrap_or_default() {
            PromptWord::Stdin => PromptBy::Stdin,
            PromptWord::File => PromptBy::File,
        };
        agent.output = match part.output.unwrap_or_default() {
            OutputWord::Text => Output::Text,
            OutputWord::Json => Output::Json,
            OutputWord::Jsonl => Output::JsonLines,
        };
    }
    prepared.keys.extend(key.clone());
    // Other variables of the agent may hold keys as well, so their values are redacted.
    prepared.keys.extend(agent.environment.iter().filter_map(|name| variable(name)));
    let in_variable = part.key_env.clone().or_else(|| usual.first().map(|&name| name.to_owned())).or(key_from);
    agent.key = key.zip(in_variable).map(|(key, name)| command::Key::new(name, key));
    prepared.price = configured_price(part);
    Ok(ReviewerTransport::Agent(Box::new(agent)))
}

/// The default variables for the key of a preset. Another address has no default key.
pub(super) fn usual_keys(part: &ReviewerPart) -> Vec<String> {
    let of_service =
        part.provider.filter(|_| part.base_url.is_none()).and_then(|word| preset::find(provider_name(word)));
    let names = match part.agent {
        Some(word) => AgentPreset::from(word).key_variables(),
        None => of_service.map_or(&[][..], |known| known.key_names),
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The key and its source.
fn key(
    part: &ReviewerPart,
    usual: &[&str],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(Option<String>, Option<String>), CallFailure> {
    let set = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    if let Some(file) = &part.key_file {
        let read = tree::read_own(&PathBuf::from(file), MAX_KEY_BYTES);
        let Ok(Entry::File { content, .. }) = read else {
            return Err(setup(format!("the key file `{file}` cannot be read"), "Check the path in `key_file`."));
        };
        let text = String::from_utf8_lossy(&content).trim().to_owned();
        return Ok((Some(text).filter(|text| !text.is_empty()), Some(file.clone())));
    }
    if let Some(name) = &part.key_env {
        let Some(key) = set(name) else {
            return Err(setup(format!("`{name}` is not set, and `key_env` says that it holds the key"), "Set it."));
        };
        return Ok((Some(key), Some(name.clone())));
    }
    let found = usual.iter().find_map(|name| Some((set(name)?, (*name).to_owned())));
    Ok(found.map_or((None, None), |(key, name)| (Some(key), Some(name))))
}

fn configured_price(part: &ReviewerPart) -> Option<Price> {
    let (input, output) = part.price_input.zip(part.price_output)?;
    Some(Price { input, cached: input, output })
}

impl PreparedReviewer {
    /// The backend. A replay never calls one.
    #[must_use]
    pub fn backend(
        self,
        recording: &Recording,
        net: &Net,
        tree: Box<dyn Tree>,
        executable: PathBuf,
    ) -> Box<dyn Backend> {
        if matches!(recording, Recording::Replay(_)) {
            return Box::new(Unusable(setup("a recording is replayed, so no call is made".to_owned(), "")));
        }
        match self.way {
            ReviewerTransport::Service(connection) => match Provider::new(*connection, net) {
                Ok(provider) => Box::new(provider),
                Err(failure) => Box::new(Unusable(failure)),
            },
            ReviewerTransport::Agent(agent) => Box::new(CommandBackend::new(*agent, tree, executable)),
            ReviewerTransport::Unusable(failure) => Box::new(Unusable(failure)),
        }
    }
}

/// A backend whose prerequisites are missing.
struct Unusable(CallFailure);

impl Backend for Unusable {
    fn ask(&self, _question: &Question, _watch: &CallControl<'_>) -> Result<Reply, CallFailure> {
        Err(self.0.clone())
    }
}

fn setup(message: String, hint: &str) -> CallFailure {
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    CallFailure { why: FailureCause::Setup, message, hint, n_tries: 0 }
}

fn provider_name(word: ProviderWord) -> &'static str {
    match word {
        ProviderWord::Anthropic => "anthropic",
        ProviderWord::OpenAi => "openai",
        ProviderWord::Google => "google",
        ProviderWord::Ollama => "ollama",
        ProviderWord::OpenRouter => "openrouter",
        ProviderWord::DeepSeek => "deepseek",
        ProviderWord::Xai => "xai",
    }
}

same_variants!(ProtocolWord => Protocol: OpenAi Anthropic Gemini);
same_variants!(AgentWord => AgentPreset: Claude Codex Gemini CursorAgent OpenCode Aider);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sandbox, reviewer};

    fn preset(name: &str) -> Chosen {
        reviewer::presets().find(|preset| preset.name == name).unwrap()
    }

    #[track_caller]
    fn check_unusable(chosen: &Chosen, variables: &[(&str, &str)], expected: &str) {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match prepare(chosen, &variable).way {
            ReviewerTransport::Unusable(failure) => assert_eq!(failure.message, expected),
            other => panic!("{other:?} can be used"),
        }
    }

    #[test]
    fn a_missing_prerequisite_is_named() {
        check_unusable(&preset("anthropic"), &[], "`anthropic` has no key: `ANTHROPIC_API_KEY` is not set");
        check_unusable(
            &preset("anthropic"),
            &[("ANTHROPIC_API_KEY", " ")],
            "`anthropic` has no key: `ANTHROPIC_API_KEY` is not set",
        );
        check_unusable(&preset("google"), &[], "`google` has no key: `GEMINI_API_KEY` or `GOOGLE_API_KEY` is not set");
        check_unusable(&preset("ollama"), &[], "`ollama` has no model");
        let part = ReviewerPart { key_env: Some("WORK".to_owned()), ..preset("openai").part };
        let named = Chosen { name: "work".to_owned(), part, sandbox: Sandbox::default() };
        check_unusable(
            &named,
            &[("OPENAI_API_KEY", "k")],
            "`WORK` is not set, and `key_env` says that it holds the key",
        );
        let part = ReviewerPart { key_file: Some("/nonexistent".to_owned()), ..preset("openai").part };
        check_unusable(
            &Chosen { name: "f".to_owned(), part, sandbox: Sandbox::default() },
            &[],
            "the key file `/nonexistent` cannot be read",
        );
    }

    #[test]
    fn every_name_that_needs_no_table_is_a_preset_of_that_name() {
        let (mut n_agents, mut n_services) = (0, 0);
        for Chosen { name, part, .. } in reviewer::presets() {
            if let Some(agent) = part.agent {
                assert_eq!(AgentPreset::from(agent).name(), name);
                n_agents += 1;
            }
            if let Some(provider) = part.provider {
                assert_eq!(provider_name(provider), name);
                assert!(preset::find(&name).is_some(), "{name}");
                n_services += 1;
            }
        }
        assert_eq!((n_agents, n_services), (AgentPreset::ALL.len(), preset::ALL.len()));
    }

    #[test]
    fn the_key_of_a_known_service_does_not_go_to_another_address() {
        let part = ReviewerPart {
            base_url: Some("https://elsewhere.example/v1".to_owned()),
            model: Some("m".to_owned()),
            ..preset("openai").part
        };
        let chosen = Chosen { name: "proxy".to_owned(), part, sandbox: Sandbox::default() };
        let prepared = prepare(&chosen, &|_| Some("sk-held".to_owned()));
        assert_eq!(prepared.keys, [""; 0]);
        let part = ReviewerPart { key_env: Some("OPENAI_API_KEY".to_owned()), ..chosen.part };
        let named = Chosen { part, ..chosen };
        assert_eq!(prepare(&named, &|_| Some("sk-held".to_owned())).keys, ["sk-held"]);
    }
}
