//! The backend for agents: a program that reads a prompt, explores the code, and prints an answer.
//!
//! The reviewed change is untrusted and may inject prompts. So an agent works in a temporary copy of the reviewed commit
//! without agent configuration, in an environment of its own, behind a guard that leaves no process running, within
//! limits; afterwards the digest of the copy must be the same. Its answer counts only when it exited successfully,
//! reported no error, and changed nothing.
//!
//! The answer is parsed elsewhere; here it is text with our keys redacted.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::reviewer::call::{Backend, CallControl, CallFailure, Question, Reply};

#[cfg(unix)]
mod ask;
mod explain;
mod prompt;
#[cfg(unix)]
mod self_test;
mod strip;
mod tree_digest;

pub use crate::agent::{Agent, AgentLimits, Key, Output, Preset, Probe, Program, PromptBy, probe};
pub use prompt::PLACE;
#[cfg(unix)]
pub use self_test::{SelfTest, self_test};

/// The source of the files of the reviewed commit.
pub trait Tree: Send + Sync {
    /// Writes the files of the reviewed commit into an empty folder.
    ///
    /// Agent configuration and links that lead out of the folder are removed afterwards.
    fn write(&self, into: &Path) -> Result<(), Failure>;
}

impl<F: Fn(&Path) -> Result<(), Failure> + Send + Sync> Tree for F {
    fn write(&self, into: &Path) -> Result<(), Failure> {
        self(into)
    }
}

/// An agent as a backend.
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
    /// A backend that reviews this tree; `executable` is this program, which guards the agent.
    pub fn new(agent: Agent, tree: Box<dyn Tree>, executable: PathBuf) -> Self {
        Self { agent, tree, executable }
    }
}

impl Backend for CommandBackend {
    #[cfg(unix)]
    fn ask(&self, question: &Question, watch: &CallControl<'_>) -> Result<Reply, CallFailure> {
        ask::ask(&self.agent, &*self.tree, &self.executable, question, watch)
    }

    #[cfg(not(unix))]
    fn ask(&self, _question: &Question, _watch: &CallControl<'_>) -> Result<Reply, CallFailure> {
        Err(explain::not_here())
    }
}
