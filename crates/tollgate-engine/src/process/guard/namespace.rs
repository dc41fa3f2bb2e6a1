//! Detects whether agents can run in PID namespaces of their own.
//!
//! Entering one takes a system call that safe Rust has no way to make before a program starts, so the `unshare`
//! program of util-linux does it. Containers and hardened kernels often forbid it; the guard works without.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::process::Group;

/// The timeout of the attempt.
const PATIENCE: Duration = Duration::from_secs(5);

/// The command prefix that runs a program in a namespace of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entrance {
    pub(super) program: PathBuf,
    pub(super) args: Vec<&'static str>,
}

/// The command prefix, tried once per process.
pub(super) fn entrance() -> Option<&'static Entrance> {
    static ENTRANCE: OnceLock<Option<Entrance>> = OnceLock::new();
    ENTRANCE.get_or_init(|| if cfg!(target_os = "linux") { find() } else { None }).as_ref()
}

fn find() -> Option<Entrance> {
    let program = ["/usr/bin/unshare", "/bin/unshare"].map(Path::new).into_iter().find(|path| path.is_file())?;
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] = if is_root { &[] } else { &["--user", "--map-current-user"] };
    let args = [user, &["--pid", "--fork", "--kill-child", "--mount-proc", "--"]].concat();
    let entrance = Entrance { program: program.to_owned(), args };
    works(&entrance).then_some(entrance)
}

/// True when a shell that is started this way is the first process and sees only itself.
fn works(entrance: &Entrance) -> bool {
    let mut command = Command::new(&entrance.program);
    command.args(&entrance.args).args(["/bin/sh", "-c", "test $$ = 1 && test -r /proc/1/stat"]).env_clear();
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut group) = Group::spawn(&mut command) else {
        return false;
    };
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match group.child().try_wait() {
            Ok(Some(_)) => return group.wait().is_ok_and(|status| status.success()),
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return false,
        }
    }
    false
}
