//! Runs an agent that implements a task by editing files in a folder.
//!
//! The agent works in the folder itself, behind a guard and within limits, and its output is streamed as a transcript. It
//! has succeeded when it exits with code 0 and reports no error; the gate judges its edits. When it is stopped, the whole
//! process tree ends, and the folder stays as it is.
//!
//! Before the agent starts, the process mark of the run is handed out to be stored: after a crash of this program,
//! `end_survivors` kills the processes that are left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Agent;
use super::transcript::TranscriptText;
use crate::call::{CallFailure, Usage};
use crate::process::guard::ProcessMark;
use crate::process::sandbox::Bind;

#[cfg(unix)]
mod work;

/// A task for an agent.
#[derive(Clone, Copy)]
pub struct Implement<'a> {
    /// The agent; the limits below replace its own.
    pub agent: &'a Agent,
    /// Its working directory.
    pub folder: &'a Path,
    /// The prompt.
    pub prompt: &'a str,
    /// The session to continue, for an agent that has sessions.
    pub session: Option<&'a str>,
    /// Images that the prompt names, which may lie outside of the folder.
    pub images: &'a [PathBuf],
    /// The git directory that it sees in the place of the repository's, and the like; bubblewrap alone can do it.
    pub binds: &'a [Bind],
    /// The folder in which its sessions and caches are kept between runs; without one they end with the run.
    pub state: Option<&'a Path>,
    /// Its resource limits.
    pub limits: ImplementLimits,
    /// This program, which guards it.
    pub executable: &'a Path,
    /// Cancels it.
    pub cancel: &'a CancellationToken,
    /// Receives the process mark of the run before the agent starts. A caller that cannot store it cancels the run.
    pub started: &'a dyn Fn(&ProcessMark),
    /// Receives the transcript as it is written: control characters escaped, keys redacted.
    pub heard: &'a (dyn Fn(TranscriptText<'_>) + Sync),
    /// Receives remarks of this program for the record of the run: missing layers of the sandbox, hosts that were reached.
    pub noted: &'a dyn Fn(&str),
}

/// The resource limits of an implementer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImplementLimits {
    /// The timeout.
    pub wall: Duration,
    /// The idle timeout. An agent that prints only when it is done needs as much as `wall`.
    pub idle: Duration,
    /// How much it may print.
    pub output_bytes: usize,
    /// The grace period after SIGINT, and again after SIGTERM, before the next signal.
    pub grace: Duration,
    /// By how much its folder may grow.
    pub disk_growth_bytes: Option<u64>,
}

impl Default for ImplementLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(60 * 60),
            idle: Duration::from_secs(10 * 60),
            output_bytes: 50 << 20,
            grace: Duration::from_secs(1),
            disk_growth_bytes: None,
        }
    }
}

/// The final report of an implementer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Implemented {
    /// Its last message, or the end of its output; truncated at the front.
    pub text: String,
    /// The length of the transcript in bytes.
    pub transcript_bytes: u64,
    /// The tokens, if the agent reports them.
    pub usage: Usage,
    /// The cost in US dollars, if the agent reports it.
    pub cost: Option<f64>,
    /// The model, if the agent reports it.
    pub model: Option<String>,
    /// The session id, if the agent reports it.
    pub session: Option<String>,
}

/// Runs an agent on a task and waits until it is done.
#[cfg(unix)]
pub fn implement(job: &Implement<'_>) -> Result<Implemented, CallFailure> {
    work::implement(job)
}

/// Runs an agent on a task and waits until it is done.
#[cfg(not(unix))]
pub fn implement(_job: &Implement<'_>) -> Result<Implemented, CallFailure> {
    Err(super::explain::not_here())
}
