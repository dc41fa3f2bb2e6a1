//! The sandbox of agents, hooks and scans: how strict it is, and what the operator opens.
//!
//! ```toml
//! sandbox = "require"           # short for the table with nothing but a mode
//!
//! [sandbox]
//! mode = "best"
//! read = ["~/.cargo"]
//! hosts = ["gateway.example", "127.0.0.1:11434"]
//! ```
//!
//! Only the operator may set it: a repository's own file must not open its own cage.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::file::within;
use crate::process::sandbox::Layers;

/// The most hosts and folders in one list.
const MAX_ENTRIES: usize = 200;

/// The sandbox of agents, hooks and scans. Never set in a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxPart {
    /// What happens when a layer of the sandbox is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SandboxMode>,
    /// Folders and files that agents may read, beside their work tree and the tools of the system.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "paths")]
    pub read: Option<Vec<String>>,
    /// Folders that agents may write, as caches.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "paths")]
    pub write: Option<Vec<String>>,
    /// What agents may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkWord>,
    /// Hosts that agents may reach, beside those of their model: `host`, `*.host` or `host:port`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "hosts")]
    pub hosts: Option<Vec<String>>,
    /// Whether implementers and hooks may reach the public package registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registries: Option<bool>,
    /// The memory of one process, in MiB.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "within::<_, 256, 1_048_576>")]
    #[schemars(range(min = 256, max = 1_048_576))]
    pub memory_mib: Option<u64>,
    /// The number of processes and threads of one agent.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "within::<_, 16, 1_000_000>")]
    #[schemars(range(min = 16, max = 1_000_000))]
    pub processes: Option<u64>,
}

/// What happens when a layer of the sandbox is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Agents do not start.
    Require,
    /// Agents run in the layers that there are, and the missing ones are named.
    #[default]
    Best,
    /// Agents run as the operator, behind the process guard alone.
    Off,
}

impl SandboxMode {
    /// Its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Best => "best",
            Self::Off => "off",
        }
    }
}

/// What agents may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkWord {
    /// Nothing.
    None,
    /// The hosts of their model, those in `hosts`, and package registries.
    #[default]
    Hosts,
    /// Everything that this machine reaches.
    Open,
}

/// The sandbox, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// What happens when a layer is missing.
    pub mode: SandboxMode,
    /// Folders and files that agents may read; `~` stands for the operator's home.
    pub read: Vec<String>,
    /// Folders that agents may write.
    pub write: Vec<String>,
    /// What agents may reach.
    pub network: NetworkWord,
    /// Further hosts.
    pub hosts: Vec<String>,
    /// Whether package registries may be reached.
    pub registries: bool,
    /// The memory of one process, in MiB; `None` for three quarters of the machine's.
    pub memory_mib: Option<u64>,
    /// The number of processes and threads of one agent.
    pub processes: u64,
    /// Files and folders of this program that are never visible: its data, configuration and keys.
    pub hidden: Vec<PathBuf>,
    /// The layers that may be used; tests switch some off.
    pub layers: Layers,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            mode: SandboxMode::Best,
            read: Vec::new(),
            write: Vec::new(),
            network: NetworkWord::Hosts,
            hosts: Vec::new(),
            registries: true,
            memory_mib: None,
            processes: 8_192,
            hidden: Vec::new(),
            layers: Layers::ALL,
        }
    }
}

impl Sandbox {
    pub(super) fn take(&mut self, part: &SandboxPart) {
        self.mode = part.mode.unwrap_or(self.mode);
        self.network = part.network.unwrap_or(self.network);
        self.registries = part.registries.unwrap_or(self.registries);
        self.memory_mib = part.memory_mib.or(self.memory_mib);
        self.processes = part.processes.unwrap_or(self.processes);
        self.read.extend(part.read.iter().flatten().cloned());
        self.write.extend(part.write.iter().flatten().cloned());
        self.hosts.extend(part.hosts.iter().flatten().cloned());
    }

    pub(super) fn shown(&self) -> [(&'static str, String); 4] {
        [
            ("sandbox.mode", format!("\"{}\"", self.mode.as_str())),
            ("sandbox.network", "\"hosts\"".to_owned()),
            ("sandbox.registries", self.registries.to_string()),
            ("sandbox.processes", self.processes.to_string()),
        ]
    }
}

/// Reads a table, or a word that is its mode.
pub(super) fn table_or_word<'de, D: Deserializer<'de>>(from: D) -> Result<SandboxPart, D::Error> {
    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = SandboxPart;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("`require`, `best`, `off`, or a table")
        }

        fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<SandboxPart, E> {
            let mode = match word {
                "require" => SandboxMode::Require,
                "best" => SandboxMode::Best,
                "off" => SandboxMode::Off,
                _ => return Err(E::unknown_variant(word, &["require", "best", "off"])),
            };
            Ok(SandboxPart { mode: Some(mode), ..SandboxPart::default() })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SandboxPart, A::Error> {
            SandboxPart::deserialize(MapAccessDeserializer::new(map))
        }
    }

    from.deserialize_any(Either)
}

fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let paths = Vec::<String>::deserialize(from)?;
    let is_whole = |path: &String| path.starts_with('/') || path.starts_with("~/");
    if paths.len() > MAX_ENTRIES || !paths.iter().all(|path| is_whole(path) && !path.contains('\0')) {
        return Err(D::Error::custom("expected absolute paths, or paths that begin with `~/`"));
    }
    if paths.iter().any(|path| path.trim_end_matches('/').len() < 2) {
        return Err(D::Error::custom(
            "the whole file system or home would be no sandbox; set `mode = \"off\"` for none",
        ));
    }
    Ok(Some(paths))
}

fn hosts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    let hosts = Vec::<String>::deserialize(from)?;
    #[cfg(unix)]
    let is_host = |host: &String| crate::process::sandbox::proxy::AllowedHost::parse(host).is_some();
    #[cfg(not(unix))]
    let is_host = |host: &String| !host.is_empty();
    if hosts.len() > MAX_ENTRIES || !hosts.iter().all(is_host) {
        return Err(D::Error::custom(
            "expected hosts: a name, `*.` before a name for all below it, or a name or an address with a port",
        ));
    }
    Ok(Some(hosts))
}
