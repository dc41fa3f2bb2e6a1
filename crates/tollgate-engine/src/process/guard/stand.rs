//! What a guard does: start the agent, wait for it or for the lifeline to close, leave nothing behind.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process_group, setrlimit, wait as wait_for_any,
};

use super::{Duty, GO, NOT_STARTED};
use crate::process::signals;

/// How long to go on killing what is left; a process that cannot be killed hangs in the kernel.
const SWEEP: Duration = Duration::from_secs(5);
/// How long to wait at most after each signal when who started us is gone: whoever comes next must find nothing left.
const GRACE_OF_ORPHANS: Duration = Duration::from_secs(1);
/// How long to wait at most before looking again.
const TICK: Duration = Duration::from_millis(50);

/// Does the duty; the result is the agent's exit code.
pub(super) fn stand(duty: &Duty) -> u8 {
    // Fails only when this is a session leader already.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // So that the agent, which runs as the same user, can neither trace us nor take the lifeline from us.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
    limit(duty.file_bytes);
    if duty.hold && !may_go() {
        let _ = super::remove(&duty.remove);
        return 0;
    }
    let code = match start(duty) {
        Ok(agent) => {
            say(&format!("started {}\n", agent.as_raw_nonzero()));
            let (said, code) = outcome(wait(agent, duty.grace));
            sweep(agent);
            say(&format!("ended {said}\n"));
            code
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot start `{}`: {error}", duty.program.display());
            say(&format!("ended code {NOT_STARTED}\n"));
            NOT_STARTED
        }
    };
    // Whoever started us may still want to look at the folder.
    while hear(None) != Line::Closed {}
    let _ = super::remove(&duty.remove);
    code
}

/// Waits for the word with which the agent may start; false when another one comes, or none.
fn may_go() -> bool {
    let mut word = [0; GO.len()];
    loop {
        match rustix::io::read(io::stdin(), &mut word) {
            // Not a byte more is read: what comes next may already be that the agent is to stop.
            Ok(n_bytes) => return word.get(..n_bytes) == Some(&GO[..]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn limit(file_bytes: Option<u64>) {
    let both = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = setrlimit(Resource::Core, both(0));
    if let Some(bytes) = file_bytes {
        let _ = setrlimit(Resource::Fsize, both(bytes));
    }
}

fn start(duty: &Duty) -> io::Result<Pid> {
    let mut command = Command::new(&duty.program);
    command.args(&duty.args).current_dir(&duty.folder).process_group(0);
    command.stdin(match &duty.input {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    });
    signals::reset_in_children_of_guard();
    let child = command.spawn()?;
    // It is waited for by number, with all the orphans.
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Waits until the agent ends, by itself or because the lifeline closed.
fn wait(agent: Pid, mut grace: Duration) -> Option<WaitStatus> {
    let alive = watch_handle(agent);
    let mut signals = [Signal::INT, Signal::TERM, Signal::KILL].into_iter();
    let mut next: Option<Instant> = None;
    loop {
        if let Some(status) = reap(agent) {
            return status;
        }
        let due = match next {
            None => match hear(alive.as_ref()) {
                Line::Quiet => false,
                Line::Word => true,
                // Nobody is there any more who could wait for the agent.
                Line::Closed => {
                    grace = grace.min(GRACE_OF_ORPHANS);
                    true
                }
            },
            Some(next) => {
                let left = next.saturating_duration_since(Instant::now());
                wait_for(&mut handles(None, alive.as_ref()), left.min(TICK));
                Instant::now() >= next
            }
        };
        if due {
            if let Some(signal) = signals.next() {
                let _ = kill_process_group(agent, signal);
            }
            next = Some(Instant::now() + grace);
        }
    }
}

/// What was heard on the lifeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Quiet,
    /// A word, which can only be that the agent is to be stopped.
    Word,
    Closed,
}

/// Waits a moment for the lifeline or the agent.
fn hear(alive: Option<&OwnedFd>) -> Line {
    let line = io::stdin();
    let mut waiting = handles(Some(PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)), alive);
    wait_for(&mut waiting, TICK);
    if waiting.first().is_none_or(|line| line.revents().is_empty()) {
        return Line::Quiet;
    }
    let mut buffer = [0; 64];
    match rustix::io::read(&line, &mut buffer) {
        Ok(0) => Line::Closed,
        Ok(_) => Line::Word,
        Err(rustix::io::Errno::INTR) => Line::Quiet,
        Err(_) => Line::Closed,
    }
}

fn handles<'a>(line: Option<PollFd<'a>>, alive: Option<&'a OwnedFd>) -> Vec<PollFd<'a>> {
    line.into_iter().chain(alive.map(|handle| PollFd::new(handle, PollFlags::IN))).collect()
}

fn wait_for(handles: &mut [PollFd<'_>], time: Duration) {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let _ = poll(handles, Some(&Timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() }));
}

/// A handle that becomes readable when the process ends, where there is such a thing.
#[cfg(target_os = "linux")]
fn watch_handle(process: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn watch_handle(_process: Pid) -> Option<OwnedFd> {
    None
}

/// Reaps whoever has ended, until it is the agent; `Some(None)` when there is nobody to wait for.
fn reap(agent: Pid) -> Option<Option<WaitStatus>> {
    loop {
        match wait_for_any(WaitOptions::NOHANG) {
            Ok(Some((process, status))) if process == agent => return Some(Some(status)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return None,
            Err(_) => return Some(None),
        }
    }
}

/// What is said of the agent's end, and the exit code that stands for it.
fn outcome(status: Option<WaitStatus>) -> (String, u8) {
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
        return (format!("signal {signal}"), u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    let code = status.and_then(WaitStatus::exit_status).unwrap_or(-1);
    (format!("code {code}"), u8::try_from(code).unwrap_or(u8::MAX))
}

/// Kills everything that the agent left: its group, and every descendant wherever it hid.
fn sweep(agent: Pid) {
    let deadline = Instant::now() + SWEEP;
    let _ = kill_process_group(agent, Signal::KILL);
    loop {
        while let Ok(Some(_)) = wait_for_any(WaitOptions::NOHANG) {}
        let left = descendants();
        if left.is_empty() || Instant::now() > deadline {
            return;
        }
        for process in left {
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        wait_for(&mut [], Duration::from_millis(2));
    }
}

/// Every process that descends from this one; orphans do, because they were adopted.
#[cfg(target_os = "linux")]
fn descendants() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let found = super::table::descendants(&super::table::all(), own);
    found.into_iter().filter_map(|process| Pid::from_raw(process.id)).collect()
}

#[cfg(not(target_os = "linux"))]
fn descendants() -> Vec<Pid> {
    Vec::new()
}

/// Tells who started us; nobody may be there any more.
fn say(text: &str) {
    let _ = rustix::io::write(io::stdin(), text.as_bytes());
}
