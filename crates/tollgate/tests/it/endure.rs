//! The real server, as a process of its own, under attack and in trouble.
//!
//! Each part names the threat or the fault of the reliability contract that it tries. Without `TOLLGATE_CHAOS` the
//! numbers are small; with `TOLLGATE_CHAOS=1` they are those of the contract. What was done is printed.

#![expect(clippy::print_stdout, reason = "what was done is printed")]

mod astray;
mod bounds;
mod ending;
mod full;
mod listeners;
mod paths;
mod plants;
pub(crate) mod server;
mod strangers;
mod wild;
mod writers;

/// So many rounds: the number of the contract when it is asked for, a few otherwise.
fn rounds(few: usize, contract: usize) -> usize {
    if std::env::var_os("TOLLGATE_CHAOS").is_some() { contract } else { few }
}
