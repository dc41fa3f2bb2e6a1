//! Models and agents as reviewers: presets, connections and budgets.
//!
//! ```toml
//! [review]
//! reviewers = ["claude", "local"]
//!
//! [reviewer.local]
//! base_url = "http://127.0.0.1:8080/v1"
//! protocol = "openai"
//! model = "qwen3-coder"
//! ```
//!
//! The presets need no table: `claude` is the agent of that name, `anthropic` the service. Keys that start a program, name
//! an address or name a key are never read from a repository's file, because the reviewed change could contain them.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::file::{Pattern, nearest, within};
use super::sandbox::Sandbox;
use crate::failure::{self, Failure};

/// The name of the embedded reviewer, which always runs.
pub const EMBEDDED: &str = "rules";

/// The table of one reviewer. Exactly one of `provider`, `agent`, `command` and `base_url` is set; a table with the name of a
/// preset inherits it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReviewerPart {
    /// A known service.
    pub provider: Option<ProviderWord>,
    /// A known agent.
    pub agent: Option<AgentWord>,
    /// Your own program and its arguments; `{prompt}` stands for a file with the prompt. Never set in a repository.
    #[serde(deserialize_with = "command")]
    pub command: Option<Vec<String>>,
    /// The base URL of a service. Never set in a repository.
    #[serde(deserialize_with = "base_url")]
    pub base_url: Option<String>,
    /// The protocol at `base_url`.
    pub protocol: Option<ProtocolWord>,
    /// The model.
    #[serde(deserialize_with = "model")]
    pub model: Option<String>,
    /// The name of the environment variable that holds the key. Never set in a repository.
    #[serde(deserialize_with = "variable")]
    pub key_env: Option<String>,
    /// A file that holds the key. Never set in a repository.
    pub key_file: Option<String>,
    /// How structured output is requested.
    pub structured: Option<StructuredWord>,
    /// The limit on output tokens of one answer.
    #[serde(deserialize_with = "within::<_, 16, 200_000>")]
    #[schemars(range(min = 16, max = 200_000))]
    pub max_output_tokens: Option<u64>,
    /// The number of passes over the same change.
    #[serde(deserialize_with = "within::<_, 1, 8>")]
    #[schemars(range(min = 1, max = 8))]
    pub passes: Option<u64>,
    /// US dollars for a million tokens read. Never set in a repository.
    #[serde(deserialize_with = "dollars")]
    pub price_input: Option<f64>,
    /// US dollars for a million tokens written. Never set in a repository.
    #[serde(deserialize_with = "dollars")]
    pub price_output: Option<f64>,
    /// How your own program gets the prompt.
    pub prompt: Option<PromptWord>,
    /// The output format of your own program.
    pub output: Option<OutputWord>,
    /// True when your own program also answers review prompts without writing files; then it reviews the features that
    /// it implements, unless `review.reviewers` is set. Never set in a repository.
    pub reviews: Option<bool>,
    /// Environment variables that are passed to an agent beside the usual ones. Never set in a repository.
    #[serde(deserialize_with = "variables")]
    pub env: Option<Vec<String>>,
}

/// The budget of a review by models, all reviewers together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetPart {
    /// Tokens that are sent; hunks beyond it are not reviewed.
    #[serde(deserialize_with = "within::<_, 1_000, 100_000_000>")]
    #[schemars(range(min = 1_000, max = 100_000_000))]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(deserialize_with = "dollars")]
    pub usd: Option<f64>,
    /// The timeout of a review, in seconds.
    #[serde(deserialize_with = "within::<_, 1, 86_400>")]
    #[schemars(range(min = 1, max = 86_400))]
    pub seconds: Option<u64>,
    /// The idle timeout of a call, in seconds.
    #[serde(deserialize_with = "within::<_, 1, 86_400>")]
    #[schemars(range(min = 1, max = 86_400))]
    pub idle_seconds: Option<u64>,
    /// Tokens of the change in one call.
    #[serde(deserialize_with = "within::<_, 200, 1_000_000>")]
    #[schemars(range(min = 200, max = 1_000_000))]
    pub call_tokens: Option<u64>,
    /// Parallel calls.
    #[serde(deserialize_with = "within::<_, 1, 64>")]
    #[schemars(range(min = 1, max = 64))]
    pub parallel: Option<u64>,
}

/// An instruction to models and agents about some files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InstructionPart {
    /// The files, by patterns as in `.gitignore`.
    pub paths: Vec<Pattern>,
    /// The instruction.
    pub text: String,
}

/// Preset services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are names")]
pub enum ProviderWord {
    Anthropic,
    OpenAi,
    #[serde(alias = "gemini")]
    Google,
    Ollama,
    OpenRouter,
    DeepSeek,
    Xai,
}

/// Preset agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words are names")]
pub enum AgentWord {
    Claude,
    Codex,
    Gemini,
    CursorAgent,
    #[serde(rename = "opencode")]
    OpenCode,
    Aider,
}

/// The protocol of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words are names")]
pub enum ProtocolWord {
    OpenAi,
    Anthropic,
    Gemini,
}

/// How structured output is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StructuredWord {
    /// The service is given the schema.
    Schema,
    /// The answer is the call of a tool.
    Tool,
    /// The prompt asks for it.
    None,
}

/// How a program gets the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptWord {
    /// On standard input.
    #[default]
    Stdin,
    /// In a file, whose path stands for `{prompt}` among the arguments.
    File,
}

/// The output format of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputWord {
    /// Its answer.
    #[default]
    Text,
    /// One object that holds it.
    Json,
    /// Objects, one a line.
    Jsonl,
}

/// A configured reviewer.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Its name.
    pub name: String,
    /// Its table, with the values of the preset.
    pub part: ReviewerPart,
    /// The sandbox of an agent, which is the operator's setting.
    pub sandbox: Sandbox,
}

impl Chosen {
    /// True for an agent, which explores the files.
    pub fn is_agent(&self) -> bool {
        self.part.command.is_some() || self.part.agent.is_some()
    }
}

/// The budget of a review by models.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Tokens that are sent.
    pub tokens: usize,
    /// US dollars.
    pub usd: Option<f64>,
    /// The timeout of a review.
    pub time: Duration,
    /// The idle timeout of a call.
    pub idle: Duration,
    /// Tokens of the change in one call.
    pub call_tokens: Option<usize>,
    /// Parallel calls.
    pub parallel: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            tokens: 200_000,
            usd: None,
            time: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            call_tokens: None,
            parallel: 4,
        }
    }
}

impl Budget {
    pub(super) fn take(&mut self, part: &BudgetPart) {
        let number = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());
        self.tokens = number(part.tokens).unwrap_or(self.tokens);
        self.usd = part.usd.or(self.usd);
        self.time = part.seconds.map_or(self.time, Duration::from_secs);
        self.idle = part.idle_seconds.map_or(self.idle, Duration::from_secs);
        self.call_tokens = number(part.call_tokens).or(self.call_tokens);
        self.parallel = number(part.parallel).unwrap_or(self.parallel);
    }
}

impl BudgetPart {
    /// Caps the budget by another one.
    pub(super) fn within(&self, own: &Self) -> Self {
        let least = |value: Option<u64>, own: Option<u64>| value.map(|value| own.map_or(value, |own| value.min(own)));
        Self {
            tokens: least(self.tokens, own.tokens),
            usd: self.usd.map(|usd| own.usd.map_or(usd, |own| usd.min(own))),
            seconds: least(self.seconds, own.seconds),
            idle_seconds: least(self.idle_seconds, own.idle_seconds),
            call_tokens: least(self.call_tokens, own.call_tokens),
            parallel: least(self.parallel, own.parallel),
        }
    }
}

impl ReviewerPart {
    /// The fields that a repository must not set, as far as they are set.
    pub(super) fn own_only(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            ("command", self.command.is_some()),
            ("base_url", self.base_url.is_some()),
            ("key_env", self.key_env.is_some()),
            ("key_file", self.key_file.is_some()),
            ("reviews", self.reviews.is_some()),
            ("env", self.env.is_some()),
            ("price_input", self.price_input.is_some()),
            ("price_output", self.price_output.is_some()),
        ];
        set.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }

    /// The table with the kind of the preset of that name, where it sets none itself.
    pub(super) fn with_preset(mut self, name: &str) -> Self {
        let has_kind = self.provider.is_some() || self.agent.is_some() || self.command.is_some();
        // A protocol is set for a service of the user's own at `base_url`.
        let is_own = has_kind || self.protocol.is_some();
        match PRESETS.iter().find(|(preset, _)| *preset == name && !is_own).map(|(_, preset)| *preset) {
            Some(Preset::Agent(agent)) => self.agent = Some(agent),
            Some(Preset::Provider(provider)) => self.provider = Some(provider),
            None => {}
        }
        self
    }

    /// True for an agent with a read-only role: a known one, or the user's own program that says so.
    #[must_use]
    pub fn can_review(&self) -> bool {
        self.agent.is_some() || self.reviews == Some(true)
    }

    /// Validates the combination of fields.
    pub(super) fn check(&self) -> Result<(), String> {
        let kinds = [
            ("provider", self.provider.is_some()),
            ("agent", self.agent.is_some()),
            ("command", self.command.is_some()),
        ];
        let kinds: Vec<&str> = kinds.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect();
        match (kinds.as_slice(), &self.base_url) {
            ([one, other, ..], _) => return Err(format!("sets both `{one}` and `{other}`")),
            ([], None) => return Err("sets none of `provider`, `agent`, `command` and `base_url`".to_owned()),
            (["agent" | "command"], Some(_)) => {
                return Err(
                    "has a `base_url`, which only services have; an agent has the address of its service from its \
                            own configuration, or from its own variable such as `ANTHROPIC_BASE_URL`"
                        .to_owned(),
                );
            }
            ([], Some(_)) if self.protocol.is_none() => {
                return Err(
                    "has a `base_url` and no `protocol`; it can be `openai`, `anthropic` or `gemini`".to_owned()
                );
            }
            _ => {}
        }
        if self.key_env.is_some() && self.key_file.is_some() {
            return Err("sets both `key_env` and `key_file`".to_owned());
        }
        if self.command.is_none() && (self.prompt.is_some() || self.output.is_some()) {
            return Err("sets `prompt` or `output`, which only a `command` has".to_owned());
        }
        if self.command.is_none() && self.reviews.is_some() {
            return Err("sets `reviews`, which only a `command` has".to_owned());
        }
        if self.price_input.is_some() != self.price_output.is_some() {
            return Err("sets one of `price_input` and `price_output`; both are needed".to_owned());
        }
        Ok(())
    }
}

/// The reviewers that need no table.
const PRESETS: [(&str, Preset); 13] = [
    ("claude", Preset::Agent(AgentWord::Claude)),
    ("codex", Preset::Agent(AgentWord::Codex)),
    ("gemini", Preset::Agent(AgentWord::Gemini)),
    ("cursor-agent", Preset::Agent(AgentWord::CursorAgent)),
    ("opencode", Preset::Agent(AgentWord::OpenCode)),
    ("aider", Preset::Agent(AgentWord::Aider)),
    ("anthropic", Preset::Provider(ProviderWord::Anthropic)),
    ("openai", Preset::Provider(ProviderWord::OpenAi)),
    ("google", Preset::Provider(ProviderWord::Google)),
    ("ollama", Preset::Provider(ProviderWord::Ollama)),
    ("openrouter", Preset::Provider(ProviderWord::OpenRouter)),
    ("deepseek", Preset::Provider(ProviderWord::DeepSeek)),
    ("xai", Preset::Provider(ProviderWord::Xai)),
];

#[derive(Clone, Copy)]
enum Preset {
    Agent(AgentWord),
    Provider(ProviderWord),
}

/// The reviewers that need no table, by name.
pub(crate) fn presets() -> impl Iterator<Item = Chosen> {
    PRESETS.iter().map(|(name, preset)| {
        let part = match *preset {
            Preset::Agent(agent) => ReviewerPart { agent: Some(agent), ..ReviewerPart::default() },
            Preset::Provider(provider) => ReviewerPart { provider: Some(provider), ..ReviewerPart::default() },
        };
        Chosen { name: (*name).to_owned(), part, sandbox: Sandbox::default() }
    })
}

/// Finds a reviewer by its name: one that is set up, or a preset.
pub(super) fn find(name: &str, tables: &BTreeMap<String, ReviewerPart>) -> Result<Chosen, Failure> {
    if let Some(part) = tables.get(name) {
        return Ok(Chosen { name: name.to_owned(), part: part.clone(), sandbox: Sandbox::default() });
    }
    if let Some(preset) = presets().find(|preset| preset.name == name) {
        return Ok(preset);
    }
    let known: Vec<&str> =
        tables.keys().map(String::as_str).chain(PRESETS.iter().map(|(name, _)| *name)).chain([EMBEDDED]).collect();
    Err(failure::no_such_reviewer(name, nearest(name, &known), &known))
}

/// A name that can stand in a report and in a flag.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=40).contains(&name.len()) && name.bytes().all(plain) && name != EMBEDDED
}

fn command<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    if words.first().is_none_or(String::is_empty) || words.iter().any(|word| word.contains('\0')) {
        return Err(D::Error::custom("expected a program and its arguments, as in `[\"my-agent\", \"--review\"]`"));
    }
    Ok(Some(words))
}

fn base_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(from)?;
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = host.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let plain = url.chars().all(|character| character.is_ascii_graphic());
    match host {
        Some(host) if host.contains('@') => {
            Err(D::Error::custom("an address must not hold a name or a password; use `key_env` or `key_file`"))
        }
        Some(host) if !host.is_empty() && plain => Ok(Some(url.trim_end_matches('/').to_owned())),
        _ => Err(D::Error::custom("expected an address that begins with `https://` or `http://`")),
    }
}

fn model<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    // It becomes an argument of a program, so it must not look like an option.
    if name.is_empty() || name.len() > 200 || name.starts_with('-') || !name.bytes().all(plain) {
        return Err(D::Error::custom("expected the name of a model"));
    }
    Ok(Some(name))
}

fn is_variable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=100).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

// The value is not shown, because it could be a key that was put here by mistake.
const NOT_A_VARIABLE: &str =
    "expected the name of an environment variable in capitals, as `ANTHROPIC_API_KEY`, not a key";

fn variable<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    if is_variable(&name) { Ok(Some(name)) } else { Err(D::Error::custom(NOT_A_VARIABLE)) }
}

fn variables<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    if names.iter().all(|name| is_variable(name)) { Ok(Some(names)) } else { Err(D::Error::custom(NOT_A_VARIABLE)) }
}

pub(super) fn dollars<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let amount = f64::deserialize(from)?;
    if amount.is_finite() && (0.0..=1e6).contains(&amount) {
        Ok(Some(amount))
    } else {
        Err(D::Error::custom("expected an amount of US dollars"))
    }
}
