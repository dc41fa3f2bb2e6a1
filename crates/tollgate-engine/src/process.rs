//! Child processes that never outlive their use.
//!
//! Each child leads a process group of its own; dropping a [`Group`] kills the
//! whole group and reaps the child. A program that ends on Ctrl-C without
//! unwinding calls [`stop_all`] first. An agent, which starts others and may
//! resist, gets a [`guard`] besides.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub mod guard;
pub(crate) mod handles;
pub(crate) mod machine;
pub(crate) mod owner;
pub(crate) mod pipes;
pub mod sandbox;
#[cfg(unix)]
pub(crate) mod signals;

#[cfg(unix)]
pub use handles::keep_inherited;

/// The groups that are alive, by the process id of their leader.
static LIVE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A child process and its descendants.
#[derive(Debug)]
pub struct Group {
    child: Child,
    reaped: bool,
}

impl Group {
    /// Starts a command as the leader of a group of its own.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
            signals::reset_in_children();
        }
        // Held while spawning, so that `stop_all` misses no child.
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        live.push(child.id());
        Ok(Self { child, reaped: false })
    }

    /// The child, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the child to end by itself.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        forget(self.child.id());
        let status = self.child.wait()?;
        self.reaped = true;
        Ok(status)
    }

    /// How the child ended by itself, if it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        // Held while reaping, so that `stop_all` never signals a process id that was reused.
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.child.try_wait()?;
        if status.is_some() {
            live.retain(|&id| id != self.child.id());
            self.reaped = true;
        }
        Ok(status)
    }

    /// Kills the whole group and reaps the child.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if !self.reaped {
            kill_group(self.child.id());
            // The group may not exist elsewhere than on Unix.
            let _ = self.child.kill();
        }
        self.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.kill();
        }
    }
}

/// True from when the program is about to exit.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Blocks forever while the program exits, so that children which `stop_all` killed are not reported as failed.
pub fn wait_if_stopping() {
    while STOPPING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Kills all live groups and lets guards clean up, for a program that is about to exit.
pub fn stop_all() {
    STOPPING.store(true, Ordering::SeqCst);
    let live = std::mem::take(&mut *LIVE.lock().unwrap_or_else(PoisonError::into_inner));
    for id in live {
        kill_group(id);
    }
    #[cfg(unix)]
    guard::stop_all();
}

/// The variable that names the point at which a program under test is to die.
const CRASH: &str = "TOLLGATE_CRASH_AT";

/// A crash point: kills the process here when a test asks for it, as a power failure would. Compiled out of releases.
///
/// `TOLLGATE_CRASH_AT=post-before-ack` dies when the point is reached, `post-before-ack#3` when it is reached for the
/// third time.
pub fn crash_point(name: &str) {
    #[cfg(all(debug_assertions, unix))]
    {
        use std::sync::atomic::AtomicU32;
        static N_PASSED: AtomicU32 = AtomicU32::new(0);
        let Ok(wanted) = std::env::var(CRASH) else { return };
        let (point, number) = wanted.split_once('#').unwrap_or((&wanted, "1"));
        if point == name && (N_PASSED.fetch_add(1, Ordering::SeqCst) + 1).to_string() == number {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
    #[cfg(not(all(debug_assertions, unix)))]
    let _ = (name, CRASH);
}

/// The lease of a claim without a heartbeat.
const LEASE: Duration = Duration::from_secs(30);
/// The variable with the lease in milliseconds, for a program under test.
const LEASE_MS: &str = "TOLLGATE_LEASE_MS";

/// The lease of a claim: the time until it expires without a heartbeat. Fixed in releases.
#[must_use]
pub fn lease() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(millis) = std::env::var(LEASE_MS).ok().and_then(|millis| millis.parse().ok()) {
        return Duration::from_millis(millis);
    }
    let _ = LEASE_MS;
    LEASE
}

/// The variable that names the point at which a program under test is to panic.
const MISTAKE: &str = "TOLLGATE_PANIC_AT";

/// Panics here when a test asks for it, to simulate a bug. Compiled out of releases.
///
/// `TOLLGATE_PANIC_AT=work` panics once, `work!` each time.
pub fn panic_point(name: &str) {
    #[cfg(debug_assertions)]
    {
        static HAS_HAPPENED: AtomicBool = AtomicBool::new(false);
        let wanted = std::env::var(MISTAKE).unwrap_or_default();
        assert!(wanted.strip_suffix('!') != Some(name), "a mistake that {MISTAKE} wants each time");
        assert!(wanted != name || HAS_HAPPENED.swap(true, Ordering::SeqCst), "a mistake that {MISTAKE} wants");
    }
    #[cfg(not(debug_assertions))]
    let _ = (name, MISTAKE);
}

/// Keeps other programs of the same user out of our memory and environment, where keys are, and writes no core dumps.
///
/// For a program that holds keys while agents run as the same user. Where an agent has a PID namespace of its own it
/// cannot see us anyway.
pub fn seclude() {
    #[cfg(unix)]
    {
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    }
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Removes a process from the list before it is reaped, because its id may be reused afterwards.
fn forget(id: u32) {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner).retain(|&live| live != id);
}

#[cfg(unix)]
fn kill_group(id: u32) {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(_id: u32) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::process::Stdio;

    /// Runs itself again in a process of its own, because other tests inspect this one from outside.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_holds_keys_cannot_be_traced_by_the_same_user() {
        use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

        const AGAIN: &str = "TOLLGATE_TEST_SECLUDED";
        if std::env::var_os(AGAIN).is_some() {
            assert_ne!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
            seclude();
            assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
            assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
            return;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "process::tests::a_process_that_holds_keys_cannot_be_traced_by_the_same_user";
        let output = command.args(["--exact", name]).env(AGAIN, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    }

    #[test]
    fn dropping_a_group_ends_its_grandchildren_too() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo ready; wait"]).stdout(Stdio::piped());
        let mut group = Group::spawn(&mut command).unwrap();
        let mut stdout = group.child().stdout.take().unwrap();
        let mut ready = [0; 6];
        stdout.read_exact(&mut ready).unwrap();
        drop(group);
        // The grandchild holds the pipe too: its end is only seen when both are gone.
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
    }
}
