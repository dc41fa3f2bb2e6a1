//! The name of this very process, by which others tell whether who holds something still runs.
//!
//! ```text
//! 4711-183002      its number, and when it began: numbers are used again, both together are not
//! ```

use super::guard::ProcessMark;

/// The name of this process.
#[must_use]
pub(crate) fn name() -> String {
    let me = ProcessMark::of(std::process::id(), "").ok();
    me.map_or_else(|| std::process::id().to_string(), |me| format!("{}-{}", me.pid, me.started))
}

/// True when the process of this name still runs on this machine.
#[must_use]
pub(crate) fn is_alive(name: &str) -> bool {
    let Some((pid, started)) = name.split_once('-') else { return false };
    let (Ok(pid), Ok(started)) = (pid.parse(), started.parse::<u64>()) else { return false };
    ProcessMark::of(pid, "").is_ok_and(|mark| mark.started == started)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_beginning() {
        assert!(is_alive(&name()));
        let (pid, _) = name().split_once('-').map(|(pid, at)| (pid.to_owned(), at.to_owned())).unwrap();
        for other in [format!("{pid}-1"), pid, "0-1".to_owned(), "x-y".to_owned(), String::new()] {
            assert!(!is_alive(&other), "{other}");
        }
    }
}
