//! The name of this very process, by which others tell whether who holds something still runs.
//!
//! ```text
//! build-7/0b6d2f31-4026531836/4711-183002
//! │       │                   └ its number, and when it began: numbers are used again, both together are not
//! │       └ since when the machine runs, and whose numbers of processes these are: those of a container are its own
//! └ the machine, for people
//! ```
//!
//! Several machines may share what is held, and a number of one of them says nothing on another. So only names with the
//! same middle are judged here; who holds something elsewhere has it until their time has run out.

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

/// Within what the numbers of processes are unique; empty where that is not known.
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
        // Two containers of one machine: the same start of the machine, and other numbers.
        let (_, rest) = name().split_once('/').map(|(host, rest)| (host.to_owned(), rest.to_owned())).unwrap();
        let (numbers, _) = rest.split_once('/').unwrap();
        let (boot, _) = numbers.rsplit_once('-').unwrap();
        assert!(!has_ended(&format!("host/{boot}-1/0-1")));
        assert!(has_ended(&format!("another name of it/{numbers}/0-1")), "a machine may be called otherwise by now");
    }
}
