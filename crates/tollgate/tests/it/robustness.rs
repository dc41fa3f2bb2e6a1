//! The real server, as a process of its own, under attack and in trouble.
//!
//! Each part names the threat or the fault of the reliability contract that it tries. Without `TOLLGATE_CHAOS` the
//! numbers are small; with `TOLLGATE_CHAOS=1` they are those of the contract. Statistics are printed.

#![expect(clippy::print_stdout, reason = "what was done is printed")]

mod concurrent_writers;
mod external_edits;
mod full_disk;
mod hostile_agent;
mod paths;
mod planted_programs;
mod reconnects;
mod resource_limits;
pub(crate) mod server;
mod shutdown;
mod untrusted_clients;

/// So many rounds: the number of the contract when it is asked for, a few otherwise.
fn rounds(few: usize, contract: usize) -> usize {
    if std::env::var_os("TOLLGATE_CHAOS").is_some() { contract } else { few }
}
