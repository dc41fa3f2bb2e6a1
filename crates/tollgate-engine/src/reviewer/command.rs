//! Agents by command: a program that reads a prompt, looks around in the code, and prints an answer.
//!
//! The reviewed change is hostile, and the agent may obey it. So an agent works in a throw-away copy of the reviewed
//! commit without any agent configuration, with an environment of its own, behind a guard that leaves nothing of it
//! running, within limits; afterwards the copy must be what it was. Its answer counts only when it ended well, reports
//! no error, and changed nothing.
//!
//! What the agent said is read elsewhere; here it is text without our keys.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::reviewer::call::{Backend, CallFailure, Question, Reply, Watch};

#[cfg(unix)]
mod ask;
mod explain;
mod prompt;
mod seal;
#[cfg(unix)]
mod self_test;
mod strip;

pub use crate::agent::{Agent, AgentLimits, Key, Output, Preset, Probe, Program, PromptBy, probe};
pub use prompt::PLACE;
#[cfg(unix)]
pub use self_test::{SelfTest, self_test};

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
        ask::ask(&self.agent, &*self.tree, &self.executable, question, watch)
    }

    #[cfg(not(unix))]
    fn ask(&self, _question: &Question, _watch: &Watch<'_>) -> Result<Reply, CallFailure> {
        Err(explain::not_here())
    }
}
