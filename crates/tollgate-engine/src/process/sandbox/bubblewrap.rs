//! Bubblewrap: starts a program in namespaces of its own, where only the files that a policy names are there.
//!
//! The guard is the first process of the PID namespace. Mounts are made parents first, so that a folder can be readable,
//! a folder in it writable, and a file in that hidden.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{KEY_FOLDER, MAX_KEY_BYTES, Network, Policy, system};
use crate::process::Group;

/// The timeout of the attempt.
const PATIENCE: Duration = Duration::from_secs(5);
/// The size of the temporary folder outside of the scratch folder, in bytes.
const TMP_BYTES: &str = "2147483648";
/// The size of the shared memory, in bytes.
const SHARED_BYTES: &str = "1073741824";
/// Parts of `/proc` with settings of the whole machine, which root may write without any capability.
const SETTINGS: &[&str] = &["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];
/// The memory of the machine.
const MEMORY: &str = "/proc/kcore";

/// The program, when it is there and the system lets it make namespaces; tried once per process.
pub(crate) fn find() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| if cfg!(target_os = "linux") { look() } else { None }).as_deref()
}

fn look() -> Option<PathBuf> {
    let program = places(std::env::var_os("PATH").as_deref()).into_iter().find(|path| path.is_file())?;
    let policy = Policy { network: Network::Closed { proxy: None, loopback: Vec::new() }, ..Policy::default() };
    works(&program, &policy).then_some(program)
}

/// Where the program may be: first the places of the system, then the folders of the `PATH`.
fn places(path: Option<&OsStr>) -> Vec<PathBuf> {
    let usual = ["/usr/bin", "/bin", "/usr/local/bin"].map(PathBuf::from);
    let named = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    usual.into_iter().chain(named).map(|folder| folder.join("bwrap")).collect()
}

/// True when a shell that is started this way is the first process, and the home is not there.
fn works(program: &Path, policy: &Policy) -> bool {
    let mut command = Command::new(program);
    command.args(arguments(policy, Path::new("/bin/sh")));
    command.args(["/bin/sh", "-c", "test $$ = 1 && test -r /proc/1/stat && test ! -e /root -a ! -e /home"]).env_clear();
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut group) = Group::spawn(&mut command) else { return false };
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

/// What is seen at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mount<'a> {
    ReadOnly(&'a Path),
    Writable(&'a Path),
    Hidden,
}

/// The arguments of bubblewrap, up to the program that is started.
pub(crate) fn arguments(policy: &Policy, guard: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut push = |words: &[&OsStr]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    let namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    for word in namespaces {
        push(&[OsStr::new(word)]);
    }
    if policy.network != Network::Open {
        push(&["--unshare-net".as_ref()]);
    }
    // The guard is the first process, and no capability is left for a namespace of root's.
    push(&["--as-pid-1", "--cap-drop", "ALL"].map(OsStr::new));
    for folder in system::FOLDERS.iter().filter(|folder| **folder != "/proc") {
        match std::fs::read_link(folder) {
            Ok(target) => push(&["--symlink".as_ref(), target.as_os_str(), folder.as_ref()]),
            Err(_) => push(&["--ro-bind-try", folder, folder].map(OsStr::new)),
        }
    }
    push(&["--proc", "/proc"].map(OsStr::new));
    // A program that makes a sandbox of its own mounts `/proc`, which the system allows only where nothing covers it. Other
    // users than root can write none of the settings.
    if rustix::process::geteuid().is_root() {
        for setting in SETTINGS {
            push(&["--ro-bind-try", setting, setting].map(OsStr::new));
        }
        if Path::new(MEMORY).exists() {
            push(&["--ro-bind", "/dev/null", MEMORY].map(OsStr::new));
        }
    }
    push(&["--dev", "/dev", "--size", SHARED_BYTES, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"].map(OsStr::new));
    push(&["--size", TMP_BYTES, "--tmpfs", "/tmp"].map(OsStr::new));
    push(&["--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"].map(OsStr::new));
    let size = MAX_KEY_BYTES.to_string();
    push(&["--perms", "0700", "--size", &size, "--tmpfs", KEY_FOLDER].map(OsStr::new));
    let mut masks: Vec<&OsStr> = Vec::new();
    for (place, mount) in mounts(policy, guard) {
        let place = place.as_os_str();
        match mount {
            Mount::ReadOnly(source) => push(&["--ro-bind-try".as_ref(), source.as_os_str(), place]),
            Mount::Writable(source) => push(&["--bind".as_ref(), source.as_os_str(), place]),
            Mount::Hidden if Path::new(place).is_dir() => {
                push(&["--tmpfs".as_ref(), place]);
                masks.push(place);
            }
            Mount::Hidden => push(&["--ro-bind".as_ref(), "/dev/null".as_ref(), place]),
        }
    }
    // Last, because a folder below a mask may be mounted, as the caches of a project in the data folder.
    for mask in masks {
        push(&["--remount-ro".as_ref(), mask]);
    }
    push(&["--remount-ro", "/", "--chdir", "/", "--"].map(OsStr::new));
    arguments
}

/// All mounts of a policy, parents before what is in them.
fn mounts<'a>(policy: &'a Policy, guard: &'a Path) -> Vec<(&'a Path, Mount<'a>)> {
    let mut mounts: Vec<(&Path, Mount<'_>)> = Vec::new();
    let read = policy.readable.iter().map(PathBuf::as_path).chain([guard]).filter(|path| !system::is_of_system(path));
    mounts.extend(read.map(|path| (path, Mount::ReadOnly(path))));
    mounts.extend(policy.writable.iter().map(|path| (path.as_path(), Mount::Writable(path))));
    let bound = policy.binds.iter().map(|bind| {
        let mount = if bind.is_writable { Mount::Writable(&bind.source) } else { Mount::ReadOnly(&bind.source) };
        (bind.place.as_path(), mount)
    });
    mounts.extend(bound);
    let is_seen = |path: &Path| {
        system::is_of_system(path)
            || policy.readable.iter().chain(&policy.writable).any(|folder| path != folder && path.starts_with(folder))
    };
    let secrets = system::SECRETS.iter().map(Path::new);
    let hidden = policy.hidden.iter().map(PathBuf::as_path).chain(secrets);
    mounts.extend(hidden.filter(|path| is_seen(path) && path.exists()).map(|path| (path, Mount::Hidden)));
    mounts.sort_by_key(|(place, _)| place.components().count());
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_also_found_by_the_path() {
        let places = places(Some(OsStr::new("/opt/tools/bin:relative")));
        assert_eq!(places.first().unwrap(), Path::new("/usr/bin/bwrap"));
        assert_eq!(places[3..], [PathBuf::from("/opt/tools/bin/bwrap")]);
    }

    #[test]
    fn a_folder_is_mounted_before_what_is_in_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path();
        std::fs::create_dir_all(path.join("a/b/c")).unwrap();
        let policy = Policy {
            readable: vec![path.join("a")],
            writable: vec![path.join("a/b")],
            hidden: vec![path.join("a/b/c"), path.join("elsewhere")],
            ..Policy::default()
        };
        let ours = |mounts: Vec<(&Path, Mount<'_>)>| {
            let ours = mounts.into_iter().filter_map(|(place, mount)| {
                let place = place.strip_prefix(path).ok()?.to_string_lossy().into_owned();
                let kind = match mount {
                    Mount::ReadOnly(_) => "read",
                    Mount::Writable(_) => "write",
                    Mount::Hidden => "hidden",
                };
                Some(format!("{place} {kind}"))
            });
            ours.collect::<Vec<_>>()
        };
        assert_eq!(ours(mounts(&policy, Path::new("/usr/bin/tollgate"))), ["a read", "a/b write", "a/b/c hidden"]);
        let args = arguments(&policy, Path::new("/usr/bin/tollgate"));
        let deeper = Policy { writable: vec![path.join("a/b"), path.join("a/b/c/d")], ..policy.clone() };
        let deeper = arguments(&deeper, Path::new("/usr/bin/tollgate"));
        let at = |word: &str, place: &str| {
            deeper.windows(2).position(|pair| pair[0] == word && pair[1] == *path.join(place).as_os_str())
        };
        assert!(at("--bind", "a/b/c/d") < at("--remount-ro", "a/b/c"), "a mask is closed when all is mounted");
        assert!(!args.iter().any(|arg| arg == "--unshare-net"), "the network is open");
    }
}
