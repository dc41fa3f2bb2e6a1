//! An agent that writes: it is given a task and a folder, and what it leaves there is its work.
//!
//! The agent works in the folder itself, behind a guard, within limits, and everything it says is told while it says it.
//! It is done when it ends with exit code 0 and reports no error; what it wrote is judged by others. When it has to be
//! stopped, the whole tree of its processes ends, and the folder stays as it is.
//!
//! Before the agent runs a single instruction, the mark of its run is handed out, to be stored: after a crash of this
//! program, `end_survivors` ends what is left of it.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Agent;
use super::speech::Spoken;
use crate::call::{CallFailure, Usage};
use crate::process::guard::ProcessMark;

#[cfg(unix)]
mod work;

/// What an agent is to do.
#[derive(Clone, Copy)]
pub struct Implement<'a> {
    /// The agent as it is set up; of its own limits none counts here.
    pub agent: &'a Agent,
    /// Where it works.
    pub folder: &'a Path,
    /// What it is told.
    pub prompt: &'a str,
    /// What it may use up.
    pub limits: ImplementLimits,
    /// This program, which guards it.
    pub executable: &'a Path,
    /// Stops it.
    pub cancel: &'a CancellationToken,
    /// Is handed the mark of the run before the agent does anything. Who cannot store it cancels the run.
    pub started: &'a dyn Fn(&ProcessMark),
    /// Is told what the agent says and does, as it does: readable, harmless, without the agent's keys.
    pub heard: &'a (dyn Fn(Spoken<'_>) + Sync),
}

/// What an agent that writes may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImplementLimits {
    /// How long it may take.
    pub wall: Duration,
    /// How long it may print nothing at all. An agent that prints only when it is done needs as much as `wall`.
    pub idle: Duration,
    /// How much it may print.
    pub output_bytes: usize,
    /// How long it is given after SIGINT, and again after SIGTERM, before the next signal.
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

/// What an agent that is done says of its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Implemented {
    /// Its last message, or the end of what it printed; its end when it is long.
    pub text: String,
    /// How many bytes were told in all.
    pub transcript_bytes: u64,
    /// What it took, as far as it says.
    pub usage: Usage,
    /// What it cost in US dollars, as far as it says.
    pub cost: Option<f64>,
    /// Which model worked, as far as it says.
    pub model: Option<String>,
    /// What it calls the conversation, as far as it says.
    pub session: Option<String>,
}

/// Lets an agent work and waits until it is done.
#[cfg(unix)]
pub fn implement(job: &Implement<'_>) -> Result<Implemented, CallFailure> {
    work::implement(job)
}

/// Lets an agent work and waits until it is done.
#[cfg(not(unix))]
pub fn implement(_job: &Implement<'_>) -> Result<Implemented, CallFailure> {
    Err(super::explain::not_here())
}
