//! File descriptors: those that this program inherited, free ones, and failures for lack of them.
//!
//! Such a failure is transient and is retried when descriptors are free.

use std::io;

use crate::failure::Failure;

/// File descriptors that one job, such as a review or a commit, may need at once.
pub(crate) const FOR_WORK: u64 = 24;

/// Keeps what this program inherited, apart from its standard streams, from the programs that it starts. A folder that a
/// shell or a service manager left open would lead an agent out of its sandbox.
#[cfg(unix)]
pub fn keep_inherited() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// How many more files can be opened; `None` when that is not known.
#[cfg(target_os = "linux")]
pub(crate) fn n_free() -> Option<u64> {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    match std::fs::read_dir("/proc/self/fd") {
        Ok(open) => Some(most.saturating_sub(open.count() as u64)),
        // Not even this folder could be opened.
        Err(error) if is_shortage(&error) => Some(0),
        Err(_) => None,
    }
}

/// How many more files can be opened; `None` when that is not known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn n_free() -> Option<u64> {
    None
}

/// True for a failure whose message names the lack of descriptors, while there are few.
///
/// Both are required, because quoted output of other programs may name it, too.
pub(crate) fn were_missing(failure: &Failure) -> bool {
    is_named(failure) && n_free().is_none_or(|n_free| n_free < 2 * FOR_WORK)
}

#[cfg(unix)]
const SHORTAGES: [rustix::io::Errno; 2] = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];

#[cfg(unix)]
fn is_named(failure: &Failure) -> bool {
    SHORTAGES.iter().any(|errno| failure.message.contains(&io::Error::from(*errno).to_string()))
}

#[cfg(not(unix))]
fn is_named(_failure: &Failure) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_shortage(error: &io::Error) -> bool {
    SHORTAGES.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::failure::{self, Kind};

    #[test]
    fn a_failure_for_want_of_handles_is_known_by_what_it_says() {
        let failure = failure::no_git(&io::Error::from(rustix::io::Errno::MFILE));
        assert!(is_named(&failure), "{}", failure.message);
        assert!(!is_named(&failure::no_git(&io::Error::from(rustix::io::Errno::NOENT))));
        assert!(!is_named(&Failure::new(Kind::External, "too many cooks")));
    }

    #[test]
    fn a_file_that_is_opened_is_one_less() {
        // Other tests open files concurrently, so the exact number is unknown.
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let n_free = n_free().unwrap();
        assert!(n_free > 0 && most.is_some_and(|most| n_free < most), "{n_free} of {most:?}");
    }
}
