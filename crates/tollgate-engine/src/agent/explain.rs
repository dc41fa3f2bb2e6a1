//! Error messages for failed calls of agents.

use std::io;
use std::path::Path;

use tollgate_core::visible::visible;

use super::output::NoAnswer;
use super::{Agent, Program};
use crate::call::{CallFailure, FailureCause};
use crate::process::guard::{AgentExit, NOT_STARTED};
#[cfg(unix)]
use crate::process::sandbox::Layers;

/// The longest quotation of an agent's output.
const MAX_QUOTED: usize = 600;
const MAX_QUOTED_LINES: usize = 6;

/// A failure without a hint.
pub(crate) fn failed(why: FailureCause, message: impl Into<String>) -> CallFailure {
    CallFailure { why, message: message.into(), hint: None, n_tries: 1 }
}

impl CallFailure {
    /// Adds a remedy.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(not(unix))]
pub(crate) fn not_here() -> CallFailure {
    failed(FailureCause::Setup, "agents by command cannot be kept in check on this system")
        .hint("Use a provider, or run tollgate on Linux or macOS.")
}

pub(crate) fn not_found(agent: &Agent) -> CallFailure {
    let name = agent.program_name().to_string_lossy().into_owned();
    let failure = failed(FailureCause::Setup, format!("there is no program `{}` that can be run", visible(&name)));
    match &agent.program {
        Program::Preset(preset) => failure.hint(preset.how_to_install()),
        Program::Command(_) => failure.hint("Check the spelling, and that it is on the PATH and executable."),
    }
}

pub(crate) fn no_area(agent: &Agent, problem: &io::Error) -> CallFailure {
    failed(FailureCause::Setup, format!("cannot prepare a folder for `{}`: {problem}", agent.name))
        .hint("Check that there is room in the temporary folder, or set TMPDIR to another one.")
}

pub(crate) fn no_folder(agent: &Agent, folder: &Path) -> CallFailure {
    let folder = folder.to_string_lossy();
    failed(FailureCause::Setup, format!("there is no folder `{}` for `{}` to work in", visible(&folder), agent.name))
}

pub(crate) fn no_guard(agent: &Agent, problem: &io::Error) -> CallFailure {
    failed(FailureCause::Setup, format!("cannot start the guard of `{}`: {problem}", agent.name))
}

#[cfg(unix)]
pub(crate) fn no_sandbox(agent: &Agent, layers: Layers) -> CallFailure {
    let missing = layers.missing().join("; ");
    let message =
        format!("`{}` is not started, because `sandbox` is `require` and a layer is missing: {missing}", agent.name);
    failed(FailureCause::Setup, message)
        .hint("Install bubblewrap (Debian: `apt-get install bubblewrap`), see `tollgate doctor`, or set `sandbox = \"best\"`.")
}

pub(crate) fn too_much_disk(agent: &Agent, may_grow: u64) -> CallFailure {
    let n_mib = may_grow >> 20;
    failed(FailureCause::Misbehaved, format!("`{}` wrote more than {n_mib} MiB and was stopped", agent.name))
}

pub(crate) fn too_much_output(agent: &Agent) -> CallFailure {
    failed(FailureCause::Garbled, format!("`{}` printed more than is read and was stopped", agent.name))
}

pub(crate) fn too_late(agent: &Agent, has_printed: bool, trouble: Option<&str>) -> CallFailure {
    let last = last_words(trouble);
    let failure =
        failed(FailureCause::TooSlow, format!("`{}` did not finish in time and was stopped{last}", agent.name));
    // Some agents wait silently and forever for a log-in.
    match log_in(agent).filter(|_| !has_printed && agent.form().streams()) {
        Some(hint) => failure.hint(format!("It printed nothing at all. {hint}")),
        None => failure,
    }
}

pub(crate) fn too_quiet(agent: &Agent, seconds: u64, trouble: Option<&str>) -> CallFailure {
    let last = last_words(trouble);
    failed(FailureCause::TooSlow, format!("`{}` printed nothing for {seconds} s and was stopped{last}", agent.name))
        .hint(log_in(agent).unwrap_or("See whether it works when you start it by hand."))
}

pub(crate) fn cancelled(agent: &Agent) -> CallFailure {
    failed(FailureCause::Cancelled, format!("`{}` was stopped", agent.name))
}

fn last_words(trouble: Option<&str>) -> String {
    trouble.map_or_else(String::new, |trouble| format!("; it last said: {}", quote(trouble)))
}

/// The agent exited with an error; its last output is quoted.
pub(crate) fn ended_badly(agent: &Agent, ended: AgentExit, said: Option<&str>, stderr: &str) -> CallFailure {
    let how = match ended {
        AgentExit::Code(code) if code == i32::from(NOT_STARTED) => "could not be started".to_owned(),
        AgentExit::Code(code) => format!("ended with exit code {code}"),
        AgentExit::Signal(signal) => format!("was ended by signal {signal}"),
        AgentExit::Unknown => "was lost with its guard".to_owned(),
    };
    let said = quote(said.filter(|said| !said.trim().is_empty()).unwrap_or(stderr));
    let said = if said.is_empty() { "it gave no reason".to_owned() } else { said };
    let code = if let AgentExit::Code(code) = ended { code } else { 0 };
    sort(agent, format!("`{}` {how}: {said}", agent.name), &said, code)
}

/// The agent exited successfully without an answer.
pub(crate) fn no_answer(agent: &Agent, why: &NoAnswer) -> CallFailure {
    match why {
        NoAnswer::Error(said) => {
            let said = quote(said);
            sort(agent, format!("`{}` reports an error: {said}", agent.name), &said, 0)
        }
        NoAnswer::Nothing(what) => failed(FailureCause::Garbled, format!("`{}` {}", agent.name, quote(what)))
            .hint("See what it prints when you start it by hand; `tollgate doctor` checks its version."),
    }
}

/// Classifies a failure by the agent's error text and exit code.
fn sort(agent: &Agent, message: String, said: &str, code: i32) -> CallFailure {
    let said = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    // 41 and 55 are Gemini's: no log-in, and a folder it does not trust.
    let log_in_words = ["log in", "login", "logged in", "api key", "api_key", "unauthorized", "401", "authenticat"];
    if code == i32::from(NOT_STARTED) {
        failed(FailureCause::Setup, message).hint("See whether it works when you start it by hand.")
    } else if says(&["rate limit", "rate_limit", "ratelimit", "429", "overloaded", "529", "quota", "usage limit"]) {
        failed(FailureCause::Overloaded, message).hint("Try again later, or use another model.")
    } else if code == 41 || says(&log_in_words) {
        failed(FailureCause::Setup, message).hint(log_in(agent).unwrap_or("Check the key and how it is logged in."))
    } else if says(&["unknown option", "unexpected argument", "unrecognized", "unknown argument"]) {
        failed(FailureCause::Setup, message)
            .hint("This version knows other options than tollgate was tried with; update it.")
    } else if says(&["model"]) && says(&["not found", "does not exist", "not supported", "invalid model", "404"]) {
        failed(FailureCause::Setup, message).hint("Check the name of the model.")
    } else {
        failed(FailureCause::Unavailable, message)
    }
}

fn log_in(agent: &Agent) -> Option<&'static str> {
    match agent.program {
        Program::Preset(preset) => Some(preset.how_to_log_in()),
        Program::Command(_) => None,
    }
}

/// The end of a text, on one line, with control characters escaped.
fn quote(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(MAX_QUOTED_LINES)..].join(" / ");
    let start = last.ceil_char_boundary(last.len().saturating_sub(MAX_QUOTED));
    let cut = if start > 0 { "…" } else { "" };
    visible(&format!("{cut}{}", &last[start..])).into_owned()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::Preset;
    use super::*;

    fn shown(failure: &CallFailure) -> String {
        format!("{:?}: {}\n{}", failure.why, failure.message, failure.hint.as_deref().unwrap_or("-"))
    }

    fn badly(ended: AgentExit, stderr: &str) -> String {
        shown(&ended_badly(&Agent::preset(Preset::Claude), ended, None, stderr))
    }

    #[test]
    fn last_output_of_a_failed_agent_is_quoted_and_classified() {
        assert_snapshot!(badly(AgentExit::Code(1), "a\nb\n\u{1b}[31mboom\n"), @r"
        Unavailable: `claude` ended with exit code 1: a / b / \u{1b}[31mboom
        -
        ");
        assert_snapshot!(badly(AgentExit::Code(1), "Error: 429 Too Many Requests"), @r"
        Overloaded: `claude` ended with exit code 1: Error: 429 Too Many Requests
        Try again later, or use another model.
        ");
        assert_snapshot!(badly(AgentExit::Code(1), "Not logged in · Please run /login"), @r"
        Setup: `claude` ended with exit code 1: Not logged in · Please run /login
        Start `claude` once and log in, or set `key_env` to a variable that holds an API key.
        ");
        assert_snapshot!(badly(AgentExit::Code(41), "{}"), @r"
        Setup: `claude` ended with exit code 41: {}
        Start `claude` once and log in, or set `key_env` to a variable that holds an API key.
        ");
        assert_snapshot!(badly(AgentExit::Code(2), "error: unknown option '--tools'"), @r"
        Setup: `claude` ended with exit code 2: error: unknown option '--tools'
        This version knows other options than tollgate was tried with; update it.
        ");
        assert_snapshot!(badly(AgentExit::Code(1), "model `gpt-9` does not exist"), @r"
        Setup: `claude` ended with exit code 1: model `gpt-9` does not exist
        Check the name of the model.
        ");
        assert_snapshot!(badly(AgentExit::Code(126), "cannot start `/x`: Exec format error"), @r"
        Setup: `claude` could not be started: cannot start `/x`: Exec format error
        See whether it works when you start it by hand.
        ");
        assert_snapshot!(badly(AgentExit::Signal(11), ""), @r"
        Unavailable: `claude` was ended by signal 11: it gave no reason
        -
        ");
    }

    #[test]
    fn long_complaints_are_cut_at_the_front() {
        let quoted = quote(&"é".repeat(1000));
        assert!(quoted.starts_with('…') && quoted.len() <= MAX_QUOTED + '…'.len_utf8());
        assert_eq!(quote("1\n2\n3\n4\n5\n6\n7\n8"), "3 / 4 / 5 / 6 / 7 / 8");
    }
}
