//! The name of this process as the owner of leases and locks, by which others tell whether it still runs.
//!
//! ```text
//! build-7/0b6d2f31-4026531836/4711-183002
//! │       │                   └ its PID and start time: PIDs are reused, both together are not
//! │       └ the boot of the machine and the PID namespace: a container has PIDs of its own
//! └ the machine, for people
//! ```
//!
//! Several machines may share the leases, and a PID says nothing on another machine. So only names with the same middle part
//! are judged here; other owners keep their leases until they expire.

use super::guard::ProcessMark;
use super::machine;

/// The name of this process.
#[must_use]
pub(crate) fn name() -> String {
    let me = ProcessMark::of(std::process::id(), "").ok();
    let own = me.map_or_else(|| std::process::id().to_string(), |me| format!("{}-{}", me.pid, me.started));
    format!("{}/{}/{own}", machine::host(), numbers())
}

/// True when the process of this name is known to have ended.
#[must_use]
pub(crate) fn has_ended(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '/');
    let (Some(own), Some(theirs), Some(_)) = (parts.next(), parts.next(), parts.next()) else { return false };
    if theirs.is_empty() || theirs != numbers() {
        return false;
    }
    let Some((pid, started)) = own.split_once('-') else { return false };
    let (Ok(pid), Ok(started)) = (pid.parse(), started.parse::<u64>()) else { return false };
    !ProcessMark::of(pid, "").is_ok_and(|mark| mark.started == started)
}

/// The scope within which PIDs are unique; empty where it is unknown.
fn numbers() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let space: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let boot = boot.trim();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{boot}-{space}") }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_beginning() {
        let name = name();
        assert!(!has_ended(&name), "{name}");
        let (machine, own) = name.rsplit_once('/').unwrap();
        let (pid, _) = own.split_once('-').unwrap();
        for gone in [format!("{pid}-1"), "0-1".to_owned()] {
            assert!(has_ended(&format!("{machine}/{gone}")), "{gone}");
        }
    }

    #[test]
    fn a_process_of_another_machine_is_not_judged_by_its_number() {
        for name in ["4711-1", "0-1", "", "a/b/0-1", "a//0-1", "a/0-1"] {
            assert!(!has_ended(name), "{name}");
        }
        // Two containers of one machine: the same boot, and other PIDs.
        let (_, rest) = name().split_once('/').map(|(host, rest)| (host.to_owned(), rest.to_owned())).unwrap();
        let (numbers, _) = rest.split_once('/').unwrap();
        let (boot, _) = numbers.rsplit_once('-').unwrap();
        assert!(!has_ended(&format!("host/{boot}-1/0-1")));
        assert!(has_ended(&format!("another name of it/{numbers}/0-1")), "a machine may be called otherwise by now");
    }
}
