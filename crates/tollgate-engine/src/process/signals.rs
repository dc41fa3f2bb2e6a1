//! Gives child processes the default disposition of termination signals.
//!
//! A signal that this process ignores stays ignored in every child, through `exec`. A shell ignores SIGINT for commands
//! that a script starts with `&`, `nohup` ignores SIGHUP; an agent would then never notice that it is interrupted. A
//! signal with a handler, in contrast, has its default disposition after `exec`. So ignored signals get a handler that
//! does nothing: this process goes on ignoring them, and its children do not. The signal mask needs no care: the standard
//! library starts every child with an empty one.

use std::sync::Once;

use tokio::signal::unix::{SignalKind, signal};

/// SIGHUP, SIGINT, SIGQUIT and SIGTERM, by number.
const TERMINATION: [i32; 4] = [1, 2, 3, 15];
/// The signals that a shell ignores in its background jobs, by number.
const BACKGROUND: [i32; 2] = [2, 3];

/// Lets children of this process start with default dispositions. Where ignored signals cannot be listed, as on macOS,
/// only the children of guards do.
pub(crate) fn reset_in_children() {
    static DONE: Once = Once::new();
    DONE.call_once(|| discard(&ignored().unwrap_or_default()));
}

/// Lets children of a guard start with default dispositions. A guard has a session of its own, so no terminal sends it
/// the signals that are discarded without being known to be ignored.
pub(crate) fn reset_in_children_of_guard() {
    discard(&ignored().unwrap_or(BACKGROUND.to_vec()));
}

/// Handles signals by doing nothing.
fn discard(signals: &[i32]) {
    if signals.is_empty() {
        return;
    }
    let signals = signals.to_vec();
    // Handlers are installed from within a runtime and stay after it. A thread of its own, because the caller may be in
    // another runtime already.
    let installed = std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let _entered = runtime.enter();
        for number in signals {
            let _ = signal(SignalKind::from_raw(number));
        }
    });
    let _ = installed.join();
}

/// The termination signals that this process ignores; `None` when the system does not tell.
fn ignored() -> Option<Vec<i32>> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(TERMINATION.into_iter().filter(|number| mask >> (number - 1) & 1 == 1).collect())
}
