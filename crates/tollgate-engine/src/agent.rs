//! Agents: programs that read a prompt, work autonomously, and print a report.
//!
//! A reviewer reads and answers, an implementer writes files. This module has the parts that both need: configuration,
//! environment, the guard process that leaves nothing running, limits, and the parser of the output. The copy that a
//! reviewer works in, and the check that it changed nothing, are in `reviewer::command`.
//!
//! The output of an agent is not judged here; it is text with our keys redacted.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::call::CallFailure;
use crate::config::{Sandbox, SandboxMode};

#[cfg(unix)]
pub(crate) mod confine;
mod environment;
pub(crate) mod explain;
mod hook;
mod implement;
mod output;
pub(crate) mod preset;
mod probe;
#[cfg(unix)]
pub(crate) mod run;
#[cfg(unix)]
mod sandbox_test;
pub(crate) mod scratch_folder;
mod transcript;

pub(crate) use environment::Role;
pub use hook::{HookLimits, HookResult, HookRun, run_hooks};
pub use implement::{Implement, ImplementLimits, Implemented, implement};
pub(crate) use output::Reader;
pub use preset::Preset;
pub use probe::{Probe, probe};
#[cfg(unix)]
pub use sandbox_test::{attempt_to_break_out, sandbox_layers};
pub use transcript::TranscriptText;

/// The configuration of an agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name in settings and reports.
    pub name: String,
    /// The program to start.
    pub program: Program,
    /// The path of a preset's program, when it is not on the PATH.
    pub path: Option<PathBuf>,
    /// The model, by the agent's own name for it.
    pub model: Option<String>,
    /// How it gets the prompt; presets know.
    pub prompt: PromptBy,
    /// How it prints its answer.
    pub output: Output,
    /// Further variables that are handed on to it, by name.
    pub environment: Vec<String>,
    /// A key for it alone; without one it uses the log-in in the user's home.
    pub key: Option<Key>,
    /// Whether it gets namespaces of its own where the system allows that.
    pub namespace: bool,
    /// Its sandbox, which is the operator's setting.
    pub sandbox: Sandbox,
    /// Its resource limits.
    pub limits: AgentLimits,
}

impl Agent {
    /// A preset with its own name and nothing else set.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        Self::new(preset.name(), Program::Preset(preset), Output::OfPreset)
    }

    /// A command line of the user's that gets the prompt on standard input and prints text.
    #[must_use]
    pub fn command(name: &str, command: Vec<String>) -> Self {
        Self::new(name, Program::Command(command), Output::Text)
    }

    fn new(name: &str, program: Program, output: Output) -> Self {
        Self {
            name: name.to_owned(),
            program,
            path: None,
            model: None,
            prompt: PromptBy::Stdin,
            output,
            environment: Vec::new(),
            key: None,
            namespace: true,
            sandbox: Sandbox::default(),
            limits: AgentLimits::default(),
        }
    }

    /// True when it can get files in the place of others, as a git directory of its own.
    #[must_use]
    pub fn has_mounts(&self) -> bool {
        #[cfg(unix)]
        return confine::layers(self).bubblewrap;
        #[cfg(not(unix))]
        false
    }

    /// What its sandbox does not protect for want of a layer; nothing when the operator has no sandbox.
    #[must_use]
    pub fn missing_layers(&self) -> Vec<&'static str> {
        if self.sandbox.mode == SandboxMode::Off {
            return Vec::new();
        }
        #[cfg(unix)]
        return confine::layers(self).missing();
        #[cfg(not(unix))]
        crate::process::sandbox::Layers::NONE.missing()
    }

    /// The program as it is named: a path, or a name to look for on the PATH.
    fn program_name(&self) -> &Path {
        match (&self.path, &self.program) {
            (Some(path), Program::Preset(_)) => path,
            (None, Program::Preset(preset)) => Path::new(preset.name()),
            (_, Program::Command(command)) => Path::new(command.first().map_or("", String::as_str)),
        }
    }

    /// The path of its program.
    pub(crate) fn find(&self, path: Option<&OsStr>) -> Result<PathBuf, CallFailure> {
        environment::find(self.program_name(), path).ok_or_else(|| explain::not_found(self))
    }

    pub(crate) fn form(&self) -> preset::Form {
        match (&self.program, self.output) {
            (Program::Preset(preset), Output::OfPreset) => preset.form(),
            (Program::Command(_), Output::OfPreset) | (_, Output::Text) => preset::Form::Text,
            (_, Output::Json) => preset::Form::Json,
            (_, Output::JsonLines) => preset::Form::JsonLines,
        }
    }
}

/// The program of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A built-in preset, with the flags that permit only the work of its role.
    Preset(Preset),
    /// The user's own: a program and its arguments.
    ///
    /// In an argument, `{prompt}` stands for the path of a file with the prompt, `{schema}` for one with the answer's
    /// JSON Schema, and `{model}` for the model.
    Command(Vec<String>),
}

/// How an agent gets the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// On standard input.
    Stdin,
    /// As a file whose path takes the place of `{prompt}`; standard input is empty.
    File,
}

/// How an agent prints its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// As the preset does.
    OfPreset,
    /// As text.
    Text,
    /// As one JSON value with the answer in `result`, `response` or `text`, or as the answer itself.
    Json,
    /// As JSON lines; the last message is the answer. The idle timeout applies to its output.
    JsonLines,
}

/// A key and the variable in which the agent looks for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    variable: String,
    secret: String,
}

impl Key {
    /// A key for this variable.
    #[must_use]
    pub fn new(variable: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { variable: variable.into(), secret: secret.into() }
    }

    /// The variable in which the agent looks for it.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.variable)
    }
}

/// The resource limits of an agent; the caller sets the timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// How many bytes of its output are kept; it may print eight times that when it prints JSON lines.
    pub output_bytes: usize,
    /// How many bytes it may write to its throw-away folder.
    pub disk_bytes: u64,
    /// The grace period after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { output_bytes: 8 << 20, disk_bytes: 256 << 20, grace: Duration::from_secs(1) }
    }
}
