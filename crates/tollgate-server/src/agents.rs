//! The agents and models that can implement or review: their list, and trials of them.
//!
//! The list is cached for a minute, because some agents take seconds to report their version. A trial runs over the
//! network within a time limit, one at a time for each agent.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use tollgate_engine::board::Board;
use tollgate_engine::config::{Chosen, EMBEDDED, Settings};
use tollgate_engine::failure::Failure;
use tollgate_engine::reviewer::availability::{self, ReviewerDescription, ReviewerKind};
use tollgate_engine::reviewer::call::CallControl;
use tollgate_engine::reviewer::provider::Net;
use tollgate_engine::reviewer::{embedded, smoke_test};
use utoipa::ToSchema;

use crate::problem::{Kind, Problem};

const REVIEWER: &str = "reviewer";
/// How long the list is cached.
const CACHED_FOR: Duration = Duration::from_secs(60);
/// The time limits of a question and of a self-test; the page mentions them.
const ASK_TIME: Duration = Duration::from_secs(90);
const SELF_TEST_TIME: Duration = Duration::from_secs(300);
/// How long a reviewer may send nothing.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// How many trials run at once.
const MAX_TRIALS: usize = 2;

/// An agent or model in one of its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agent {
    /// Its name in settings and features.
    #[schema(example = "claude")]
    pub(crate) name: String,
    /// `implementer` or `reviewer`.
    #[schema(example = "implementer")]
    pub(crate) role: String,
    /// True when it is available now.
    pub(crate) available: bool,
    /// Its version, or why it is not available.
    pub(crate) detail: String,
    /// `embedded`, `service`, `agent` or `command`.
    #[schema(example = "agent")]
    pub(crate) kind: String,
    /// Its model, where one is configured or the default is known.
    pub(crate) model: Option<String>,
    /// Where its key is read from: names of environment variables, or a file.
    pub(crate) key_in: Vec<String>,
    /// True when one of them holds a key.
    pub(crate) has_key: bool,
    /// True when it is in the configuration, false when it is a preset.
    pub(crate) is_own: bool,
    /// True when it has this role now.
    pub(crate) is_used: bool,
}

/// The kind of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Trial {
    /// One question.
    #[default]
    Ask,
    /// A self-test: the agent has to write a file.
    Hands,
}

/// The result of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tried {
    /// True when it passed.
    pub(crate) passed: bool,
    /// What happened, for people.
    #[schema(example = "it answered within 2.1 s")]
    pub(crate) words: String,
    /// A hint how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) hint: Option<String>,
    /// The duration in milliseconds.
    pub(crate) took_ms: u64,
}

/// The cached list of agents, and the trials that run.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    cached: Mutex<Option<(Instant, Vec<Agent>)>>,
    trials: Trials,
}

impl Agents {
    /// The list of agents. Concurrent callers wait for the same look.
    pub(crate) fn list(&self, settings: &Settings) -> Vec<Agent> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, agents)) = cached.as_ref().filter(|(at, _)| at.elapsed() < CACHED_FOR) {
            return agents.clone();
        }
        let agents = all(settings);
        *cached = Some((Instant::now(), agents.clone()));
        agents
    }

    /// Tries an agent or a service.
    pub(crate) fn test(&self, board: &Board, name: &str, trial: Trial) -> Result<Tried, Problem> {
        if name != EMBEDDED
            && let Err(Failure { message, hint, .. }) = board.settings().reviewer(name)
        {
            let problem = Problem::new(Kind::NotFound, message);
            return Err(hint.into_iter().fold(problem, Problem::hint));
        }
        let _running = self.trials.begin(name)?;
        let started = Instant::now();
        let result = run(board, name, trial);
        // The trial may have changed whether the agent is available.
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (passed, words, hint) = match result {
            Ok(words) => (true, words, None),
            Err(Failure { message, hint, .. }) => (false, message, hint),
        };
        Ok(Tried { passed, words, hint, took_ms })
    }
}

fn run(board: &Board, name: &str, trial: Trial) -> Result<String, Failure> {
    let (settings, home) = (board.settings(), board.home());
    if name == EMBEDDED {
        embedded::self_test(&home.executable, settings.limits)?;
        return Ok("a scanning child was started and found what it should".to_owned());
    }
    let chosen = settings.reviewer(name)?;
    let (time, cancel) = (if trial == Trial::Ask { ASK_TIME } else { SELF_TEST_TIME }, CancellationToken::new());
    let (deadline, idle) = (Instant::now() + time, IDLE_TIME);
    let watch = CallControl { deadline, idle, cancel: &cancel, heard: &|_| {} };
    match trial {
        Trial::Ask => smoke_test::ask_once(&chosen, &home.executable, &watch),
        Trial::Hands => smoke_test::self_test(&chosen, &home.executable, &watch),
    }
}

/// The names of the agents with a running trial.
#[derive(Debug, Default)]
struct Trials(Mutex<BTreeSet<String>>);

/// A running trial, which ends when this is dropped.
struct RunningTrial<'a> {
    trials: &'a Trials,
    name: String,
}

impl Trials {
    fn begin(&self, name: &str) -> Result<RunningTrial<'_>, Problem> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return Err(Problem::new(Kind::Conflict, format!("`{name}` is being tested already")));
        }
        if names.len() >= MAX_TRIALS {
            return Err(Problem::new(Kind::Conflict, "others are being tested; wait until one of them is done"));
        }
        names.insert(name.to_owned());
        Ok(RunningTrial { trials: self, name: name.to_owned() })
    }
}

impl Drop for RunningTrial<'_> {
    fn drop(&mut self) {
        self.trials.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// All configured agents and presets, the embedded rules first. They are probed in parallel, because some programs
/// take a second to report their version.
fn all(settings: &Settings) -> Vec<Agent> {
    let known = availability::known(settings);
    let net = Net::new();
    let probed: Vec<(bool, String)> = std::thread::scope(|scope| {
        let net = &net;
        let looks: Vec<_> =
            known.iter().map(|chosen| scope.spawn(move || availability::check(chosen, net, false))).collect();
        let result = |look: std::thread::ScopedJoinHandle<'_, Result<String, _>>| match look.join() {
            Ok(Ok(words)) => (true, words),
            Ok(Err(failure)) => (false, with_hint(&failure)),
            Err(_) => (false, "the probe failed".to_owned()),
        };
        looks.into_iter().map(result).collect()
    });
    let mut agents = vec![rules()];
    for (chosen, (available, detail)) in known.iter().zip(probed) {
        let ReviewerDescription { kind, model, key_in, has_key } =
            availability::describe(chosen, &|name| std::env::var(name).ok());
        let kind = match kind {
            ReviewerKind::Service => "service",
            ReviewerKind::Agent => "agent",
            ReviewerKind::Command => "command",
        };
        for role in roles(chosen) {
            agents.push(Agent {
                name: chosen.name.clone(),
                role: (*role).to_owned(),
                available,
                detail: detail.clone(),
                kind: kind.to_owned(),
                model: model.clone(),
                key_in: key_in.clone(),
                has_key,
                is_own: settings.known_reviewers.contains(chosen),
                is_used: is_used(settings, &chosen.name, role),
            });
        }
    }
    agents
}

/// The embedded rules, which are always available.
fn rules() -> Agent {
    Agent {
        name: EMBEDDED.to_owned(),
        role: REVIEWER.to_owned(),
        available: true,
        detail: format!("{} rules, offline; always reviews", availability::n_rules()),
        kind: "embedded".to_owned(),
        model: None,
        key_in: Vec::new(),
        has_key: false,
        is_own: true,
        is_used: true,
    }
}

fn is_used(settings: &Settings, name: &str, role: &str) -> bool {
    if role == REVIEWER {
        settings.reviewers.iter().any(|chosen| chosen.name == name)
    } else {
        settings.pipeline.agent.as_deref() == Some(name)
    }
}

/// The roles of a reviewer. An agent has both; a service cannot change files.
fn roles(chosen: &Chosen) -> &'static [&'static str] {
    if chosen.is_agent() { &["implementer", REVIEWER] } else { &[REVIEWER] }
}

fn with_hint(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}. {hint}", failure.message),
        None => failure.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_one_trial_at_a_time() {
        let trials = Trials::default();
        let first = trials.begin("a").unwrap();
        assert!(trials.begin("a").is_err());
        let second = trials.begin("b").unwrap();
        let Err(problem) = trials.begin("c") else { panic!("a third one") };
        let expected = Problem::new(Kind::Conflict, "others are being tested; wait until one of them is done");
        assert_eq!(problem, expected);
        drop(first);
        assert!(trials.begin("a").is_ok());
        drop(second);
    }
}
