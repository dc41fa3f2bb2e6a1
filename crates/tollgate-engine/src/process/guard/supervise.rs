//! The guard process: starts the agent, waits for its end or for the lifeline to close, and kills all descendants.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, kill_process_group, setrlimit, wait as wait_for_any,
};

use super::{FOLDER, GO, GuardArgs, NOT_STARTED};
#[cfg(target_os = "linux")]
use crate::process::sandbox;
use crate::process::sandbox::{KEY_FOLDER, MAX_KEY_BYTES, Restrictions, bridge};
use crate::process::signals;

/// How long killing of descendants is repeated; a process that cannot be killed hangs in the kernel.
const SWEEP: Duration = Duration::from_secs(5);
/// The longest grace period when the parent is gone, so that a restarted server finds no survivors.
const GRACE_OF_ORPHANS: Duration = Duration::from_secs(1);
/// Variables by which programs find a proxy.
const PROXY_VARIABLES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Hosts that are reached without the proxy.
const HERE: &str = "localhost,127.0.0.1,::1";
/// The polling interval.
const TICK: Duration = Duration::from_millis(50);

/// Supervises the agent; the result is the agent's exit code.
pub(super) fn supervise(args: &GuardArgs) -> u8 {
    // Fails only when this is a session leader already.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // The agent runs as the same user; it must neither trace the guard nor take the lifeline.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
    limit(args);
    let around = if args.restrictions.inside { receive_folder() } else { None };
    let has_keys = !args.restrictions.inside || receive_keys().is_ok();
    let remove = || match &around {
        Some(around) => super::remove_in(around, &args.remove),
        None => super::remove(&args.remove),
    };
    if !has_keys || (args.hold && !wait_for_go()) {
        let _ = remove();
        return 0;
    }
    let code = match start(args) {
        Ok(agent) => {
            report(&format!("started {}\n", agent.as_raw_nonzero()));
            let (said, code) = outcome(wait(agent, args.grace));
            sweep(agent);
            report(&format!("ended {said}\n"));
            code
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot start `{}`: {error}", args.program.display());
            report(&format!("ended code {NOT_STARTED}\n"));
            NOT_STARTED
        }
    };
    // The parent may still inspect the folder.
    while poll_lifeline(None) != LifelineEvent::Closed {}
    let _ = remove();
    code
}

/// Receives the handle to the folder around the scratch folder.
fn receive_folder() -> Option<OwnedFd> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

    let mut word = [0; FOLDER.len()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut buffers = [io::IoSliceMut::new(&mut word)];
    rustix::net::recvmsg(io::stdin(), &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    })
}

/// Receives the log-in of the agent and writes it to a folder in memory.
fn receive_keys() -> io::Result<()> {
    let line = io::stdin();
    let read = |buffer: &mut [u8]| -> io::Result<()> {
        let mut n_read = 0;
        while let Some(rest) = buffer.get_mut(n_read..).filter(|rest| !rest.is_empty()) {
            match rustix::io::read(&line, rest) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n_bytes) => n_read += n_bytes,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    };
    let number = || {
        let mut number = [0; 4];
        read(&mut number).map(|()| u32::from_le_bytes(number))
    };
    for key in 0..number()? {
        let mut content = vec![0; usize::try_from(number()?).unwrap_or(usize::MAX).min(MAX_KEY_BYTES)];
        read(&mut content)?;
        let mut options = std::fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o600);
        options.open(Path::new(KEY_FOLDER).join(key.to_string()))?.write_all(&content)?;
    }
    Ok(())
}

/// Waits for [`GO`]; false for any other message or a closed lifeline.
fn wait_for_go() -> bool {
    let mut word = [0; GO.len()];
    loop {
        match rustix::io::read(io::stdin(), &mut word) {
            // Exactly these bytes are read, because a message to stop may follow.
            Ok(n_bytes) => return word.get(..n_bytes) == Some(&GO[..]),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

fn limit(args: &GuardArgs) {
    let both = |value: u64| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = setrlimit(Resource::Core, both(0));
    if let Some(bytes) = args.file_bytes {
        let _ = setrlimit(Resource::Fsize, both(bytes));
    }
    let limits = args.restrictions.limits;
    if let Some(bytes) = limits.memory_bytes {
        // Not the address space, of which many runtimes reserve terabytes that they never use.
        let _ = setrlimit(Resource::Data, both(bytes));
    }
    #[cfg(target_os = "linux")]
    if let Some(n_processes) = limits.processes {
        let _ = setrlimit(Resource::Nproc, both(n_processes));
    }
}

fn start(args: &GuardArgs) -> io::Result<Pid> {
    let mut command = Command::new(&args.program);
    command.args(&args.args).current_dir(&args.folder).process_group(0);
    command.stdin(match &args.input {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    });
    let mut restrictions = args.restrictions.clone();
    if let Some(bridge) = &args.restrictions.bridge {
        let port = bridge::start(bridge)?;
        if let Some(ports) = restrictions.landlock.as_mut().and_then(|rules| rules.ports.as_mut()) {
            ports.push(port);
        }
        let proxy = format!("http://127.0.0.1:{port}");
        command.envs(PROXY_VARIABLES.map(|name| (name, &proxy)));
        command.env("NO_PROXY", HERE).env("no_proxy", HERE);
    }
    signals::reset_in_children_of_guard();
    // Restrictions hold for the thread and what it starts, for good; the guard needs its rights to clean up.
    let started = std::thread::scope(|scope| scope.spawn(|| start_restricted(&mut command, &restrictions)).join());
    let child = started.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    // Reaped by id, together with the orphans.
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(target_os = "linux")]
fn start_restricted(command: &mut Command, restrictions: &Restrictions) -> io::Result<Child> {
    sandbox::restrict_thread(restrictions)
        .map_err(|error| io::Error::other(format!("the sandbox cannot be entered: {error}")))?;
    command.spawn()
}

#[cfg(not(target_os = "linux"))]
fn start_restricted(command: &mut Command, _restrictions: &Restrictions) -> io::Result<Child> {
    command.spawn()
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
            None => match poll_lifeline(alive.as_ref()) {
                LifelineEvent::Quiet => false,
                LifelineEvent::Word => true,
                // The parent is gone.
                LifelineEvent::Closed => {
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

/// An event on the lifeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LifelineEvent {
    Quiet,
    /// A message, which always means to stop the agent.
    Word,
    Closed,
}

/// Polls the lifeline and the agent.
fn poll_lifeline(alive: Option<&OwnedFd>) -> LifelineEvent {
    let line = io::stdin();
    let mut waiting = handles(Some(PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)), alive);
    wait_for(&mut waiting, TICK);
    if waiting.first().is_none_or(|line| line.revents().is_empty()) {
        return LifelineEvent::Quiet;
    }
    let mut buffer = [0; 64];
    match rustix::io::read(&line, &mut buffer) {
        Ok(0) => LifelineEvent::Closed,
        Ok(_) => LifelineEvent::Word,
        Err(rustix::io::Errno::INTR) => LifelineEvent::Quiet,
        Err(_) => LifelineEvent::Closed,
    }
}

fn handles<'a>(line: Option<PollFd<'a>>, alive: Option<&'a OwnedFd>) -> Vec<PollFd<'a>> {
    line.into_iter().chain(alive.map(|handle| PollFd::new(handle, PollFlags::IN))).collect()
}

fn wait_for(handles: &mut [PollFd<'_>], time: Duration) {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let _ = poll(handles, Some(&Timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() }));
}

/// A pidfd, which becomes readable when the process ends.
#[cfg(target_os = "linux")]
fn watch_handle(process: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn watch_handle(_process: Pid) -> Option<OwnedFd> {
    None
}

/// Reaps ended children until one is the agent; `Some(None)` when there are no children.
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

/// The report of the agent's end, and the exit code of the guard.
fn outcome(status: Option<WaitStatus>) -> (String, u8) {
    if let Some(signal) = status.and_then(WaitStatus::terminating_signal) {
        return (format!("signal {signal}"), u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    let code = status.and_then(WaitStatus::exit_status).unwrap_or(-1);
    (format!("code {code}"), u8::try_from(code).unwrap_or(u8::MAX))
}

/// Kills the process group of the agent and all other descendants.
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

/// All descendants of this process, including orphans, since it is a subreaper.
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

/// Reports to the parent, which may be gone.
fn report(text: &str) {
    let _ = rustix::io::write(io::stdin(), text.as_bytes());
}
