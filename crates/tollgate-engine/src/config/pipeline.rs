//! The pipeline of the board: implementer, concurrency and budgets.
//!
//! ```toml
//! [pipeline]
//! agent = "claude"
//! at_once = 2
//! ```
//!
//! Only the operator may set it: a repository's own file must not choose an agent and its permissions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::file::within;
use super::reviewer::dollars;

/// The pipeline of the board. Never set in a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PipelinePart {
    /// The implementer: a preset agent, or one from `[reviewer.NAME]` that has an `agent` or a `command`.
    pub agent: Option<String>,
    /// Another model for the reviews than for the work, where reviewers take one.
    pub review_model: Option<String>,
    /// How many features agents work on at once.
    #[serde(deserialize_with = "within::<_, 1, 64>")]
    #[schemars(range(min = 1, max = 64))]
    pub at_once: Option<u64>,
    /// How many reviews are made at once.
    #[serde(deserialize_with = "within::<_, 1, 64>")]
    #[schemars(range(min = 1, max = 64))]
    pub reviews_at_once: Option<u64>,
    /// The iteration budget, after which the feature is paused for a person.
    #[serde(deserialize_with = "within::<_, 1, 3>")]
    #[schemars(range(min = 1, max = 3))]
    pub rounds: Option<u64>,
    /// The timeout of an agent for one iteration, in minutes.
    #[serde(deserialize_with = "within::<_, 1, 1_440>")]
    #[schemars(range(min = 1, max = 1_440))]
    pub minutes: Option<u64>,
    /// The idle timeout of an agent, in minutes.
    #[serde(deserialize_with = "within::<_, 1, 1_440>")]
    #[schemars(range(min = 1, max = 1_440))]
    pub idle_minutes: Option<u64>,
    /// US dollars for one feature, work and reviews together.
    #[serde(deserialize_with = "dollars")]
    pub usd: Option<f64>,
    /// Whether the project's git hooks are run for commits.
    pub hooks: Option<bool>,
    /// The folder of a project that holds its features.
    #[serde(deserialize_with = "folder")]
    pub dir: Option<String>,
}

/// How the board works.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Who implements features.
    pub agent: Option<String>,
    /// Another model for the reviews.
    pub review_model: Option<String>,
    /// How many features agents work on at once.
    pub at_once: usize,
    /// How many reviews are made at once.
    pub reviews_at_once: usize,
    /// The iteration budget, after which the feature is paused for a person.
    pub rounds: u32,
    /// How long an agent may take for one round.
    pub time: Duration,
    /// How long it may be silent.
    pub idle: Duration,
    /// US dollars for one feature.
    pub usd: Option<f64>,
    /// Whether the project's git hooks are run for commits.
    pub hooks: bool,
    /// The folder of a project that holds its features.
    pub dir: String,
    /// The name in commit messages.
    pub name: String,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self {
            agent: None,
            review_model: None,
            at_once: 2,
            reviews_at_once: 2,
            rounds: tollgate_core::board::machine::MAX_ROUNDS,
            time: Duration::from_secs(60 * 60),
            idle: Duration::from_secs(10 * 60),
            usd: None,
            hooks: true,
            dir: ".automaker".to_owned(),
            name: "Automaker".to_owned(),
        }
    }
}

impl Pipeline {
    pub(super) fn take(&mut self, part: &PipelinePart, name: Option<&String>) {
        let number = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());
        self.agent = part.agent.clone().or(self.agent.take());
        self.review_model = part.review_model.clone().or(self.review_model.take());
        self.at_once = number(part.at_once).unwrap_or(self.at_once);
        self.reviews_at_once = number(part.reviews_at_once).unwrap_or(self.reviews_at_once);
        self.rounds = part.rounds.and_then(|rounds| u32::try_from(rounds).ok()).unwrap_or(self.rounds);
        self.time = part.minutes.map_or(self.time, |minutes| Duration::from_secs(minutes * 60));
        self.idle = part.idle_minutes.map_or(self.idle, |minutes| Duration::from_secs(minutes * 60));
        self.usd = part.usd.or(self.usd);
        self.hooks = part.hooks.unwrap_or(self.hooks);
        self.dir = part.dir.clone().unwrap_or_else(|| std::mem::take(&mut self.dir));
        self.name = name.cloned().unwrap_or_else(|| std::mem::take(&mut self.name));
    }
}

fn folder<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(from)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(plain);
    if !is_name || name.starts_with('-') || [".", "..", ".git"].contains(&name.as_str()) {
        return Err(D::Error::custom("expected the name of a folder, as `.automaker`"));
    }
    Ok(Some(name))
}
