//! The system call filter (seccomp): refuses calls that no build and no agent needs, and that reach deep into the kernel.
//!
//! It is a list of what is denied, because the list of what compilers, interpreters and browsers need grows with every
//! version of them. `clone3` hides its flags from a filter, so it is said not to exist; programs fall back to `clone`.

use std::fmt::Write as _;
use std::io;

use seccompiler::{BpfProgram, TargetArch, apply_filter, compile_from_json};

use super::FilterRules;

/// The number of EPERM.
const NOT_PERMITTED: u32 = 1;
/// The number of ENOSYS.
const NO_SUCH_CALL: u32 = 38;
/// The flag of `clone` and `unshare` for a user namespace.
const NEW_USER: u64 = 0x1000_0000;

/// Always denied: kernel modules, keys of the kernel, other mounts' files by handle, tracing of the kernel.
const NEVER: &[&str] = &[
    "acct",
    "add_key",
    "bpf",
    "delete_module",
    "finit_module",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "open_by_handle_at",
    "perf_event_open",
    "quotactl",
    "reboot",
    "request_key",
    "swapoff",
    "swapon",
    "userfaultfd",
];

/// Denied to programs that make no sandbox of their own.
const NAMESPACES: &[&str] = &[
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "setns",
    "umount2",
];

/// Denied where no other layer keeps foreign processes away.
const TRACING: &[&str] = &["pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace"];

/// What the scanning child, which works on its open pipes, never needs beside.
const SCANNER: &[&str] = &["connect", "execve", "execveat", "ptrace", "socket", "socketpair"];

/// True when this kernel takes filters. It is tried on a thread that ends afterwards.
pub(super) fn is_available() -> bool {
    let tried = std::thread::spawn(|| apply(FilterRules { nests: false, traces: false }).is_ok());
    tried.join().unwrap_or(false)
}

/// Filters the calls of this thread and of the processes that it starts.
pub(super) fn apply(rules: FilterRules) -> io::Result<()> {
    let mut denied = NEVER.to_vec();
    if !rules.nests {
        denied.extend(NAMESPACES);
    }
    if !rules.traces {
        denied.extend(TRACING);
    }
    apply_programs(&denied, !rules.nests)
}

/// Filters the calls of a scanning child.
pub(super) fn apply_to_scanner() -> io::Result<()> {
    apply_programs(&[NEVER, NAMESPACES, SCANNER].concat(), true)
}

fn apply_programs(denied: &[&str], denies_users: bool) -> io::Result<()> {
    let mut programs = vec![program(denied, denies_users, NOT_PERMITTED)?];
    if denies_users {
        programs.push(program(&["clone3"], false, NO_SUCH_CALL)?);
    }
    programs.iter().try_for_each(|program| apply_filter(program).map_err(io::Error::other))
}

fn program(denied: &[&str], denies_users: bool, number: u32) -> io::Result<BpfProgram> {
    let mut rules = denied.iter().fold(String::new(), |mut rules, call| {
        let _ = write!(rules, "{{\"syscall\":\"{call}\"}},");
        rules
    });
    for call in ["clone", "unshare"].iter().filter(|_| denies_users) {
        let flags = format!("\"index\":0,\"type\":\"qword\",\"op\":{{\"masked_eq\":{NEW_USER}}},\"val\":{NEW_USER}");
        let _ = write!(rules, "{{\"syscall\":\"{call}\",\"args\":[{{{flags}}}]}},");
    }
    let rules = rules.trim_end_matches(',');
    let text = format!(
        "{{\"agent\":{{\"mismatch_action\":\"allow\",\"match_action\":{{\"errno\":{number}}},\"filter\":[{rules}]}}}}"
    );
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let mut programs = compile_from_json(text.as_bytes(), machine).map_err(io::Error::other)?;
    programs.remove("agent").ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell command on a thread with a filter.
    fn code(rules: FilterRules, script: &'static str) -> Option<i32> {
        let ran = std::thread::spawn(move || {
            apply(rules).unwrap();
            std::process::Command::new("/bin/sh").args(["-c", script]).stderr(std::process::Stdio::null()).status()
        });
        ran.join().unwrap().unwrap().code()
    }

    #[test]
    fn a_filtered_program_makes_no_user_namespace_unless_it_nests() {
        let script = "unshare --user true";
        let rules = FilterRules { nests: false, traces: true };
        assert_eq!(code(rules, "true"), Some(0));
        assert_eq!(code(rules, script), Some(1));
        let is_possible = std::process::Command::new("unshare")
            .args(["--user", "true"])
            .status()
            .is_ok_and(|status| status.success());
        assert!(code(FilterRules { nests: true, ..rules }, script) == Some(0) || !is_possible);
    }

    #[test]
    fn a_scanner_starts_no_program_and_opens_no_socket() {
        let seen = std::thread::spawn(|| {
            apply_to_scanner().unwrap();
            let started = std::process::Command::new("/bin/true").status().is_ok();
            (started, std::net::UdpSocket::bind("127.0.0.1:0").is_ok())
        });
        assert_eq!(seen.join().unwrap(), (false, false));
    }
}
