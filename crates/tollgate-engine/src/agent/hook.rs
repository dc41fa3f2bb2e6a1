//! Runs the git hooks of a project before a commit of the pipeline.
//!
//! The commit itself is made by plumbing commands that run no hooks. The `pre-commit` and `commit-msg` hooks run before
//! it, behind a guard, with the environment of an agent without its key: an agent can change hooks, so they get no more
//! rights than the agent. They see the staged files through an index of their own.
//!
//! A rejection is not a failure: the output of the hook is shown to the implementer. `commit-msg` may append trailers such
//! as a change id to the message; its other edits are ignored.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::call::CallFailure;
use crate::process::guard::ProcessMark;
use crate::process::sandbox::Bind;

#[cfg(unix)]
mod work;

/// The commit for which hooks are run.
#[derive(Clone, Copy)]
pub struct HookRun<'a> {
    /// The agent whose environment they get.
    pub agent: &'a Agent,
    /// The work tree.
    pub folder: &'a Path,
    /// The index of the commit, which hooks may change.
    pub index: &'a Path,
    /// The message of the commit.
    pub message: &'a str,
    /// The git directory that they see in the place of the repository's; bubblewrap alone can do it.
    pub binds: &'a [Bind],
    /// The folder in which caches of build tools are kept between runs.
    pub state: Option<&'a Path>,
    /// The resource limits of each hook.
    pub limits: HookLimits,
    /// This program, which guards them.
    pub executable: &'a Path,
    /// Cancels them.
    pub cancel: &'a CancellationToken,
    /// Receives the process mark of each run before the hook starts. A caller that cannot store it cancels the run.
    pub started: &'a dyn Fn(&ProcessMark),
}

/// The resource limits of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimits {
    /// The timeout.
    pub wall: Duration,
    /// How much of its output is kept, from its end.
    pub output_bytes: usize,
    /// The grace period after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
}

impl Default for HookLimits {
    fn default() -> Self {
        Self { wall: Duration::from_secs(120), output_bytes: 64 * 1024, grace: Duration::from_secs(1) }
    }
}

/// The result of the hooks of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    /// All hooks passed, or there are none.
    Passed {
        /// The message with the trailers that a hook appended.
        message: String,
    },
    /// A hook rejected the commit.
    Refused {
        /// The name of the hook.
        hook: &'static str,
        /// The end of its output, with control characters escaped.
        output: String,
    },
}

/// Runs the hooks of a commit, one after the other, until one rejects it.
#[cfg(unix)]
pub fn run_hooks(job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    work::run_hooks(job)
}

/// Runs the hooks of a commit, one after the other, until one rejects it.
#[cfg(not(unix))]
pub fn run_hooks(_job: &HookRun<'_>) -> Result<HookResult, CallFailure> {
    Err(super::explain::not_here())
}
