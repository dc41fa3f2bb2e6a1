//! The hooks of a project, run for a commit that is made without them.
//!
//! The commit itself is made by plumbing that runs nothing of the repository's. Its `pre-commit` and `commit-msg` hooks
//! are run before it, behind a guard, with the environment of an agent without its key: what an agent can change, it may
//! run as itself and nowhere else. They see the staged files through an index of their own.
//!
//! A hook that refuses is no failure: its output is for whoever has to mend it. `commit-msg` may put lines after the
//! message, as those do that give a change a name; whatever else it does to the message is ignored.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::call::CallFailure;
use crate::process::guard::ProcessMark;

#[cfg(unix)]
mod work;

/// The commit for which hooks are run.
#[derive(Clone, Copy)]
pub struct HookRun<'a> {
    /// Whose environment they get.
    pub agent: &'a Agent,
    /// The work tree.
    pub folder: &'a Path,
    /// The index of the commit, which hooks may change.
    pub index: &'a Path,
    /// The message of the commit.
    pub message: &'a str,
    /// What each hook may use up.
    pub limits: HookLimits,
    /// This program, which guards them.
    pub executable: &'a Path,
    /// Stops them.
    pub cancel: &'a CancellationToken,
    /// Is handed the mark of each run before it does anything. Who cannot store it cancels the run.
    pub started: &'a dyn Fn(&ProcessMark),
}

/// What a hook may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimits {
    /// How long it may take.
    pub wall: Duration,
    /// How much of its output is kept, from its end.
    pub output_bytes: usize,
    /// How long it is given after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
}

impl Default for HookLimits {
    fn default() -> Self {
        Self { wall: Duration::from_secs(120), output_bytes: 64 * 1024, grace: Duration::from_secs(1) }
    }
}

/// What hooks say of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    /// They let it pass, or there are none.
    Passed {
        /// The message with the lines that a hook put after it.
        message: String,
    },
    /// One of them refused it.
    Refused {
        /// Which.
        hook: &'static str,
        /// What it printed, from its end, readable and harmless.
        output: String,
    },
}

/// Runs the hooks of a commit, one after the other, until one refuses.
#[cfg(unix)]
pub fn run_hooks(job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    work::run_hooks(job)
}

/// Runs the hooks of a commit, one after the other, until one refuses.
#[cfg(not(unix))]
pub fn run_hooks(_job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    Err(super::explain::not_here())
}
