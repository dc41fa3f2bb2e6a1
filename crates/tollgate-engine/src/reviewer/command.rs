//! Agents by command: a program that reads a prompt, looks around in the code, and prints an answer.
//!
//! The reviewed change is hostile, and the agent may obey it. So an agent works in a throw-away copy of the reviewed
//! commit without any agent configuration, with an environment of its own, behind a guard that leaves nothing of it
//! running, within limits; afterwards the copy must be what it was. Its answer counts only when it ended well, reports
//! no error, and changed nothing.
//!
//! What the agent said is read elsewhere; here it is text without our keys.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::reviewer::call::{Backend, CallFailure, Question, Reply, Watch};

mod area;
mod environment;
mod explain;
mod preset;
mod probe;
mod prompt;
mod read;
#[cfg(unix)]
mod run;
mod seal;
#[cfg(unix)]
mod self_test;
mod strip;

pub use preset::Preset;
pub use probe::{Probe, probe};
pub use prompt::PLACE;
#[cfg(unix)]
pub use self_test::{SelfTest, self_test};

/// An agent as it is set up.
#[derive(Debug, Clone)]
pub struct Agent {
    /// What it is called in settings and reports.
    pub name: String,
    /// What is started.
    pub program: Program,
    /// Where the program of a preset is, when it is not on the PATH.
    pub path: Option<PathBuf>,
    /// Which model it is to use, in its own words.
    pub model: Option<String>,
    /// How it gets the prompt; presets know.
    pub prompt: PromptBy,
    /// How it prints its answer.
    pub output: Output,
    /// Further variables that are handed on to it, by name.
    pub environment: Vec<String>,
    /// A key for it alone; without one it uses the log-in in the user's home.
    pub key: Option<Key>,
    /// Whether it gets a PID namespace of its own where the system allows that; some agents' own sandboxes need it off.
    pub namespace: bool,
    /// What it may use up.
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
            limits: AgentLimits::default(),
        }
    }

    /// The program as it is named: a path, or a name to look for on the PATH.
    fn program_name(&self) -> &Path {
        match (&self.path, &self.program) {
            (Some(path), Program::Preset(_)) => path,
            (None, Program::Preset(preset)) => Path::new(preset.name()),
            (_, Program::Command(command)) => Path::new(command.first().map_or("", String::as_str)),
        }
    }

    /// Where its program is.
    fn find(&self, path: Option<&OsStr>) -> Result<PathBuf, CallFailure> {
        environment::find(self.program_name(), path).ok_or_else(|| explain::not_found(self))
    }

    fn form(&self) -> preset::Form {
        match (&self.program, self.output) {
            (Program::Preset(preset), Output::OfPreset) => preset.form(),
            (Program::Command(_), Output::OfPreset) | (_, Output::Text) => preset::Form::Text,
            (_, Output::Json) => preset::Form::Json,
            (_, Output::JsonLines) => preset::Form::JsonLines,
        }
    }
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// An agent we know, with the flags that keep it from writing.
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
    /// As JSON lines; the last message is the answer. An agent that prints nothing for long is taken for dead.
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
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.variable)
    }
}

/// What an agent may use up; time is limited by who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// How many bytes of its output are kept; it may print eight times that when it prints JSON lines.
    pub output_bytes: usize,
    /// How many bytes it may write to its throw-away folder.
    pub disk_bytes: u64,
    /// How long it is given after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { output_bytes: 8 << 20, disk_bytes: 256 << 20, grace: Duration::from_secs(1) }
    }
}

/// Where the files of the reviewed commit come from.
pub trait Tree: Send + Sync {
    /// Writes the files of the reviewed commit into an empty folder.
    ///
    /// Agent configuration and links that lead out of the folder are taken out afterwards.
    fn write(&self, into: &Path) -> Result<(), Failure>;
}

impl<F: Fn(&Path) -> Result<(), Failure> + Send + Sync> Tree for F {
    fn write(&self, into: &Path) -> Result<(), Failure> {
        self(into)
    }
}

/// An agent that can be asked.
pub struct CommandBackend {
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents need Unix"))]
    agent: Agent,
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents need Unix"))]
    tree: Box<dyn Tree>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "agents need Unix"))]
    executable: PathBuf,
}

impl fmt::Debug for CommandBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandBackend").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl CommandBackend {
    /// An agent that looks at this tree; `executable` is this program, which guards it.
    #[must_use]
    pub fn new(agent: Agent, tree: Box<dyn Tree>, executable: PathBuf) -> Self {
        Self { agent, tree, executable }
    }
}

impl Backend for CommandBackend {
    #[cfg(unix)]
    fn ask(&self, question: &Question, watch: &Watch<'_>) -> Result<Reply, CallFailure> {
        run::ask(&self.agent, &*self.tree, &self.executable, question, watch)
    }

    #[cfg(not(unix))]
    fn ask(&self, _question: &Question, _watch: &Watch<'_>) -> Result<Reply, CallFailure> {
        Err(explain::not_here())
    }
}
