//! The system call filter (seccomp): refuses calls that no build and no agent needs, and that reach deep into the kernel.
//!
//! It is a list of what is denied, because the list of what compilers, interpreters and browsers need grows with every
//! version of them. `clone3` hides its flags from a filter, so it is said not to exist; programs fall back to `clone`.

use std::io;

use seccompiler::{BpfProgram, TargetArch, apply_filter, compile_from_json};

use super::FilterRules;

/// The number of EPERM.
const NOT_PERMITTED: u32 = 1;
/// The number of ENOSYS.
const NO_SUCH_CALL: u32 = 38;
/// The number of EAFNOSUPPORT.
const NO_SUCH_FAMILY: u32 = 97;
/// The families of sockets that are allowed: Unix, IPv4, IPv6 and, for the list of interfaces, netlink.
const FAMILIES: [u64; 4] = [1, 2, 10, NETLINK];
const NETLINK: u64 = 16;
/// Types of IP sockets beside streams and datagrams: raw, RDM, sequenced, DCCP and packet.
const OTHER_TYPES: [u64; 5] = [3, 4, 5, 6, 10];
/// The protocols of IP sockets that are allowed: the usual one of the type, TCP and UDP. Landlock sees no other ones.
const PROTOCOLS: [u64; 3] = [0, 6, 17];
/// The flag that sends with the connection, which landlock does not see.
const FAST_OPEN: u64 = 0x2000_0000;
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
    let mut rules: Vec<String> = denied.iter().map(|call| format!("{{\"syscall\":\"{call}\"}}")).collect();
    rules.extend([("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)].map(|(call, at)| rule(call, &[has(at, FAST_OPEN)])));
    if denies_users {
        rules.extend(["clone", "unshare"].map(|call| rule(call, &[has(0, NEW_USER)])));
    }
    let mut programs = vec![program(&rules, NOT_PERMITTED)?, program(&foreign_sockets(), NO_SUCH_FAMILY)?];
    if denies_users {
        programs.push(program(&["{\"syscall\":\"clone3\"}".to_owned()], NO_SUCH_CALL)?);
    }
    programs.iter().try_for_each(|program| apply_filter(program).map_err(io::Error::other))
}

/// Sockets that reach around the other layers, as to the host of a virtual machine, or read what others send.
fn foreign_sockets() -> Vec<String> {
    let mut rules = vec![rule("socket", &FAMILIES.map(|family| compared(0, "ne", family)))];
    for family in [2, 10] {
        let is_family = || compared(0, "eq", family);
        rules.extend(OTHER_TYPES.map(|kind| rule("socket", &[is_family(), masked(1, 0xf, kind)])));
        let protocols = PROTOCOLS.map(|protocol| compared(2, "ne", protocol));
        rules.push(rule("socket", &[&[is_family()], &protocols[..]].concat()));
    }
    rules.push(rule("socket", &[compared(0, "eq", NETLINK), compared(2, "ne", 0)]));
    rules
}

/// A rule for a call whose arguments meet all conditions.
fn rule(call: &str, conditions: &[String]) -> String {
    format!("{{\"syscall\":\"{call}\",\"args\":[{}]}}", conditions.join(","))
}

/// The condition that an argument has a flag.
fn has(index: u8, flag: u64) -> String {
    masked(index, flag, flag)
}

fn masked(index: u8, mask: u64, value: u64) -> String {
    format!("{{\"index\":{index},\"type\":\"qword\",\"op\":{{\"masked_eq\":{mask}}},\"val\":{value}}}")
}

/// The condition on an argument that the kernel takes as 32 bits.
fn compared(index: u8, word: &str, value: u64) -> String {
    format!("{{\"index\":{index},\"type\":\"dword\",\"op\":\"{word}\",\"val\":{value}}}")
}

fn program(rules: &[String], number: u32) -> io::Result<BpfProgram> {
    let rules = rules.join(",");
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
    fn a_filtered_program_opens_only_sockets_that_the_other_layers_see() {
        use rustix::net::{AddressFamily as Family, Protocol, SocketType as Type, ipproto, socket};

        let seen = std::thread::spawn(|| {
            apply(FilterRules { nests: false, traces: true }).unwrap();
            let opens = |family: Family, kind: Type, protocol: Option<Protocol>| socket(family, kind, protocol).is_ok();
            let usual = [
                opens(Family::UNIX, Type::SEQPACKET, None),
                opens(Family::INET, Type::STREAM, None),
                opens(Family::INET, Type::STREAM, Some(ipproto::TCP)),
                opens(Family::INET, Type::DGRAM, Some(ipproto::UDP)),
                opens(Family::NETLINK, Type::RAW, None),
            ];
            let refused = |family: Family, kind: Type, protocol: Option<Protocol>| {
                matches!(socket(family, kind, protocol), Err(rustix::io::Errno::AFNOSUPPORT))
            };
            let other = [
                refused(Family::INET, Type::STREAM, Some(ipproto::MPTCP)),
                refused(Family::INET6, Type::STREAM, Some(ipproto::MPTCP)),
                refused(Family::INET, Type::RAW, Some(ipproto::ICMP)),
                refused(Family::INET, Type::DGRAM, Some(ipproto::ICMP)),
                refused(Family::PACKET, Type::RAW, None),
                refused(Family::VSOCK, Type::STREAM, None),
            ];
            let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
            let flags = rustix::net::SendFlags::from_bits_retain(0x2000_0000);
            (usual, other, rustix::net::send(&one, b"x", flags))
        });
        let expected = ([true; 5], [true; 6], Err(rustix::io::Errno::PERM));
        assert_eq!(seen.join().unwrap(), expected);
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
