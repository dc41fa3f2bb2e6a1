//! The guard process between this program and an agent, which lets no descendant of the agent outlive the run.
//!
//! The guard is this very program, started with a hidden argument in a session of its own. Its standard input is a
//! socket, the lifeline: when it closes, because the work is done, was stopped, or because we were killed, the guard
//! stops the agent in stages (SIGINT, SIGTERM, SIGKILL), kills its remaining descendants, and removes its scratch
//! folder. On Linux it is a subreaper, and where the kernel permits, it is the first process of a PID namespace (by way of
//! `bwrap` or `unshare`), whose processes die even when the guard itself is killed. Before it starts the agent it enforces
//! the restrictions of the [`sandbox`](super::sandbox), on the thread that starts the agent alone: the guard itself has to
//! clean up. Inside of bubblewrap, the scratch folder is a mount that cannot be removed; the parent therefore sends a
//! handle to the folder around it over the lifeline, first of all. The log-in of the agent follows, which the guard writes
//! to a folder in memory.
//!
//! With `hold` the guard waits for `go` on the lifeline before it starts the agent, so that a [`ProcessMark`] can be stored
//! first, by which survivors are found after a crash. Any other message stops the agent and keeps the folder for
//! inspection. The guard reports on the lifeline, in lines:
//!
//! ```text
//! started 4711
//! ended code 0
//! ```
//!
//! The parent enforces the limits on time and output. When the working directory of the agent is outside of the scratch
//! folder, the guard removes nothing in it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::sandbox::{Keys, Layers, Policy, Restrictions};

#[cfg(unix)]
mod handle;
mod mark;
#[cfg(unix)]
mod namespace;
#[cfg(unix)]
mod supervise;
#[cfg(target_os = "linux")]
mod table;

#[cfg(unix)]
pub(crate) use handle::{GuardedProcess, stop_all};
pub use mark::{ProcessMark, RUN_VARIABLE, end_survivors};

/// The environment variable that marks agents and hooks, so that the commands they run are not taken for a person's.
pub const AGENT_VARIABLE: &str = "TOLLGATE_AGENT";

/// The hidden argument with which the program runs as a guard.
pub const GUARD_ARGUMENT: &str = "__guard";
/// The name prefix of scratch folders; a guard removes no others.
pub(crate) const FOLDER_PREFIX: &str = "tollgate-agent-";
/// The message for which a guard with `hold` waits.
pub(crate) const GO: &[u8; 3] = b"go\n";
/// The message with which a guard gets a handle to the folder around its scratch folder.
pub(crate) const FOLDER: &[u8; 1] = b"f";
/// The guard's exit code when the agent could not be started.
pub(crate) const NOT_STARTED: u8 = 126;

/// True when a guard of ours is among the ancestors of this process: an agent or a hook started it.
#[must_use]
pub fn is_below_guard() -> bool {
    #[cfg(target_os = "linux")]
    return table::ancestors().any(|process| process.arguments().nth(1).as_deref() == Some(GUARD_ARGUMENT.as_bytes()));
    #[cfg(not(target_os = "linux"))]
    false
}

/// Runs this process as a guard until the agent has ended and the lifeline is closed.
///
/// `args` follow [`GUARD_ARGUMENT`]. The result is the exit code, that of the agent.
#[must_use]
pub fn guard_main(args: &[OsString]) -> u8 {
    let Some(args) = GuardArgs::of_arguments(args) else {
        return 2;
    };
    #[cfg(unix)]
    return supervise::supervise(&args);
    #[cfg(not(unix))]
    {
        let _ = args;
        3
    }
}

/// True when agents can get PID namespaces of their own here.
#[must_use]
pub fn has_namespace() -> bool {
    #[cfg(unix)]
    return namespace::entrance().is_some();
    #[cfg(not(unix))]
    false
}

/// The arguments of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuardArgs {
    /// The scratch folder to remove in the end.
    pub(crate) remove: PathBuf,
    /// What the agent may do; the guard itself gets the restrictions that follow from it.
    pub(crate) policy: Policy,
    /// The log-in of the agent, for a sandbox by bubblewrap.
    pub(crate) keys: Keys,
    /// The layers that enforce it, all of which are available.
    pub(crate) layers: Layers,
    /// What the guard enforces.
    pub(crate) restrictions: Restrictions,
    /// The grace period after each signal.
    pub(crate) grace: Duration,
    /// The largest file the agent may write.
    pub(crate) file_bytes: Option<u64>,
    /// True to wait for [`GO`] before the agent is started.
    pub(crate) hold: bool,
    /// The working directory of the agent.
    pub(crate) folder: PathBuf,
    /// The file for the agent's standard input.
    pub(crate) input: Option<PathBuf>,
    /// The agent and its arguments.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl GuardArgs {
    /// The arguments that follow [`GUARD_ARGUMENT`]; none of them is secret.
    pub(crate) fn to_arguments(&self) -> io::Result<Vec<OsString>> {
        let number = |number: Option<u64>| OsString::from(number.map_or("-".to_owned(), |number| number.to_string()));
        let grace = u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX);
        let input = self.input.clone().map_or_else(|| "-".into(), PathBuf::into_os_string);
        let mut arguments = vec![self.remove.clone().into(), number(Some(grace)), number(self.file_bytes)];
        arguments.push(if self.hold { "hold" } else { "-" }.into());
        // Fails for a path that is not UTF-8.
        arguments.push(serde_json::to_string(&self.restrictions).map_err(io::Error::other)?.into());
        arguments.extend([self.folder.clone().into(), input, self.program.clone().into()]);
        arguments.extend(self.args.iter().cloned());
        Ok(arguments)
    }

    fn of_arguments(args: &[OsString]) -> Option<Self> {
        let [remove, grace, file_bytes, hold, restrictions, folder, input, program, args @ ..] = args else {
            return None;
        };
        let optional = |text: &OsString| (text != "-").then(|| text.clone());
        let file_bytes = match optional(file_bytes) {
            Some(bytes) => Some(bytes.to_str()?.parse().ok()?),
            None => None,
        };
        let args = Self {
            remove: remove.into(),
            policy: Policy::default(),
            keys: Keys::default(),
            layers: Layers::NONE,
            restrictions: serde_json::from_str(restrictions.to_str()?).ok()?,
            grace: Duration::from_millis(grace.to_str()?.parse().ok()?),
            file_bytes,
            hold: match hold.to_str()? {
                "hold" => true,
                "-" => false,
                _ => return None,
            },
            folder: folder.into(),
            input: optional(input).map(PathBuf::from),
            program: program.into(),
            args: args.to_vec(),
        };
        is_scratch_folder(&args.remove).then_some(args)
    }
}

/// The exit status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentExit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// Its guard was killed, so the status is unknown.
    Unknown,
}

/// True for a folder that a guard may remove.
fn is_scratch_folder(folder: &Path) -> bool {
    folder.is_absolute() && folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX))
}

/// Removes a scratch folder through a handle to the folder around it, from where it is not a mount.
#[cfg(unix)]
pub(crate) fn remove_in(around: &std::os::fd::OwnedFd, folder: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    remove(&Path::new(&format!("/proc/self/fd/{}", around.as_raw_fd())).join(name))
}

/// Removes a scratch folder, even when an agent made parts of it unreadable.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    if !is_scratch_folder(folder) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    match std::fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            open_up(folder);
            std::fs::remove_dir_all(folder)
        }
    }
}

/// Restores the permissions of all folders below one.
fn open_up(folder: &Path) {
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        pending.extend(folders.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> GuardArgs {
        GuardArgs {
            remove: format!("/tmp/{FOLDER_PREFIX}x").into(),
            policy: Policy::default(),
            keys: Keys::default(),
            layers: Layers::NONE,
            restrictions: Policy { readable: vec!["/a b".into()], ..Policy::default() }
                .restrictions(Layers { bubblewrap: false, ..Layers::ALL }),
            grace: Duration::from_millis(1500),
            file_bytes: Some(7),
            hold: true,
            folder: "/tmp/x/tree".into(),
            input: Some("/tmp/x/prompt".into()),
            program: "/bin/agent".into(),
            args: vec!["-p".into(), "-".into(), "".into()],
        }
    }

    #[test]
    fn a_duty_survives_the_way_through_the_arguments() {
        let bare = GuardArgs { file_bytes: None, hold: false, input: None, args: Vec::new(), ..args() };
        for args in [args(), bare] {
            assert_eq!(GuardArgs::of_arguments(&args.to_arguments().unwrap()), Some(args));
        }
    }

    #[test]
    fn a_guard_without_a_readable_duty_does_not_start() {
        let arguments = args().to_arguments().unwrap();
        for n_arguments in 0..8 {
            assert_eq!(guard_main(&arguments[..n_arguments]), 2);
        }
        for (index, wrong) in [(0, "/home"), (0, "tollgate-agent-x"), (1, "soon"), (2, "-1"), (3, "go"), (4, "{")] {
            let mut arguments = arguments.clone();
            arguments[index] = wrong.into();
            assert_eq!(guard_main(&arguments), 2, "{wrong}");
        }
    }

    #[test]
    fn only_scratch_folders_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(remove(folder.path()).is_err());
        assert!(folder.path().exists());
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_was_locked_is_removed_all_the_same() {
        use std::os::unix::fs::PermissionsExt as _;

        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join(format!("{FOLDER_PREFIX}x"));
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        std::fs::write(folder.join("a/b/c"), "").unwrap();
        std::fs::set_permissions(folder.join("a/b"), std::fs::Permissions::from_mode(0o000)).unwrap();
        std::fs::set_permissions(folder.join("a"), std::fs::Permissions::from_mode(0o500)).unwrap();
        remove(&folder).unwrap();
        assert!(!folder.exists());
        remove(&folder).unwrap();
    }
}
