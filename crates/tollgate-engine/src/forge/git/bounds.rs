//! Limits of git processes: memory, processor time, files, and their end with the server.
//!
//! A dozen objects can name a billion files, so time alone is no limit: git is also limited in what it may allocate. The
//! limits are set on the started process where the system permits it. A server starts git through its own program
//! ([`git_main`]), which sets the limits on itself, asks the kernel to be killed with its parent, and becomes git.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::process::Group;

/// The hidden argument with which the program becomes git.
pub const GIT_ARGUMENT: &str = "__git";

/// The memory that git may allocate. Mapped pack files do not count.
pub(super) const MAX_MEMORY: u64 = 2 << 30;
/// The processor time of one command, in seconds.
#[cfg(target_os = "linux")]
const MAX_CPU_SECONDS: u64 = 300;
/// The size of a file that git may write.
#[cfg(target_os = "linux")]
const MAX_FILE_BYTES: u64 = 16 << 30;
/// The number of open files.
#[cfg(target_os = "linux")]
const MAX_OPEN_FILES: u64 = 1024;

/// The program that starts git, in a server.
static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();

/// Has every git process of this one killed with it, even by `kill -9`. `program` is tollgate itself.
pub fn end_git_with_us(program: &Path) {
    let _ = LAUNCHER.set(program.to_owned());
}

/// The command that runs git, without arguments.
pub(super) fn command() -> Command {
    match LAUNCHER.get() {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg(GIT_ARGUMENT);
            command
        }
        None => Command::new("git"),
    }
}

/// Starts git with its limits.
pub(super) fn spawn(command: &mut Command) -> io::Result<Group> {
    let mut group = Group::spawn(command)?;
    if LAUNCHER.get().is_none() {
        limit(group.child().id());
    }
    Ok(group)
}

#[cfg(target_os = "linux")]
fn limit(id: u32) {
    let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) else { return };
    for (resource, limit) in limits() {
        // The process may have ended already.
        let _ = rustix::process::prlimit(Some(pid), resource, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn limit(_id: u32) {}

/// Becomes git with these arguments, limited and bound to the parent process. Returns only when that fails.
#[must_use]
pub fn git_main(args: &[OsString]) -> u8 {
    #[cfg(target_os = "linux")]
    {
        let parent = rustix::process::getppid();
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        // The parent may have died before the kernel was asked.
        if rustix::process::getppid() != parent {
            return 3;
        }
        for (resource, limit) in limits() {
            let _ = rustix::process::setrlimit(resource, limit);
        }
    }
    run(args)
}

#[cfg(unix)]
fn run(args: &[OsString]) -> u8 {
    use std::os::unix::process::CommandExt as _;
    let _ = Command::new("git").args(args).exec();
    127
}

#[cfg(not(unix))]
fn run(args: &[OsString]) -> u8 {
    let code = Command::new("git").args(args).status().ok().and_then(|status| status.code());
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(127)
}

#[cfg(target_os = "linux")]
fn limits() -> [(rustix::process::Resource, rustix::process::Rlimit); 5] {
    use rustix::process::{Resource, Rlimit};
    let both = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    [
        (Resource::Data, both(MAX_MEMORY)),
        (Resource::Cpu, both(MAX_CPU_SECONDS)),
        (Resource::Fsize, both(MAX_FILE_BYTES)),
        (Resource::Nofile, both(MAX_OPEN_FILES)),
        (Resource::Core, both(0)),
    ]
}
