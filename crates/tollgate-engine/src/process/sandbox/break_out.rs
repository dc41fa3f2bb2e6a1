//! Attempts to break out of a sandbox, which `tollgate doctor` and the tests run inside of one.
//!
//! The program is started inside with [`ARGUMENT`] and the [`Targets`] of the attempts as JSON. It prints a line for each:
//!
//! ```text
//! held    read the server's token
//! broken  connect to the server's API
//! ```
//!
//! No attempt sends anything to another machine, and each one undoes what it did: where there is no sandbox, it all happens.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The hidden argument with which the program attempts to break out.
pub const ARGUMENT: &str = "__break-out";
/// The timeout of a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the attempts are aimed at, all of it outside of the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Targets {
    /// Files that must not be readable, by what they are: the token, another project's, a private key.
    pub secrets: Vec<(String, PathBuf)>,
    /// Folders that must not be writable.
    pub folders: Vec<(String, PathBuf)>,
    /// The process id of the server.
    pub server: u32,
    /// The address of the server's API.
    pub api: Option<SocketAddr>,
    /// A Unix socket of the server's.
    pub socket: Option<PathBuf>,
    /// The name of an abstract socket of the server's.
    pub abstract_socket: String,
}

/// The result of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What was attempted.
    pub name: String,
    /// True when the sandbox held.
    pub held: bool,
}

/// Attempts to break out and returns the lines to print.
#[must_use]
pub fn run(targets: &str) -> Option<String> {
    let targets: Targets = serde_json::from_str(targets).ok()?;
    let shown = |attempt: &Attempt| format!("{}  {}\n", if attempt.held { "held  " } else { "broken" }, attempt.name);
    Some(attempts(&targets).iter().map(shown).collect())
}

/// Parses the lines of [`run`].
#[must_use]
pub fn parse(text: &str) -> Vec<Attempt> {
    let lines = text.lines().filter_map(|line| {
        let (word, name) = line.split_once("  ")?;
        let held = match word.trim() {
            "held" => true,
            "broken" => false,
            _ => return None,
        };
        Some(Attempt { name: name.trim().to_owned(), held })
    });
    lines.collect()
}

fn attempts(targets: &Targets) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let mut add = |name: String, is_broken: bool| attempts.push(Attempt { name, held: !is_broken });
    for (what, path) in &targets.secrets {
        add(format!("read {what}"), can_read(path));
    }
    for (what, path) in &targets.folders {
        add(format!("write {what}"), can_write(path));
    }
    add("write a folder of the system".to_owned(), can_write(Path::new("/usr")) || can_write(Path::new("/etc")));
    add("see the scratch folder of another run".to_owned(), sees_other_runs());
    let process = PathBuf::from(format!("/proc/{}", targets.server));
    add("read the environment of the server".to_owned(), can_read(&process.join("environ")));
    add("read the memory of the server".to_owned(), OpenOptions::new().read(true).open(process.join("mem")).is_ok());
    add("see the files of the server".to_owned(), std::fs::read_dir(process.join("root")).is_ok());
    add("signal the server".to_owned(), can_signal(targets.server));
    if let Some(api) = targets.api {
        add("connect to the server's API".to_owned(), TcpStream::connect_timeout(&api, PATIENCE).is_ok());
        add("connect to the server's API by the proxy".to_owned(), proxy_reaches(&api.to_string()));
    }
    add("reach cloud metadata by the proxy".to_owned(), proxy_reaches("169.254.169.254:80"));
    add("reach another machine".to_owned(), has_route());
    if let Some(socket) = &targets.socket {
        add("connect to a socket of the server's".to_owned(), UnixStream::connect(socket).is_ok());
    }
    add("connect to an abstract socket of the server's".to_owned(), connects_abstractly(&targets.abstract_socket));
    add("gain rights by a setuid program".to_owned(), may_gain_rights());
    add("make a user namespace".to_owned(), succeeds(&["unshare", "--user", "true"]));
    add("mount a file system".to_owned(), can_mount());
    add("keep a capability".to_owned(), has_capability());
    // It is only opened; nothing is written.
    let settings = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"];
    let is_open = |path: &str| OpenOptions::new().write(true).open(path).is_ok();
    add("change a setting of the kernel".to_owned(), settings.into_iter().any(is_open));
    add("open a socket that is not watched".to_owned(), opens_other_sockets());
    attempts
}

fn can_read(path: &Path) -> bool {
    if path.is_dir() {
        return std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    }
    // A file that is masked is there and empty.
    let mut byte = [0];
    std::fs::File::open(path).and_then(|mut file| file.read(&mut byte)).is_ok_and(|n_bytes| n_bytes > 0)
}

/// True when a file can be made in a folder, or bytes be added to a file.
fn can_write(path: &Path) -> bool {
    if path.is_file() {
        return OpenOptions::new().append(true).open(path).is_ok();
    }
    let file = path.join("tollgate-break-out");
    let made = OpenOptions::new().write(true).create_new(true).open(&file).is_ok();
    if made {
        let _ = std::fs::remove_file(&file);
    }
    made
}

fn sees_other_runs() -> bool {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    let own = own.as_deref().and_then(Path::parent);
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_run =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tollgate-agent-"));
    entries.filter(is_run).any(|path| Some(path.as_path()) != own && std::fs::read_dir(path).is_ok())
}

fn can_signal(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
}

/// True when the proxy of the sandbox, if there is one, connects to an address.
fn proxy_reaches(address: &str) -> bool {
    let asked = || -> Option<bool> {
        let proxy = std::env::var("HTTP_PROXY").ok()?;
        let stream = TcpStream::connect(proxy.strip_prefix("http://")?).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        (&stream).write_all(format!("CONNECT {address} HTTP/1.1\r\n\r\n").as_bytes()).ok()?;
        let mut start = [0; 12];
        (&stream).read_exact(&mut start).ok()?;
        Some(start.ends_with(b" 200"))
    };
    asked().unwrap_or(false)
}

/// True when there is a way to an address that belongs to nobody. Nothing is sent.
fn has_route() -> bool {
    UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:9")).is_ok()
}

#[cfg(target_os = "linux")]
fn connects_abstractly(name: &str) -> bool {
    use std::os::linux::net::SocketAddrExt as _;

    let address = std::os::unix::net::SocketAddr::from_abstract_name(name);
    address.and_then(|address| UnixStream::connect_addr(&address)).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn connects_abstractly(_name: &str) -> bool {
    false
}

/// True when a setuid program would run with the rights of its owner.
fn may_gain_rights() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    !status.lines().any(|line| line.strip_prefix("NoNewPrivs:").is_some_and(|value| value.trim() == "1"))
}

/// True when this process has a right of root's.
fn has_capability() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    held.is_none_or(|held| held.trim().bytes().any(|digit| digit != b'0'))
}

/// True when a socket opens that goes around the network of the sandbox: to the host of a virtual machine, to all packets,
/// or by a TCP of several paths.
#[cfg(target_os = "linux")]
fn opens_other_sockets() -> bool {
    use rustix::net::{AddressFamily, SocketType, ipproto, socket};

    socket(AddressFamily::VSOCK, SocketType::STREAM, None).is_ok()
        || socket(AddressFamily::PACKET, SocketType::RAW, None).is_ok()
        || socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn opens_other_sockets() -> bool {
    false
}

/// True when a file system can be mounted on a new folder, from which it is removed again.
fn can_mount() -> bool {
    let folder = std::env::temp_dir().join("tollgate-break-out");
    let Some(path) = folder.to_str().filter(|_| std::fs::create_dir(&folder).is_ok()) else { return false };
    let is_mounted = succeeds(&["mount", "-t", "tmpfs", "none", path]);
    if is_mounted {
        succeeds(&["umount", path]);
    }
    let _ = std::fs::remove_dir(path);
    is_mounted
}

fn succeeds(command: &[&str]) -> bool {
    let Some((program, args)) = command.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_succeed_where_there_is_no_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "t").unwrap();
        let targets = Targets {
            secrets: vec![("the token".to_owned(), folder.path().join("token"))],
            folders: vec![("a folder".to_owned(), folder.path().to_owned())],
            server: std::process::id(),
            ..Targets::default()
        };
        let printed = run(&serde_json::to_string(&targets).unwrap()).unwrap();
        let broken: Vec<String> =
            parse(&printed).into_iter().filter(|attempt| !attempt.held).map(|attempt| attempt.name).collect();
        for name in ["read the token", "write a folder", "signal the server", "read the environment of the server"] {
            assert!(broken.iter().any(|broken| broken == name), "{name}: {printed}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(run("{"), None);
    }
}
