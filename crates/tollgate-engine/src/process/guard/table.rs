//! The processes of this machine, as Linux tells of them in `/proc`.
//!
//! ```text
//! 4711 (a name with ) in it) S 4700 4711 4700 … 123456 …
//! pid   name                 state parent group session … start time
//! ```

use std::io::Read as _;

use rustix::process::{Pid, Signal};

/// An environment larger than this is not read to its end.
const MAX_ENVIRON: u64 = 4 << 20;

/// The most ancestors that are looked at.
const MAX_ANCESTORS: usize = 128;

/// The processes above this one, the parent first.
pub(super) fn ancestors() -> impl Iterator<Item = Process> {
    let own = i32::try_from(std::process::id()).ok().and_then(Process::of);
    let parent = |process: &Process| Process::of(process.parent).filter(|parent| parent.id > 0);
    std::iter::successors(own, parent).skip(1).take(MAX_ANCESTORS)
}

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    pub(super) session: i32,
    /// Its start time in ticks since boot, which is unique together with the id.
    pub(super) started: u64,
    /// True for a zombie, which waits to be reaped.
    pub(super) has_ended: bool,
}

impl Process {
    /// The process with this id, when there is one.
    pub(super) fn of(id: i32) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
        Self::of_stat(id, &stat)
    }

    fn of_stat(id: i32, stat: &[u8]) -> Option<Self> {
        // The name stands in brackets and may hold anything.
        let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_whitespace().take(20).collect();
        Some(Self {
            id,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            has_ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        })
    }

    /// The arguments it was started with, the program first.
    pub(super) fn arguments(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut line = Vec::new();
        if let Ok(file) = std::fs::File::open(format!("/proc/{}/cmdline", self.id)) {
            let _ = file.take(MAX_ENVIRON).read_to_end(&mut line);
        }
        line.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter()
    }

    /// True when this variable has this value in the environment that it was started with.
    pub(super) fn has_variable(&self, variable: &[u8]) -> bool {
        let mut environment = Vec::new();
        let Ok(file) = std::fs::File::open(format!("/proc/{}/environ", self.id)) else { return false };
        // The environment of a process that ends meanwhile cannot be read.
        let _ = file.take(MAX_ENVIRON).read_to_end(&mut environment);
        environment.split(|&byte| byte == 0).any(|entry| entry == variable)
    }

    /// Kills this process, and never another one with a reused id.
    pub(super) fn kill(&self) -> rustix::io::Result<()> {
        let Some(id) = Pid::from_raw(self.id) else { return Ok(()) };
        let is_it = || Self::of(self.id).is_some_and(|now| now.started == self.started);
        match rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()) {
            // The identity is checked after the pidfd was opened, since the pidfd pins the process.
            Ok(handle) if is_it() => rustix::process::pidfd_send_signal(&handle, Signal::KILL),
            Err(rustix::io::Errno::NOSYS) if is_it() => rustix::process::kill_process(id, Signal::KILL),
            Ok(_) | Err(rustix::io::Errno::SRCH | rustix::io::Errno::NOSYS) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// All processes.
pub(super) fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(Process::of).collect()
}

/// The descendants of a process, without itself.
pub(super) fn descendants(processes: &[Process], of: i32) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        let children = processes.iter().filter(|process| process.parent == parent && process.id != parent);
        for child in children.copied().collect::<Vec<_>>() {
            // Ids that were reused during the scan could form a cycle.
            if child.id != of && !found.iter().any(|known| known.id == child.id) {
                parents.push(child.id);
                found.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32, parent: i32) -> Process {
        Process { id, parent, session: 1, started: 7, has_ended: false }
    }

    #[test]
    fn a_name_can_hold_what_looks_like_the_fields_after_it() {
        let stat = b"12 (a) S 1 1 1 (b) R 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let read = Process::of_stat(12, stat).unwrap();
        assert_eq!((read.parent, read.session, read.started, read.has_ended), (3, 5, 777, false));
        let ended = b"12 (x) Z 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        assert!(Process::of_stat(12, ended).unwrap().has_ended);
        for garbage in [&b""[..], b"12", b"12 (x", b"12 (x) S 3 4", b"12 (x) S a b c 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1"]
        {
            assert_eq!(Process::of_stat(12, garbage), None);
        }
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_circles_end() {
        let processes = [process(2, 1), process(3, 2), process(4, 3), process(5, 1), process(6, 7), process(7, 6)];
        let ids = |of: i32| descendants(&processes, of).iter().map(|process| process.id).collect::<Vec<_>>();
        assert_eq!(ids(2), [3, 4]);
        assert_eq!(ids(4), [0; 0]);
        assert_eq!(ids(6), [7]);
    }

    #[test]
    fn we_are_among_the_processes_and_our_variables_are_ours() {
        let id = i32::try_from(std::process::id()).unwrap();
        let own = Process::of(id).unwrap();
        assert!(all().iter().any(|process| process.id == id && process.started == own.started));
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        assert!(own.has_variable(path.as_bytes()));
        assert!(!own.has_variable(&path.as_bytes()[..path.len() - 1]));
    }
}
