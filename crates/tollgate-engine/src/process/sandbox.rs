//! The sandbox of child processes that run what a change, an agent or a project says.
//!
//! A [`Policy`] says what such a process may read, write, reach and use. It is enforced in layers, by what the system
//! allows, the strongest first:
//!
//! | layer | holds |
//! |---|---|
//! | bubblewrap | files, processes, IPC and the network, by namespaces of its own: what is not named is not there |
//! | PID namespace | processes, by `unshare`, where bubblewrap is missing |
//! | landlock | files, TCP ports, abstract sockets and signals, where bubblewrap is missing |
//! | seccomp | system calls that no build and no agent needs |
//! | limits | memory, processes and file sizes |
//!
//! The process guard ([`super::guard`]) is the one way to start a process under a policy: the parent chooses the entrance,
//! the guard restricts itself before it starts the program. The scanning child restricts itself alone.

use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

#[cfg(unix)]
pub mod break_out;
#[cfg(unix)]
pub(crate) mod bridge;
#[cfg(unix)]
pub(crate) mod bubblewrap;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(unix)]
pub mod proxy;
#[cfg(unix)]
pub(crate) mod system;

/// What a process may read, write, reach and use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Files and folders that it may read, beside the system's.
    pub readable: Vec<PathBuf>,
    /// Folders that it may also write.
    pub writable: Vec<PathBuf>,
    /// Files and folders that are seen in the place of others; bubblewrap alone can do it.
    pub binds: Vec<Bind>,
    /// Files and folders that are not visible, even when a folder above them is.
    pub hidden: Vec<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// What it may use.
    pub limits: ResourceLimits,
    /// True for a program that makes a sandbox of its own and needs user namespaces for it.
    pub nests: bool,
}

/// A file or folder that is seen in another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// The file or folder.
    pub source: PathBuf,
    /// Where it is seen.
    pub place: PathBuf,
    /// True when it may be written there.
    pub is_writable: bool,
}

impl Bind {
    /// One that can only be read.
    #[must_use]
    pub fn readable(source: impl Into<PathBuf>, place: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), place: place.into(), is_writable: false }
    }

    /// One that can be written.
    #[must_use]
    pub fn writable(source: impl Into<PathBuf>, place: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), place: place.into(), is_writable: true }
    }
}

/// The folder inside of bubblewrap with the log-in of the agent. It is in memory and ends with the sandbox.
pub(crate) const KEY_FOLDER: &str = "/run/keys";
/// The size of that folder in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 16 << 20;

/// Files for [`KEY_FOLDER`], which have their numbers as names. They are sent to the guard, and are on no disk.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Keys(pub(crate) Vec<Vec<u8>>);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// What a process may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    /// Everything that this machine reaches.
    #[default]
    Open,
    /// Nothing but a proxy.
    Closed {
        /// The socket of the proxy that decides; `None` for no way out.
        proxy: Option<PathBuf>,
        /// Ports of services on this machine that it may use, as that of a model.
        loopback: Vec<u16>,
    },
}

/// What a process may use, each `None` for what the operator's own processes may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// The memory of one process in bytes.
    pub memory_bytes: Option<u64>,
    /// The number of processes and threads; holds only in a user namespace, because elsewhere all of the user's count.
    pub processes: Option<u64>,
}

/// The layers of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layers {
    /// Namespaces for files, processes, IPC and the network, by bubblewrap.
    pub bubblewrap: bool,
    /// A PID namespace.
    pub namespace: bool,
    /// Landlock, in a version that restricts files.
    pub landlock: bool,
    /// A filter of system calls.
    pub seccomp: bool,
}

impl Layers {
    /// All layers.
    pub const ALL: Self = Self { bubblewrap: true, namespace: true, landlock: true, seccomp: true };
    /// No layer.
    pub const NONE: Self = Self { bubblewrap: false, namespace: false, landlock: false, seccomp: false };

    /// The layers that this system has, tried once.
    #[must_use]
    pub fn available() -> Self {
        static FOUND: OnceLock<Layers> = OnceLock::new();
        *FOUND.get_or_init(|| Self {
            #[cfg(unix)]
            bubblewrap: bubblewrap::find().is_some(),
            #[cfg(not(unix))]
            bubblewrap: false,
            namespace: super::guard::has_namespace(),
            #[cfg(target_os = "linux")]
            landlock: landlock::version().is_some(),
            #[cfg(not(target_os = "linux"))]
            landlock: false,
            #[cfg(target_os = "linux")]
            seccomp: filter::is_available(),
            #[cfg(not(target_os = "linux"))]
            seccomp: false,
        })
    }

    /// The layers that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            bubblewrap: self.bubblewrap && other.bubblewrap,
            namespace: self.namespace && other.namespace,
            landlock: self.landlock && other.landlock,
            seccomp: self.seccomp && other.seccomp,
        }
    }

    /// True when files that the policy does not name are protected.
    #[must_use]
    pub fn protect_files(self) -> bool {
        self.bubblewrap || self.landlock
    }

    /// True when every protection holds: files, processes, network and system calls.
    #[must_use]
    pub fn are_complete(self) -> bool {
        self.bubblewrap && self.seccomp
    }

    /// The layers that hold, by name, the strongest first.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let layers = [
            ("bubblewrap", self.bubblewrap),
            // Bubblewrap includes one, and files are its own.
            ("PID namespace", self.namespace && !self.bubblewrap),
            ("landlock", self.landlock && !self.bubblewrap),
            ("seccomp", self.seccomp),
        ];
        layers.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect()
    }

    /// What is not protected for want of a layer, in sentences without their period.
    #[must_use]
    pub fn missing(self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if !self.bubblewrap {
            missing.push(match (self.landlock, self.namespace) {
                (true, true) => {
                    "without bubblewrap, only files and TCP connections are limited, UDP and sockets in the file \
                     system can be used, all of `/etc` that the server can read is readable, and agents cannot commit"
                }
                (true, false) => {
                    "without bubblewrap and a PID namespace, only files, signals and TCP connections are limited, UDP \
                     and sockets in the file system can be used, all of `/etc` and `/proc` that the server can read is \
                     readable, a process can kill its guard, and agents cannot commit"
                }
                (false, _) => "without bubblewrap and landlock, the files and the network of the operator are open",
            });
        }
        if !self.seccomp {
            missing.push("without seccomp, every system call is allowed");
        }
        missing
    }
}

/// What a guard enforces before it starts the program, as it is handed to the guard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restrictions {
    /// True inside of bubblewrap, where the parent sends a handle to the folder of the scratch folder first.
    pub(crate) inside: bool,
    pub(crate) landlock: Option<LandlockRules>,
    pub(crate) seccomp: Option<FilterRules>,
    pub(crate) limits: ResourceLimits,
    /// The way out, for a closed network.
    pub(crate) bridge: Option<Bridge>,
}

/// The rules of landlock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandlockRules {
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Vec<PathBuf>,
    /// The ports that may be connected to; `None` for all.
    pub(crate) ports: Option<Vec<u16>>,
}

/// The rules of the system call filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FilterRules {
    /// True to allow user namespaces and mounts within them.
    pub(crate) nests: bool,
    /// True to allow tracing of other processes, where another layer keeps foreign ones out of reach.
    pub(crate) traces: bool,
}

/// The guard's side of the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bridge {
    /// The socket of the proxy.
    pub(crate) socket: PathBuf,
    /// Loopback ports to listen on; each leads to the same port outside. Empty where the network is shared.
    pub(crate) loopback: Vec<u16>,
}

impl Policy {
    /// The restrictions that a guard applies, given the layers around it.
    pub(crate) fn restrictions(&self, layers: Layers) -> Restrictions {
        let Network::Closed { proxy, loopback } = &self.network else {
            return self.restrictions_with(layers, None, None);
        };
        let bridge = proxy.as_ref().map(|socket| Bridge {
            socket: socket.clone(),
            loopback: if layers.bubblewrap { loopback.clone() } else { Vec::new() },
        });
        self.restrictions_with(layers, bridge, Some(loopback.clone()))
    }

    fn restrictions_with(&self, layers: Layers, bridge: Option<Bridge>, ports: Option<Vec<u16>>) -> Restrictions {
        // A program that makes a sandbox of its own cannot mount below landlock.
        let landlock = (layers.landlock && !layers.bubblewrap && !self.nests).then(|| LandlockRules {
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            ports,
        });
        let is_alone = layers.bubblewrap || layers.namespace || landlock.is_some();
        Restrictions {
            inside: layers.bubblewrap,
            seccomp: layers.seccomp.then_some(FilterRules { nests: self.nests, traces: is_alone }),
            landlock,
            limits: ResourceLimits { processes: self.limits.processes.filter(|_| layers.bubblewrap), ..self.limits },
            bridge,
        }
    }
}

/// Restricts the calling thread, and the processes that it starts, for good.
#[cfg(target_os = "linux")]
pub(crate) fn restrict_thread(restrictions: &Restrictions) -> std::io::Result<()> {
    if let Some(rules) = &restrictions.landlock {
        drop_capabilities()?;
        landlock::restrict(rules)?;
    }
    if let Some(rules) = restrictions.seccomp {
        filter::apply(rules)?;
    }
    Ok(())
}

/// Gives up the capabilities of root, also for programs that are started; others have none. Bubblewrap does it itself.
#[cfg(target_os = "linux")]
fn drop_capabilities() -> std::io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

    if capabilities(None)?.permitted.is_empty() {
        return Ok(());
    }
    for capability in CapabilitySet::all().iter() {
        // An older kernel does not know all of them.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Takes all files, the network and unusual system calls from this process, which works on its open pipes alone.
///
/// Does what the system allows; the process has limits besides.
#[cfg(target_os = "linux")]
pub(crate) fn restrict_to_pipes() {
    let _ = landlock::restrict(&LandlockRules { ports: Some(Vec::new()), ..LandlockRules::default() });
    let _ = filter::apply_to_scanner();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy {
            readable: vec!["/a".into()],
            writable: vec!["/b".into()],
            network: Network::Closed { proxy: Some("/s".into()), loopback: vec![8080] },
            limits: ResourceLimits { memory_bytes: Some(1), processes: Some(2) },
            ..Policy::default()
        }
    }

    #[test]
    fn inside_of_bubblewrap_the_guard_bridges_the_network_and_needs_no_landlock() {
        let restrictions = policy().restrictions(Layers::ALL);
        assert!(restrictions.inside && restrictions.landlock.is_none());
        assert_eq!(restrictions.bridge.unwrap().loopback, [8080]);
        assert_eq!(restrictions.limits.processes, Some(2));
    }

    #[test]
    fn without_bubblewrap_landlock_holds_files_and_ports() {
        let restrictions = policy().restrictions(Layers { bubblewrap: false, ..Layers::ALL });
        let rules = restrictions.landlock.unwrap();
        assert_eq!((rules.ports, restrictions.inside), (Some(vec![8080]), false));
        assert_eq!(restrictions.bridge.unwrap().loopback, [0; 0], "the port outside is the port inside");
        assert_eq!(restrictions.limits.processes, None, "the operator's own processes would count");
        let nested = Policy { nests: true, ..policy() };
        assert_eq!(nested.restrictions(Layers { bubblewrap: false, ..Layers::ALL }).landlock, None);
    }

    #[test]
    fn tracing_is_denied_where_nothing_else_keeps_foreign_processes_away() {
        let alone = Layers { seccomp: true, ..Layers::NONE };
        let traces = |layers: Layers| policy().restrictions(layers).seccomp.map(|rules| rules.traces);
        assert_eq!([traces(alone), traces(Layers::ALL), traces(Layers::NONE)], [Some(false), Some(true), None]);
    }

    #[test]
    fn missing_layers_are_said() {
        assert_eq!(Layers::ALL.missing(), [""; 0]);
        assert_eq!(Layers::ALL.names(), ["bubblewrap", "seccomp"]);
        assert_eq!(Layers { bubblewrap: false, ..Layers::ALL }.names(), ["PID namespace", "landlock", "seccomp"]);
        assert_eq!(Layers::NONE.missing().len(), 2);
    }
}
