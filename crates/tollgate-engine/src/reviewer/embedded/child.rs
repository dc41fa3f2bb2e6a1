//! The scanning child process: sets its own resource limits, then answers requests.
//!
//! A child is this very program, started with a hidden argument and an empty
//! environment. Limits that a process can only set on itself are set here,
//! before anything is read.

use std::io;

/// Limits a child sets on itself, as its parent writes them: `512,5` is 512 MiB and 5 s of processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChildLimits {
    pub(super) memory_mib: u64,
    pub(super) cpu_seconds: u64,
}

impl ChildLimits {
    pub(super) fn to_argument(self) -> String {
        format!("{},{}", self.memory_mib, self.cpu_seconds)
    }

    fn of_argument(text: &str) -> Option<Self> {
        let (memory, cpu) = text.split_once(',')?;
        Some(Self { memory_mib: memory.parse().ok()?, cpu_seconds: cpu.parse().ok()? })
    }
}

/// Runs this process as a scanning child until its input ends.
///
/// `limits` is the argument that follows [`super::SCAN_ARGUMENT`]. The result is the exit code.
pub fn child_main(limits: Option<&str>) -> u8 {
    let Some(limits) = limits.and_then(ChildLimits::of_argument) else {
        return 2;
    };
    // A child without limits could stall the machine, so it refuses to start.
    if apply(limits).is_err() {
        return 3;
    }
    #[cfg(target_os = "linux")]
    crate::process::sandbox::restrict_to_pipes();
    let served = tollgate_rules::worker::serve(io::stdin().lock(), io::stdout().lock(), || limit_cpu(limits));
    if served.is_ok() { 0 } else { 3 }
}

#[cfg(unix)]
fn apply(limits: ChildLimits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let both = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    // The kernel kills it with its parent, even when it is too busy to read the end of its input.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    setrlimit(Resource::Core, both(0))?;
    setrlimit(Resource::Fsize, both(0))?;
    setrlimit(Resource::Nofile, both(16))?;
    #[cfg(target_os = "linux")]
    setrlimit(Resource::Nproc, both(0))?;
    setrlimit(Resource::As, both(limits.memory_mib * 1024 * 1024))?;
    limit_cpu(limits);
    Ok(())
}

/// Permits at most this much processor time from now on, and at least one second.
///
/// The system counts whole seconds from the start of the process.
#[cfg(unix)]
fn limit_cpu(limits: ChildLimits) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};

    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    let limit = Rlimit { current: Some(used + limits.cpu_seconds.max(2)), maximum: None };
    let _ = setrlimit(Resource::Cpu, limit);
}

#[cfg(not(unix))]
fn apply(_limits: ChildLimits) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn limit_cpu(_limits: ChildLimits) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_way_through_the_argument() {
        let limits = ChildLimits { memory_mib: 512, cpu_seconds: 5 };
        assert_eq!(ChildLimits::of_argument(&limits.to_argument()), Some(limits));
    }

    #[test]
    fn a_child_without_readable_limits_does_not_start() {
        for argument in [None, Some(""), Some("512"), Some("a,b"), Some("-1,5")] {
            assert_eq!(child_main(argument), 2);
        }
    }
}
